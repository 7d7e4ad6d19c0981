"""The oracle itself is checked: worked numbers, scikit-learn's trees node by node, laws of growth."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from reference.criteria import Criterion, branch_score, impurity
from reference.naive import grow, near_order, near_ties
from reference.nodes import Candidate, Node, Order, Rules
from reference.splits import branches_of, halfway, is_missing
from reference.tables import TARGETS, Table, Target, tables
from reference.walks import (
    apply,
    children,
    feature_importances,
    leaves_below,
    predict_class,
    predict_value,
    pruned,
    pruning_path,
)

CLASS_CRITERIA: tuple[Criterion, ...] = ("gini", "entropy", "accuracy")
LARGEST = np.finfo(float).max
TINY = 5e-324


def leaf_count(nodes: list[Node]) -> int:
    return len(leaves_below(nodes, 0))


def shape_of(nodes: list[Node]) -> list[tuple]:
    """What must agree when two trees are the same tree."""
    return [(n.split, n.first_child, n.rows, n.weight, n.impurity, n.value.tolist()) for n in nodes]


# Worked numbers -----------------------------------------------------------------------------------


def weighted_impurity(criterion: Criterion, groups: Sequence[np.ndarray]) -> float:
    """The average impurity of the branches of a split, weighted with their rows."""
    rows = sum(len(group) for group in groups)
    return sum(len(group) / rows * impurity(criterion, group, np.ones(len(group))) for group in groups)


def counts(*per_class: int) -> np.ndarray:
    """Class codes with so many rows of class 0, of class 1, ..."""
    return np.repeat(np.arange(len(per_class)), per_class)


def by_value(column: Sequence[str], y: np.ndarray) -> list[np.ndarray]:
    """One group of targets for each value of a text column."""
    return [y[np.array(column) == value] for value in sorted(set(column))]


RESTAURANT = """
Alternate Bar FriSat Hungry Patrons Price Raining Reservation Type WaitEstimate WillWait
Yes No No Yes Some $$$ No Yes French 0-10 Yes
Yes No No Yes Full $ No No Thai 30-60 No
No Yes No No Some $ No No Burger 0-10 Yes
Yes No Yes Yes Full $ No No Thai 10-30 Yes
Yes No Yes No Full $$$ No Yes French >60 No
No Yes No Yes Some $$ Yes Yes Italian 0-10 Yes
No Yes No No None $ Yes No Burger 0-10 No
No No No Yes Some $$ Yes Yes Thai 0-10 Yes
No Yes Yes No Full $ Yes No Burger >60 No
Yes Yes Yes Yes Full $$$ No Yes Italian 10-30 No
No No No No None $ No No Thai 0-10 No
Yes Yes Yes Yes Full $ No No Burger 30-60 Yes
"""

COURSES = """
+2 yynyn | +2 yynyn | +2 nynnn | +2 nnnyn | +2 nyyny | +1 yynnn | +1 yynyn | +1 nynyn | 0 nnnny | 0 ynnyy |
0 nynyn | 0 yyyyy | -1 yyyny | -1 nnyyn | -1 nnyny | -1 ynyny | -2 nnyyn | -2 nyyny | -2 ynynn | -2 ynyny
"""

CARS = """
good 4 97 75 2265 18.2 77 asia | bad 6 199 90 2648 15 70 america | bad 4 121 110 2600 12.8 77 europa |
bad 8 350 175 4100 13 73 america | bad 6 198 95 3102 16.5 74 america | bad 4 108 94 2379 16.5 73 asia |
bad 4 113 95 2228 14 71 asia | bad 8 302 139 3570 12.8 78 america | good 4 120 79 2625 18.6 82 america |
bad 8 455 225 4425 10 70 america | good 4 107 86 2464 15.5 76 europa | bad 5 131 103 2830 15.9 78 europa
"""


def test_restaurant_conditional_entropies_at_the_root() -> None:
    names, *rows = [line.split() for line in RESTAURANT.strip().splitlines()]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    will_wait = np.array(columns.pop("WillWait")) == "Yes"
    found = {
        name: weighted_impurity("entropy", by_value(column, will_wait.astype(int)))
        for name, column in columns.items()
    }
    expected = dict.fromkeys(("Alternate", "Bar", "Raining", "Type"), 1.0)
    expected |= dict.fromkeys(("FriSat", "Reservation"), 0.9793) | dict.fromkeys(("Hungry", "Price"), 0.8043)
    expected |= {"WaitEstimate": 0.7925, "Patrons": 0.4591}
    assert found == pytest.approx(expected, abs=5e-5)


def test_restaurant_ties_in_the_node_patrons_full() -> None:
    names, *rows = [line.split() for line in RESTAURANT.strip().splitlines()]
    full = [row for row in rows if row[names.index("Patrons")] == "Full"]
    y = np.array([int(row[-1] == "Yes") for row in full])
    for name in ("Hungry", "Price", "Reservation", "Type", "WaitEstimate"):
        column = [row[names.index(name)] for row in full]
        assert weighted_impurity("entropy", by_value(column, y)) == pytest.approx(0.6667, abs=5e-5), name


@pytest.mark.parametrize(
    ("groups", "accuracy", "gini", "entropy"),
    [
        ([(8, 2), (2, 8)], 0.20, 0.32, 0.7219),
        ([(6, 4), (1, 9)], 0.25, 0.33, 0.7200),
        ([(6, 4), (0, 10)], 0.20, 0.24, 0.4855),
    ],
)
def test_three_criteria_on_splits_of_20_points(
    groups: list[tuple[int, int]], accuracy: float, gini: float, entropy: float
) -> None:
    branches = [counts(*group) for group in groups]
    assert weighted_impurity("accuracy", branches) == pytest.approx(accuracy, abs=5e-5)
    assert weighted_impurity("gini", branches) == pytest.approx(gini, abs=5e-5)
    assert weighted_impurity("entropy", branches) == pytest.approx(entropy, abs=5e-5)


def test_uneven_groups_misclassification() -> None:
    assert weighted_impurity("accuracy", [counts(8, 2), counts(1, 4)]) == pytest.approx(0.2)


def test_cricket_prefers_class_over_performance() -> None:
    performance, school_class = [counts(6, 8), counts(4, 2)], [counts(8, 2), counts(2, 8)]
    assert weighted_impurity("gini", performance) == pytest.approx(0.4762, abs=5e-5)
    assert weighted_impurity("entropy", performance) == pytest.approx(0.9651, abs=5e-5)
    assert weighted_impurity("gini", school_class) == pytest.approx(0.32)
    assert weighted_impurity("entropy", school_class) == pytest.approx(0.7219, abs=5e-5)


def test_entropies_of_two_small_tables() -> None:
    x1, x2, y = "TTTTFF", "TFTFTF", np.array([1, 1, 1, 1, 1, 0])
    assert weighted_impurity("entropy", [y]) == pytest.approx(0.6500, abs=5e-5)
    assert weighted_impurity("entropy", by_value(list(x1), y)) == pytest.approx(0.3333, abs=5e-5)
    assert weighted_impurity("entropy", by_value(list(x2), y)) == pytest.approx(0.4591, abs=5e-5)
    x1, x2, y = x1 + "FF", x2 + "TF", np.append(y, [0, 0])
    assert weighted_impurity("entropy", [y]) == pytest.approx(0.9544, abs=5e-5)
    assert weighted_impurity("entropy", by_value(list(x1), y)) == pytest.approx(0.4056, abs=5e-5)
    assert weighted_impurity("entropy", by_value(list(x2), y)) == pytest.approx(0.9056, abs=5e-5)


def test_entropy_of_given_shares() -> None:
    assert impurity("entropy", counts(4, 2, 1, 1), np.ones(8)) == 1.75
    assert impurity("entropy", counts(1, 1, 1, 1), np.ones(4)) == 2.0
    assert impurity("entropy", np.arange(4), np.array([0.5, 0.25, 0.125, 0.125])) == 1.75


@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
@pytest.mark.parametrize("order", ["depth", "level", "best"])
def test_xor_is_learned_although_both_gains_are_zero(criterion: Criterion, order: Order) -> None:
    columns = [np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])]
    y = np.array([0, 1, 1, 0])
    nodes = grow(columns, y, rules=Rules(criterion=criterion, order=order))
    assert nodes[0].decrease == 0.0
    assert nodes[0].split is not None and (nodes[0].split.feature, nodes[0].split.threshold) == (0, 0.5)
    assert [(n.rows, n.first_child) for n in nodes] == [(4, 1), (2, 3), (2, 5), *[(1, -1)] * 4]
    assert predict_class(nodes, columns)[:, 0].tolist() == y.tolist()


def test_greedy_tree_of_a_multiplexer_is_larger_than_the_best_one() -> None:
    a, b, c = (np.array([row >> bit & 1 for row in range(8)], dtype=float) for bit in (2, 1, 0))
    y = np.where(a == 1, b, c).astype(int)
    gains = [grow([x], y, rules=Rules(criterion="entropy", max_depth=1))[0].decrease for x in (a, b, c)]
    assert gains == pytest.approx([0.0, 0.1887, 0.1887], abs=5e-5)
    greedy = grow([a, b, c], y, rules=Rules(criterion="entropy"))
    assert greedy[0].split is not None and greedy[0].split.feature == 1
    assert (predict_class(greedy, [a, b, c])[:, 0] == y).all()
    assert leaf_count(greedy) > 4  # testing A first needs four leaves


def test_best_gain_and_threshold_of_each_car_feature() -> None:
    rows = [row.split() for row in CARS.replace("\n", " ").split("|")]
    y = np.array([int(row[0] == "good") for row in rows])
    names = ("cylinders", "displacement", "horsepower", "weight", "acceleration", "modelyear")
    found = {}
    for j, name in enumerate(names, start=1):
        column = np.array([float(row[j]) for row in rows])
        root = grow([column], y, rules=Rules(criterion="entropy", max_depth=1))[0]
        assert root.split is not None and root.decrease is not None
        found[name] = (round(root.decrease, 4), root.split.threshold)
    assert found == {
        "horsepower": (0.8113, 88.0),
        "displacement": (0.4204, 107.5),
        "acceleration": (0.4204, pytest.approx(17.35)),
        "cylinders": (0.3113, 4.5),
        "weight": (0.3113, 2636.5),
        "modelyear": (0.3113, 75.0),
    }
    makers = by_value([row[7] for row in rows], y)
    gain = weighted_impurity("entropy", [y]) - weighted_impurity("entropy", makers)
    assert gain == pytest.approx(0.0271, abs=5e-5)


def courses() -> tuple[list[np.ndarray], np.ndarray]:
    """The columns easy, AI, systems, theory, morning as 0 and 1, and the ratings."""
    rows = [row.split() for row in COURSES.replace("\n", " ").split("|")]
    answers = np.array([[float(letter == "y") for letter in row[1]] for row in rows])
    return list(answers.T), np.array([float(row[0]) for row in rows])


def test_course_ratings_variance_after_each_split() -> None:
    columns, ratings = courses()
    after = {}
    for name, column in zip(("easy", "AI", "systems", "theory", "morning"), columns, strict=True):
        root = grow([column], ratings, rules=Rules(criterion="squared_error", max_depth=1))[0]
        assert root.impurity == pytest.approx(2.1475) and root.decrease is not None
        after[name] = root.impurity - root.decrease
    expected = {"systems": 1.0450, "AI": 1.5869, "morning": 1.8475, "theory": 1.9450, "easy": 2.1450}
    assert after == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("criterion", CLASS_CRITERIA)
def test_liked_courses_have_one_contradiction(criterion: Criterion) -> None:
    columns, ratings = courses()
    liked = (ratings >= 0).astype(int)
    nodes = grow(columns, liked, rules=Rules(criterion=criterion))
    assert (predict_class(nodes, columns)[:, 0] == liked).mean() == 0.95


def test_liked_courses_accuracy_ties_where_entropy_decides() -> None:
    columns, ratings = courses()
    liked = (ratings >= 0).astype(int)
    systems = columns[2] == 1
    splits = {name: by_value(columns[j][systems].astype(str).tolist(), liked[systems]) for j, name in
              ((0, "easy"), (1, "AI"), (3, "theory"), (4, "morning"))}  # fmt: skip
    assert {round(weighted_impurity("accuracy", groups), 9) for groups in splits.values()} == {0.2}
    found = {name: weighted_impurity("entropy", groups) for name, groups in splits.items()}
    expected = {"AI": 0.4000, "morning": 0.6042, "theory": 0.6897, "easy": 0.7219}
    assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, "squared_error", "poisson"])
def test_score_differences_are_differences_of_weighted_impurity(criterion: Criterion) -> None:
    """The score drops constants of the node only, so it ranks splits as the impurity does."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30) if criterion in CLASS_CRITERIA else rng.uniform(0.1, 5, 30)
    w = rng.uniform(0.5, 2, 30)

    def both(cut: int) -> tuple[float, float]:
        sides = [slice(0, cut), slice(cut, 30)]
        score = sum(branch_score(criterion, y[s], w[s]) for s in sides)
        return score, sum(w[s].sum() * impurity(criterion, y[s], w[s]) for s in sides)

    (score_a, cost_a), (score_b, cost_b) = both(7), both(19)
    assert score_a - score_b == pytest.approx(cost_b - cost_a)
    assert abs(score_a - score_b) > 1e-3


