"""The chapters of hb.story: what they say of every kind of model, beside arithmetic and the models.

How the page behaves in a browser is tested in test_browser.py.
"""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeClassifier as TreeElsewhere

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.story.material import collect
from hornbeam.story.page import chapters_of, page_of

IRIS = load_iris(as_frame=True)
SPECIES = pd.Series(IRIS.target_names[IRIS.target], name="species")
DIABETES = load_diabetes(as_frame=True)
HOSTILE = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a'b\"c"]


def material_of(model, X, y, **options):
    given = {
        "columns": None,
        "validation": (None, None),
        "max_rows": 300,
        "target_name": None,
        "seed": 0,
        **options,
    }
    return collect(model, X, y, **given)


def chapter_of(model, X, y, **options):
    return chapters_of(material_of(model, X, y, **options))[0]


# --- One tree --------------------------------------------------------------------------------------------


def test_the_bars_of_a_node_are_those_of_the_split_table():
    tree = hb.DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS.data, SPECIES)
    chapter = chapter_of(tree, IRIS.data, SPECIES)
    expected = tree.split_table(IRIS.data, SPECIES, 0, best_per_feature=True)
    bars = {bar["name"]: bar for bar in chapter["nodes"][0]["bars"]}
    for row in expected.itertuples():
        assert bars[row.feature]["gain"] == pytest.approx(row.gain, rel=1e-3)
        assert bars[row.feature]["chosen"] == row.chosen


def test_the_restaurant_asks_for_patrons_which_gain_half_a_bit():
    evenings = hb.datasets.restaurant()
    tree = hb.DecisionTreeClassifier(criterion="entropy", categorical_split="multiway").fit(
        evenings.frame(), evenings.y
    )
    root = chapter_of(tree, evenings.frame(), evenings.y)["nodes"][0]
    [chosen] = [bar for bar in root["bars"] if bar["chosen"]]
    # Six and six evenings have one bit; nobody and some are pure, of six full ones two wait.
    full = -(2 / 6 * np.log2(2 / 6) + 4 / 6 * np.log2(4 / 6))
    assert chosen["name"] == "Patrons" and root["impurity"] == 1
    assert chosen["gain"] == pytest.approx(1 - 6 / 12 * full, abs=1e-3)
    # The others are asked in the tree's own way, too: a branch for each category.
    expected = tree.split_table(evenings.frame(), evenings.y, best_per_feature=True).set_index("feature").gain
    for bar in root["bars"]:
        assert bar["gain"] == pytest.approx(expected[bar["name"]], abs=1e-3)


def test_every_row_ends_in_its_leaf_and_nodes_have_their_rows():
    tree = hb.DecisionTreeRegressor(max_leaf_nodes=6, random_state=0).fit(DIABETES.data, DIABETES.target)
    material = material_of(tree, DIABETES.data, DIABETES.target, max_rows=442)
    chapter = chapters_of(material)[0]
    said = [chapter["nodes"][end]["mean"] for end in chapter["ends"]]
    assert said == pytest.approx(tree.predict(DIABETES.data).tolist(), rel=1e-4)
    for node in chapter["nodes"]:
        assert (
            node["rows"] == sum(chapter["nodes"][child]["rows"] for child in node["children"])
            or not node["children"]
        )


def test_a_large_tree_shows_its_largest_nodes_and_says_how_many_are_left():
    X = np.random.default_rng(0).normal(size=(600, 3))
    y = np.random.default_rng(1).integers(0, 2, 600)
    tree = hb.DecisionTreeClassifier(random_state=0).fit(X, y)
    chapter = chapter_of(tree, X, y)
    inner = int((tree.tree_.first_child >= 0).sum())
    assert len(chapter["splits"]) == 40 and chapter["left_out"] == inner - 40
    assert len(chapter["ends"]) == 300  # rows on the page


