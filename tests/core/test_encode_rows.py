"""Some rows of an encoded table: their codes are those of the rows encoded by themselves, bit for bit."""

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hornbeam import _core

NUMBERS = st.one_of(st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324]), st.floats())


def assert_same_as_alone(column, rows, max_bins):
    whole = _core.encode_table(len(column), [(column,)], 0, 1)
    rows = np.asarray(rows, dtype=np.uint32)
    found = _core.encode_table(len(rows), [0], max_bins, 1, whole, rows)
    alone = _core.encode_table(len(rows), [(column[rows],)], max_bins, 1)
    assert found.n_codes(0) == alone.n_codes(0)
    assert found.is_binned(0) == alone.is_binned(0)
    assert found.has_missing(0) == alone.has_missing(0)
    assert found.values(0).tobytes() == alone.values(0).tobytes()
    np.testing.assert_array_equal(found.codes(0), alone.codes(0))


@settings(max_examples=200)
@given(
    st.data(), st.lists(NUMBERS, min_size=1, max_size=60).map(np.array), st.sampled_from([0, 2, 3, 7, 300])
)
def test_small_columns(data, column, max_bins):
    rows = data.draw(st.lists(st.integers(0, len(column) - 1), min_size=1, max_size=60))
    assert_same_as_alone(column, rows, max_bins)


@settings(max_examples=12)
@given(st.sampled_from([0, 255, 256, 2048, 4000]), st.sampled_from([100, 3000, 50_000]), st.integers(0, 99))
@example(max_bins=255, n_distinct=50_000, seed=0)
def test_many_rows(max_bins, n_distinct, seed):
    rng = np.random.default_rng(seed)
    column = rng.integers(0, n_distinct, 20_000) / 7
    column[rng.random(len(column)) < 0.01] = np.nan
    assert_same_as_alone(column, np.sort(rng.choice(20_000, 12_000, replace=False)), max_bins)


def test_more_rows_than_quantiles_are_taken_from():
    rng = np.random.default_rng(0)
    column = rng.normal(size=260_000)
    assert_same_as_alone(column, np.flatnonzero(rng.random(260_000) < 0.9), 255)


@pytest.mark.parametrize(
    ("column", "rows", "message"),
    [(1, [0], "no such feature"), (0, [0, 1], "differ in length"), (0, [9], "outside the table")],
)
def test_what_is_not_there_is_refused(column, rows, message):
    whole = _core.encode_table(3, [(np.arange(3.0),)], 0, 1)
    with pytest.raises((ValueError, IndexError), match=message):
        _core.encode_table(1, [column], 0, 1, whole, np.array(rows, dtype=np.uint32))


def test_bins_and_categories_are_not_taken_for_ranks():
    binned = _core.encode_table(300, [(np.arange(300.0),)], 10, 1)
    kinds = _core.encode_table(3, [(np.arange(3, dtype=np.int32), 3)], 0, 1)
    for whole in (binned, kinds):
        with pytest.raises(ValueError, match="only exact numeric columns"):
            _core.encode_table(1, [0], 0, 1, whole, np.zeros(1, dtype=np.uint32))
