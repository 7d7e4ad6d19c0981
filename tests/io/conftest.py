"""The sample models, fitted once for all tests of this folder."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_files import fit_samples


@pytest.fixture(scope="session")
def samples() -> Iterator[Callable[[str], tuple[Any, Any]]]:
    """Give a function that returns a sample model and rows to predict, by name."""
    fitted = fit_samples()
    yield fitted.__getitem__
    fitted.clear()
