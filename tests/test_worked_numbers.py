"""The worked numbers of the textbooks, through the public estimators.

The numbers are typed in as the textbooks give them, with four digits. Some are checked twice: on the table,
with the formula written out here, and on the tree.
"""

import itertools
from collections import Counter

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import datasets


def entropy(labels):
    shares = np.array(list(Counter(labels).values())) / len(labels)
    return float(-(shares * np.log2(shares)).sum()) + 0.0


def conditional_entropy(values, labels):
    """Average the entropy of the labels over the groups of equal values: a multiway split."""
    values, labels = np.asarray(values), np.asarray(labels)
    return sum(np.mean(values == v) * entropy(labels[values == v].tolist()) for v in set(values.tolist()))


def best_subset_entropy(values, labels):
    """Try every way to part the categories in two."""
    values = np.asarray(values)
    categories = sorted(set(values.tolist()))
    subsets = itertools.chain.from_iterable(
        itertools.combinations(categories, size) for size in range(1, len(categories))
    )
    return min(conditional_entropy(np.isin(values, subset), labels) for subset in subsets)


def stump(column, y, *, criterion="entropy", estimator=hb.DecisionTreeClassifier):
    """Grow one split on one column."""
    X = np.empty((len(y), 1), dtype=object)
    X[:, 0] = column
    return estimator(criterion=criterion, max_depth=1).fit(X, y)


def impurity_after(tree):
    """Average the impurity of the two children of the root by their weight."""
    weights = tree.tree_.weighted_n_node_samples
    return float(np.average(tree.tree_.impurity[1:3], weights=weights[1:3]))


def gain(tree):
    return float(tree.tree_.impurity[0] - impurity_after(tree))


def approx(value):
    """The promises are given with four digits."""
    return pytest.approx(value, abs=5e-5)


# --- 1. Restaurant ---------------------------------------------------------------------------------------


def test_restaurant_conditional_entropies_at_the_root():
    table = datasets.restaurant()
    expected = {
        "Patrons": 0.4591,
        "WaitEstimate": 0.7925,
        "Hungry": 0.8043,
        "Price": 0.8043,
        "FriSat": 0.9793,
        "Reservation": 0.9793,
        **dict.fromkeys(("Alternate", "Bar", "Raining", "Type"), 1.0),
    }
    found = {name: conditional_entropy(values, table.y) for name, values in table.columns.items()}
    assert found == {name: approx(value) for name, value in expected.items()}


def test_restaurant_ties_where_the_house_is_full():
    table = datasets.restaurant()
    full = np.array(table.columns["Patrons"]) == "Full"
    assert full.sum() == 6
    found = {
        name: conditional_entropy(np.array(values)[full], table.y[full])
        for name, values in table.columns.items()
    }
    tied = {name for name, value in found.items() if value == approx(0.6667)}
    assert tied == {"Hungry", "Price", "Reservation", "Type", "WaitEstimate"}
    assert min(found.values()) == approx(0.6667)


@pytest.mark.parametrize("name", datasets.restaurant().feature_names)
def test_restaurant_binary_split_of_a_column_is_the_best_subset(name):
    table = datasets.restaurant()
    tree = stump(table.columns[name], table.y)
    assert tree.tree_.impurity[0] == approx(1.0)
    assert impurity_after(tree) == pytest.approx(best_subset_entropy(table.columns[name], table.y))


def test_restaurant_root_tests_patrons_and_the_grown_tree_makes_no_mistake():
    table = datasets.restaurant()
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y)
    root = tree.to_frame().iloc[0]
    assert root["feature"] == "Patrons"
    assert root["categories"] == (("Full", "None"), ("Some",))
    assert impurity_after(tree) == approx(0.5409)
    assert tree.score(table.frame(), table.y) == 1.0


def test_restaurant_multiway_tree():
    table = datasets.restaurant()
    tree = hb.DecisionTreeClassifier(criterion="entropy", categorical_split="multiway")
    tree.fit(table.frame(), table.y)
    best = tree.split_table(table.frame(), table.y, best_per_feature=True).set_index("feature")["score"]
    assert best.to_dict() == {
        "Patrons": approx(0.4591),
        "WaitEstimate": approx(0.7925),
        **dict.fromkeys(("Hungry", "Price"), approx(0.8043)),
        **dict.fromkeys(("FriSat", "Reservation"), approx(0.9793)),
        **dict.fromkeys(("Alternate", "Bar", "Raining", "Type"), approx(1.0)),
    }
    assert tree.rules().splitlines() == [
        "12 rows: 50 % No, 50 % Yes",
        "Patrons = Full (6 rows: 67 % No, 33 % Yes)",
        "|   Hungry = No -> No (2 rows, 100 %)",
        "|   Hungry = Yes (4 rows: 50 % No, 50 % Yes)",
        "|   |   Type = Burger -> Yes (1 row, 100 %)",
        "|   |   Type = Italian -> No (1 row, 100 %)",
        "|   |   Type = Thai (2 rows: 50 % No, 50 % Yes)",
        "|   |   |   FriSat = No -> No (1 row, 100 %)",
        "|   |   |   FriSat = Yes -> Yes (1 row, 100 %)",
        "|   |   Type = French -> No (0 rows: 50 % No, 50 % Yes)",  # empty: as its parent, the first class
        "Patrons = None -> No (2 rows, 100 %)",
        "Patrons = Some -> Yes (4 rows, 100 %)",
    ]
    assert tree.score(table.frame(), table.y) == 1.0


