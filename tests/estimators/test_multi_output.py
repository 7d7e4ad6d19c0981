"""Trees with several outputs: against the oracle, against scikit-learn, and in themselves."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from core.comparing import compare
from core.growing import grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from reference.nodes import Rules
from reference.tables import Table, tables, targets
from sklearn import tree as sk
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score

import hornbeam as hb
from estimators.comparing import (
    GAPS_ARE_COMPARED,
    assert_same_answers_outside_ties,
    assert_same_everything,
    walk_together,
)

# ------------------------------------------------------------------------------------------------------------
# The oracle


@st.composite
def multi_output_cases(draw: st.DrawFn) -> tuple[Table, Rules]:
    kind = draw(st.sampled_from(["classes", "numbers"]))
    table = draw(tables(kind, categorical=False, max_rows=25, max_columns=3))
    n_more = draw(st.integers(1, 2))
    more = [draw(targets(len(table.y), kind, table.n_classes or 0)) for _ in range(n_more)]
    criterion = draw(st.sampled_from(["gini", "entropy"])) if kind == "classes" else "squared_error"
    rules = Rules(
        criterion=criterion,
        max_depth=draw(st.sampled_from([None, None, 2])),
        min_samples_leaf=draw(st.sampled_from([1, 1, 3])),
        max_leaf_nodes=draw(st.sampled_from([None, None, 4])),
    )
    return Table(table.columns, np.column_stack([table.y, *more]), table.weights, table.n_classes), rules


@settings(max_examples=200)
@given(multi_output_cases())
def test_the_engine_grows_the_oracles_tree_for_several_outputs(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    tree = grow(
        table.columns,
        table.y,
        table.weights,
        n_classes=table.n_classes,
        criterion=rules.criterion,
        max_depth=rules.max_depth or 0,
        min_samples_leaf=rules.min_samples_leaf,
        max_leaf_nodes=rules.max_leaf_nodes or 0,
    )
    assert tree.value.shape[1] == table.y.shape[1]
    compare(tree, nodes, table, rules)


# ------------------------------------------------------------------------------------------------------------
# scikit-learn


def make_rows(seed: int, *, gaps: bool) -> tuple[np.ndarray, np.ndarray]:
    """Columns exact in float32, and three signals that share some of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(250, 4)) * 2**10) / 2**10
    signals = np.column_stack([X[:, 0] + X[:, 1], X[:, 1] * X[:, 2], X[:, 3]]) + rng.normal(size=(250, 3)) / 2
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.round(signals * 64) / 64


