"""The tables of the benchmarks: generated ones, public ones, and how answers about them are scored."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.scores import score_predictions, share_of_exact_neighbours

# ------------------------------------------------------------------------------------------------ data

GENERATORS = {
    "rounded": data.rounded,
    "noisy": data.noisy,
    "noisy_regression": data.noisy_regression,
    "physics": data.physics,
    "wide": data.wide,
    "skewed": data.skewed,
    "few_values": data.few_values,
    "duplicates": data.duplicates,
    "missing": data.missing,
    "categorical": data.categorical,
    "clusters": lambda rows: data.clusters(rows, queries=50),
    "many_classes": lambda rows: data.many_classes(rows, classes=5),
    "staircase": data.staircase,
}


@pytest.mark.parametrize("name", GENERATORS)
def test_generators_give_the_asked_rows_and_the_same_bits_each_time(name):
    first, second = GENERATORS[name](1000), GENERATORS[name](1000)
    assert first.rows == len(first.y) == 1000
    assert len(first.X_test) == len(first.y_test) > 0
    for one, other in ((first.X, second.X), (first.X_test, second.X_test)):
        same = one.equals(other) if first.is_frame else np.array_equal(one, other, equal_nan=True)
        assert same
    np.testing.assert_array_equal(first.y, second.y)


def test_generators_have_the_shapes_they_are_named_after():
    assert data.physics(500).X.shape == (500, 28)
    assert data.wide(100).X.shape == (100, 400)
    assert data.wide(100, features=10).X.shape == (100, 10)
    few = data.few_values(2000).X
    assert {len(np.unique(few[:, column])) for column in range(few.shape[1])} == {2, 3, 4, 5, 6}
    assert 0.15 < np.isnan(data.missing(2000).X).mean() < 0.25
    assert len(np.unique(data.duplicates(2000).X, axis=0)) == 200
    skewed = data.skewed(2000).X
    assert skewed.max() / np.median(skewed) > 100
    assert len(np.unique(data.many_classes(2000, classes=20).y)) == 20
    assert sum(str(kind) == "category" for kind in data.categorical(200).X.dtypes) == 5
    assert np.array_equal(data.rounded(100).X, np.round(data.rounded(100).X, 2))


def test_the_staircase_is_as_deep_as_it_is_long():
    from sklearn.tree import DecisionTreeClassifier

    table = data.staircase(200)
    assert DecisionTreeClassifier().fit(table.X, table.y).get_depth() == 199


def test_scores_judge_probabilities_classes_and_values():
    X, y = np.zeros((4, 1)), np.array([0, 0, 1, 1])
    table = Dataset("toy", "binary", X, y, X, y)
    one_column = np.array([0.1, 0.6, 0.4, 0.9])
    two_columns = np.column_stack([1 - one_column, one_column])
    for predictions in (one_column, one_column.reshape(-1, 1), two_columns):
        assert score_predictions(table, predictions, "test AUC") == 0.75
        assert score_predictions(table, predictions, "test accuracy") == 0.5
    assert score_predictions(table, y.astype(float), "test R2") == 1.0


def test_exact_neighbours_are_told_from_near_misses_and_ties_are_free():
    rows = np.array([[0.0], [1.0], [1.0], [5.0]], dtype=np.float32)
    queries = np.array([[0.9], [4.0]], dtype=np.float32)
    table = Dataset("line", "binary", rows, np.zeros(4), queries, np.zeros(2))
    assert share_of_exact_neighbours(table, [[1, 2], [3, 1]]) == 1.0
    assert share_of_exact_neighbours(table, [[2, 1], [3, 2]]) == 1.0
    assert share_of_exact_neighbours(table, [[1, 0], [3, 1]]) == 0.5
