"""A decision tree grown the slow and obvious way: the oracle for the C++ engine.

In:  a list of columns (float arrays with NaN for missing, or integer code arrays with -1 for missing),
     a target (class codes 0..K-1, or floats; one column per output), weights or None, the rules of growth.
Out: a list of `Node`, breadth first, the children of a node next to each other, the root first.

Every candidate split sends every row of the node to its branch and adds the branches up from nothing, in sums
that do not depend on the order of the rows (criteria.py), so equal partitions have equal scores, bit for bit.
Targets should stay below 1e150 or so: here the squares are plain floats.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from .categories import (
    ENCODINGS,
    Fit,
    encoded_tests,
    many_way_test,
    merged_groups,
    ways_to_group,
    with_empty_branch,
)
from .criteria import (
    CLASS_CRITERIA,
    Criterion,
    branch_score,
    chi2_log_p,
    chi2_score,
    f_log_p,
    impurity,
    mean,
    median,
    split_information,
)
from .splits import (
    Split,
    branches_of,
    group_test,
    is_categorical,
    is_missing,
    numeric_tests,
    shadow_tests,
    subset_tests,
)

Order = Literal["depth", "level", "best"]
Missing = Literal["learn", "majority", "surrogate", "fractional", "available"]

NOWHERE = -1
WHOLE = 2**20  # units that a row may be parted into
TIE = 2.0**-44  # scores closer than this, relative to the best so far, are a tie
ROUNDING = 2.2e-16  # what an impurity decrease may fall short of `min_impurity_decrease`


# What comes in ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rules:
    """How to grow: names and meanings as in the estimators, `None` for "no limit"."""

    criterion: Criterion = "gini"
    order: Order = "depth"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None
    max_nodes: int | None = None
    monotonic_cst: Sequence[int] | None = None
    min_significance: float | None = None
    missing: Missing = "learn"
    max_surrogates: int = 5
    categorical_split: str = "subset"
    merge_level: float = 0.05


@dataclass
class Data:
    """The table, the target as one array per output, and the weight of every row.

    Under `fractional` a part of a row is one more row, with so many `units` of the row it was made from.
    """

    columns: list[np.ndarray]
    outputs: list[np.ndarray]
    scored: list[np.ndarray]  # the outputs as the score sees them: centred for squared error
    n_classes: list[int]  # per output; 1 for a number
    weights: np.ndarray
    units: np.ndarray
    origin: np.ndarray  # the row of the table that each row is, or is a part of

    def part(self, row: int, units: int) -> int:
        """Add a part of a row; return its number."""
        self.columns = [np.append(column, column[row]) for column in self.columns]
        self.outputs = [np.append(y, y[row]) for y in self.outputs]
        self.scored = [np.append(y, y[row]) for y in self.scored]
        self.weights = np.append(self.weights, self.weights[row] / self.units[row] * units)
        self.units = np.append(self.units, units)
        self.origin = np.append(self.origin, self.origin[row])
        return len(self.units) - 1


@dataclass(frozen=True)
class Candidate:
    """A split that was tried in a node."""

    split: Split
    position: int  # of the threshold (or group of categories) among those of its feature
    learned: int | None  # the branch the missing rows of the node took; None if the node has none
    branches: np.ndarray  # the branch of each row of the node; NOWHERE for rows the test says nothing of
    score: float
    margin: float  # how far the monotonic constraint is from refusing it; below 0 it is refused
    shadow: bool = False  # not a candidate at all, only a hint for `near_ties`
    order: int = 0  # which of several orders of the categories the position is in

    @property
    def partition(self) -> tuple[int, ...]:
        """Which rows stay together, whatever the names of the branches."""
        names = {NOWHERE: NOWHERE}
        return tuple(names.setdefault(int(branch), len(names)) for branch in self.branches)


@dataclass(frozen=True)
class Surrogate:
    """A test that stands in for another; exactly one of `threshold` and `branch_of_code` is set."""

    feature: int
    agreement: float  # share of the rows with the other test's feature that both send the same way
    threshold: float | None = None
    low_branch: int = 0
    branch_of_code: dict[int, int] | None = None

    def branch(self, value: float, otherwise: int) -> int | None:
        """The branch of a value; `otherwise` for a category that is new here, None for a missing value."""
        if self.branch_of_code is not None:
            return None if value == -1 else self.branch_of_code.get(int(value), otherwise)
        assert self.threshold is not None
        if math.isnan(value):
            return None
        return self.low_branch if value <= self.threshold else 1 - self.low_branch


@dataclass
class Node:
    """One node. A leaf has no split and no first child."""

    rows: int
    weight: float
    impurity: float
    value: np.ndarray  # [output, class]: class shares, or the mean in class 0
    depth: int
    row_ids: np.ndarray
    origins: np.ndarray  # rows of the table
    split: Split | None = None
    first_child: int = -1
    decrease: float | None = None  # of the best split found, also where it was then refused or not made
    winner: Candidate | None = field(default=None, repr=False)
    candidates: list[Candidate] = field(default_factory=list, repr=False)
    score_scale: float = 0.0  # how large the terms are whose differences the scores of this node show
    surrogates: list[Surrogate] = field(default_factory=list)
    rival_decrease: float | None = None  # largest decrease left waiting when this node was split
    compared: list[Candidate] = field(default_factory=list, repr=False)  # by a criterion's second step,
    close_choice: bool = False  # which could as well have taken another feature
    bounds: tuple[float, float] = (-math.inf, math.inf)  # monotonic limits of the value
    spent: frozenset[int] = frozenset()  # features that had a branch per category above
    doubt: bool = False  # rounding may decide which tests there are


# The criterion over all outputs -------------------------------------------------------------------


def score_of(data: Data, rules: Rules, rows: np.ndarray) -> float:
    w = data.weights[rows]
    if rules.criterion == "chi2":
        return chi2_score([(data.outputs[0][rows], w)])
    return math.fsum(branch_score(rules.criterion, y[rows], w) for y in data.scored)


def impurity_of(data: Data, rules: Rules, rows: np.ndarray) -> float:
    w = data.weights[rows]
    return math.fsum(impurity(rules.criterion, y[rows], w) for y in data.outputs) / len(data.outputs)


def value_of(data: Data, rules: Rules, rows: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """Class shares or means; under monotonic constraints clipped to the bounds (class 1, or the mean)."""
    w = data.weights[rows]
    value = np.zeros((len(data.outputs), max(data.n_classes)))
    for o, (y, k) in enumerate(zip(data.outputs, data.n_classes, strict=True)):
        if rules.criterion in CLASS_CRITERIA:
            value[o, :k] = [math.fsum(w[y[rows] == c]) / math.fsum(w) for c in range(k)]
        else:
            value[o, 0] = (median if rules.criterion == "absolute_error" else mean)(y[rows], w)
    if rules.monotonic_cst is not None:
        constrained = max(data.n_classes) - 1  # class 1 of two, or the only column of a number
        free = value[0, constrained]
        value[0, constrained] = min(max(free, bounds[0]), bounds[1])
        if value[0, constrained] != free and constrained == 1:
            value[0, 0] = 1 - value[0, 1]
    return value


# Counting rows ------------------------------------------------------------------------------------


def counted(data: Data, rows: np.ndarray) -> int:
    return int(data.units[rows].sum())


def needed(rules: Rules, rows: int) -> int:
    """So many rows; of parts a little less will do, for what rounding has cost."""
    return rows * WHOLE - (rows * WHOLE // 1024 if rules.missing == "fractional" else 0)


# Scoring and choosing -----------------------------------------------------------------------------


def monotone_margin(sign: int, bounds: tuple[float, float], left: float, right: float) -> float:
    """How much room the constraint leaves; below 0 the split is refused."""
    lower, upper = bounds
    return min(sign * (right - left), left - lower, right - lower, upper - left, upper - right)


def judge(
    data: Data, rules: Rules, node: Node, split: Split, position: int, learned: int | None, shadow: bool
) -> Candidate | None:
    """Score one split, or None where a limit forbids it."""
    x = data.columns[split.feature][node.row_ids]
    branches = branches_of(split, x)
    left_out = 0.0
    if rules.missing != "learn" and is_missing(x).any():
        branches = np.where(is_missing(x), NOWHERE, branches)
        known = node.row_ids[~is_missing(x)]
        left_out = score_of(data, rules, node.row_ids) - score_of(data, rules, known)
    sides = [node.row_ids[branches == branch] for branch in range(split.n_branches)]
    weights = [math.fsum(data.weights[side]) for side in sides]
    large = [
        counted(data, side) >= needed(rules, rules.min_samples_leaf) and weight >= rules.min_weight_leaf
        for side, weight in zip(sides, weights, strict=True)
    ]
    if sum(large) < 2:
        return None
    sides = [side for side in sides if len(side)]
    if rules.criterion == "chi2":
        score = chi2_score([(data.outputs[0][side], data.weights[side]) for side in sides])
    else:
        score = math.fsum(score_of(data, rules, side) for side in sides)
    score += left_out
    sign = rules.monotonic_cst[split.feature] if rules.monotonic_cst is not None else 0
    margin = math.inf
    if sign != 0:
        y, w = data.outputs[0], data.weights
        left, right = (mean(y[side], w[side]) for side in sides)
        margin = monotone_margin(sign, node.bounds, left, right)
    if learned is None:  # no missing row to learn from: missing values will follow the heavier branch
        split = replace(split, missing_branch=weights.index(max(weights)))
    return Candidate(split, position, learned, branches, score, margin, shadow)


def category_candidates(data: Data, rules: Rules, node: Node, feature: int) -> list[Candidate]:
    """Every split of a categorical feature, if not by subsets."""
    is_whole = data.origin == np.arange(len(data.origin))  # not a part that growth has made
    there = np.flatnonzero((data.weights > 0) & is_whole)
    y, n_classes = data.outputs[0], data.n_classes[0]
    x = data.columns[feature]
    fit = Fit(x[there], y[there], data.weights[there], n_classes)
    here = Fit(x[node.row_ids], y[node.row_ids], data.weights[node.row_ids], n_classes)
    has_missing = bool(np.any(here.x == -1)) and rules.missing == "learn"
    found: list[Candidate | None] = []
    if rules.categorical_split in ENCODINGS:
        orders = encoded_tests(rules.categorical_split, feature, here.codes, fit)
        node.doubt |= rules.categorical_split == "target_mean" and fit.has_doubtful_order()
        for order, tests in enumerate(orders):
            judged = []
            for position, split in enumerate(tests):
                for learned in (0, 1) if has_missing else (None,):
                    directed = split if learned is None else replace(split, missing_branch=learned)
                    judged.append(judge(data, rules, node, directed, position, learned, shadow=False))
            if has_missing and here.codes:
                known = group_test(feature, fit.codes, fit.codes, missing_branch=1)
                judged.append(judge(data, rules, node, known, len(tests), 1, shadow=False))
            found += [None if one is None else replace(one, order=order) for one in judged]
        return [candidate for candidate in found if candidate is not None]
    groups = [[code] for code in here.codes]
    if rules.categorical_split == "merge":
        groups, doubt = merged_groups(here, rules.merge_level)
        node.doubt |= doubt
    split = many_way_test(feature, groups)
    missing_branches: Iterable[int | None] = [None]
    if has_missing:
        missing_branches = range(len(groups))
        if len(groups) < 2:
            split, missing_branches = replace(split, n_branches=2), [1]
    if len(groups) + has_missing < 2 or not groups:
        return []
    for learned in missing_branches:
        directed = split if learned is None else replace(split, missing_branch=learned)
        if rules.categorical_split == "multiway":
            directed = with_empty_branch(directed, fit)
        # The first branch that missing values gain most in: they are positions, not directions.
        judged_one = judge(data, rules, node, directed, 0, learned, shadow=False)
        found.append(None if judged_one is None else replace(judged_one, position=learned or 0, learned=None))
    return [candidate for candidate in found if candidate is not None]


def candidates_of(data: Data, rules: Rules, node: Node, feature: int) -> list[Candidate]:
    """Every split of one feature in the order of the tie rule, then the shadows."""
    if feature in node.spent:
        return []
    if is_categorical(data.columns[feature]) and rules.categorical_split != "subset":
        return category_candidates(data, rules, node, feature)
    x, w = data.columns[feature][node.row_ids], data.weights[node.row_ids]
    missing = is_missing(x)
    shadows: list[Split] = []
    if is_categorical(x):
        if len(data.outputs) > 1:
            raise NotImplementedError("groups of categories with several outputs")
        y, k = data.outputs[0][node.row_ids], data.n_classes[0]
        tests, shadows = subset_tests(feature, x, y, w, k), shadow_tests(feature, x, y, w, k)
        known = group_test(feature, set(x.tolist()), set(x[~missing].tolist()), missing_branch=1)
    else:
        tests = numeric_tests(feature, x)
        known = Split(feature, missing_branch=1, threshold=math.inf)
    has_missing = bool(missing.any()) and rules.missing == "learn"
    directions: list[int | None] = [0, 1] if has_missing else [None]
    found = []
    for shadow, splits in ((False, tests), (True, shadows)):
        for position, split in enumerate(splits):
            for learned in directions:
                directed = split if learned is None else replace(split, missing_branch=learned)
                found.append(judge(data, rules, node, directed, position, learned, shadow))
    if has_missing and not missing.all():  # the test "known | missing"
        found.append(judge(data, rules, node, known, len(tests), 1, shadow=False))
    return [candidate for candidate in found if candidate is not None]


@dataclass(frozen=True)
class Best:
    """The winner so far, and the best score seen so far (a tie may have raised it without a new winner)."""

    score: float
    candidate: Candidate


def better(score: float, than: float, scale: float) -> bool:
    return score > than + max(abs(than), scale) * TIE


def tie_scale(rules: Rules, data: Data, node: Node) -> float:
    """How large the terms are whose difference an entropy score is; other scores are sums of like signs."""
    if rules.criterion not in ("entropy", "gain_ratio") or node.weight <= 1:
        return 0.0
    return node.weight * math.log2(node.weight) * len(data.outputs)


def first_best(contenders: Iterable[Best], scale: float) -> Best | None:
    """Walk in order; a later one wins only where it is better by more than the tie tolerance."""
    best: Best | None = None
    for contender in contenders:
        if best is None or better(contender.score, best.score, scale):
            best = contender
        elif contender.score > best.score:
            best = Best(contender.score, best.candidate)
    return best


def merge_directions(left: Best | None, right: Best | None, scale: float) -> Best | None:
    """Missing left against missing right: the better one, else the lower threshold, else left."""
    if left is None or right is None:
        return left or right
    if better(left.score, right.score, scale):
        return left
    if better(right.score, left.score, scale):
        return right
    lower = right if right.candidate.position < left.candidate.position else left
    return Best(max(left.score, right.score), lower.candidate)


def best_of_feature(candidates: list[Candidate], scale: float) -> Best | None:
    admissible = [Best(c.score, c) for c in candidates if c.margin >= 0 and not c.shadow]
    best_of_orders = []
    for order in sorted({c.order for c in candidates}):
        of_order = [b for b in admissible if b.candidate.order == order]
        best_of_orders.append(
            merge_directions(
                first_best((b for b in of_order if b.candidate.learned != 1), scale),
                first_best((b for b in of_order if b.candidate.learned == 1), scale),
                scale,
            )
        )
    return first_best((best for best in best_of_orders if best is not None), scale)


# The second step ----------------------------------------------------------------------------------


CLOSE = 1e-7  # p-values and ratios nearer than this, relative to their size, are in doubt


def tests_tried(data: Data, rules: Rules, node: Node, candidates: list[Candidate]) -> float:
    """How many tests of a feature the best one is the best of."""
    feature = candidates[0].split.feature
    x = data.columns[feature][node.row_ids]
    n_categories = len(set(x[~is_missing(x)].tolist()))
    if is_categorical(x) and rules.categorical_split == "merge":
        branch_of_code = candidates[0].split.branch_of_code
        assert branch_of_code is not None
        return len(candidates) * ways_to_group(n_categories, len(set(branch_of_code.values())))
    if not is_categorical(x) or rules.categorical_split != "subset":
        return sum(c.margin >= 0 for c in candidates)
    ways = 2.0 ** (n_categories - 1) - 1  # to part them in two, however they were searched
    return 2 * ways + 1 if is_missing(x).any() and rules.missing == "learn" else ways


def choose(data: Data, rules: Rules, node: Node, found: list[tuple[Best, float]]) -> Best | None:
    """Take one of the features' best tests, each of which comes with the number of tests it was one of."""
    if not found:
        return None
    scale = tie_scale(rules, data, node)
    node_score = score_of(data, rules, node.row_ids)
    gains = [b.score - node_score if better(b.score, node_score, scale) else 0.0 for b, _ in found]
    if rules.criterion == "gain_ratio":
        return by_gain_ratio(data, node, [best for best, _ in found], gains, scale)
    if rules.criterion in ("chi2", "f_test"):
        return by_significance(data, rules, node, found, gains)
    return first_best((best for best, _ in found), scale)


