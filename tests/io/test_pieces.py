"""Files that are read in many pieces, one added up while the next is read; row 83 for `load`."""

import io
import os
import signal

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.errors import ModelFormatError
from hornbeam.io import container
from hornbeam.io.native import packed, read_model


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A model file of many pieces, which counts as large."""
    monkeypatch.setattr(container, "READ_BYTES", 500)
    monkeypatch.setattr(container, "_LARGE_BYTES", 5000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = hb.RandomForestClassifier(5, random_state=0).fit(X, rng.integers(0, 2, 200))
    data = b"".join(packed(model))
    assert len(data) > 20 * container.READ_BYTES
    return data


def test_a_large_file_is_the_model_that_was_saved(data: bytes) -> None:
    assert b"".join(packed(read_model(io.BytesIO(data), len(data)))) == data


def test_every_piece_is_added_up(data: bytes) -> None:
    for place in range(container.READ_BYTES // 2, len(data), container.READ_BYTES):
        flipped = bytearray(data)
        flipped[place] ^= 1
        with pytest.raises(ModelFormatError):
            read_model(io.BytesIO(bytes(flipped)), len(data))


def test_without_further_threads_pieces_are_added_up_one_after_the_other(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(container.ThreadPoolExecutor, "submit", no_thread)
    assert read_model(io.BytesIO(data), len(data)).n_features_in_ == 3
    with pytest.raises(ModelFormatError, match="checksum"):
        read_model(io.BytesIO(data[:-1] + bytes([data[-1] ^ 1])), len(data))


def test_row_83_interrupted_load(data: bytes) -> None:
    """Ctrl-C between two pieces ends the load, and the next load works."""

    class Interrupted(io.BytesIO):
        n_pieces = 0

        def readinto(self, piece: object) -> int:  # type: ignore[override]
            self.n_pieces += 1
            if self.n_pieces == 3:
                os.kill(os.getpid(), signal.SIGINT)
            return super().readinto(piece)  # type: ignore[arg-type]

    file = Interrupted(data)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            read_model(file, len(data))
    finally:
        signal.signal(signal.SIGINT, before)
    assert file.n_pieces == 3
    assert read_model(io.BytesIO(data), len(data)).n_features_in_ == 3
