"""Every kind of model in every format, run in the real engine: its answers are the model's."""

import warnings

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from exports.catalogue import HOSTILE, NAMES, mixed_frame
from hornbeam.errors import ExportError
from hornbeam.exports import databases, sql
from hornbeam.exports.c_code import c_of
from hornbeam.exports.check import DOUBLE_TOLERANCE, SINGLE_TOLERANCE, Answers, compare, expected_answers
from hornbeam.exports.databases import DuckDb, Postgres, Sqlite
from hornbeam.exports.json_document import JsonReader
from hornbeam.exports.onnx_graph import onnx_of
from hornbeam.exports.onnx_runtime import OnnxRuntime
from hornbeam.exports.pmml import header_of, pmml_of
from hornbeam.exports.pmml_engine import Jpmml
from hornbeam.exports.programs import BarePython, Compiler
from hornbeam.exports.python_code import python_of
from hornbeam.exports.reading import portable
from hornbeam.exports.test_rows import TestRows, rows_for

TABLE = 'my "table"'


def database(kind, dialect):
    return lambda model: kind(dialect, TABLE)


def onnx(operator, precision):
    return lambda model: OnnxRuntime(onnx_of(model, operator=operator, precision=precision), precision)


ENGINES = {
    "sqlite": (Sqlite, database(Sqlite, "sqlite"), False, DOUBLE_TOLERANCE),
    "duckdb": (DuckDb, database(DuckDb, "duckdb"), False, DOUBLE_TOLERANCE),
    "postgres": (Postgres, database(Postgres, "postgres"), False, DOUBLE_TOLERANCE),
    "standard in sqlite": (Sqlite, database(Sqlite, "standard"), False, DOUBLE_TOLERANCE),
    "standard in duckdb": (DuckDb, database(DuckDb, "standard"), False, DOUBLE_TOLERANCE),
    "standard in postgres": (Postgres, database(Postgres, "standard"), False, DOUBLE_TOLERANCE),
    "onnx": (OnnxRuntime, onnx("TreeEnsemble", "double"), False, DOUBLE_TOLERANCE),
    "onnx in single precision": (OnnxRuntime, onnx("TreeEnsemble", "float"), True, SINGLE_TOLERANCE),
    "older onnx": (OnnxRuntime, onnx("TreeEnsembleRegressor", "double"), False, SINGLE_TOLERANCE),
    "older onnx in single precision": (
        OnnxRuntime,
        onnx("TreeEnsembleRegressor", "float"),
        True,
        SINGLE_TOLERANCE,
    ),
    "c": (
        Compiler,
        lambda model: Compiler(c_of(model, name="m", precision="double"), "m"),
        False,
        DOUBLE_TOLERANCE,
    ),
    "c in single precision": (
        Compiler,
        lambda model: Compiler(c_of(model, name="m", precision="float"), "m"),
        True,
        SINGLE_TOLERANCE,
    ),
    "pmml": (Jpmml, lambda model: Jpmml(header_of([]) + pmml_of(model)), False, DOUBLE_TOLERANCE),
    "python": (BarePython, lambda model: BarePython(python_of(model)), False, DOUBLE_TOLERANCE),
}


def real_rows(model):
    """Return rows that are drawn like those of the fit, not made from the model."""
    frame = mixed_frame(60, seed=7)
    columns = []
    for name, column in zip(HOSTILE, model.columns, strict=True):
        values = frame[name]
        if column.categories is None:
            columns.append(values.to_numpy(dtype=np.float32).astype(np.float64))
        else:
            objects = values.astype(object).to_numpy(dtype=object, copy=True)
            objects[values.isna().to_numpy()] = None
            columns.append(objects)
    return frame, TestRows(tuple(columns), "")


