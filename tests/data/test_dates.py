"""Dates on their way in: which texts are dates, what days and parts they become; Python's datetime tells."""

import datetime
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hornbeam.data.content import Times
from hornbeam.data.date_texts import Order, days_of_texts, read_texts
from hornbeam.data.dates import SeenDays, bound_words, chosen_parts, part_values, text_of_days
from hornbeam.data.encode import encode
from hornbeam.data.shared import SharedTable
from hornbeam.data.table import read_table, read_table_as
from hornbeam.warnings import DataWarning

EPOCH = datetime.datetime(1970, 1, 1)
DAY = datetime.timedelta(days=1)


def days(*moment: int) -> float:
    return (datetime.datetime(*moment) - EPOCH) / DAY  # type: ignore[arg-type]


def days_of_text(text: str, order: Order) -> float | None:
    """Read one text; of a hundred like it, each must be read alike."""
    found = days_of_texts([text], order)
    many = days_of_texts([text] * 100, order)
    np.testing.assert_array_equal(many, np.repeat(found, 100))
    return None if np.isnan(found[0]) else float(found[0])


def quietly(X: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return read_table(X, **options)


def values(table: Any) -> dict[str, list[float]]:
    return {column.name: np.asarray(column.values).tolist() for column in table.columns}


# ------------------------------------------------------------------------------------------------------------
# Texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-01", days(2024, 3, 1)),
        (" 2024/3/1 ", days(2024, 3, 1)),
        ("2024.03.01", days(2024, 3, 1)),
        ("2024-03", days(2024, 3, 1)),
        ("1.3.2024", days(2024, 3, 1)),
        ("01.03.24", days(2024, 3, 1)),
        ("01.03.69", days(1969, 3, 1)),
        ("01.03.68", days(2068, 3, 1)),
        ("2024-03-01T10:30", days(2024, 3, 1, 10, 30)),
        ("2024-03-01 10:30:15.25", days(2024, 3, 1, 10, 30, 15, 250_000)),
        ("2024-03-01T10:30:00Z", days(2024, 3, 1, 10, 30)),
        ("2024-03-01T10:30:00+01:00", days(2024, 3, 1, 10, 30)),  # the clock as it is written
        ("2024-03-01T10:30:00.000-0500", days(2024, 3, 1, 10, 30)),
        ("2024-03-01 12:05 am", days(2024, 3, 1, 0, 5)),
        ("2024-03-01 12:05 PM", days(2024, 3, 1, 12, 5)),
        ("1 Mar 2024", days(2024, 3, 1)),
        ("01-MAR-2024", days(2024, 3, 1)),
        ("March 1, 2024 10:30", days(2024, 3, 1, 10, 30)),
        ("Mar. 1 2024", days(2024, 3, 1)),
        ("31 december 1999", days(1999, 12, 31)),
        ("0001-01-01", days(1, 1, 1)),
        ("9999-12-31", days(9999, 12, 31)),
        ("1960-02-29", days(1960, 2, 29)),
    ],
)
def test_forms_that_need_no_order(text: str, expected: float) -> None:
    assert days_of_text(text, "unknown") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "today",
            "NaT",
            "2024",
            "20240301",
            "12:30",
            "1.5",
            "1234.5",
            "1500.10",
            "4512-07",
            "2024-3-1-1",
        ),
        *("2024-13-01", "2024-02-30", "2023-02-29", "2024-00-10", "2024-01-00", "0000-01-01", "30.02.2024"),
        *("2024-03-01T25:00", "2024-03-01T10:60", "2024-03-01 13:00 pm", "2024-03-01 0:30 am"),
        *("1 Foo 2024", "30 Feb 2024", "Mar 2024", "Mar 1 24", "1 Marc 2024", "Mar 1, 2024 noon"),
        *("2024-03/01", "1-3-24", "2024-03T10:00", "٢٠٢٤-٠٣-٠١", "2024-03-01x", "v2024-03-01"),
    ],
)
def test_what_is_no_date(text: str) -> None:
    assert days_of_text(text, "day_first") is None
    assert read_texts(["2024-03-01", text]) is None
    assert read_texts([*["2024-03-01"] * 100, text]) is None
    assert read_texts([*["2024-03-01T10:00"] * 100, text]) is None


