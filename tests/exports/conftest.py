"""The models of this folder's tests, fitted once."""

import pytest
from model_files import fit_samples

from exports.catalogue import fit_models


@pytest.fixture(scope="session")
def models():
    return fit_models()


@pytest.fixture(scope="session")
def samples():
    return fit_samples().__getitem__
