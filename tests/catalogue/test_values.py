"""Rows 19 to 31: missing, infinite, extreme, nearly equal, huge and constant values."""

import pickle
import platform
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from catalogue.models import TREES, Tree, fit_both, problem, same_model
from catalogue.processes import run_script
from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.warnings import DataWarning

LARGEST = np.finfo(np.float64).max
SMALLEST = np.finfo(np.float64).smallest_subnormal


def assert_tells_apart(values: list[float]) -> DecisionTreeRegressor:
    """Fit one column of ascending values; every value must come back with its own answer."""
    X, y = np.array(values).reshape(-1, 1), np.arange(float(len(values)))
    model = DecisionTreeRegressor().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(DecisionTreeClassifier().fit(X, y % 2).predict(X), y % 2)
    return model


def thresholds(model: Tree) -> np.ndarray:
    tree = model.tree_
    return np.sort(tree.threshold[tree.feature >= 0])


@pytest.mark.parametrize("tree", TREES)
def test_row_19_missing_values_are_learned_or_refused(tree: type[Tree]) -> None:
    X, y = problem()
    X[5:9, 2] = np.nan
    model = tree().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)  # no two rows agree in all columns
    strict = tree(missing="error").fit(X[9:], y[9:])
    with pytest.raises(ValueError, match=rf"{tree.__name__}: column 'x2', row 5: the value is missing"):
        tree(missing="error").fit(X, y)
    with pytest.raises(ValueError, match=rf"{tree.__name__}: column 'x2', row 5: the value is missing"):
        strict.predict(X)
    with pytest.raises(ValueError, match="column 'x2', row 5"):
        tree(missing="error").fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("tree", TREES)
def test_row_20_a_column_of_nothing_is_never_split_on(tree: type[Tree]) -> None:
    X, y = problem()
    empty = np.full((len(X), 1), np.nan)
    with pytest.warns(DataWarning, match="Columns 'x0', 'x5' have no value in any row") as message:
        model = tree().fit(np.hstack([empty, X, empty]), y)
    assert len(message) == 1
    alone = tree().fit(X, y)
    assert not {0, 5} & set(model.tree_.feature.tolist())
    np.testing.assert_array_equal(model.tree_.threshold, alone.tree_.threshold)


@pytest.mark.parametrize("tree", TREES)
def test_row_21_missing_at_predict_only_takes_the_larger_branch(tree: type[Tree]) -> None:
    model = tree().fit([[1.0], [2.0], [8.0], [9.0], [10.0]], [0, 0, 1, 1, 1])
    assert model.tree_.missing_branch[0] == 1
    assert model.predict([[np.nan]]).tolist() == [1]
    assert pickle.loads(pickle.dumps(model)).predict([[np.nan]]).tolist() == [1]


def test_row_22_infinities_lie_beyond_all_finite_values() -> None:
    model = assert_tells_apart([-np.inf, -LARGEST, -1.0, 0.0, 1.0, LARGEST, np.inf])
    assert model.predict([[-1e307], [1e307]]).tolist() == [2.0, 4.0]
    assert not np.isnan(thresholds(model)).any()


def test_row_22_threshold_beside_an_infinity() -> None:
    for values in ([-np.inf, np.inf], [-np.inf, 0.0], [0.0, np.inf]):
        assert_tells_apart(values)


def test_row_23_the_largest_numbers() -> None:
    model = assert_tells_apart([-LARGEST, -1e300, 1e300, 1.5e300, np.nextafter(LARGEST, 0), LARGEST])
    assert np.isfinite(thresholds(model)).all()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="sets the control word of that processor")
def test_row_24_the_same_answer_where_denormals_are_flushed() -> None:
    assert run_script("flushed_denormals") == {
        "flushing": True,
        "right": True,
        "same_answers": True,
        "same_tree": True,
    }


