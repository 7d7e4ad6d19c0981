"""Pruning the slow and obvious way: after every cut, everything is counted again from nothing.

In:  a tree as its children (`children[node]` lists them; empty at a leaf; 0 is the root) and what each node
     costs as a leaf. Any number of branches; walks.py has the same for the two-way trees of naive.py.
Out: the steps of the cost-complexity sequence, or the cuts of the other two methods in their order.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import betainc

Children = Sequence[Sequence[int]]

# Numbers closer than this, relative to the costs they were computed from, are equal on paper.
SLACK = 1e-12


@dataclass(frozen=True)
class Step:
    """One tree of the nested sequence: the least alpha that prefers it, its cost and its inner nodes."""

    alpha: float
    cost: float
    n_leaves: int
    inner: frozenset[int]


@dataclass(frozen=True)
class Cut:
    """A node turned into a leaf, and the cost of the whole tree before and after."""

    node: int
    nodes_removed: int
    before: float
    after: float


# A tree that has been cut -------------------------------------------------------------------------


def nodes_of(children: Children, at: int, leaves: frozenset[int]) -> list[int]:
    """The nodes of the branch at a node, level by level, if these nodes are leaves now."""
    found = [at]
    for node in found:  # grows while it is walked
        if node not in leaves:
            found += children[node]
    return found


def is_inner(children: Children, node: int, leaves: frozenset[int]) -> bool:
    return bool(children[node]) and node not in leaves


def inner_nodes(children: Children, leaves: frozenset[int]) -> list[int]:
    return [node for node in nodes_of(children, 0, leaves) if is_inner(children, node, leaves)]


def leaves_of(children: Children, at: int, leaves: frozenset[int]) -> list[int]:
    return [node for node in nodes_of(children, at, leaves) if not is_inner(children, node, leaves)]


def cost_of(children: Children, costs: Sequence[float], at: int, leaves: frozenset[int]) -> float:
    return math.fsum(costs[leaf] for leaf in leaves_of(children, at, leaves))


# Cost complexity ----------------------------------------------------------------------------------


def pruning_path(children: Children, costs: Sequence[float]) -> list[Step]:
    """Cut all weakest links, again and again; links that gain nothing have strength 0."""
    leaves: frozenset[int] = frozenset()

    def step(alpha: float) -> Step:
        n_leaves = len(leaves_of(children, 0, leaves))
        inner = frozenset(inner_nodes(children, leaves))
        return Step(alpha, cost_of(children, costs, 0, leaves), n_leaves, inner)

    steps = [step(0.0)]
    while inner := inner_nodes(children, leaves):
        strength, slack = {}, {}
        for node in inner:
            removed = len(leaves_of(children, node, leaves)) - 1
            slack[node] = SLACK * costs[node] / removed
            gain = costs[node] - cost_of(children, costs, node, leaves)
            strength[node] = gain / removed if gain / removed > slack[node] else 0.0
        weakest = min(inner, key=lambda node: strength[node])
        alpha = strength[weakest]
        leaves |= {n for n in inner if strength[n] - alpha <= max(slack[n], slack[weakest])}
        steps.append(step(alpha))
    return steps


def least_penalised_cost(children: Children, costs: Sequence[float], alpha: float) -> float:
    """The least cost plus alpha per leaf that any pruned tree has; parents come before their children."""
    best = [cost + alpha for cost in costs]
    for node in reversed(range(len(children))):
        if children[node]:
            best[node] = min(best[node], math.fsum(best[child] for child in children[node]))
    return best[0]


# Reduced error ------------------------------------------------------------------------------------


def reduced_error(children: Children, costs: Sequence[float]) -> list[Cut]:
    """Cut the node that lowers the cost most, wherever it is; ties: the larger branch, the lower node."""
    leaves: frozenset[int] = frozenset()
    cuts = []
    while inner := inner_nodes(children, leaves):
        below = {node: cost_of(children, costs, node, leaves) for node in inner}
        size = {node: len(nodes_of(children, node, leaves)) - 1 for node in inner}
        slack = {node: SLACK * (abs(below[node]) + abs(costs[node])) for node in inner}
        drop = {node: below[node] - costs[node] for node in inner}
        best = max(inner, key=lambda node: drop[node])
        tied = [n for n in inner if drop[best] - drop[n] <= max(slack[n], slack[best])]
        node = min(tied, key=lambda n: (-size[n], n))
        if drop[node] <= slack[node]:
            break
        before = cost_of(children, costs, 0, leaves)
        leaves |= {node}
        cuts.append(Cut(node, size[node], before, cost_of(children, costs, 0, leaves)))
    return cuts


def bottom_up_reduced_error(children: Children, costs: Sequence[float]) -> list[int]:
    """The other textbook order, below before above; the nodes it cuts. Kept to show that it differs."""
    leaves: frozenset[int] = frozenset()
    for node in reversed(inner_nodes(children, leaves)):
        if costs[node] < cost_of(children, costs, node, leaves):
            leaves |= {node}
    return sorted(leaves & set(nodes_of(children, 0, leaves)))


# Pessimistic --------------------------------------------------------------------------------------


def binomial_tail(errors: float, trials: float, p: float) -> float:
    """The probability of at most so many errors: the sum itself where it can be added up.

    The incomplete beta function equals it at whole numbers and goes on between them.
    """
    if errors == int(errors) and trials == int(trials) and trials <= 500:
        n = int(trials)
        return math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(int(errors) + 1))
    return float(betainc(trials - errors, errors + 1, 1 - p))


def upper_error_rate(errors: float, trials: float, confidence: float) -> float:
    """The error rate at which so few errors have the probability `confidence`, by bisection."""
    if errors >= trials:
        return 1.0
    if 0 < errors < 1:
        none, one = (upper_error_rate(e, trials, confidence) for e in (0.0, 1.0))
        return none + errors * (one - none)
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        if binomial_tail(errors, trials, middle) > confidence:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def pessimistic(
    children: Children, errors: Sequence[float], weights: Sequence[float], confidence: float
) -> list[Cut]:
    """Bottom-up, cut where the leaf is expected to make no more errors than the branch."""
    costs = [
        w * upper_error_rate(e, w, confidence) if w > 0 else 0.0 for e, w in zip(errors, weights, strict=True)
    ]
    leaves: frozenset[int] = frozenset()
    cuts = []
    for node in reversed(inner_nodes(children, leaves)):
        below = cost_of(children, costs, node, leaves)
        if costs[node] <= below * (1 + SLACK):
            before = cost_of(children, costs, 0, leaves)
            size = len(nodes_of(children, node, leaves)) - 1
            leaves |= {node}
            cuts.append(Cut(node, size, before, cost_of(children, costs, 0, leaves)))
    return cuts
