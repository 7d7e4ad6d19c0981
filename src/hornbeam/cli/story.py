"""`hornbeam story`: from a model and the rows of its fit to a page that plays the fit back."""

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

__all__ = ["story"]


@reads_tables
def story(
    model: ModelFile,
    data: Data,
    *,
    target: KnownTarget = None,
    validation: Annotated[
        str | None,
        typer.Option("--validation", metavar="FILE", help="Rows to judge the pruned trees on."),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B", help="The two columns that pictures show, by name."),
    ] = None,
    rows: Annotated[
        int, typer.Option("--rows", min=10, help="The largest number of rows on the page.")
    ] = 300,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="The page; MODEL-story.html if left out, - prints."),
    ] = None,
    force: Force = False,
    form: TableFormat,
) -> None:
    """Write a page that plays back how a model has learned, on the rows of its fit, with a quiz."""
    # Templates take a while to import; other verbs need none.
    from hornbeam.story.material import collect  # noqa: PLC0415
    from hornbeam.story.page import page_of  # noqa: PLC0415

    place = out or str(Path(model).with_name(f"{Path(model).stem}-story.html"))
    check_output(place, force=force, inputs=[model, data, *([validation] if validation else [])])
    loaded = load_model(model, form)
    asked = known_target(loaded, target)
    X, y = rows_with_answers(loaded, data, asked)
    judges = (None, None) if validation is None else rows_with_answers(loaded, validation, asked)
    try:
        material = collect(
            loaded.fitted,
            X,
            y,
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            validation=judges,
            max_rows=rows,
            target_name=asked,
            seed=0,
        )
        page = page_of(material)
    except (AttributeError, TypeError) as error:  # a model that has no story, or none in its file
        raise Mistake(str(error)) from error
    write_output(place, [page.encode("utf-8")])
    if place != STANDARD:
        typer.echo(f"Story written to {printable(place, None)}.")
