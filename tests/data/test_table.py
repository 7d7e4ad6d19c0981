"""What a table is: shapes and names it accepts, kinds of columns."""

import pickle
import re
import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data.table_reading import codes, labels
from scipy import sparse

from hornbeam.data.table import MISSING, Schema, read_table, read_table_as

# ------------------------------------------------------------------------------------------------------------
# Shapes


@pytest.mark.parametrize(
    "X",
    [
        np.empty((0, 3)),
        pd.DataFrame({"a": [], "b": [], "c": []}),
        pl.DataFrame({"a": [], "b": [], "c": []}),
        pa.table({"a": [], "b": [], "c": []}),
        sparse.csr_array((0, 3)),
    ],
)
def test_no_rows(X: Any) -> None:
    message = re.escape("0 sample(s) (shape=(0, 3)) while a minimum of 1 is required by Tree.")
    with pytest.raises(ValueError, match=message):
        read_table(X, estimator_name="Tree")
    schema = read_table(np.ones((1, 3))).schema
    with pytest.raises(ValueError, match=message):
        read_table_as(X, schema, estimator_name="Tree")


@pytest.mark.parametrize("X", [np.empty((4, 0)), pd.DataFrame(index=range(4)), sparse.csr_array((4, 0))])
def test_no_columns(X: Any) -> None:
    message = re.escape("0 feature(s) (shape=(4, 0)) while a minimum of 1 is required by Tree.")
    with pytest.raises(ValueError, match=message):
        read_table(X, estimator_name="Tree")


@pytest.mark.parametrize(
    ("X", "output"),
    [
        (np.arange(3.0), "got 1D array"),
        ([1, 2, 3], "got 1D array"),
        (["a", "b"], "got 1D array"),
        (5.0, "got scalar array"),
        (pd.Series([1, 2, 3]), r"Series of shape \(3,\)"),
        (pl.Series([1, 2, 3]), r"Series of shape \(3,\)"),
        (pa.chunked_array([[1, 2, 3]]), r"ChunkedArray of shape \(3,\)"),
        (np.ones((2, 3, 4)), r"dim 3 \(shape=\(2, 3, 4\)\)"),
        ([[[1], [2]], [[3], [4]]], r"dim 3 \(shape=\(2, 2, 1\)\)"),
        ([[1, 2], [3, 4], [5]], "row 0 has 2 values, row 2 has 1"),
        ([[1, 2], [3, [4, 5]]], "rows and columns"),
    ],
)
def test_wrong_shapes_say_what_came_and_to_reshape(X: Any, output: str) -> None:
    with pytest.raises(ValueError, match=output) as caught:
        read_table(X)
    assert "Reshape your data" in str(caught.value)


def test_lazy_frames_are_to_be_collected() -> None:
    with pytest.raises(TypeError, match=r"lazy LazyFrame.*collect\(\)"):
        read_table(pl.LazyFrame({"a": [1]}))


def test_one_row() -> None:
    table = read_table([[1.5, "a"]])
    assert (table.n_rows, table.schema.kinds) == (1, ("numeric", "categorical"))


# ------------------------------------------------------------------------------------------------------------
# Names


@pytest.mark.parametrize(
    "name", ["", " ", "a" * 10**6, "nul\0", "line\nbreak", "🌳", "\u202eright to left", "<b>"]
)
def test_any_string_is_a_name(name: str) -> None:
    X = pd.DataFrame({name: [1.0, 2.0], "other": [3.0, 4.0]})
    table = read_table(X)
    assert table.feature_names == [name, "other"]
    assert read_table_as(X, pickle.loads(pickle.dumps(table.schema))).schema == table.schema


def test_long_names_are_cut_in_messages() -> None:
    with pytest.raises(TypeError, match="Column 'aaa") as caught:
        read_table(pd.DataFrame({"a" * 10**6: pd.to_timedelta([1])}))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.table([[1], [2], [3]], names=["a", "b", "a"]),
    ],
)
def test_duplicate_names_are_named(X: Any) -> None:
    schema = read_table(pd.DataFrame({"a": [1], "b": [2], "c": [3]})).schema
    for read in (read_table, lambda X: read_table_as(X, schema)):
        with pytest.raises(ValueError, match="more than one column named 'a'"):
            read(X)


def test_integer_names_are_no_names() -> None:
    table = read_table(pd.DataFrame([[1, 2]], columns=[10, 20]))
    assert table.feature_names is None
    assert table.schema.names == ("x0", "x1")


def test_mixed_names_are_refused_as_in_scikit_learn() -> None:
    with pytest.raises(
        TypeError, match="Feature names are only supported if all input features have string names"
    ):
        read_table(pd.DataFrame([[1, 2]], columns=["a", 0]))


@pytest.fixture
def named_schema() -> Schema:
    return read_table(pd.DataFrame({"a": [1, 2], "b": [3, 4]})).schema


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_other_names_and_other_order_are_refused(named_schema: Schema, frame: Any) -> None:
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        read_table_as(frame({"b": [1], "a": [2]}), named_schema)
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- c\n"):
        read_table_as(frame({"a": [1], "c": [2]}), named_schema)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- b\n"):
        read_table_as(frame({"a": [1]}), named_schema)


