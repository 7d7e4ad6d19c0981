"""The per-row data of a boosting fit, in memory or, if memory is short, in a memory-mapped file.

Scores, derivatives and targets are read from the first row to the last, several times per round. A file is
good enough for that: the system writes pages out and reads them again. It has no name, so it disappears with
the process, however that ends, and its disk space is reserved before the first row is written.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.disk import take_room

__all__ = ["MappedRows"]

_PAGE = 4096


class MappedRows:
    """Mapped memory of a known size, handed out piece by piece."""

    def __init__(self, folder: Path, n_bytes: int) -> None:
        with tempfile.TemporaryFile(dir=folder) as file:
            take_room(
                file.fileno(),
                n_bytes,
                folder,
                what="scores and derivatives of the rows are kept because max_memory is short",
                way_out="Make room there, let TMPDIR name another folder, or raise max_memory.",
            )
            self._left: npt.NDArray[np.uint8] = np.memmap(file, dtype=np.uint8, mode="r+", shape=(n_bytes,))

    @staticmethod
    def bytes_for(*arrays: npt.NDArray[Any] | None) -> int:
        """Say how many bytes copies of arrays take in the file."""
        return sum(_whole_pages(array.nbytes) for array in arrays if array is not None)

    def take(self, n_bytes: int) -> npt.NDArray[np.uint8]:
        """Return the next piece."""
        piece, self._left = np.split(self._left, [_whole_pages(n_bytes)])
        return piece

    def copy(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a copy that lies in the file."""
        copied: npt.NDArray[Any] = self.take(array.nbytes)[: array.nbytes].view(array.dtype)
        copied[:] = array
        return copied


def _whole_pages(n_bytes: int) -> int:
    return -(-n_bytes // _PAGE) * _PAGE
