"""Every container X may come in gives the table that a plain numpy array gives, and is never written to."""

import datetime
import decimal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

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


def strided(array: np.ndarray) -> np.ndarray:
    padded = np.full((2 * array.shape[0], 3 * array.shape[1]), -1, dtype=array.dtype)
    padded[::2, ::3] = array
    return padded[::2, ::3]


def misaligned(array: np.ndarray) -> np.ndarray:
    buffer = np.zeros(array.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


ARRAY_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": strided,
    "reversed": lambda array: array[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "byte-swapped": lambda array: array.astype(array.dtype.newbyteorder("S")),
    "misaligned": misaligned,
    "float32": lambda array: array.astype(np.float32),
    "float16": lambda array: array.astype(np.float16),
    "long double": lambda array: array.astype(np.longdouble),
    "objects": lambda array: array.astype(object),
    "lists": lambda array: array.tolist(),
    "tuples": lambda array: tuple(map(tuple, array.tolist())),
    "arrays in a list": list,
    "masked, nothing masked": np.ma.masked_array,
    "masked": lambda array: np.ma.masked_invalid(np.where(np.isnan(array), np.inf, array)),
}


@pytest.mark.parametrize("form", ARRAY_FORMS)
@pytest.mark.parametrize("make", [plain, with_missing])
def test_array_forms(form: str, make: Callable[[], np.ndarray]) -> None:
    X = ARRAY_FORMS[form](make())
    table = assert_reads_as(X, make())
    assert_readable_by_core(table)
    assert table.feature_names is None
    assert table.schema.names == ("x0", "x1", "x2")


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
@pytest.mark.parametrize("order", ["native", "swapped"])
def test_integer_and_boolean_arrays_keep_their_dtype(dtype: str, order: str) -> None:
    X = plain().astype(dtype)
    table = read_table(X if order == "native" else X.astype(X.dtype.newbyteorder("S")))
    assert_readable_by_core(table)
    for j, column in enumerate(table.columns):
        assert column.values.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(column.values, X[:, j])


@pytest.mark.parametrize("form", ["C order", "Fortran order", "strided", "reversed", "read-only", "float32"])
def test_columns_of_an_array_are_views(form: str) -> None:
    X = ARRAY_FORMS[form](plain())
    for j, column in enumerate(read_table(X).columns):
        assert np.shares_memory(column.values, X)
        assert column.values.strides == X[:, j].strides


def test_memory_mapped_file_is_read_in_place(tmp_path: Path) -> None:
    path = tmp_path / "X.npy"
    np.save(path, with_missing())
    X = np.load(path, mmap_mode="r")
    table = assert_reads_as(X, with_missing())
    assert all(np.shares_memory(column.values, X) for column in table.columns)


def test_masked_integers_are_missing() -> None:
    X = np.ma.masked_array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    np.testing.assert_array_equal(dense(read_table(X)), [[1, np.nan], [3, 4]])


def pandas_sparse(array: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({name: pd.arrays.SparseArray(array[:, j]) for j, name in enumerate("abc")})


def pandas_of(array: np.ndarray, dtype: str) -> pd.DataFrame:
    return pd.DataFrame(array, columns=list("abc")).convert_dtypes().astype(dtype)


def arrow_of(array: np.ndarray, kind: pa.DataType, chunks: int = 1) -> pa.Table:
    def column(values: np.ndarray) -> pa.ChunkedArray:
        cells = [None if np.isnan(v) else kind.to_pandas_dtype()(v) for v in values]
        step = len(cells) // chunks
        return pa.chunked_array([pa.array(cells[i : i + step], kind) for i in range(0, len(cells), step)])

    return pa.table({name: column(array[:, j]) for j, name in enumerate("abc")})


FRAME_FORMS: dict[str, Callable[[np.ndarray], Any]] = {
    "pandas float64": lambda array: pd.DataFrame(array, columns=list("abc")),
    "pandas float32": lambda array: pd.DataFrame(array.astype(np.float32), columns=list("abc")),
    "pandas Int64": lambda array: pandas_of(array, "Int64"),
    "pandas UInt8": lambda array: pandas_of(array, "UInt8"),
    "pandas Float32": lambda array: pandas_of(array, "Float32"),
    "pandas int64[pyarrow]": lambda array: pandas_of(array, "int64[pyarrow]"),
    "pandas double[pyarrow]": lambda array: pandas_of(array, "double[pyarrow]"),
    "pandas object": lambda array: pd.DataFrame(array, columns=list("abc")).astype(object),
    "pandas object with NA": lambda array: pandas_of(array, "Int64").astype(object),
    "pandas sparse": pandas_sparse,
    "polars Float64": lambda array: pl.DataFrame(array, schema=list("abc")),
    "polars Float32": lambda array: pl.DataFrame(array.astype(np.float32), schema=list("abc")),
    "polars with nulls": lambda array: pl.DataFrame(array, schema=list("abc")).fill_nan(None),
    "polars Int16": lambda array: pl.DataFrame(array, schema=list("abc")).fill_nan(None).cast(pl.Int16),
    "polars UInt64": lambda array: pl.DataFrame(array, schema=list("abc")).fill_nan(None).cast(pl.UInt64),
    "polars in chunks": lambda array: pl.concat(
        [pl.DataFrame(part, schema=list("abc")) for part in (array[:1], array[1:])], rechunk=False
    ),
    "arrow int32": lambda array: arrow_of(array, pa.int32()),
    "arrow double": lambda array: arrow_of(array, pa.float64()),
    "arrow half float": lambda array: arrow_of(array, pa.float16()),
    "arrow in chunks": lambda array: arrow_of(array, pa.int64(), chunks=2),
    "narwhals": lambda array: nw.from_native(pl.DataFrame(array, schema=list("abc"))),
}
if hasattr(pl, "Int128"):  # polars 1.18
    FRAME_FORMS["polars Int128"] = lambda array: (
        pl.DataFrame(array, schema=list("abc")).fill_nan(None).cast(pl.Int128)
    )


@pytest.mark.parametrize("form", FRAME_FORMS)
@pytest.mark.parametrize("make", [plain, with_missing])
def test_frame_forms(form: str, make: Callable[[], np.ndarray]) -> None:
    table = assert_reads_as(FRAME_FORMS[form](make()), make())
    assert_readable_by_core(table)
    assert table.feature_names == ["a", "b", "c"]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": [True, False]}),
        pd.DataFrame({"a": pd.array([True, False], dtype="boolean")}),
        pd.DataFrame({"a": pd.Series([True, False], dtype="bool[pyarrow]")}),
        pd.DataFrame({"a": pd.Series([True, False], dtype=object)}),
        pl.DataFrame({"a": [True, False]}),
        pa.table({"a": [True, False]}),
        np.array([[True], [False]]),
        [[True], [False]],
    ],
)
def test_booleans_stay_booleans(X: Any) -> None:
    column = read_table(X).columns[0]
    assert column.kind == "numeric"
    assert column.values.dtype == np.bool_
    assert column.values.tolist() == [True, False]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean")}),
        pd.DataFrame({"a": pd.Series([True, None, False], dtype="bool[pyarrow]")}),
        pd.DataFrame({"a": pd.Series([True, None, False], dtype=object)}),
        pl.DataFrame({"a": [True, None, False]}),
        pa.table({"a": [True, None, False]}),
        [[True], [None], [False]],
    ],
)
def test_booleans_with_missing_values(X: Any) -> None:
    np.testing.assert_array_equal(
        assert_reads_as(X, np.array([[1], [np.nan], [0]])).columns[0].values, [1, np.nan, 0]
    )


