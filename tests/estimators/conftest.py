"""Tables for the tests of several files."""

import pytest
from sklearn.datasets import load_diabetes, load_iris


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return X[:150], y[:150]