# Thresholds, missing values, categories -----------------------------------------------------------


@pytest.mark.parametrize(
    ("lo", "hi", "t"),
    [
        (1.0, 2.0, 1.5),
        (1e308, 1.5e308, 1.25e308),
        (-LARGEST, LARGEST, 0.0),
        (1.0, math.nextafter(1.0, 2.0), 1.0),
        (math.nextafter(1.0, 2.0), 1.0 + 2 * np.finfo(float).eps, math.nextafter(1.0, 2.0)),
        (0.0, TINY, 0.0),
        (TINY, 2 * TINY, TINY),
        (-TINY, 0.0, -TINY),
        (-math.inf, 3.0, -LARGEST),
        (-math.inf, -LARGEST, -math.inf),
        (3.0, math.inf, LARGEST),
        (LARGEST, math.inf, LARGEST),
        (-math.inf, math.inf, 0.0),
    ],
)
def test_halfway(lo: float, hi: float, t: float) -> None:
    assert halfway(lo, hi) == t
    assert lo <= t < hi


def test_missing_rows_take_the_learned_branch() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for y, branch in (([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)):
        nodes = grow([x], np.array(y))
        assert len(nodes) == 3 and nodes[0].split is not None
        assert (nodes[0].split.threshold, nodes[0].split.missing_branch) == (2.5, branch)


def test_known_against_missing_can_be_the_split() -> None:
    nodes = grow([np.array([1.0, 2.0, np.inf, np.nan, np.nan])], np.array([0, 0, 0, 1, 1]))
    assert nodes[0].split is not None and len(nodes) == 3
    assert (nodes[0].split.threshold, nodes[0].split.missing_branch) == (math.inf, 1)


def test_equal_scores_prefer_missing_left_and_the_lower_threshold() -> None:
    # Missing left at 1.5 and missing right at 1.5 are both zero-gain here; so is every other candidate.
    nodes = grow([np.array([1.0, 1.0, 2.0, 2.0, np.nan, np.nan])], np.array([0, 1] * 3))
    assert nodes[0].split is not None
    assert (nodes[0].split.threshold, nodes[0].split.missing_branch) == (1.5, 0)


def test_without_missing_rows_the_heavier_branch_is_the_default() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1])
    for weights, branch in (([1, 1, 1], 1), ([2, 1, 1], 0), ([1, 0.25, 0.25], 0)):
        root = grow([x], y, np.array(weights))[0]
        assert root.split is not None and root.split.missing_branch == branch


