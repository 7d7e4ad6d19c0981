"""The flowers, for all tests of this folder."""

import pytest
from sklearn.datasets import load_iris


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)
