"""Bins and codes step by step, from blocks of rows in any order, against the encoding of the whole table."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam import _core

_SAMPLE_ROWS = 200_000


def _by_steps(column: np.ndarray, max_bins: int, cuts: list[int]) -> tuple[Any, Any, bool, bool]:
    """Codes, values, whether they are edges, whether values lack: from blocks that begin at `cuts`."""
    blocks = np.split(column, cuts)
    distinct = _core.DistinctNumbers(max_bins)
    for block in reversed(blocks):  # the order of the blocks must not matter
        distinct.add(block)
    sample = column[_core.sampled_rows(len(column))]
    values, binned = _core.make_bins(sample, distinct.values(), max_bins)
    codes = np.concatenate([_core.codes_in_bins(block, values, binned) for block in blocks])
    return codes, values, binned, distinct.has_missing


def _check(column: np.ndarray, max_bins: int, cuts: list[int]) -> _core.Dataset:
    whole = _core.encode_table(len(column), [(column,)], max_bins, 1)
    codes, values, binned, has_missing = _by_steps(column, max_bins, cuts)
    np.testing.assert_array_equal(values, whole.values(0))
    assert (binned, has_missing) == (whole.is_binned(0), whole.has_missing(0))
    np.testing.assert_array_equal(codes, whole.codes(0))
    again = _core.dataset_of_codes(len(column), [(codes, values, binned, has_missing)])
    for name in ("n_codes", "has_missing", "is_binned", "is_constant"):
        assert getattr(again, name)(0) == getattr(whole, name)(0)
    np.testing.assert_array_equal(again.codes(0), whole.codes(0))
    np.testing.assert_array_equal(again.values(0), whole.values(0))
    return whole


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([-0.0, 0.0, 1.5, np.inf, -np.inf, np.nan])
)


@given(
    st.lists(NUMBERS, min_size=1, max_size=60),
    st.integers(2, 12),
    st.lists(st.integers(0, 60), max_size=4),
)
def test_blocks_give_what_the_whole_gives(numbers: list[float], max_bins: int, cuts: list[int]) -> None:
    _check(np.array(numbers), max_bins, sorted(min(cut, len(numbers)) for cut in cuts))


@pytest.mark.parametrize("n_rows", [_SAMPLE_ROWS - 1, _SAMPLE_ROWS, _SAMPLE_ROWS + 1, 2 * _SAMPLE_ROWS + 7])
def test_both_sides_of_the_sample(n_rows: int) -> None:
    rows = _core.sampled_rows(n_rows)
    assert len(rows) == min(n_rows, _SAMPLE_ROWS) and (np.diff(rows.astype(np.int64)) > 0).all()
    column = np.random.default_rng(n_rows).normal(size=n_rows).astype(np.float32)
    column[::7] = np.nan
    column[5], column[11] = np.inf, -np.inf
    assert _check(column, 255, [1, 65_536, 65_536, 150_000]).is_binned(0)


@pytest.mark.parametrize("n_rows", [5_000, _SAMPLE_ROWS + 5_000])
@pytest.mark.parametrize(
    ("n_distinct", "max_bins"), [(254, 255), (255, 255), (256, 255), (300, 300), (2047, 4000)]
)
def test_both_sides_of_the_exact_values(n_rows: int, n_distinct: int, max_bins: int) -> None:
    column = np.random.default_rng(3).integers(0, n_distinct, n_rows)
    column[:n_distinct] = np.arange(n_distinct)
    for missing in (False, True):
        numbers = np.where(np.arange(n_rows) % 11 == 0, np.nan, column + 0.5) if missing else column
        if not missing:
            assert _check(numbers, max_bins, [77, 3_000]).is_binned(0) == (n_distinct > max_bins)
        else:
            _check(numbers, max_bins, [77, 3_000])


@pytest.mark.parametrize("n_distinct", [2048, 2049])
def test_more_than_so_many_values_are_binned_whatever_the_bins(n_distinct: int) -> None:
    assert _check(np.arange(n_distinct, dtype=np.int32), 60_000, [1024]).is_binned(0) == (n_distinct > 2048)


def test_a_value_that_no_sampled_row_has_counts_among_the_distinct_ones() -> None:
    n_rows = _SAMPLE_ROWS * 2
    column = np.arange(n_rows) % 255
    unsampled = np.setdiff1d(np.arange(n_rows), _core.sampled_rows(n_rows))[100]
    column[unsampled] = 1_000
    assert _check(column, 255, [10_000]).is_binned(0)
    assert not _check(column, 256, [10_000]).is_binned(0)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint16, np.int64, np.float32])
def test_all_kinds_of_numbers(dtype: Any) -> None:
    _check((np.arange(1_000) % 9).astype(dtype), 5, [400])


def test_categories_pass_through() -> None:
    codes = np.array([2, 0, -1, 1, 2], dtype=np.int32)
    whole = _core.encode_table(5, [(codes, 3)], 255, 1)
    again = _core.dataset_of_codes(5, [(whole.codes(0).astype(np.uint8), 3, True)])
    np.testing.assert_array_equal(again.codes(0), [2, 0, 3, 1, 2])
    assert again.n_codes(0) == 3 and again.has_missing(0) and not again.is_binned(0)


def test_codes_stay_where_they_are() -> None:
    codes = np.zeros(4, dtype=np.uint8)
    data = _core.dataset_of_codes(4, [(codes, np.array([1.0]), True, False)])
    codes[2] = 1
    np.testing.assert_array_equal(data.codes(0), [0, 0, 1, 0])
    del codes
    np.testing.assert_array_equal(data.codes(0), [0, 0, 1, 0])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ((np.array([0, 2, 1], np.uint8), np.array([1.0]), True, False), "outside the codes"),
        ((np.array([0, 3, 1], np.uint8), np.array([1.0]), True, True), "outside the codes"),
        ((np.array([0, 1], np.uint8), np.array([1.0]), True, False), "differ in length"),
        ((np.array([0, 1, 1], np.uint16), np.array([1.0]), True, False), "narrowest type"),
        ((np.zeros(6, np.uint8)[::2], np.array([1.0]), True, False), "side by side"),
        ((np.zeros(3, np.uint8), np.array([2.0, 1.0]), True, False), "must ascend"),
        ((np.zeros(3, np.uint8), np.array([np.nan]), True, False), "must ascend"),
        ((np.zeros(3, np.uint8), np.array([]), False, False), "outside the codes"),
        ((np.array([0, 1, 2], np.uint8), 2, False), "outside the codes"),
    ],
)
def test_codes_that_make_no_sense_are_refused(column: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.dataset_of_codes(3, [column])


def test_a_value_that_was_not_there_when_bins_were_made_is_refused() -> None:
    with pytest.raises(ValueError, match="none of those"):
        _core.codes_in_bins(np.array([1.0, 2.0]), np.array([1.0, 3.0]), False)
    with pytest.raises(ValueError, match="none of those"):
        _core.codes_in_bins(np.array([4.0]), np.array([1.0, 3.0]), False)