def make_labels(signals: np.ndarray) -> np.ndarray:
    """Outputs of two, three and four classes."""
    return np.column_stack(
        [
            np.searchsorted(np.quantile(signals[:, k], np.linspace(0, 1, k + 3)[1:-1]), signals[:, k])
            for k in range(3)
        ]
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_the_tree_is_scikit_learns(criterion, seed):
    X, y = make_rows(seed, gaps=seed % 3 == 0 and GAPS_ARE_COMPARED)
    if criterion != "squared_error":
        y = make_labels(y)
        ours, theirs = hb.DecisionTreeClassifier, sk.DecisionTreeClassifier
    else:
        ours, theirs = hb.DecisionTreeRegressor, sk.DecisionTreeRegressor
    weights = np.random.default_rng(seed).integers(1, 9, len(X)) / 4 if seed % 2 else None
    limits = [{}, {"min_samples_leaf": 5}, {"max_leaf_nodes": 20}, {"max_depth": 4}][seed % 4]
    our_model = ours(criterion=criterion, **limits).fit(X, y, sample_weight=weights)
    their_model = theirs(criterion=criterion, random_state=0, **limits).fit(X, y, sample_weight=weights)
    walk = walk_together(our_model, their_model, X)
    # Grown out, a node of two rows ties in every feature that parts them: not all of a tree is compared.
    assert len(walk.theirs_of) > their_model.tree_.node_count / 3
    if walk.met_a_tie:
        assert_same_answers_outside_ties(our_model, their_model, X, walk)
    else:
        assert_same_everything(our_model, their_model, X, walk)


# ------------------------------------------------------------------------------------------------------------
# Shapes and laws


def test_shapes_and_classes_of_outputs_with_different_classes():
    X, signals = make_rows(0, gaps=False)
    labels = make_labels(signals)
    names = np.array(["a", "b", "c", "d"])
    model = hb.DecisionTreeClassifier(max_depth=3).fit(X, names[labels])
    assert model.n_outputs_ == 3
    assert model.n_classes_ == [2, 3, 4]
    assert [classes.tolist() for classes in model.classes_] == [list("ab"), list("abc"), list("abcd")]
    shares = model.predict_proba(X)
    assert [share.shape for share in shares] == [(250, 2), (250, 3), (250, 4)]
    for share, logarithm in zip(shares, model.predict_log_proba(X), strict=True):
        np.testing.assert_allclose(share.sum(axis=1), 1)
        np.testing.assert_allclose(np.exp(logarithm), share)
    predicted = model.predict(X)
    assert predicted.shape == (250, 3)
    assert set(predicted.ravel()) <= set(names)
    by_number = hb.DecisionTreeClassifier(max_depth=3).fit(X, labels)
    assert (names[by_number.predict(X)] == predicted).all()


def test_a_target_of_one_column_is_like_a_flat_one():
    X, signals = make_rows(1, gaps=False)
    flat = hb.DecisionTreeRegressor().fit(X, signals[:, 0])
    with pytest.warns(DataConversionWarning, match="column-vector"):
        column = hb.DecisionTreeRegressor().fit(X, signals[:, :1])
    assert same_bits(flat.tree_, column.tree_)
    assert column.predict(X).shape == (250,)


@pytest.mark.parametrize("form", [np.asfortranarray, np.ndarray.tolist, pd.DataFrame])
@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_the_form_of_the_target_does_not_matter(kind, form):
    X, signals = make_rows(2, gaps=False)
    y = make_labels(signals)
    assert same_bits(kind().fit(X, y).tree_, kind().fit(X, form(y)).tree_)


@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_copies_of_one_output_change_neither_tree_nor_impurity(kind):
    X, signals = make_rows(3, gaps=True)
    y = make_labels(signals)[:, 1]
    one, three = kind().fit(X, y), kind().fit(X, np.column_stack([y, y, y]))
    assert same_bits(one.tree_, three.tree_, ("first_child", "feature", "threshold", "missing_branch"))
    np.testing.assert_allclose(one.tree_.impurity, three.tree_.impurity, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(three.predict(X), np.column_stack([one.predict(X)] * 3))


def test_a_grown_out_tree_learns_all_outputs_at_once():
    X, signals = make_rows(4, gaps=False)
    labels = make_labels(signals)
    model = hb.DecisionTreeClassifier().fit(X, labels)
    assert (model.predict(X) == labels).all()
    regressor = hb.DecisionTreeRegressor().fit(X, signals)
    np.testing.assert_allclose(regressor.predict(X), signals, rtol=1e-12, atol=1e-12)
    assert regressor.score(X, signals) == pytest.approx(1)


def test_class_weights_of_each_output_multiply():
    X, signals = make_rows(5, gaps=False)
    labels = make_labels(signals)[:, :2]
    weights: list[dict[int, float]] = [{0: 1.0, 1: 4.0}, {0: 2.0, 1: 1.0, 2: 0.5}]
    factors = np.array([weights[0][a] * weights[1][b] for a, b in labels])
    by_class = hb.DecisionTreeClassifier(class_weight=weights, max_depth=4).fit(X, labels)
    by_row = hb.DecisionTreeClassifier(max_depth=4).fit(X, labels, sample_weight=factors)
    assert same_bits(by_class.tree_, by_row.tree_)


def test_multi_label_targets_are_scored_as_scikit_learn_scores_them():
    X, signals = make_rows(6, gaps=False)
    labels = (signals > 0).astype(int)
    model: Any = hb.DecisionTreeClassifier(max_depth=3).fit(X, labels)
    assert model.score(X, labels) == accuracy_score(labels, model.predict(X))


def test_what_needs_a_single_output_says_so():
    X, signals = make_rows(7, gaps=False)
    with pytest.raises(ValueError, match="takes one output"):
        hb.DecisionTreeRegressor(criterion="poisson").fit(X, np.abs(signals))
    with pytest.raises(ValueError, match="not supported with multiple outputs"):
        hb.DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0]).fit(X, signals)
