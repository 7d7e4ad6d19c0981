"""Tools made for scikit-learn's trees take ours: `tree_` is one of theirs, and `isinstance` says so."""

import pickle
import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn import ensemble, tree
from sklearn.inspection import partial_dependence
from sklearn.tree._tree import Tree

import hornbeam as hb

RNG = np.random.default_rng(0)
X = RNG.integers(0, 50, (200, 4)) / 4  # which single precision holds exactly, as scikit-learn's trees need
Y = (X[:, 0] + X[:, 1] > 12).astype(int) + (X[:, 2] > 10)
Z = X[:, 0] ** 2 + X[:, 1]
KINDS = ("DecisionTreeClassifier", "DecisionTreeRegressor", "RandomForestClassifier", "RandomForestRegressor")


def fitted(kind: str):
    model = getattr(hb, kind)(max_depth=4, random_state=0)
    return model.fit(X, Y if kind.endswith("Classifier") else Z)


@pytest.mark.parametrize("kind", KINDS[:2])
def test_the_tree_is_one_of_scikit_learns(kind):
    model = fitted(kind)
    theirs = model.tree_
    assert isinstance(theirs, Tree)
    assert theirs.n_features == 4
    assert theirs.capacity >= theirs.node_count == len(theirs.children_left)
    x = X.astype(np.float32)
    assert (theirs.apply(x) == model.apply(X)).all()
    assert (theirs.decision_path(x) != model.decision_path(X)).nnz == 0
    answers = model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X).reshape(-1, 1)
    assert np.abs(theirs.predict(x).reshape(len(X), -1) - answers).max() == 0
    assert theirs.compute_feature_importances() == pytest.approx(model.feature_importances_)
    assert (theirs.gain >= 0).all()  # what ours knows beyond theirs
    assert pickle.loads(pickle.dumps(model)).tree_.node_count == theirs.node_count
    assert (pickle.loads(pickle.dumps(theirs)).threshold == theirs.threshold).all()


def test_gaps_go_where_the_tree_has_learned():
    gaps = X.copy()
    gaps[RNG.random(X.shape) < 0.2] = np.nan
    model = hb.DecisionTreeClassifier(max_depth=6).fit(gaps, Y)
    assert (model.tree_.apply(gaps.astype(np.float32)) == model.apply(gaps)).all()


def test_drawings_and_texts():
    for kind in KINDS[:2]:
        model = fitted(kind)
        assert tree.export_text(model).count("\n") >= model.get_n_leaves()
        assert len(tree.plot_tree(model, max_depth=2)) > 3
        assert tree.export_graphviz(model).startswith("digraph Tree")
    plt.close("all")
    assert tree.export_text(fitted("RandomForestClassifier")[0])


@pytest.mark.parametrize("kind", KINDS)
def test_we_are_taken_for_scikit_learns_kind(kind):
    home = tree if kind.startswith("Decision") else ensemble
    assert isinstance(fitted(kind), getattr(home, kind))
    assert not isinstance(hb.KNeighborsClassifier(), getattr(home, kind))


def test_also_if_scikit_learns_trees_are_imported_later():
    code = (
        "import sys, hornbeam as hb; assert 'sklearn.tree' not in sys.modules;"
        "from sklearn.tree import DecisionTreeClassifier, export_text;"
        "from sklearn.ensemble import ExtraTreesRegressor;"
        "assert isinstance(hb.DecisionTreeClassifier(), DecisionTreeClassifier);"
        "assert isinstance(hb.ExtraTreesRegressor(), ExtraTreesRegressor);"
        "print(export_text(hb.DecisionTreeClassifier().fit([[0.], [1.]], [0, 1])))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "feature_0 <= 0.50" in said


@pytest.mark.parametrize("kind", ["DecisionTreeRegressor", "RandomForestRegressor"])
def test_partial_dependence_the_quick_way_and_the_other(kind):
    model = fitted(kind)
    quick = partial_dependence(model, X, [0], method="recursion", grid_resolution=5)["average"][0]
    # By hand: the same walk through our own arrays.
    grid = partial_dependence(model, X, [0], method="brute", grid_resolution=5)["grid_values"][0]
    members = list(model) if kind.startswith("Random") else [model]
    assert quick == pytest.approx([np.mean([walk(m.tree_, 0, v) for m in members]) for v in grid])


def walk(arrays, node: int, value: float) -> float:
    """Average over the branches of tests on other columns, by what the fit saw of them."""
    left, right = arrays.children_left[node], arrays.children_right[node]
    if left < 0:
        return float(arrays.value[node, 0, 0])
    if arrays.feature[node] == 0:
        return walk(arrays, left if value <= arrays.threshold[node] else right, value)
    weights = arrays.weighted_n_node_samples
    both = weights[left] * walk(arrays, left, value) + weights[right] * walk(arrays, right, value)
    return float(both / weights[node])


def test_tests_on_categories_have_no_counterpart():
    model = hb.DecisionTreeRegressor().fit([["a"], ["b"], ["c"]], [1.0, 2.0, 3.0])
    assert not isinstance(model.tree_, Tree)
    assert len(model.tree_.children_left) == model.tree_.node_count
    with pytest.raises(ValueError, match="method='brute'"):
        model._compute_partial_dependence_recursion([[0.0]], [0])


def test_ensembles_are_sequences_of_their_members():
    for model in (
        hb.RandomForestClassifier(3),
        hb.BaggingClassifier(n_estimators=3),
        hb.AdaBoostClassifier(n_estimators=3),
    ):
        assert bool(model)
        with pytest.raises(ValueError, match="not fitted"):
            len(model)
        model.fit(X, Y)
        assert len(model) == len(model.estimators_) == len(list(model))
        assert (model[0].predict(X) == model.estimators_[0].predict(X)).all()


def test_the_out_of_bag_score_of_several_labels_asks_for_all_of_them():
    labels = np.stack([Y > 0, Y > 1], axis=1).astype(int)
    model = hb.RandomForestClassifier(30, oob_score=True, random_state=0).fit(X, labels)
    found = np.stack([share.argmax(axis=1) for share in model.oob_decision_function_], axis=1)
    assert model.oob_score_ == np.mean((found == labels).all(axis=1))
    assert {rows.dtype for rows in model.estimators_samples_} == {np.dtype(np.int32)}
