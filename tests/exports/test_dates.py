"""Dates in exports: what trees ask of them is computed where the export is run, to the last microsecond."""

import datetime
import json
import sqlite3
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.data.dates import days_of_array, part_values
from hornbeam.errors import ExportError
from hornbeam.exports.check import DOUBLE_TOLERANCE, compare, expected_answers
from hornbeam.exports.databases import DuckDb, Postgres, Sqlite
from hornbeam.exports.date_rows import DatePool
from hornbeam.exports.json_document import JsonReader
from hornbeam.exports.pmml import header_of, pmml_of
from hornbeam.exports.pmml_engine import Jpmml
from hornbeam.exports.programs import BarePython
from hornbeam.exports.python_code import python_of
from hornbeam.exports.reading import portable
from hornbeam.exports.test_rows import rows_for

STAMP, DAY = 'bought "at"', "bo'rn"


def table(n=400):
    """Return dates with times, days before and after 1970, and what does not hang on them."""
    draw = np.random.default_rng(0)
    microseconds = draw.integers(0, 900 * 86_400 * 10**6, n)
    frame = pd.DataFrame(
        {
            "x": draw.normal(size=n),
            STAMP: np.datetime64("2021-03-01", "us") + microseconds.astype("timedelta64[us]"),
            DAY: np.datetime64("1969-06-01", "us") + draw.integers(0, 900, n).astype("timedelta64[D]"),
            f"{STAMP}.month": draw.choice(["a", "b"], n),  # a name that a part would like to have
        }
    )
    stamp, day = frame[STAMP].dt, frame[DAY].dt
    y = 2.0 * (stamp.day_of_week > 4) + 1.5 * (stamp.hour > 15) + (stamp.month == 12) + 2.0 * (day.day < 5)
    y += 3.0 * (day.year > 1969) + (day.day_of_year > 200) + (frame["x"] > 0) + draw.normal(size=n) * 0.1
    return frame, y.to_numpy()


def fit_models():
    frame, y = table()
    gaps = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.05)
    tree = hb.DecisionTreeRegressor
    bag = hb.BaggingRegressor(
        tree(max_depth=5, max_bins=20), n_estimators=3, max_features=0.7, random_state=0
    )
    return {
        "tree": tree(max_depth=8, random_state=0).fit(gaps, y),
        "tree that refuses": tree(max_depth=6, missing="error", random_state=0).fit(frame, y),
        "tree with surrogates": tree(max_depth=5, missing="surrogate", random_state=0).fit(gaps, y),
        "boosting": hb.GradientBoostingClassifier(n_estimators=9, random_state=0).fit(gaps, y > y.mean()),
        "forest": hb.RandomForestClassifier(2, max_depth=6, random_state=0).fit(gaps, y.astype(int)),
        "bag of columns": bag.fit(gaps, y),
    }


@pytest.fixture(scope="module")
def dated():
    return fit_models()


def database(kind, dialect):
    return kind, lambda estimator, model: kind(dialect, "my table")


