"""The file of an encoded table: a header in JSON that says what everything means, then plain arrays.

    8 bytes   the mark of the format and its version
    8 bytes   the length of the header, little-endian
    4 bytes   the CRC-32 of the header, little-endian
    header    JSON: the columns and, for every array, its type, length and place
    arrays    each at a multiple of 64 bytes

Codes are written block by block (`CodeWriter`) and read by mapping the file (`read_arrays`): only the parts
that are used come into memory, and the system may drop them again. A file is written under another name and
renamed when it is complete. Anything wrong with a file raises `CodeFileError`.
"""

import json
import os
import secrets
import struct
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hornbeam.data.wording import shown
from hornbeam.disk import take_room

__all__ = ["CodeFileError", "CodeWriter", "read_arrays"]

_MARK = b"HBCODES1"
_FIXED = struct.Struct("<8sQI")
_MOST_HEADER = 1 << 30
_ALIGNMENT = 64
_TYPES = frozenset({"|b1", "|u1", "<u2", "<u4", "<u8", "|i1", "<i2", "<i4", "<i8", "<f4", "<f8"})

AnyArray = npt.NDArray[Any]


class CodeFileError(ValueError):
    """A file is not an encoded table, or is damaged."""


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT


class CodeWriter:
    """Writes a file; arrays are declared first and filled piece by piece. A failed write leaves no file."""

    def __init__(
        self, path: Path, facts: Mapping[str, Any], arrays: Mapping[str, tuple[npt.DTypeLike, int]]
    ) -> None:
        self._path = path
        self._places: dict[str, tuple[int, int]] = {}
        described: dict[str, list[Any]] = {}
        place = 0
        for name, (dtype, length) in arrays.items():
            kind = np.dtype(dtype).newbyteorder("<")
            described[name] = [kind.str, length, place]
            self._places[name] = (place, kind.itemsize)
            place = _aligned(place + kind.itemsize * length)
        header = json.dumps({"facts": facts, "arrays": described, "n_bytes": place}).encode()
        self._start = _aligned(_FIXED.size + len(header))
        self._temporary = path.with_name(f".{path.name}-{secrets.token_hex(8)}.tmp")
        self._file = self._temporary.open("xb")
        try:
            take_room(
                self._file.fileno(),
                self._start + place,
                path.parent,
                what="the codes of the rows are written",
                way_out="Make room there, or name another folder (of a fit: TMPDIR, or checkpoint).",
            )
            self._file.write(_FIXED.pack(_MARK, len(header), zlib.crc32(header)) + header)
        except BaseException:
            self._abandon()
            raise

    def write(self, name: str, begin: int, values: AnyArray) -> None:
        """Fill an array from element `begin` on."""
        place, itemsize = self._places[name]
        self._file.seek(self._start + place + begin * itemsize)
        self._file.write(np.ascontiguousarray(values).view(np.uint8).data)

    def _abandon(self) -> None:
        self._file.close()
        with suppress(OSError):
            self._temporary.unlink()

    def __enter__(self) -> Self:
        """Begin to fill the arrays."""
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Put the complete file in its place; leave nothing if that fails."""
        if kind is not None:
            self._abandon()
            return
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._temporary, self._path)
        except BaseException:
            self._abandon()
            raise


def read_arrays(path: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Open a file: its facts, and its arrays, mapped."""
    with path.open("rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        fixed = file.read(_FIXED.size)
        if len(fixed) < _FIXED.size or fixed[:8] != _MARK:
            raise CodeFileError(
                f"{path} is not an encoded table of hornbeam. Make one with EncodedTable.make."
            )
        _, length, checksum = _FIXED.unpack(fixed)
        if length > min(_MOST_HEADER, n_bytes):
            raise _damaged(path, "its header is longer than the file")
        header = file.read(length)
    if len(header) < length or zlib.crc32(header) != checksum:
        raise _damaged(path, "the checksum of its header is wrong")
    document = json.loads(header)
    start = _aligned(_FIXED.size + length)
    if n_bytes != start + document["n_bytes"]:
        raise _damaged(path, f"it has {n_bytes} bytes and should have {start + document['n_bytes']}")
    whole = np.memmap(path, dtype=np.uint8, mode="r") if n_bytes > start else np.empty(0, np.uint8)
    arrays = {name: _array(whole[start:], where, path) for name, where in document["arrays"].items()}
    return document["facts"], arrays


def _array(whole: AnyArray, where: Sequence[Any], path: Path) -> AnyArray:
    kind, length, place = where
    if kind not in _TYPES or length < 0 or place < 0:
        raise _damaged(path, f"it has an array of {shown(kind)}")
    end = place + np.dtype(kind).itemsize * length
    if end > len(whole):
        raise _damaged(path, "an array reaches beyond its end")
    found: AnyArray = np.asarray(whole[place:end]).view(kind)
    return found


def _damaged(path: Path, how: str) -> CodeFileError:
    return CodeFileError(f"{path} is damaged: {how}. Make it again with EncodedTable.make.")
