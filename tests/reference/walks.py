"""What can be read off a grown tree, the slow and obvious way: predictions, importances, pruning by cost.

In:  a tree as `naive.grow` returns it (a list of nodes, the root first).
Out: leaf numbers, values, importances, the pruning path, a pruned tree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .naive import breadth_first
from .nodes import Node
from .splits import branches_of

# Links whose alphas differ by less than this share of the root's impurity are equally weak.
SAME_ALPHA = 1e-12


def apply(nodes: list[Node], columns: Sequence[np.ndarray]) -> np.ndarray:
    """The number of the leaf that each row reaches."""
    leaves = []
    for row in range(len(columns[0])):
        at = 0
        while (split := nodes[at].split) is not None:
            at = nodes[at].first_child + int(branches_of(split, columns[split.feature][[row]])[0])
        leaves.append(at)
    return np.array(leaves, dtype=int)


def predict_value(nodes: list[Node], columns: Sequence[np.ndarray]) -> np.ndarray:
    """The value of each row's leaf, as [row, output, class]."""
    return np.array([nodes[leaf].value for leaf in apply(nodes, columns)])


def predict_class(nodes: list[Node], columns: Sequence[np.ndarray]) -> np.ndarray:
    """The heaviest class of each row's leaf as [row, output]; the first of equals."""
    return predict_value(nodes, columns).argmax(axis=2)


def children(nodes: list[Node], at: int) -> list[int]:
    node = nodes[at]
    return [] if node.split is None else [node.first_child, node.first_child + 1]


def leaves_below(nodes: list[Node], at: int) -> list[int]:
    below = children(nodes, at)
    return [leaf for child in below for leaf in leaves_below(nodes, child)] if below else [at]


def feature_importances(nodes: list[Node], n_features: int) -> np.ndarray:
    """The share of each feature in the total decrease of weighted impurity; zeros where nothing decreased."""
    gains = np.zeros(n_features)
    for at, node in enumerate(nodes):
        if node.split is not None:
            left, right = (nodes[child] for child in children(nodes, at))
            gains[node.split.feature] += (
                node.weight * node.impurity - left.weight * left.impurity - right.weight * right.impurity
            )
    return gains / gains.sum() if gains.sum() > 0 else gains


@dataclass(frozen=True)
class Pruning:
    """One tree of the nested sequence: the least alpha that prefers it, and its weighted impurity."""

    alpha: float
    impurity: float
    nodes: list[Node]


def risk(nodes: list[Node], members: list[int]) -> float:
    """The impurity of these nodes, each weighted with its share of the rows."""
    return math.fsum(nodes[m].weight * nodes[m].impurity for m in members) / nodes[0].weight


def link_strength(nodes: list[Node], at: int) -> float:
    """Impurity gained back per leaf kept, if the tree is not cut at this inner node; never below 0."""
    leaves = leaves_below(nodes, at)
    return max(0.0, (risk(nodes, [at]) - risk(nodes, leaves)) / (len(leaves) - 1))


def cut(nodes: list[Node], at: Sequence[int]) -> list[Node]:
    """The tree with these inner nodes turned into leaves."""
    stumps = [replace(n, split=None, first_child=-1) if i in at else n for i, n in enumerate(nodes)]
    return breadth_first(stumps)


def pruning_path(nodes: list[Node]) -> list[Pruning]:
    """The whole tree at alpha 0, then the tree after each cut of all its weakest links, down to the root."""
    slack = SAME_ALPHA * nodes[0].impurity
    path = [Pruning(0.0, risk(nodes, leaves_below(nodes, 0)), nodes)]
    while nodes[0].split is not None:
        strengths = {at: link_strength(nodes, at) for at, node in enumerate(nodes) if node.split is not None}
        alpha = min(strengths.values())
        nodes = cut(nodes, [at for at, strength in strengths.items() if strength <= alpha + slack])
        path.append(Pruning(alpha, risk(nodes, leaves_below(nodes, 0)), nodes))
    return path


def pruned(nodes: list[Node], ccp_alpha: float) -> list[Node]:
    """The smallest tree of the path whose alpha does not exceed `ccp_alpha`; at 0 nothing is cut."""
    if ccp_alpha == 0:
        return nodes
    return [step for step in pruning_path(nodes) if step.alpha <= ccp_alpha][-1].nodes
