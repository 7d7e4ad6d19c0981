"""What class_weight multiplies the rows' weights by."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.class_weight import compute_sample_weight

from hornbeam.data.class_weight import class_weights
from hornbeam.data.target import ClassTarget, read_classes

LABELS = ["b", "a", "b", "b"]


def read_labels(y: Any) -> ClassTarget:
    return read_classes(y, len(y))


def test_no_class_weights() -> None:
    assert class_weights(None, read_labels(LABELS)) is None


@pytest.mark.parametrize("chosen", ["balanced", {"a": 3.0, "b": 0.5}, {"a": 0, "b": 1}])
def test_class_weights_as_in_scikit_learn(chosen: Any) -> None:
    factors = class_weights(chosen, read_labels(LABELS))
    assert factors is not None
    assert factors.dtype == np.float64
    np.testing.assert_allclose(factors, compute_sample_weight(chosen, LABELS), rtol=1e-15)


def test_class_weights_of_several_outputs() -> None:
    y = np.array([[0, 1], [0, 0], [1, 1], [0, 1]])
    for chosen in ("balanced", [{0: 2.0, 1: 3.0}, {0: 5.0, 1: 7.0}]):
        factors = class_weights(chosen, read_classes(y, 4))  # type: ignore[arg-type]
        np.testing.assert_allclose(factors, compute_sample_weight(chosen, y), rtol=1e-15)


@given(weights=st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any))
def test_balance_counts_integer_weights_as_repeated_rows(weights: list[int]) -> None:
    y = np.array([0, 0, 1, 1, 1, 2])
    factors = class_weights("balanced", read_labels(y), sample_weight=np.array(weights, dtype=np.float64))
    assert factors is not None
    repeated = np.repeat(y, weights)
    expected = class_weights("balanced", read_labels(repeated))
    np.testing.assert_allclose(np.repeat(factors, weights), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"a": -1.0, "b": 1.0}, "class_weight of the class 'a' must be a finite number >= 0; got -1.0"),
        ({"a": 1.0, "b": np.nan}, "class 'b' must be a finite number"),
        ({"a": 1.0, "b": "heavy"}, "class 'b' must be a finite number"),
        ({"a": 1.0, "c": 1.0}, r"classes, \['b'\], are not in class_weight"),
        ("balance", "got 'balance'"),
        (3, "got 3"),
        ([{"a": 1.0}, {"a": 1.0}], "class_weight has 2 dicts, but y has 1 outputs"),
    ],
)
def test_refused_class_weights(chosen: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        class_weights(chosen, read_labels(LABELS))


def test_one_dict_for_several_outputs_is_refused() -> None:
    with pytest.raises(ValueError, match="For multi-output, class_weight should be a list of dicts"):
        class_weights({0: 1.0, 1: 2.0}, read_classes(np.eye(3, dtype=int)[:, :2], 3))
