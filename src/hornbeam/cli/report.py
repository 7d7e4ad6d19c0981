"""`hornbeam report`: from a model and rows with known targets to one HTML page."""

from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.evaluate import known_target, rows_with_answers
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, load_model
from hornbeam.cli.outputs import STANDARD, Force, check_output, write_output
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data
from hornbeam.cli.reading.targets import KnownTarget
from hornbeam.inside.words import printable

__all__ = ["report"]

N_FOLDS = 5


@reads_tables
def report(
    model: ModelFile,
    data: Data,
    *,
    target: KnownTarget = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train", metavar="FILE", help="The rows the model was fitted on, if DATA holds other rows."
        ),
    ] = None,
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="DATA holds rows that the model has not seen: judge it on them without fitting it again.",
        ),
    ] = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page; MODEL.html if left out, - prints it."),
    ] = None,
    force: Force = False,
    form: TableFormat,
) -> None:
    """Write a page about a model: its score and error bar, its errors, what matters, its trees.

    Without --train and --new, DATA may be the rows that the model was fitted on: each of them is then judged
    by a copy of the model fitted to the others.
    """
    # Charts take a while to import; other verbs need none.
    from hornbeam.report.facts import gather  # noqa: PLC0415
    from hornbeam.report.page import page_of  # noqa: PLC0415

    place = out or str(Path(model).with_suffix(".html"))
    check_output(place, force=force, inputs=[model, data, *([train] if train else [])])
    loaded = load_model(model, form)
    asked = known_target(loaded, target)
    X, y = rows_with_answers(loaded, data, asked)
    X_train, y_train = (None, None) if train is None else rows_with_answers(loaded, train, asked)
    try:
        facts = gather(
            loaded.fitted,
            X,
            y,
            X_train=X_train,
            y_train=y_train,
            cv=None if new else N_FOLDS,
            target_name=asked,
            seed=0,
        )
    except TypeError as error:  # a model that predicts neither classes nor numbers
        raise Mistake(str(error)) from error
    write_output(place, [page_of(facts).encode("utf-8")])
    if place != STANDARD:
        typer.echo(f"Report written to {printable(place, None)}.")
