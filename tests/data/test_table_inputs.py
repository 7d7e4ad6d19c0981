"""Every container X may come in gives the table that a plain numpy array gives, and is never written to."""

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
from data.array_tables import INTEGERS, assert_readable_by_core, assert_reads_as, dense, plain, with_missing

from hornbeam.data.sources import open_source
from hornbeam.data.table import read_table


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


def test_an_array_at_an_odd_address_is_copied_once_not_column_by_column() -> None:
    source = open_source(misaligned(plain()), "it")
    assert source.container.flags.aligned
    columns = [source.read(j, "x") for j in range(3)]
    assert all(np.shares_memory(column.values, source.container) for column in columns)


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
