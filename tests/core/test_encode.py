"""From values to codes, against twins in numpy: ranks of distinct values, and quantile bins.

A column comes in as any array of numbers; the core's codes, distinct values or edges go out and must say what
`np.unique` and `np.searchsorted` say.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from hornbeam import _core

AnyArray = npt.NDArray[np.generic]
TINY = 5e-324
LARGEST = 1.7976931348623157e308

INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
NUMBERS = [np.bool_, *INTEGERS, np.float32, np.float64]


def encode(column: AnyArray, *, max_bins: int = 0, n_threads: int = 1) -> _core.Dataset:
    return _core.encode_table(len(column), [(column,)], max_bins, n_threads)


def ranks(column: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The twin: the distinct known values as float64, and the place of each row's value among them."""
    numbers = column.astype(np.float64) + 0.0  # -0.0 + 0.0 is 0.0
    values = np.unique(numbers[~np.isnan(numbers)])
    return values, np.where(np.isnan(numbers), len(values), np.searchsorted(values, numbers))


def assert_ranks(column: AnyArray) -> None:
    data = encode(column)
    values, codes = ranks(column)
    assert data.n_codes(0) == len(values)
    assert not data.is_binned(0)
    np.testing.assert_array_equal(data.values(0), values)
    assert not np.signbit(data.values(0)[data.values(0) == 0]).any()  # one zero, the positive one
    np.testing.assert_array_equal(data.codes(0), codes)
    assert data.is_constant(0) == (len(np.unique(codes)) <= 1)


# ------------------------------------------------------------------------------------------------------------
# Exact codes

AWKWARD = [0.0, -0.0, TINY, -TINY, 2 * TINY, 2.2250738585072014e-308, 1.0, math.nextafter(1.0, 2.0)]
AWKWARD += [
    0.1,
    math.nextafter(0.1, 1.0),
    16777216.0,
    16777217.0,
    2.0**53,
    2.0**53 + 2,
    1e300,
    LARGEST,
    math.inf,
]
AWKWARD += [-value for value in AWKWARD if value > 0] + [math.nan]


@given(st.lists(st.one_of(st.sampled_from(AWKWARD), st.floats()), min_size=1, max_size=60).map(np.array))
@example(np.array([math.nan, math.nan]))
@example(np.array([-0.0, 0.0]))
def test_float64_columns_become_ranks(column):
    assert_ranks(column)


@settings(max_examples=300)
@given(st.data())
def test_columns_of_every_number_type_become_ranks(data):
    dtype = data.draw(st.sampled_from(NUMBERS))
    column = data.draw(hnp.arrays(dtype, st.integers(1, 40)))
    assert_ranks(column)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_ends_of_every_integer_type(dtype):
    ends = np.iinfo(dtype)
    assert_ranks(np.array([ends.max, 0, ends.min, 1, ends.max], dtype=dtype))


def test_values_that_float32_cannot_tell_apart_stay_apart():
    for column in (
        np.array([16777216, 16777217]),
        np.array([16777216.0, 16777217.0]),
        np.array([0.1, 0.1 + 2**-56]),
    ):
        assert encode(column).codes(0).tolist() == [0, 1]


def test_integers_beyond_two_to_the_53_mean_their_nearest_float64():
    column = np.array([2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1, -(2**63)], dtype=np.int64)
    data = encode(column)
    assert data.codes(0).tolist() == [1, 1, 2, 3, 0]
    assert data.values(0).tolist() == [-(2.0**63), 2.0**53, 2.0**53 + 2, 2.0**63]


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("n_distinct", [1, 2, 255, 256, 257, 2047, 2048, 2049, 65535, 65536, 65537])
@pytest.mark.parametrize("step", [1.0, 0.1])  # exact in float32, and not
def test_codes_of_every_width_hold_every_rank(n_distinct, with_missing, step):
    """A byte has room for 256 codes, the missing one included; two bytes for 65,536."""
    rng = np.random.default_rng(n_distinct)
    column = np.concatenate([np.arange(n_distinct), rng.integers(0, n_distinct, 300)]) * step
    if with_missing:
        column = np.concatenate([column, [math.nan, math.nan]])
    assert_ranks(rng.permutation(column))


