"""`hornbeam export`: a model file comes in, its trees go out as JSON, DOT or text."""

from typing import Annotated, get_args

import typer

import hornbeam as hb
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, load_model
from hornbeam.cli.outputs import Force, Output, check_output, write_output
from hornbeam.declare.kinds import joined
from hornbeam.inside.words import printable
from hornbeam.io.export import ExportFormat

__all__ = ["export"]


def export(
    model: ModelFile,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="json, dot or text.")] = "text",
    out: Output = "-",
    force: Force = False,
) -> None:
    """Write a model for other programs and for people."""
    formats = get_args(ExportFormat)
    if form not in formats:
        raise typer.BadParameter(f"--format {printable(form)}: not yet; there is {joined(formats, 'and')}.")
    check_output(out, force=force, inputs=[model])
    try:
        text = hb.export(load_model(model), form)  # type: ignore[arg-type]
    except TypeError as error:  # a model that is not made of trees
        raise Mistake(str(error)) from error
    write_output(out, [text.encode("utf-8")])
