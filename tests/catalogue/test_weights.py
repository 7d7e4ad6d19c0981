"""Rows 40 to 45: the weight laws, and weights that break them."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from core.growing import same_bits
from scipy import sparse

from catalogue.models import TREES, Tree, problem, same_model
from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.model import TREE_ARRAYS
from hornbeam.warnings import WeightWarning

X, Y = problem()
NOISY = np.where(np.arange(len(Y)) % 5 == 0, (Y + 1) % 3, Y)  # no tree of a few levels is pure
CRITERIA: list[tuple[type[Tree], str]] = [
    (DecisionTreeClassifier, "gini"),
    (DecisionTreeClassifier, "entropy"),
    (DecisionTreeClassifier, "accuracy"),
    (DecisionTreeClassifier, "gain_ratio"),
    (DecisionTreeRegressor, "squared_error"),
    (DecisionTreeRegressor, "poisson"),
]
# These read weights as counts, so scaling is meant to matter.
ALL_CRITERIA = [*CRITERIA, (DecisionTreeClassifier, "chi2"), (DecisionTreeRegressor, "f_test")]
# What a tree says about rows and splits; the rest is in units of weight.
STRUCTURE = tuple(name for name in TREE_ARRAYS if name not in ("weighted_n_node_samples", "gain"))


@pytest.mark.parametrize("tree", TREES)
def test_row_40_all_weights_zero(tree: type[Tree]) -> None:
    with pytest.raises(ValueError, match="must contain at least one non-zero number"):
        tree().fit(X, Y, sample_weight=np.zeros(len(X)))


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (-1e-300, "Negative values in data passed to `sample_weight`: row 6 holds -1e-300"),
        (np.nan, "sample_weight contains NaN: row 6"),
        (np.inf, "sample_weight contains infinity.*row 6"),
    ],
)
def test_row_41_weights_that_are_none(tree: type[Tree], bad: float, message: str) -> None:
    weights = np.ones(len(X))
    weights[[6, 8]] = bad
    with pytest.raises(ValueError, match=message):
        tree().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(("tree", "criterion"), CRITERIA)
@pytest.mark.parametrize("exponent", [-1000, -3, 7, 1000])
def test_row_42_powers_of_two_change_nothing(tree: type[Tree], criterion: str, exponent: int) -> None:
    rng = np.random.default_rng(5)
    for weights in (np.ones(len(X)), rng.uniform(0.5, 2.0, len(X))):
        plain = tree(criterion=criterion, max_depth=6).fit(X, NOISY, sample_weight=weights)
        scaled = tree(criterion=criterion, max_depth=6).fit(
            X, NOISY, sample_weight=np.ldexp(weights, exponent)
        )
        assert same_bits(plain.tree_, scaled.tree_, STRUCTURE)
        np.testing.assert_array_equal(plain.predict(X), scaled.predict(X))


@pytest.mark.parametrize(("tree", "criterion"), CRITERIA)
@pytest.mark.parametrize("weight", [1e-300, 1e300])
def test_row_42_equal_extreme_weights_give_the_tree_of_weight_one(
    tree: type[Tree], criterion: str, weight: float
) -> None:
    plain = tree(criterion=criterion, max_depth=6).fit(X, NOISY)
    extreme = tree(criterion=criterion, max_depth=6).fit(X, NOISY, sample_weight=np.full(len(X), weight))
    for name in ("feature", "threshold", "first_child", "n_node_samples"):
        np.testing.assert_array_equal(getattr(plain.tree_, name), getattr(extreme.tree_, name))
    np.testing.assert_allclose(plain.predict(X), extreme.predict(X), rtol=1e-12)
    assert np.isfinite(extreme.tree_.value).all()


FORMS: dict[str, Any] = {
    "array": lambda X: X,
    "list": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "polars": lambda X: pl.DataFrame(X, schema=list("abcd")),
    "sparse": lambda X: sparse.coo_array(np.where(X > 40, X, 0.0)),
}


@pytest.mark.parametrize(("tree", "criterion"), ALL_CRITERIA)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "parameters", [{}, {"min_samples_leaf": 7}, {"min_samples_leaf": 0.05, "max_bins": 8}]
)
def test_row_43_zero_weight_equals_dropped(
    tree: type[Tree], criterion: str, form: str, parameters: dict[str, Any]
) -> None:
    rng = np.random.default_rng(11)
    weights = rng.integers(0, 3, len(X)).astype(float)
    weights[NOISY == 2] *= rng.integers(0, 2, int((NOISY == 2).sum()))
    table, kept = FORMS[form](X), np.flatnonzero(weights)
    zeroed = tree(criterion=criterion, random_state=1, **parameters).fit(table, NOISY, sample_weight=weights)
    dropped = tree(criterion=criterion, random_state=1, **parameters).fit(
        FORMS[form](X[kept]), NOISY[kept], sample_weight=weights[kept]
    )
    assert same_model(zeroed, dropped)
    assert pickle.dumps(zeroed) == pickle.dumps(dropped)


@pytest.mark.parametrize("tree", TREES)
def test_row_43_a_class_or_category_without_weight_does_not_exist(tree: type[Tree]) -> None:
    table = pd.DataFrame({"number": X[:, 0], "town": np.array(["Ulm", "Bonn", "Köln"])[NOISY]})
    weights = (NOISY != 1).astype(float)
    model = tree().fit(table, NOISY, sample_weight=weights)
    kept = NOISY != 1
    assert pickle.dumps(model) == pickle.dumps(
        tree().fit(table[kept], NOISY[kept], sample_weight=weights[kept])
    )
    if isinstance(model, DecisionTreeClassifier):
        assert model.classes_.tolist() == [0, 2]


@pytest.mark.parametrize("tree", TREES)
def test_row_43_a_row_without_weight_may_hold_anything(tree: type[Tree]) -> None:
    y = NOISY.astype(float)
    weights = np.ones(len(X))
    y[3], weights[3] = np.nan, 0.0
    model = tree().fit(X, y, sample_weight=weights)
    kept = np.arange(len(X)) != 3
    assert same_model(model, tree().fit(X[kept], y[kept]))
    y[4] = np.nan  # which counts, and is named by its row in X
    with pytest.raises(ValueError, match="y contains NaN: row 4"):
        tree().fit(X, y, sample_weight=weights)
    gappy = X.copy()
    gappy[[3, 5], 1] = np.nan
    with pytest.raises(ValueError, match="column 'x1', row 5"):
        tree(missing="error").fit(gappy, NOISY, sample_weight=weights)


@pytest.mark.parametrize(("tree", "criterion"), CRITERIA)
def test_row_44_weights_of_very_different_size(tree: type[Tree], criterion: str) -> None:
    weights = np.geomspace(1e-12, 1e12, len(X))
    with pytest.warns(WeightWarning, match=r"\d+ row\(s\) have a positive weight so small") as caught:
        model = tree(criterion=criterion).fit(X, NOISY, sample_weight=weights)
    assert len(caught) == 1
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.tree_.impurity).all()
    heavy = weights > 1e6
    np.testing.assert_allclose(model.predict(X[heavy]), NOISY[heavy], atol=1e-4)


@pytest.mark.parametrize(("tree", "criterion"), ALL_CRITERIA)
def test_row_45_integer_weights_are_repeated_rows(tree: type[Tree], criterion: str) -> None:
    weights = np.random.default_rng(2).integers(1, 5, len(X))
    weighted = tree(criterion=criterion, max_depth=7).fit(X, NOISY, sample_weight=weights)
    repeated = tree(criterion=criterion, max_depth=7).fit(X.repeat(weights, axis=0), NOISY.repeat(weights))
    for name in ("feature", "threshold", "first_child", "weighted_n_node_samples"):
        np.testing.assert_array_equal(getattr(weighted.tree_, name), getattr(repeated.tree_, name))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-12)
