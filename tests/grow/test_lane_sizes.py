"""Where a number in the core decides how a tree is grown: the same tree on both sides, at its real size."""

from typing import Any

import numpy as np
import pytest
from core.growing import encode, grow, same_bits
from core.test_booster import boost, make_table

# What rows may be where nodes grow in blocks: two classes, weighed ones, more classes, numbers.
KINDS = ["two classes", "weights", "weights by entropy", "classes", "classes by entropy", "numbers"]


def problem(kind: str, n: int, n_columns: int, *, digits: int = 9) -> tuple[Any, dict[str, Any]]:
    """Columns of float32 in codes, and what else a fit of some kind of rows is given."""
    rng = np.random.default_rng(n)
    numbers = np.round(rng.normal(size=(n, n_columns)), digits).astype(np.float32)
    signal = numbers[:, 0] * numbers[:, 1] + rng.normal(size=n)
    given: dict[str, Any] = {"key": 11}
    if kind == "numbers":
        given["y"] = np.round(signal, 2)
    else:
        given["n_classes"] = 5 if kind.startswith("classes") else 2
        given["y"] = np.digitize(signal, np.linspace(-1, 1, given["n_classes"] - 1))
    if "entropy" in kind:
        given["criterion"] = "entropy"
    if "weights" in kind:
        given["weights"] = np.exp(rng.normal(size=n))
    return encode(list(numbers.T)), given


def assert_blocks_change_nothing(data: Any, given: dict[str, Any]) -> None:
    node_by_node = grow(data, subtree_rows=0, **given)
    assert node_by_node.n_leaves > 2
    assert same_bits(grow(data, grows_blocks=False, **given), node_by_node)
    for n_threads in (1, 2):
        assert same_bits(grow(data, n_threads=n_threads, **given), node_by_node)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_features", [2, 6])
@pytest.mark.parametrize("n", [4095, 4096, 4097])
def test_4096_rows_of_a_block_of_ranks(n, max_features, kind):
    data, given = problem(kind, n, 6, digits=2)
    assert_blocks_change_nothing(data, {**given, "max_features": max_features})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [63, 64, 65])
def test_64_rows_that_are_bits_of_a_word(n, kind):
    data, given = problem(kind, n, 6)
    assert_blocks_change_nothing(data, {**given, "max_features": 3})


@pytest.mark.parametrize("random_splits", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most", [127, 128, 255, 256, 70_000])
def test_rows_drawn_255_times(most, kind, random_splits):
    """Two classes are counted up to 127 times of a row, more up to 255; others are summed up."""
    data, given = problem(kind, 400, 4, digits=1)
    times = np.random.default_rng(1).integers(1, 4, size=400)
    times[[7, 301]] = most
    given |= {"multiplicity": times, "max_features": 2, "random_splits": random_splits}
    assert_blocks_change_nothing(data, given)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [32_767, 32_768])
def test_blocks_of_ranks_weigh_32767(weight, kind):
    """A node of 300 rows that were drawn so often in all: signed numbers of 16 bits count them."""
    data, given = problem(kind, 300, 4)
    times = np.full(300, weight // 300)
    times[: weight - times.sum()] += 1
    assert times.sum() == weight and times.max() < 127
    assert_blocks_change_nothing(data, {**given, "multiplicity": times, "max_features": 2})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_columns", [127, 128, 129])
@pytest.mark.parametrize("n", [16, 17])
def test_128_columns_of_rows_in_lanes(n, n_columns, kind):
    """Random tests keep the columns of 16 rows if most are tried, up to 128 of them."""
    data, given = problem(kind, n, n_columns, digits=1)
    given |= {"random_splits": True, "max_features": n_columns * 2 // 3}
    assert_blocks_change_nothing(data, given)


@pytest.mark.parametrize("n_columns", [64, 65])
def test_most_columns_of_rows_in_lanes(n_columns):
    """They are kept if more than half of them are tried: 33 of 64, not of 66."""
    for tried in (n_columns // 2, n_columns // 2 + 1):
        data, given = problem("classes", 16, n_columns)
        assert_blocks_change_nothing(data, {**given, "random_splits": True, "max_features": tried})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2031, 2032, 2033, 4064, 4065])
def test_rows_counted_2032_at_a_time(n, kind):
    """Random tests count classes in bytes, of which 16 side by side hold 127 rows each."""
    data, given = problem(kind, n, 3)
    assert_blocks_change_nothing(data, {**given, "random_splits": True, "max_features": 2})


@pytest.mark.parametrize("random_splits", [False, True])
@pytest.mark.parametrize("kind", ["counts", "weights", "weights by entropy"])
@pytest.mark.parametrize("n_classes", [7, 8, 9, 16, 17, 63, 64, 65])
def test_64_classes_of_a_block(n_classes, kind, random_splits):
    """Classes are bytes of words of eight, or numbers of registers of 16; more than 64 have no blocks."""
    data, given = problem("numbers", 900, 5, digits=2)
    given |= {"y": np.arange(900) * 37 % 900 * n_classes // 900, "n_classes": n_classes}
    given["y"] = np.sort(given["y"])[np.random.default_rng(2).permutation(900)]
    if "weights" in kind:
        given["weights"] = np.exp(np.random.default_rng(3).normal(size=900))
    given["criterion"] = "entropy" if "entropy" in kind else "gini"
    assert_blocks_change_nothing(data, {**given, "random_splits": random_splits, "max_features": 3})


# Rows below which a pass over them is not shared out are 12,288; sets of rows are shared out in pieces of an
# eighth of their words, but at least 64 (of 32,768 rows) and at most 256 (of 131,072).
@pytest.mark.parametrize(
    "n_rows", [12_287, 12_288, 12_289, 32_767, 32_768, 33_281, 131_071, 131_072, 131_584]
)
def test_rows_that_threads_share_when_they_divide_them(n_rows):
    _, codes = make_table(3, n_rows)
    y = np.random.default_rng(4).normal(size=n_rows).astype(np.float32)
    for rows in (None, np.flatnonzero(np.arange(n_rows) % 9 == 0).astype(np.uint32)):  # a set, and a list
        options = {"loss": "squared_error", "n_rounds": 2, "rows": rows}
        alone, trees = boost(codes, y, None, n_threads=1, **options)
        for n_threads in (2, 5):
            together, same = boost(codes, y, None, n_threads=n_threads, **options)
            np.testing.assert_array_equal(alone.scores(), together.scores())
            assert all(np.array_equal(a.gain, b.gain) for a, b in zip(trees, same, strict=True))
