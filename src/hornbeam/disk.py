"""Reserves disk space before anything is written: a full disk is then an error before the work begins."""

import errno
import os
from pathlib import Path

from hornbeam.memory import in_words

__all__ = ["FULL", "take_room"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def take_room(file: int, n_bytes: int, folder: Path, *, what: str, way_out: str) -> None:
    """Reserve this many bytes for an open file in `folder`; `what` says what happens there, for the error.

    If a file is mapped, a page that cannot be written later would end the process.
    """
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, n_bytes)
        else:  # macOS
            os.truncate(file, n_bytes)
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(
            error.errno, f"There is no room for {in_words(n_bytes)} in {folder}, where {what}. {way_out}"
        ) from error
