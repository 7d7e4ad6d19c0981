"""Files of encoded tables that are damaged, foreign or lie: each is refused, none crashes the core."""

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.data.streams.code_file import CodeFileError, CodeWriter, read_arrays


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "number": pa.array(rng.normal(size=400), mask=rng.random(400) < 0.1),
            "text": rng.choice(["a", "b"], 400),
            "y": rng.choice(["no", "yes"], 400),
        }
    )
    hb.EncodedTable.make(table, tmp_path / "codes", target="y")
    return tmp_path / "codes"


def test_arrays_come_back(tmp_path: Path) -> None:
    place = tmp_path / "file"
    with CodeWriter(
        place, {"a": 1}, {"x": (np.uint16, 5), "none": (np.uint8, 0), "y": (np.float64, 2)}
    ) as file:
        file.write("x", 3, np.array([7, 8], dtype=np.uint16))
        file.write("x", 0, np.array([1, 2, 3], dtype=np.uint16))
        file.write("y", 0, np.array([0.5, np.inf]))
    facts, arrays = read_arrays(place)
    assert facts == {"a": 1}
    np.testing.assert_array_equal(arrays["x"], [1, 2, 3, 7, 8])
    np.testing.assert_array_equal(arrays["y"], [0.5, np.inf])
    assert len(arrays["none"]) == 0


def test_a_file_that_is_not_finished_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), CodeWriter(tmp_path / "file", {}, {"x": (np.uint8, 5)}):
        raise RuntimeError
    assert not any(tmp_path.iterdir())


def test_foreign_and_cut_files(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    other = tmp_path / "other"
    for damaged, message in (
        (b"", "not an encoded table"),
        (b"PAR1" + content[4:], "not an encoded table"),
        (content[:19], "not an encoded table"),
        (content[:100], "longer than the file|checksum"),
        (content[:-1], "bytes and should have"),
        (content + b"\0", "bytes and should have"),
        (content[:8] + struct.pack("<Q", 2**60) + content[16:], "longer than the file"),
        (content[:30] + b"?" + content[31:], "checksum"),
    ):
        other.write_bytes(damaged)
        with pytest.raises(CodeFileError, match=message):
            hb.EncodedTable.open(other)
    with pytest.raises(FileNotFoundError):
        hb.EncodedTable.open(tmp_path / "nothing")


def _with_header(content: bytes, change: Any) -> bytes:
    """Return the file with another header and the right checksum of it, as only malice would make it."""
    length = struct.unpack("<Q", content[8:16])[0]
    document = json.loads(content[20 : 20 + length])
    change(document)
    header = json.dumps(document).encode()
    header += b" " * (length - len(header))
    return content[:8] + struct.pack("<QI", len(header), zlib.crc32(header)) + header + content[20 + length :]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d["arrays"]["codes 0"].__setitem__(2, 10**9),
        lambda d: d["arrays"]["codes 0"].__setitem__(2, -64),
        lambda d: d["arrays"]["codes 0"].__setitem__(1, 3),
        lambda d: d["arrays"]["codes 0"].__setitem__(0, "|O"),
        lambda d: d["arrays"]["codes 1"].__setitem__(0, "<u2"),
        lambda d: d["arrays"].pop("codes 1"),
        lambda d: d["arrays"].pop("values 0"),
        lambda d: d["facts"].__setitem__("n_rows", 7),
        lambda d: d["facts"]["columns"][0].__setitem__("has_missing", False),
        lambda d: d["facts"]["columns"][1].__setitem__("categories", ["a"]),
        lambda d: d["facts"]["beside"]["target"].__setitem__("labels", ["no"]),
        lambda d: d["facts"].pop("beside"),
    ],
)
def test_headers_that_lie(path: Path, change: Any) -> None:
    path.write_bytes(_with_header(path.read_bytes(), change))
    with pytest.raises(CodeFileError, match="damaged"):
        hb.EncodedTable.open(path)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1), byte=st.integers(0, 255))
def test_any_byte_may_be_wrong(path: Path, place: float, byte: int) -> None:
    """A code that is still in range makes another model; everything else is refused."""
    content = bytearray(path.read_bytes())
    other = path.with_name("other")
    content[min(int(place * len(content)), len(content) - 1)] = byte
    other.write_bytes(content)
    try:
        table = hb.EncodedTable.open(other)
    except CodeFileError:
        return
    hb.GradientBoostingClassifier(n_estimators=1).fit(table)
