"""Targets and weights: labels become codes, numbers stay numbers, what nobody can learn from is refused."""

import datetime
import decimal
import enum
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import DataConversionWarning

from hornbeam.data.class_weight import class_weights
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers, read_weights


def read_labels(y: Any, n_rows: int | None = None) -> ClassTarget:
    return read_classes(y, len(y) if n_rows is None else n_rows)


def assert_classes(y: Any, classes: list[Any], codes: list[int]) -> ClassTarget:
    target = read_labels(y)
    assert target.classes[0].tolist() == classes
    assert target.codes.dtype == np.int32
    assert target.codes.shape == (len(codes), 1)
    assert target.codes[:, 0].tolist() == codes
    assert not target.is_multi_output
    return target


# ------------------------------------------------------------------------------------------------------------
# Classes


class Size(enum.StrEnum):
    BIG = "big"
    SMALL = "small"


@pytest.mark.parametrize(
    "y",
    [
        ["b", "a", "b", "c"],
        ("b", "a", "b", "c"),
        np.array(["b", "a", "b", "c"]),
        np.array(["b", "a", "b", "c"], dtype=object),
        # NumPy 2 has strings of its own.
        np.array(["b", "a", "b", "c"], dtype=getattr(np.dtypes, "StringDType", lambda: object)()),
        pd.Series(["b", "a", "b", "c"]),
        pd.Series(["b", "a", "b", "c"], dtype=object, index=[9, 8, 7, 6]),
        pd.Series(["b", "a", "b", "c"], dtype="string"),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        pd.Series(pd.Categorical(["b", "a", "b", "c"], categories=["c", "b", "x", "a"], ordered=True)),
        pl.Series(["b", "a", "b", "c"]),
        pl.Series(["b", "a", "b", "c"], dtype=pl.Categorical),
        pa.chunked_array([["b"], ["a", "b", "c"]]),
        pa.chunked_array([pa.array(["b", "a", "b", "c"]).dictionary_encode()]),
    ],
)
def test_text_labels(y: Any) -> None:
    assert_classes(y, ["a", "b", "c"], [1, 0, 1, 2])


@pytest.mark.parametrize(
    "y",
    [
        [7, -3, 7, 100],
        np.array([7, -3, 7, 100], dtype=np.int8),
        np.array([7, -3, 7, 100], dtype=">i4"),
        np.array([7, -3, 7, 100], dtype=object),
        np.array([7.0, -3.0, 7.0, 100.0]),
        pd.Series([7, -3, 7, 100], dtype="Int64"),
        pd.Series([7, -3, 7, 100], dtype="int64[pyarrow]"),
        pd.Series([7, -3, 7, 100], dtype="category"),
        pl.Series([7, -3, 7, 100]),
        pl.Series([7, -3, 7, 100], dtype=getattr(pl, "Int128", pl.Int64)),  # polars 1.18
        pa.chunked_array([[7, -3, 7, 100]]),
    ],
)
def test_whole_numbers_with_gaps(y: Any) -> None:
    target = assert_classes(y, [-3, 7, 100], [1, 0, 1, 2])
    assert target.classes[0].dtype.kind in "if"
    assert target.classes[0].dtype.isnative


@pytest.mark.parametrize(
    "y",
    [
        [True, False, True],
        np.array([True, False, True]),
        np.array([True, False, True], dtype=object),
        pd.Series([True, False, True], dtype="boolean"),
        pl.Series([True, False, True]),
    ],
)
def test_boolean_labels(y: Any) -> None:
    assert assert_classes(y, [False, True], [1, 0, 1]).classes[0].dtype == np.bool_


def test_enumerations_are_texts() -> None:
    target = assert_classes(np.array([Size.SMALL, Size.BIG], dtype=object), ["big", "small"], [1, 0])
    assert type(target.classes[0][0]) is str


def test_classes_keep_the_dtype_of_text_arrays() -> None:
    assert read_labels(np.array(["yes", "no"])).classes[0].dtype == np.dtype("<U3")
    assert read_labels(np.array(["yes", "no"], dtype=object)).classes[0].dtype == np.dtype(object)


