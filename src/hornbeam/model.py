"""What is saved, sent, drawn and explained: trees, and everything needed to use and to read them.

An `Ensemble` takes tables as users give them and returns leaves, or sums of the trees' values; estimators
turn these into predictions. It never changes after it is made, so any number of threads may predict with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import core_column
from hornbeam.data.table import CodedColumn, Schema, SparseColumn, Table, Unseen, read_table_as
from hornbeam.data.unseen import warn_of_unseen
from hornbeam.pseudo_votes import PseudoVotes
from hornbeam.threads import resolve_n_jobs
from hornbeam.warnings import NoAnswerWarning, VersionWarning, warn

__all__ = [
    "SURROGATE_ARRAYS",
    "TREE_ARRAYS",
    "ArrayRows",
    "EncodedRows",
    "Ensemble",
    "RowsToPredict",
    "tree_from_arrays",
    "tree_to_arrays",
    "with_values_times",
]

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


# The arrays of surrogate tests, which decide where a value is missing; all empty if a tree has none.
SURROGATE_ARRAYS = (
    "surrogate_begin",
    "surrogate_feature",
    "surrogate_threshold",
    "surrogate_low_branch",
    "surrogate_category_begin",
    "surrogate_agreement",
    "surrogate_category_words",
)


def tree_to_arrays(tree: _core.Tree) -> dict[str, npt.NDArray[Any]]:
    """Copy a tree into arrays that stand on their own."""
    names = TREE_ARRAYS + SURROGATE_ARRAYS if len(tree.surrogate_begin) else TREE_ARRAYS
    return {name: np.array(getattr(tree, name)) for name in (*names, "gaps")}


def tree_from_arrays(arrays: Mapping[str, npt.NDArray[Any]], schema: Schema) -> _core.Tree:
    """Make a tree from arrays of unknown origin; ValueError says which node is wrong."""
    value = arrays["value"]
    if value.ndim != 3:
        raise ValueError(
            f"the values of a tree have 3 dimensions (node, output, class); these have {value.ndim}"
        )
    names = [*TREE_ARRAYS, *(name for name in SURROGATE_ARRAYS if name in arrays)]
    # Arrays from a network may not be aligned for reading their numbers.
    flat = {name: np.require(arrays[name], requirements=["C", "ALIGNED"]).reshape(-1) for name in names}
    n_categories = np.array(
        [
            len(categories or ()) if kind == "categorical" else 0
            for kind, categories in zip(schema.kinds, schema.categories, strict=True)
        ],
        dtype=np.uint32,
    )
    return _core.make_tree(
        n_outputs=value.shape[1],
        n_values=value.shape[2],
        categories=n_categories,
        gaps=str(arrays.get("gaps", "branch")),
        **flat,
    )


def with_values_times(tree: _core.Tree, factor: float, schema: Schema) -> _core.Tree:
    """Return a tree whose values are multiplied by `factor`."""
    arrays = tree_to_arrays(tree)
    return tree_from_arrays({**arrays, "value": arrays["value"] * factor}, schema)


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows of the data set that trees were grown on, which can be predicted without being read again."""

    codes: _core.Dataset
    rows: npt.NDArray[np.uint32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)


@dataclass(frozen=True, eq=False, slots=True)
class ArrayRows:
    """Rows of a numpy array that the core can read as it is: float32 or float64, a column per feature."""

    array: npt.NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.array)


RowsToPredict = Table | ArrayRows | EncodedRows

# Up to this many rows times trees, using threads takes longer than doing without.
_FEW_ANSWERS = 5_000

# Stages are computed this many at a time: rows are read once for all of them.
_STAGE_BYTES = 32 << 20

