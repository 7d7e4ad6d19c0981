"""Disks without room: an error before the work begins, which says where and what for. Nothing is left."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hornbeam as hb
from hornbeam.data.streams.code_file import CodeWriter
from hornbeam.recipes.boosting.mapped_rows import MappedRows


def test_scores_of_rows(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no room for .* in .*raise max_memory"):
        MappedRows(tmp_path, 2**60)
    assert not any(tmp_path.iterdir())


def test_codes_of_rows(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"no room for .* in .* codes of the rows .*TMPDIR"):
        CodeWriter(tmp_path / "codes", {}, {"codes 0": (np.uint8, 2**60)})
    assert not any(tmp_path.iterdir())


@contextlib.contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """Let this process write no longer files, which is what a full disk is to it."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_streams_that_are_written_down(tmp_path: Path) -> None:
    table = pa.table({"a": np.random.default_rng(0).random(20_000), "y": np.arange(20_000.0)})
    with files_of_at_most(50_000), pytest.raises(OSError, match=r"no room left in .* stream .* read twice"):
        hb.EncodedTable.make(table.to_reader(1_000), tmp_path / "codes", target="y")
    assert not any(tmp_path.iterdir())


def test_codes_that_are_written_while_there_is_room_for_the_stream(tmp_path: Path) -> None:
    table = pa.table({"a": np.random.default_rng(0).random(100_000), "y": np.arange(100_000) % 2})
    with files_of_at_most(50_000), pytest.raises(OSError, match=r"no room for .* codes of the rows"):
        hb.EncodedTable.make(table, tmp_path / "codes", target="y")
    assert not any(tmp_path.iterdir())