def test_the_path_of_pruning_ends_at_the_root_with_the_error_of_a_guess():
    tree = hb.DecisionTreeClassifier(random_state=0).fit(IRIS.data, SPECIES)
    chapter = chapters_of(material_of(tree, IRIS.data, SPECIES))[1]
    assert chapter["leaves"][0] == tree.get_n_leaves() and chapter["leaves"][-1] == 1
    assert chapter["training"][0] == pytest.approx(1 - tree.score(IRIS.data, SPECIES))
    assert chapter["training"][-1] == pytest.approx(2 / 3, abs=1e-4)  # three classes of 50
    table = (
        hb.DecisionTreeClassifier(random_state=0, prune="cost_complexity", prune_select="cv", cv=5)
        .fit(IRIS.data, SPECIES)
        .pruning_table_
    )
    assert chapter["error"] == pytest.approx(table.error.tolist(), abs=1e-4)
    # The leaves of each nested tree, counted node by node.
    nodes = chapter["nodes"]
    for step, leaves in enumerate(chapter["leaves"]):
        cut = [bool(node["children"]) and node["removed_at"] <= step for node in nodes]

        def is_left(k, cut=cut):
            above = nodes[k]["parent"]
            return above < 0 or (not cut[above] and is_left(above))

        ends = [k for k in range(len(nodes)) if is_left(k) and (cut[k] or not nodes[k]["children"])]
        assert len(ends) == leaves


def test_validation_rows_judge_the_pruned_trees():
    fit, judge = slice(0, 300), slice(300, None)
    X, y = DIABETES.data, DIABETES.target
    tree = hb.DecisionTreeRegressor(max_depth=3).fit(X[fit], y[fit])
    chapter = chapters_of(material_of(tree, X[fit], y[fit], validation=(X[judge], y[judge])))[1]
    assert chapter["judged_by"] == "validation rows"
    assert chapter["error"][0] == pytest.approx(np.mean((tree.predict(X[judge]) - y[judge]) ** 2), rel=1e-4)
    assert chapter["error"][-1] == pytest.approx(np.mean((y[fit].mean() - y[judge]) ** 2), rel=1e-4)


# --- Many members ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [hb.RandomForestClassifier, hb.BaggingClassifier])
def test_samples_and_the_out_of_bag_curve_are_those_of_the_fit(kind):
    forest = kind(n_estimators=20, oob_score=True, random_state=0).fit(IRIS.data, SPECIES)
    chapter = chapter_of(forest, IRIS.data, SPECIES)
    drawn = np.stack([np.bincount(rows, minlength=150) for rows in forest.estimators_samples_])
    assert np.array_equal(chapter["times"], drawn[:, :100])
    assert chapter["curve"] == pytest.approx(forest.oob_curve_, abs=1e-4)
    assert chapter["share_out"][0] == pytest.approx((drawn[0] == 0).mean(), abs=1e-4)


def test_numbers_are_averaged_and_members_without_samples_see_all_rows():
    forest = hb.RandomForestRegressor(30, oob_score=True, random_state=0).fit(DIABETES.data, DIABETES.target)
    chapter = chapter_of(forest, DIABETES.data, DIABETES.target)
    assert chapter["curve"][-1] == pytest.approx(np.sqrt(forest.oob_curve_[-1]), rel=1e-3)
    extra = hb.ExtraTreesRegressor(5, random_state=0).fit(DIABETES.data, DIABETES.target)
    assert chapter_of(extra, DIABETES.data, DIABETES.target)["all_seen"] is True


def test_members_of_any_kind_on_some_columns_vote():
    bag = hb.BaggingClassifier(
        LogisticRegression(max_iter=500), n_estimators=5, max_features=2, random_state=0
    ).fit(IRIS.data, SPECIES)
    chapter = chapter_of(bag, IRIS.data, SPECIES)
    member, columns = bag.estimators_[2], bag.estimators_features_[2]
    said = member.predict(IRIS.data.iloc[:100, columns])
    words = [str(bag.classes_[code]) for code in chapter["said"][2]]
    assert words == [str(bag.classes_[one] if not isinstance(one, str) else one) for one in said.tolist()]


def test_a_bag_needs_the_rows_of_its_fit():
    forest = hb.RandomForestClassifier(3, random_state=0).fit(IRIS.data, SPECIES)
    with pytest.raises(ValueError, match=r"needs the rows of its fit, 150; X has 100"):
        chapter_of(forest, IRIS.data[:100], SPECIES[:100])


def test_a_forest_that_has_forgotten_its_draws_says_so(tmp_path):
    forest = hb.RandomForestClassifier(3, random_state=0).fit(IRIS.data, SPECIES)
    hb.save(forest, tmp_path / "slim.hb", slim=True)
    with pytest.raises(ValueError, match=r"no longer knows which rows its members drew.*slim=True"):
        chapter_of(hb.load(tmp_path / "slim.hb"), IRIS.data, SPECIES)


