"""The few parameters that matter, their usual values, and which of two settings is the simpler one.

`default_grid` has an entry per method; the value that an estimator has already always comes first, so a
search that is cut short has at least tried that. `simplicity` orders settings for the one-standard-error
rule: a smaller tree, larger leaves, more neighbours, a stronger penalty are simpler.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["Grid", "candidates_of", "default_grid", "defaults_first", "simplicity"]

Grid = Mapping[str, Sequence[Any]]

_FOREST: Grid = {"max_features": ["sqrt", 0.2, 0.4], "min_samples_leaf": [1, 5]}

# By what the name of an estimator begins with.
_GRIDS: dict[str, Grid] = {
    "DecisionTree": {"max_depth": [None, 3, 6, 10], "min_samples_leaf": [1, 5, 20]},
    "RandomForest": _FOREST,
    "ExtraTrees": _FOREST,
    "Bagging": {"n_estimators": [10, 50, 100]},
    "AdaBoostClassifier": {
        "estimator": [None, DecisionTreeClassifier(max_depth=3)],
        "n_estimators": [50, 200],
    },
    "AdaBoostRegressor": {
        "estimator": [None, DecisionTreeRegressor(max_depth=6)],
        "n_estimators": [50, 200],
    },
    "GradientBoosting": {
        "max_leaf_nodes": [8, 31],
        "max_features": [0.3, 1.0],
    },
    "KNeighbors": {"n_neighbors": [5, 1, 15, 40], "weights": ["uniform", "distance"]},
    "LogisticRegression": {"C": [1.0, 0.1, 10.0, 0.01]},
    "Ridge": {"alpha": [1.0, 0.1, 10.0, 100.0]},
}

_SIMPLER_WHEN_LESS = frozenset(
    {"max_depth", "max_leaf_nodes", "max_nodes", "n_estimators", "max_bins", "C", "learning_rate"}
)
_SIMPLER_WHEN_MORE = frozenset(
    {
        *("min_samples_leaf", "min_samples_split", "min_weight_fraction_leaf", "min_hessian_leaf"),
        *("ccp_alpha", "min_impurity_decrease", "min_split_gain", "l1_regularization", "l2_regularization"),
        *("n_neighbors", "bandwidth", "alpha"),
    }
)


def default_grid(estimator: Any) -> dict[str, list[Any]]:
    """Return the parameters worth searching, with values; those that the estimator has come first."""
    prefix, last = "", estimator
    if getattr(estimator, "steps", None):  # of a pipeline, its last step
        name, last = estimator.steps[-1]
        prefix = f"{name}__"
    kind = type(last).__name__
    grid = next((grid for stem, grid in _GRIDS.items() if kind.startswith(stem)), None)
    if grid is None:
        raise ValueError(f"There is no usual grid for {kind}: give one, such as {{'max_depth': [2, 4, 8]}}.")
    own = last.get_params(deep=False)
    return {
        prefix + name: [own[name], *(value for value in values if not _same(value, own[name]))]
        for name, values in grid.items()
    }


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and (one is other or bool(repr(one) == repr(other)))


def candidates_of(grid: Any) -> list[dict[str, Any]]:
    """List the settings of a grid, or of several, in scikit-learn's order."""
    from sklearn.model_selection import ParameterGrid  # noqa: PLC0415

    return list(ParameterGrid(grid))


def defaults_first(estimator: Any) -> list[dict[str, Any]]:
    """List the settings of the usual grid, those nearest to what the estimator has first."""
    grid = default_grid(estimator)
    places = {name: list(range(len(values))) for name, values in grid.items()}
    ordered = sorted(candidates_of(places), key=lambda at: (sum(map(bool, at.values())), tuple(at.values())))
    return [{name: grid[name][place] for name, place in at.items()} for at in ordered]


def simplicity(candidates: Sequence[Mapping[str, Any]]) -> list[int]:
    """Rank settings: the lower, the simpler; what has no known direction does not count."""
    ranks = np.zeros(len(candidates), dtype=np.int64)
    for name in {name for candidate in candidates for name in candidate}:
        leaf = name.rpartition("__")[2]
        sign = -1 if leaf in _SIMPLER_WHEN_MORE else 1
        if leaf not in _SIMPLER_WHEN_MORE | _SIMPLER_WHEN_LESS:
            continue
        values = [_as_number(candidate.get(name)) for candidate in candidates]
        if any(value is None for value in values):
            continue
        ranks += np.unique(sign * np.array(values, dtype=np.float64), return_inverse=True)[1].reshape(-1)
    return [int(rank) for rank in ranks]


def _as_number(value: Any) -> float | None:
    """Read a value as a number: None is no limit, or all rows; words have no place in an order."""
    if value is None:
        return float("inf")
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return None
    return float(value)