def test_categories_are_ordered_by_share_and_unknown_ones_follow_missing() -> None:
    codes = np.array([0, 0, 1, 1, 1, 3, 3, 3, 3])
    y = np.array([1, 1, 0, 0, 0, 1, 0, 0, 0])
    root = grow([codes], y, rules=Rules(max_depth=1))[0]
    assert root.split is not None and root.split.branch_of_code == {0: 1, 1: 0, 3: 0}
    assert branches_of(root.split, np.array([0, 1, 2, 3, 9, -1])).tolist() == [1, 0, 0, 0, 0, 0]


def test_prefix_search_finds_the_best_of_all_subsets() -> None:
    """For two classes and for numbers a best group is a prefix of the order by mean (Breiman, Fisher)."""
    rng = np.random.default_rng(3)
    criteria: list[Criterion] = ["gini", "entropy", "squared_error", "poisson"]
    for criterion in criteria:
        for _ in range(10):
            codes, w = rng.integers(0, 5, 40), rng.uniform(0.5, 2, 40)
            y = rng.integers(0, 2, 40) if criterion in CLASS_CRITERIA else rng.uniform(0, 9, 40)
            root = grow([codes], y, w, rules=Rules(criterion=criterion, max_depth=1))[0]
            assert root.winner is not None
            shift = np.average(y, weights=w) if criterion == "squared_error" else 0.0
            scores = []
            for mask in range(1, 2**5 - 1):
                left = (mask >> codes & 1).astype(bool)
                scores.append(sum(branch_score(criterion, (y - shift)[s] if shift else y[s], w[s])
                                  for s in (left, ~left)))  # fmt: skip
            assert root.winner.score == pytest.approx(max(scores), rel=1e-12)