def test_frames_without_nulls_are_not_copied() -> None:
    block = pd.DataFrame(plain(), columns=list("abc"))
    assert all(np.shares_memory(column.values, block.to_numpy()) for column in read_table(block).columns)
    numbers = np.arange(5.0)
    arrow = pa.table({"a": pa.array(numbers)})
    assert np.shares_memory(read_table(arrow).columns[0].values, numbers)
    series = pl.Series("a", numbers)
    assert np.shares_memory(read_table(series.to_frame()).columns[0].values, series.to_numpy())


TEXTS = ["pear", "apple", None, "pear", ""]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": TEXTS}),
        pd.DataFrame({"a": pd.Series(TEXTS, dtype=object)}),
        pd.DataFrame({"a": pd.Series(["pear", "apple", np.nan, "pear", ""], dtype=object)}),
        pd.DataFrame({"a": pd.Series(["pear", "apple", pd.NA, "pear", ""], dtype=object)}),
        pd.DataFrame({"a": pd.Series(TEXTS, dtype="string[python]")}),
        pd.DataFrame({"a": pd.Series(TEXTS, dtype="string[pyarrow]")}),
        pd.DataFrame({"a": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.large_string()))}),
        pd.DataFrame({"a": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string())))}),
        pd.DataFrame({"a": pd.Categorical(TEXTS)}),
        pd.DataFrame({"a": pd.Categorical(TEXTS, categories=["unused", "pear", "", "apple"])}),
        pl.DataFrame({"a": TEXTS}),
        pl.DataFrame({"a": pl.Series(TEXTS, dtype=pl.Categorical)}),
        pl.DataFrame({"a": pl.Series(TEXTS, dtype=pl.Enum(["unused", "pear", "", "apple"]))}),
        pa.table({"a": TEXTS}),
        pa.table({"a": pa.array(TEXTS, pa.large_string())}),
        *([pa.table({"a": pa.array(TEXTS, pa.string_view())})] if hasattr(pa, "string_view") else []),  # 16
        pa.table({"a": pa.chunked_array([TEXTS[:2], TEXTS[2:]])}),
        pa.table({"a": pa.array(TEXTS).dictionary_encode()}),
        pa.table({"a": pa.chunked_array([pa.array(t).dictionary_encode() for t in (TEXTS[:2], TEXTS[2:])])}),
        np.array(TEXTS, dtype=object).reshape(-1, 1),
        [[text] for text in TEXTS],
        *(
            pytest.param(
                np.array(TEXTS, dtype=object).reshape(-1, 1).astype(string_type(na_object=None)),
                id="numpy StringDType",
            )
            for string_type in [getattr(np.dtypes, "StringDType", None)]  # NumPy 2
            if string_type is not None
        ),
    ],
)
def test_text_in_every_container(X: Any) -> None:
    column = read_table(X).columns[0]
    assert column.kind == "categorical"
    assert column.categories == ("", "apple", "pear")
    assert column.values.dtype == np.int32
    assert column.values.tolist() == [2, 1, -1, 2, 0]


