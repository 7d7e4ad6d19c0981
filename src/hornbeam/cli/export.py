"""`hornbeam export`: from a model file to ONNX, SQL, C, Python, JSON, PMML, DOT or text."""

from typing import Annotated, Any, get_args

import typer

import hornbeam as hb
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, load_model
from hornbeam.cli.outputs import STANDARD, Force, Output, check_output, write_output
from hornbeam.declare.kinds import joined
from hornbeam.exports.front import OPTIONS, ExportFormat
from hornbeam.inside.words import printable

__all__ = ["export"]


def export(
    model: ModelFile,
    *,
    form: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="onnx, sql, c, python, json, pmml, dot or text."),
    ] = "text",
    dialect: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of sql: standard, duckdb, sqlite or postgres."),
    ] = None,
    table: Annotated[str | None, typer.Option(metavar="NAME", help="Of sql: the table to read.")] = None,
    keys: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="COLUMN", help="Of sql: a column to pass through; may be repeated."),
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Of c: the prefix of its names.")] = None,
    precision: Annotated[
        str | None, typer.Option(metavar="KIND", help="Of c and onnx: double or float.")
    ] = None,
    operator: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of onnx: TreeEnsemble, or the older TreeEnsembleRegressor."),
    ] = None,
    verify: Annotated[
        str,
        typer.Option(
            metavar="WHERE",
            help="present: run the export where that is possible; required: refuse it where it is not.",
        ),
    ] = "present",
    out: Output = "-",
    force: Force = False,
) -> None:
    """Write a model for other programs and for people; programs are run and compared with the model first."""
    formats = get_args(ExportFormat)
    if form not in formats:
        raise typer.BadParameter(f"--format must be {joined(formats, 'or')}; got {printable(form)}.")
    given: dict[str, Any] = {
        **{"dialect": dialect, "table": table, "keys": keys or None},
        **{"name": name, "precision": precision, "operator": operator},
    }
    options = {option: value for option, value in given.items() if value is not None}
    for option in options:
        if option not in OPTIONS.get(form, {}):
            flag = "--key" if option == "keys" else f"--{option}"
            raise typer.BadParameter(f"{flag} does not go with --format {form}.")
    if form == "onnx" and out == STANDARD:
        raise typer.BadParameter("--format onnx is not text: name a file with --out.")
    check_output(out, force=force, inputs=[model])
    try:
        text = hb.export(load_model(model).fitted, form, verify=verify, **options)  # type: ignore[arg-type]
    except TypeError as error:  # a model that is not made of trees
        raise Mistake(str(error)) from error
    write_output(out, [text if isinstance(text, bytes) else text.encode("utf-8")])
