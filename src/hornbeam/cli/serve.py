"""`hornbeam serve`: answers requests over HTTP by a model file until the command is ended."""

import warnings
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, load_model
from hornbeam.inside.words import printable

__all__ = ["serve"]


def serve(
    model: ModelFile,
    *,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address to listen on; 0.0.0.0 is open to everyone, without a password.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, metavar="N", help="The port.")] = 8000,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="A page to show at /, as `hornbeam report` writes.")
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, metavar="MIB", help="The largest request, in MiB.")] = 16,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="How long a request may take.")
    ] = 30.0,
) -> None:
    """Predict rows over HTTP: POST /predict; GET /schema, /health, /metrics and, for people, /."""
    from hornbeam.serving import app  # noqa: PLC0415 - other verbs need no server

    fitted = load_model(model).fitted
    if not hasattr(fitted, "predict"):
        raise Mistake(f"A {type(fitted).__name__} predicts nothing that could be served.")
    page = None if report is None else Path(report).read_text(encoding="utf-8")
    typer.echo(f"Serving {printable(model, None)} at http://{host}:{port}; end it with Ctrl-C.", err=True)
    warnings.simplefilter("ignore")  # of categories that are new, for each request anew
    limits = app.Limits(max_body * 2**20, timeout)
    app.serve(fitted, host=host, port=port, report=page, limits=limits)
