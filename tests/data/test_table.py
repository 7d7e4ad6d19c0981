"""What a table is: shapes and names it accepts, kinds of columns, categories; how a prediction is read."""

import pickle
import re
import unicodedata
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hornbeam.data.encode import encode
from hornbeam.data.table import MISSING, UNSEEN, Schema, SparseColumn, Table, read_table, read_table_as
from hornbeam.warnings import DataWarning


def codes(table: Table, column: int = 0) -> list[int]:
    values = table.columns[column].values
    assert isinstance(values, np.ndarray)
    assert values.dtype == np.int32
    return values.tolist()


def labels(table: Table, column: int = 0) -> list[object]:
    categories = table.columns[column].categories
    assert categories is not None
    return [None if code == MISSING else categories[code] for code in codes(table, column)]


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
    ("X", "told"),
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
def test_wrong_shapes_say_what_came_and_to_reshape(X: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told) as caught:
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
        DataWarning, match=r"column 'id' \(55% unique\).*tells nothing about new ones"
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
# Prediction


@pytest.fixture
def town_schema() -> Schema:
    return read_table(pd.DataFrame({"town": ["Ulm", "Bonn", None, "Köln"]})).schema


@pytest.mark.parametrize(
    "column",
    [
        ["Köln", None, "Bonn", "Rom", "Rom"],
        pd.Series(["Köln", None, "Bonn", "Rom", "Rom"], dtype=object),
        pd.Categorical(["Köln", None, "Bonn", "Rom", "Rom"], categories=["unused", "Rom", "Köln", "Bonn"]),
        pd.Categorical(
            ["Köln", None, "Bonn", "Rom", "Rom"], categories=["Rom", "Köln", "Bonn"], ordered=True
        ),
    ],
)
def test_categories_are_mapped_by_value_and_unseen_ones_counted(town_schema: Schema, column: Any) -> None:
    for unseen in ("missing", "majority"):
        table = read_table_as(pd.DataFrame({"town": column}), town_schema, unseen=unseen)
        assert codes(table) == [1, MISSING, 0, UNSEEN, UNSEEN]
        assert table.n_unseen == {"town": 2}
        assert table.schema == town_schema
    with pytest.raises(ValueError, match="Column 'town', row 3: the fit has not seen the category 'Rom'"):
        read_table_as(pd.DataFrame({"town": column}), town_schema, unseen="error")


def test_nothing_unseen(town_schema: Schema) -> None:
    X = pl.DataFrame({"town": ["Ulm", None, "Ulm"]})
    table = read_table_as(X, town_schema, unseen="error")
    assert table.n_unseen == {}
    assert codes(table) == [2, MISSING, 2]


def test_other_spellings_are_unseen() -> None:
    schema = read_table([[unicodedata.normalize("NFC", "é")], ["a"]]).schema
    table = read_table_as([[unicodedata.normalize("NFD", "é")], ["a "], ["A"], ["a"]], schema)
    assert codes(table) == [UNSEEN, UNSEEN, UNSEEN, 0]


@pytest.mark.parametrize(
    "X",
    [
        np.array([[2], [1], [7]]),
        np.array([[2], [1], [7]], dtype=np.uint8),
        np.array([[2.0], [1.0], [7.0]]),
        [[2], [1.0], [np.int64(7)]],
        np.array([[2], [1], [7]], dtype=object),
        sparse.csr_array(np.array([[2], [1], [7]])),
    ],
)
def test_numbers_are_one_category_whatever_their_type(X: Any) -> None:
    for fit in (np.array([[1], [2], [3]]), np.array([[1.0], [2.0], [3.0]])):
        schema = read_table(fit, categorical_features=[0]).schema
        assert codes(read_table_as(X, schema)) == [1, 0, UNSEEN]


def test_booleans_and_their_numbers_are_one_category() -> None:
    schema = read_table(np.array([[True], [False]]), categorical_features=[0]).schema
    assert codes(read_table_as([[1], [0], [2]], schema)) == [1, 0, UNSEEN]


def test_ordinal_columns_keep_their_declared_order() -> None:
    dtype = pd.CategoricalDtype(["lo", "mid", "hi"], ordered=True)
    schema = read_table(pd.DataFrame({"o": pd.Series(["hi", "lo"], dtype=dtype)})).schema
    table = read_table_as(pd.DataFrame({"o": ["mid", "hi", "huge", None]}), schema)
    assert table.columns[0].kind == "ordinal"
    assert codes(table) == [1, 2, UNSEEN, MISSING]


def test_text_for_a_numeric_column_is_refused() -> None:
    schema = read_table(pd.DataFrame({"n": [1.5, 2.5]})).schema
    for column in (["1.5", "2.5"], pd.Categorical(["1.5", "2.5"])):
        with pytest.raises(
            ValueError, match=r"Column 'n' was numeric in the fit and holds text now, such as '1.5'"
        ):
            read_table_as(pd.DataFrame({"n": column}), schema)


def test_number_categories_for_a_numeric_column_are_numbers() -> None:
    schema = read_table(pd.DataFrame({"n": [1.5, 2.5]})).schema
    X = pd.DataFrame({"n": pd.Categorical([2, None, 1], categories=[3, 2, 1])})
    np.testing.assert_array_equal(read_table_as(X, schema).columns[0].values, [2, np.nan, 1])


def test_numbers_for_a_text_column_are_refused(town_schema: Schema) -> None:
    with pytest.raises(
        ValueError, match="Column 'town' had categories such as 'Bonn' in the fit and holds 3 now"
    ):
        read_table_as(pd.DataFrame({"town": [3, 4]}), town_schema)


