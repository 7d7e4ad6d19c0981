"""Row 64 of the catalogue: files changed at random whose checksum was made right again.

Each must be refused with `ModelFormatError` or give a model that predicts; here some thousands of them, more
by running `tests/fuzz/fuzz_load.py`.
"""

import random
from pathlib import Path

import pytest
from fuzz.fuzz_load import CHANGES, judge, rows_for, sample_files
from model_files import repaired

import hornbeam as hb


@pytest.fixture(scope="module")
def files() -> list[bytes]:
    """The files of all sample models."""
    return sample_files()


def test_the_files_themselves_are_models(files: list[bytes], tmp_path: Path) -> None:
    assert len(files) > 20
    for data in files:
        assert repaired(data) == data
        assert judge(data)
        (tmp_path / "m").write_bytes(data)
        model = hb.load(tmp_path / "m")
        assert len(rows_for(model)) == 4


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_changed_files_are_refused_or_work(change, files: list[bytes]) -> None:  # type: ignore[no-untyped-def]
    draw = random.Random(change.__name__)
    n_models = 0
    for _ in range(1000):
        data = repaired(change(draw.choice(files), draw))
        n_models += judge(data)
    assert 0 < n_models < 600  # some changes leave a model, most do not
