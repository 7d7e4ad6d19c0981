"""A tree of the core beside the one that the oracle has grown."""

import numpy as np
import pytest
from reference import naive
from reference.nodes import Rules
from reference.splits import branches_of, is_missing
from reference.tables import Table

from core.growing import n_categories


def branch_of_each_row(tree, node, column):
    missing = tree.missing_branch[node]
    if tree.category_begin[node] < 0:
        return np.where(np.isnan(column), missing, np.where(column <= tree.threshold[node], 0, 1))
    table = tree.branches_of_categories(node, n_categories(column))
    return np.array([missing if code < 0 else table[code] for code in column])


def compare(tree, nodes, table: Table, rules: Rules) -> None:
    """Walk both trees together; below a node where another split is as good, the subtrees may differ."""
    limited = rules.max_leaf_nodes is not None or rules.max_nodes is not None
    if limited and any(naive.near_ties(n) or naive.near_order(n) for n in nodes if n.candidates):
        return  # which nodes the limit lets grow depends on ties
    pairs = [(0, 0)]
    while pairs:
        at, other = pairs.pop()
        node = nodes[other]
        assert tree.n_node_samples[at] == node.rows
        # Weights are whole numbers of a unit that comes from the total.
        assert tree.weighted_n_node_samples[at] == pytest.approx(node.weight, abs=1e-12 * nodes[0].weight)
        assert tree.impurity[at] == pytest.approx(node.impurity, rel=1e-9, abs=1e-9)
        assert tree.value[at] == pytest.approx(node.value, rel=1e-9, abs=1e-9)
        is_leaf = tree.first_child[at] == -1
        if naive.near_ties(node) or _near_the_limit(node, rules):
            continue
        assert is_leaf == (node.split is None)
        if is_leaf:
            continue
        assert tree.feature[at] == node.split.feature
        assert tree.n_branches[at] == node.split.n_branches
        column = table.columns[node.split.feature]
        ours = branch_of_each_row(tree, at, column)
        theirs = branches_of(node.split, column)
        if any(c.shadow for c in node.candidates) and (ours + theirs == 1)[node.origins].all():
            continue  # categories of equal mean in another order: the same partition, branches swapped
        missing = is_missing(column)
        tied = _heaviest_are_tied(table, node, theirs, missing)
        seen = node.origins if tied or rules.categorical_split == "subset" else np.arange(len(column))
        seen = seen[~missing[seen]] if tied else seen
        assert ours[seen].tolist() == theirs[seen].tolist()
        if tied and missing[node.origins].any():
            continue  # and its rows with it
        assert tied or tree.missing_branch[at] == node.split.missing_branch
        if node.split.threshold is not None:
            assert tree.threshold[at] == node.split.threshold
        decrease = tree.gain[at] / tree.weighted_n_node_samples[0]
        assert decrease == pytest.approx(node.decrease, rel=1e-6, abs=1e-9)
        compare_surrogates(tree, at, node, table)
        pairs += [(tree.first_child[at] + b, node.first_child + b) for b in range(node.split.n_branches)]


def compare_surrogates(tree, at, node, table: Table) -> None:
    begins = tree.surrogate_begin
    ours = range(*begins[at : at + 2].tolist()) if len(begins) else ()
    assert len(ours) == len(node.surrogates)
    for s, expected in zip(ours, node.surrogates, strict=True):
        assert tree.surrogate_feature[s] == expected.feature
        assert tree.surrogate_agreement[s] == pytest.approx(expected.agreement)
        if expected.branch_of_code is None:
            assert tree.surrogate_threshold[s] == expected.threshold
            assert tree.surrogate_low_branch[s] == expected.low_branch
        else:
            branches = tree.surrogate_branches(s, n_categories(table.columns[expected.feature]))
            otherwise = node.split.missing_branch
            expect = [expected.branch_of_code.get(code, otherwise) for code in range(len(branches))]
            assert branches.tolist() == expect


def _heaviest_are_tied(table: Table, node, branches, missing) -> bool:
    """Whether the two heaviest branches weigh the same but for rounding, which then says where gaps go.

    Weights of 1.3 on one side, 0.2 and 1.1 on the other: by the doubles' own values the second is heavier,
    and so says the engine; a sum that is rounded once, as here, makes them equal.
    """
    if table.weights is None or np.all(table.weights == np.round(table.weights)):
        return False  # sums of whole numbers are exact
    rows = node.origins[~missing[node.origins]]
    weights = np.bincount(branches[rows], table.weights[rows], minlength=node.split.n_branches)
    *_, second, first = np.sort(weights)
    return bool(first - second <= 1e-12 * table.weights.sum())


def _near_the_limit(node, rules: Rules) -> bool:
    return (
        node.decrease is not None
        and abs(node.decrease - rules.min_impurity_decrease) < 1e-9 < rules.min_impurity_decrease
    )
