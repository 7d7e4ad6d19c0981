"""Distillation: faithful where it can be, honest about it, and it takes what users have."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb

CANCER = load_breast_cancer(as_frame=True)


def test_a_neural_network_becomes_a_small_tree():
    network = make_pipeline(StandardScaler(), MLPClassifier((20,), max_iter=600, random_state=0))
    network.fit(CANCER.data, CANCER.target)
    small = hb.distill(network, CANCER.data, CANCER.target, max_leaf_nodes=6, random_state=0)
    assert small.tree.get_n_leaves() <= 6
    assert small.fidelity.value > 0.85
    assert 0 < small.fidelity.standard_error < 0.05
    assert small.model_score.value > small.tree_score.value > 0.85
    assert small.n_held_out == round(0.25 * len(CANCER.target))
    assert "fidelity" in str(small)
    assert "held-out rows" in repr(small)


def test_a_tree_is_distilled_into_itself():
    """A model that is a tree of four leaves can be copied without a mistake."""
    generator = np.random.default_rng(0)
    X = generator.random((2000, 2)).round(2)
    original = hb.DecisionTreeClassifier(max_leaf_nodes=4).fit(X, (X[:, 0] > 0.5) * 2 + (X[:, 1] > 0.5))
    copy = hb.distill(original, X, max_leaf_nodes=4, random_state=1)
    assert copy.fidelity.value == 1
    assert copy.fidelity.standard_error == 0
    assert copy.tree_score is None


def test_probabilities_count_for_every_class():
    """The leaf of a stump holds the mean of the model's probabilities, not of its decisions."""
    X = np.repeat([0.0, 1.0], 50)[:, None]
    distilled = hb.distill(lambda rows: np.where(rows == 0, [0.6, 0.4], [0.1, 0.9]), X, random_state=0)
    np.testing.assert_allclose(distilled.tree.predict_proba([[0.0], [1.0]]), [[0.6, 0.4], [0.1, 0.9]])
    assert distilled.tree.predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_labels_without_probabilities_and_numbers():
    iris = load_iris(as_frame=True)
    names = iris.target_names[iris.target]
    ridge = RidgeClassifier().fit(iris.data, names)
    distilled = hb.distill(ridge, iris.data, names, random_state=0)
    assert set(distilled.tree.classes_) == set(names)
    assert distilled.fidelity.value > 0.8
    diabetes = load_diabetes(as_frame=True)
    line = LinearRegression().fit(diabetes.data, diabetes.target)
    distilled = hb.distill(line, diabetes.data, diabetes.target, max_leaf_nodes=30, random_state=0)
    assert 0.5 < distilled.fidelity.value < 1
    assert distilled.fidelity.standard_error > 0
    assert distilled.tree_score.value < distilled.model_score.value
    assert "R²" in str(distilled)


def test_extra_rows_help_where_rows_are_few():
    few = CANCER.data[:80]
    forest = RandomForestClassifier(30, random_state=0).fit(CANCER.data, CANCER.target)
    plain, helped = (
        np.mean(
            [
                hb.distill(
                    forest, few, max_leaf_nodes=12, n_extra=n, held_out=0.5, random_state=seed
                ).fidelity.value
                for seed in range(5)
            ]
        )
        for n in (0, 600)
    )
    assert helped > plain - 0.02  # they must not hurt, and the tree sees more
    assert hb.distill(forest, few, n_extra=50, random_state=0).n_rows == 60 + 50


@pytest.mark.parametrize("library", [pd, pl])
def test_extra_rows_keep_kinds(library):
    frame = library.DataFrame({"n": list(range(40)), "x": np.linspace(0, 1, 40), "c": ["a", "b"] * 20})
    seen = []

    def model(rows):
        seen.append(rows)
        return np.array(["long" if n > 20 else "short" for n in rows["n"]])

    distilled = hb.distill(model, frame, n_extra=30, random_state=0)
    rows = seen[0]
    assert len(rows) == 60
    assert set(rows["c"]) == {"a", "b"}
    assert str(rows["n"].dtype).lower() == "int64"
    assert len(set(rows["x"])) > 40
    assert distilled.fidelity.value > 0.7


def test_the_same_seed_gives_the_same_tree():
    forest = RandomForestClassifier(5, random_state=0).fit(CANCER.data, CANCER.target)
    one, other = (hb.distill(forest, CANCER.data, n_extra=100, random_state=3) for _ in range(2))
    assert one.tree.rules() == other.tree.rules()
    assert one.fidelity == other.fidelity


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (object(), {}, "a fitted estimator or a function"),
        (lambda X: np.full((len(X), 2), 0.7), {}, "row 0 holds .*; sums to 1.4"),
        (lambda X: np.zeros((len(X), 2, 2)), {}, "one output"),
        (lambda X: np.zeros(len(X)), {"held_out": 1.5}, "held_out must be a share"),
        (lambda X: np.zeros(len(X)), {"held_out": 0.001}, "leaves nothing"),
        (lambda X: np.zeros(len(X)), {"n_extra": -1}, "n_extra must be 0 or more"),
        (lambda X: np.zeros(len(X)), {"max_leafs": 3}, "max_leafs"),
    ],
)
def test_what_is_refused(model, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hb.distill(model, np.arange(40.0).reshape(20, 2), **options)