def test_many_classes_try_every_group_in_mask_order() -> None:
    codes, y = np.array([0, 2, 5, 0, 2, 5]), np.array([0, 1, 2, 0, 1, 2])
    root = grow([codes], y, rules=Rules(max_depth=1))[0]
    tried = [c.split.branch_of_code for c in root.candidates]
    assert tried == [{0: 0, 2: 1, 5: 1}, {0: 0, 2: 0, 5: 1}, {0: 0, 2: 1, 5: 0}]
    assert root.split is not None and root.split.branch_of_code == tried[0]
    with pytest.raises(NotImplementedError, match="more than 8 categories"):
        grow([np.arange(9)], np.arange(9) % 3)


# Against scikit-learn -----------------------------------------------------------------------------


def sklearn_tree(X: np.ndarray, y: np.ndarray, w: np.ndarray | None, criterion: str, **params: Any) -> Any:
    model = DecisionTreeClassifier if criterion in CLASS_CRITERIA else DecisionTreeRegressor
    return model(criterion=criterion, random_state=0, **params).fit(X, y, sample_weight=w)


def tied_with_winner(node: Node) -> list[Candidate]:
    """Every candidate that scikit-learn, which tries features in random order, may take instead."""
    assert node.winner is not None
    floor = node.winner.score - 1e-9 * max(abs(node.winner.score), node.score_scale)
    return [c for c in node.candidates if c.margin >= 0 and c.score >= floor]