def test_an_order_is_found_in_all_texts_together() -> None:
    first = read_texts(["03/04/2024", "13/04/2024"])
    assert first is not None
    assert (first.order, first.clear) == ("day_first", True)
    assert first.days.tolist() == [days(2024, 4, 3), days(2024, 4, 13)]
    second = read_texts(["3-4-2024", "3-13-2024"])
    assert second is not None
    assert (second.order, second.days.tolist()) == ("month_first", [days(2024, 3, 4), days(2024, 3, 13)])
    unclear = read_texts(["03/04/2024", "12/12/2024"])
    assert unclear is not None
    assert not unclear.clear
    assert read_texts(["13/04/2024", "04/13/2024"]) is None  # they contradict each other
    assert read_texts([]) is None
    assert days_of_text("03/04/2024", "unknown") is None
    assert days_of_text("03/04/2024", "month_first") == days(2024, 3, 4)


moments = st.datetimes(min_value=datetime.datetime(1, 1, 1), max_value=datetime.datetime(9999, 12, 31))


@given(moments)
def test_texts_of_python_are_read_and_written(moment: datetime.datetime) -> None:
    exact = (moment - EPOCH) / DAY
    assert days_of_text(moment.isoformat(), "unknown") == pytest.approx(exact, abs=1e-9)
    assert days_of_text(moment.strftime("%d.%m.") + f"{moment.year:04}", "unknown") == np.floor(exact)
    whole = moment.replace(microsecond=0)
    shown = text_of_days((whole - EPOCH) / DAY)
    assert datetime.datetime.fromisoformat(shown) == whole


# ------------------------------------------------------------------------------------------------------------
# Parts


@given(st.lists(moments, min_size=1, max_size=20))
def test_parts_are_those_of_python(some: list[datetime.datetime]) -> None:
    numbers = np.array([(moment - EPOCH) / DAY for moment in some])
    expected = {
        "date": [(moment.date() - EPOCH.date()).days for moment in some],
        "month": [moment.month for moment in some],
        "day": [moment.day for moment in some],
        "day_of_year": [moment.timetuple().tm_yday for moment in some],
        "weekday": [moment.weekday() for moment in some],
    }
    for part, wanted in expected.items():
        assert part_values(numbers, part).tolist() == wanted  # type: ignore[arg-type]
    hours = [m.hour + m.minute / 60 + m.second / 3600 + m.microsecond / 3.6e9 for m in some]
    np.testing.assert_allclose(part_values(numbers, "hour"), hours, atol=1e-6)
    missing = np.r_[numbers, np.nan]
    assert all(np.isnan(part_values(missing, part)[-1]) for part in [*expected, "hour", "time"])  # type: ignore[arg-type]


def part_names(moments: Any) -> list[str]:
    return [part.name for part in chosen_parts(Times(np.asarray(moments, dtype=np.float64)))]