def by_gain_ratio(data: Data, node: Node, found: list[Best], gains: list[float], scale: float) -> Best:
    """Of the tests that gain at least the mean, the one with the largest ratio; of equals the first."""
    mean_gain = math.fsum(gains) / len(gains)
    slack = max(scale, 1.0) * TIE
    ratios = []
    for best, gain in zip(found, gains, strict=True):
        # Rows that lack the feature count as one more branch.
        taken = best.candidate.branches
        sides = [data.weights[node.row_ids[taken == b]] for b in np.unique(taken)]
        ratios.append(gain / split_information([math.fsum(side) for side in sides]))
    eligible = [i for i, gain in enumerate(gains) if gain >= mean_gain - slack]
    winner = max(eligible, key=lambda i: (ratios[i], -i))
    winner = next(i for i in eligible if ratios[i] >= ratios[winner] * (1 - 1e-12))
    partition = found[winner].candidate.partition
    are_equal = max(gains) - min(gains) <= 1e-12 * node.weight
    node.close_choice = any(
        ratios[i] >= ratios[winner] - CLOSE and found[i].candidate.partition != partition for i in eligible
    ) or (not are_equal and any(abs(gain - mean_gain) <= CLOSE * node.weight for gain in gains))
    node.compared = [found[i].candidate for i in eligible]
    return found[winner]


