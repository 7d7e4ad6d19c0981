"""Opens files with tables, decompresses them, and recognises formats by their first bytes."""

import gzip
import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.outputs import STANDARD
from hornbeam.cli.reading.pipes import endable
from hornbeam.inside.words import printable

__all__ = ["STANDARD", "FileKind", "opened", "refuse_other_files", "starts_as"]

FileKind = Literal["csv", "parquet", "feather", "json"]

_BEGINNINGS: dict[bytes, FileKind] = {b"PAR1": "parquet", b"ARROW1": "feather", b"FEA1": "feather"}
_SAVE_AS_CSV = "save the table as CSV or Parquet."
_REFUSED = {
    b"\xd0\xcf\x11\xe0": f"an Excel workbook of the old kind: {_SAVE_AS_CSV}",
    b"SQLite format 3": f"an SQLite database: {_SAVE_AS_CSV}",
    b"\x89HDF": f"an HDF5 file: {_SAVE_AS_CSV}",
    b"BZh": "compressed by bzip2: unpack it, or use gzip.",
    b"\xfd7zXZ": "compressed by xz: unpack it, or use gzip.",
    b"\x28\xb5\x2f\xfd": "compressed by zstd: unpack it, or use gzip.",
    b"%PDF": f"a PDF document: {_SAVE_AS_CSV}",
}
_JSON = re.compile(rb'\s*(?:\{\s*["}]|\[\s*\{)')
_SHEETS = (".xlsx", ".xlsm", ".ods")


@contextmanager
def opened(path: str) -> Iterator[Any]:
    """Open a file to read, decompressed; standard input is not ours to close."""
    if path == STANDARD:
        with endable(sys.stdin.buffer) as standard:
            yield standard if hasattr(standard, "peek") else io.BufferedReader(standard)
        return
    if os.path.isdir(path):
        raise Mistake(f"{printable(path, None)} is a folder: name a file with a table.{_tables_in(path)}")
    with open(path, "rb") as file, endable(file) as source:
        if path.endswith(".gz"):
            with gzip.open(source) as unpacked, io.BufferedReader(unpacked) as stream:
                yield stream
        else:
            yield source


def _tables_in(folder: str) -> str:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    tables = [name for name in names if name.endswith((".csv", ".parquet", ".csv.gz", ".feather", ".tsv"))]
    return f" In it is, for example, {printable(tables[0])}." if tables else ""


def starts_as(stream: Any) -> FileKind:
    """Look at the first bytes; standard input cannot be rewound."""
    begin = stream.peek(64)[:64]
    for mark, kind in _BEGINNINGS.items():
        if begin.startswith(mark):
            return kind
    return "json" if _JSON.match(begin) else "csv"


def refuse_other_files(path: str, stream: Any) -> None:
    """Refuse files that cannot be read here, naming what they are."""
    begin = stream.peek(64)[:64]
    shown = printable(path, None)
    for mark, what in _REFUSED.items():
        if begin.startswith(mark):
            raise Mistake(f"{shown} is {what}")
    if begin.startswith(b"PK\x03\x04"):
        if path.lower().endswith(_SHEETS):
            raise Mistake(f"{shown} is an Excel or OpenDocument workbook: save the sheet as CSV.")
        raise Mistake(f"{shown} is a ZIP archive, perhaps an Excel workbook: unpack it, or save it as CSV.")
    if begin.startswith(b"\x1f\x8b"):
        raise Mistake(f"{shown} is compressed by gzip: its name must end in .gz.")
