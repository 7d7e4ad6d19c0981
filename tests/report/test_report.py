"""The page of hb.report: what it says, for every kind of model and table, and that names stay text.

How it behaves in a browser is tested in test_browser.py.
"""

import json
import os
import re
import signal
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.report import charts
from hornbeam.report.facts import gather
from hornbeam.report.page import page_of
from hornbeam.report.svg import inline_svg
from hornbeam.report.viewer import readings_shown, viewer_data
from report.pages import DIABETES, HOSTILE, IRIS, SPECIES, Page, facts_of


@pytest.fixture(scope="module")
def iris_facts():
    model = hb.DecisionTreeClassifier(max_depth=3, random_state=0).fit(IRIS.data, SPECIES)
    return facts_of(model, IRIS.data, SPECIES, cv=5)


# --- What it says ----------------------------------------------------------------------------------------


def test_scores_are_cross_fitted_where_the_rows_may_be_those_of_the_fit(iris_facts):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(iris_facts.model, IRIS.data, SPECIES, cv=folds)
    score = iris_facts.scores.headline
    assert score.name == "accuracy" and score.model == accuracy_score(SPECIES, expected)
    assert score.training == iris_facts.model.score(IRIS.data, SPECIES) > score.model
    assert score.baseline == pytest.approx(1 / 3)
    # The bootstrap's standard error of a share is nearly the binomial one.
    assert score.standard_error == pytest.approx(np.sqrt(score.model * (1 - score.model) / 150), rel=0.15)
    assert score.low < score.model < score.high and not score.is_noise


def test_a_date_of_which_only_the_weekday_matters_has_no_accumulated_effect():
    """The curve of one value was drawn all the same: nothing, over an axis around 1970-01-01."""
    when = pd.date_range("2024-01-01", periods=200)
    X = pd.DataFrame({"when": when, "size": np.arange(200) % 5})
    y = 3.0 * (when.day_of_week == 5) + X["size"]
    model = hb.DecisionTreeRegressor(max_depth=4).fit(X, y)
    assert len(model.effect(X, "when", kind="ale").values) == 1
    assert {one.column for one in facts_of(model, X, y, cv=None).accumulated} == {"size"}


def test_without_matplotlib_nothing_is_computed_first(monkeypatch, tmp_path):
    """A report of a large table found out after minutes that it cannot be drawn."""
    model = DummyClassifier().fit(IRIS.data, SPECIES)
    monkeypatch.setattr(model, "predict", lambda X: pytest.fail("The model was asked."))
    monkeypatch.setattr(model, "predict_proba", lambda X: pytest.fail("The model was asked."))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"A report needs matplotlib.*hornbeam\[plot\]"):
        hb.report(model, IRIS.data, SPECIES, tmp_path / "page.html", cv=None)


def test_new_rows_are_judged_by_the_model_itself():
    train, test = slice(0, 300), slice(300, None)
    model = LinearRegression().fit(DIABETES.data[train], DIABETES.target[train])
    facts = facts_of(
        model,
        DIABETES.data[test],
        DIABETES.target[test],
        X_train=DIABETES.data[train],
        y_train=DIABETES.target[train],
    )
    score = facts.scores.headline
    assert score.name == "R²"
    assert score.model == pytest.approx(r2_score(DIABETES.target[test], model.predict(DIABETES.data[test])))
    assert score.training == pytest.approx(model.score(DIABETES.data[train], DIABETES.target[train]))
    guess = np.full(142, DIABETES.target[train].mean())
    assert score.baseline == pytest.approx(r2_score(DIABETES.target[test], guess))
    alone = facts_of(model, DIABETES.data[test], DIABETES.target[test], cv=None).scores.headline
    assert alone.model == pytest.approx(score.model) and alone.training is None and alone.baseline == 0


