"""The one thing that is saved, sent, drawn and explained: trees, and what is needed to use and to read them.

An `Ensemble` takes tables as a user gives them and returns leaves; estimators turn leaves into answers. It
never changes after it is made, so any number of threads may predict with one.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import core_column
from hornbeam.data.table import Schema, SparseColumn, Table, Unseen, read_table_as
from hornbeam.warnings import UnseenCategoryWarning, VersionWarning

__all__ = ["TREE_ARRAYS", "Ensemble", "tree_from_arrays", "tree_to_arrays"]

# The arrays that make a tree, by their names in files and pickles.
TREE_ARRAYS = (
    "first_child",
    "n_branches",
    "feature",
    "threshold",
    "category_begin",
    "missing_branch",
    "n_node_samples",
    "weighted_n_node_samples",
    "impurity",
    "gain",
    "value",
    "category_words",
)


def tree_to_arrays(tree: _core.Tree) -> dict[str, npt.NDArray[Any]]:
    """Copy a tree into arrays that stand on their own."""
    return {name: np.array(getattr(tree, name)) for name in TREE_ARRAYS}


def tree_from_arrays(arrays: Mapping[str, npt.NDArray[Any]], schema: Schema) -> _core.Tree:
    """Make a tree from arrays of unknown origin; ValueError says which node is wrong."""
    value = arrays["value"]
    if value.ndim != 3:
        raise ValueError(
            f"the values of a tree have 3 dimensions (node, output, class); these have {value.ndim}"
        )
    flat = {name: np.ascontiguousarray(arrays[name]).reshape(-1) for name in TREE_ARRAYS}
    n_categories = [
        len(categories or ()) if kind == "categorical" else 0
        for kind, categories in zip(schema.kinds, schema.categories, strict=True)
    ]
    return _core.make_tree(n_outputs=value.shape[1], n_values=value.shape[2], categories=n_categories, **flat)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees over one schema.

    `unseen` says where categories go that the fit never saw; `missing_allowed` is False where a missing value
    is an error.
    """

    trees: tuple[_core.Tree, ...]
    schema: Schema
    unseen: Unseen = "missing"
    missing_allowed: bool = True

    def read(self, X: Any, *, estimator_name: str) -> Table:
        """Read a table to predict: the columns of the fit, checked; one warning if categories are new."""
        table = read_table_as(X, self.schema, unseen=self.unseen, estimator_name=estimator_name)
        if not self.missing_allowed:
            refuse_missing(table, estimator_name)
        if table.n_unseen:
            counts = ", ".join(f"{name!r}: {count} row(s)" for name, count in table.n_unseen.items())
            way = "the larger branch" if self.unseen == "majority" else "the way of missing values"
            warnings.warn(
                f"Categories that the fit has not seen go {way} (unseen='error' refuses them): {counts}.",
                UnseenCategoryWarning,
                stacklevel=4,
            )
        return table

    def leaves(self, table: Table, *, n_threads: int) -> npt.NDArray[np.int32]:
        """Find the leaf of every row in every tree: one column per tree."""
        result = np.empty((table.n_rows, len(self.trees)), dtype=np.int32)
        for position, tree in enumerate(self.trees):
            columns = _core_columns(table, tree)
            result[:, position] = _core.find_leaves(
                tree, columns, table.n_rows, self.unseen == "majority", n_threads
            )
        return result

    def total(self, table: Table, *, n_threads: int) -> npt.NDArray[np.float64]:
        """Add up what the leaves of each row say, in the order of the trees: rows x outputs x values."""
        leaves = self.leaves(table, n_threads=n_threads)
        result = np.zeros((table.n_rows, *self.trees[0].value.shape[1:]))
        for position, tree in enumerate(self.trees):
            result += tree.value[leaves[:, position]]
        return result

    def __getstate__(self) -> dict[str, Any]:
        """Pickle trees as plain arrays: what comes back is checked like a file."""
        trees = tuple(tree_to_arrays(tree) for tree in self.trees)
        return {**vars(self), "trees": trees, "library_version": _core.version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; damaged trees are refused, another version gives a warning."""
        state = dict(state)
        _warn_of_other_version(state.pop("library_version", "an unknown version"))
        trees = tuple(tree_from_arrays(arrays, state["schema"]) for arrays in state["trees"])
        vars(self).update({**state, "trees": trees})


def _warn_of_other_version(made_by: str) -> None:
    """Warn if a pickle was made by another version: pickles hold what is inside objects, which may change."""
    if made_by != _core.version:
        warnings.warn(
            f"The pickled model was made by hornbeam {made_by}; this is {_core.version}. It may fail or "
            "predict something else. Unpickle it with the version that made it and use hornbeam.save: later "
            "versions read such files.",
            VersionWarning,
            stacklevel=3,
        )


def refuse_missing(table: Table, estimator_name: str) -> None:
    """Raise if a table has a missing value, saying where."""
    found = table.first_missing()
    if found is not None:
        name, row = found
        raise ValueError(
            f"{estimator_name}: column {name!r}, row {row}: the value is missing and missing='error' refuses "
            "that. Fill the gap, or use missing='learn'."
        )


def _core_columns(table: Table, tree: _core.Tree) -> Sequence[npt.NDArray[Any]]:
    """Give the core its columns; a sparse one is written out only if the tree looks at it."""
    used = set(np.unique(tree.feature).tolist())
    untouched = np.broadcast_to(np.float64(0), table.n_rows)
    columns = []
    for feature, column in enumerate(table.columns):
        if feature not in used:
            columns.append(untouched)
        elif isinstance(column.values, SparseColumn):
            columns.append(column.values.to_dense())
        else:
            columns.append(core_column(column.kind, column.values))
    return columns
