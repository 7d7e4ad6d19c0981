"""Columns of many categories as numbers: what other rows of the same category say about the target.

Sets of categories chosen by the target overfit: they find a pattern in every id and every name. So trees grow
on numbers in place of a column of many categories: the mean of the target over rows of the same category, and
the number of these rows. The mean is cross-fitted: rows are divided into parts, and a row's number comes from
the other parts, so its own target is not in it. A category with a single row gets the mean of all rows: an id
carries no information (docs/decisions/35-many-categories.md lists what else was tried). Numbers that are the
same in every row are left out, so that an id does not use up a draw of columns. Rows are counted without
their weights, since these may depend on the target, as with balanced classes.

Users of the tree do not see this. The mean over all rows is a number per category, so a threshold on it is a
set of categories: `restored` writes it as a test on the user's own column. Unseen categories go where the
mean of all rows goes or, if the column had missing values, where these go.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Column, Schema, Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.units import unit_of
from hornbeam.model import tree_from_arrays, tree_to_arrays

__all__ = ["CategoryMeans", "columns_of_many"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_CATEGORIES = 30  # of a column that is split by sets chosen by the target
_PARTS = 5
_PRIOR_ROWS = 1.0  # the mean of all rows counts as much as this many rows of the category
_MOST_CLASSES = 10  # the most categories with a mean of their own: the most frequent ones
_NO_THRESHOLD = -2.0
_NO_TABLE = -1


def columns_of_many(table: Table) -> list[int]:
    """Find the categorical columns on which sets of categories would overfit."""
    return [
        number
        for number, column in enumerate(table.columns)
        if column.kind == "categorical" and len(column.categories or ()) > _MOST_CATEGORIES
    ]


@dataclass(frozen=True, eq=False)
class _Statistic:
    """A number for each row of the fit, and one for each category, the last being that of missing values."""

    source: int
    of_rows: FloatArray
    of_categories: FloatArray


@dataclass(frozen=True, eq=False)
class CategoryMeans:
    """The table that trees are grown on, and how its columns map to the user's.

    `sources` has, for each column of `table`, the user's column that it comes from; those from `n_plain` on
    are statistics.
    """

    table: Table
    given: Schema
    sources: IntArray
    n_plain: int
    statistics: tuple[_Statistic, ...]

    @classmethod
    def of(
        cls,
        table: Table,
        target: ClassTarget | RegressionTarget,
        weights: FloatArray | None,
        many: Sequence[int],
        *,
        key: int,
    ) -> "CategoryMeans":
        """Replace the columns of the numbers `many`, which are categorical."""
        outcomes = _outcomes(target)
        parts = np.random.Generator(np.random.Philox(key=key)).permutation(table.n_rows) % _PARTS
        statistics = [s for j in many for s in _statistics(j, table.columns[j], outcomes, weights, parts)]
        kept = [j for j in range(len(table.columns)) if j not in many]
        informative = [s for s in statistics if np.ptp(s.of_rows) > 0]
        statistics = informative if informative or kept else statistics[:1]  # a table has a column
        names = _new_names(table, len(statistics))
        columns = [table.columns[j] for j in kept]
        columns += [Column(name, "numeric", s.of_rows) for name, s in zip(names, statistics, strict=True)]
        grown = replace(
            table,
            columns=tuple(columns),
            feature_names=None if table.feature_names is None else [column.name for column in columns],
            encodings=None,
            origin=None,
        )
        sources = np.array([*kept, *(s.source for s in statistics)], dtype=np.int64)
        return cls(grown, table.schema, sources, len(kept), tuple(statistics))

    def of_features(self, by_feature: tuple[int, ...]) -> tuple[int, ...]:
        """Turn a number for each of the user's columns into one for each column of the table."""
        return tuple(by_feature[source] for source in self.sources) if by_feature else ()

    def of_groups(self, groups: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
        """Turn groups of the user's columns into groups of the table's."""
        of_table = (
            tuple(j for j, source in enumerate(self.sources.tolist()) if source in group) for group in groups
        )
        return tuple(group for group in of_table if group)

    def with_gaps(self, table: Table, seen: tuple[bool, ...]) -> tuple[bool, ...]:
        """Tell for each of the user's columns whether rows lack it, given the same for the table's."""
        of_plain = dict(zip(self.sources[: self.n_plain].tolist(), seen, strict=False))
        return tuple(
            of_plain[j] if j in of_plain else column.first_missing_row() is not None
            for j, column in enumerate(table.columns)
        )

    def restored(self, tree: _core.Tree) -> _core.Tree:
        """Write a tree in the user's columns: thresholds on statistics become sets of categories."""
        arrays = tree_to_arrays(tree)
        feature = arrays["feature"].copy()
        inner = np.flatnonzero(feature >= 0)
        arrays["feature"] = feature.copy()
        arrays["feature"][inner] = self.sources[feature[inner]]
        if (feature >= self.n_plain).any():
            self._write_sets(arrays, feature)
        return tree_from_arrays(arrays, self.given)

    def _write_sets(self, arrays: dict[str, Any], feature: npt.NDArray[Any]) -> None:
        words: list[npt.NDArray[np.uint32]] = []
        begins = np.full(len(feature), _NO_TABLE, dtype=arrays["category_begin"].dtype)
        next_word = 0
        for node in np.flatnonzero((arrays["category_begin"] >= 0) | (feature >= self.n_plain)).tolist():
            if feature[node] < self.n_plain:
                begin = arrays["category_begin"][node]
                n_categories = len(self.given.categories[arrays["feature"][node]] or ())
                table = arrays["category_words"][begin : begin + -(-n_categories // 32)]
            else:
                right = (
                    self.statistics[feature[node] - self.n_plain].of_categories > arrays["threshold"][node]
                )
                table = _packed(right[:-1])
                arrays["missing_branch"][node] = int(right[-1])
                arrays["threshold"][node] = _NO_THRESHOLD
            begins[node] = next_word
            next_word += len(table)
            words.append(table)
        arrays["category_begin"] = begins
        arrays["category_words"] = np.concatenate(words) if words else arrays["category_words"][:0]


def _packed(bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    padded = np.zeros(-(-len(bits) // 32) * 32, dtype=np.bool_)
    padded[: len(bits)] = bits
    return np.packbits(padded, bitorder="little").view("<u4").astype(np.uint32)


def _new_names(table: Table, n_wanted: int) -> list[str]:
    """Make up names for internal columns that differ from all existing names."""
    taken = {column.name for column in table.columns}
    names: list[str] = []
    number = 0
    while len(names) < n_wanted:
        name = f"statistic {number}"
        names += [name] if name not in taken else []
        number += 1
    return names


def _outcomes(target: ClassTarget | RegressionTarget) -> FloatArray:
    """Return what is averaged, rows x outcomes: the target, or an indicator for each class."""
    if isinstance(target, RegressionTarget):
        return np.array(target.values[:, :1], dtype=np.float64)
    codes, n_classes = target.codes[:, 0], len(target.classes[0])
    if n_classes <= 2:
        return np.array(codes[:, np.newaxis] == n_classes - 1, dtype=np.float64)
    frequent = np.argsort(-np.bincount(codes, minlength=n_classes), kind="stable")[:_MOST_CLASSES]
    return np.array(codes[:, np.newaxis] == np.sort(frequent), dtype=np.float64)


def _statistics(
    source: int, column: Column, outcomes: FloatArray, weights: FloatArray | None, parts: IntArray
) -> Iterator[_Statistic]:
    """Make the statistics of one column: a mean for each outcome, and the number of rows."""
    values = column.dense()
    n_categories = len(column.categories or ())
    codes = np.where(values < 0, n_categories, values).astype(np.int64)
    in_units = None if weights is None else weights / unit_of(weights)
    mass = np.ones(len(codes)) if in_units is None else in_units / in_units.mean()
    masses: FloatArray = np.bincount(codes, weights=mass, minlength=n_categories + 1).astype(np.float64)
    sizes = _of_others(codes, mass, parts)
    for outcome in outcomes.T:
        unit = unit_of(outcome)  # in which products with weights are finite
        counted = outcome / unit
        prior = float(np.average(counted, weights=in_units))
        # Differences from the mean keep all digits where targets are far from 0.
        rest = (counted - prior) * mass
        totals = np.bincount(codes, weights=rest, minlength=n_categories + 1)
        yield _Statistic(
            source,
            (prior + _of_others(codes, rest, parts) / (sizes + _PRIOR_ROWS)) * unit,
            (prior + totals / (masses + _PRIOR_ROWS)) * unit,
        )
    counts = np.bincount(codes, minlength=n_categories + 1).astype(np.float64)
    yield _Statistic(source, counts[codes], counts)


def _of_others(codes: IntArray, values: FloatArray, parts: IntArray) -> FloatArray:
    """Add up, for each row, the values of the rows of its category that are in other parts."""
    n_categories = int(codes.max()) + 1
    by_part = np.bincount(parts * n_categories + codes, weights=values, minlength=_PARTS * n_categories)
    by_part = by_part.reshape(_PARTS, n_categories)
    # Added up part by part, not as the total minus a row's own part: a category within one part then gets
    # exactly 0.
    others = np.array([np.delete(by_part, part, axis=0).sum(axis=0) for part in range(_PARTS)])
    return others[parts, codes]
