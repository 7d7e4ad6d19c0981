"""Columns that no table can hold are refused: the error names the column, the row and a way out."""

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hornbeam.data.table import read_table

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
