"""A folder for temporary files that is always removed, whenever Ctrl-C comes.

`tempfile.TemporaryDirectory` makes the folder before it arranges for its removal, and an interrupt during the
removal leaves files behind. Here the name is known before the folder exists, and the removal is tried twice.
"""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["scratch_folder"]


@contextmanager
def scratch_folder(prefix: str, place: Path | None = None) -> Iterator[Path]:
    """Make a folder in `place` (None: where the system keeps temporary files); remove it at the end."""
    folder = Path(tempfile.gettempdir() if place is None else place) / f"{prefix}{secrets.token_hex(8)}"
    try:
        try:
            folder.mkdir(mode=0o700)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    finally:  # an interrupt may have ended the first removal
        shutil.rmtree(folder, ignore_errors=True)
