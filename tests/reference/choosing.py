"""Which split a node gets, the slow and obvious way: every candidate is judged, and the best is taken."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

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
    branch_score,
    chi2_log_p,
    chi2_score,
    f_log_p,
    impurity,
    mean,
    median,
    split_information,
)
from .nodes import (
    NOWHERE,
    TIE,
    WHOLE,
    Candidate,
    Data,
    Node,
    Rules,
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