def test_parts_are_chosen_where_rows_go_through_cycles() -> None:
    first = days(2020, 1, 1)
    daily = first + np.arange(3000)
    assert part_names(daily) == ["date", "month", "day_of_year", "day", "weekday"]
    assert part_names(daily[:366]) == ["date", "day", "weekday"]  # a span of 365 days is not beyond one year
    assert part_names(daily[:367]) == ["date", "month", "day_of_year", "day", "weekday"]
    assert part_names(daily[:29]) == ["date", "weekday"]
    assert part_names(daily[:30]) == ["date", "day", "weekday"]
    assert part_names(daily[:8]) == ["date"]
    assert part_names(daily[:9]) == ["date", "weekday"]
    assert part_names(first + np.arange(0, 3000, 7)) == ["date", "month", "day_of_year", "day"]
    monthly = [days(2015 + k // 12, 1 + k % 12, 1) for k in range(60)]
    assert part_names(monthly) == ["date", "month", "day_of_year"]  # always the first, and no two in a week
    ends = [moment - 1 for moment in monthly]
    assert part_names(ends) == ["date", "month", "day_of_year"]
    assert part_names([days(year, 7, 1) for year in range(1990, 2020)]) == ["date"]
    hourly = first + np.arange(24 * 20) / 24
    assert part_names(hourly) == ["time", "weekday", "hour"]
    assert part_names(hourly[:25]) == ["time"]
    assert part_names(hourly[:26]) == ["time", "hour"]
    assert part_names([np.nan, first]) == ["date"]
    assert part_names([np.nan]) == ["date"]
    assert part_names([first + 0.5, first + 1.5]) == ["time"]  # always noon


@given(
    pieces=st.lists(
        st.lists(st.integers(0, 4_000).map(lambda quarters: quarters / 4) | st.just(np.nan), max_size=5),
        max_size=5,
    )
)
def test_what_several_have_seen_is_what_one_sees(pieces: list[list[float]]) -> None:
    one, joined = SeenDays(), SeenDays()
    for piece in pieces:
        own = SeenDays()
        own.add(np.array(piece))
        joined.join(own)
        one.add(np.array(piece))
    assert joined.chosen("unknown") == one.chosen("unknown")


def test_thresholds_in_words() -> None:
    assert bound_words("date", days(2024, 3, 1) + 0.5) == "2024-03-01"
    assert bound_words("time", days(2024, 3, 1) + 0.5) == "2024-03-01 12:00"
    assert bound_words("time", days(2024, 3, 1, 10, 30, 15, 250_000)) == "2024-03-01 10:30:15.25"
    assert bound_words("weekday", 4.5) == "Friday"
    assert bound_words("month", 11.5) == "November"
    assert bound_words("day", 15.5) == "15"
    assert bound_words("day_of_year", 59.5) == "59"
    assert bound_words("hour", 10.25) == "10:15"
    assert bound_words("hour", 0.0) == "00:00"
    assert bound_words("date", np.inf) is None


# ------------------------------------------------------------------------------------------------------------
# Containers

MOMENTS = [
    datetime.datetime(2024, 3, 1, 10, 30),
    None,
    datetime.datetime(1950, 12, 31, 23, 59, 59, 999_000),
    datetime.datetime(2100, 2, 28),
]
EXPECTED = [np.nan if moment is None else (moment - EPOCH) / DAY for moment in MOMENTS]
DATES = [None if moment is None else moment.date() for moment in MOMENTS]
EXPECTED_DATES = np.floor(EXPECTED)
BERLIN = "Europe/Berlin"

FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame({"when": pd.to_datetime(pd.Series(MOMENTS))}),
    "pandas seconds": pd.DataFrame({"when": pd.Series(MOMENTS).astype("datetime64[ms]")}),
    "pandas zone": pd.DataFrame({"when": pd.to_datetime(pd.Series(MOMENTS)).dt.tz_localize(BERLIN)}),
    "pandas arrow": pd.DataFrame({"when": pd.Series(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp("us")))}),
    "pandas objects": pd.DataFrame({"when": pd.Series(MOMENTS, dtype=object)}),
    "polars": pl.DataFrame({"when": MOMENTS}),
    "polars zone": pl.DataFrame({"when": pl.Series(MOMENTS).dt.replace_time_zone(BERLIN)}),
    "arrow": pa.table({"when": pa.array(MOMENTS, pa.timestamp("ns"))}),
    "arrow zone": pa.table(
        {"when": pa.compute.assume_timezone(pa.array(MOMENTS, pa.timestamp("us")), BERLIN)}
    ),
    "numpy": np.array(MOMENTS, dtype="datetime64[ms]").reshape(-1, 1),
    "objects": np.array(MOMENTS, dtype=object).reshape(-1, 1),
    "texts": pd.DataFrame({"when": [None if m is None else m.isoformat() for m in MOMENTS]}),
    "polars texts": pl.DataFrame({"when": [None if m is None else m.isoformat() for m in MOMENTS]}),
}
DATE_FRAMES: dict[str, Any] = {
    "pandas objects": pd.DataFrame({"when": DATES}),
    "pandas arrow": pd.DataFrame({"when": pd.Series(DATES, dtype=pd.ArrowDtype(pa.date32()))}),
    "polars": pl.DataFrame({"when": DATES}),
    "arrow": pa.table({"when": pa.array(DATES, pa.date32())}),
    "arrow64": pa.table({"when": pa.array(DATES, pa.date64())}),
    "numpy": np.array(DATES, dtype="datetime64[D]").reshape(-1, 1),
    "texts": pa.table({"when": [None if d is None else d.strftime("%d.%m.%Y") for d in DATES]}),
}


@pytest.mark.parametrize("form", FRAMES)
def test_times_of_every_container(form: str) -> None:
    table = quietly(FRAMES[form])
    assert table.columns[0].part.name == "time"
    np.testing.assert_allclose(table.columns[0].values, EXPECTED, atol=1e-9)