def assert_same_tree(nodes: list[Node], model: Any, X: np.ndarray) -> int:
    """Compare node by node from the root, stopping below a tie; return the number of splits compared."""
    tree, compared, pairs = model.tree_, 0, [(0, 0)]
    while pairs:
        ours, theirs = pairs.pop()
        node = nodes[ours]
        assert node.rows == tree.n_node_samples[theirs]
        assert node.weight == pytest.approx(tree.weighted_n_node_samples[theirs])
        assert node.impurity == pytest.approx(tree.impurity[theirs], abs=1e-12)
        np.testing.assert_allclose(node.value, tree.value[theirs], atol=1e-12)
        their_children = [tree.children_left[theirs], tree.children_right[theirs]]
        if node.split is None:
            assert their_children == [-1, -1]
            continue
        feature, threshold = int(tree.feature[theirs]), float(tree.threshold[theirs])
        tied = {(c.split.feature, c.split.threshold) for c in tied_with_winner(node)}
        assert (feature, threshold) in tied
        if len(tied) > 1 or (len(tied_with_winner(node)) > 1 and np.isnan(X[node.row_ids, feature]).any()):
            continue
        if np.isnan(X[node.row_ids, feature]).any():
            assert node.split.missing_branch == 1 - tree.missing_go_to_left[theirs]
        compared += 1
        pairs += zip(children(nodes, ours), their_children, strict=True)
    return compared


def random_problem(seed: int, criterion: str, rows: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Continuous data, X exact in the float32 that scikit-learn uses; y depends on X with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32).astype(float)
    signal = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=rows)
    if criterion in CLASS_CRITERIA:
        y = np.digitize(signal, [0.0] if seed % 2 else [-0.5, 0.5])
    else:
        y = np.exp(signal / 2) if criterion == "poisson" else signal
    return X, y, rng.integers(4, 17, size=rows) / 8  # weights whose sums are exact, so pure is pure