def test_texts_for_a_column_of_number_categories_are_refused() -> None:
    schema = read_table(np.array([[1], [2]]), categorical_features=[0]).schema
    with pytest.raises(ValueError, match="Column 'x0' had categories such as 1 in the fit and holds '1' now"):
        read_table_as([["1"], ["2"]], schema)


def test_missing_values_fit_any_column(town_schema: Schema) -> None:
    assert codes(read_table_as(pd.DataFrame({"town": [np.nan, np.nan]}), town_schema)) == [MISSING, MISSING]
    assert codes(read_table_as(pl.DataFrame({"town": [None, None]}), town_schema)) == [MISSING, MISSING]
    numeric = read_table(pd.DataFrame({"town": [1, 2]})).schema
    X = pd.DataFrame({"town": pd.Series([None, None], dtype="str")})
    np.testing.assert_array_equal(read_table_as(X, numeric).columns[0].values, [np.nan, np.nan])


def test_a_column_of_nothing_at_fit_has_seen_nothing() -> None:
    schema = read_table(pl.DataFrame({"a": [None, None]}, schema={"a": pl.String})).schema
    assert codes(read_table_as(pl.DataFrame({"a": ["x", None]}), schema)) == [UNSEEN, MISSING]


def test_frames_of_other_libraries_predict_alike() -> None:
    data = {"n": [1.5, None, 2.0], "t": ["a", "zzz", None]}
    schema = read_table(pd.DataFrame({"n": [1.0, 2.0], "t": ["b", "a"]})).schema
    for X in (pd.DataFrame(data), pl.DataFrame(data), pa.table(data)):
        table = read_table_as(X, schema)
        np.testing.assert_array_equal(table.columns[0].values, [1.5, np.nan, 2.0])
        assert codes(table, 1) == [0, UNSEEN, MISSING]


# ------------------------------------------------------------------------------------------------------------
# Missing values


@pytest.mark.parametrize(
    ("X", "found"),
    [
        (np.array([[1.0, 2.0], [3.0, 4.0]]), None),
        (np.array([[1.0, 2.0], [3.0, np.nan]]), ("x1", 1)),
        (np.array([[np.nan, np.nan], [3.0, np.nan]]), ("x0", 0)),
        (np.array([[1, 2], [3, 4]]), None),
        ([["a", 1], ["b", 2], [None, 3]], ("x0", 2)),
        (pd.DataFrame({"a": [1, 2], "b": pd.array([1, None], dtype="Int64")}), ("b", 1)),
        (sparse.csr_array(np.array([[0.0, 0.0], [0.0, 1.0], [0.0, np.nan]])), ("x1", 2)),
        (sparse.csr_array(np.array([[0, 1]])), None),
    ],
)
def test_the_first_missing_value_is_found(X: Any, found: tuple[str, int] | None) -> None:
    assert read_table(X).first_missing() == found


def test_an_unseen_category_is_not_missing(town_schema: Schema) -> None:
    table = read_table_as(pd.DataFrame({"town": ["Rom", "Ulm"]}), town_schema)
    assert table.first_missing() is None


# ------------------------------------------------------------------------------------------------------------
# Laws

TEXT_CELLS = st.lists(
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=3), min_size=1, max_size=19
)
NUMBER_CELLS = st.lists(
    st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, width=32),
    min_size=1,
    max_size=19,
)


@given(cells=TEXT_CELLS, seed=st.randoms(use_true_random=False))
def test_texts_survive_the_codes_in_every_frame(cells: list[str | None], seed: Any) -> None:
    shuffled = seed.sample(cells, len(cells))
    expected = tuple(sorted({cell for cell in cells if cell is not None}))
    frames = (
        pd.DataFrame({"a": pd.Series(cells, dtype="string")}),
        pd.DataFrame({"a": pd.Categorical(cells, categories=[*sorted(expected, reverse=True), "unused!"])}),
        pl.DataFrame({"a": cells}, schema={"a": pl.String}),
        pa.table({"a": pa.array(cells, pa.string()).dictionary_encode()}),
    )
    for X in frames:
        table = read_table(X)
        assert table.columns[0].categories == expected
        assert labels(table) == cells
    # The order of the rows decides nothing, and a row's code at predict is its code at fit.
    reordered = read_table(pl.DataFrame({"a": shuffled}, schema={"a": pl.String}))
    assert reordered.schema == table.schema
    assert codes(read_table_as(frames[0], reordered.schema)) == codes(table)


@given(fit=TEXT_CELLS, predict=TEXT_CELLS)
def test_unseen_is_what_the_fit_has_not(fit: list[str | None], predict: list[str | None]) -> None:
    schema = read_table(pl.DataFrame({"a": fit}, schema={"a": pl.String})).schema
    table = read_table_as(pl.DataFrame({"a": predict}, schema={"a": pl.String}), schema)
    seen = set(fit)
    expected = [
        MISSING if cell is None else (schema.categories[0] or ()).index(cell) if cell in seen else UNSEEN
        for cell in predict
    ]
    assert codes(table) == expected
    assert table.n_unseen.get("a", 0) == expected.count(UNSEEN)


@given(cells=NUMBER_CELLS)
def test_numbers_survive_the_codes(cells: list[float | None]) -> None:
    X = np.array(cells, dtype=object).reshape(-1, 1)
    table = read_table(X, categorical_features=[0])
    assert labels(table) == cells
    assert table.columns[0].categories == tuple(sorted({cell for cell in cells if cell is not None}))
    assert codes(read_table_as(X, table.schema)) == codes(table)
