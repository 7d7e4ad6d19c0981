"""What must not matter: the order of the rows of a fit, the rows asked about at the same time, and the
library that a table comes from.
"""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from reference.sums import sum_of_whole_numbers
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hornbeam as hb
from hornbeam.estimators.linear import linear_model
from hornbeam.sums import sum_in_any_order

FEW = {"n_estimators": 5, "random_state": 0}


def problem(n_rows=200, n_columns=4):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, n_columns))
    return X, X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n_rows)


def stack(final=None, **options):
    members = [("t", hb.DecisionTreeClassifier(max_depth=4)), ("k", hb.KNeighborsClassifier())]
    return hb.StackingClassifier(
        [[*members, ("g", hb.GradientBoostingClassifier(5))]], final_estimator=final, **options
    )


# --- Rows asked about at the same time ---------------------------------------------------------------------

ALL = [
    hb.DecisionTreeClassifier(),
    hb.DecisionTreeRegressor(),
    hb.RandomForestClassifier(**FEW),
    hb.RandomForestRegressor(**FEW),
    hb.ExtraTreesClassifier(**FEW),
    hb.ExtraTreesRegressor(**FEW),
    hb.BaggingClassifier(**FEW),
    hb.BaggingRegressor(**FEW),
    hb.BaggingClassifier(hb.KNeighborsClassifier(3), **FEW),
    hb.AdaBoostClassifier(n_estimators=5),
    hb.AdaBoostRegressor(**FEW),
    hb.GradientBoostingClassifier(5),
    hb.GradientBoostingRegressor(5),
    hb.KNeighborsClassifier(),
    hb.KNeighborsRegressor(scale="standard"),
    hb.KNeighborsRegressor(10),
    hb.KNeighborsRegressor(33, weights="distance"),
    hb.KNeighborsClassifier(33, weights="distance"),
    hb.KNeighborsRegressor(None, weights="gaussian"),
    hb.DensityTree(random_state=0),
    stack(),
    stack(passthrough=True),
    stack(LogisticRegression(C=100)),
    stack(RidgeClassifier()),
    stack(make_pipeline(StandardScaler(), LogisticRegression())),
    hb.StackingRegressor([[("linear", linear_model("regression"))]]),
    hb.BlendClassifier([("linear", linear_model("classification"))], random_state=0),
    hb.BlendRegressor([("linear", linear_model("regression"))], random_state=0),
    hb.StackingRegressor([[("t", hb.DecisionTreeRegressor(max_depth=4)), ("k", hb.KNeighborsRegressor())]]),
]
QUESTIONS = (
    "predict",
    "predict_proba",
    "decision_function",
    "apply",
    "transform",
    "score_samples",
)


def answer_of(model, question, X):
    """Ask a model about rows; what members say by name is put side by side."""
    said = getattr(model, question)(X)
    if isinstance(said, dict):
        return np.column_stack([np.asarray(one).reshape(len(X), -1) for one in said.values()])
    return np.asarray(said)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)
def test_a_row_alone_gets_the_bits_it_gets_among_others(model, n_classes):
    X, score = problem()
    classifies = (
        not hasattr(model, "predict") or hasattr(model, "predict_proba") or type(model) is type(stack())
    )
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes)) if classifies else score
    model = clone(model).fit(X, y)
    asked = 0
    for question in QUESTIONS:
        if not hasattr(model, question):
            continue
        try:
            together = answer_of(model, question, X)
        except (AttributeError, ValueError):
            continue  # some questions need options of the fit
        asked += 1
        for size in (1, 8):
            parts = [answer_of(model, question, X[start : start + size]) for start in range(0, 24, size)]
            np.testing.assert_array_equal(np.concatenate(parts), together[:24], f"{question} by {size}")
    assert asked


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_neighbors", [5, 10, 33])
def test_neighbours_of_weighted_rows_answer_alone_as_among_others(n_neighbors, wide):
    """How many are looked at until their weights suffice depends on who else is asked about."""
    X, score = problem()
    weights = np.random.default_rng(4).exponential(size=len(X)) ** 3
    if wide:  # beside the largest, the others are lost in a sum
        weights = weights**25
    for model, y in (
        (hb.KNeighborsRegressor(n_neighbors), score),
        (hb.KNeighborsClassifier(n_neighbors), score > 0),
    ):
        model.fit(X, y, weights)
        ask = getattr(model, "predict_proba", model.predict)
        together = ask(X)
        alone = np.concatenate([ask(X[row : row + 1]) for row in range(len(X))])
        np.testing.assert_array_equal(alone, together)


# --- The order of the rows of a fit ------------------------------------------------------------------------