CRITERIA: list[Criterion] = ["gini", "entropy", "squared_error", "poisson"]
LIMITS: list[dict[str, Any]] = [
    {},
    {"max_depth": 3},
    {"min_samples_leaf": 4},
    {"min_samples_split": 12},
    {"min_impurity_decrease": 0.003},
]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(20))
def test_same_tree_as_scikit_learn(seed: int, criterion: Criterion) -> None:
    X, y, w = random_problem(seed, criterion)
    weights, limits = (w if seed % 3 else None), LIMITS[seed % len(LIMITS)]
    model = sklearn_tree(X, y, weights, criterion, **limits)
    nodes = grow(list(X.T), y, weights, rules=Rules(criterion=criterion, **limits))
    assert assert_same_tree(nodes, model, X) >= 3
    if not any(len(tied_with_winner(n)) > 1 for n in nodes if n.split is not None):
        np.testing.assert_allclose(
            predict_value(nodes, list(X.T)), model.tree_.predict(X.astype(np.float32)).reshape(80, 1, -1)
        )
        np.testing.assert_allclose(feature_importances(nodes, 3), model.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("leaves", [2, 5, 9])
def test_best_first_growth_as_scikit_learn(criterion: Criterion, leaves: int) -> None:
    X, y, w = random_problem(leaves, criterion, rows=120)
    rules = Rules(criterion=criterion, max_leaf_nodes=leaves, min_samples_leaf=3)
    nodes = grow(list(X.T), y, w, rules=rules)
    model = sklearn_tree(X, y, w, criterion, max_leaf_nodes=leaves, min_samples_leaf=3)
    assert leaf_count(nodes) == leaves
    assert not any(near_order(n) for n in nodes)
    assert assert_same_tree(nodes, model, X) == leaves - 1
    same = grow(list(X.T), y, w, rules=Rules(criterion=criterion, max_nodes=2 * leaves, min_samples_leaf=3))
    assert shape_of(same) == shape_of(nodes)  # an even limit leaves one node unused


def test_min_weight_leaf_as_scikit_learn() -> None:
    X, y, w = random_problem(4, "squared_error")
    nodes = grow(list(X.T), y, w, rules=Rules(criterion="squared_error", min_weight_leaf=0.05 * w.sum()))
    model = sklearn_tree(X, y, w, "squared_error", min_weight_fraction_leaf=0.05)
    assert assert_same_tree(nodes, model, X) >= 10
    assert len(nodes) == model.tree_.node_count


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("leaves", [None, 6])
@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_monotonic_constraints_as_scikit_learn(seed: int, criterion: Criterion, leaves: int | None) -> None:
    X, y, w = random_problem(seed, criterion)
    signs = [1, -1, 0] if seed % 4 == 1 else [-1, 0, 1]
    limits: dict[str, Any] = {"monotonic_cst": signs, "max_leaf_nodes": leaves, "min_samples_leaf": 4}
    nodes = grow(list(X.T), y, w, rules=Rules(criterion=criterion, **limits))
    model = sklearn_tree(X, y, w, criterion, **limits)
    assert assert_same_tree(nodes, model, X) >= (3 if signs[0] == 1 else 1)
    assert any(c.margin < 0 for n in nodes for c in n.candidates)


def test_monotonic_trees_are_monotonic() -> None:
    """Moving a row up in a constrained feature never lowers the share of class 1, or the mean."""
    grid = np.linspace(-3, 3, 25)
    for criterion in ("gini", "squared_error"):
        X, y, w = random_problem(11, criterion)
        rules = Rules(criterion=criterion, monotonic_cst=[1, 0, -1], min_samples_leaf=2)  # type: ignore[arg-type]
        nodes = grow(list(X.T), y, w, rules=rules)
        for feature, sign in ((0, 1), (2, -1)):
            swept = [np.repeat(X[:12, j], len(grid)) for j in range(3)]
            swept[feature] = np.tile(grid, 12)
            value = predict_value(nodes, swept)[:, 0, -1].reshape(12, len(grid))
            assert (np.diff(value, axis=1) * sign >= 0).all()
            assert np.ptp(value) > 0


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(5))
def test_missing_values_as_scikit_learn(seed: int, criterion: Criterion) -> None:
    X, y, w = random_problem(seed, criterion)
    rng = np.random.default_rng(100 + seed)
    X[rng.random(X.shape) < 0.25] = np.nan
    nodes = grow(list(X.T), y, w, rules=Rules(criterion=criterion, min_samples_leaf=4, max_depth=4))
    model = sklearn_tree(X, y, w, criterion, min_samples_leaf=4, max_depth=4)
    assert assert_same_tree(nodes, model, X) >= 3
    learned = [n.winner.learned for n in nodes if n.split is not None and n.winner is not None]
    assert any(branch is not None for branch in learned)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_several_outputs_as_scikit_learn(criterion: Criterion) -> None:
    X, first, w = random_problem(1, criterion)
    _, second, _ = random_problem(3, criterion)
    Y = np.column_stack([first, second])
    nodes = grow(list(X.T), Y, w, rules=Rules(criterion=criterion, min_samples_leaf=3))
    model = sklearn_tree(X, Y, w, criterion, min_samples_leaf=3)
    assert nodes[0].value.shape == (2, 2 if criterion == "gini" else 1)
    assert assert_same_tree(nodes, model, X) >= 5


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_pruning_path_as_scikit_learn(seed: int, criterion: Criterion) -> None:
    X, y, w = random_problem(seed, criterion)
    params: dict[str, Any] = {"min_samples_leaf": 3, "max_depth": 5}
    nodes = grow(list(X.T), y, w, rules=Rules(criterion=criterion, **params))
    model = sklearn_tree(X, y, w, criterion, **params)
    assert not any(near_ties(n) for n in nodes)  # scikit-learn would settle them at random
    path, theirs = pruning_path(nodes), model.cost_complexity_pruning_path(X, y, sample_weight=w)
    # scikit-learn cuts one link at a time; of equally weak links only the last entry is ours.
    last = np.append(np.diff(theirs.ccp_alphas) > 1e-12, True)
    last[0] = True
    np.testing.assert_allclose([step.alpha for step in path], theirs.ccp_alphas[last], atol=1e-12)
    np.testing.assert_allclose([step.impurity for step in path], theirs.impurities[last], atol=1e-12)
    assert path[-1].nodes[0].split is None and path[0].nodes == nodes
    alpha = (path[3].alpha + path[4].alpha) / 2
    smaller = sklearn_tree(X, y, w, criterion, ccp_alpha=alpha, **params)
    assert_same_tree(pruned(nodes, alpha), smaller, X)
    assert len(pruned(nodes, alpha)) == smaller.tree_.node_count == len(path[3].nodes)


