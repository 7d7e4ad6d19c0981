"""Criteria with a second step: what they compare between features, in numbers computed here or by scipy."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hornbeam as hb
from hornbeam import _core
from hornbeam.params import ClassCriterionOptions, NumberCriterionOptions, options_of


def entropy(*counts: int) -> float:
    shares = [c / sum(counts) for c in counts if c]
    return -sum(p * math.log2(p) for p in shares)


def column(*runs: tuple[float, int]) -> np.ndarray:
    """So many rows of each value, in order."""
    return np.concatenate([np.full(n, value) for value, n in runs])


def root(model: hb.DecisionTreeClassifier | hb.DecisionTreeRegressor) -> int:
    return int(model.tree_.feature[0])


# --- Gain ratio ------------------------------------------------------------------------------------------


def test_the_gain_ratio_prefers_a_smaller_gain_that_asks_less():
    """16 rows, 6 of class 1. A gains more by an even split; B asks for fewer bits and gains more per bit."""
    y = np.repeat([0, 1], [10, 6])
    a = column((0, 8), (1, 8))  # (8, 0) and (2, 6)
    b = column((0, 10), (0, 2), (1, 4))  # (10, 2) and (0, 4)
    before = entropy(10, 6)
    gain = {"a": before - 0.5 * entropy(2, 6), "b": before - 12 / 16 * entropy(10, 2)}
    bits = {"a": entropy(8, 8), "b": entropy(12, 4)}
    assert gain["a"] > gain["b"]
    assert gain["b"] / bits["b"] > gain["a"] / bits["a"]
    X = np.column_stack([a, b])
    # b's gain is below the mean of the two: Quinlan's guard leaves only a.
    assert gain["b"] < (gain["a"] + gain["b"]) / 2
    assert root(hb.DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(X, y)) == 0
    # A third feature that says nothing lowers the mean, and b may compete.
    noise = np.tile([0, 1], 8)
    with_noise = np.column_stack([a, b, noise])
    tree = hb.DecisionTreeClassifier(criterion="gain_ratio", max_depth=1).fit(with_noise, y)
    assert root(tree) == 1
    assert tree.tree_.impurity[0] == pytest.approx(before)
    assert tree.tree_.gain[0] / 16 == pytest.approx(gain["b"])
    assert root(hb.DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(with_noise, y)) == 0


# --- Chi-square ------------------------------------------------------------------------------------------


def adjusted_p(table: np.ndarray, n_tests: int) -> float:
    return float(stats.chi2_contingency(table, correction=False).pvalue) * n_tests


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chi2_stops_where_the_adjusted_p_value_says(n_classes):
    rng = np.random.default_rng(n_classes)
    x = rng.permutation(30).astype(float)
    y = (x > 14).astype(int) * (n_classes - 1)
    y[rng.choice(30, 14, replace=False)] = rng.integers(0, n_classes, 14)
    cuts = [
        np.array([np.bincount(y[side], minlength=n_classes) for side in (x <= t, x > t)]) for t in range(29)
    ]
    assert all((table.sum(axis=0) > 0).all() for table in cuts)
    p = min(adjusted_p(table, 29) for table in cuts)
    assert p < 1
    grow = {"criterion": "chi2", "max_depth": 1}
    assert (
        hb.DecisionTreeClassifier(min_significance=p * 1.0001, **grow).fit(x[:, None], y).get_n_leaves() == 2
    )
    assert (
        hb.DecisionTreeClassifier(min_significance=p * 0.9999, **grow).fit(x[:, None], y).get_n_leaves() == 1
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_chi2_counts_against_a_feature_the_tests_it_tried(n_classes):
    """A column of distinct values finds a slightly better cut among many; a column of two has just one."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), 60 // n_classes)
    binary = (y > 0).astype(float)
    binary[[0, 1, 2, 57, 58, 59]] = 1 - binary[[0, 1, 2, 57, 58, 59]]
    many = (y > 0) * 100.0 + rng.permutation(60)
    many[[0, 1, 57, 58, 59]] = np.array([300, 301, -1, -2, -3])
    X = np.column_stack([many, binary])
    gini = hb.DecisionTreeClassifier(criterion="gini", max_depth=1).fit(X, y)
    chi2 = hb.DecisionTreeClassifier(criterion="chi2", max_depth=1).fit(X, y)
    assert (root(gini), root(chi2)) == (0, 1)
    assert chi2.tree_.impurity[0] == gini.tree_.impurity[0]  # gini is what is shown


