"""`export`: a model written for other programs and for people, run and compared before it is kept.

In: a fitted estimator made of our trees. Out: a text or, for ONNX, bytes, and a file that holds it. Each
format that a machine can run is run where it will be used, on rows that reveal mistakes, and its predictions
are compared with the model's own: if they differ, the export is refused. The top of the file says what was
tested. If a program to run the export is not installed, the file and a warning say so.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, get_args

from sklearn.utils.validation import check_is_fitted

from hornbeam._core import version
from hornbeam.data.wording import shown
from hornbeam.declare import view_of
from hornbeam.declare.kinds import joined
from hornbeam.errors import ExportError
from hornbeam.exports import c_code, python_code
from hornbeam.exports.c_code import Precision
from hornbeam.exports.check import DOUBLE_TOLERANCE, SINGLE_TOLERANCE, compare, expected_answers
from hornbeam.exports.databases import DuckDb, Postgres, Sqlite
from hornbeam.exports.date_rows import Resolution
from hornbeam.exports.dot import dot_of
from hornbeam.exports.json_document import JsonReader, answer_of, json_of
from hornbeam.exports.onnx_graph import Operator, missing_text, onnx_of
from hornbeam.exports.onnx_runtime import OnnxRuntime
from hornbeam.exports.pmml import header_of as pmml_header_of
from hornbeam.exports.pmml import notes_on, pmml_of
from hornbeam.exports.pmml_engine import Jpmml
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.programs import BarePython, Compiler
from hornbeam.exports.reading import portable
from hornbeam.exports.sql import Dialect, sql_of
from hornbeam.exports.test_rows import rows_for
from hornbeam.inside.nodes import TreeReading, readings_of, way_to_members
from hornbeam.inside.rules import rule_text
from hornbeam.inside.words import count
from hornbeam.io.files import text_of_path, write_whole
from hornbeam.io.native import Path
from hornbeam.warnings import UntestedExportWarning, warn

__all__ = ["OPTIONS", "ExportFormat", "Verify", "export"]

ExportFormat = Literal["onnx", "sql", "c", "python", "json", "pmml", "dot", "text"]
Verify = Literal["present", "required"]

# Which options a format has, with their defaults and what they may be.
OPTIONS: dict[str, dict[str, tuple[Any, tuple[str, ...] | None]]] = {
    "sql": {"dialect": ("standard", get_args(Dialect)), "table": ("input", None), "keys": ((), None)},
    "c": {"name": ("model", None), "precision": ("double", get_args(Precision))},
    "onnx": {
        "operator": ("TreeEnsemble", get_args(Operator)),
        "precision": ("double", get_args(Precision)),
    },
}

_DATABASES: dict[str, tuple[Any, ...]] = {
    "sqlite": (Sqlite,),
    "duckdb": (DuckDb,),
    "postgres": (Postgres,),
    "standard": (Sqlite, DuckDb, Postgres),
}
_OF_DATES: dict[Resolution, str] = {
    "us": "Dates and times are those of the clock as it is written; a time zone moves nothing.",
    "s": "Dates and times are those of the clock as it is written, in whole seconds.",
}
_MANY_TREES = 100  # sums of more terms in single precision may be further off


def export(
    model: Any, form: ExportFormat, path: Path | None = None, *, verify: Verify = "present", **options: Any
) -> str | bytes:
    """Write a fitted model for programs or for people.

    The formats are "onnx", "sql", "c", "python", "json" and "pmml", and for people "dot" and "text". Returns
    the text, or bytes for ONNX, and with a path writes it to a file, whole or not at all. Options:

    * sql: `dialect` ("standard", "duckdb", "sqlite" or "postgres"), `table` to read from, `keys`, columns of
      it to pass on.
    * * c: `name`, the prefix of all names, `precision` ("double" or "float").
    * onnx: `operator` ("TreeEnsemble" of ai.onnx.ml 5, or the older "TreeEnsembleRegressor"), `precision` of
      the inputs.

    Before it is kept, an export is run in every installed program that it is meant for, on rows on both sides
    of every threshold, with every category, an unseen one and missing values, and on 10,000 random rows; if a
    prediction differs from the model's, `ExportError` shows the row. If a program is not installed, there is
    an `UntestedExportWarning`, or with verify="required" an error.
    """
    if form not in get_args(ExportFormat):
        formats = joined([repr(one) for one in get_args(ExportFormat)], "or")
        raise ValueError(f"form must be {formats}; got {shown(form)}.")
    if verify not in get_args(Verify):
        raise ValueError(f"verify must be 'present' or 'required'; got {shown(verify)}.")
    chosen = _checked_options(form, options)
    if not hasattr(model, "fit") or isinstance(model, type):
        raise TypeError(
            f"export takes a fitted model made of hornbeam's trees; got {type(model).__name__}."
            f"{way_to_members(model)}"
        )
    check_is_fitted(model)
    model = view_of(model)  # another thread may fit it again meanwhile
    if form in ("dot", "text"):
        name, readings = type(model).__name__, readings_of(model) or _readings(model)
        written: str | bytes = dot_of(name, readings) if form == "dot" else _text_of(name, readings)
    elif form == "json":
        written = _json(model, verify)
    elif form == "onnx":
        written = _onnx(model, verify, **chosen)
    else:
        written = _program(model, form, verify, chosen)
    if path is not None:
        data = written if isinstance(written, bytes) else written.encode("utf-8")
        write_whole(text_of_path(path), [data])
    return written


def _checked_options(form: str, given: dict[str, Any]) -> dict[str, Any]:
    known = OPTIONS.get(form, {})
    for name, value in given.items():
        if name not in known:
            has = f"it takes {joined(list(known), 'and')}" if known else "it takes none"
            raise TypeError(f"The export to {form} has no option {name!r}; {has}.")
        allowed = known[name][1]
        if allowed is not None and value not in allowed:
            raise ValueError(f"{name} must be {joined(list(map(repr, allowed)), 'or')}; got {shown(value)}.")
    chosen = {name: given.get(name, default) for name, (default, _) in known.items()}
    if "keys" in chosen:
        keys = chosen["keys"]
        chosen["keys"] = [keys] if isinstance(keys, str) else list(keys)
    return chosen


# ------------------------------------------------------------------------------------------------------------
# Formats


def _program(model: Any, form: str, verify: Verify, options: dict[str, Any]) -> str:
    """Write SQL, C, PMML or Python: a text with what is said of it before it."""
    plain = portable(model)
    if form == "sql":
        body = sql_of(plain, **options)
        databases = _DATABASES[options["dialect"]]
        made = [partial(database, options["dialect"], options["table"]) for database in databases]
        return _sql_header(_tested(model, plain, list(zip(databases, made, strict=True)), verify)) + body
    if form == "c":
        body = c_code.c_of(plain, **options)
        engines = [(Compiler, lambda: Compiler(body, options["name"]))]
        lines = _tested(model, plain, engines, verify, single=options["precision"] == "float")
        return c_code.header_of(lines) + body
    if form == "pmml":
        body = pmml_of(plain)
        lines = _tested(
            model, plain, [(Jpmml, lambda: Jpmml(pmml_header_of([]) + body))], verify, resolution="s"
        )
        return pmml_header_of([*lines, *notes_on(plain)]) + body
    body = python_code.python_of(plain)
    return (
        python_code.header_of(_tested(model, plain, [(BarePython, lambda: BarePython(body))], verify)) + body
    )


def _sql_header(lines: Sequence[str]) -> str:
    return "".join(f"-- {line}\n" for line in lines)


def _onnx(model: Any, verify: Verify, *, operator: Operator, precision: Precision) -> bytes:
    plain = portable(model)
    proto = onnx_of(plain, operator=operator, precision=precision)
    single = precision == "float"
    rough = single or operator == "TreeEnsembleRegressor"
    engines = [(OnnxRuntime, lambda: OnnxRuntime(proto, precision))]
    lines = _tested(model, plain, engines, verify, single=single, rough=rough)
    proto.doc_string = "\n".join(lines)
    columns = [
        {"name": column.name, "kind": column.kind}
        | ({} if column.categories is None else {"categories": list(column.categories)})
        | ({"missing": missing_text(column)} if column.category_type is str and column.categories else {})
        for column in plain.columns
    ]
    entry = proto.metadata_props.add()
    entry.key, entry.value = "columns", json.dumps(columns)
    data: bytes = proto.SerializeToString()
    return data


def _json(model: Any, verify: Verify) -> str:
    readings = _readings(model)
    facts: dict[str, Any] = getattr(model, "_facts_beside_trees", dict)()
    name = type(model).__name__
    try:
        plain = portable(model)
    except (TypeError, ExportError):  # a document can hold what no program of ours can answer
        return json_of(name, readings, facts, None, ["not run"])
    answer = answer_of(plain, hard_votes=getattr(model, "voting", "soft") == "hard")
    body = json_of(name, readings, facts, answer, [])
    tested = _tested(model, plain, [(JsonReader, lambda: JsonReader(body))], verify)
    return json_of(name, readings, facts, answer, tested)


def _readings(model: Any) -> list[TreeReading]:
    """Read the trees of a model with their names, those of a bag over the columns of all."""
    model = model._on_one_table() if hasattr(model, "_on_one_table") else model
    grown = getattr(model, "_grown", None)
    source = model if grown is None else grown
    if hasattr(source, "_reading"):
        return [source._reading(tree) for tree in source._model.trees]
    way_out = way_to_members(model)
    of_members = (
        " of members with tables of their own" if not way_out and hasattr(model, "estimators_") else ""
    )
    raise TypeError(
        f"export takes models made of hornbeam's trees on one table; got {type(model).__name__}{of_members}."
        f"{way_out}"
    )


def _text_of(estimator: str, readings: list[TreeReading]) -> str:
    if len(readings) == 1:
        return rule_text(readings[0]) + "\n"
    parts = [f"tree {number}\n{rule_text(reading)}\n" for number, reading in enumerate(readings)]
    return f"{estimator} of {len(readings)} trees\n\n" + "\n".join(parts)


# ------------------------------------------------------------------------------------------------------------
# The trial


def _tested(
    model: Any,
    plain: PortableModel,
    engines: Sequence[tuple[Any, Callable[[], Any]]],
    verify: Verify,
    *,
    single: bool = False,
    rough: bool = False,
    resolution: Resolution = "us",
) -> list[str]:
    """Run an export in every engine that is here; return what is to be said at the top of the file."""
    lacking = [reason for kind, _ in engines if (reason := kind.absent()) is not None]
    if lacking and verify == "required":
        raise ExportError(
            f"verify='required', but the export cannot be run here: there is no {joined(lacking, 'and no')}."
        )
    rows = rows_for(plain, single=single, resolution=resolution)
    expected = expected_answers(model, plain, rows)
    tolerance = SINGLE_TOLERANCE if single or rough else DOUBLE_TOLERANCE
    tolerance *= max(1.0, len(plain.trees) / _MANY_TREES) ** 0.5
    lines = _description(plain, single=single)
    if plain.has_dates:
        lines.append(_OF_DATES[resolution])
    for kind, make in engines:
        if kind.absent() is not None:
            continue
        engine = make()
        try:
            found = engine.run(plain, rows)
        except Exception as error:  # whatever a foreign program says
            text = " ".join(str(error).split())
            raise ExportError(
                f"{engine.name} cannot run the export, so it was not kept: {text[:500]}"
            ) from error
        largest = compare(expected, found, rows, plain, tolerance=tolerance, engine=engine.name)
        lines.append(f"Run in {engine.name} on {rows.n_rows:,} rows; largest difference {largest:.2g}.")
    if len(lacking) < len(engines):
        lines.append(f"The rows: {rows.words}.")
    for reason in lacking:
        lines.append(f"Not run in {reason}.")
    if len(lacking) == len(engines):
        warn(
            f"The export was not run, since there is no {joined(lacking, 'and no')} here: its answers have "
            "not been compared with the model's.",
            UntestedExportWarning,
        )
    return lines


def _description(plain: PortableModel, *, single: bool) -> list[str]:
    n_nodes = sum(tree.n_nodes for tree in plain.trees)
    lines = [
        f"hornbeam {version}: {plain.estimator} of {count(plain.n_members, 'tree')}, "
        f"{count(n_nodes, 'node')}, {count(len(plain.given), 'column')}."
    ]
    if single:
        lines.append(
            "Inputs have single precision: a number that was rounded to it may fall on the other side of a "
            "threshold."
        )
    if plain.refuses_missing:
        lines.append("The model refuses rows with missing values; they have no answer here.")
    if plain.refuses_unseen:
        lines.append("The model refuses categories that it has not seen; such rows have no answer here.")
    return lines