# Leaves are computed for this many trees at a time: a table of rows x trees may be large.
_TREES_AT_ONCE = 16

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees over one schema.

    `unseen` says where unseen categories go; `missing_allowed` is False if a missing value is an error.
    `adds_to` is set if the trees have one value each and contribute to different columns of a score: tree t
    adds to column `adds_to[t]`.
    """

    trees: tuple[_core.Tree, ...]
    schema: Schema
    unseen: Unseen = "missing"
    missing_allowed: bool = True
    adds_to: npt.NDArray[np.int32] | None = None

    def read(self, X: Any, *, estimator_name: str) -> Table:
        """Read a table to predict: the columns of the fit, checked; one warning if categories are new.

        Nothing is said of columns that no tree asks about, such as names that are left out as ids are.
        """
        table = read_table_as(X, self.schema, unseen=self.unseen, estimator_name=estimator_name)
        if not self.missing_allowed:
            refuse_missing(table, estimator_name)
        if table.n_unseen:
            way = "the larger branch" if self.unseen == "majority" else "the way of missing values"
            asked = {self.schema.names[feature] for feature in self.features_tested}
            warn_of_unseen({name: count * (name in asked) for name, count in table.n_unseen.items()}, way)
        return table

    def rows_of(self, X: Any, *, estimator_name: str) -> Table | ArrayRows:
        """Read rows to predict as `read` does, but leave an array that needs no reading as it is.

        That makes predicting a single row fast: checking the array takes a microsecond, reading it a hundred.
        """
        if type(X) is np.ndarray and self._needs_no_reading(X):
            return ArrayRows(X)
        return self.read(X, estimator_name=estimator_name)

    def _needs_no_reading(self, X: npt.NDArray[Any]) -> bool:
        """Tell whether an array has the right form and nothing that `read` would warn about or refuse."""
        return (
            X.dtype in _FLOATS
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self._n_plain_columns
            and X.flags.aligned
            and (self.missing_allowed or not np.isnan(X).any())
        )

    @cached_property
    def _n_plain_columns(self) -> int | None:
        """The number of columns, if all are numeric and X need not bring their names; else None."""
        schema = self.schema
        plain = not schema.names_given and not schema.parts
        plain = plain and all(kind == "numeric" for kind in schema.kinds)
        return len(schema.kinds) if plain else None

    def threads_for(self, rows: RowsToPredict, n_jobs: int | None) -> int:
        """Turn `n_jobs` into the number of threads for rows: one is enough for a few."""
        few = rows.n_rows * len(self.trees) <= _FEW_ANSWERS
        if few and (n_jobs is None or (type(n_jobs) is int and n_jobs != 0)):
            return 1  # counting the cores takes longer than a few predictions
        n_threads = resolve_n_jobs(n_jobs)  # which also says what may be wrong with n_jobs
        return 1 if few else n_threads

    def leaves(self, rows: RowsToPredict, *, n_threads: int) -> npt.NDArray[np.int32]:
        """Find the leaf of every row in every tree: one column per tree."""
        return self._leaves(rows, 0, len(self.trees), n_threads)

    def _leaves(self, rows: RowsToPredict, begin: int, end: int, n_threads: int) -> npt.NDArray[np.int32]:
        if isinstance(rows, ArrayRows):
            return self._predictor.leaves_of_array(rows.array, begin, end, n_threads)
        if isinstance(rows, EncodedRows):
            return self._predictor.leaves_of_encoded(rows.codes, rows.rows, begin, end, n_threads)
        return self._predictor.leaves(self.core_columns(rows), rows.n_rows, begin, end, n_threads)

    def _mean_of_parts(self, rows: RowsToPredict, *, n_threads: int) -> npt.NDArray[np.float64]:
        """Average numbers whose sum overflows, such as 1e308 ten times."""
        n_trees = len(self.trees)
        counts: Any = n_trees
        if self.trees[0].gaps == "available":
            counts = np.maximum(self.n_answers(rows, n_threads=n_threads), 1)[:, np.newaxis, np.newaxis]
        part = float(np.ldexp(1.0, -n_trees.bit_length()))
        total = self.total(rows, n_threads=n_threads, weights=np.full(n_trees, part))
        total /= counts * part
        return total

    def n_answers(self, rows: RowsToPredict, *, n_threads: int) -> npt.NDArray[np.int64]:
        """Count the trees that have a prediction for each row: those in which it reaches a leaf."""
        counts = np.zeros(rows.n_rows, dtype=np.int64)
        for begin in range(0, len(self.trees), _TREES_AT_ONCE):
            some = self.trees[begin : begin + _TREES_AT_ONCE]
            leaves = self._leaves(rows, begin, begin + len(some), n_threads)
            for position, tree in enumerate(some):
                counts += tree.first_child[leaves[:, position]] < 0
        return counts

    def total(
        self,
        rows: RowsToPredict,
        *,
        n_threads: int,
        begin: int = 0,
        end: int | None = None,
        weights: npt.NDArray[np.float64] | None = None,
        hard_votes: bool = False,
        onto: npt.NDArray[np.float64] | None = None,
    ) -> npt.NDArray[np.float64]:
        """Add up the predictions of the trees from `begin` to `end` for each row: rows x outputs x values.

        A tree contributes the values of the row's leaf: class shares, or numbers. With `hard_votes` that is 1
        for the class with the largest share (the first of equals) and 0 for the others. `weights`, one per
        tree of the ensemble, multiply it. Sums are made in float64, one tree after the other, so stages that
        are added `onto` each other (an array that is changed and returned) give the same bits as one sum over
        all.
        """
        onto = self._no_score(rows.n_rows) if onto is None else onto
        end = len(self.trees) if end is None else end
        sums = np.ascontiguousarray(onto)  # the core adds to memory that lies in order
        self._add(rows, begin, end, sums, weights, hard_votes, n_threads)
        if sums is not onto:
            onto[...] = sums
        return onto

    def mean(
        self,
        rows: RowsToPredict,
        *,
        n_threads: int,
        hard_votes: bool = False,
        pseudo_votes: PseudoVotes | None = None,
    ) -> npt.NDArray[np.float64]:
        """Average the trees' predictions for each row, over trees that have one: rows x outputs x values.

        If no tree has one, the result is the mean of the roots. `pseudo_votes` are added to those of the
        trees.
        """
        total = self.total(rows, n_threads=n_threads, hard_votes=hard_votes)
        if total.shape[2] == 1 and len(self.trees) > 1 and not np.isfinite(total).all():
            return self._mean_of_parts(rows, n_threads=n_threads)
        n_trees = len(self.trees)
        if self.trees[0].gaps == "available":
            self._divide_by_answers(total, rows, n_threads)
            if pseudo_votes is not None:
                total *= n_trees
        elif pseudo_votes is None:
            total /= n_trees
        return total if pseudo_votes is None else pseudo_votes.with_trees(total, n_trees)

    def _divide_by_answers(self, total: npt.NDArray[np.float64], rows: RowsToPredict, n_threads: int) -> None:
        """Turn sums over the trees that have a prediction into means."""
        counts = self.n_answers(rows, n_threads=n_threads)
        total /= np.maximum(counts, 1)[:, np.newaxis, np.newaxis]
        unanswered = counts == 0
        if unanswered.any():
            total[unanswered] = np.mean([tree.value[0] for tree in self.trees], axis=0)
            warn(
                f"{np.count_nonzero(unanswered)} row(s) lack values that every tree asks for; they get the "
                "prediction of the trees' roots.",
                NoAnswerWarning,
            )

    def stages(
        self, rows: RowsToPredict, *, n_threads: int, step: int, onto: npt.NDArray[np.float64]
    ) -> Iterator[npt.NDArray[np.float64]]:
        """Yield the result of `total` after each `step` trees; `onto` is the start, and is changed."""
        at_once = max(1, _STAGE_BYTES // onto.nbytes)
        n_stages = len(self.trees) // step
        for first in range(0, n_stages, at_once):
            last = min(first + at_once, n_stages)
            stages = np.empty((last - first, *onto.shape))
            self._add(rows, first * step, last * step, onto, None, False, n_threads, stages)
            yield from stages

    def _no_score(self, n_rows: int) -> npt.NDArray[np.float64]:
        return np.zeros((n_rows, self._predictor.n_outputs, self._predictor.n_values))

    def _add(self, rows: RowsToPredict, *arguments: Any) -> None:
        """Let the core add to scores, for any container of rows."""
        if isinstance(rows, ArrayRows):
            self._predictor.add_array(rows.array, *arguments)
        elif isinstance(rows, EncodedRows):
            self._predictor.add_encoded(rows.codes, rows.rows, *arguments)
        else:
            self._predictor.add(self.core_columns(rows), rows.n_rows, *arguments)

    @property
    def core_trees(self) -> tuple[_core.Tree, ...]:
        """The trees as the core knows them."""
        return self.trees

    # Follows from the fields, so it is neither pickled nor compared; if two threads make it at once, both are
    # equal.
    @cached_property
    def _predictor(self) -> _core.Predictor:
        return _core.Predictor(self.core_trees, self.adds_to, self.unseen == "majority")

    @cached_property
    def features_tested(self) -> frozenset[int]:
        """The features that are tested by some tree."""
        return frozenset(self._predictor.features.tolist())

    def core_columns(self, table: Table) -> Sequence[npt.NDArray[Any]]:
        """Give the core its columns; a sparse one is made dense only if a tree tests it."""
        untouched = np.broadcast_to(np.float64(0), table.n_rows)
        columns = []
        for feature, column in enumerate(table.columns):
            if feature not in self.features_tested:
                columns.append(untouched)
            elif isinstance(column.values, SparseColumn | CodedColumn):
                columns.append(column.values.to_dense())
            else:
                columns.append(core_column(column.kind, column.values))
        return columns

    def __getstate__(self) -> dict[str, Any]:
        """Pickle trees as plain arrays, which are checked like a file when they are loaded."""
        state = {field.name: getattr(self, field.name) for field in fields(self)}
        trees = tuple(tree_to_arrays(tree) for tree in self.core_trees)
        return {**state, "trees": trees, "library_version": _core.version}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; damaged trees are refused, another version gives a warning."""
        state = dict(state)
        _warn_of_other_version(state.pop("library_version", "an unknown version"))
        trees = tuple(tree_from_arrays(arrays, state["schema"]) for arrays in state["trees"])
        vars(self).update({**state, "trees": trees})


def _warn_of_other_version(made_by: str) -> None:
    """Warn if a pickle was made by another version: the internals of objects, which it holds, may change."""
    if made_by != _core.version:
        warn(
            f"The pickled model was made by hornbeam {made_by}; this is {_core.version}. It may fail or "
            "predict something else. Unpickle it with the version that made it and use hornbeam.save: later "
            "versions read such files.",
            VersionWarning,
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
