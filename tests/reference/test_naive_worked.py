"""The oracle grows the trees of textbooks."""

from collections.abc import Sequence

import numpy as np
import pytest

from reference.criteria import Criterion, impurity
from reference.naive import grow
from reference.naive_cases import CLASS_CRITERIA, counts, leaf_count, weighted_impurity
from reference.nodes import Order, Rules
from reference.walks import (
    predict_class,
)


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