@pytest.mark.parametrize("engine", ENGINES)
def test_the_answers_are_those_of_the_model(engine, models):
    kind, make, single, tolerance = ENGINES[engine]
    if kind.absent() is not None:
        pytest.skip(f"there is no {kind.absent()}")
    # What is written is nearly the same there as in their neighbours; a start of a compiler takes its time.
    some = NAMES[::4] if engine in ("standard in postgres", "c in single precision") else NAMES
    for name in some:
        model = portable(models[name])
        if model.has_stand_ins and kind is OnnxRuntime:
            with pytest.raises(ExportError, match="missing='surrogate'"):
                make(model)
            continue
        made = make(model)
        edges = rows_for(model, single=single, n_random=100)
        _, real = real_rows(model)
        both = TestRows(
            tuple(np.concatenate(pair) for pair in zip(edges.columns, real.columns, strict=True)), ""
        )
        expected = expected_answers(models[name], model, both)
        compare(
            expected, made.run(model, both), both, model, tolerance=tolerance, engine=f"{name} in {engine}"
        )


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgres"])
def test_many_categories_are_looked_up(engine, models, monkeypatch):
    monkeypatch.setattr(sql, "MANY_CATEGORIES", 2)  # of the six and three that the columns have
    kind, make, _, tolerance = ENGINES[engine]
    if kind.absent() is not None:
        pytest.skip(f"there is no {kind.absent()}")
    for name in NAMES[1:7]:
        model = portable(models[name])
        rows = rows_for(model, n_random=50)
        assert "SUBSTR('" in sql.sql_of(model, dialect=engine, table=TABLE, keys=[])
        expected = expected_answers(models[name], model, rows)
        compare(expected, make(model).run(model, rows), rows, model, tolerance=tolerance, engine=engine)


def test_steps_of_standard_sql_are_worked_out_once():
    if Postgres.absent() is not None:
        pytest.skip(f"there is no {Postgres.absent()}")
    draw = np.random.default_rng(0)
    frame = pd.DataFrame({"c": draw.choice([f"k{k}" for k in range(60)], 600), "x": draw.normal(size=600)})
    model = hb.GradientBoostingClassifier(n_estimators=3, random_state=0)
    model = portable(model.fit(frame, draw.integers(0, 3, 600)))
    plans = []
    for dialect in ("postgres", "standard"):
        statement = sql.sql_of(model, dialect=dialect, table="t", keys=[])
        table = "CREATE TEMPORARY TABLE t (c TEXT, x DOUBLE PRECISION);"
        plans.append(databases._server()(f"{table}\nEXPLAIN VERBOSE {statement}"))
    # Put wherever they are used, the lookups of 60 categories alone make a plan many times as long.
    assert len(plans[1]) < 1.5 * len(plans[0])


@pytest.mark.parametrize("name", NAMES)
def test_the_rows_to_compare_with_are_read_as_a_frame_would_be(name, models):
    model = models[name]
    frame, rows = real_rows(portable(model))
    for column in (HOSTILE[0], HOSTILE[3], HOSTILE[6]):
        frame[column] = frame[column].astype(np.float32).astype(np.float64)
    found = expected_answers(model, portable(model), rows)
    whole = frame.notna().all(axis=1).to_numpy() if name == "tree that refuses" else np.ones(60, dtype=bool)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = model.predict(frame[whole])
        shares = model.predict_proba(frame[whole]) if hasattr(model, "predict_proba") else said
    shares = np.concatenate(shares, axis=1) if isinstance(shares, list) else shares
    np.testing.assert_array_equal(found.numbers[whole], shares.reshape(whole.sum(), -1))
    assert np.isnan(found.numbers[~whole]).all()


@pytest.mark.parametrize("name", [name for name in NAMES if "bag of" not in name and "pruned" not in name])
def test_the_json_document_is_enough_to_predict(name, models):
    import hornbeam as hb

    model = portable(models[name])
    _, rows = real_rows(model)
    found = JsonReader(hb.export(models[name], "json")).run(model, rows)
    expected = expected_answers(models[name], model, rows)
    assert isinstance(found, Answers)
    compare(expected, found, rows, model, tolerance=DOUBLE_TOLERANCE, engine="json")