def test_equally_weak_links_are_cut_together() -> None:
    x = np.arange(8.0)
    y = np.array([0, 1, 1, 0, 2, 3, 3, 2])
    nodes = grow([x], y, rules=Rules(criterion="entropy"))
    path = pruning_path(nodes)
    assert [len(step.nodes) for step in path][-1] == 1
    alphas = [step.alpha for step in path]
    assert all(later > earlier for earlier, later in pairwise(alphas[1:]))
    model = DecisionTreeClassifier(criterion="entropy", random_state=0)
    theirs = model.cost_complexity_pruning_path(x[:, None], y)
    assert len(theirs.ccp_alphas) > len(path)  # one link at a time there
    assert set(np.round(alphas, 9)) == set(np.round(np.abs(theirs.ccp_alphas), 9))


def test_equally_weak_links_are_cut_together_in_spite_of_rounding() -> None:
    y = np.array([0.0, 0.1, 10.0, 10.1, 20.3, 20.4])
    path = pruning_path(grow([np.arange(6.0)], y, rules=Rules(criterion="squared_error")))
    assert [len(step.nodes) for step in path] == [11, 5, 3, 1]
    assert len({n.impurity for n in path[1].nodes if n.split is None}) > 1  # not equal to the last bit


def test_poisson_parts_rows_without_events_from_the_others() -> None:
    x, y = np.arange(6.0), np.array([0.0, 0, 0, 1, 2, 4])
    nodes = grow([x], y, rules=Rules(criterion="poisson", max_depth=1))
    assert nodes[0].split is not None and nodes[0].split.threshold == 2.5
    assert nodes[1].impurity == 0 and nodes[1].value[0, 0] == 0
    # scikit-learn refuses such a branch; where there is none, both grow the same tree.
    model = sklearn_tree(x[:, None], y + 1, None, "poisson")
    assert assert_same_tree(grow([x], y + 1, rules=Rules(criterion="poisson")), model, x[:, None]) >= 2


# Laws of growth on adversarial tables -------------------------------------------------------------


CRITERIA_FOR: dict[Target, list[Criterion]] = {
    "classes": list(CLASS_CRITERIA),
    "numbers": ["squared_error"],
    "counts": ["poisson", "squared_error"],
}


@st.composite
def cases(draw: st.DrawFn, **options: Any) -> tuple[Table, Criterion]:
    target = draw(st.sampled_from(TARGETS))
    return draw(tables(target, max_rows=20, **options)), draw(st.sampled_from(CRITERIA_FOR[target]))


def grow_table(table: Table, **rules: Any) -> list[Node]:
    return grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=Rules(**rules))


def same_features(columns: list[np.ndarray], rows: np.ndarray) -> bool:
    """True where no test can tell these rows apart."""
    for column in columns:
        x, missing = column[rows], is_missing(column[rows])
        if missing.any() != missing.all() or len(np.unique(x[~missing])) > 1:
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_grown_out_tree_separates_whatever_can_be_separated(case: tuple[Table, Criterion]) -> None:
    table, criterion = case
    nodes = grow_table(table, criterion=criterion)
    leaves = apply(nodes, table.columns)
    kept = np.ones(len(table.y)) if table.weights is None else table.weights
    for at, node in enumerate(nodes):
        rows = node.row_ids
        if node.split is None:
            assert set(rows) == set(np.flatnonzero((leaves == at) & (kept > 0)))
            pure = len(np.unique(table.y[rows])) == 1
            assert pure or same_features(table.columns, rows)
        else:
            left, right = (nodes[child] for child in children(nodes, at))
            assert node.first_child > at and left.depth == right.depth == node.depth + 1
            assert left.rows + right.rows == node.rows and min(left.rows, right.rows) >= 1
            assert node.decrease is not None and node.decrease >= 0
    assert sorted(c for at in range(len(nodes)) for c in children(nodes, at)) == list(range(1, len(nodes)))