# --- 2. Courses ------------------------------------------------------------------------------------------


def test_courses_accuracy_of_each_root_split():
    table = datasets.courses()
    assert max(Counter(table.y.tolist()).values()) / len(table.y) == 0.60
    expected = {"easy": 0.60, "AI": 0.75, "systems": 0.90, "theory": 0.70, "morning": 0.65}
    for name, values in table.columns.items():
        tree = stump(values, table.y, criterion="accuracy")
        X = np.array(values, dtype=object)[:, None]
        assert (name, tree.score(X, table.y)) == (name, pytest.approx(expected[name]))
        assert (name, 1 - impurity_after(tree)) == (name, pytest.approx(expected[name]))
    chosen = hb.DecisionTreeClassifier(criterion="accuracy", max_depth=1).fit(table.frame(), table.y)
    assert chosen.to_frame()["feature"].iloc[0] == "systems"


def test_courses_inside_systems_entropy_tells_apart_what_accuracy_cannot():
    table = datasets.courses()
    chosen = np.array(table.columns["systems"]) == "y"
    y = table.y[chosen]
    assert (len(y), y.sum()) == (10, 2)
    expected = {"AI": 0.4000, "morning": 0.6042, "theory": 0.6897, "easy": 0.7219}
    for name, value in expected.items():
        column = np.array(table.columns[name], dtype=object)[chosen]
        tree = stump(column, y)
        assert (name, impurity_after(tree)) == (name, approx(value))
        assert tree.score(column[:, None], y) == 0.8
    ai = stump(np.array(table.columns["AI"], dtype=object)[chosen], y).to_frame()
    assert sorted(ai["rows"].iloc[1:3]) == [4, 6]

    grown = hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y).to_frame()
    assert grown["feature"].iloc[0] == "systems"
    branch_of_yes = grown["categories"].iloc[0].index(("y",))
    below_yes = grown[(grown["parent"] == 0) & (grown["branch"] == branch_of_yes)].iloc[0]
    assert (below_yes["rows"], below_yes["feature"]) == (10, "AI")


# --- 3. Cricket, 4. splits of twenty points --------------------------------------------------------------


def test_cricket_class_is_chosen():
    table = datasets.cricket()
    for criterion, performance, grade in (("gini", 0.4762, 0.32), ("entropy", 0.9651, 0.7219)):
        assert impurity_after(stump(table.columns["Performance"], table.y, criterion=criterion)) == approx(
            performance
        )
        assert impurity_after(stump(table.columns["Class"], table.y, criterion=criterion)) == approx(grade)
        tree = hb.DecisionTreeClassifier(criterion=criterion).fit(table.frame(), table.y)
        assert tree.to_frame()["feature"].iloc[0] == "Class"
    assert gain(stump(table.columns["Performance"], table.y)) == approx(0.0349)
    assert gain(stump(table.columns["Class"], table.y)) == approx(0.2781)


@pytest.mark.parametrize(
    ("left", "right", "wrong", "gini", "bits"),
    [
        ((8, 2), (2, 8), 0.20, 0.32, 0.7219),
        ((6, 4), (1, 9), 0.25, 0.33, 0.7200),
        ((6, 4), (0, 10), 0.20, 0.24, 0.4855),
    ],
)
def test_splits_of_twenty_points(left, right, wrong, gini, bits):
    column = ["left"] * sum(left) + ["right"] * sum(right)
    y = ["+"] * left[0] + ["-"] * left[1] + ["+"] * right[0] + ["-"] * right[1]
    assert impurity_after(stump(column, y, criterion="accuracy")) == approx(wrong)
    assert impurity_after(stump(column, y, criterion="gini")) == approx(gini)
    assert impurity_after(stump(column, y, criterion="entropy")) == approx(bits)


# --- 5. Two features, and entropy itself -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_rows", "before", "after"),
    [(6, 0.6500, {"X1": 0.3333, "X2": 0.4591}), (8, 0.9544, {"X1": 0.4056, "X2": 0.9056})],
)
def test_information_of_two_features(n_rows, before, after):
    table = datasets.two_tests(n_rows)
    for name, value in after.items():
        tree = stump(table.columns[name], table.y)
        assert tree.tree_.impurity[0] == approx(before)
        assert (name, impurity_after(tree)) == (name, approx(value))


@pytest.mark.parametrize(("labels", "bits"), [("aaaabbcd", 1.75), ("abcd", 2.0)])
def test_entropy_of_known_distributions(labels, bits):
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(np.arange(len(labels))[:, None], list(labels))
    assert tree.tree_.impurity[0] == bits


