"""`interaction_cst`: which columns may be tested on one path."""

from typing import Any

import numpy as np
import pytest

import hornbeam as hb


def features_on_paths(model: Any) -> set[frozenset[int]]:
    """Collect, for every leaf of every tree, the columns tested on the way to it."""
    found = set()
    for tree in model._model.trees:
        for leaf in np.flatnonzero(tree.feature < 0):
            path, node = set(), tree.parent[leaf]
            while node >= 0:
                path.add(int(tree.feature[node]))
                node = tree.parent[node]
            found.add(frozenset(path))
    return found


def fitted(constraint: Any) -> set[frozenset[int]]:
    """Fit a model in which all four columns interact, under a constraint."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 4))
    y = X[:, 0] * X[:, 1] * X[:, 2] + X[:, 3] * X[:, 0] + rng.normal(scale=0.1, size=1_500)
    model = hb.GradientBoostingRegressor(n_estimators=10, interaction_cst=constraint)
    return features_on_paths(model.fit(X, y))


@pytest.mark.parametrize(
    ("constraint", "most"), [("no_interactions", 1), ("pairwise", 2), (None, 4), ([[0, 1], [2]], 2)]
)
def test_paths_keep_to_the_groups(constraint: Any, most: int) -> None:
    """No path tests more columns than its group has, and the limit is reached."""
    assert max(len(path) for path in fitted(constraint)) == most


def test_columns_not_named_are_one_more_group() -> None:
    """Groups by number; 2 and 3 are left over and may meet each other only."""
    paths = fitted([[0, 1]])
    assert all(path <= {0, 1} or path <= {2, 3} for path in paths)
    assert any(path & {2, 3} for path in paths)


@pytest.mark.parametrize(
    ("constraint", "said"),
    [
        ([["no"]], "not a column of X"),
        ([[9]], "only 4 column"),
        ([[]], "not a list of columns"),
        (3, "groups"),
    ],
)
def test_mistakes_are_named(constraint: Any, said: str) -> None:
    """Unknown columns, numbers out of range, empty groups and other types."""
    with pytest.raises((ValueError, TypeError), match=said):
        fitted(constraint)