ENGINES = {
    "sqlite": database(Sqlite, "sqlite"),
    "duckdb": database(DuckDb, "duckdb"),
    "postgres": database(Postgres, "postgres"),
    "python": (BarePython, lambda estimator, model: BarePython(python_of(model))),
    "json": (JsonReader, lambda estimator, model: JsonReader(hb.export(estimator, "json"))),
    "pmml": (Jpmml, lambda estimator, model: Jpmml(header_of([]) + pmml_of(model))),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_the_answers_are_those_of_the_model(engine, dated):
    kind, make = ENGINES[engine]
    if kind.absent() is not None:
        pytest.skip(f"there is no {kind.absent()}")
    for name, estimator in dated.items():
        if engine == "json" and name in ("bag of columns", "forest", "tree that refuses"):
            continue  # a bag has no document; of the others the trial would take its time
        model = portable(estimator)
        assert len(model.given) == 4 < len(model.columns)
        rows = rows_for(model, n_random=200, resolution="s" if engine == "pmml" else "us")
        assert [column.dtype.kind for column in rows.columns] == ["f", "M", "M", "O"]
        if name != "tree that refuses":
            assert np.isnat(rows.columns[1]).any() and np.isnat(rows.columns[2]).any()
        expected = expected_answers(estimator, model, rows)
        found = make(estimator, model).run(model, rows)
        compare(expected, found, rows, model, tolerance=DOUBLE_TOLERANCE, engine=f"{name} in {engine}")


def test_rows_stand_at_both_sides_of_what_is_asked_of_a_date(dated):
    model = portable(dated["tree"])
    rows = rows_for(model, n_random=0)
    places = {column.name: place for place, column in enumerate(model.columns)}
    asked = 0
    for given, values in zip(model.given, rows.columns, strict=True):
        for place in given.places if given.is_date else ():
            part = model.columns[place].part
            message = part_values(days_of_array(values, "dates"), part)
            for threshold in model.thresholds()[place]:
                low, high = message[message <= threshold].max(), message[message > threshold].min()
                # At most a microsecond, a day or one of what the part counts lies between.
                most = {"time": 2.5e-11, "hour": 5e-3}.get(part, 31.0 if part == "day" else 2.0)
                assert high - low <= most, (places, part, threshold)
                asked += 1
    assert asked > 20


@pytest.mark.parametrize("resolution", ["us", "s"])
def test_dates_are_found_that_pass_several_tests_at_once(resolution):
    pool = DatePool(
        {"time": [18_500.25], "weekday": [4.5], "hour": [8.5, 17.25]}, np.random.default_rng(0), resolution
    )
    path = {"time": (18_500.25, np.inf, False), "weekday": (4.5, np.inf, False)}
    low, high = pool.around(path, "hour", 8.5)
    for date in (low, high):
        assert (date - np.datetime64("1970-01-01")) / np.timedelta64(1, "D") > 18_500.25
        assert date.astype(object).weekday() in (5, 6)
    hours = [(date - date.astype("datetime64[D]")) / np.timedelta64(1, "h") for date in (low, high)]
    assert hours[0] <= 8.5 < hours[1]
    assert np.isnat(pool.one({"weekday": (6.0, np.inf, True)}))  # no weekday lies above Sunday
    edge = pool.around({}, "time", 18_500.25)
    assert edge[0] == np.datetime64("2020-08-26T06:00:00", resolution)
    assert edge[1] - edge[0] == np.timedelta64(1, resolution)


@pytest.mark.parametrize("kind", [Sqlite, DuckDb, Postgres])
def test_a_wrong_part_is_caught(kind, dated, monkeypatch):
    if kind.absent() is not None:
        pytest.skip(f"there is no {kind.absent()}")
    from hornbeam.exports import sql, sql_dates

    right = sql_dates.date_part
    monkeypatch.setattr(
        sql,
        "date_part",
        lambda column, part, dialect: right(column, "day" if part == "weekday" else part, dialect),
    )
    estimator = dated["tree"]
    model = portable(estimator)
    rows = rows_for(model, n_random=0)
    found = kind(kind.__name__.lower(), "t").run(model, rows)
    with pytest.raises(ExportError, match="was not kept"):
        compare(
            expected_answers(estimator, model, rows),
            found,
            rows,
            model,
            tolerance=DOUBLE_TOLERANCE,
            engine="it",
        )


def test_the_whole_trial_of_sql_says_how_dates_are_read(dated):
    text = hb.export(dated["tree"], "sql", dialect="sqlite", verify="required")
    assert "-- Dates and times are those of the clock as it is written; a time zone moves nothing." in text
    connection = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table(1)[0].columns)
    connection.execute(f'CREATE TABLE "input" ({names})')
    for written in ("2021-12-05 16:30", "2021-12-05T16:30:00Z", "2021-12-05T16:30:00.000000+05:00"):
        connection.execute('INSERT INTO "input" VALUES (0.5, ?, ?, ?)', (written, "1971-02-03", "a"))
    rows = table(1)[0]
    rows.loc[0] = [0.5, pd.Timestamp("2021-12-05 16:30"), pd.Timestamp("1971-02-03"), "a"]
    said = {row[0] for row in connection.execute(text)}
    assert said == {dated["tree"].predict(rows)[0]}


def test_python_takes_dates_times_and_texts(dated, tmp_path):
    hb.export(dated["tree"], "python", tmp_path / "model.py")
    frame = table(1)[0]
    frame.loc[0] = [0.5, pd.Timestamp("2021-12-05 16:30"), pd.Timestamp("1971-02-03"), "a"]
    program = f"""
import datetime, json, model
rows = [
    [0.5, datetime.datetime(2021, 12, 5, 16, 30), datetime.date(1971, 2, 3), "a"],
    [0.5, "2021-12-05T16:30", "1971-02-03", "a"],
    [0.5, "2021-12-05 16:30:00+05:00", "1971-02-03", "a"],
    {{{"x"!r}: 0.5, {STAMP!r}: "2021-12-05 16:30", {DAY!r}: "1971-02-03", {STAMP + ".month"!r}: "a"}},
]
answers = [model.predict(row) for row in rows]
try:
    model.predict([0.5, "tomorrow", None, "a"])
except ValueError as error:
    answers.append(str(error))
print(json.dumps(answers))
"""
    (tmp_path / "ask.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-S", "ask.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    *said, error = json.loads(done.stdout)
    assert said == [dated["tree"].predict(frame)[0]] * 4
    assert error == f"column {STAMP!r}: 'tomorrow' is not a date such as 2024-03-31 10:30"


def test_texts_of_the_fit_are_dates_of_the_export():
    days = [datetime.date(2021, 1, 1) + datetime.timedelta(days=k) for k in range(300)]
    frame = pd.DataFrame({"when": [f"{day.day}/{day.month}/{day.year}" for day in days]})
    y = np.array([day.weekday() > 4 for day in days]) + np.array([day.month > 6 for day in days])
    with pytest.warns(hb.warnings.DataWarning, match="split as time"):
        tree = hb.DecisionTreeRegressor(random_state=0).fit(frame, y.astype(float))
    text = hb.export(tree, "sql", dialect="sqlite")
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE "input" ("when")')
    connection.executemany('INSERT INTO "input" VALUES (?)', [(day.isoformat(),) for day in days])
    np.testing.assert_array_equal([row[0] for row in connection.execute(text)], tree.predict(frame))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("c", "an export to C cannot"),
        ("onnx", "an export to ONNX cannot"),
        ("sql", "dialect='duckdb', 'sqlite'"),
    ],
)
def test_who_cannot_compute_with_dates_says_so(form, words, dated):
    with pytest.raises(ExportError, match=words):
        hb.export(dated["tree"], form)
