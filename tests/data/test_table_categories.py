"""Columns named categorical, and warnings about numbers and categories that say too little or too much."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data.table_reading import codes, labels
from scipy import sparse

from hornbeam.data.encode import encode
from hornbeam.data.table import MISSING, SparseColumn, read_table, read_table_as
from hornbeam.warnings import DataWarning, NumberTextWarning

# ------------------------------------------------------------------------------------------------------------
# categorical_features


MIXED = pd.DataFrame({"id": [30, 10, 20], "size": [1.5, np.nan, 0.5], "town": ["b", "a", "b"]})


@pytest.mark.parametrize(
    "wanted",
    [
        ["id", "size"],
        ("size", "id"),
        np.array(["id", "size"]),
        pd.Index(["id", "size"]),
        [0, 1],
        np.array([1, 0]),
        {0, 1},
        [True, True, False],
        np.array([True, True, False]),
    ],
)
def test_columns_named_categorical(wanted: Any) -> None:
    table = read_table(MIXED, categorical_features=wanted)
    assert table.schema.kinds == ("categorical", "categorical", "categorical")
    assert table.schema.categories == ((10, 20, 30), (0.5, 1.5), ("a", "b"))
    assert [codes(table, j) for j in range(3)] == [[2, 0, 1], [1, MISSING, 0], [1, 0, 1]]


@pytest.mark.parametrize("wanted", ["from_dtype", None, [], [False, False, False]])
def test_no_column_named_categorical(wanted: Any) -> None:
    assert read_table(MIXED, categorical_features=wanted).schema.kinds == (
        "numeric",
        "numeric",
        "categorical",
    )


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (["id", "sice"], "names 'sice', which X does not have. Did you mean 'size'"),
        ([0, 3, -1], "has 3, -1, but X has 3 columns; indices go from 0 to 2"),
        ([True, False], "mask of 2 entries, but X has 3 columns"),
        (["id", 1], "only names, only indices or only booleans; got 'id', 1"),
        ([0, True], "only names, only indices or only booleans"),
        ([0.5], "only names, only indices or only booleans; got 0.5"),
        ("id", "must be \"from_dtype\", None.*got 'id'"),
        (1, 'must be "from_dtype", None.*got 1'),
    ],
)
def test_wrong_categorical_features(wanted: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"categorical_features.*{message}"):
        read_table(MIXED, categorical_features=wanted)


def test_names_need_names() -> None:
    with pytest.raises(ValueError, match="names 'a', but X has no column names; give column indices"):
        read_table(np.ones((2, 2)), categorical_features=["a"])


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        ([-3, 5, -3], (-3, 5)),
        ([2**31 + 1, 2**40, -(2**40)], (-(2**40), 2**31 + 1, 2**40)),
        ([2**53, 2**53 + 1, 2**53 + 2], (2**53, 2**53 + 1, 2**53 + 2)),
        ([1.5, -0.5, np.nan], (-0.5, 1.5)),
        ([np.inf, 0.0, -np.inf], (-np.inf, 0.0, np.inf)),
        ([-0.0, 0.0], (0.0,)),
        ([True, False], (False, True)),
        (np.array([2**64 - 1, 0], dtype=np.uint64), (0, 2**64 - 1)),
        (np.array([0.5, 2.0], dtype=np.float16), (0.5, 2.0)),
    ],
)
def test_numbers_as_categories(values: Any, categories: tuple[object, ...]) -> None:
    X = np.asarray(values).reshape(-1, 1)
    table = read_table(X, categorical_features=[0])
    assert table.columns[0].categories == categories
    assert repr(table.columns[0].categories) == repr(categories)
    expected = [None if value != value else value for value in X[:, 0].tolist()]
    assert labels(table) == expected
    assert codes(read_table_as(X, table.schema)) == codes(table)


def test_integers_with_nulls_are_exact_categories() -> None:
    ids = [2**53 + 1, None, 2**53]
    for X in (
        pd.DataFrame({"a": pd.array(ids, dtype="Int64")}),
        pl.DataFrame({"a": ids}),
        pa.table({"a": ids}),
    ):
        table = read_table(X, categorical_features=["a"])
        assert labels(table) == ids


def test_huge_python_integers_as_categories() -> None:
    table = read_table([[10**400], [1], [None]], categorical_features=[0])
    assert labels(table) == [10**400, 1, None]


def test_naming_an_ordered_column_makes_it_categorical() -> None:
    X = pd.DataFrame({"o": pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True)})
    assert read_table(X, categorical_features=["o"]).schema.categories == (("hi", "lo"),)


def test_sparse_columns_as_categories() -> None:
    X = np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 2.0], [np.nan, 0.0]])
    table = read_table(sparse.csr_array(X), categorical_features=[0])
    assert labels(table) == [0.0, 3.0, 0.0, None]
    assert isinstance(table.columns[1].values, SparseColumn)
    again = read_table_as(sparse.csc_array(X), table.schema)
    assert codes(again) == codes(table)


# ------------------------------------------------------------------------------------------------------------
# Warnings


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3]),
        pd.Series([-(2**53), -(2**53) - 1, -(2**53) - 2, -(2**53) - 3]),
        pd.Series([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3], dtype="uint64"),
        pd.Series([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, None], dtype="Int64"),
        pd.Series([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, None], dtype="int64[pyarrow]"),
        pd.Series([2**53, 2**53 + 1, 2**53 + 2, 2**53 + 3, 0.5], dtype=object),
    ],
)
def test_merged_integers_are_counted(column: pd.Series) -> None:
    n_merged = len(set(column.dropna())) - len(set(map(float, column.dropna())))
    assert n_merged in (1, 2)
    X = pd.DataFrame({"fine": range(len(column)), "id": column})
    with pytest.warns(DataWarning, match=rf"column 'id' \({n_merged} values merged\)") as caught:
        read_table(X)
    assert len(caught) == 1
    assert "fine" not in str(caught[0].message)


def test_merged_integers_in_sparse_columns() -> None:
    with pytest.warns(DataWarning, match=r"column 'x0' \(1 values merged\)"):
        read_table(sparse.csr_array(np.array([[2**53], [2**53 + 1], [0]])))


@pytest.mark.parametrize(
    "values",
    [[2**53, 2**53 + 2], [2**53, 2**53], [16777216, 16777217], [-(2**63), 2**62], [2.0**60, 2.0**60]],
)
def test_integers_that_stay_apart_give_no_warning(values: list[float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(np.array(values).reshape(-1, 1))
    np.testing.assert_array_equal(table.columns[0].values, values)


def test_many_columns_give_one_warning() -> None:
    X = np.array([[2**53] * 8, [2**53 + 1] * 8])
    with pytest.warns(DataWarning, match="and 3 more") as caught:
        read_table(X)
    assert len(caught) == 1


def ids(n_distinct: int, n_rows: int) -> pd.DataFrame:
    return pd.DataFrame({"id": [f"row {i % n_distinct}" for i in range(n_rows)]})


def test_near_unique_categories_warn() -> None:
    with pytest.warns(
        DataWarning, match=r"column 'id' \(55% unique\).*says nothing about new ones"
    ) as caught:
        encode(read_table(ids(11, 20)), max_bins=None, n_threads=1)
    assert len(caught) == 1


def test_near_unique_numbers_warn_only_as_categories() -> None:
    X = np.arange(20.0).reshape(-1, 1)
    encode(read_table(X), max_bins=None, n_threads=1)
    with pytest.warns(DataWarning, match=r"column 'x0' \(100% unique\)"):
        encode(read_table(X, categorical_features=[0]), max_bins=None, n_threads=1)


@pytest.mark.parametrize(("n_distinct", "n_rows"), [(10, 20), (19, 19), (1, 1)])
def test_few_rows_or_few_categories_do_not_warn(n_distinct: int, n_rows: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = read_table(ids(n_distinct, n_rows))
        encode(table, max_bins=None, n_threads=1)
    assert len(table.columns[0].categories or ()) == n_distinct


# ------------------------------------------------------------------------------------------------------------
# Numbers that are texts


def texts(*values: str) -> pd.DataFrame:
    return pd.DataFrame({"power": [*values] * 3})


@pytest.mark.parametrize(
    ("X", "such_as"),
    [
        (texts("130", "165", "150", "?", "140", "198"), "such as '130', with '?' among them"),
        (texts("0.5", "1", "2", "3", "4e2"), "such as '0.5'"),
        (texts("N/A", "-1", "+2", " 3 ", ".4", "5."), "such as '.4', with 'N/A' among them"),
        (texts("1,5", "2,5", "3", "4,0", "5"), "such as '1,5'"),
    ],
)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas, "object"])
def test_texts_that_are_numbers_warn(X: pd.DataFrame, such_as: str, library: Any) -> None:
    table = X.astype(object) if library == "object" else library(X)
    with pytest.warns(NumberTextWarning) as caught:
        found = read_table(table)
    assert len(caught) == 1
    assert f"taken as categories: column 'power', {such_as}. Make them numbers" in str(caught[0].message)
    assert (".replace(',', '.')" in str(caught[0].message)) == ("'1,5'" in such_as)
    assert found.schema.kinds == ("categorical",)


@pytest.mark.parametrize(
    "X",
    [
        texts("10115", "20095", "01067", "80331", "50667"),  # postcodes
        texts("1", "2", "3", "4", "5+"),  # four numbers are few
        texts(
            "1.5", "2.5", "3.5", "4.5", "5.5", "tall", "small"
        ),  # five of seven are less than three quarters
        texts("A1", "B2", "C3", "D4", "E5"),
        pd.DataFrame({"power": pd.Categorical(["1.5", "2.5", "3.5", "4.5", "5.5"])}),
    ],
)
def test_names_with_digits_do_not_warn(X: pd.DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(X)


@pytest.mark.parametrize("n_words", [2, 3])
def test_three_quarters_of_the_texts_make_a_column_of_numbers(n_words: int) -> None:
    X = texts("1", "2", "3", "4", "5", "6", *["some", "more", "words"][:n_words])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(X)
    assert [one.category for one in caught] == ([NumberTextWarning] if n_words == 2 else [])


@pytest.mark.parametrize("n_others", [5, 6])
def test_many_texts_among_the_numbers_are_a_wording(n_others: int) -> None:
    """Ticket numbers of the Titanic are such: '113803', 'PC 17609'."""
    X = texts(*map(str, range(100, 140)), *[f"PC {number}" for number in range(n_others)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(X)
    assert [one.category for one in caught] == ([NumberTextWarning] if n_others == 5 else [])


def test_columns_that_are_named_categorical_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(texts("1.5", "2.5", "3.5", "4.5", "5.5"), categorical_features=["power"])
