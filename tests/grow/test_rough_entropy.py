"""Weighted rows by entropy: cuts that rough scores cannot tell apart are told apart by exact ones."""

import numpy as np
import pytest
from core.growing import encode, grow, same_bits
from reference.criteria import branch_score


def mirrored(n: int, n_classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Classes and weights whose second half mirrors the first; some weigh a hundred-millionth more."""
    rng = np.random.default_rng(seed)
    half = n // 2
    inner = np.arange(half) > half * rng.uniform(0.3, 0.6)
    y = np.where(inner == (rng.random(half) < 0.95), rng.integers(1, n_classes, half), 0)
    weights = rng.gamma(2.0, size=half)
    y, weights = np.append(y, y[::-1]), np.append(weights, weights[::-1])
    weights[: n // 4] *= 1 + rng.choice([-1e-8, 1e-8])
    return y, weights


def score_of_cut(y: np.ndarray, weights: np.ndarray, n_left: int) -> float:
    sides = (slice(None, n_left), slice(n_left, None))
    return sum(branch_score("entropy", y[side], weights[side]) for side in sides)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 64])
@pytest.mark.parametrize("n", [40, 64, 66, 200, 3000, 6000])
@pytest.mark.parametrize("seed", range(3))
def test_of_two_cuts_that_differ_by_less_than_float32_the_better_one_is_found(n, n_classes, seed):
    """In small subtrees, in blocks, and in larger nodes; node by node, too."""
    y, weights = mirrored(n, n_classes, seed)
    data = encode([np.arange(n, dtype=np.float32)])
    options = {"n_classes": n_classes, "criterion": "entropy", "key": 3}
    trees = [grow(data, y, weights, **options, **more) for more in ({}, {"subtree_rows": 0})]
    assert same_bits(*trees)
    n_left = int(trees[0].threshold[0] + 0.5)

    found, mirror = score_of_cut(y, weights, n_left), score_of_cut(y, weights, n - n_left)
    apart = abs(found - mirror) / weights.sum()
    assert 1e-11 < apart < 2e-8, "more than what ties, less than what float32 resolves"
    assert found > mirror
