"""Searching by groups of values changes no tree."""

import numpy as np
from core.growing import encode, grow, same_bits
from core.lane_tables import least_branches, wide_tables
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=150)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([0, 100, 65536]),
    st.sampled_from([0, 4]),
    least_branches,
)
def test_looking_at_groups_of_values_changes_nothing(table, key, subtree_rows, max_depth, limits):
    columns, y, times, max_features = table
    data = encode(columns)

    def grown(searches_groups: bool, n_threads: int = 1):
        return grow(
            data,
            y,
            n_classes=2,
            multiplicity=times,
            max_features=max_features,
            max_depth=max_depth,
            key=key,
            subtree_rows=subtree_rows,
            searches_groups=searches_groups,
            grows_blocks=False,
            n_threads=n_threads,
            **limits,
        )

    value_by_value = grown(False)
    assert same_bits(grown(True), value_by_value)
    assert same_bits(grown(True, n_threads=2), value_by_value)


def test_looking_at_groups_of_values_on_two_threads_changes_nothing():
    """Enough rows that the threads share the features of a node."""
    rng = np.random.default_rng(11)
    n = 60_000
    numbers = rng.normal(size=(n, 9))
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    data = encode(list(numbers.T))
    value_by_value = grow(data, y, n_classes=2, max_features=3, key=5, max_depth=9, searches_groups=False)
    for n_threads in (1, 2):
        by_group = grow(data, y, n_classes=2, max_features=3, key=5, max_depth=9, n_threads=n_threads)
        assert same_bits(by_group, value_by_value)
