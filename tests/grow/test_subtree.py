"""The lane of subtrees changes no tree, whichever way a node's test is found."""

import numpy as np
import pytest
from core.cases import CRITERIA, cases, grow_with
from core.growing import encode, grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st


def test_the_three_ways_to_find_a_split_agree():
    """Nodes count codes, or sort rows, or find them in order: codes far apart, or subtrees, decide which."""
    rng = np.random.default_rng(3)
    n = 3000
    few = np.round(rng.normal(size=(n, 3)), 1)
    y = ((few[:, 0] > 0.3) ^ (few[:, 1] > -0.2) ^ (rng.random(n) < 0.2)).astype(int)
    columns = [few[:, j] for j in range(3)]
    counted = grow(columns, y, n_classes=2, subtree_rows=0)
    # The same rows inside a table with 200,000 other values per column: codes are far apart, so nodes sort.
    padding = np.sort(rng.normal(size=200_000))
    padded = encode([np.concatenate([c, padding]) for c in columns])
    target = np.concatenate([y, np.zeros(len(padding), dtype=int)])
    sorted_ = grow(padded, target, n_classes=2, rows=np.arange(n), subtree_rows=0)
    in_order = grow(padded, target, n_classes=2, rows=np.arange(n))
    assert same_bits(counted, sorted_)
    assert same_bits(counted, in_order)


@st.composite
def draws(draw: st.DrawFn) -> dict[str, object]:
    """What a forest asks of its trees."""
    return {
        "max_features": draw(st.integers(0, 3)),
        "random_splits": draw(st.booleans()),
        "key": draw(st.integers(0, 2**64 - 1)),
    }


@settings(max_examples=300)
@given(cases(), draws())
def test_growing_from_compacted_subtrees_changes_nothing(case, drawn):
    table, rules = case
    node_by_node = grow_with(table, rules, subtree_rows=0, **drawn)
    for subtree_rows in (4, 9, 65536):
        assert same_bits(grow_with(table, rules, subtree_rows=subtree_rows, **drawn), node_by_node)


@pytest.mark.parametrize("criterion", [*CRITERIA["classes"], "squared_error", "poisson", "f_test"])
@pytest.mark.parametrize("max_features", [0, 2])
@pytest.mark.parametrize("random_splits", [False, True])
def test_larger_subtrees_change_nothing(criterion, max_features, random_splits):
    """Enough rows for radix sorts and buckets; repeated, missing, few and categorical values."""
    rng = np.random.default_rng(7)
    n = 9000
    numbers = rng.normal(size=(n, 4))
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n)
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    numbers[rng.random(n) < 0.1, 2] = np.nan
    numbers[:, 3] = np.round(numbers[:, 3])
    columns = [*numbers.T, rng.integers(-1, 12, size=n)]
    is_class = criterion in CRITERIA["classes"]
    y = np.digitize(signal, [-1, 1]) if is_class else np.round(np.exp(signal / 2), 2)
    data = encode(columns)

    def grown(times: np.ndarray | None, subtree_rows: int, **more: object):
        return grow(
            data,
            y,
            n_classes=3 if is_class else None,
            criterion=criterion,
            max_features=max_features,
            random_splits=random_splits,
            multiplicity=times,
            subtree_rows=subtree_rows,
            key=5,
            **more,
        )

    for times in (None, 1 + rng.poisson(0.6, size=n)):
        node_by_node = grown(times, 0)
        assert same_bits(grown(times, 65536), node_by_node)
        assert same_bits(grown(times, 500), node_by_node)
        assert same_bits(grown(times, 65536, n_threads=2), node_by_node)
