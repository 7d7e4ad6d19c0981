"""A table of any kind, whose rows can be picked and whose columns can be filled from other rows.

In: X as the user has it, an array, a sparse matrix, or a data frame of pandas, polars or Arrow. Out: a table
of the same kind with the same column types, which every model accepts.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam.data.sources import refuse_corrupt_sparse

__all__ = ["Rows"]

IntArray = npt.NDArray[np.int64]


class Rows:
    """The rows of a table; `native` is the table itself."""

    def __init__(self, X: Any) -> None:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        self._frame = frame if isinstance(frame, nw.DataFrame) else None
        if self._frame is None:
            refuse_corrupt_sparse(X)
            X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
            if X.ndim != 2:
                raise ValueError(f"X must be a table of rows and columns; it has {X.ndim} dimension(s).")
        self.native = X
        self.n_rows, self.n_columns = (int(size) for size in X.shape)

    def take(self, rows: IntArray) -> "Rows":
        """Pick rows, in the order given."""
        if self._frame is not None:
            return Rows(self._frame[rows.tolist()].to_native())
        return Rows(self.native[rows])

    def dense(self) -> "Rows":
        """Return the same rows as a dense table."""
        return Rows(self.native.toarray()) if sparse.issparse(self.native) else self

    def cells(self, row: int) -> tuple[Any, ...]:
        """Return the values of one row."""
        if self._frame is not None:
            return tuple(self._frame.row(row))
        native = self.native
        return tuple((native[[row]].toarray()[0] if sparse.issparse(native) else native[row]).tolist())

    def without_columns(self, columns: Sequence[int]) -> "Rows":
        """Leave out some columns."""
        kept = [j for j in range(self.n_columns) if j not in set(columns)]
        if self._frame is not None:
            return Rows(self._frame[:, kept].to_native())
        return Rows(self.native[:, kept])

    def with_columns_from(self, columns: Sequence[int], source: IntArray) -> "Rows":
        """Return the table with row i of some columns taken from row `source[i]`; other columns stay."""
        changed = self
        for column in columns:
            changed = Rows(changed.with_column_from(column, source))
        return changed

    def with_copies(self, columns: Sequence[int], sources: Sequence[IntArray]) -> "Rows":
        """Add copies of columns, row i taken from row `source[i]`, named after the originals in a frame."""
        if self._frame is None:
            picked = [self.native[source][:, [j]] for j, source in zip(columns, sources, strict=True)]
            join = sparse.hstack if sparse.issparse(self.native) else np.hstack
            return Rows(join([self.native, *picked]))
        frame, names = self._frame, list(self._frame.columns)
        for column, source in zip(columns, sources, strict=True):
            name: Any = frame.columns[column]
            while name in names:  # pandas allows numbers as names
                name = f"{name} shuffled" if isinstance(name, str) else len(names) + int(name)
            names.append(name)
            series = frame.get_column(frame.columns[column])[source.tolist()].alias(name)
            if hasattr(self.native, "index"):  # pandas aligns values by the index
                native = frame.to_native().copy(deep=False)
                native[name] = series.to_native().array
                frame = nw.from_native(native, eager_only=True)
            else:
                frame = frame.with_columns(series)
        return Rows(frame.to_native())

    def with_column_from(self, column: int, source: IntArray) -> Any:
        """Return the table with row i of one column taken from row `source[i]`; other columns stay."""
        if self._frame is not None:
            series = self._frame.get_column(self._frame.columns[column])[source.tolist()]
            if hasattr(self.native, "index"):  # pandas aligns values by the index
                native = self.native.copy(deep=False)
                native[self._frame.columns[column]] = series.to_native().array
                return native
            return self._frame.with_columns(series).to_native()
        changed = self.native.copy()
        changed[:, column] = self.native[source, column]
        return changed