def test_a_guess_is_called_a_guess():
    for model in (DummyClassifier(), DummyRegressor()):
        y = IRIS.target if isinstance(model, DummyClassifier) else IRIS.data.iloc[:, 0]
        facts = facts_of(model.fit(IRIS.data, y), IRIS.data, y, cv=None)
        assert facts.scores.headline.is_noise
        assert "within noise" in page_of(facts)


def test_what_matters_is_found_and_its_course_drawn(iris_facts):
    generator = np.random.default_rng(0)
    X = pd.DataFrame(
        {"noise": generator.normal(size=200), "size": generator.normal(size=200), "kind": ["a", "b"] * 100}
    )
    y = 3 * X["size"] + 2 * (X["kind"] == "b")
    model = hb.RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y)
    facts = facts_of(model, X, y)
    importances = facts.importances
    assert [facts.feature_names[j] for j in importances.columns][:2] == ["size", "kind"]
    assert importances.mean[0] > 10 * importances.standard_error[0] > 0
    by_name = {facts.feature_names[d.column]: d for d in facts.dependences}
    assert by_name["kind"].places == ["a", "b"]
    assert by_name["kind"].mean[1, 0] - by_name["kind"].mean[0, 0] == pytest.approx(2, abs=0.4)
    assert by_name["size"].mean[-1, 0] > by_name["size"].mean[0, 0] + 5
    # Partial dependence is the mean answer with one column set to one value.
    place = by_name["size"].places[3]
    assert by_name["size"].mean[3, 0] == pytest.approx(model.predict(X.assign(size=place)).mean())
    assert importances.mean.tolist() == sorted(importances.mean, reverse=True)
    # Accumulated effects are those of the model, of the same columns.
    assert [one.column for one in facts.accumulated][:2] == ["size", "kind"]
    np.testing.assert_array_equal(facts.accumulated[1].mean, model.effect(X, "kind", kind="ale").mean)
    page = page_of(facts)
    assert "Accumulated effects" in page and "accumulated1" in page
    outside = LinearRegression().fit(X[["noise", "size"]], y)
    assert "Accumulated effects" not in page_of(facts_of(outside, X[["noise", "size"]], y, cv=None))


def test_the_learning_curve_ends_with_all_rows_of_a_fold(iris_facts):
    curve = iris_facts.learning_curve
    assert curve.sizes[-1] == 100 and curve.test.shape == (len(curve.sizes), 3)
    assert curve.train[0].mean() >= curve.test[0].mean()


def test_columns_are_described():
    X = pd.DataFrame({"n": [1.0, 2.0, np.nan, 4.0] * 6, "c": ["u", "v", "u", None] * 6})
    facts = facts_of(hb.DecisionTreeClassifier().fit(X, [0, 1] * 12), X, [0, 1] * 12)
    number, category = facts.columns
    assert (number.n_missing, number.n_distinct, number.values) == (6, 3, "1 to 4, median 2")
    assert (category.kind, category.n_missing, category.values) == ("categorical", 6, "u (12), v (6)")


# --- Every model, every table ----------------------------------------------------------------------------

MODELS = {
    "tree": (hb.DecisionTreeClassifier(max_depth=2), hb.DecisionTreeRegressor(max_depth=2)),
    "forest": (hb.RandomForestClassifier(n_estimators=3), hb.RandomForestRegressor(n_estimators=3)),
    "bagging": (hb.BaggingClassifier(n_estimators=3), hb.BaggingRegressor(n_estimators=3)),
    "boosting": (hb.GradientBoostingClassifier(n_estimators=3), hb.GradientBoostingRegressor(n_estimators=3)),
    "adaboost": (hb.AdaBoostClassifier(n_estimators=3), hb.AdaBoostRegressor(n_estimators=3)),
    "neighbours": (hb.KNeighborsClassifier(), hb.KNeighborsRegressor()),
    "foreign": (LinearSVC(), LinearRegression()),
}


