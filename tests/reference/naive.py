"""A decision tree grown the slow and obvious way: the oracle for the C++ engine.

In:  a list of columns (float arrays with NaN for missing, or integer code arrays with -1 for missing),
     a target (class codes 0..K-1, or floats; one column per output), weights or None, the rules of growth.
Out: a list of `Node`, breadth first, the children of a node next to each other, the root first.

Every candidate split sends every row of the node to its branch and adds the branches up from nothing, in sums
that do not depend on the order of the rows (criteria.py), so equal partitions have equal scores, bit for bit.
Targets should stay below 1e150 or so: here the squares are plain floats.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .choosing import (
    best_of_feature,
    candidates_of,
    choose,
    counted,
    impurity_of,
    needed,
    score_of,
    tests_tried,
    tie_scale,
    value_of,
)
from .criteria import (
    CLASS_CRITERIA,
    mean,
)
from .nodes import (
    NOWHERE,
    ROUNDING,
    TIE,
    WHOLE,
    Candidate,
    Data,
    Node,
    Order,
    Rules,
    Surrogate,
)
from .splits import (
    Split,
    branches_of,
    is_categorical,
    is_missing,
    numeric_tests,
)

# Growing ------------------------------------------------------------------------------------------


def impurity_decrease(
    data: Data, rules: Rules, node: Node, candidate: Candidate, root_weight: float
) -> float:
    """Weighted as in scikit-learn; never below 0, since only rounding could take it there."""
    known = node.row_ids[candidate.branches != NOWHERE]
    before = math.fsum(data.weights[known]) * impurity_of(data, rules, known)
    after = 0.0
    for branch in set(candidate.branches.tolist()) - {NOWHERE}:
        side = node.row_ids[candidate.branches == branch]
        after += math.fsum(data.weights[side]) * impurity_of(data, rules, side)
    return max(0.0, (before - after) / root_weight)


def must_be_leaf(data: Data, rules: Rules, node: Node) -> bool:
    """True where the rules end growth before any split is looked at."""
    pure = all(np.all(y[node.row_ids] == y[node.row_ids[0]]) for y in data.outputs)
    return (
        pure
        or counted(data, node.row_ids) < needed(rules, rules.min_samples_split)
        or counted(data, node.row_ids) < needed(rules, 2 * rules.min_samples_leaf)
        or node.weight < 2 * rules.min_weight_leaf
        or (rules.max_depth is not None and node.depth >= rules.max_depth)
    )


def empty_node(parent: Node) -> Node:
    """A branch without rows says what its parent says."""
    return Node(
        rows=0,
        weight=0.0,
        impurity=parent.impurity,
        value=parent.value,
        depth=parent.depth + 1,
        row_ids=parent.row_ids[:0],
        origins=parent.origins[:0],
    )


def make_node(
    data: Data,
    rules: Rules,
    row_ids: np.ndarray,
    depth: int,
    bounds: tuple[float, float],
    root_weight: float,
    spent: frozenset[int] = frozenset(),
) -> Node:
    """A node with its facts and the best split it could make; it stays a leaf until it is split."""
    node = Node(
        rows=len(row_ids),
        weight=math.fsum(data.weights[row_ids]),
        impurity=impurity_of(data, rules, row_ids),
        value=value_of(data, rules, row_ids, bounds),
        depth=depth,
        row_ids=row_ids,
        origins=data.origin[row_ids],
        bounds=bounds,
        spent=spent,
    )
    if must_be_leaf(data, rules, node):
        return node
    per_feature = [candidates_of(data, rules, node, feature) for feature in range(len(data.columns))]
    node.candidates = [candidate for candidates in per_feature for candidate in candidates]
    node.score_scale = abs(score_of(data, rules, row_ids)) + node.weight * node.impurity * len(data.outputs)
    scale = tie_scale(rules, data, node)
    found = []
    for candidates in per_feature:
        best_test = best_of_feature(candidates, scale)
        if best_test is not None:
            found.append((best_test, tests_tried(data, rules, node, candidates)))
    best = choose(data, rules, node, found)
    if best is not None:
        node.decrease = impurity_decrease(data, rules, node, best.candidate, root_weight)
        if node.decrease + ROUNDING >= rules.min_impurity_decrease:
            node.winner = best.candidate
    return node


def child_bounds(
    data: Data, rules: Rules, node: Node, split: Split, sides: list[np.ndarray]
) -> list[tuple[float, float]]:
    """The limits of the children: halfway between the values of the two, on the side the constraint says."""
    sign = rules.monotonic_cst[split.feature] if rules.monotonic_cst is not None else 0
    lower, upper = node.bounds
    if sign == 0:
        return [node.bounds] * split.n_branches
    means = (mean(data.outputs[0][side], data.weights[side]) for side in sides)
    left, right = (min(max(value, lower), upper) for value in means)  # rows sent on may have moved them
    middle = left / 2 + right / 2
    return [(lower, middle), (middle, upper)] if sign > 0 else [(middle, upper), (lower, middle)]


# Rows that a test says nothing of -------------------------------------------------------------------


def surrogate_of(x: np.ndarray, w: np.ndarray, branches: np.ndarray, feature: int, larger: int) -> Surrogate:
    """The test of a feature that most often says what another says; values and branches are all known."""
    if is_categorical(x):
        branch_of_code = {}
        for code in sorted(set(x.tolist())):
            weights = [math.fsum(w[(x == code) & (branches == b)]) for b in (0, 1)]
            branch_of_code[code] = larger if weights[0] == weights[1] else int(weights[1] > weights[0])
        said = np.array([branch_of_code[int(code)] for code in x])
        return Surrogate(feature, math.fsum(w[said == branches]), branch_of_code=branch_of_code)
    best = Surrogate(feature, 0.0, threshold=math.nan)
    for split in numeric_tests(feature, x):
        for low_branch in (0, 1):
            said = branches_of(split, x) ^ low_branch
            agreeing = math.fsum(w[said == branches])
            if agreeing > best.agreement:
                best = Surrogate(feature, agreeing, split.threshold, low_branch)
    return best


def surrogates_of(data: Data, rules: Rules, node: Node, candidate: Candidate) -> list[Surrogate]:
    """The tests that stand in for a split, best first: they beat sending all rows to the larger branch."""
    known = candidate.branches != NOWHERE
    w = data.weights[node.row_ids]
    by_branch = [math.fsum(w[candidate.branches == b]) for b in (0, 1)]
    larger = int(by_branch[1] > by_branch[0])
    found = []
    for feature, column in enumerate(data.columns):
        x = column[node.row_ids]
        both = known & ~is_missing(x)
        constrained = rules.monotonic_cst is not None and rules.monotonic_cst[feature] != 0
        if feature == candidate.split.feature or constrained or not both.any():
            continue
        found.append(surrogate_of(x[both], w[both], candidate.branches[both], feature, larger))
    better_ones = [s for s in found if s.agreement > by_branch[larger]]
    ordered = sorted(better_ones, key=lambda s: (-s.agreement, s.feature))[: rules.max_surrogates]
    return [replace(s, agreement=s.agreement / math.fsum(by_branch)) for s in ordered]


def stand_in(data: Data, node: Node, row: int) -> int | None:
    """The branch of the first surrogate whose feature a row has."""
    assert node.winner is not None
    otherwise = node.winner.split.missing_branch
    said = (s.branch(data.columns[s.feature][row], otherwise) for s in node.surrogates)
    return next((branch for branch in said if branch is not None), None)


def share_out(data: Data, node: Node, branches: np.ndarray) -> list[np.ndarray]:
    """A part of every row that lacks the feature goes down each branch, like the weight of the others."""
    assert node.winner is not None
    sides = [list(node.row_ids[branches == branch]) for branch in range(node.winner.split.n_branches)]
    weights = [math.fsum(data.weights[side]) for side in sides]
    up_to = [math.fsum(weights[: branch + 1]) / math.fsum(weights) for branch in range(len(sides))]
    for row in node.row_ids[branches == NOWHERE]:
        whole = data.units[row]
        sent = 0
        for side, share in zip(sides, up_to, strict=True):
            units = math.floor(whole * share + 0.5) - sent
            sent += units
            if units > 0:
                side.append(data.part(row, units))
    return [np.array(side, dtype=int) for side in sides]


def route(data: Data, rules: Rules, node: Node, candidate: Candidate) -> list[np.ndarray]:
    """The rows of the children: those the test sends there, and those it says nothing of."""
    branches = candidate.branches.copy()
    if rules.missing == "surrogate" and candidate.split.n_branches == 2:
        node.surrogates = surrogates_of(data, rules, node, candidate)
        for at in np.flatnonzero(branches == NOWHERE):
            said = stand_in(data, node, node.row_ids[at])
            branches[at] = NOWHERE if said is None else said
    if rules.missing == "fractional":
        return share_out(data, node, branches)
    if rules.missing != "available":
        branches[branches == NOWHERE] = candidate.split.missing_branch
    return [node.row_ids[branches == branch] for branch in range(candidate.split.n_branches)]


def next_node(waiting: list[Node], order: Order) -> Node:
    """The node to split next; `waiting` is in the order of creation, left before right."""
    if order == "level":
        return waiting[0]
    if order == "depth":
        deepest = max(node.depth for node in waiting)
        return next(node for node in waiting if node.depth == deepest)
    largest = max(node.decrease or 0.0 for node in waiting)
    return next(node for node in waiting if (node.decrease or 0.0) == largest)


def breadth_first(nodes: list[Node]) -> list[Node]:
    """A copy numbered level by level; nodes that the root no longer reaches are dropped."""
    numbered: list[Node] = []
    queue = [nodes[0]]
    while queue:
        node = queue.pop(0)
        numbered.append(replace(node))
        if node.split is not None:
            numbered[-1].first_child = len(numbered) + len(queue)
            queue += nodes[node.first_child : node.first_child + node.split.n_branches]
    return numbered


def prepare(
    columns: Sequence[np.ndarray],
    y: np.ndarray,
    weights: np.ndarray | None,
    rules: Rules,
    n_classes: int | None,
) -> Data:
    target = np.asarray(y).reshape(len(y), -1)
    w = np.ones(len(target)) if weights is None else np.asarray(weights, dtype=float)
    if rules.criterion in CLASS_CRITERIA:
        outputs = [column.astype(int) for column in target.T]
        classes = [n_classes or int(codes.max()) + 1 for codes in outputs]
        scored = outputs
    else:
        outputs = [column.astype(float) for column in target.T]
        classes = [1] * len(outputs)
        centre = rules.criterion in ("squared_error", "f_test")
        scored = [numbers - mean(numbers[w > 0], w[w > 0]) for numbers in outputs] if centre else outputs
    if rules.monotonic_cst is not None:
        if len(outputs) > 1 or classes[0] > 2:
            raise ValueError("monotonic_cst needs one output: two classes or a number")
        if any(c and is_categorical(x) for c, x in zip(rules.monotonic_cst, columns, strict=True)):
            raise ValueError("monotonic_cst on a categorical column")
    rows = np.arange(len(target))
    return Data(list(columns), outputs, scored, classes, w, np.full(len(target), WHOLE), rows)


def grow(
    columns: Sequence[np.ndarray],
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    n_classes: int | None = None,
    rules: Rules | None = None,
) -> list[Node]:
    """Grow a tree. `max_leaf_nodes` and `max_nodes` turn depth-first growth into best-first growth."""
    rules = rules or Rules()
    limited = rules.max_leaf_nodes is not None or rules.max_nodes is not None
    order: Order = "best" if limited and rules.order == "depth" else rules.order
    data = prepare(columns, y, weights, rules, n_classes)
    row_ids = np.flatnonzero(data.weights > 0)  # rows without weight are not there
    root_weight = math.fsum(data.weights[row_ids])
    nodes = [make_node(data, rules, row_ids, 0, (-math.inf, math.inf), root_weight)]
    leaves = 1
    waiting = [node for node in nodes if node.winner is not None]
    while waiting:
        node = next_node(waiting, order)
        waiting = [other for other in waiting if other is not node]
        assert node.winner is not None
        n_branches = node.winner.split.n_branches
        if rules.max_leaf_nodes is not None and leaves + n_branches - 1 > rules.max_leaf_nodes:
            continue
        if rules.max_nodes is not None and len(nodes) + n_branches > rules.max_nodes:
            continue
        node.rival_decrease = max((other.decrease or 0.0 for other in waiting), default=None)
        node.split, node.first_child = node.winner.split, len(nodes)
        spent = node.spent
        if rules.categorical_split == "multiway" and is_categorical(data.columns[node.split.feature]):
            spent |= {node.split.feature}
        sides = route(data, rules, node, node.winner)
        limits = child_bounds(data, rules, node, node.split, sides)
        for side, bounds in zip(sides, limits, strict=True):
            if len(side):
                nodes.append(make_node(data, rules, side, node.depth + 1, bounds, root_weight, spent))
            else:
                nodes.append(empty_node(node))
        leaves += n_branches - 1
        waiting += [child for child in nodes[-n_branches:] if child.winner is not None]
    return breadth_first(nodes)


# Doubt: where another way of adding up may choose differently -------------------------------------


def near_ties(node: Node, slack: float = 1e-9, *, trust_ties: bool = False) -> bool:
    """True where a different partition of the rows comes within `slack` of the best one.

    The slack is relative to the size of the terms that make up the scores. A split that the monotonic
    constraint allows or refuses by a hair counts as a rival too, and a best one that parts categories of
    nearly equal means is in doubt itself: in another order it is no candidate. False where no split was
    looked for.

    With `trust_ties` a rival well inside the tie tolerance does not count, because the tie rule settles it.
    That holds where every implementation adds up exactly: class counts with integer weights.
    """
    if node.doubt:
        return True
    margin = slack * max((1.0, *(abs(bound) for bound in node.bounds if math.isfinite(bound))))
    plausible = [c for c in node.candidates if c.margin >= -margin]
    admissible = [c for c in plausible if c.margin >= 0 and not c.shadow]
    if not admissible:
        return bool(plausible)
    if node.close_choice:
        return True
    # The best tests of several features are each doubted among the tests of their own feature only.
    for winner in node.compared or [node.winner or max(admissible, key=lambda c: c.score)]:
        within = [c for c in plausible if not node.compared or c.split.feature == winner.split.feature]
        floor = winner.score - slack * max(abs(winner.score), node.score_scale)
        rivals = [c for c in within if c.score >= floor and c.partition != winner.partition]
        if trust_ties:
            rivals = [c for c in rivals if abs(c.score - winner.score) > abs(winner.score) * TIE / 4]
        depends_on_order = any(c.shadow and c.partition == winner.partition for c in node.candidates)
        if rivals or depends_on_order or winner.margin <= margin:
            return True
    return False


def near_order(node: Node, slack: float = 1e-9) -> bool:
    """True where best-first growth could as well have split another waiting node before this one."""
    if node.rival_decrease is None or node.decrease is None:
        return False
    gap = abs(node.decrease - node.rival_decrease)
    return gap <= slack * max(node.decrease, node.rival_decrease, ROUNDING)
