"""Sparse containers give the table that a plain numpy array gives."""

from typing import Any

import numpy as np
import pytest
from data.array_tables import INTEGERS, assert_readable_by_core, assert_reads_as, plain, with_missing
from scipy import sparse

from hornbeam.data.table import SparseColumn, read_table

# ------------------------------------------------------------------------------------------------------------
# Sparse

SPARSE_FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]


@pytest.mark.parametrize("format_name", SPARSE_FORMATS)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_formats(format_name: str, container: Any) -> None:
    X = container(plain()).asformat(format_name)
    table = assert_reads_as(X, plain())
    for j, column in enumerate(table.columns):
        assert isinstance(column.values, SparseColumn)
        assert column.values.indices.tolist() == np.flatnonzero(plain()[:, j]).tolist()


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", "float32", "float64", "longdouble"])
def test_sparse_dtypes(dtype: str) -> None:
    X = plain().astype(dtype)
    table = assert_reads_as(sparse.csr_array(X), X.astype(np.float64))
    assert_readable_by_core(table)


def test_sparse_missing_values() -> None:
    assert_reads_as(sparse.csr_array(with_missing()), with_missing())


def unsorted_with_duplicates(index_dtype: Any) -> sparse.csc_array:
    """Build columns [0, 3, 5] (3 as 1 + 2, rows unsorted, a zero stored) and [0, 0, 0] (as 4 - 4)."""
    data = np.array([5.0, 1.0, 0.0, 2.0, 4.0, -4.0])
    indices = np.array([2, 1, 0, 1, 2, 2], dtype=index_dtype)
    return sparse.csc_array((data, indices, np.array([0, 4, 6], dtype=index_dtype)), shape=(3, 2))


@pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
@pytest.mark.parametrize("format_name", ["csc", "csr", "coo"])
@pytest.mark.parametrize("writeable", [True, False])
def test_sparse_input_is_brought_into_canonical_form_elsewhere(
    index_dtype: Any, format_name: str, writeable: bool
) -> None:
    X = unsorted_with_duplicates(index_dtype).asformat(format_name)
    parts = {
        name: getattr(X, name) for name in ("data", "indices", "indptr", "row", "col") if hasattr(X, name)
    }
    before = {name: array.tobytes() for name, array in parts.items()}
    for array in parts.values():
        array.flags.writeable = writeable
    table = assert_reads_as(X, np.array([[0, 0], [3, 0], [5, 0]], dtype=np.float64))
    first, second = (column.values for column in table.columns)
    assert isinstance(first, SparseColumn)
    assert isinstance(second, SparseColumn)
    assert first.indices.tolist() == [1, 2]
    assert second.data.size == 0
    for name, array in parts.items():
        assert getattr(X, name) is array or np.shares_memory(getattr(X, name), array)
        assert array.tobytes() == before[name]


def test_canonical_sparse_columns_are_not_copied() -> None:
    X = sparse.csc_array(plain())
    X.data.flags.writeable = X.indices.flags.writeable = False
    for column in read_table(X).columns:
        assert isinstance(column.values, SparseColumn)
        assert np.shares_memory(column.values.data, X.data)
        assert np.shares_memory(column.values.indices, X.indices)


def test_stored_zeros_are_dropped_elsewhere() -> None:
    X = sparse.csc_array(plain())
    X.data[0] = 0.0
    before = X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()
    assert_reads_as(X, X.toarray())
    assert (X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes()) == before


def test_byte_swapped_sparse_values() -> None:
    X = sparse.csr_array(plain())
    X.data = X.data.astype(">f8")
    assert_readable_by_core(assert_reads_as(X, plain()))


@pytest.mark.parametrize("bad", [4, -1, 2**31 - 1])
@pytest.mark.parametrize("format_name", ["csr", "csc", "bsr", "coo"])
def test_corrupt_sparse_index(format_name: str, bad: int) -> None:
    X = sparse.csr_array(plain()).asformat(format_name).copy()
    target = X.row if format_name == "coo" else X.indices
    target[1] = bad
    with pytest.raises(ValueError, match="sparse X is corrupt"):
        read_table(X)


@pytest.mark.parametrize("bad", [-1, 1, 10**6])
@pytest.mark.parametrize("format_name", ["csr", "csc", "bsr"])
def test_corrupt_sparse_pointers(format_name: str, bad: int) -> None:
    X = sparse.csr_array(plain()).asformat(format_name).copy()
    X.indptr[2] = bad
    X.indptr[1] = 2
    with pytest.raises(ValueError, match="sparse X is corrupt"):
        read_table(X)


def test_sparse_refusals() -> None:
    with pytest.raises(ValueError, match="Complex data not supported"):
        read_table(sparse.csr_array(plain().astype(complex)))
    one_dimension = sparse.coo_array(np.arange(3.0))
    if one_dimension.ndim == 1:  # scipy 1.13
        with pytest.raises(ValueError, match="Reshape your data"):
            read_table(one_dimension)
    X = sparse.csr_array(plain())
    X.data = X.data.astype(object)
    with pytest.raises(TypeError, match="dtype object"):
        read_table(X)