@settings(max_examples=30, deadline=None)
@given(cases(), st.sampled_from(["depth", "level", "best"]))
def test_order_of_growth_does_not_matter_without_a_budget(case: tuple[Table, Criterion], order: str) -> None:
    table, criterion = case
    expected = grow_table(table, criterion=criterion)
    assert shape_of(grow_table(table, criterion=criterion, order=order)) == shape_of(expected)


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(1, 6), st.integers(1, 12))
def test_limits_are_kept(case: tuple[Table, Criterion], leaves: int, max_nodes: int) -> None:
    table, criterion = case
    nodes = grow_table(table, criterion=criterion, max_leaf_nodes=leaves, max_nodes=max_nodes)
    full = grow_table(table, criterion=criterion)
    assert leaf_count(nodes) == min(leaves, (max_nodes + 1) // 2, leaf_count(full))
    small = grow_table(table, criterion=criterion, min_samples_leaf=leaves, max_depth=3)
    assert all(n.rows >= min(leaves, small[0].rows) and n.depth <= 3 for n in small)


@settings(max_examples=30, deadline=None)
@given(cases(weights=["with_zeros"]))
def test_zero_weight_equals_dropped_and_integer_weight_equals_repeated(case: tuple[Table, Criterion]) -> None:
    table, criterion = case
    assert table.weights is not None
    times = table.weights.astype(int)
    nodes = grow_table(table, criterion=criterion)
    kept = times > 0
    dropped = Table([c[kept] for c in table.columns], table.y[kept], table.weights[kept], table.n_classes)
    assert shape_of(grow_table(dropped, criterion=criterion)) == shape_of(nodes)
    repeated = Table(
        [np.repeat(c, times) for c in table.columns], np.repeat(table.y, times), None, table.n_classes
    )
    again = grow_table(repeated, criterion=criterion)
    if not any(near_ties(n) for n in nodes):  # pure leaves and ties may see other roundings of the mean
        assert [(n.split, n.weight) for n in again] == [(n.split, n.weight) for n in nodes]


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(-20, 20))
def test_scaling_weights_by_a_power_of_two_changes_nothing(
    case: tuple[Table, Criterion], exponent: int
) -> None:
    table, criterion = case
    nodes = grow_table(table, criterion=criterion)
    weights = (np.ones(len(table.y)) if table.weights is None else table.weights) * 2.0**exponent
    scaled = grow_table(Table(table.columns, table.y, weights, table.n_classes), criterion=criterion)
    # The logarithms of scaled weights round differently, so a near tie may go the other way.
    if criterion in ("gini", "accuracy", "squared_error") or not any(near_ties(n) for n in nodes):
        assert [(n.split, n.rows, n.impurity) for n in scaled] == [
            (n.split, n.rows, n.impurity) for n in nodes
        ]


def test_near_ties_sees_other_partitions_only() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    y = np.array([0, 0, 1, 1, 1])
    assert not near_ties(grow([x, -x], y)[0])  # the mirror image makes the same partition
    xor = grow([np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])], np.array([0, 1, 1, 0]))
    assert near_ties(xor[0])
    assert not near_ties(xor[0], trust_ties=True)
    close = grow([x[:3]], np.array([-1.0, 0.0, 1.0 + 1e-10]), rules=Rules(criterion="squared_error"))
    assert near_ties(close[0]) and near_ties(close[0], trust_ties=True)
    assert not near_ties(close[0], slack=1e-12)


def test_near_ties_sees_categories_whose_order_is_in_doubt() -> None:
    codes = np.array([0, 0, 1, 1, 2, 2])
    y = np.array([0.1, 0.3, 0.2, 0.2, 0.15, 0.25])  # three equal means, up to rounding
    assert near_ties(grow([codes], y, rules=Rules(criterion="squared_error"))[0])


def test_near_order_sees_equally_good_nodes() -> None:
    columns = [np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])]
    nodes = grow(columns, np.array([0, 1, 1, 0]), rules=Rules(max_leaf_nodes=3))
    assert [n.first_child for n in nodes] == [1, 3, -1, -1, -1]  # the left one was created first
    assert near_order(nodes[1]) and not near_order(nodes[0])