@pytest.mark.parametrize("task", [0, 1], ids=["classes", "numbers"])
@pytest.mark.parametrize("name", list(MODELS))
def test_every_model_has_its_facts(name, task):
    X, y = IRIS.data, SPECIES if task == 0 else IRIS.data["petal width (cm)"]
    model = MODELS[name][task].fit(X, y)
    facts = facts_of(model, X, y, cv=2)
    assert facts.judgement.is_cross_fitted and len(facts.judgement.parts) == 2
    assert facts.scores.headline.gain > 0 and facts.learning_curve is not None
    assert len(facts.importances.columns) == 4 and facts.dependences
    has_trees = name not in ("neighbours", "foreign")
    assert (viewer_data(facts) is not None) == has_trees


@pytest.mark.parametrize(
    ("name", "task", "n_charts"),
    [("forest", 0, 7), ("boosting", 1, 7), ("neighbours", 1, 7), ("foreign", 0, 4)],
)
def test_pages_have_their_charts(name, task, n_charts, tmp_path):
    X, y = IRIS.data, SPECIES if task == 0 else IRIS.data["petal width (cm)"]
    model = MODELS[name][task].fit(X, y)
    path = hb.report(model, X, y, tmp_path / "report.html", cv=2)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert path == str(tmp_path / "report.html")
    assert ("Trees" in page.texts) == bool(readings_shown(model))
    assert page.tags.count("figure") > n_charts
    assert ("True class" in page.texts) == (task == 0)


def test_tables_of_every_kind_give_the_same_facts():
    X = IRIS.data.round(1)
    y = SPECIES.to_numpy()
    shuffled_index = X.set_index(pd.Index(range(299, 149, -1)))
    plain = X.to_numpy()
    tables = [X, shuffled_index, pl.from_pandas(X), pl.from_pandas(X).to_arrow()]
    tables += [plain, sparse.csr_matrix(plain), plain.tolist()]
    found = []
    for table in tables:
        model = hb.DecisionTreeClassifier(max_depth=3, random_state=0).fit(table, y)
        facts = facts_of(model, table, y)
        courses = [(d.column, d.mean.tolist()) for d in facts.dependences]
        trees = viewer_data(facts)
        found.append((facts.scores, facts.importances.mean.tolist(), courses, trees["rows"], trees["paths"]))
    assert all(each == found[0] for each in found)


def test_a_class_that_the_model_does_not_know_is_counted_as_wrong():
    some = SPECIES != "virginica"
    model = hb.DecisionTreeClassifier().fit(IRIS.data[some], SPECIES[some])
    facts = facts_of(model, IRIS.data, SPECIES, cv=None)
    assert facts.labels == ("setosa", "versicolor", "virginica")
    assert facts.scores.headline.model == pytest.approx(2 / 3)
    assert [score.name for score in facts.scores.scores] == ["accuracy", "balanced accuracy"]
    assert "virginica" in page_of(facts)


def test_few_rows_are_enough_for_a_page(tmp_path):
    table = hb.datasets.xor()
    model = hb.DecisionTreeClassifier().fit(table.X, table.y)
    hb.report(model, table.X, table.y, tmp_path / "xor.html")
    one = hb.DecisionTreeRegressor().fit(IRIS.data, IRIS.target)
    hb.report(one, IRIS.data[:1], IRIS.target[:1], tmp_path / "one.html", cv=None)
    assert (tmp_path / "one.html").stat().st_size > 20_000


# --- Safety ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile_page():
    generator = np.random.default_rng(0)
    X = pd.DataFrame({name: generator.normal(size=60) for name in HOSTILE})
    X["category\u2028"] = np.resize(HOSTILE, 60)
    y = pd.Series(np.resize(HOSTILE[:3], 60), name="<b>target</b>")
    model = hb.DecisionTreeClassifier(random_state=0).fit(X, y)
    return page_of(facts_of(model, X, y), title="<i>title</i>")