def test_fixed_width_text_arrays() -> None:
    table = read_table(np.array([["b", "x"], ["a", "x"]]))
    assert table.schema.categories == (("a", "b"), ("x",))
    assert [column.values.tolist() for column in table.columns] == [[1, 0], [0, 0]]


def test_numbers_beside_texts_in_a_list_stay_numbers() -> None:
    table = read_table([[1, "b"], [2.5, "a"], [None, "a"]])
    assert table.schema.kinds == ("numeric", "categorical")
    np.testing.assert_array_equal(table.columns[0].values, [1, 2.5, np.nan])


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.Series([None, None], dtype=object)}),
        pd.DataFrame({"a": pd.Series([None, None], dtype=pd.ArrowDtype(pa.null()))}),
        pl.DataFrame({"a": [None, None]}),
        pa.table({"a": pa.nulls(2)}),
        [[None], [None]],
    ],
)
def test_a_column_of_nothing_is_numeric(X: Any) -> None:
    assert_reads_as(X, np.full((2, 1), np.nan))


def test_a_text_column_of_nothing_has_no_categories() -> None:
    for X in (
        pl.DataFrame({"a": [None, None]}, schema={"a": pl.String}),
        pa.table({"a": pa.nulls(2, pa.string())}),
    ):
        column = read_table(X).columns[0]
        assert (column.kind, column.categories, column.values.tolist()) == ("categorical", (), [-1, -1])


def test_python_numbers_of_several_types() -> None:
    X = np.array([[1], [np.float32(2.5)], [Fraction(1, 2)], [np.uint8(7)], [None]], dtype=object)
    assert_reads_as(X, np.array([[1], [2.5], [0.5], [7], [np.nan]]))


def test_infinities_and_extremes_pass() -> None:
    X = np.array([[np.inf], [-np.inf], [1e300], [np.finfo(np.float64).max], [5e-324], [-0.0]])
    assert_reads_as(X, X)


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


# ------------------------------------------------------------------------------------------------------------
# Nothing is written


@pytest.mark.parametrize(
    "form", [name for name in ARRAY_FORMS if name not in ("lists", "tuples", "arrays in a list")]
)
def test_arrays_are_never_written(form: str) -> None:
    X = ARRAY_FORMS[form](with_missing())
    before = X.tobytes()
    flags = (X.flags.writeable, X.strides, X.dtype.str)
    read_table(X, categorical_features=[0])
    assert X.tobytes() == before
    assert (X.flags.writeable, X.strides, X.dtype.str) == flags


def test_frames_are_never_written() -> None:
    columns = {"n": [2.0, np.nan, 1.0], "i": [3, 1, 2], "t": ["b", None, "a"]}
    pandas = pd.DataFrame({**columns, "c": pd.Categorical(["y", None, "x"])})
    polars = pl.DataFrame(columns)
    arrow = pa.table(columns)
    copies = pandas.copy(deep=True), polars.clone(), pa.table(columns)
    for X in (pandas, polars, arrow):
        read_table(X, categorical_features=["n", "i"])
    pd.testing.assert_frame_equal(pandas, copies[0])
    assert polars.equals(copies[1], null_equal=True)
    assert arrow.drop_columns("n").equals(copies[2].drop_columns("n"))
    np.testing.assert_array_equal(arrow["n"].to_numpy(), columns["n"])


