"""Bytes of a CSV file as the reader needs them: UTF-8, with lines that end with a line feed.

Other encodings are translated as they are read. Lines that end with a carriage return alone, as old Macs and
some programs write them, are recognised by a beginning without any line feed.
"""

import codecs
import io
from collections.abc import Callable
from typing import Any

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.reading.table_format import TableFormat
from hornbeam.inside.words import printable

__all__ = ["NOT_UTF8", "as_utf8_lines", "refusing_other_bytes"]

_CHUNK = 2**16
NOT_UTF8 = "{path} is not in UTF-8: name its encoding with --encoding, such as latin-1 or utf-16."


def as_utf8_lines(path: str, stream: Any, form: TableFormat) -> Any:
    """Wrap a stream that needs translation; return others unchanged."""
    if not form.is_utf8 and form.encoding is not None:
        stream = io.BufferedReader(_Translated(stream, _decoding(path, form.encoding)), _CHUNK)
    begin = stream.peek(_CHUNK)
    if b"\r" in begin[:-1] and b"\n" not in begin:
        return io.BufferedReader(_Translated(stream, _line_feeds), _CHUNK)
    return stream


def refusing_other_bytes(path: str, stream: Any) -> Any:
    """Wrap a stream that must be UTF-8: Arrow would hand such rows on, and fail where nobody can catch it."""
    decoder = codecs.getincrementaldecoder("utf-8")()

    def check(data: bytes, final: bool) -> bytes:
        try:
            decoder.decode(data, final)
        except UnicodeError:
            raise Mistake(NOT_UTF8.format(path=printable(path, None))) from None
        return data

    return io.BufferedReader(_Translated(stream, check), _CHUNK)


def _decoding(path: str, encoding: str) -> Callable[[bytes, bool], bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()

    def translate(data: bytes, final: bool) -> bytes:
        try:
            return decoder.decode(data, final).encode("utf-8")
        except UnicodeError as error:
            raise Mistake(
                f"{printable(path, None)} is not in {printable(encoding)}: {error}. Try another --encoding."
            ) from None

    return translate


def _line_feeds(data: bytes, final: bool) -> bytes:
    return data.replace(b"\r", b"\n")


class _Translated(io.RawIOBase):
    """Reads a stream through a function of pieces; the last piece, which may be empty, is called final."""

    def __init__(self, source: Any, translate: Callable[[bytes, bool], bytes]) -> None:
        self._source = source
        self._translate = translate
        self._ready = b""
        self._is_over = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with what is translated; 0 is the end."""
        while not self._ready and not self._is_over:
            piece = self._source.read1(_CHUNK)
            self._is_over = not piece
            self._ready = self._translate(piece, self._is_over)
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size