@pytest.mark.parametrize("X", [np.ones((2, 1)), np.ones((2, 3)), [[1]], sparse.csr_array((2, 3))])
def test_wrong_number_of_columns(X: Any) -> None:
    schema = read_table(np.ones((2, 2))).schema
    with pytest.raises(ValueError, match=r"X has [13] features, but Tree is expecting 2 features as input"):
        read_table_as(X, schema, estimator_name="Tree")


def test_names_on_one_side_only_give_the_known_warning(named_schema: Schema) -> None:
    with pytest.warns(
        UserWarning, match="X does not have valid feature names, but Tree was fitted with"
    ) as caught:
        table = read_table_as([[1, 2]], named_schema, estimator_name="Tree")
    assert len(caught) == 1
    assert table.schema == named_schema
    unnamed = read_table(np.ones((2, 2))).schema
    with pytest.warns(UserWarning, match="X has feature names, but Tree was fitted without") as caught:
        table = read_table_as(pd.DataFrame({"a": [1], "b": [2]}), unnamed, estimator_name="Tree")
    assert len(caught) == 1
    assert table.feature_names is None


# ------------------------------------------------------------------------------------------------------------
# Kinds


def test_kinds_follow_the_dtypes() -> None:
    X = pd.DataFrame(
        {
            "float": [1.5, 2.5],
            "int": [1, 2],
            "bool": [True, False],
            "text": ["a", "b"],
            "category": pd.Categorical([3, 1]),
            "ordered": pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True),
        }
    )
    table = read_table(X)
    assert table.schema == Schema(
        names=("float", "int", "bool", "text", "category", "ordered"),
        names_given=True,
        kinds=("numeric", "numeric", "numeric", "categorical", "categorical", "ordinal"),
        categories=(None, None, None, ("a", "b"), (1, 3), ("lo", "mid", "hi")),
    )
    assert codes(table, 4) == [1, 0]
    assert codes(table, 5) == [0, 2]
    assert hash(table.schema) == hash(read_table(X, categorical_features=None).schema)


def test_polars_enum_is_categorical() -> None:
    X = pl.DataFrame({"e": pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"]))})
    assert read_table(X).schema.kinds == ("categorical",)
    assert read_table(X).schema.categories == (("hi", "lo"),)


def test_cut_intervals_are_ordinal() -> None:
    X = pd.DataFrame({"age": pd.cut([5, 25, 70, np.nan], [0, 10, 30, 90])})
    table = read_table(X)
    assert table.columns[0].categories == ("(0, 10]", "(10, 30]", "(30, 90]")
    assert codes(table) == [0, 1, 2, MISSING]
    assert codes(read_table_as(X, table.schema)) == [0, 1, 2, MISSING]


def test_more_than_127_categories() -> None:
    values = [f"{i:03}" for i in range(300)] * 4
    for X in (
        pd.DataFrame({"a": pd.Categorical(values)}),
        pl.DataFrame({"a": values}),
        pa.table({"a": values}),
    ):
        assert codes(read_table(X)) == list(range(300)) * 4


@pytest.mark.parametrize("n", [256, 257, 65536, 65537])
def test_categories_at_the_edges_of_code_widths(n: int) -> None:
    table = read_table(np.tile(np.arange(n), 2).reshape(-1, 1), categorical_features=[0])
    assert codes(table) == list(range(n)) * 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", 1], "mixes categories of different types: number 1 and text 'a' .first in row 0."),
        (["a", True], "mixes categories of different types"),
    ],
)
def test_categories_of_mixed_types(values: list[object], message: str) -> None:
    dtype = pd.CategoricalDtype(sorted(values, key=str))
    with pytest.raises(ValueError, match=f"Column 'c' {message}"):
        read_table(pd.DataFrame({"c": pd.Series(values, dtype=dtype)}))


def test_unused_categories_are_not_looked_at() -> None:
    X = pd.DataFrame({"c": pd.Categorical(["b", "a"], categories=[1, "b", "a", pd.Timestamp(0)])})
    assert read_table(X).columns[0].categories == ("a", "b")


def test_categories_of_unreadable_types() -> None:
    X = pd.DataFrame({"c": pd.Categorical(pd.to_timedelta([1, 2]))})
    with pytest.raises(TypeError, match=r"Column 'c' has the category Timedelta.*rename_categories"):
        read_table(X)


def test_spellings_are_distinct() -> None:
    composed, decomposed = unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")
    texts = ["a", "a ", composed, decomposed, "A", " a"]
    for X in (pd.DataFrame({"t": texts}), pl.DataFrame({"t": texts}), pa.table({"t": texts})):
        table = read_table(X)
        assert table.columns[0].categories == tuple(sorted(texts))
        assert labels(table) == texts


def test_code_point_order_not_utf16_order() -> None:
    # As UTF-16 units, the tree (a surrogate pair) would sort before the private-use character.
    texts = ["\U0001f333", "\ue000", "z"]
    for X in (pd.DataFrame({"t": texts}), pl.DataFrame({"t": texts}), pa.table({"t": texts})):
        assert read_table(X).columns[0].categories == ("z", "\ue000", "\U0001f333")
