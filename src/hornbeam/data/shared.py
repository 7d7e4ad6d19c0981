"""One table that many estimators are fitted on: read once, its rows dealt out to folds.

`SharedTable` reads the columns of X, whatever container that is. `rows` deals some of its rows out as
`TableRows`, which every estimator that reads tables takes as its X. What the first fit makes of such rows,
the table and its codes, is kept with them for the fits that follow. Categories, ranks and bins are those of
the rows alone, so a fit on them equals a fit on a copy, and no fold learns anything about the rows it is
judged by.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from hornbeam.data.content import Content, Rows, SparseColumn
from hornbeam.data.sources import OpenSource, open_source

__all__ = ["SharedTable", "TableRows", "rows_of"]

Kept = TypeVar("Kept")


class SharedTable:
    """The columns of a table, each read when it is first asked for."""

    def __init__(self, X: Any, *, reader: str) -> None:
        self._source = open_source(X, reader)
        self.container = self._source.container
        self.n_rows = self._source.n_rows
        self.n_columns = self._source.n_columns
        self._contents: dict[int, Content] = {}

    def rows(self, numbers: Rows) -> "TableRows":
        """Deal out some rows, in the order of their numbers."""
        return TableRows(self, np.asarray(numbers, dtype=np.intp))

    def content(self, j: int, name: str) -> Content:
        """Return column j of all rows."""
        if j not in self._contents:
            self._contents[j] = self._source.read(j, name)
        return self._contents[j]


class TableRows(OpenSource):
    """Some rows of a shared table: what a copy of them would be, without the reading."""

    def __init__(self, whole: SharedTable, numbers: Rows) -> None:
        self.whole = whole
        self.numbers = numbers
        self.n_rows = len(numbers)
        self.n_columns = whole.n_columns
        self.shape = (self.n_rows, self.n_columns)
        self.labelled = whole.container
        self._kept: dict[Any, Any] = {}

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
        if key not in self._kept:
            self._kept[key] = make()
        made: Kept = self._kept[key]
        return made

    def __getitem__(self, chosen: Any) -> "TableRows":
        """Deal some of the rows out again; scikit-learn's indexing of arrays ends here."""
        rows = chosen[0] if isinstance(chosen, tuple) else chosen
        return self.whole.rows(self.numbers[rows])


def _in_any_order(column: SparseColumn, numbers: Rows) -> SparseColumn:
    """Take rows of a sparse column in the order of a splitter that shuffles, some perhaps twice."""
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
