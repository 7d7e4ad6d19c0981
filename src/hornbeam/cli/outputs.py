"""Where results go: a file, written whole or not at all, or standard output, called `-`.

Before any work is done, `check_output` refuses a place that must not be written: the input itself, or a file
that exists without `--force`. `write_output` takes the pieces of a result, as they are made.
"""

import json
import math
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from hornbeam.cli.mistakes import Mistake
from hornbeam.inside.words import printable
from hornbeam.io.files import write_whole

__all__ = [
    "STANDARD",
    "AsJson",
    "Force",
    "Output",
    "check_output",
    "print_json",
    "print_result",
    "safe_cell",
    "write_output",
]

STANDARD = "-"  # standard input, or standard output

Output = Annotated[
    str, typer.Option("--out", "-o", metavar="FILE", help="Where to put the result; - prints it.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output file if there is one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

# A spreadsheet takes a text that begins so for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def check_output(out: str, *, force: bool, inputs: Iterable[str]) -> None:
    """Refuse, before any work is done, an output that would destroy something."""
    if out == STANDARD or not os.path.lexists(out):
        return
    for given in inputs:
        if given != STANDARD and os.path.exists(given) and os.path.samefile(given, out):
            raise Mistake(f"{printable(out, None)} is the input: give another name to --out.")
    if os.path.isdir(out):
        raise Mistake(f"{printable(out, None)} is a folder: give --out the name of a file.")
    if not force:
        raise Mistake(f"{printable(out, None)} exists: give --force to replace it, or another name to --out.")


def write_output(out: str, pieces: Iterable[bytes | memoryview]) -> None:
    """Write the pieces as they come; a file appears only when all are written."""
    if out != STANDARD:
        write_whole(str(Path(out)), pieces)
        return
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()  # here, where a closed pipe can still be answered


def print_json(document: Any) -> None:
    """Print a document for programs, on one line; numbers that JSON lacks become null."""
    print(json.dumps(_plain(document), ensure_ascii=True, allow_nan=False))


def print_result(shown: Any, document: Any, *, as_json: bool, out: str | None) -> None:
    """Print what was found, for people or as JSON for programs.

    Where the model itself goes to standard output, people read on standard error, and programs get the model.
    """
    if as_json and out != STANDARD:
        print_json(document)
    elif not as_json:
        Console(highlight=False, stderr=out == STANDARD).print(shown)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # a scalar of numpy
        return _plain(value.item())
    if isinstance(value, float) and (not math.isfinite(value)):
        return None
    return value


def safe_cell(text: str) -> str:
    """Put a quote before a text that a spreadsheet would run as a formula; numbers stay as they are."""
    if not text.startswith(FORMULA_STARTS):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text if text[0] not in "\t\r" else f"'{text}"