@pytest.mark.parametrize("form", DATE_FRAMES)
def test_dates_of_every_container(form: str) -> None:
    table = quietly(DATE_FRAMES[form])
    assert table.columns[0].part.name == "date"
    np.testing.assert_array_equal(table.columns[0].values, EXPECTED_DATES)


def test_dates_and_times_may_be_mixed() -> None:
    X = pd.DataFrame(
        {"when": [datetime.date(2024, 3, 1), datetime.datetime(2024, 3, 2, 12), np.datetime64("2024-03-03")]}
    )
    np.testing.assert_array_equal(
        quietly(X).columns[0].values, [days(2024, 3, 1), days(2024, 3, 2, 12), days(2024, 3, 3)]
    )


def test_dates_mixed_with_other_things_are_refused_with_the_row() -> None:
    for other, word in (("2024-03-02", "text"), (5, "number")):
        X = pd.DataFrame({"when": [datetime.date(2024, 3, 1), None, other]})
        with pytest.raises(
            TypeError, match=rf"Column 'when' mixes types: row 0 holds the date .* row 2 the {word}"
        ):
            read_table(X)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps"])
def test_units_of_numpy(unit: str) -> None:
    X = np.array(["1970-01-01", "NaT"], dtype=f"datetime64[{unit}]")
    table = read_table(X.reshape(-1, 1))
    np.testing.assert_array_equal(table.columns[0].values, [0.0, np.nan])
    far = np.array([[2**63 - 1]], dtype="int64").view(f"datetime64[{unit}]")
    if unit in ("ns", "ps"):
        assert np.isfinite(read_table(far).columns[0].values).all()
    else:
        with pytest.raises(ValueError, match=r"Column 'x0', row 0: the date is more than 200,000 years"):
            read_table(far)


def test_columns_without_a_date() -> None:
    X = pd.DataFrame({"none": pd.to_datetime(pd.Series([None, None])), "a": [1, 2]})
    table = read_table(X)
    assert list(values(table)) == ["none", "a"]
    assert table.columns[0].is_all_missing()
    assert read_table(np.array([["NaT"], ["NaT"]], dtype="datetime64")).columns[0].is_all_missing()


# ------------------------------------------------------------------------------------------------------------
# Recognised, and said so


def test_texts_are_recognised_and_said_so() -> None:
    X = pd.DataFrame({"when": ["31/12/2023", "01/02/2024", None], "name": ["a", "b", "c"]})
    with pytest.warns(
        DataWarning, match="Every text is a date in column 'when', such as '31/12/2023'"
    ) as said:
        table = read_table(X)
    assert len(said) == 1
    assert "categorical_features" in str(said[0].message)
    np.testing.assert_array_equal(table.columns[0].values, [days(2023, 12, 31), days(2024, 2, 1), np.nan])
    assert [column.kind for column in table.columns] == ["numeric", "categorical"]


def test_texts_that_could_be_either_stay_categories() -> None:
    X = pd.DataFrame({"when": ["03/04/2024", "05/06/2024"]})
    with pytest.warns(
        DataWarning, match=r"looks like a date in column 'when', such as '03/04/2024'.*dayfirst"
    ):
        table = read_table(X)
    assert table.columns[0].categories == ("03/04/2024", "05/06/2024")


def test_one_text_that_is_no_date_makes_categories() -> None:
    X = pd.DataFrame({"when": ["2024-03-01", "2024-03-02", "soon"]})
    assert read_table(X).columns[0].categories == ("2024-03-01", "2024-03-02", "soon")


def test_columns_named_categorical_stay_so() -> None:
    texts = pd.DataFrame({"when": ["2024-03-01", "2024-03-02"]})
    table = read_table(texts, categorical_features=["when"])
    assert table.columns[0].categories == ("2024-03-01", "2024-03-02")
    dates = texts.astype("datetime64[ns]")
    table = read_table(dates, categorical_features=["when"])
    assert table.columns[0].categories == ("2024-03-01", "2024-03-02")
    assert read_table_as(dates.iloc[1:], table.schema).columns[0].values.tolist() == [1]


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"when": pd.Categorical(["2024-03-01", "2024-03-02"])}),
        pl.DataFrame({"when": pl.Series(["2024-03-01", "2024-03-02"], dtype=pl.Categorical)}),
        pa.table({"when": pa.array(["2024-03-01", "2024-03-02"]).dictionary_encode()}),
        pd.DataFrame({"when": pd.Categorical(pd.to_datetime(["2024-03-01", "2024-03-02"]))}),
    ],
)
def test_a_dtype_of_categories_is_the_users_word(X: Any) -> None:
    assert read_table(X).columns[0].categories == ("2024-03-01", "2024-03-02")


