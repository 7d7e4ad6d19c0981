"""How a table for predictions is read: by the categories, kinds and missing values of the fit."""

import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from data.table_reading import codes, labels
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hornbeam.data.table import MISSING, UNSEEN, Schema, read_table, read_table_as

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
