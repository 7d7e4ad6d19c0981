"""The default members of a blend: a few of each kind, chosen so that their errors differ.

The choice comes from a comparison on many tables (docs/decisions/39-best-model.md). Boosting comes first: it
is usually the best of them, and it can end in time whatever the size of the table.
"""

from typing import Any

from hornbeam.data.table import Table
from hornbeam.data.task import Task
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.linear import linear_model
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor

__all__ = ["distances_for", "usual_members"]

_MOST_ROWS_OF_NEIGHBOURS = 20_000  # every row is compared with every other
_MOST_CELLS_OF_LINEAR = 20_000_000


def usual_members(task: Task, table: Table, n_jobs: int | None) -> list[tuple[str, Any]]:
    """List the members for a table, in the order in which they are fitted."""
    of_classes = task == "classification"
    boosting = GradientBoostingClassifier if of_classes else GradientBoostingRegressor
    forest = RandomForestClassifier if of_classes else RandomForestRegressor
    extra_trees = ExtraTreesClassifier if of_classes else ExtraTreesRegressor
    neighbors = KNeighborsClassifier if of_classes else KNeighborsRegressor
    members: list[tuple[str, Any]] = [("boosting", boosting(n_jobs=n_jobs))]
    if table.n_rows * len(table.columns) <= _MOST_CELLS_OF_LINEAR:
        members.append(("linear", linear_model(task)))
    members.append(("forest", forest(n_jobs=n_jobs)))
    if table.n_rows <= _MOST_ROWS_OF_NEIGHBOURS:
        how = distances_for(table)
        members.append(("nearest-20", neighbors(20, weights="distance", n_jobs=n_jobs, **how)))
        members.append(("nearest-10", neighbors(10, n_jobs=n_jobs, **how)))
    members.append(("extra-trees", extra_trees(n_jobs=n_jobs)))
    members.append(("boosting-small-trees", boosting(max_leaf_nodes=6, n_jobs=n_jobs)))
    return members


def distances_for(table: Table) -> dict[str, Any]:
    """Measure distances so that units do not matter; categories and gaps need Gower's."""
    plain = all(column.kind == "numeric" for column in table.columns) and table.first_missing() is None
    return {"scale": "standard"} if plain else {"metric": "gower"}