def test_weights_that_were_given_to_the_fit_are_where_adaboost_starts():
    y = SPECIES == "virginica"
    given = np.random.default_rng(0).uniform(0.5, 2, 150)
    model = hb.AdaBoostClassifier(n_estimators=4, keep_weights=True).fit(IRIS.data, y, sample_weight=given)
    chapter = chapter_of(model, IRIS.data, y)
    weights = np.array([one["weights"] for one in chapter["rounds"]])
    assert weights == pytest.approx(model.sample_weights_, rel=1e-3)
    assert weights[0] == pytest.approx(given / given.sum(), rel=1e-3)


def test_the_weights_of_adaboost_are_those_it_kept():
    points = hb.datasets.ten_points()
    model = hb.AdaBoostClassifier(n_estimators=3, keep_weights=True).fit(points.X, points.y)
    chapter = chapter_of(model, points.X, points.y)
    weights = np.array([one["weights"] for one in chapter["rounds"]])
    assert weights == pytest.approx(model.sample_weights_, abs=1e-4)
    # A mistake of the first round, of weight 0.1, weighs 1/6 afterwards: three of them weigh a half.
    first = chapter["rounds"][0]
    assert len(first["wrong"]) == 3
    assert [chapter["rounds"][1]["weights"][row] for row in first["wrong"]] == pytest.approx(
        [1 / 6] * 3, abs=1e-4
    )
    assert chapter["training"][-1] == 0 and len(chapter["regions"][0]) == 36 * 36


def test_the_weights_of_adaboost_for_numbers_are_those_it_kept():
    X, y = DIABETES.data, DIABETES.target
    for loss in ("linear", "square", "exponential"):
        model = hb.AdaBoostRegressor(n_estimators=4, loss=loss, keep_weights=True).fit(X, y)
        chapter = chapter_of(model, X, y, max_rows=442)
        weights = np.array([one["weights"] for one in chapter["rounds"]])
        assert weights == pytest.approx(model.sample_weights_, rel=1e-3)


def test_answers_of_boosting_are_those_after_each_round():
    X, y = DIABETES.data, DIABETES.target
    model = hb.GradientBoostingRegressor(45).fit(X, y)
    chapter = chapter_of(model, X, y, max_rows=442)
    stages = list(model.staged_predict(X))
    assert chapter["rounds"][0] == 0 and chapter["rounds"][-1] == 45 and len(chapter["rounds"]) <= 31
    assert chapter["answers"][0] == pytest.approx([y.mean()] * 442, rel=1e-3)
    for number, answers in zip(chapter["rounds"][1:], chapter["answers"][1:], strict=True):
        assert answers == pytest.approx(stages[number - 1].tolist(), rel=1e-3)
    classes = hb.GradientBoostingClassifier(5).fit(IRIS.data, SPECIES)
    message = chapter_of(classes, IRIS.data, SPECIES)
    assert message["errors"][-1] == pytest.approx(
        log_loss(SPECIES, classes.predict_proba(IRIS.data)), rel=1e-3
    )


def test_a_stack_shows_its_out_of_fold_answers():
    members = [("knn", hb.KNeighborsClassifier()), ("tree", hb.DecisionTreeClassifier(max_depth=2))]
    y = np.where(SPECIES == "setosa", "yes", "no")
    stack = hb.StackingClassifier([members], cv=3, random_state=0).fit(IRIS.data.iloc[:, :2], y)
    chapter = chapter_of(stack, IRIS.data.iloc[:, :2], y)
    said = stack.oof_predictions_
    column = [name for name in said.columns if name.startswith("knn")][-1]
    expected = said.loc[chapter["rows"], column]
    assert chapter["members"][0]["said"] == pytest.approx(expected.tolist(), abs=1e-3)
    assert chapter["n_folds"] == 3 and chapter["folds"] == sorted(chapter["folds"])


# --- The page --------------------------------------------------------------------------------------------