def test_row_24_denormals_and_signed_zeros() -> None:
    assert_tells_apart([-2 * SMALLEST, -SMALLEST, 0.0, SMALLEST, 2 * SMALLEST, 3 * SMALLEST, 1e-300])
    X = np.array([[-0.0], [0.0], [-0.0], [1.0]])
    model = DecisionTreeRegressor().fit(X, [0.0, 3.0, 3.0, 9.0])
    assert model.predict([[0.0], [-0.0], [1.0]]).tolist() == [2.0, 2.0, 9.0]


@pytest.mark.parametrize("value", [1.0, -1.0, 0.1, 1e300, SMALLEST, 0.0, 2.0**52])
def test_row_25_neighbouring_numbers(value: float) -> None:
    upper = np.nextafter(value, np.inf)
    (threshold,) = thresholds(assert_tells_apart([value, upper]))
    assert value <= threshold < upper


@pytest.mark.parametrize("tree", TREES)
def test_row_26_identifiers_beyond_2_53(tree: type[Tree]) -> None:
    X = pd.DataFrame({"fine": [1, 2, 3, 4], "id": [2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3]})
    with pytest.warns(DataWarning, match=r"column 'id' \(1 values merged\)") as caught:
        tree().fit(X, [0, 1, 0, 1])
    assert len(caught) == 1


def test_row_27_beyond_float32() -> None:
    (threshold,) = thresholds(assert_tells_apart([16777216.0, 16777217.0]))
    assert 16777216 <= threshold < 16777217


def test_row_28_a_constant_column_is_ignored() -> None:
    X, y = problem()
    X[:, 1] = 7.0
    for model in fit_both(X, y):
        assert 1 not in model.tree_.feature


def test_row_28_all_columns_constant() -> None:
    X = np.ones((4, 2))
    with pytest.warns(DataWarning, match="Every column of X is constant") as caught:
        regressor = DecisionTreeRegressor().fit(X, [1.0, 2.0, 3.0, 10.0], sample_weight=[1, 1, 1, 5])
    assert len(caught) == 1
    assert regressor.get_n_leaves() == 1
    assert regressor.predict([[5.0, 5.0]]).tolist() == [(1 + 2 + 3 + 50) / 8]
    with pytest.warns(DataWarning, match="Every column of X is constant"):
        classifier = DecisionTreeClassifier().fit(X, ["a", "a", "b", "b"], sample_weight=[1, 1, 1, 5])
    assert classifier.predict_proba([[5.0, 5.0]]).tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize("tree", TREES)
def test_row_29_of_equal_columns_the_first_wins(tree: type[Tree]) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20_000, 3))
    y = (X.sum(axis=1) > 0).astype(int)
    twice = np.hstack([X, X, X[:, ::-1]])
    models = [tree(n_jobs=n_jobs, max_depth=10).fit(twice, y) for n_jobs in (1, 2)]
    assert set(models[0].tree_.feature.tolist()) <= {-2, 0, 1, 2}
    assert same_model(*models)


def test_row_30_many_columns_few_rows() -> None:
    # Fewer than the million of the catalogue, and enough to notice what grows faster than they do.
    X = np.zeros((10, 20_000), dtype=np.float32)
    X[:, 17_777] = np.arange(10)
    model = DecisionTreeRegressor(n_jobs=1).fit(X, np.arange(10.0))
    assert set(model.tree_.feature.tolist()) == {-2, 17_777}
    np.testing.assert_array_equal(model.predict(X), np.arange(10.0))


def finite(*arrays: Any) -> bool:
    return all(np.isfinite(array).all() for array in arrays)


def test_row_31_separable_data_stop_with_finite_scores() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    for criterion in ("gini", "entropy"):
        model = DecisionTreeClassifier(criterion=criterion).fit(X, X[:, 0] > 9)
        assert model.get_n_leaves() == 2
        assert finite(model.tree_.impurity, model.tree_.gain, model.tree_.value, model.feature_importances_)
    for criterion in ("squared_error", "poisson"):
        model = DecisionTreeRegressor(criterion=criterion).fit(X, (X[:, 0] > 9).astype(float))
        assert model.get_n_leaves() == 2
        assert finite(model.tree_.impurity, model.tree_.gain, model.tree_.value, model.feature_importances_)