def test_noise_gives_no_tree_at_a_small_significance():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 5))
    classes, numbers = rng.integers(0, 3, 300), rng.normal(size=300)
    assert (
        hb.DecisionTreeClassifier(criterion="chi2", min_significance=0.01).fit(X, classes).get_n_leaves() == 1
    )
    assert (
        hb.DecisionTreeRegressor(criterion="f_test", min_significance=0.01).fit(X, numbers).get_n_leaves()
        == 1
    )
    signal = classes + (X[:, 3] > 0.5)
    tree = hb.DecisionTreeClassifier(criterion="chi2", min_significance=0.01, max_depth=1).fit(X, signal)
    assert root(tree) == 3


def test_subsets_count_as_all_ways_to_part_the_categories():
    """Five categories part in 2^4 - 1 ways, though only four are looked at."""
    y = np.repeat([0, 1], 25)
    towns = np.tile(list("abcde"), 10)
    towns[:14] = "a"
    frame = pd.DataFrame({"town": pd.Categorical(towns)})
    model = hb.DecisionTreeClassifier(criterion="chi2", max_depth=1).fit(frame, y)
    left = model.apply(frame) == 1
    p = adjusted_p(np.array([np.bincount(y[side], minlength=2) for side in (left, ~left)]), 15)
    assert p < 1
    for factor, leaves in ((1.0001, 2), (0.9999, 1)):
        model.set_params(min_significance=p * factor).fit(frame, y)
        assert model.get_n_leaves() == leaves


# --- F test ----------------------------------------------------------------------------------------------


def test_f_test_stops_where_the_adjusted_p_value_says():
    rng = np.random.default_rng(1)
    x = rng.permutation(25).astype(float)
    y = 0.05 * x + rng.normal(size=25)
    p = min(stats.f_oneway(y[x <= t], y[x > t]).pvalue for t in range(24)) * 24
    assert p < 1
    grow = {"criterion": "f_test", "max_depth": 1}
    assert (
        hb.DecisionTreeRegressor(min_significance=p * 1.0001, **grow).fit(x[:, None], y).get_n_leaves() == 2
    )
    assert (
        hb.DecisionTreeRegressor(min_significance=p * 0.9999, **grow).fit(x[:, None], y).get_n_leaves() == 1
    )


def test_f_test_reads_weights_as_counts():
    rng = np.random.default_rng(2)
    x, y = rng.permutation(12).astype(float)[:, None], rng.normal(size=12)
    once = hb.DecisionTreeRegressor(criterion="f_test", min_significance=0.05).fit(x, y)
    often = hb.DecisionTreeRegressor(criterion="f_test", min_significance=0.05)
    often.fit(x, y, sample_weight=np.full(12, 50.0))
    assert once.get_n_leaves() == 1
    assert often.get_n_leaves() > 1


# --- What does not fit -----------------------------------------------------------------------------------


def test_a_criterion_that_does_not_fit_the_task_says_so():
    X, y = np.arange(8.0).reshape(-1, 2), np.array([0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"criterion must be 'gini', 'entropy', .*'chi2'.*; got 'f_test'"):
        hb.DecisionTreeClassifier(criterion="f_test").fit(X, y)
    with pytest.raises(ValueError, match=r"criterion must be 'squared_error'.*'f_test'.*; got 'chi2'"):
        hb.DecisionTreeRegressor(criterion="chi2").fit(X, y)
    with pytest.raises(ValueError, match=r"min_significance is 0.05, but criterion='gini' has no p-values"):
        hb.DecisionTreeClassifier(min_significance=0.05).fit(X, y)
    with pytest.raises(ValueError, match=r"criterion='gain_ratio' takes one output, but y has 2"):
        hb.DecisionTreeClassifier(criterion="gain_ratio").fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match=r"criterion='f_test' takes one output, but y has 2"):
        hb.DecisionTreeRegressor(criterion="f_test").fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("criterion", ["gain_ratio", "chi2"])
def test_forests_take_the_criteria_too(criterion):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 6))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    forest = hb.RandomForestClassifier(criterion=criterion, n_estimators=15, random_state=0).fit(X, y)
    alone = hb.RandomForestClassifier(criterion=criterion, n_estimators=15, random_state=0, n_jobs=1).fit(
        X, y
    )
    assert forest.score(X, y) > 0.95
    np.testing.assert_array_equal(forest.predict_proba(X), alone.predict_proba(X))


def test_the_core_and_the_parameters_know_the_same_criteria() -> None:
    of_classes = options_of(ClassCriterionOptions)["criterion"].choices
    assert of_classes == (
        "gini",
        "entropy",
        "log_loss",
        "accuracy",
        "misclassification",
        "gain_ratio",
        "chi2",
    )
    of_numbers = options_of(NumberCriterionOptions)["criterion"].choices
    assert of_numbers == ("squared_error", "friedman_mse", "absolute_error", "poisson", "f_test")
    for offered, for_classes in ((of_classes, True), (of_numbers, False)):
        known = [row for row in _core.criteria() if row[3] == for_classes]
        assert offered == tuple(one for name, *_, others in known for one in (name, *others))
