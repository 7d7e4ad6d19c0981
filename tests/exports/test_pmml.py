"""PMML in jpmml-evaluator: names that would like to be XML, and what trees ask that predicates hardly can."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.errors import ExportError
from hornbeam.exports import pmml_engine
from hornbeam.exports.check import DOUBLE_TOLERANCE, compare, expected_answers
from hornbeam.exports.pmml import header_of, is_xml, notes_on, pmml_of
from hornbeam.exports.pmml_engine import Jpmml
from hornbeam.exports.portable import Output
from hornbeam.exports.reading import portable
from hornbeam.exports.test_rows import rows_for
from hornbeam.warnings import UntestedExportWarning

NEEDS_JAVA = pytest.mark.skipif(Jpmml.absent() is not None, reason=f"there is no {Jpmml.absent()}")

NAMES = [
    "<a>&b;",
    "]]>",
    "--",
    " \"spaced' ",
    "tab\tand\nline\rend",
    "größe 😀",
    "a",
    "A",
    "nothing",
    "score 0",
]
TEXTS = [
    "",
    " ",
    "NA",
    "None",
    "<",
    "&lt;",
    '"',
    "'",
    "\\",
    'a\\"b',
    "a  b",
    " a",
    "\n",
    "\r",
    "\t",
    "]]>",
    "x y",
]

SPACE = "{http://www.dmg.org/PMML-4_4}"


def hostile_frame(n=400):
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({name: draw.normal(size=n) for name in NAMES})
    frame["kind"] = draw.choice(TEXTS, n)
    frame["<kind>"] = pd.Categorical(draw.choice(TEXTS[:6], n), categories=TEXTS[:6], ordered=True)
    return frame.mask(draw.random(frame.shape) < 0.05)


def on_trial(estimator, n_random=100, **changes):
    """Write a model, and ask the real engine on rows that can tell."""
    model = replace(portable(estimator), **changes)
    document = header_of([]) + pmml_of(model)
    rows = rows_for(model, n_random=n_random)
    found = Jpmml(document).run(model, rows)
    expected = expected_answers(estimator, model, rows)
    compare(expected, found, rows, model, tolerance=DOUBLE_TOLERANCE, engine="jpmml")
    return document


@NEEDS_JAVA
def test_hostile_names_categories_and_classes_stay_what_they_are(tmp_path):
    frame = hostile_frame()
    y = frame["kind"].map({text: k for k, text in enumerate(TEXTS)}).fillna(0).astype(int).to_numpy() % 5
    labels = np.array(['<yes> & "no"', "--", " b ", "größe", "c'd"])[y]
    model = hb.RandomForestClassifier(3, max_depth=5, random_state=0).fit(frame, labels)
    text = hb.export(model, "pmml", tmp_path / "model.pmml", verify="required")
    assert (tmp_path / "model.pmml").read_text(encoding="utf-8") == text
    root = ET.fromstring(text.encode("utf-8"))
    fields = {field.get("name"): field for field in root.iter(f"{SPACE}DataField")}
    assert list(fields) == [*frame.columns, "prediction"]
    values = [value.get("value") for value in fields["kind"].iter(f"{SPACE}Value")]
    assert values == list(model._model.schema.categories[len(NAMES)])
    said = [value.get("value") for value in fields["prediction"].iter(f"{SPACE}Value")]
    assert said == model.classes_.tolist()
    assert {element.tag for element in root} == {
        f"{SPACE}{tag}" for tag in ("Header", "DataDictionary", "MiningModel")
    }


def test_what_was_tested_stands_in_the_document():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = hb.DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 0])
    if Jpmml.absent() is None:
        text = hb.export(model, "pmml")
        assert (
            "  <Annotation>Run in jpmml-evaluator " in text and "; largest difference 0.</Annotation>" in text
        )
    else:
        with pytest.warns(UntestedExportWarning):
            hb.export(model, "pmml")


def test_without_java_the_document_says_so(monkeypatch):
    monkeypatch.setattr(pmml_engine, "installed", lambda package: False)
    X = np.arange(8.0)[:, np.newaxis]
    model = hb.DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    with pytest.warns(UntestedExportWarning, match="there is no jpmml-evaluator with Java"):
        text = hb.export(model, "pmml")
    assert (
        "<Annotation>Not run in jpmml-evaluator with Java (pip install hornbeam[pmml]).</Annotation>" in text
    )
    with pytest.raises(ExportError, match="verify='required'"):
        hb.export(model, "pmml", verify="required")


@NEEDS_JAVA
def test_a_document_that_java_cannot_read_is_quoted_and_the_next_one_is_read():
    X = np.arange(8.0)[:, np.newaxis]
    estimator = hb.DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    model = portable(estimator)
    with pytest.raises(RuntimeError, match="Exception"):
        Jpmml("<PMML>").run(model, rows_for(model, n_random=0))
    on_trial(estimator)


@NEEDS_JAVA
def test_java_that_has_ended_is_started_again():
    X = np.arange(8.0)[:, np.newaxis]
    estimator = hb.DecisionTreeRegressor(random_state=0).fit(X, X[:, 0])
    on_trial(estimator)
    server = pmml_engine._server()
    server._process.kill()
    server._process.wait()
    model = portable(estimator)
    with pytest.raises(RuntimeError, match="Java ended"):
        Jpmml(header_of([]) + pmml_of(model)).run(model, rows_for(model, n_random=0))
    on_trial(estimator)


@NEEDS_JAVA
def test_a_wrong_document_is_caught():
    X = np.random.default_rng(0).normal(size=(100, 2))
    estimator = hb.DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0])
    model = portable(estimator)
    rows = rows_for(model, n_random=0)
    text = header_of([]) + pmml_of(model)
    wrong = text.replace("lessOrEqual", "lessThan").replace("greaterThan", "greaterOrEqual")
    found = Jpmml(wrong).run(model, rows)
    with pytest.raises(ExportError, match="was not kept"):
        compare(
            expected_answers(estimator, model, rows),
            found,
            rows,
            model,
            tolerance=DOUBLE_TOLERANCE,
            engine="jpmml",
        )


# ------------------------------------------------------------------------------------------------------------
# Missing values and unseen categories


@NEEDS_JAVA
@pytest.mark.parametrize("missing", ["learn", "error", "surrogate"])
@pytest.mark.parametrize("unseen", ["missing", "majority", "error"])
def test_every_policy_of_missing_values_and_unseen_categories(missing, unseen):
    draw = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "x": draw.normal(size=200),
            "kind": draw.choice(["a", "b", "c", "d"], 200),
            "rank": pd.Categorical(
                draw.choice(["low", "mid", "high"], 200), ["low", "mid", "high"], ordered=True
            ),
            "idle": np.zeros(200),  # no test looks at it, and yet the model may refuse a row for it
        }
    )
    y = (frame["x"] + frame["kind"].isin(["a", "c"]) + (frame["rank"] == "low") > 1).to_numpy().astype(int)
    if missing != "error":
        frame = frame.mask(draw.random(frame.shape) < 0.1)
    tree = hb.DecisionTreeClassifier(missing=missing, unseen=unseen, max_depth=5, random_state=0)
    on_trial(tree.fit(frame, y))


@NEEDS_JAVA
@pytest.mark.parametrize("missing", ["learn", "surrogate"])
@pytest.mark.parametrize("unseen", ["missing", "majority"])
def test_members_that_never_saw_a_category_of_the_others(missing, unseen):
    draw = np.random.default_rng(5)
    kinds = np.array(["a"] * 20 + ["b"] * 20 + ["rare", "rarer"])
    frame = pd.DataFrame(
        {"kind": kinds, "other": draw.choice(["u", "v", "w"], 42), "x": draw.normal(size=42)}
    )
    frame = frame.mask(draw.random(frame.shape) < 0.15)
    y = draw.integers(0, 3, 42)
    tree = hb.DecisionTreeClassifier(missing=missing, unseen=unseen, prune="pessimistic", max_depth=4)
    on_trial(hb.BaggingClassifier(tree, n_estimators=6, random_state=0).fit(frame, y))


@NEEDS_JAVA
def test_infinite_thresholds_and_trees_without_tests():
    X = np.array([[1.0], [2.0], [np.inf], [np.nan], [-np.inf], [np.nan]] * 5)
    tree = hb.DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0, 1, 1, 0] * 5)
    on_trial(tree)
    found = portable(tree)
    (only,) = found.trees
    for threshold in (np.inf, -np.inf):
        odd = replace(only, threshold=[threshold] * only.n_nodes)
        text = pmml_of(replace(found, trees=(odd,)))
        assert "inf" not in text.replace("information", "")
    on_trial(hb.DecisionTreeRegressor(max_depth=1).fit(X, np.ones(30)))
    on_trial(hb.GradientBoostingRegressor(n_estimators=2).fit(X, np.ones(30)))


@NEEDS_JAVA
@pytest.mark.parametrize("labels", [[True, False], [1, -7], [2.0, 1.0], ["1", "0"], ["", " "]])
@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.GradientBoostingClassifier])
def test_labels_of_every_type(labels, kind):
    X = np.random.default_rng(0).normal(size=(60, 2))
    options = {"n_estimators": 3} if kind is hb.GradientBoostingClassifier else {"max_depth": 3}
    on_trial(kind(random_state=0, **options).fit(X, np.array(labels)[(X[:, 0] > 0).astype(int)]))


@NEEDS_JAVA
@pytest.mark.filterwarnings("ignore:y holds one class only")
def test_the_only_class_there_is():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for model in (hb.GradientBoostingClassifier(n_estimators=2), hb.RandomForestClassifier(2)):
        on_trial(model.fit(X, ["only"] * 20))


@pytest.mark.parametrize("largest", [2**31 - 1, 2**31])
@pytest.mark.parametrize("sign", [1, -1])
def test_classes_that_readers_in_java_take_for_whole_numbers(largest, sign):
    tree = hb.DecisionTreeClassifier().fit(np.array([[0.0], [1.0]]), np.array([0, sign * largest]))
    if largest == 2**31:
        with pytest.raises(ExportError, match=f"The class {sign * largest} is beyond the whole numbers"):
            pmml_of(portable(tree))
    else:
        assert f'"{sign * largest}"' in pmml_of(portable(tree))


@NEEDS_JAVA
def test_a_deep_tree_fits_into_the_stack_of_java():
    X = np.arange(400.0)[:, np.newaxis]
    tree = hb.DecisionTreeRegressor(random_state=0).fit(X, 2.0 ** -np.arange(400.0))
    assert tree.get_depth() > 100
    on_trial(tree)


@pytest.mark.parametrize("levels", [80, 81])
def test_documents_deeper_than_java_reads_by_itself_say_so(levels):
    X = np.arange(100.0)[:, np.newaxis]
    tree = hb.DecisionTreeRegressor(max_depth=levels, random_state=0).fit(X, 2.0 ** -np.arange(100.0))
    assert tree.get_depth() == levels
    model = replace(portable(tree), link="logistic", outputs=(Output(0, 1, ("a", "b")),))  # the deepest form
    notes = notes_on(model)
    assert (notes == []) == (levels == 80)

    def depth(element):
        return 1 + max(map(depth, element), default=0)

    assert depth(ET.fromstring(header_of(notes) + pmml_of(model))) <= 100


# ------------------------------------------------------------------------------------------------------------
# What PMML cannot hold


def fitted(frame, y=(0, 1) * 4):
    return portable(hb.DecisionTreeClassifier(random_state=0).fit(frame, y))


def test_what_xml_cannot_hold_is_named():
    numbers = np.arange(8.0) % 2
    for name in ("a\0b", "x\x1b[31m", "\ufffe"):
        assert not is_xml(name)
        with pytest.raises(ExportError, match="holds a character that XML cannot hold"):
            pmml_of(fitted(pd.DataFrame({name: numbers})))
    with pytest.raises(ExportError, match=r"Column 'a' has the category 'b\\x00c'"):
        pmml_of(fitted(pd.DataFrame({"a": ["b\0c", "d"] * 4})))
    with pytest.raises(ExportError, match="holds a character that XML cannot hold"):
        pmml_of(fitted(pd.DataFrame({"a": numbers}), ["b\x07", "d"] * 4))


def test_what_would_be_confused_is_named():
    numbers = np.arange(8.0) % 2
    with pytest.raises(ExportError, match="column 'probability_1' has the name of an answer"):
        pmml_of(fitted(pd.DataFrame({"probability_1": numbers})))
    with pytest.raises(ExportError, match="class 3000000000 is beyond"):
        pmml_of(fitted(pd.DataFrame({"a": numbers}), [0, 3_000_000_000] * 4))
    large = pd.Categorical([2**60, 2**60 + 1] * 4)
    with pytest.raises(ExportError, match="a whole number that PMML cannot hold exactly"):
        pmml_of(fitted(pd.DataFrame({"a": large})))
