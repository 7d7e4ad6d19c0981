"""Universal Binary JSON, as XGBoost writes it: bytes come in, plain values go out, or a refusal.

A value is a letter and its bytes, big-endian. Lists of numbers of one type come as `[$<type>#<length>`, which
are read as arrays.
"""

import struct
from typing import Any

import numpy as np

from hornbeam.errors import ImportedModelError

__all__ = ["read_ubjson"]

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_DEEPEST = 64


def read_ubjson(data: bytes) -> Any:
    """Read one value; ImportedModelError if the bytes are not one."""
    reader = _Reader(data)
    try:
        return reader.value(0)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise ImportedModelError(f"the file is not binary JSON, from byte {reader.at} on: {error}") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = memoryview(data)
        self.at = 0

    def take(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self.data):
            raise ValueError("it ends too early")
        part = self.data[self.at : self.at + count]
        self.at += count
        return part

    def mark(self) -> str:
        while True:
            mark = chr(self.take(1)[0])
            if mark != "N":  # nothing, to fill up
                return mark

    def peek(self) -> str:
        return chr(self.data[self.at])

    def number(self, mark: str) -> Any:
        kind = np.dtype(_NUMBERS[mark])
        return np.frombuffer(self.take(kind.itemsize), dtype=kind)[0].item()

    def length(self) -> int:
        mark = self.mark()
        if mark not in "iUIlL":
            raise ValueError(f"a length of type {mark!r}")
        return int(self.number(mark))

    def text(self) -> str:
        return str(self.take(self.length()), "utf-8")

    def value(self, depth: int, mark: str | None = None) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deep")
        mark = self.mark() if mark is None else mark
        plain = {"Z": None, "T": True, "F": False}
        if mark in plain:
            return plain[mark]
        if mark in _NUMBERS:
            return self.number(mark)
        if mark == "C":
            return chr(self.take(1)[0])
        if mark in "SH":
            return self.text()
        if mark == "[":
            return self._list(depth)
        if mark == "{":
            return self._object(depth)
        raise ValueError(f"a value of type {mark!r}")

    def _list(self, depth: int) -> Any:
        kind = None
        if self.peek() == "$":
            self.take(1)
            kind = chr(self.take(1)[0])
        if self.peek() == "#":
            self.take(1)
            count = self.length()
            if kind in _NUMBERS:
                dtype = np.dtype(_NUMBERS[str(kind)])
                return np.frombuffer(self.take(count * dtype.itemsize), dtype=dtype).tolist()
            return [self.value(depth + 1, kind) for _ in range(count)]
        values = []
        while self.peek() != "]":
            values.append(self.value(depth + 1))
        self.take(1)
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        found = {}
        while self.peek() != "}":
            key = self.text()
            found[key] = self.value(depth + 1)
        self.take(1)
        return found
