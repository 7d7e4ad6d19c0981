"""`hornbeam predict`: a model file and a table come in, one prediction per row goes out as CSV."""

import csv
import io
import json as json_format
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from sklearn.base import is_classifier

from hornbeam.cli.models import ModelFile, format_for, load_model, model_columns, model_name
from hornbeam.cli.outputs import AsJson, Force, Output, check_output, safe_cell, write_output
from hornbeam.cli.tables import Data, Missing, Separator, TableFormat, read_batches

__all__ = ["predict"]


def predict(
    model: ModelFile,
    data: Data,
    *,
    out: Output = "-",
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add a column per class: the share the model gives it.")
    ] = False,
    force: Force = False,
    json: AsJson = False,
    separator: Separator = ",",
    na: Missing = None,
) -> None:
    """Predict the target of each row; rows are read and answered in batches."""
    check_output(out, force=force, inputs=[model, data])
    fitted = load_model(model)
    if probabilities and not hasattr(fitted, "predict_proba"):
        raise typer.BadParameter(f"--probabilities: {model_name(fitted)} predicts numbers, not classes.")
    batches = read_batches(data, format_for(fitted, TableFormat(separator, na or ())))
    answers = _answers(fitted, batches, probabilities=probabilities)
    write_output(out, _json_lines(answers) if json else _csv_lines(answers))


def _answers(model: Any, batches: Iterator[Any], *, probabilities: bool) -> Iterator[dict[str, list[Any]]]:
    """Answer batch by batch: columns of the result, by name; an empty batch gives empty columns."""
    classes = model.classes_.tolist() if probabilities and is_classifier(model) else []
    for table in batches:
        X = model_columns(model, table)
        if X.num_rows == 0:
            yield {"prediction": [], **{f"probability {label}": [] for label in classes}}
            continue
        answers = {"prediction": model.predict(X).tolist()}
        if classes:
            shares = model.predict_proba(X)
            answers |= {f"probability {label}": shares[:, k].tolist() for k, label in enumerate(classes)}
        yield answers


def _csv_lines(answers: Iterator[dict[str, list[Any]]]) -> Iterator[bytes]:
    for number, columns in enumerate(answers):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if number == 0:
            writer.writerow(map(safe_cell, columns))
        for row in zip(*columns.values(), strict=True):
            writer.writerow(safe_cell(cell) if isinstance(cell, str) else cell for cell in row)
        yield text.getvalue().encode("utf-8")


def _json_lines(answers: Iterator[dict[str, list[Any]]]) -> Iterator[bytes]:
    """Write one JSON object per row."""
    for columns in answers:
        rows = zip(*columns.values(), strict=True)
        lines = [json_format.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows]
        yield "".join(lines).encode("ascii")
