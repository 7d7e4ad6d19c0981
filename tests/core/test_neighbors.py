"""Every way of searching finds the neighbours of the slow way, whatever the numbers are like."""

from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from reference.neighbors import SUMS, gower, nearest

from hornbeam import _core

STRUCTURES = {
    "euclidean": ("blocks", "panels", "tree"),
    "manhattan": ("blocks", "tree"),
    "chebyshev": ("blocks", "tree"),
}


def search(points, queries, k, metric="euclidean", structure="blocks", parameters=(), n_threads=2):
    index = _core.NeighborIndex(points, metric, list(parameters), structure, n_threads)
    return index.search(queries, k, n_threads)


def _lattice(rng, n, d):
    return rng.integers(-2, 3, size=(n, d)).astype(np.float64)


def _one_point_far_away(rng, n, d):
    points = rng.normal(size=(n, d)) * 1e-20
    points[0] = 1e12
    return points


def _nearly_equal_distances(rng, n, d):
    """Points on a sphere, moved by little more than single precision can tell apart."""
    directions = rng.normal(size=(n, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * (1 + 1e-8 * rng.integers(0, 4, size=(n, 1)))


ADVERSARIES = {
    "normal": lambda rng, n, d: rng.normal(size=(n, d)),
    "large offset": lambda rng, n, d: 1e9 + rng.normal(size=(n, d)),
    "offset and ties": lambda rng, n, d: 2.0**40 + _lattice(rng, n, d),
    "lattice": _lattice,
    "all the same": lambda rng, n, d: np.full((n, d), rng.normal()),
    "squares that vanish": lambda rng, n, d: rng.normal(size=(n, d)) * 1e-170,
    "squares that are subnormal": lambda rng, n, d: rng.normal(size=(n, d)) * 1e-158,
    "large": lambda rng, n, d: rng.normal(size=(n, d)) * 1e149,
    "one far away": _one_point_far_away,
    "nearly equal distances": _nearly_equal_distances,
    "columns of different size": lambda rng, n, d: rng.normal(size=(n, d)) * 10.0 ** rng.integers(-20, 20, d),
}


@settings(max_examples=120)
@given(
    name=st.sampled_from(sorted(ADVERSARIES)),
    n_points=st.integers(1, 150),
    n_queries=st.integers(1, 30),
    n_features=st.integers(1, 20),
    share=st.floats(0, 1),
    metric=st.sampled_from(sorted(STRUCTURES)),
    single=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_neighbours_are_those_of_the_slow_way(
    name, n_points, n_queries, n_features, share, metric, single, seed
):
    rng = np.random.default_rng(seed)
    points = ADVERSARIES[name](rng, n_points, n_features)
    others = ADVERSARIES[name](rng, n_queries, n_features)
    queries = np.where(rng.random((n_queries, 1)) < 0.3, points[rng.integers(0, n_points, n_queries)], others)
    if single and np.abs(points).max() < 1e30:
        points, queries = points.astype(np.float32), queries.astype(np.float32)
    k = 1 + int(share * (n_points - 1))
    rows, sums = nearest(points, queries, k, SUMS[metric])
    for structure in STRUCTURES[metric]:
        found, distances = search(points, queries, k, metric, structure)
        np.testing.assert_array_equal(found, rows, err_msg=structure)
        expected = np.sqrt(sums) if metric == "euclidean" else sums
        np.testing.assert_array_equal(distances, expected, err_msg=structure)


@settings(max_examples=40)
@given(n_points=st.integers(1, 100), n_features=st.integers(1, 8), seed=st.integers(0, 2**32 - 1))
def test_gower_compares_what_both_rows_have(n_points, n_features, seed):
    rng = np.random.default_rng(seed)
    ranges = np.where(rng.random(n_features) < 0.5, 0.0, rng.random(n_features) + 0.1)
    points = np.where(ranges > 0, rng.normal(size=(n_points, n_features)), rng.integers(0, 3, n_features))
    points[rng.random(points.shape) < 0.2] = np.nan
    queries = points[rng.integers(0, n_points, 10)].copy()
    queries[rng.random(queries.shape) < 0.2] = -2
    k = 1 + n_points // 2
    rows, sums = nearest(points, queries, k, lambda q, x: gower(q, x, ranges))
    found, distances = search(points, queries, k, "gower", "blocks", ranges.tolist())
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_array_equal(distances, sums)


def test_queries_far_outside_are_found_without_the_filter():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 5))
    queries = np.concatenate([points[:20] + 1e14, points[:20] * 1e100, points[:20]])
    rows, _ = nearest(points, queries, 7, SUMS["euclidean"])
    np.testing.assert_array_equal(search(points, queries, 7, structure="panels")[0], rows)


def test_powers_agree_up_to_rounding():
    rng = np.random.default_rng(1)
    points, queries = rng.normal(size=(500, 4)), rng.normal(size=(50, 4))
    expected = (np.abs(queries[:, None] - points[None]) ** 3.5).sum(axis=2) ** (1 / 3.5)
    for structure in ("blocks", "tree"):
        rows, distances = search(points, queries, 9, "minkowski", structure, [3.5])
        np.testing.assert_allclose(distances, np.sort(expected, axis=1)[:, :9], rtol=1e-13)
        np.testing.assert_allclose(distances, np.take_along_axis(expected, rows, axis=1), rtol=1e-13)


@pytest.mark.parametrize("structure", ["blocks", "panels", "tree"])
def test_threads_and_batches_do_not_matter(structure):
    rng = np.random.default_rng(2)
    points = rng.integers(0, 8, size=(5000, 3)).astype(np.float32)
    queries = rng.integers(0, 8, size=(700, 3)).astype(np.float32)
    alone = [
        search(points, queries[i : i + 1], 20, structure=structure, n_threads=1) for i in range(0, 700, 50)
    ]
    for n_threads in (1, 2, 4):
        rows, distances = search(points, queries, 20, structure=structure, n_threads=n_threads)
        np.testing.assert_array_equal(rows[::50], np.concatenate([one for one, _ in alone]))
        np.testing.assert_array_equal(distances[::50], np.concatenate([one for _, one in alone]))


@pytest.mark.parametrize("instructions", ["baseline", "avx2"])
def test_smaller_instruction_sets_find_the_same(instructions, run_with_instructions):
    script = Path(__file__).parent / "test_neighbors.py"
    options = ["-q", "-p", "no:cacheprovider", "-k", "slow_way or gower"]
    run = run_with_instructions(instructions, "-m", "pytest", *options, str(script))
    assert run.returncode == 0, run.stdout[-2000:]
    assert "2 passed" in run.stdout


def test_what_cannot_be_searched_is_refused():
    points = np.zeros((3, 2))
    with pytest.raises(ValueError, match="Euclidean only"):
        search(points, points, 1, "manhattan", "panels")
    with pytest.raises(ValueError, match="no bounds"):
        search(points, points, 1, "cosine", "tree")
    with pytest.raises(ValueError, match="not that many neighbours"):
        search(points, points, 4)
    with pytest.raises(ValueError, match="another number of columns"):
        search(points, np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match="number of parameters"):
        search(points, points, 1, "minkowski")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_unusable_value_is_found(dtype):
    matrix = np.ones((1000, 300), dtype=dtype)
    assert _core.first_unusable(matrix, 1e150, False, 2) == matrix.size
    for value, nan_allowed in ((np.nan, False), (np.inf, True), (-np.inf, False)):
        for place in (0, 299_999, 65_536, 123_456):
            spoilt = matrix.copy()
            spoilt.reshape(-1)[[place, 299_999]] = value
            assert _core.first_unusable(spoilt, 1e150, nan_allowed, 2) == place
    matrix[5, 5] = np.nan
    assert _core.first_unusable(matrix, 1e150, True, 2) == matrix.size
