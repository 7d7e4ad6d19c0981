"""Exported models: complete enough to predict with, and inert whatever the names hold."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from model_files import FOREST_SAMPLES, TREE_SAMPLES

import hornbeam as hb

HOSTILE = ['"];evil[label="', "a\nb", "<script>", "\\", "x\x1b[31m", "$y$", "{}|<>"]


def predict_from_json(document, row):
    """Walk the first tree by what the export says."""
    features, nodes = document["features"], document["trees"][0]
    node = nodes[0]
    while "children" in node:
        value, feature = row[node["feature"]], features[node["feature"]]
        is_missing = value is None or value != value
        if is_missing:
            node = nodes[node["missing_child"]]
            continue
        if "categories" in feature:
            value = feature["categories"].index(value)
        by_threshold = "threshold" in node
        branch = int(value > float(node["threshold"])) if by_threshold else node["categories"][value]
        node = nodes[node["children"][branch]]
    return node["value"]


@pytest.mark.parametrize("name", TREE_SAMPLES + FOREST_SAMPLES)
def test_json_is_enough_to_predict(name, samples, tmp_path):
    model, X = samples(name)
    text = hb.export(model, "json", tmp_path / "model.json")
    assert (tmp_path / "model.json").read_text(encoding="utf-8") == text
    document = json.loads(text)
    rows = X.to_numpy(dtype=object).tolist() if hasattr(X, "to_numpy") else X.tolist()
    found = [predict_from_json(document, row) for row in rows]
    leaves = np.reshape(model.apply(X), (len(rows), -1))[:, 0]
    np.testing.assert_array_equal(found, model._model.trees[0].value[leaves])
    assert len(document["trees"]) == len(model._model.trees)


def test_text_is_the_rules(samples):
    model, _ = samples("kinds")
    assert hb.export(model, "text") == model.rules() + "\n"


def test_several_trees_are_told_apart():
    X = np.arange(20.0).reshape(10, 2)
    forest = hb.RandomForestClassifier(n_estimators=3, random_state=0).fit(X, np.arange(10) % 2)
    assert re.findall(r"^tree \d$", hb.export(forest, "text"), re.MULTILINE) == ["tree 0", "tree 1", "tree 2"]
    assert hb.export(forest, "dot").count("subgraph cluster_") == 3


def test_dot_has_a_box_per_node_and_an_arrow_per_branch(samples):
    model, _ = samples("kinds")
    text = hb.export(model, "dot")
    assert len(re.findall(r"^  t0_n\d+ \[", text, re.MULTILINE)) == model.tree_.node_count
    assert text.count(" -> ") == model.tree_.node_count - 1


def test_hostile_names_stay_text():
    frame = pd.DataFrame({name: np.arange(8) % (2 + j) for j, name in enumerate(HOSTILE)})
    model = hb.DecisionTreeClassifier().fit(frame, [f"{name}{k}" for k in "ab" for name in HOSTILE[:4]])
    without_strings = re.sub(r'"(?:\\.|[^"\\])*"', "S", hb.export(model, "dot"))
    for line in without_strings.splitlines()[2:-1]:
        assert re.fullmatch(r"  t0_n\d+( -> t0_n\d+)? \[label=S(, style=(rounded|bold))?\];", line)
    assert all(character.isprintable() or character == "\n" for character in hb.export(model, "dot"))
    assert all(character.isprintable() or character == "\n" for character in hb.export(model, "text"))
    names = [feature["name"] for feature in json.loads(hb.export(model, "json"))["features"]]
    assert names == HOSTILE


def test_what_is_refused(samples):
    with pytest.raises(ValueError, match=r"form must be 'onnx', .* or 'text'; got 'yaml'"):
        hb.export(samples("classes")[0], "yaml")
    with pytest.raises(Exception, match="not fitted"):
        hb.export(hb.DecisionTreeClassifier(), "text")
