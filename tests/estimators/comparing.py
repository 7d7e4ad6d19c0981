"""Our tree and scikit-learn's on the same data, walked down together.

In come two fitted trees and the rows they were fitted on; out goes which nodes were found equal and whether a
tie parted the trees. Both grow greedily by the same scores, so where the best split is unique the nodes must
agree in everything. Where it is not, scikit-learn takes any of the best (it shuffles the features) and we the
first: then equal gain is enough, and what grows below is left out.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sklearn

CLOSE = 1e-9

# Older releases misplace or misjudge rows with gaps, so that their nodes contradict their own tests.
GAPS_ARE_COMPARED = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)


@dataclass
class Walk:
    """Pairs of equal nodes (theirs by ours), and whether a tie parted the trees anywhere."""

    theirs_of: dict[int, int]
    met_a_tie: bool


def walk_together(our_model: Any, their_model: Any, X: np.ndarray) -> Walk:
    """Compare from the root down; stop at ties, and at nothing else."""
    ours, theirs = our_model.tree_, their_model.tree_
    gaps = gaps_by_node(our_model, X)
    walk = Walk({}, met_a_tie=False)
    pairs = [(0, 0)]
    while pairs:
        at, other = pairs.pop()
        assert_same_facts(ours, at, theirs, other)
        walk.theirs_of[at] = other
        if ours.children_left[at] == -1 and theirs.children_left[other] == -1:
            continue
        if same_split(ours, at, theirs, other, gaps):
            pairs += [
                (ours.children_left[at], theirs.children_left[other]),
                (ours.children_right[at], theirs.children_right[other]),
            ]
            continue
        walk.met_a_tie = True
        gain, rival = decrease(ours, at), decrease(theirs, other)
        slack = CLOSE * ours.weighted_n_node_samples[at] * ours.impurity[at]
        assert gain == pytest.approx(rival, rel=0, abs=slack), f"node {at} (theirs {other}) is no tie"
        assert ours.gain[at] == pytest.approx(rival, rel=0, abs=slack)
    return walk


def gaps_by_node(model: Any, X: np.ndarray) -> np.ndarray:
    """Whether a node holds a row with a gap in a feature, as [node, feature]."""
    counts = model.decision_path(X).T @ np.isnan(X).astype(int)
    return np.asarray(counts) > 0


def assert_same_facts(ours: Any, at: int, theirs: Any, other: int) -> None:
    assert ours.n_node_samples[at] == theirs.n_node_samples[other]
    assert ours.weighted_n_node_samples[at] == theirs.weighted_n_node_samples[other]
    assert ours.impurity[at] == pytest.approx(theirs.impurity[other], rel=CLOSE, abs=CLOSE)
    np.testing.assert_allclose(ours.value[at], theirs.value[other], rtol=CLOSE, atol=CLOSE)


def same_split(ours: Any, at: int, theirs: Any, other: int, gaps: np.ndarray) -> bool:
    """Whether the tests agree in every bit; the way of missing values counts where the node has some."""
    feature = ours.feature[at]
    if feature != theirs.feature[other] or ours.threshold[at] != theirs.threshold[other]:
        return False
    return not gaps[at, feature] or (ours.missing_branch[at] == 0) == bool(theirs.missing_go_to_left[other])


def decrease(tree: Any, node: int) -> float:
    """What the node's split takes off the weighted impurity, from the shown facts alone; 0 at a leaf."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left == -1:
        return 0.0
    heavy = tree.weighted_n_node_samples * tree.impurity
    return float(heavy[node] - heavy[left] - heavy[right])


def assert_same_everything(ours: Any, theirs: Any, X: np.ndarray, walk: Walk) -> None:
    """Without a tie anywhere the trees differ in nothing but the numbering of their nodes."""
    tree = ours.tree_
    assert tree.node_count == theirs.tree_.node_count == len(walk.theirs_of)
    assert (ours.get_depth(), ours.get_n_leaves()) == (theirs.get_depth(), theirs.get_n_leaves())
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, rtol=1e-7, atol=CLOSE)
    numbering = np.array([walk.theirs_of[node] for node in range(tree.node_count)])
    np.testing.assert_array_equal(numbering[ours.apply(X)], theirs.apply(X))
    in_their_order = ours.decision_path(X)[:, np.argsort(numbering)]
    assert (in_their_order != theirs.decision_path(X)).nnz == 0
    assert_same_answers(ours, theirs, X)


def assert_same_answers_outside_ties(ours: Any, theirs: Any, X: np.ndarray, walk: Walk) -> None:
    """Rows that no tie parted on their way end in the same leaf, with the same answer."""
    leaves = ours.apply(X)
    their_leaves = np.array([walk.theirs_of.get(leaf, -1) for leaf in leaves])
    is_compared = (their_leaves >= 0) & (theirs.tree_.children_left[their_leaves] == -1)
    assert is_compared.any()
    np.testing.assert_array_equal(theirs.apply(X[is_compared]), their_leaves[is_compared])
    assert_same_answers(ours, theirs, X[is_compared])


def assert_same_answers(ours: Any, theirs: Any, X: np.ndarray) -> None:
    """Equal predictions; of classes whose shares tie, either may be named."""
    if not hasattr(ours, "predict_proba"):
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=CLOSE, atol=CLOSE)
        return
    several = ours.n_outputs_ > 1
    shares, their_shares = ours.predict_proba(X), theirs.predict_proba(X)
    labels, their_labels = ours.predict(X).reshape(len(X), -1), theirs.predict(X).reshape(len(X), -1)
    for output, (share, their_share) in enumerate(
        zip(shares, their_shares, strict=True) if several else [(shares, their_shares)]
    ):
        np.testing.assert_allclose(share, their_share, rtol=CLOSE, atol=CLOSE)
        top = np.sort(share, axis=1)
        clear = top[:, -1] - top[:, -2] > CLOSE
        np.testing.assert_array_equal(labels[clear, output], their_labels[clear, output])