# ------------------------------------------------------------------------------------------------------------
# Refused


@pytest.mark.parametrize(
    ("X", "hint"),
    [
        (pd.DataFrame({"ok": [1, 2], "bad": pd.to_timedelta([1, 2], unit="s")}), "seconds"),
        (pd.DataFrame({"ok": [1, 2], "bad": [decimal.Decimal(1), decimal.Decimal(2)]}), "float"),
        (pd.DataFrame({"ok": [1, 2], "bad": [b"a", b"b"]}), "decode"),
        (pd.DataFrame({"ok": [1, 2], "bad": [[1], [2, 3]]}), "column of its own"),
        (pd.DataFrame({"ok": [1, 2], "bad": [datetime.time(1)] * 2}), "the hour"),
        (pd.DataFrame({"ok": [1, 2], "bad": pd.period_range("2020", periods=2)}), "numbers or text"),
        (pl.DataFrame({"ok": [1, 2], "bad": [datetime.timedelta(1)] * 2}), "seconds"),
        (pl.DataFrame({"ok": [1, 2], "bad": [datetime.time(1)] * 2}), "the hour"),
        (pl.DataFrame({"ok": [1, 2], "bad": [decimal.Decimal(1)] * 2}), "float"),
        (pl.DataFrame({"ok": [1, 2], "bad": [b"a", b"b"]}), "decode"),
        (pl.DataFrame({"ok": [1, 2], "bad": [[1], [2, 3]]}), "column of its own"),
        (pl.DataFrame({"ok": [1, 2], "bad": [{"a": 1}, {"a": 2}]}), "column of its own"),
        (pa.table({"ok": [1, 2], "bad": pa.array([1, 2], pa.duration("s"))}), "seconds"),
        (pa.table({"ok": [1, 2], "bad": pa.array([1, 2], pa.decimal128(5, 2))}), "float"),
    ],
)
def test_unreadable_columns_are_named_with_a_way_out(X: Any, hint: str) -> None:
    with pytest.raises(TypeError, match="Column 'bad'") as caught:
        read_table(X)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "hint"),
    [("timedelta64[s]", "seconds"), ("S3", "decode"), ("V8", "field")],
)
def test_unreadable_numpy_dtypes(dtype: str, hint: str) -> None:
    with pytest.raises(TypeError, match=f"Column 'x0' has dtype.*{hint}"):
        read_table(np.zeros((2, 2), dtype=dtype))


@pytest.mark.parametrize("value", [datetime.time(1), np.timedelta64(1, "s"), pd.Timedelta(0), {"a": 1}])
def test_unreadable_objects_are_named_with_their_row(value: object) -> None:
    X = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=object)
    X[1, 1] = value
    # The words scikit-learn's estimator checks look for.
    with pytest.raises(TypeError, match=r"Column 'x1', row 1: the argument must be .* string.* number"):
        read_table(X)


@pytest.mark.parametrize(
    ("cells", "first", "second"),
    [
        ([None, "a", 1, "b"], "row 1 holds the text 'a'", "row 2 the number 1"),
        ([1.5, np.nan, "a"], "row 0 holds the number 1.5", "row 2 the text 'a'"),
        ([True, 2], "row 0 holds the bool True", "row 1 the number 2"),
        ([pd.NA, "True", True], "row 1 holds the text 'True'", "row 2 the bool True"),
    ],
)
def test_mixed_objects_are_named_with_row_and_value(cells: list[object], first: str, second: str) -> None:
    X = pd.DataFrame({"m": pd.Series(cells, dtype=object)})
    with pytest.raises(TypeError, match="Column 'm' mixes types") as caught:
        read_table(X)
    assert first in str(caught.value)
    assert second in str(caught.value)


@pytest.mark.parametrize(
    ("X", "where"),
    [
        (np.array([[1, 2], [3, 4j]]), "column 'x1', row 1"),
        (np.array([[1, 2], [3, 4]], dtype=complex), "column 'x0'"),
        ([[1, 2j]], "column 'x1', row 0"),
        (np.array([[1, 2], [3j, 4]], dtype=object), "column 'x0', row 1"),
        (pd.DataFrame({"r": [1.0, 2.0], "z": [1j, 2]}), "column 'z'"),
    ],
)
def test_complex_is_refused(X: Any, where: str) -> None:
    with pytest.raises(ValueError, match=f"Complex data not supported: {where}"):
        read_table(X)


def test_integers_beyond_float64_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Column 'x0', row 1: 1000.* too large"):
        read_table([[1], [10**400]])