def test_single_class() -> None:
    assert_classes([5, 5, 5], [5], [0, 0, 0])


def test_large_labels_are_not_merged() -> None:
    assert_classes(np.array([2**53 + 1, 2**53, 2**63 - 1]), [2**53, 2**53 + 1, 2**63 - 1], [1, 0, 2])
    assert_classes(np.array([2**64 - 1, 0], dtype=np.uint64), [0, 2**64 - 1], [1, 0])
    with pytest.raises(ValueError, match="beyond 64 bits"):
        read_labels(np.array([10**30, 1], dtype=object))


@given(
    st.sampled_from(["bool", "i1", "u1", "<i2", ">i2", "u4", "i8", "u8"]).flatmap(
        lambda kind: st.tuples(
            st.just(kind),
            st.lists(
                st.booleans()
                if kind == "bool"
                else st.integers(np.iinfo(kind).min, np.iinfo(kind).max) | st.integers(0, 9),
                min_size=1,
            ),
        )
    )
)
def test_whole_numbers_are_numbered_in_their_order(labels: tuple[str, list[int]]) -> None:
    """Near one another they are counted, far apart sorted; either way they are what NumPy says."""
    kind, values = labels
    y = np.array(values, dtype=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nearly as many classes as rows
        target = read_labels(y)
    classes, codes = np.unique(y, return_inverse=True)
    assert target.classes[0].tolist() == classes.tolist()
    assert target.classes[0].dtype == classes.dtype.newbyteorder("=")
    assert target.codes[:, 0].tolist() == codes.tolist()


def test_as_many_classes_as_rows() -> None:
    y = np.random.default_rng(0).permutation(100_000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        target = read_labels(y)
    # Newer versions of scikit-learn warn, once, that this may be a regression problem.
    assert ["number of unique classes" in str(warning.message) for warning in caught] in ([], [True])
    np.testing.assert_array_equal(target.codes[:, 0], y)
    assert len(target.classes[0]) == 100_000


@given(y=st.lists(st.text(max_size=3), min_size=1, max_size=15))
def test_labels_come_back(y: list[str]) -> None:
    target = read_labels(np.array(y, dtype=object))
    assert target.labels(0).tolist() == y
    assert target.classes[0].tolist() == sorted(set(y))


@pytest.mark.parametrize(
    ("y", "row"),
    [
        ([0.0, 1.0, np.nan], 2),
        (np.array(["a", None, "b"], dtype=object), 1),
        (["a", None, "b"], 1),
        ([1, 2, None], 2),
        (["a", 1, None], 2),
        (np.array([np.nan, "a"], dtype=object), 0),
        (np.array([np.nan, np.nan], dtype=object), 0),
        (pd.Series([1, None], dtype="Int64"), 1),
        (pd.Series(["a", None], dtype="category"), 1),
        (pd.Series([pd.NA, "a"], dtype=object), 0),
        (pl.Series(["a", "b", None]), 2),
        (pa.chunked_array([["a"], [None]]), 1),
        (np.ma.masked_array([1, 2, 3], mask=[False, True, False]), 1),
    ],
)
def test_missing_labels_name_the_row(y: Any, row: int) -> None:
    with pytest.raises(ValueError, match=rf"Input y contains NaN: row {row} has no value"):
        read_labels(y)


def test_infinite_labels_name_the_row() -> None:
    with pytest.raises(ValueError, match=r"Input y contains infinity .*: row 1 holds inf"):
        read_labels([0.0, np.inf])


@pytest.mark.parametrize(
    ("y", "output"),
    [
        (["a", "b", 1], r"row 0 holds 'a' \(str\), row 2 holds 1 \(int\)"),
        (np.array([1, 2.0, "a"], dtype=object), r"row 0 holds 1 \(int\), row 2 holds 'a' \(str\)"),
        (np.array([True, 2], dtype=object), r"row 0 holds True \(bool\), row 1 holds 2 \(int\)"),
        (pd.Series(["a", 1], dtype=object), r"row 0 holds 'a' \(str\), row 1 holds 1 \(int\)"),
    ],
)
def test_mixed_labels_name_the_row(y: Any, output: str) -> None:
    with pytest.raises(ValueError, match=f"y mixes types: {output}"):
        read_labels(y)


@pytest.mark.parametrize(
    "y", [[0.0, 1.0, 0.5], np.array([0, 1, 0.5], dtype=object), np.array([0, 1, 0.5], np.float32)]
)
def test_continuous_labels(y: Any) -> None:
    with pytest.raises(ValueError, match=r"Unknown label type: continuous.*row 2 holds 0.5.*regressor"):
        read_labels(y)


def test_huge_floats_are_no_labels() -> None:
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        read_labels([1.0, 1e300])


@pytest.mark.parametrize(
    "y",
    [
        np.array(["2020", "2021"], dtype="datetime64[Y]"),
        np.array([b"a", b"b"]),
        [b"a", b"b"],
        np.array([decimal.Decimal(1), decimal.Decimal(2)], dtype=object),
        np.array([datetime.date(2020, 1, 1)], dtype=object),
        np.array([{"a": 1}, {"b": 2}], dtype=object),
    ],
)
def test_unknown_label_types(y: Any) -> None:
    with pytest.raises(ValueError, match="Unknown label type"):
        read_labels(y)


@pytest.mark.parametrize("read", [read_classes, read_numbers])
@pytest.mark.parametrize("y", [np.array([1j, 2]), [1, 2j]])
def test_complex_targets(read: Callable[..., object], y: Any) -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        read(y, 2)


# ------------------------------------------------------------------------------------------------------------
# Shapes of both


@pytest.mark.parametrize("read", [read_classes, read_numbers])
def test_wrong_lengths_are_both_named(read: Callable[..., object]) -> None:
    with pytest.raises(
        ValueError, match=r"Found input variables with inconsistent numbers of samples: \[5, 3\]"
    ):
        read([1, 2, 3], 5)


@pytest.mark.parametrize("read", [read_classes, read_numbers])
def test_no_target(read: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="Tree requires y to be passed, but the target y is None"):
        read(None, 3, estimator_name="Tree")


@pytest.mark.parametrize("read", [read_classes, read_numbers])
@pytest.mark.parametrize(
    "y",
    [
        np.array([[1], [2], [1]]),
        [[1], [2], [1]],
        pd.DataFrame({"y": [1, 2, 1]}),
        pl.DataFrame({"y": [1, 2, 1]}),
    ],
)
def test_a_column_vector_is_one_output_and_warns(read: Callable[..., Any], y: Any) -> None:
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed") as caught:
        target = read(y, 3)
    assert len(caught) == 1
    plain = read([1, 2, 1], 3)
    assert not target.is_multi_output
    if isinstance(target, ClassTarget):
        np.testing.assert_array_equal(target.codes, plain.codes)
    else:
        np.testing.assert_array_equal(target.values, plain.values)


@pytest.mark.parametrize("read", [read_classes, read_numbers])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros((2, 2, 2)), r"got an array of shape \(2, 2, 2\)"),
        (5, r"got an array of shape \(\)"),
        (np.zeros((2, 0)), "0 columns"),
        ([[1, 2], [3]], "ragged"),
    ],
)
def test_other_shapes(read: Callable[..., object], y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(y, 2)


@pytest.mark.parametrize("read", [read_classes, read_numbers])
def test_unsupported_containers(read: Callable[..., object]) -> None:
    with pytest.raises(TypeError, match=r"y is sparse; make it dense with y.toarray\(\)"):
        read(sparse.csr_array(np.eye(2)), 2)
    with pytest.raises(TypeError, match=r"y is a lazy LazyFrame.*collect"):
        read(pl.LazyFrame({"a": [1, 2]}), 2)


@pytest.mark.parametrize("read", [read_classes, read_numbers])
def test_several_outputs_only_where_they_are_learned(read: Callable[..., object]) -> None:
    with pytest.raises(
        ValueError, match=r"y should be a 1d array, got an array of shape \(3, 2\) instead.*Boost"
    ):
        read(np.zeros((3, 2)), 3, multi_output=False, estimator_name="Boost")


def test_several_outputs_of_classes() -> None:
    y = pd.DataFrame({"first": ["b", "a", "b"], "second": [3, 1, 2]})
    for form in (y, pl.from_pandas(y), y.to_numpy(), y.to_numpy().tolist()):
        target = read_classes(form, 3)
        assert target.is_multi_output
        assert [classes.tolist() for classes in target.classes] == [["a", "b"], [1, 2, 3]]
        assert target.codes.tolist() == [[1, 2], [0, 0], [1, 1]]
    with pytest.raises(ValueError, match=r"Input y\[:, 1\] contains NaN: row 0"):
        read_classes([[1, np.nan], [2, 3]], 2)


def test_several_outputs_of_numbers() -> None:
    y = np.array([[1.5, 2.0], [3.0, -4.0]])
    for form in (y, y.tolist(), pd.DataFrame(y, columns=["a", "b"]), np.asfortranarray(y)):
        target = read_numbers(form, 2)
        assert target.is_multi_output
        np.testing.assert_array_equal(target.values, y)


# ------------------------------------------------------------------------------------------------------------
# Numbers


@pytest.mark.parametrize(
    "y",
    [
        [3, 0, 7],
        (3.0, 0.0, 7.0),
        np.array([3, 0, 7], dtype=np.uint8),
        np.array([3, 0, 7], dtype=np.float16),
        np.array([3, 0, 7], dtype=">f4"),
        np.array([3.0, 9, 0, 9, 7])[::2],
        np.array([3, 0, 7], dtype=np.longdouble),
        np.array([3, 0.0, np.int8(7)], dtype=object),
        pd.Series([3, 0, 7], index=[2, 1, 0]),
        pd.Series([3, 0, 7], dtype="Int64"),
        pd.Series([3, 0, 7], dtype="float[pyarrow]"),
        pl.Series([3, 0, 7]),
        pa.chunked_array([[3], [0, 7]]),
    ],
)
def test_numbers_in_every_container(y: Any) -> None:
    target = read_numbers(y, 3)
    assert isinstance(target, RegressionTarget)
    assert target.values.dtype == np.float64
    assert target.values.shape == (3, 1)
    assert target.values[:, 0].tolist() == [3.0, 0.0, 7.0]
    assert not target.is_multi_output


def test_extreme_numbers_pass() -> None:
    y = [1e300, -1e300, 1e-300, 5e-324, np.finfo(np.float64).max]
    np.testing.assert_array_equal(read_numbers(y, 5).values[:, 0], y)


def test_booleans_are_numbers() -> None:
    assert read_numbers([True, False], 2).values[:, 0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("y", "output"),
    [
        ([1.0, np.nan], r"Input y contains NaN: row 1"),
        ([1.0, -np.inf], r"Input y contains infinity or a value too large.*: row 1 holds -inf"),
        (np.array([1, None, 3], dtype=object), "Input y contains NaN: row 1"),
        (pd.Series([1.5, 2, None], dtype="Float64"), "Input y contains NaN: row 2"),
        (pl.Series([1.5, None]), "Input y contains NaN: row 1"),
        (np.array([1, np.longdouble("1e400")]), "contains infinity"),
        ([1, 10**400], "too large for a float64"),
        (["a", "b"], "row 0 holds the text 'a'; use a classifier"),
        (np.array(["a", "b"]), "row 0 holds the text 'a'; use a classifier"),
        (pd.Series(["1.5", "2"]), "row 0 holds the text '1.5'; use a classifier for labels, or convert"),
        ([1.5, "a"], r"y mixes types: row 0 holds 1.5 \(float\), row 1 holds 'a' \(str\)"),
        (np.array(["2020"], dtype="datetime64[Y]"), r"must hold numbers, got dtype datetime64\[Y\]"),
        (np.array([decimal.Decimal(1)], dtype=object), "must hold numbers: row 0 holds Decimal"),
    ],
)
def test_refused_numbers(y: Any, output: str) -> None:
    with pytest.raises(ValueError, match=output):
        read_numbers(y, len(y))


# ------------------------------------------------------------------------------------------------------------
# Weights


def test_no_weights() -> None:
    assert read_weights(None, 3) is None


@pytest.mark.parametrize(
    "weights",
    [
        [1, 0, 2.5],
        np.array([1, 0, 2.5], dtype=np.float32),
        np.array([1, 9, 0, 9, 2.5])[::2],
        np.array([1, 0, 2.5], dtype=object),
        pd.Series([1, 0, 2.5], index=[5, 6, 7]),
        pl.Series([1.0, 0.0, 2.5]),
        pa.chunked_array([[1, 0, 2.5]]),
    ],
)
def test_weights_in_every_container(weights: Any) -> None:
    read = read_weights(weights, 3)
    assert read is not None
    assert read.dtype == np.float64
    assert read.flags.c_contiguous
    assert read.tolist() == [1.0, 0.0, 2.5]


@pytest.mark.parametrize("scalar", [2, 0.5, np.float32(0.5), True])
def test_one_weight_for_all(scalar: Any) -> None:
    read = read_weights(scalar, 3)
    assert read is not None
    assert read.tolist() == [float(scalar)] * 3


def test_equal_and_extreme_weights_are_kept() -> None:
    for weights in ([3.0, 3.0, 3.0], [1e-300, 1e300, 0.0], [5e-324, 0.0, 0.0]):
        read = read_weights(weights, 3)
        assert read is not None
        assert read.tolist() == weights


@pytest.mark.parametrize(
    ("weights", "output"),
    [
        ([1, -0.5, -1], r"Negative values in data passed to `sample_weight`: row 1 holds -0.5"),
        ([1, 2, np.nan], "Input sample_weight contains NaN: row 2"),
        ([np.inf, 2, 3], "Input sample_weight contains infinity.*row 0 holds inf"),
        (pd.Series([1, None, 2], dtype="Int64"), "Input sample_weight contains NaN: row 1"),
        ([0, 0, 0], "Sample weights must contain at least one non-zero number"),
        ([-0.0, 0, 0], "at least one non-zero"),
        (0, "at least one non-zero"),
        (-1, "Negative values in data passed to `sample_weight`: row 0"),
        ([1, 2], r"sample_weight.shape == \(2,\), expected \(3,\)"),
        ([], r"sample_weight.shape == \(0,\), expected \(3,\)"),
        ([[1], [2], [3]], r"must be 1D array or scalar.*shape \(3, 1\)"),
        (np.ones((3, 2)), r"must be 1D array or scalar.*shape \(3, 2\)"),
        (["a", "b", "c"], "sample_weight must hold numbers: row 0 holds the text 'a'; convert the texts"),
        (1j, "Complex data not supported: sample_weight"),
    ],
)
def test_refused_weights(weights: Any, output: str) -> None:
    with pytest.raises(ValueError, match=output):
        read_weights(weights, 3)


# ------------------------------------------------------------------------------------------------------------
# Nothing is written


def test_inputs_are_never_written() -> None:
    y = np.array([3.0, 1.0, 2.0])
    w = np.array([1.0, 0.0, 2.0])
    labels = np.array(["b", "a", "b"], dtype=object)
    for array in (y, w, labels):
        array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_numbers(y, 3)
        target = read_classes(labels, 3)
        weights = read_weights(w, 3)
        assert weights is not None
        class_weights("balanced", target, weights)
    assert (y.tolist(), w.tolist(), labels.tolist()) == ([3.0, 1.0, 2.0], [1.0, 0.0, 2.0], ["b", "a", "b"])
    assert np.shares_memory(weights, w)