@pytest.mark.parametrize("n_rows", [100, 5000, 300_000])
def test_columns_with_many_and_few_distinct_values_agree_with_numpy(n_rows):
    rng = np.random.default_rng(n_rows)
    for column in (
        rng.normal(size=n_rows),
        rng.normal(size=n_rows).astype(np.float32),
        rng.integers(0, 3000, n_rows),
        np.where(rng.random(n_rows) < 0.3, math.nan, rng.normal(size=n_rows)),
        # From a distance these look like few values: a part of the rows says nothing of the rest.
        np.where(np.arange(n_rows) % 73, rng.normal(size=n_rows), 1.0),
        np.concatenate([np.zeros(n_rows // 2), rng.normal(size=n_rows - n_rows // 2)]),
    ):
        assert_ranks(column)


def strided(column: AnyArray) -> AnyArray:
    table = np.zeros((len(column), 3), dtype=column.dtype)
    table[:, 1] = column
    return table[:, 1]


def backwards(column: AnyArray) -> AnyArray:
    return np.ascontiguousarray(column[::-1])[::-1]


def read_only(column: AnyArray) -> AnyArray:
    copy = column.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("form", [strided, backwards, read_only])
def test_the_layout_of_a_column_does_not_matter(form: Callable[[AnyArray], AnyArray], dtype):
    plain = np.random.default_rng(0).integers(0, 100, 500).astype(dtype)
    column = form(plain)
    before = column.copy()
    np.testing.assert_array_equal(encode(column).codes(0), encode(plain).codes(0))
    assert_ranks(column)
    np.testing.assert_array_equal(column, before)  # reading changes nothing


def test_a_column_without_stride_is_constant():
    column = np.broadcast_to(np.float64(7), 1000)
    assert encode(column).is_constant(0)
    assert_ranks(column)


def test_a_memory_mapped_column_is_read_in_place(tmp_path):
    plain = np.random.default_rng(0).normal(size=1000)
    np.save(tmp_path / "column.npy", plain)
    mapped = np.load(tmp_path / "column.npy", mmap_mode="r")
    np.testing.assert_array_equal(encode(mapped).codes(0), encode(plain).codes(0))


@pytest.mark.parametrize("max_bins", [0, 16])
def test_the_number_of_threads_changes_no_code(max_bins):
    rng = np.random.default_rng(1)
    columns = [(rng.normal(size=5000),) for _ in range(7)]
    alone, together = (_core.encode_table(5000, columns, max_bins, n_threads) for n_threads in (1, 4))
    for feature in range(7):
        np.testing.assert_array_equal(alone.codes(feature), together.codes(feature))
        np.testing.assert_array_equal(alone.values(feature), together.values(feature))


def test_columns_that_are_no_numbers_or_of_another_length_are_refused():
    with pytest.raises(TypeError, match="bool, integer, float32 or float64"):
        encode(np.zeros(3, dtype=np.float16))
    with pytest.raises(ValueError, match="differ in length"):
        _core.encode_table(3, [(np.zeros(4),)], 0, 1)


# ------------------------------------------------------------------------------------------------------------
# Categories


def test_category_codes_pass_through_and_the_missing_one_comes_last():
    data = _core.encode_table(5, [(np.array([2, -1, 0, 2, -1], dtype=np.int32), 4)], 0, 1)
    assert data.n_codes(0) == 4
    assert data.codes(0).tolist() == [2, 4, 0, 2, 4]


@pytest.mark.parametrize("n_categories", [255, 256, 257, 65535, 65536, 65537])
def test_category_codes_of_every_width(n_categories):
    codes = np.append(np.arange(n_categories), -1).astype(np.int32)
    data = _core.encode_table(len(codes), [(codes, n_categories)], 0, 1)
    np.testing.assert_array_equal(data.codes(0), np.arange(n_categories + 1))


@pytest.mark.parametrize("code", [-2, 3])
def test_a_category_outside_the_table_is_refused(code):
    with pytest.raises(IndexError, match="outside the category table"):
        _core.encode_table(2, [(np.array([0, code], dtype=np.int32), 3)], 0, 1)


# ------------------------------------------------------------------------------------------------------------
# Sparse columns


@given(
    hnp.arrays(
        np.float64,
        st.integers(1, 50),
        elements=st.one_of(st.just(0.0), st.sampled_from([*AWKWARD, 1.5, -2.0])),
    ),
    st.sampled_from([np.int32, np.int64]),
    st.sampled_from([0, 2, 5]),
)
def test_a_sparse_column_is_coded_as_the_dense_one(column, index_dtype, max_bins):
    stored = sparse.csc_matrix(column.reshape(-1, 1))
    parts = (stored.indices.astype(index_dtype), stored.data, None)
    thin = _core.encode_table(len(column), [parts], max_bins, 1)
    dense = encode(column, max_bins=max_bins)
    np.testing.assert_array_equal(thin.codes(0), dense.codes(0))
    np.testing.assert_array_equal(thin.values(0), dense.values(0))
    assert thin.is_constant(0) == dense.is_constant(0)


def test_faulty_sparse_columns_are_refused():
    for rows in ([0, 9], [0, -1]):
        with pytest.raises(IndexError, match="outside the table"):
            _core.encode_table(3, [(np.array(rows), np.array([1.0, 2.0]), None)], 0, 1)
    with pytest.raises(ValueError, match="differ in length"):
        _core.encode_table(3, [(np.array([0, 1]), np.array([1.0]), None)], 0, 1)


# ------------------------------------------------------------------------------------------------------------
# Bins


def assert_bins(column: AnyArray, max_bins: int) -> None:
    """Every value lies in its bin, (lower edge, upper edge]; bins are few, and none is empty."""
    data = encode(column, max_bins=max_bins)
    known = ~np.isnan(column)
    n_codes, codes = data.n_codes(0), data.codes(0)
    assert n_codes <= max(max_bins, 1)
    assert (codes[~known] == n_codes).all()
    assert set(codes[known].tolist()) == set(range(n_codes))
    if not data.is_binned(0):
        assert_ranks(column)
        return
    edges = data.values(0)
    assert len(edges) == n_codes - 1
    assert (np.diff(edges) > 0).all()
    np.testing.assert_array_equal(codes[known], np.searchsorted(edges, column[known]))


@given(
    hnp.arrays(np.float64, st.integers(1, 80), elements=st.one_of(st.sampled_from(AWKWARD), st.floats())),
    st.integers(2, 12),
)
def test_values_lie_between_the_edges_of_their_bin(column, max_bins):
    assert_bins(column, max_bins)


@given(
    hnp.arrays(np.float64, st.integers(1, 60), elements=st.sampled_from([*AWKWARD[:9], math.nan])),
    st.integers(9, 255),
)
def test_few_distinct_values_are_coded_exactly(column, max_bins):
    data = encode(column, max_bins=max_bins)
    assert not data.is_binned(0)
    np.testing.assert_array_equal(data.codes(0), encode(column).codes(0))


def test_one_value_more_than_there_are_bins_is_binned():
    column = np.arange(1000) % 16.0
    assert not encode(column, max_bins=16).is_binned(0)
    assert encode(column, max_bins=15).is_binned(0)
    assert_bins(column, 15)


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255, 256, 4096, 65535])
@pytest.mark.parametrize("n_rows", [10, 1000, 70_000, 250_000])
def test_bins_of_continuous_data_are_of_nearly_equal_size(max_bins, n_rows):
    column = np.random.default_rng(max_bins).normal(size=n_rows)
    assert_bins(column, max_bins)
    data = encode(column, max_bins=max_bins)
    assert data.n_codes(0) == min(max_bins, n_rows)
    sizes = np.bincount(data.codes(0))
    even = n_rows / data.n_codes(0)
    if n_rows <= 200_000:
        assert sizes.max() - sizes.min() <= 1
    else:  # edges come from a sample: a bin is as even as its share of 200,000 draws
        assert (np.abs(sizes - even) <= 6 * np.sqrt(even) + 2).all()


def test_edges_of_a_sample_do_not_depend_on_the_column_before():
    """The same column next to others, and alone, is cut at the same places."""
    rng = np.random.default_rng(5)
    column, other = rng.normal(size=250_000), rng.normal(size=250_000)
    both = _core.encode_table(250_000, [(other,), (column,)], 32, 2)
    np.testing.assert_array_equal(both.values(1), encode(column, max_bins=32).values(0))


def test_a_heavy_value_gets_a_bin_of_its_own_and_leaves_the_others_for_the_rest():
    rng = np.random.default_rng(2)
    column = np.concatenate([np.zeros(9000), rng.uniform(1, 2, 1000)])
    data = encode(rng.permutation(column), max_bins=11)
    sizes = np.bincount(data.codes(0))
    assert sizes[0] == 9000
    assert sizes[1:].tolist() == [100] * 10


@pytest.mark.parametrize("max_bins", [2, 3, 16, 255])
def test_bins_lose_no_side_of_an_infinity(max_bins):
    rng = np.random.default_rng(3)
    column = np.concatenate([rng.normal(size=1000), [math.inf, -math.inf, LARGEST, -LARGEST, math.nan]])
    assert_bins(column, max_bins)
    assert np.isfinite(encode(column, max_bins=max_bins).values(0)).all()
