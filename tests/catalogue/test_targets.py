"""Rows 32 to 39: targets that are constant, broken, of the wrong length or shape, or extreme."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from catalogue.models import TREES, Tree, problem
from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor, memory
from hornbeam.warnings import DataWarning

X, Y = problem()


def test_row_32_one_class_and_one_value() -> None:
    classifier = DecisionTreeClassifier().fit(X, ["yes"] * len(X))
    assert classifier.get_n_leaves() == 1
    assert classifier.predict_proba(X[:2]).tolist() == [[1.0], [1.0]]
    assert set(classifier.predict(X)) == {"yes"}
    regressor = DecisionTreeRegressor().fit(X, np.full(len(X), 0.1))
    assert regressor.get_n_leaves() == 1
    assert set(regressor.predict(X)) == {0.1}


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_row_33_not_finite(tree: type[Tree], bad: float) -> None:
    y = Y.astype(float)
    y[[7, 9]] = bad
    message = "contains NaN: row 7" if np.isnan(bad) else "contains infinity.*row 7 holds"
    with pytest.raises(ValueError, match=message):
        tree().fit(X, y)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_row_33_missing_among_texts(missing: object) -> None:
    y = np.array(["a", "b"], dtype=object)[Y % 2]
    y[4] = missing
    with pytest.raises(ValueError, match="y contains NaN: row 4 has no value"):
        DecisionTreeClassifier().fit(X, y)


def test_row_33_numbers_among_texts() -> None:
    y = np.array(["a", "b"], dtype=object)[Y % 2]
    y[4] = 3
    with pytest.raises(ValueError, match=r"y mixes types: .* row 4 holds 3 \(int\)"):
        DecisionTreeClassifier().fit(X, y)


@pytest.mark.parametrize("tree", TREES)
def test_row_34_other_length(tree: type[Tree]) -> None:
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[200, 199\]"):
        tree().fit(X, Y[:-1])
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[200, 199\]"):
        tree().fit(X, Y[:-1], sample_weight=Y)  # some of which are 0


@pytest.mark.parametrize("tree", TREES)
def test_row_35_a_column_vector_warns_and_two_columns_are_two_outputs(tree: type[Tree]) -> None:
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as caught:
        model = tree().fit(X, Y.reshape(-1, 1))
    assert len(caught) == 1
    assert model.predict(X).shape == (len(X),)
    both = np.stack([Y, Y % 2], axis=1)
    np.testing.assert_array_equal(tree().fit(X, both).predict(X), both)
    with pytest.raises(ValueError, match=r"y should be a 1d array, got an array of shape \(200, 1, 1\)"):
        tree().fit(X, Y.reshape(-1, 1, 1))


def test_row_36_continuous_target_for_a_classifier() -> None:
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.*row 3 holds 0.25"):
        DecisionTreeClassifier().fit(X[:4], [0.0, 1.0, 2.0, 0.25])


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%:UserWarning")
def test_row_37_as_many_classes_as_rows() -> None:
    rows, labels = X[:100], np.array([f"class {i:03}" for i in range(100)])
    model = DecisionTreeClassifier().fit(rows, labels)
    assert len(model.classes_) == 100
    np.testing.assert_array_equal(model.predict(rows), labels)


@pytest.mark.filterwarnings("ignore:The number of unique classes is greater than 50%:UserWarning")
def test_row_37_as_many_classes_as_memory_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 8 * 2**30)
    n_classes = 100_000
    many, labels = np.arange(float(n_classes)).reshape(-1, 1), np.arange(n_classes)
    message = (
        r"shares of 100000 classes in the 199999 nodes.* about 298\.0 GiB; 8\.0 GiB of memory are available"
    )
    with pytest.raises(MemoryError, match=message):
        DecisionTreeClassifier().fit(many, labels)
    # What can be known to stay small is not refused: one leaf has one share per class.
    constant = np.ones_like(many)
    with pytest.warns(DataWarning, match="Every column of X is constant"):
        assert DecisionTreeClassifier().fit(constant, labels).get_n_leaves() == 1


@pytest.mark.parametrize("exponent", [1000, -1000])
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_row_39_targets_near_the_ends_of_float64(exponent: int, criterion: str) -> None:
    y = Y + 1.0
    plain = DecisionTreeRegressor(criterion=criterion).fit(X, y)
    scaled = DecisionTreeRegressor(criterion=criterion).fit(X, np.ldexp(y, exponent))
    np.testing.assert_array_equal(scaled.predict(X), np.ldexp(plain.predict(X), exponent))
    np.testing.assert_array_equal(scaled.tree_.threshold, plain.tree_.threshold)


@pytest.mark.parametrize("largest", [1e300, np.finfo(np.float64).max])
def test_row_39_the_largest_targets_give_finite_answers(largest: float) -> None:
    y = np.array([largest, -largest])[Y % 2]
    for depth in (1, 2, None):
        model = DecisionTreeRegressor(max_depth=depth).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
    np.testing.assert_array_equal(model.predict(X), y)


def test_row_39_poisson_needs_counts() -> None:
    y = Y.astype(float)
    y[11] = -1e-9
    with pytest.raises(ValueError, match=r"negative.*Poisson regression: row 11 holds -1e-09"):
        DecisionTreeRegressor(criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match="Sum of y is not strictly positive"):
        DecisionTreeRegressor(criterion="poisson").fit(X, np.zeros(len(X)))


def test_row_39_shares_of_zero_have_a_logarithm_of_minus_infinity() -> None:
    model = DecisionTreeClassifier().fit(X, Y)
    shares: Any = model.predict_log_proba(X)
    assert not np.isnan(shares).any()
    assert set(np.unique(shares)) == {-np.inf, 0.0}