ORDERLY = [
    hb.DecisionTreeClassifier(),
    hb.AdaBoostClassifier(n_estimators=10),
    hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=2), n_estimators=10),
    hb.KNeighborsClassifier(),
    hb.KNeighborsClassifier(scale="standard"),
    hb.KNeighborsClassifier(5, weights="gaussian"),
    hb.KNeighborsClassifier(5, weights="gaussian", scale="standard"),
]
# Trees of numbers are not among them: the mean that targets are centred on is a sum of floats.
ORDERLY_NUMBERS = [hb.KNeighborsRegressor(5, weights="gaussian")]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1000, 1001])  # of more than 1,000 rows some tell the bandwidth
@pytest.mark.parametrize("model", [*ORDERLY, *ORDERLY_NUMBERS], ids=repr)
def test_the_order_of_rows_changes_nothing(model, n_rows, weighted):
    X, score = problem(n_rows)
    y = score if any(model is one for one in ORDERLY_NUMBERS) else np.digitize(score, [0.5, 1.5])
    rng = np.random.default_rng(2)
    weights = rng.exponential(size=n_rows) if weighted else None
    model, found = clone(model), []
    for order in (np.arange(n_rows), np.arange(n_rows)[::-1], rng.permutation(n_rows)):
        model.fit(X[order], y[order], sample_weight=None if weights is None else weights[order])
        found.append(model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("n_rows", [1000, 1001, 20_000])
def test_the_median_bandwidth_is_near_the_median_of_all_pairs(n_rows):
    """Half of the rows are the same one, as in tables with a default: the others must not be missed."""
    X, _ = problem(n_rows)
    X[: n_rows // 2] = 0.0
    width = hb.KNeighborsRegressor(5, weights="gaussian").fit(X, X[:, 0]).bandwidth_
    some = X[np.random.default_rng(0).permutation(n_rows)[:2000]]
    between = np.sqrt(((some[:, None] - some[None]) ** 2).sum(axis=2))[np.triu_indices(len(some), k=1)]
    assert width == pytest.approx(np.median(between[between > 0]), rel=0.1)


@given(
    st_numpy.arrays(
        np.float64, st.integers(0, 40), elements=st.floats(allow_nan=False, allow_infinity=False)
    ),
    st.randoms(use_true_random=False),
)
def test_sums_in_any_order(values, random):
    values = values / 64  # so that no sum overflows
    total = sum_in_any_order(values)
    largest = np.abs(values).max(initial=0.0)
    assert total == pytest.approx(math.fsum(values), rel=1e-15, abs=len(values) * largest * 2.0**-60)
    shuffled = values.tolist()
    random.shuffle(shuffled)
    assert sum_in_any_order(np.array(shuffled, dtype=np.float64)) == total


@pytest.mark.parametrize("n", [1, 7, 8, 9, 1000, 2**20 - 1, 2**20, 2**20 + 1])
@pytest.mark.parametrize("scale", [1.0, 1e-310, 1e300, "spread"])
def test_sums_in_any_order_are_those_of_whole_numbers(n, scale):
    random = np.random.default_rng(n)
    values = random.normal(size=n) * (10.0 ** random.integers(-12, 3, n) if scale == "spread" else scale)
    assert sum_in_any_order(values) == sum_of_whole_numbers(values)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_sums_of_what_is_not_finite(odd):
    np.testing.assert_equal(sum_in_any_order(np.array([1.0, odd, 2.0])), odd)


def test_sums_by_column_are_sums_of_columns():
    table = np.random.default_rng(0).normal(size=(100, 3)) * [1.0, 1e200, 1e-310]
    by_column = [sum_in_any_order(np.ascontiguousarray(column)) for column in table.T]
    np.testing.assert_array_equal(sum_in_any_order(table), by_column)


# --- The library that a table comes from -------------------------------------------------------------------

PEERS = [
    hb.BaggingClassifier(**FEW),
    hb.BaggingClassifier(hb.KNeighborsClassifier(3), max_features=2, **FEW),
    hb.BaggingClassifier(hb.DecisionTreeClassifier(max_bins=20), **FEW),
    hb.BaggingClassifier(DecisionTreeClassifier(), **FEW),
    hb.AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=3, random_state=0),
    hb.AdaBoostClassifier(n_estimators=3),
    stack(),
    stack(passthrough=True),
    stack(cv="holdout", random_state=0),
    hb.StackingClassifier(
        [
            [("s", DecisionTreeClassifier(max_depth=2)), ("l", LogisticRegression())],
            [("k", LogisticRegression())],
        ],
        passthrough=True,
    ),
    hb.RandomForestClassifier(**FEW),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", PEERS, ids=repr)
def test_members_know_the_columns_whatever_library_the_table_comes_from(model, weighted):
    X, score = problem(150)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    y = (score > 0.5).astype(int)
    options = {"sample_weight": (np.arange(150) % 4 > 0).astype(float)} if weighted else {}
    if weighted and "KNeighbors" in repr(model):
        return  # neighbours that are bagged or stacked take no weights
    model, message = clone(model), []
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        model.fit(table, y, **options)
        members = [one for each in model.estimators_ for one in (each if isinstance(each, list) else [each])]
        members.append(getattr(model, "final_estimator_", model))
        names = [list(getattr(member, "feature_names_in_", [])) for member in members]
        message.append((names, model.predict_proba(table)))
    (names, answers), *others = message
    assert all(names[:-1])
    for other_names, other_answers in others:
        assert names == other_names
        np.testing.assert_allclose(answers, other_answers)  # scikit-learn adds up by the layout in memory


def test_a_member_named_like_a_column_is_refused_where_both_would_meet():
    X, score = problem(60)
    for library in (pd.DataFrame, pl.from_pandas):
        table = library(pd.DataFrame(X, columns=["t", "b", "c", "d"]))
        with pytest.raises(ValueError, match="answers of 't' beside a column of X of that name"):
            stack(passthrough=True).fit(table, score > 0.5)
