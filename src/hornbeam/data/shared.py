"""One table that many estimators are fitted on: read once, its rows dealt out to folds.

`SharedTable` reads the columns of X, whatever container that is. `rows` hands out some of its rows as
`TableRows`, which every estimator that reads tables takes as its X. The table and the codes that the first
fit makes of such rows are kept for the fits that follow. Categories, ranks and bins are those of the rows
alone, so a fit on them equals a fit on a copy, and no fold learns anything about the rows it is judged by.
Numbers, however, are sorted once for all folds: the ranks of some rows among themselves follow from their
ranks among all rows (`Origin`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from hornbeam import _core
from hornbeam.data.content import Content, Numbers, Rows, SparseColumn, numeric_values
from hornbeam.data.sources import OpenSource, Source, open_source

__all__ = ["Origin", "Ranks", "SharedTable", "TableRows", "origin_of", "rows_of"]

Kept = TypeVar("Kept")


class SharedTable:
    """The columns of a table, each read when it is first asked for."""

    def __init__(self, X: Any, *, reader: str) -> None:
        self._source = open_source(X, reader)
        self.container = self._source.container
        self.n_rows = self._source.n_rows
        self.n_columns = self._source.n_columns
        self._contents: dict[int, Content] = {}
        self._ranks: Ranks | None = None
        self._ranking = Lock()

    def rows(self, numbers: Rows) -> "TableRows":
        """Hand out some rows, in the order of their numbers."""
        return TableRows(self, np.asarray(numbers, dtype=np.intp))

    def content(self, j: int, name: str) -> Content:
        """Return column j of all rows."""
        if j not in self._contents:
            self._contents[j] = self._source.read(j, name)
        return self._contents[j]

    def ranks(self, n_threads: int) -> "Ranks":
        """Rank the numbers of all rows, once; all columns must have been read."""
        with self._ranking:
            if self._ranks is None:
                self._ranks = _rank_numbers(self._contents, self.n_rows, n_threads)
            return self._ranks


@dataclass(frozen=True, eq=False)
class Ranks:
    """Exact codes of the numeric columns; `places` maps columns of the table to them."""

    codes: _core.Dataset
    places: dict[int, int]


@dataclass(frozen=True, eq=False)
class Origin:
    """Which table some rows come from, and which ones they are."""

    whole: SharedTable
    numbers: Rows

    def take(self, rows: Rows) -> "Origin":
        """Keep some of the rows."""
        return Origin(self.whole, self.numbers[rows])


def origin_of(source: Source) -> Origin | None:
    """Tell where the rows of a source come from, if a shared table has handed them out."""
    return Origin(source.whole, source.numbers) if isinstance(source, TableRows) else None


class TableRows(OpenSource):
    """Some rows of a shared table: equal to a copy of them, but already read."""

    def __init__(self, whole: SharedTable, numbers: Rows) -> None:
        self.whole = whole
        self.numbers = numbers
        self.n_rows = len(numbers)
        self.n_columns = whole.n_columns
        self.shape = (self.n_rows, self.n_columns)
        self.labelled = whole.container
        self._kept: dict[Any, Any] = {}
        self._keeping = Lock()

    @cached_property
    def container(self) -> Any:
        """A copy of the rows in a container of the user's kind, for estimators that read for themselves."""
        return rows_of(self.whole.container, self.numbers)

    def read(self, j: int, name: str) -> Content:
        """Read column j."""
        content = self.whole.content(j, name)
        if isinstance(content, SparseColumn) and not self._ascend:
            return _in_any_order(content, self.numbers)
        return content.take(self.numbers)

    @cached_property
    def _ascend(self) -> bool:
        return bool(np.all(self.numbers[1:] > self.numbers[:-1]))

    def kept(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """Return what was made under this key before, or make it."""
        with self._keeping:  # a thread that comes while it is being made waits for it
            if key not in self._kept:
                self._kept[key] = make()
            made: Kept = self._kept[key]
        return made

    def __getitem__(self, chosen: Any) -> "TableRows":
        """Hand out some of these rows; scikit-learn's indexing of arrays ends up here."""
        rows = chosen[0] if isinstance(chosen, tuple) else chosen
        return self.whole.rows(self.numbers[rows])


def _rank_numbers(contents: dict[int, Content], n_rows: int, n_threads: int) -> Ranks:
    columns: list[tuple[Any, ...]] = []
    places = {}
    for j, content in sorted(contents.items()):
        if isinstance(content, SparseColumn):
            columns.append((content.indices, content.data, None))
        elif isinstance(content, Numbers) and content.values.dtype != object:
            # Objects may hold values that are not float64; a fold without such a row must not fail because of
            # it.
            columns.append((numeric_values(content, f"x{j}"),))
        else:
            continue
        places[j] = len(columns) - 1
    return Ranks(_core.encode_table(n_rows, columns, 0, n_threads), places)


def _in_any_order(column: SparseColumn, numbers: Rows) -> SparseColumn:
    """Take rows of a sparse column in any order, perhaps repeated, as a splitter that shuffles gives them."""
    dense = column.to_dense()[numbers]
    stored = np.flatnonzero(dense)
    return SparseColumn(stored, dense[stored], len(numbers))


def rows_of(X: Any, numbers: Rows) -> Any:
    """Copy some rows of any container."""
    if sparse.issparse(X):
        return X.tocsr()[numbers]
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[numbers].to_native()
    return _safe_indexing(X, numbers)
