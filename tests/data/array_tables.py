"""Small arrays, and how the tables made of them are compared with them."""

from typing import Any

import numpy as np

from hornbeam.data.table import SparseColumn, Table, read_table

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def plain() -> np.ndarray:
    """Numbers that every dtype in these tests holds exactly, and one row more than columns."""
    return np.array([[0, 1, 2], [3, 0, 5], [6, 7, 0], [9, 1, 100]], dtype=np.float64)


def with_missing() -> np.ndarray:
    array = plain()
    array[1, 0] = array[3, 2] = np.nan
    return array


def dense(table: Table) -> np.ndarray:
    columns = [c.values.to_dense() if isinstance(c.values, SparseColumn) else c.values for c in table.columns]
    return np.stack([values.astype(np.float64) for values in columns], axis=1)


def assert_reads_as(X: Any, expected: np.ndarray) -> Table:
    table = read_table(X)
    assert {column.kind for column in table.columns} == {"numeric"}
    assert table.n_rows == len(expected)
    np.testing.assert_array_equal(dense(table), expected)
    return table


def assert_readable_by_core(table: Table) -> None:
    allowed = {np.dtype(name) for name in [*INTEGERS, "bool", "float32", "float64"]}
    for column in table.columns:
        values = column.values.data if isinstance(column.values, SparseColumn) else column.values
        assert values.dtype in allowed
        assert values.dtype.isnative
        assert values.flags.aligned
        assert values.ndim == 1
