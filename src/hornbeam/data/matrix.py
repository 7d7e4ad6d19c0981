"""X as one matrix of numbers, for learners that measure distances: any container in, rows of floats out.

Numbers are themselves, ordered categories their position, other categories their code. Missing values are
NaN; a category that the fit has not seen has a code that no row of the fit has. A float array in single or
double precision is used as it is, without reading columns.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.column import warn_of_near_unique
from hornbeam.data.content import MISSING, Rows
from hornbeam.data.names import check_names_and_width
from hornbeam.data.sources import Source, labelled, open_source
from hornbeam.data.table import (
    CategoricalFeatures,
    Kind,
    Schema,
    SparseColumn,
    Table,
    read_columns,
    read_table_as,
)
from hornbeam.memory import refuse_beyond_memory

__all__ = ["FloatMatrix", "Matrix", "read_matrix", "read_matrix_as"]

FloatMatrix = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows of numbers, C-contiguous, and what its columns are called and mean."""

    values: FloatMatrix
    schema: Schema


def read_matrix(source: Source, *, categorical_features: CategoricalFeatures, rows: Rows | None) -> Matrix:
    """Read a container for a fit, or some of its rows, in ascending order."""
    array = _plain_floats(source)
    if array is None or not (categorical_features is None or isinstance(categorical_features, str)):
        table = read_columns(source, categorical_features=categorical_features, rows=rows)
        warn_of_near_unique(table.columns, table.n_rows)
        return Matrix(_stacked(table), table.schema)
    names = tuple(f"x{j}" for j in range(source.n_columns))
    numeric: Kind = "numeric"
    schema = Schema(names, False, (numeric,) * len(names), (None,) * len(names))
    return Matrix(array if rows is None else array[rows], schema)


def read_matrix_as(X: Any, schema: Schema, *, estimator_name: str) -> FloatMatrix:
    """Read X for a prediction: the columns of the fit, in their order, with its categories."""
    source = open_source(X, estimator_name)
    array = _plain_floats(source)
    if array is None or schema.parts or any(kind != "numeric" for kind in schema.kinds):
        return _stacked(read_table_as(X, schema, estimator_name=estimator_name))
    check_names_and_width(
        source.container, schema.names, names_given=schema.names_given, estimator_name=estimator_name
    )
    return array


def _plain_floats(source: Source) -> FloatMatrix | None:
    """Return the array that X is, if it is one of floats."""
    if not isinstance(labelled(source), np.ndarray) or labelled(source).dtype.kind != "f":
        return None
    array = source.container
    if array.dtype.itemsize <= 4:
        return np.ascontiguousarray(array, dtype=np.float32)
    return np.ascontiguousarray(array, dtype=np.float64)


def _stacked(table: Table) -> FloatMatrix:
    if any(isinstance(column.values, SparseColumn) for column in table.columns):
        refuse_beyond_memory(
            2 * 8 * table.n_rows * len(table.columns),
            what="The distances need the sparse X written out; its rows",
            way_out="Choose fewer columns, or reduce them first, for example with TruncatedSVD.",
        )
    result = np.empty((table.n_rows, len(table.columns)))
    for j, column in enumerate(table.columns):
        values = column.dense()
        result[:, j] = values
        if column.kind != "numeric":
            result[values == MISSING, j] = np.nan
    return result
