"""The sample models, fitted once for all tests of this folder, their files, and loading from bytes."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_files import fit_samples

import hornbeam as hb

Samples = Callable[[str], tuple[Any, Any]]


@pytest.fixture(scope="session")
def samples() -> Iterator[Callable[[str], tuple[Any, Any]]]:
    """Give a function that returns a sample model and rows to predict, by name."""
    fitted = fit_samples()
    yield fitted.__getitem__
    fitted.clear()


@pytest.fixture
def file_of(samples: Samples, tmp_path: Path) -> Callable[..., bytes]:
    """Give a function that returns the bytes of a sample's file."""

    def bytes_of(name: str, **options: Any) -> bytes:
        hb.save(samples(name)[0], tmp_path / "sample.hornbeam", **options)
        return (tmp_path / "sample.hornbeam").read_bytes()

    return bytes_of


@pytest.fixture
def load_bytes(tmp_path: Path) -> Callable[[bytes], Any]:
    """Give a function that loads bytes as a file."""

    def load(data: bytes) -> Any:
        path = tmp_path / "damaged.hornbeam"
        path.write_bytes(data)
        return hb.load(path)

    return load
