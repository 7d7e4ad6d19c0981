"""The bytes of a model file: safetensors, behind a head of fixed form with format key, size and SHA-256.

`pack` turns a document (plain values) and tensors (arrays by name) into bytes, `read` turns a file into both
again. It trusts nothing: the head is checked before the rest is read, the checksum before anything is parsed,
the place of every tensor before one is used. The meaning of the contents is known to `record.py` and the
codecs.

    8 bytes   length of the header, little-endian
    header    ASCII JSON, padded with spaces: __metadata__ (starts with the head below), then the tensors
    data      the tensors, end to end

The container is read by hand because a strict reader is a page of Python: the safetensors package would
neither check the checksum before it parses nor say where a file was cut.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from io import BufferedIOBase
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError

__all__ = ["FORMAT_VERSION", "STORED_DTYPES", "Contents", "pack", "read", "refuse_other_keys"]

AnyArray = npt.NDArray[Any]

FORMAT_VERSION = 1

# Python makes objects of some 30 times the length of the text it parses, so this bounds memory and time, too.
MAX_HEADER_BYTES = 2**20
MAX_JSON_DEPTH = 64
MAX_INTEGER_CHARACTERS = 20  # every 64-bit integer fits
MAX_DIMENSIONS = 4
READ_BYTES = 2**22  # Ctrl-C is noticed between two pieces, and a piece stays in the cache until it is hashed
_LARGE_BYTES = 2**25  # from this size on, reading and hashing at the same time pays off

# The head: every model file starts with it, whatever its version; it is checked before anything is parsed.
_KEY = b'{"__metadata__":{"format":"hornbeam","size":"'
_SIZE_DIGITS = 16
_BETWEEN = b'","sha256":"'
_DIGEST_DIGITS = 64
_LENGTH_BYTES = 8
_SIZE_AT = _LENGTH_BYTES + len(_KEY)
_DIGEST_AT = _SIZE_AT + _SIZE_DIGITS + len(_BETWEEN)
_HEAD_BYTES = _DIGEST_AT + _DIGEST_DIGITS
_NO_DIGEST = b"0" * _DIGEST_DIGITS  # stands for the digest while the digest is computed

_METADATA_KEYS = {"format", "size", "sha256", "format_version", "library_version", "model"}
_TENSOR_KEYS = {"dtype", "shape", "data_offsets"}

_DTYPES: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(code)
    for name, code in {
        "BOOL": "?",
        "U8": "u1",
        "I8": "i1",
        "U16": "<u2",
        "I16": "<i2",
        "U32": "<u4",
        "I32": "<i4",
        "U64": "<u8",
        "I64": "<i8",
        "F16": "<f2",
        "F32": "<f4",
        "F64": "<f8",
    }.items()
}
STORED_DTYPES: Mapping[np.dtype[Any], str] = {dtype: name for name, dtype in _DTYPES.items()}


@dataclass(frozen=True, eq=False)
class Contents:
    """What a file holds: a document of plain values, tensors by name, and which hornbeam wrote it.

    `notes` are for the program that wrote the file; no model depends on them. The command line notes the
    format of its tables.
    """

    document: dict[str, Any]
    tensors: dict[str, AnyArray]
    library_version: str
    notes: dict[str, Any] = field(default_factory=dict)


# ------------------------------------------------------------------------------------------------------------
# Writing


def pack(contents: Contents) -> list[bytes | memoryview]:
    """Return the pieces of a model file, end to end. The same contents give the same bytes."""
    # Large items first: that keeps every tensor aligned to its item size, as other readers expect.
    names = sorted(contents.tensors, key=lambda name: (-contents.tensors[name].dtype.itemsize, name))
    data = [_little_endian(contents.tensors[name]) for name in names]
    header = _header(contents, names, data)
    size = _LENGTH_BYTES + len(header) + sum(array.nbytes for array in data)
    start = len(header).to_bytes(_LENGTH_BYTES, "little") + header
    start = start[:_SIZE_AT] + f"{size:0{_SIZE_DIGITS}}".encode("ascii") + start[_SIZE_AT + _SIZE_DIGITS :]
    pieces: list[bytes | memoryview] = [start, *(_bytes_of(array) for array in data if array.size)]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    pieces[0] = start[:_DIGEST_AT] + digest.hexdigest().encode("ascii") + start[_HEAD_BYTES:]
    return pieces


def _header(contents: Contents, names: list[str], data: list[AnyArray]) -> bytes:
    """Write the JSON with zeros in place of the size and the digest, which depend on it."""
    table: dict[str, Any] = {
        "__metadata__": {
            "format": "hornbeam",
            "size": "0" * _SIZE_DIGITS,
            "sha256": _NO_DIGEST.decode("ascii"),
            "format_version": str(FORMAT_VERSION),
            "library_version": contents.library_version,
            "model": _json(contents.document),
            **({"notes": _json(contents.notes)} if contents.notes else {}),
        }
    }
    end = 0
    for name, array in zip(names, data, strict=True):
        begin, end = end, end + array.nbytes
        dtype = STORED_DTYPES[array.dtype]
        table[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
    header = _json(table).encode("ascii")
    header += b" " * (-len(header) % 8)
    if len(header) > MAX_HEADER_BYTES:
        raise ValueError(
            f"The header of the model file would have {len(header)} bytes; {MAX_HEADER_BYTES} are allowed. "
            "It holds the parameters: shorten long lists among them."
        )
    return header


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _bytes_of(array: AnyArray) -> memoryview:
    return array.data.cast("B")


def _little_endian(array: AnyArray) -> AnyArray:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


# ------------------------------------------------------------------------------------------------------------
# Reading


def read(file: BufferedIOBase, size: int) -> Contents:
    """Read and check a file of `size` bytes; `ModelFormatError` says what is wrong with it."""
    head = _exactly(file, min(size, _HEAD_BYTES), size)
    _check_head(head, size)
    buffer = _read_and_check(file, head, size)
    header_end = _LENGTH_BYTES + int.from_bytes(head[:_LENGTH_BYTES], "little")
    if header_end > size:
        raise ModelFormatError(f"the header ends at byte {header_end}, the file at {size}")
    header = _parse(str(buffer[_LENGTH_BYTES:header_end], "latin-1"), "header")
    document, library_version, notes = _read_metadata(header.pop("__metadata__", None))
    return Contents(document, _read_tensors(header, buffer[header_end:]), library_version, notes)


def _exactly(file: BufferedIOBase, count: int, size: int) -> bytes:
    data = file.read(count)
    if len(data) < count:
        raise _cut_short(len(data), size)
    return data


def _cut_short(n_read: int, size: int) -> ModelFormatError:
    return ModelFormatError(f"truncated at {n_read} of {size} bytes while it was read")


def _check_head(head: bytes, size: int) -> None:
    """Check a file by its first bytes alone, so that a wrong one is refused at once however large it is."""
    key = head[_LENGTH_BYTES:_SIZE_AT]
    if key != _KEY[: len(key)]:
        raise ModelFormatError(
            "not a hornbeam model file: the format key is missing at its start. hornbeam.load opens what "
            "hornbeam.save has written, and never a pickle"
        )
    if len(head) < _HEAD_BYTES:
        raise ModelFormatError(
            f"truncated at {size} of at least {_HEAD_BYTES} bytes, or not a hornbeam model file at all"
        )
    header_length = int.from_bytes(head[:_LENGTH_BYTES], "little")
    if header_length > MAX_HEADER_BYTES:
        raise ModelFormatError(
            f"its header claims {header_length} bytes, but a header has at most {MAX_HEADER_BYTES}; no "
            "checksum could match"
        )
    stated = head[_SIZE_AT : _SIZE_AT + _SIZE_DIGITS]
    if not stated.isdigit():
        raise ModelFormatError("damaged: its size is not a number; no checksum could match")
    if size < int(stated):
        raise ModelFormatError(f"truncated at {size} of {int(stated)} bytes; no checksum could match")
    if size > int(stated):
        raise ModelFormatError(
            f"{size - int(stated)} bytes follow its {int(stated)} bytes; no checksum could match"
        )


def _read_and_check(file: BufferedIOBase, head: bytes, size: int) -> memoryview:
    """Read the rest and compare the checksum, in pieces.

    For a large file, one piece is hashed while the next is read.
    """
    buffer = np.empty(size, dtype=np.uint8).data
    buffer[:_HEAD_BYTES] = head
    digest = hashlib.sha256(head[:_DIGEST_AT] + _NO_DIGEST)
    with ThreadPoolExecutor(1) as aside:  # starts no thread before something is submitted
        sums_aside = size > _LARGE_BYTES
        for begin in range(_HEAD_BYTES, size, READ_BYTES):
            piece = buffer[begin : begin + READ_BYTES]
            n_read = file.readinto(piece)
            if n_read < len(piece):
                raise _cut_short(begin + n_read, size)
            if sums_aside:
                try:
                    aside.submit(digest.update, piece)
                    continue
                except RuntimeError:  # the system allows no further thread
                    sums_aside = False
            digest.update(piece)
    if head[_DIGEST_AT:] != digest.hexdigest().encode("ascii"):
        raise ModelFormatError("damaged: the checksum does not match its contents")
    return buffer.toreadonly()


def _read_metadata(metadata: Any) -> tuple[dict[str, Any], str, dict[str, Any]]:
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ModelFormatError("its metadata are not texts by name")
    version, library_version = metadata.get("format_version", ""), metadata.get("library_version", "")
    if not re.fullmatch(r"[1-9][0-9]{0,8}", version):
        raise ModelFormatError("it does not say which version of the format it has")
    if not re.fullmatch(r"[0-9A-Za-z.+-]{1,40}", library_version):
        raise ModelFormatError("it does not say which version of hornbeam made it")
    if int(version) > FORMAT_VERSION:
        raise ModelFormatError(
            f"made by hornbeam {library_version}, in version {version} of the format; this hornbeam reads "
            f"versions up to {FORMAT_VERSION}: upgrade hornbeam to {library_version} or newer"
        )
    notes = _parse(metadata.pop("notes"), "notes") if "notes" in metadata else {}
    refuse_other_keys(metadata, _METADATA_KEYS, "its metadata")
    return _parse(metadata["model"], "description of the model"), library_version, notes


def refuse_other_keys(given: Mapping[str, Any], known: set[str], what: str) -> None:
    """Refuse missing and unknown keys: an unknown one would otherwise be ignored."""
    missing, unknown = sorted(known - given.keys()), sorted(given.keys() - known)
    if missing:
        raise ModelFormatError(f"{what}: the key {missing[0]!r} is missing")
    if unknown:
        raise ModelFormatError(
            f"{what}: the key {_short(unknown[0])} is not known to this version of hornbeam"
        )


# ------------------------------------------------------------------------------------------------------------
# Tensors


def _read_tensors(table: Mapping[str, Any], data: memoryview) -> dict[str, AnyArray]:
    """Make views of the data, after checking that the tensors cover every byte exactly once."""
    tensors: dict[str, AnyArray] = {}
    covered = 0
    places = {name: _place_of(name, entry, len(data)) for name, entry in table.items()}
    for name, (begin, end) in sorted(places.items(), key=lambda item: item[1]):
        if begin != covered:
            raise ModelFormatError(
                f"tensor {_short(name)} starts at byte {begin} of the data, not at {covered}"
            )
        covered = end
        tensors[name] = _view(name, table[name], data[begin:end])
    if covered != len(data):
        raise ModelFormatError(f"{len(data) - covered} bytes at the end of the data belong to no tensor")
    return tensors


def _place_of(name: str, entry: Any, data_bytes: int) -> tuple[int, int]:
    """Check one entry of the table; return where its tensor begins and ends."""
    if not isinstance(entry, dict):
        raise ModelFormatError(f"tensor {_short(name)} is not described")
    refuse_other_keys(entry, _TENSOR_KEYS, f"tensor {_short(name)}")
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ModelFormatError(f"tensor {_short(name)} has an unknown dtype")
    if not _are_sizes(shape, data_bytes) or len(shape) > MAX_DIMENSIONS or 0 in shape[1:]:
        raise ModelFormatError(f"tensor {_short(name)} has an impossible shape")
    if not _are_sizes(place, data_bytes) or len(place) != 2 or place[0] > place[1]:
        raise ModelFormatError(f"tensor {_short(name)} lies outside the data")
    # Python's integers do not overflow, and none of the factors exceeds the size of the file.
    if math.prod(shape) * _DTYPES[dtype].itemsize != place[1] - place[0]:
        raise ModelFormatError(f"tensor {_short(name)} does not have the size of its shape")
    return place[0], place[1]


def _are_sizes(values: Any, largest: int) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value <= largest for value in values)


def _view(name: str, entry: Mapping[str, Any], data: memoryview) -> AnyArray:
    dtype = _DTYPES[entry["dtype"]]
    if dtype.kind == "b" and np.frombuffer(data, dtype=np.uint8).max(initial=0) > 1:
        raise ModelFormatError(f"tensor {_short(name)} holds truth values other than 0 and 1")
    return np.frombuffer(data, dtype=dtype).reshape(entry["shape"])


def _short(name: str) -> str:
    return repr(name[:80])


# ------------------------------------------------------------------------------------------------------------
# JSON, strictly

# A string, closed or not: an open one runs to the end, so that the search stays linear.
_JSON_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)

# By character: the change of depth.
_DEPTH_STEPS = np.zeros(128, dtype=np.int8)
_DEPTH_STEPS[list(b"[{")] = 1
_DEPTH_STEPS[list(b"]}")] = -1


def _parse(text: str, what: str) -> dict[str, Any]:
    """Parse a JSON object: ASCII, no key twice, no number that is not finite, no deep nesting."""
    if not text.isascii():
        raise ModelFormatError(f"its {what} is not ASCII")
    _refuse_depth(text, what)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_without_duplicates,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except ModelFormatError as error:
        raise ModelFormatError(f"its {what}: {error}") from None
    except ValueError as error:
        raise ModelFormatError(f"its {what} is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ModelFormatError(f"its {what} is not a JSON object")
    return value


def _refuse_depth(text: str, what: str) -> None:
    """Count brackets outside strings: the parser calls itself for each level, and the stack is finite."""
    codes = np.frombuffer(_JSON_STRING.sub("", text).encode("ascii"), dtype=np.uint8)
    if np.cumsum(_DEPTH_STEPS[codes], dtype=np.int32).max(initial=0) > MAX_JSON_DEPTH:
        raise ModelFormatError(f"its {what} is nested more than {MAX_JSON_DEPTH} deep")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ModelFormatError("a key appears twice")
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ModelFormatError(f"{text} is no number")


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_CHARACTERS:
        raise ModelFormatError(f"a whole number has {len(text)} digits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ModelFormatError("a number is too large")
    return number
