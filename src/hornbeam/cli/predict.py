"""`hornbeam predict`: from a model file and a table to one prediction per row, as CSV."""

import csv
import io
import json as json_format
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from sklearn.base import is_classifier

from hornbeam.cli.mistakes import Mistake, note
from hornbeam.cli.models import LoadedModel, ModelFile, load_model, model_columns, model_name
from hornbeam.cli.outputs import STANDARD, AsJson, Force, Output, check_output, safe_cell, write_output
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data, read_batches
from hornbeam.inside.words import count, named, printable

__all__ = ["predict"]

Columns = dict[str, list[Any]]


@reads_tables
def predict(
    model: ModelFile,
    data: Data,
    *,
    out: Output = "-",
    probabilities: Annotated[
        bool | None,
        typer.Option(
            "--probabilities/--no-probabilities",
            help="Add a column per class with its probability. Default: yes, if there are classes.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="SHARE",
            min=0,
            max=1,
            help="With two classes, predict the second from this probability on. Default: what the file "
            "says, or 0.5.",
        ),
    ] = None,
    force: Force = False,
    json: AsJson = False,
    form: TableFormat,
) -> None:
    """Predict the target of each row; columns that --id names come first.

    Rows are read and predicted in batches.
    """
    check_output(out, force=force, inputs=[model, data])
    loaded = load_model(model, form)
    if probabilities and not hasattr(loaded.fitted, "predict_proba"):
        raise typer.BadParameter(
            f"--probabilities: {model_name(loaded.fitted)} predicts numbers, not classes."
        )
    wants_probabilities = hasattr(loaded.fitted, "predict_proba") if probabilities is None else probabilities
    if threshold is not None:
        if len(getattr(loaded.fitted, "classes_", ())) != 2:
            raise typer.BadParameter("--threshold is for models of two classes.")
        loaded = replace(loaded, threshold=threshold)
    n_rows = [0]
    answers = _counted(_answers(loaded, data, form.ids, probabilities=wants_probabilities), n_rows)
    write_output(out, _json_lines(answers) if json else _csv_lines(answers))
    if out != STANDARD:
        typer.echo(f"{count(n_rows[0], 'prediction')} written to {printable(out, None)}.", err=json)


def _counted(answers: Iterator[Columns], n_rows: list[int]) -> Iterator[Columns]:
    for columns in answers:
        n_rows[0] += len(columns["prediction"])
        yield columns


def _answers(
    loaded: LoadedModel, data: str, asked_ids: Sequence[str] | None, *, probabilities: bool
) -> Iterator[Columns]:
    """Predict batch by batch: columns of the result, by name; an empty batch gives empty columns."""
    model = loaded.fitted
    classes = model.classes_.tolist() if probabilities and is_classifier(model) else []
    for table in read_batches(data, loaded.form):
        answers: Columns = _ids(table, loaded.form, asked_ids)
        X = model_columns(model, table)
        if X.num_rows == 0:
            yield answers | {"prediction": [], **{f"probability {label}": [] for label in classes}}
            continue
        if loaded.threshold is None:
            answers["prediction"] = model.predict(X).tolist()
        else:
            second = model.predict_proba(X)[:, 1] >= loaded.threshold
            answers["prediction"] = model.classes_[second.astype(int)].tolist()
        if classes:
            given = model.predict_proba(X)
            answers |= {f"probability {label}": given[:, k].tolist() for k, label in enumerate(classes)}
        yield answers


def _ids(table: Any, form: TableFormat, asked: Sequence[str] | None) -> Columns:
    """Copy the columns that identify a row; only those named by a flag must be there."""
    found: Columns = {}
    for name in form.ids or ():
        if name in table.column_names:
            found[name] = table.column(name).to_pylist()
        elif asked:
            raise Mistake(f"There is no column {named(name)} for --id.")
        else:
            note(f"The model was fitted with {named(name)} as an id; these rows have no such column.")
    return found


def _csv_lines(answers: Iterator[Columns]) -> Iterator[bytes]:
    for number, columns in enumerate(answers):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if number == 0:
            writer.writerow(map(safe_cell, columns))
        for row in zip(*columns.values(), strict=True):
            writer.writerow(safe_cell(cell) if isinstance(cell, str) else cell for cell in row)
        yield text.getvalue().encode("utf-8")


def _json_lines(answers: Iterator[Columns]) -> Iterator[bytes]:
    """Write one JSON object per row."""
    for columns in answers:
        rows = zip(*columns.values(), strict=True)
        lines = [json_format.dumps(dict(zip(columns, row, strict=True)), default=str) + "\n" for row in rows]
        yield "".join(lines).encode("ascii")