def by_significance(
    data: Data, rules: Rules, node: Node, found: list[tuple[Best, float]], gains: list[float]
) -> Best | None:
    """The least p-value times the number of tests; of equals the largest score, then the first."""
    log_p = []
    for (best, n_tests), gain in zip(found, gains, strict=True):
        n_branches = len(set(best.candidate.branches.tolist()) - {NOWHERE})
        tested = node.row_ids[best.candidate.branches != NOWHERE]
        y = data.outputs[0][tested]
        weight = math.fsum(data.weights[tested])
        if np.all(y == y[0]):
            raw = 0.0  # rows that all say the same say it by any test
        elif rules.criterion == "chi2":
            raw = chi2_log_p(gain, n_branches, len(set(y.tolist())))
        else:
            raw = f_log_p(gain, weight * impurity_of(data, rules, tested), n_branches, weight)
        log_p.append(raw + math.log(n_tests))
    winner = min(range(len(found)), key=lambda i: (log_p[i], -found[i][0].score, i))
    partition = found[winner][0].candidate.partition
    node.doubt |= math.isinf(log_p[winner])  # scipy knows no smaller ones, the engine does
    near = CLOSE * max(1.0, abs(log_p[winner]))
    node.close_choice = any(
        log_p[i] <= log_p[winner] + near and found[i][0].candidate.partition != partition
        for i in range(len(found))
    )
    node.compared = [found[winner][0].candidate]
    if rules.min_significance is not None:
        limit = math.log(rules.min_significance)
        node.close_choice |= abs(log_p[winner] - limit) <= near
        if log_p[winner] > limit:
            return None
    return found[winner][0]


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