# ------------------------------------------------------------------------------------------------------------
# The schema, at predict


def two_years() -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(800), "when": pd.date_range("2022-01-01", periods=800), "b": 1.5})


def test_the_columns_of_a_date_stand_in_its_place() -> None:
    schema = read_table(two_years()).schema
    assert schema.names == ("a", "when", "when.month", "when.day_of_year", "when.day", "when.weekday", "b")
    assert schema.given_names == ("a", "when", "b")
    assert schema.sources == (0, 1, 1, 1, 1, 1, 2)
    assert schema.folded(np.arange(7.0)).tolist() == [0, 1 + 2 + 3 + 4 + 5, 6]
    unnamed = read_table(two_years()[["when"]].to_numpy()).schema
    assert unnamed.names[:2] == ("x0", "x0.month")
    assert not unnamed.names_given


def test_names_of_parts_give_way_to_the_users() -> None:
    X = two_years().rename(columns={"a": "when.month", "b": "when.month_"})
    names = read_table(X).schema.names
    assert names[:3] == ("when.month", "when", "when.month__")
    assert len(set(names)) == len(names)


def test_tables_without_dates_have_no_parts() -> None:
    schema = read_table(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})).schema
    assert schema.parts == ()
    assert schema.given_names is schema.names
    assert schema.sources == (0, 1)


def test_predictions_follow_the_recipe_of_the_fit() -> None:
    fit = quietly(pd.DataFrame({"when": ["30/12/2023", "31/12/2023", "05/02/2024"]}))
    assert [column.name for column in fit.columns] == ["when", "when.day", "when.weekday"]
    later = [
        pd.DataFrame({"when": ["05/02/2024"]}),
        pd.DataFrame({"when": ["2024-02-05"]}),
        pd.DataFrame({"when": [datetime.datetime(2024, 2, 5, 18, 30)]}),  # whole days is what the fit had
        pd.DataFrame({"when": pd.Categorical(["5.2.2024"])}),
    ]
    for X in later:
        assert values(read_table_as(X, fit.schema)) == {
            "when": [days(2024, 2, 5)],
            "when.day": [5],
            "when.weekday": [0],
        }
    for nothing in (
        [None],
        [np.nan],
        pd.Series([None], dtype="datetime64[ns]"),
        pd.Series([None], dtype="str"),
    ):
        table = read_table_as(pd.DataFrame({"when": nothing}), fit.schema)
        assert all(np.isnan(column.values).all() for column in table.columns)


def test_what_is_no_date_at_predict_is_refused_by_name() -> None:
    schema = quietly(pd.DataFrame({"when": ["2023-12-31", "2024-02-05"]})).schema
    with pytest.raises(ValueError, match="Column 'when', row 1: 'soon' is not a date"):
        read_table_as(pd.DataFrame({"when": ["2024-01-01", "soon", "later"]}), schema)
    with pytest.raises(ValueError, match="Column 'when', row 0: '03/04/2024' is not a date"):
        read_table_as(pd.DataFrame({"when": ["03/04/2024"]}), schema)  # the fit had no such order
    with pytest.raises(ValueError, match="Column 'when' was one of dates in the fit and holds numbers now"):
        read_table_as(pd.DataFrame({"when": [19_000.0]}), schema)
    numeric = read_table(pd.DataFrame({"when": [1.0, 2.0]})).schema
    with pytest.raises(ValueError, match="Column 'when' was numeric in the fit and holds dates now"):
        read_table_as(pd.DataFrame({"when": [datetime.date(2024, 1, 1)]}), numeric)


def test_rows_of_a_shared_table_are_encoded_as_a_copy() -> None:
    X = two_years()[["when", "a"]]
    rows = np.arange(0, 800, 3)
    dealt = quietly(SharedTable(X, reader="test").rows(rows))
    copied = quietly(X.iloc[rows])
    assert dealt.schema == copied.schema
    assert dealt.origin is not None
    one, other = (encode(table, max_bins=None, n_threads=1).codes for table in (dealt, copied))
    for j in range(len(copied.columns)):
        assert one.codes(j).tolist() == other.codes(j).tolist()
