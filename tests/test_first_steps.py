"""What people try first: wrong orders, texts for tables, empty columns, notebooks; words, or it works."""

import inspect
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import hornbeam as hb
from hornbeam.declare.classes import estimators
from hornbeam.warnings import DataWarning, UnseenCategoryWarning

X, Y = load_iris(return_X_y=True, as_frame=True)
NAMES = load_iris().target_names[Y]
FEW = {"n_estimators": 3, "random_state": 0}


def test_dir_lists_what_is_for_users():
    assert dir(hb) == sorted(hb.__all__)
    assert all(hasattr(hb, name) for name in dir(hb))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hb.compare("file.csv", "y"), "X is 'file.csv', a text. Read the table first"),
        (lambda: hb.compare(X, "y"), "y is 'y', but X has no such column. Its columns are: 'sepal length"),
        (lambda: hb.best(X.to_numpy(), "y"), r"y is the text 'y'; .* give the column, X\['y'\]"),
        (lambda: hb.compare(Y, X), r"The table comes first: compare\(X, y\)"),
        (lambda: hb.DecisionTreeClassifier().fit("file.csv", "y"), "Read the table first"),
        (
            lambda: hb.KNeighborsClassifier().fit(X.to_dict("list"), Y),
            r"X is a dict. .*pandas.DataFrame\(X\)",
        ),
        (lambda: hb.RandomForestClassifier(**FEW).fit(X, "species"), "y is the text 'species'"),
        (
            lambda: hb.tune(hb.DecisionTreeClassifier(), {"max_depth": [1]}, X, Y),
            "tune takes the table first",
        ),
        (
            lambda: hb.tune(X, Y, {"max_depth": [1]}, hb.DecisionTreeClassifier()),
            "an estimator in the third place",
        ),
        (lambda: hb.tune("file.csv", "y", hb.DecisionTreeClassifier()), "Read the table first"),
        (
            lambda: hb.GradientBoostingClassifier(2).fit(X, Y, callbacks=[1]),
            "A callback is a function of a Round",
        ),
        (lambda: hb.GradientBoostingClassifier(2).fit(X, Y, callbacks=print), "must be a list of functions"),
    ],
)
def test_mistakes_are_answered_in_words(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_target_may_be_named(frame, tmp_path):
    table = frame({**X.iloc[:, :2].to_dict("list"), "kind": Y.to_numpy()})
    apart = frame(X.iloc[:, :2].to_dict("list"))
    tree = hb.DecisionTreeClassifier(max_depth=2, random_state=0)

    def best(*data):
        return hb.best(*data, random_state=0).predict_proba(apart)

    def compare(*data):
        return hb.compare(*data, methods=["tree"], search=False, random_state=0, n_bootstrap=2).verdict

    def tune(*data):
        return hb.tune(*data, tree, {"max_depth": [1, 2]}).cv_results_["mean_test_score"]

    def report(*data):
        text = Path(hb.report(tree.fit(apart, Y), *data, tmp_path / "page.html", cv=None)).read_text("utf-8")
        assert "kind" in text
        return None

    for function in (best, compare, tune, report):
        one, other = function(table, "kind"), function(apart, pd.Series(Y, name="kind"))
        np.testing.assert_equal(one, other, err_msg=function.__name__)
    hb.story(tree, table, "kind", tmp_path / "story.html")
    assert "kind" in (tmp_path / "story.html").read_text("utf-8")


IDS = pd.DataFrame({"a": X.iloc[:, 0], "id": [f"row {k}" for k in range(len(X))]})
BY_GOWER = hb.KNeighborsClassifier(metric="gower")


@pytest.mark.parametrize(
    "fit",
    [
        lambda: hb.best(IDS, Y, random_state=0),
        lambda: hb.StackingClassifier([[("k", BY_GOWER), ("l", BY_GOWER)]]).fit(IDS, Y),
        lambda: hb.BaggingClassifier(BY_GOWER, n_jobs=1, random_state=0).fit(IDS, Y),
        lambda: hb.BaggingClassifier(BY_GOWER, n_jobs=2, random_state=0).fit(IDS, Y),
    ],
    ids=["best", "stack", "bag", "bag in threads"],
)
def test_an_id_is_warned_of_once_however_many_members_see_it(fit):
    for _ in range(2):  # a second call says it again
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit()
        about = [str(w.message) for w in caught if issubclass(w.category, DataWarning)]
        assert len(about) == 1, about
        assert "'id'" in about[0]


@pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
@pytest.mark.parametrize("container", [np.array, pd.Series, list])
def test_a_text_target_with_a_gap_is_named_by_its_row(gap, container):
    y = NAMES.astype(object)
    y[3] = gap
    for call in (
        lambda: hb.compare(X, container(y), methods=["tree"]),
        lambda: hb.tune(X, container(y), hb.DecisionTreeClassifier(), {"max_depth": [1]}),
        lambda: hb.DecisionTreeClassifier().fit(X, container(y)),
    ):
        with pytest.raises(ValueError, match="y contains NaN: row 3 has no value"):
            call()


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_errors_of_python_name_public_classes(cls):
    """An argument that a method does not take is answered with the name of its function."""
    for name, method in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and method.__module__.startswith("hornbeam"):
            owner = method.__qualname__.rpartition(".")[0].rpartition(".")[2]
            assert not owner.startswith("_"), method.__qualname__


@pytest.mark.parametrize(
    "model",
    [
        hb.DecisionTreeClassifier(),
        hb.RandomForestClassifier(**FEW),
        hb.GradientBoostingClassifier(3),
        hb.AdaBoostClassifier(n_estimators=3),
        hb.BaggingClassifier(**FEW),
        hb.KNeighborsClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_one_class_only_is_told(model):
    with pytest.warns(
        DataWarning, match="y holds one class only, 'a': every row will be predicted as that class"
    ):
        fitted = clone(model).fit(X, ["a"] * 150)
    assert set(fitted.predict(X)) == {"a"}


@pytest.mark.parametrize(
    "gap", [np.full(150, np.nan), np.array([None] * 150, dtype=object), pd.Categorical([None] * 150, ["a"])]
)
@pytest.mark.parametrize("model", [hb.DecisionTreeClassifier(), hb.GradientBoostingRegressor(3)])
def test_a_column_without_any_value_is_told(gap, model):
    with pytest.warns(DataWarning, match="Column 'gap' has no value in any row"):
        clone(model).fit(X.assign(gap=gap), Y)
    with warnings.catch_warnings():  # one value is enough, and rows that are dealt out are not looked at
        warnings.simplefilter("error")
        some = np.full(150, np.nan)
        some[7] = 1.0
        clone(model).fit(X.assign(gap=some), Y)


# --- Categories that a fit has not seen --------------------------------------------------------------------


def test_unseen_categories_are_told_once_per_call():
    """A category in 3 of 90 rows is in one fold or another that its members have not seen."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{j}": rng.choice(list("abc"), 90) for j in range(8)})
    table.loc[[5, 40, 80], "c0"] = ["p", "q", "r"]
    table.loc[[6, 41, 81], "c1"] = ["p", "q", "r"]
    y = rng.integers(0, 2, 90)
    members = [("t", hb.DecisionTreeClassifier(max_depth=3)), ("f", hb.RandomForestClassifier(**FEW))]
    stack = hb.StackingClassifier([members], cv=3)
    with pytest.warns(UnseenCategoryWarning, match="'c0': .*'c1': .*over all folds and members") as output:
        stack.fit(table, y)
    assert len(output) == 1
    new = pd.DataFrame(dict.fromkeys(table, "z"), index=range(7))
    for ask in (stack.predict, lambda rows: hb.DecisionTreeClassifier().fit(table, y).predict(rows)):
        with pytest.warns(UnseenCategoryWarning, match=r"'c0': (7|14) row.*and 3 other column") as output:
            ask(new)
        assert len(output) == 1
    with pytest.warns(UnseenCategoryWarning) as output:
        hb.tune(table, y, hb.DecisionTreeClassifier(), {"max_depth": [1, 2, 3]}, cv=5)
    assert len(output) == 1


# --- Notebooks ---------------------------------------------------------------------------------------------


def test_what_notebooks_show():
    frame = X.set_axis(["a", "<i9>", "c", "d"], axis=1)
    tree = hb.DecisionTreeClassifier(max_depth=2).fit(frame, NAMES)
    boosting = hb.GradientBoostingClassifier(3).fit(frame, NAMES)
    found = hb.compare(frame, NAMES, methods=["tree"], search=False, cv=2, random_state=0)
    tuned = hb.tune(frame, NAMES, hb.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2)
    stack = hb.StackingClassifier([[("first", tree), ("second", hb.KNeighborsClassifier())]])
    shown = {
        "comparison": (found._repr_html_(), ["<table>", "<td", "tree", "Best is"]),
        "search": (tuned._repr_html_(), ["max_depth", "<td"]),
        "path": (tree.explain(frame.iloc[[60]])._repr_html_(), ["answer: versicolor"]),
        "parts": (boosting.explain(frame.iloc[[60]])._repr_html_(), ["setosa", "virginica", "logarithms"]),
        "members": (
            hb.RandomForestClassifier(**FEW).fit(frame, NAMES).explain(frame.iloc[[60]])._repr_html_(),
            ["answer: versicolor"],
        ),
        "tree": (tree._repr_html_(), ["-&gt; setosa (50 rows"]),
        "stack": (stack._repr_html_(), ["first", "second", "KNeighborsClassifier", "LogisticRegression"]),
    }
    for what, (html, words) in shown.items():
        assert "<i9>" not in html, what
        for word in words:
            assert word in html, (what, word)
    assert "-&gt; setosa (50 rows" in tree._repr_mimebundle_()["text/html"]


def test_explaining_several_classes_names_them_and_what_scores_count():
    boosting = hb.GradientBoostingClassifier(3).fit(X, NAMES)
    output = boosting.explain(X.iloc[[60]])
    *_, last = str(output).splitlines()
    said, _, scores = last.rpartition(": ")
    assert said == "score, logarithms of the shares, up to a number that all classes have in common"
    assert [part.split()[0] for part in scores.split(", ")] == ["setosa", "versicolor", "virginica"]
    sums = [float(part.split()[1]) for part in scores.split(", ")]
    shares = np.exp(sums) / np.exp(sums).sum()
    np.testing.assert_allclose(shares, boosting.predict_proba(X.iloc[[60]])[0], atol=1e-5)
    np.testing.assert_allclose(output.start + sum(output.contributions.values()), output.score)
    two = hb.GradientBoostingClassifier(3).fit(X[50:], NAMES[50:])
    assert "score, log-odds of virginica: " in str(two.explain(X.iloc[[60]]))
    counts = hb.GradientBoostingRegressor(3, loss="poisson").fit(X, Y)
    assert "score, logarithms of what is predicted: " in str(counts.explain(X.iloc[[60]]))