def test_the_page_is_one_file_whose_names_stay_text(tmp_path):
    generator = np.random.default_rng(0)
    table = pd.DataFrame({name: generator.normal(size=60) for name in HOSTILE})
    labels = pd.Series(np.where(table[HOSTILE[0]] > 0, HOSTILE[0], HOSTILE[1]), name=HOSTILE[1])
    tree = hb.DecisionTreeClassifier(random_state=0).fit(table, labels)
    place = hb.story(tree, table, labels, tmp_path / "story.html")
    text = (tmp_path / "story.html").read_text(encoding="utf-8")
    assert place == str(tmp_path / "story.html")
    assert text.count("<script") == 2 and "<img" not in text and "http://www.w3.org/2000/svg" in text
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in text
    block = re.search(r'id="story-data">(.*?)</script>', text, re.DOTALL)[1]
    found = json.loads(block)["classes"]
    assert len(found) == 2 and all("alert(1)" in name for name in found)


def test_frames_of_every_kind_and_categories_with_gaps_are_taken():
    frame = pl.DataFrame({"size": [1.0, None, 3.0, 4.0] * 10, "kind": ["a", "b", None, "c"] * 10})
    y = np.tile([0, 1, 1, 1], 10)
    for model in (hb.DecisionTreeClassifier(random_state=0), hb.AdaBoostClassifier(n_estimators=2)):
        page = page_of(material_of(model.fit(frame, y), frame, y))
        assert "The page holds all 40 rows" in page


def test_arrow_tables_are_taken():
    points = hb.datasets.ten_points()
    table = pa.table({"east": points.X[:, 0], "north": points.X[:, 1]})
    model = hb.AdaBoostClassifier(n_estimators=3).fit(table, points.y)
    plain = hb.AdaBoostClassifier(n_estimators=3).fit(points.X, points.y)
    message = chapter_of(model, table, points.y)["regions"]
    assert message == chapter_of(plain, points.X, points.y)["regions"]
    bag = hb.BaggingClassifier(LogisticRegression(), n_estimators=2, max_features=1, random_state=0)
    frame = pl.from_arrow(table)
    assert len(chapter_of(bag.fit(frame, points.y), frame, points.y)["said"]) == 2


def test_columns_can_be_chosen_and_mistakes_are_named():
    tree = hb.DecisionTreeClassifier(random_state=0).fit(IRIS.data, SPECIES)
    assert material_of(tree, IRIS.data, SPECIES, columns=["sepal width (cm)", 0]).plane == (1, 0)
    for columns, words in ((["size", 0], "no column 'size'"), ([0], "two columns"), ([1, 1], "different")):
        with pytest.raises(ValueError, match=words):
            material_of(tree, IRIS.data, SPECIES, columns=columns)
    with pytest.raises(ValueError, match=r"y, row 0: the model does not know the class 'rose'"):
        material_of(tree, IRIS.data, SPECIES.where(SPECIES.index > 0, "rose"))
    with pytest.raises(ValueError, match="X has 149 rows, but y has 150"):
        material_of(tree, IRIS.data[1:], SPECIES)
    with pytest.raises(ValueError, match="max_rows must be a whole number >= 10"):
        material_of(tree, IRIS.data, SPECIES, max_rows=3)


def test_models_without_a_story_are_refused_by_name():
    other = TreeElsewhere().fit(IRIS.data, SPECIES)
    with pytest.raises(TypeError, match=r"no chapters for DecisionTreeClassifier.*hb\.report"):
        chapter_of(other, IRIS.data, SPECIES)
    density = hb.DensityTree().fit(IRIS.data)
    with pytest.raises(TypeError, match="story takes classifiers and regressors; got DensityTree"):
        chapter_of(density, IRIS.data, SPECIES)


def test_the_command_writes_the_page(tmp_path, capsys):
    table = IRIS.data.assign(species=SPECIES)
    table.to_csv(tmp_path / "iris.csv", index=False)
    tree = hb.DecisionTreeClassifier(max_depth=2, random_state=0).fit(IRIS.data, SPECIES)
    hb.save(tree, tmp_path / "tree.hb")
    given = [str(tmp_path / "tree.hb"), str(tmp_path / "iris.csv"), "--target", "species"]
    assert run(["story", *given, "--out", str(tmp_path / "one.html"), "--rows", "50"]) == 0
    assert "Story written to" in capsys.readouterr().out
    assert "50 rows of 150" in (tmp_path / "one.html").read_text(encoding="utf-8")
    assert run(["story", *given]) == 0 and (tmp_path / "tree-story.html").exists()
    assert run(["story", *given]) == 1  # it is there already