def test_names_stay_text(hostile_page):
    page = Page(hostile_page)
    assert not {"img", "b", "i", "a href"} & set(page.tags)
    assert page.tags.count("script") == 2 and page.tags.count("style") == 1
    texts = "".join(page.texts)
    for name in HOSTILE[:3]:
        assert name in texts
    assert "<i>title</i>" in texts and "<b>target</b>" in texts


def test_the_page_needs_nothing_beside_itself_and_could_not_get_it(hostile_page):
    page = Page(hostile_page)
    policy = next(value for tag, key, value in page.attributes if key == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy and "http" not in policy and "data:" not in policy
    for tag, key, value in page.attributes:
        assert key not in ("src", "style", "srcdoc", "action") and not key.startswith("on"), (tag, key)
        if key in ("href", "xlink:href"):
            assert value.startswith("#")
    # The name of the SVG namespace is the only address, and no one fetches it.
    assert set(re.findall(r"https?://[^\s\"'<)]*", hostile_page)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in page.styles[0] and "url(" not in page.styles[0]
    assert "innerHTML" not in page.scripts[-1]


def test_the_data_block_cannot_be_left(hostile_page):
    block = re.search(r'<script type="application/json" id="viewer-data">(.*?)</script>', hostile_page, re.S)[
        1
    ]
    assert "<" not in block and ">" not in block
    labels = json.loads(block)["classes"]
    assert len(labels) == 3 and all(any(name in label for name in HOSTILE[:3]) for label in labels)


def test_charts_do_not_share_identifiers(hostile_page):
    found = [value for _, key, value in Page(hostile_page).attributes if key == "id"]
    assert len(found) == len(set(found))


def test_the_same_facts_give_the_same_page(iris_facts):
    assert page_of(iris_facts) == page_of(iris_facts)


# --- Mistakes --------------------------------------------------------------------------------------------


def test_what_a_report_refuses(tmp_path):
    model = hb.DecisionTreeClassifier(max_depth=1).fit(IRIS.data, SPECIES)
    path = tmp_path / "report.html"
    cases = [
        ((IRIS.data, SPECIES[:10]), {}, "X has 150 rows, but y has 10"),
        ((IRIS.data, IRIS.target), {}, "predicts classes such as setosa, but y holds values such as 0"),
        ((IRIS.data, SPECIES), {"cv": 1}, "cv must be a whole number >= 2 or None; got 1"),
        ((IRIS.data, SPECIES), {"X_train": IRIS.data}, "both X_train and y_train"),
        ((IRIS.data, np.column_stack([SPECIES, SPECIES])), {}, "one target; y has shape"),
        ((IRIS.data[:0], SPECIES[:0]), {}, "y is empty"),
    ]
    for arguments, options, message in cases:
        with pytest.raises(ValueError, match=re.escape(message)):
            hb.report(model, *arguments, path, **options)
    numbers = hb.DecisionTreeRegressor(max_depth=1).fit(IRIS.data, IRIS.target)
    with pytest.raises(ValueError, match="y, row 2: the target is nan"):
        hb.report(numbers, IRIS.data[:3], [1.0, 2.0, np.nan], path)
    with pytest.raises(TypeError, match="takes classifiers and regressors; got DensityTree"):
        hb.report(hb.DensityTree().fit(IRIS.data), IRIS.data, SPECIES, path)
    assert os.listdir(tmp_path) == []


# --- The command line ------------------------------------------------------------------------------------


def test_row_83_an_interrupted_report_leaves_nothing(tmp_path, monkeypatch):
    """Ctrl-C amid the charts. At a fixed place: Python swallows an interrupt that falls into a callback."""
    drawn = []

    def draw_and_interrupt(*args, **kwargs):
        drawn.append(kwargs["name"])
        if len(drawn) == 3:
            signal.raise_signal(signal.SIGINT)
        return inline_svg(*args, **kwargs)

    model = hb.RandomForestClassifier(n_estimators=20, random_state=0).fit(IRIS.data, IRIS.target)
    monkeypatch.setattr(charts, "inline_svg", draw_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            hb.report(model, IRIS.data, IRIS.target, tmp_path / "page.html")
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(drawn) == 3
    assert list(tmp_path.iterdir()) == []
    assert model.predict(IRIS.data[:1]).tolist() == [0]


def test_the_verb_writes_the_page_and_spares_what_is_there(tmp_path, capsys):
    data, model, page = (str(tmp_path / name) for name in ("iris.csv", "iris.hornbeam", "iris.html"))
    IRIS.data.assign(species=SPECIES).to_csv(data, index=False)
    assert run(["fit", data, "--target", "species", "--method", "tree", "--max-depth", "2"]) == 0
    assert run(["report", model, data, "--target", "species"]) == 0
    assert f"Report written to {page}." in capsys.readouterr().out
    written = (tmp_path / "iris.html").read_text(encoding="utf-8")
    assert "Predicting species" in written and "cross-fitting" in written
    assert run(["report", model, data, "--target", "species"]) == 1
    assert "exists: give --force" in capsys.readouterr().err
    assert run(["report", model, data, "--target", "species", "--new", "--force"]) == 0
    assert "cross-fitting" not in (tmp_path / "iris.html").read_text(encoding="utf-8")
    assert run(["report", model, data, "--target", "kind", "--out", str(tmp_path / "no.html")]) == 1
    assert not (tmp_path / "no.html").exists()


def test_reasons_are_told_for_our_models_only(tmp_path):
    forest = hb.RandomForestClassifier(5, random_state=0).fit(IRIS.data, SPECIES)
    facts = gather(forest, IRIS.data, SPECIES, X_train=None, y_train=None, cv=None, target_name=None, seed=0)
    assert facts.reasons.is_size
    sizes = np.abs(forest.contributions(IRIS.data).values).sum(axis=2)
    np.testing.assert_allclose(facts.reasons.contributions.values, sizes)
    page = page_of(facts)
    for row in facts.reasons.rows:
        assert row.text == forest.explain(IRIS.data.iloc[[row.row - 1]]).text
        assert row.truth == SPECIES[row.row - 1]
    assert "Row 1: right, and sure of it; in truth setosa" in page
    shares = np.sort(forest.predict_proba(IRIS.data), axis=1)
    least_sure = int(np.argmin(shares[:, -1] - shares[:, -2])) + 1
    assert f"Row {least_sure}: least sure" in page

    linear = LinearRegression().fit(DIABETES.data, DIABETES.target)
    hb.report(linear, DIABETES.data, DIABETES.target, tmp_path / "linear.html", cv=None)
    assert "Single rows" not in (tmp_path / "linear.html").read_text(encoding="utf-8")


def test_contributions_of_two_classes_are_to_the_second(tmp_path):
    cancer = load_breast_cancer(as_frame=True)
    for model in (hb.DecisionTreeClassifier(max_depth=3), hb.GradientBoostingClassifier(n_estimators=5)):
        model.fit(cancer.data, cancer.target)
        facts = gather(
            model, cancer.data, cancer.target, X_train=None, y_train=None, cv=None, target_name=None, seed=0
        )
        assert facts.reasons.output == 1 and not facts.reasons.is_size
        found = model.contributions(cancer.data).values
        chosen = np.linspace(0, 568, 150).astype(int)
        expected = found[chosen] if found.ndim == 2 else found[chosen, :, 1]
        np.testing.assert_allclose(facts.reasons.contributions.values, expected)
        assert "What each column adds to the score of 1, exactly" in page_of(facts)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lines_of_rows_are_spoken_of_where_there_are_some(n_classes, tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[y < n_classes], y[y < n_classes]
    page = tmp_path / "r.html"
    hb.report(hb.RandomForestClassifier(5, random_state=0).fit(X, y), X, y, page)
    text = page.read_text(encoding="utf-8")
    assert "Partial dependence" in text
    assert ("Thin lines are single rows" in text) == (n_classes == 2)