# --- 6. Greed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["gini", "entropy", "accuracy", "gain_ratio", "chi2"])
def test_xor_gains_nothing_and_is_learned(criterion):
    table = datasets.xor()
    for values in table.columns.values():
        assert gain(stump(values, table.y, criterion=criterion)) == 0
    tree = hb.DecisionTreeClassifier(criterion=criterion).fit(table.X, table.y)
    assert tree.tree_.gain[0] == 0
    assert tree.score(table.X, table.y) == 1.0


@pytest.mark.parametrize("criterion", ["squared_error", "poisson", "f_test"])
def test_xor_as_numbers_is_learned(criterion):
    table = datasets.xor()
    y = np.where(table.y, 1.0, 0.0)
    tree = hb.DecisionTreeRegressor(criterion=criterion).fit(table.X, y)
    np.testing.assert_array_equal(tree.predict(table.X), y)


def test_greed_makes_the_multiplexer_larger_than_need_be():
    table = datasets.multiplexer()
    gains = {name: gain(stump(values, table.y)) for name, values in table.columns.items()}
    assert gains == {"A": 0, "B": approx(0.1887), "C": approx(0.1887)}
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(table.X, table.y)
    assert tree.score(table.X, table.y) == 1.0
    leaves_of_the_best_tree = 4  # A, then B on one side and C on the other
    assert tree.get_n_leaves() > leaves_of_the_best_tree


# --- 7. Ten points, three boosted stumps -----------------------------------------------------------------


def test_three_boosted_stumps_tell_the_ten_points_apart():
    points = datasets.ten_points()
    model = hb.AdaBoostClassifier(n_estimators=3).fit(points.X, points.y)
    assert model.estimator_errors_.tolist() == [approx(error) for error in (0.3, 0.2143, 0.1364)]
    assert model.estimator_weights_.tolist() == [approx(beta) for beta in (0.4236, 0.6496, 0.9229)]
    assert [int((stump.predict(points.X) != points.y).sum()) for stump in model.estimators_] == [3, 3, 3]
    assert np.array_equal(model.predict(points.X), points.y)


# --- 10. The majority ------------------------------------------------------------------------------------


def test_the_majority_of_cats_dogs_and_lions():
    y = np.repeat(["cat", "dog", "lion"], [5, 80, 15])
    X = np.arange(100)[:, None]
    leaf = hb.DecisionTreeClassifier(min_samples_split=101).fit(X, y)
    assert leaf.get_n_leaves() == 1
    assert leaf.score(X, y) == 0.80
    assert leaf.tree_.value[0, 0].tolist() == [0.05, 0.80, 0.15]
    guess = hb.baseline(y)
    assert guess.answer == "dog" and guess.score == 0.80 and guess.shares.tolist() == [0.05, 0.80, 0.15]
    assert str(guess) == "always dog: accuracy 0.8"


# --- 11. Cars --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected_gain", "threshold"),
    [
        ("horsepower", 0.8113, 88),
        ("displacement", 0.4204, 107.5),
        ("acceleration", 0.4204, 17.35),
        ("cylinders", 0.3113, 4.5),
        ("weight", 0.3113, 2636.5),
        ("modelyear", 0.3113, 75),
    ],
)
def test_cars_best_split_of_each_numeric_column(name, expected_gain, threshold):
    table = datasets.cars()
    tree = stump(table.columns[name], table.y)
    assert gain(tree) == approx(expected_gain)
    assert tree.tree_.threshold[0] == pytest.approx(threshold)


def test_cars_maker_as_a_table_and_horsepower_as_the_whole_tree():
    table = datasets.cars()
    assert entropy(table.y.tolist()) - conditional_entropy(table.columns["maker"], table.y) == approx(0.0271)
    multiway = hb.DecisionTreeClassifier(criterion="entropy", max_depth=1, categorical_split="multiway")
    multiway.fit(table.frame()[["maker"]], table.y)
    assert multiway.tree_.n_branches[0] == 3
    assert multiway.tree_.gain[0] / len(table.y) == approx(0.0271)
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y)
    assert tree.rules("lines").splitlines() == [
        "if horsepower <= 88 then good (3 rows, 100 %)",
        "if horsepower > 88 then bad (9 rows, 100 %)",
    ]


# --- 12. Ratings as numbers ------------------------------------------------------------------------------


def test_courses_variance_after_each_split():
    table = datasets.courses("rating")
    expected = {"systems": 1.0450, "AI": 1.5869, "morning": 1.8475, "theory": 1.9450, "easy": 2.1450}
    for name, value in expected.items():
        tree = stump(
            table.columns[name], table.y, criterion="squared_error", estimator=hb.DecisionTreeRegressor
        )
        assert tree.tree_.impurity[0] == approx(2.1475)
        assert (name, impurity_after(tree)) == (name, approx(value))


def test_courses_one_contradiction_leaves_nineteen_right():
    table = datasets.courses()
    tree = hb.DecisionTreeClassifier().fit(table.frame(), table.y)
    assert tree.score(table.frame(), table.y) == 0.95
