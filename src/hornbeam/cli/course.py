"""`hornbeam course`: writes the lectures as notebooks, and opens them if Jupyter is installed."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.outputs import Force
from hornbeam.course import write_notebooks
from hornbeam.inside.words import count, printable

__all__ = ["course"]

# Programs that show notebooks, by module name, and how to start them; the first one installed is used.
_VIEWERS = {"jupyterlab": ("jupyter", "lab"), "notebook": ("jupyter", "notebook")}


def course(
    folder: Annotated[
        str, typer.Argument(metavar="FOLDER", help="Where the notebooks go.")
    ] = "hornbeam-course",
    *,
    open_notebooks: Annotated[
        bool, typer.Option("--open/--no-open", help="Open them in Jupyter, if it is installed.")
    ] = True,
    force: Force = False,
) -> None:
    """Write the lectures as notebooks: every number is computed, every lecture ends in exercises."""
    try:
        written = write_notebooks(Path(folder), replace=force)
    except FileExistsError as error:
        raise Mistake(str(error).replace("force it", "give --force")) from error
    place = printable(folder, None)
    typer.echo(f"{count(len(written), 'notebook')} written to {place}; begin with README.ipynb.")
    viewer = next((words for name, words in _VIEWERS.items() if importlib.util.find_spec(name)), None)
    if viewer is None:
        typer.echo(f"To open them: pip install jupyterlab, then jupyter lab {place}.")
    elif open_notebooks and sys.stdout.isatty():
        module, verb = viewer
        subprocess.run([sys.executable, "-m", module, verb, folder], check=False)
    else:
        typer.echo(f"To open them: {' '.join(viewer)} {place}.")
