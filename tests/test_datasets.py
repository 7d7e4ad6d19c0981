"""The small tables: their shapes and types, and that estimators take them with and without pandas."""

import sys

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import datasets

TABLES = [getattr(datasets, name) for name in datasets.__all__ if name != "SmallTable"]
SHAPES = {
    "animals": (100, 0),
    "cars": (12, 7),
    "courses": (20, 5),
    "cricket": (20, 2),
    "multiplexer": (8, 3),
    "restaurant": (12, 10),
    "ten_points": (10, 2),
    "two_tests": (6, 2),
    "xor": (4, 2),
}


@pytest.mark.parametrize("load", TABLES, ids=lambda load: load.__name__)
def test_columns_array_frame_and_target_agree(load):
    table = load()
    assert table.X.shape == SHAPES[load.__name__] == (len(table.y), len(table.feature_names))
    frame = table.frame(with_target=True)
    assert list(frame.columns) == [*table.feature_names, table.target_name]
    for j, name in enumerate(table.feature_names):
        assert list(frame[name]) == list(table.X[:, j]) == list(table.columns[name])
    assert list(frame[table.target_name]) == list(table.y)
    assert table.target_name in repr(table) and table.description in repr(table)


@pytest.mark.parametrize(
    "load", [load for load in TABLES if load is not datasets.animals], ids=lambda f: f.__name__
)
def test_array_and_frame_give_the_same_tree(load):
    table = load()
    plain = hb.DecisionTreeClassifier().fit(table.X, table.y)
    named = hb.DecisionTreeClassifier().fit(table.frame(), table.y)
    np.testing.assert_array_equal(plain.tree_.feature, named.tree_.feature)
    np.testing.assert_array_equal(plain.tree_.value, named.tree_.value)
    assert [plain._model.schema.kinds, plain._model.schema.categories] == [
        named._model.schema.kinds,
        named._model.schema.categories,
    ]


def test_restaurant_equals_the_shared_table(shared_data):
    expected = shared_data("restaurant")
    table = datasets.restaurant().frame(with_target=True)
    assert table.astype(str).equals(expected.astype(str)) or (
        table.values.tolist() == expected.values.tolist()
    )
    assert list(table.columns) == list(expected.columns)
    assert "None" in set(table["Patrons"])


def test_types_of_the_arrays():
    assert datasets.ten_points().X.dtype == np.float64
    assert datasets.xor().X.dtype == np.bool_
    assert datasets.cars().X.dtype == object
    assert datasets.courses("rating").y.dtype.kind == "i"
    assert datasets.courses().y.sum() == 12


def test_unknown_variants_are_refused():
    with pytest.raises(ValueError, match="'liked' or 'rating'; got 'stars'"):
        datasets.courses("stars")
    with pytest.raises(ValueError, match="n_rows must be 6 or 8; got 7"):
        datasets.two_tests(7)


def test_the_array_needs_no_pandas_and_the_frame_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = datasets.restaurant()
    assert table.X[0, 4] == "Some"
    with pytest.raises(
        ModuleNotFoundError, match=r"A table as a data frame needs pandas.*hornbeam\[frames\]"
    ):
        table.frame()
