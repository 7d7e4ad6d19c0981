"""An encoded table whose rows are dealt out to folds: fits use their codes, and so do predictions.

A model that was fitted on some rows can predict others of the same table: every code stands for a value that
falls on the same side of each threshold between these bins as the true one (`CodedColumn.to_dense`).
"""

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from hornbeam.data.content import Content, Rows
from hornbeam.data.sources import CodedSource
from hornbeam.data.streams.encoded_table import EncodedTable
from hornbeam.data.table import Schema, Table

__all__ = ["CodedRows", "SharedCodes"]


class SharedCodes:
    """The rows of an encoded table, handed out like those of a `SharedTable`."""

    def __init__(self, whole: EncodedTable) -> None:
        self.whole = whole
        self.n_rows = whole.n_rows
        self.n_columns = whole.n_columns

    @property
    def container(self) -> Any:
        """Refuse: there is no container of the user's that could, for example, be sent to workers."""
        return self.whole.container

    def rows(self, numbers: Rows) -> "CodedRows":
        """Hand out some rows."""
        return CodedRows(self.whole, np.asarray(numbers, dtype=np.intp))


class CodedRows(CodedSource):
    """Some rows of an encoded table."""

    def __init__(self, whole: EncodedTable, numbers: Rows) -> None:
        self.whole = whole
        self.numbers = numbers
        self.n_rows, self.n_columns = len(numbers), whole.n_columns
        self.shape = (self.n_rows, self.n_columns)

    @cached_property
    def _table(self) -> Table:
        taken = self.whole.table.take(self.numbers)
        return replace(taken, row_numbers=None, encodings={})

    def table_for(self, categorical_features: Any) -> Table:
        """Return the rows as a table; columns are categorical if they were encoded as such."""
        if categorical_features not in (None, "from_dtype"):
            self.whole.table_for(categorical_features)
        return self._table

    def table_as(self, schema: Schema) -> Table:
        """Return the rows for predictions of a model that was fitted on rows of the same table."""
        if schema != self._table.schema:
            raise ValueError(
                "The model was not fitted on rows of this encoded table, whose values are not kept. Give it "
                "the rows themselves."
            )
        columns = tuple(replace(column, values=column.dense()) for column in self._table.columns)
        return replace(self._table, columns=columns, encodings=None)

    def read(self, j: int, name: str) -> Content:
        """Refuse: the values are not kept."""
        return self.whole.read(j, name)

    @property
    def container(self) -> Any:
        """Refuse: there is no container of the user's."""
        return self.whole.container

    @property
    def labelled(self) -> Any:
        """Refuse: there is no container of the user's."""
        return self.whole.labelled

    def __getitem__(self, chosen: Any) -> "CodedRows":
        """Hand out some of these rows; scikit-learn's indexing of arrays ends up here."""
        rows = chosen[0] if isinstance(chosen, tuple) else chosen
        return CodedRows(self.whole, self.numbers[rows])
