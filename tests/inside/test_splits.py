"""The table of candidate splits agrees with the engine: the test it chose is the best, with its gain."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import hornbeam as hb

OF_CLASSES = ("gini", "entropy", "accuracy", "gain_ratio", "chi2")
IN_ONE_STEP = ("gini", "entropy", "accuracy", "squared_error", "poisson")
IN_TWO_STEPS = ("gain_ratio", "chi2", "f_test")


@st.composite
def mixed_rows(draw, criteria=IN_ONE_STEP):
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(4, 40))
    frame = pd.DataFrame(
        {
            "size": generator.integers(0, 6, n).astype(float),
            "colour": pd.Categorical(generator.choice(["red", "green", "blue", "grey"], n)),
            "price": generator.normal(size=n).round(1),
        }
    )
    if draw(st.booleans()):
        frame.loc[generator.random(n) < 0.2, "size"] = np.nan
        frame.loc[generator.random(n) < 0.2, "colour"] = None
    kind = draw(st.sampled_from(criteria))
    if kind in OF_CLASSES:
        y = generator.integers(0, draw(st.integers(2, 3)), n)
        model = hb.DecisionTreeClassifier(criterion=kind)
    else:
        y = generator.integers(0, 4, n).astype(float)
        y[0] = 1.0
        model = hb.DecisionTreeRegressor(criterion=kind)
    splits = ["subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"]
    model.set_params(categorical_split=draw(st.sampled_from(splits)), merge_level=0.5)
    model.set_params(min_samples_leaf=draw(st.sampled_from([1, 1, 3])))
    if kind not in ("chi2", "f_test"):
        policies = ["learn", "majority", "surrogate", "available"]
        model.set_params(missing=draw(st.sampled_from(policies)))
    weights = generator.integers(0, 3, n).astype(float) if draw(st.booleans()) else np.ones(n)
    weights[0] = 1
    return model, frame, y, weights


@settings(max_examples=100, deadline=None)
@given(mixed_rows())
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_the_chosen_test_is_the_best_of_the_table(case):
    model, frame, y, weights = case
    model.fit(frame, y, weights)
    tree = model.tree_
    for node in range(tree.node_count):
        if not tree.n_branches[node]:
            continue
        table = model.split_table(frame, y, node, sample_weight=weights)
        chosen = table[table["chosen"]]
        assert len(chosen) == 1
        best = chosen.iloc[0]
        gain = best["gain"] * tree.weighted_n_node_samples[node]
        assert gain == pytest.approx(tree.gain[node], rel=1e-9, abs=1e-9)
        allowed = table[large_enough(table, model.min_samples_leaf)]
        assert best["score"] <= allowed["score"].min() + 1e-9
        assert best["feature"] == frame.columns[tree.feature[node]]
        if best["feature"] != "colour":
            assert best["threshold"] == tree.threshold[node]
        if model.missing == "learn":
            assert sum(best["rows"]) == tree.n_node_samples[node]


def large_enough(table, least):
    """Which tests have two branches that reach min_samples_leaf."""
    return [sum(rows >= least for rows in branches) >= 2 for branches in table["rows"]]


@settings(max_examples=150, deadline=None)
@given(mixed_rows(IN_TWO_STEPS))
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_the_number_between_features_is_shown(case):
    """Of the best tests of the features, the tree has the one with the best ratio or p-value."""
    model, frame, y, weights = case
    model.set_params(min_samples_leaf=1).fit(frame, y, weights)
    tree = model.tree_
    for node in range(tree.node_count):
        if not tree.n_branches[node]:
            continue
        table = model.split_table(frame, y, node, sample_weight=weights, best_per_feature=True)
        chosen = model.split_table(frame, y, node, sample_weight=weights).query("chosen").iloc[0]
        if model.criterion == "gain_ratio":
            at_least_mean = table[table["gain"] >= table["gain"].mean() - 1e-9]
            assert chosen["gain_ratio"] == pytest.approx(at_least_mean["gain_ratio"].max(), abs=1e-9)
            assert table["gain_ratio"].iloc[0] == pytest.approx(chosen["gain_ratio"], abs=1e-9)
        else:
            assert chosen["p_value"] == pytest.approx(table["p_value"].min(), rel=1e-6)
            assert (np.diff(table["p_value"]) >= -1e-12).all()


def test_gain_ratios_by_hand():
    """8 rows, two of each kind; a question of 1 bit and one of 2 bits that gains no more."""
    X = pd.DataFrame({"half": list("aaaabbbb"), "quarter": list("ppqqrrss")})
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    model = hb.DecisionTreeClassifier(criterion="gain_ratio", categorical_split="multiway").fit(X, y)
    table = model.split_table(X, y, best_per_feature=True).set_index("feature")
    assert table["gain"].to_dict() == {"half": 1.0, "quarter": 1.0}
    assert table["split_information"].to_dict() == {"half": 1.0, "quarter": 2.0}
    assert table["gain_ratio"].to_dict() == {"half": 1.0, "quarter": 0.5}
    assert table.index[0] == "half"
    assert table["chosen"].to_dict() == {"half": True, "quarter": False}


def test_p_values_are_those_of_scipy():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 5, (60, 2)).astype(float), rng.integers(0, 3, 60)
    table = hb.DecisionTreeClassifier(criterion="chi2").fit(X, y).split_table(X, y)
    for _, row in table.iterrows():
        counts = np.array([list(branch.values()) for branch in row["counts"]])
        expected = stats.chi2_contingency(counts, correction=False)
        assert row["statistic"] == pytest.approx(expected.statistic)
        assert row["p_value"] == pytest.approx(min(1.0, expected.pvalue * 4), rel=1e-8)
    numbers = rng.normal(size=60) + X[:, 0] / 2
    table = hb.DecisionTreeRegressor(criterion="f_test").fit(X, numbers).split_table(X, numbers)
    for column in (0, 1):
        for _, row in table[table["feature"] == f"x{column}"].iterrows():
            left = X[:, column] <= row["threshold"]
            expected = stats.f_oneway(numbers[left], numbers[~left])
            assert row["statistic"] == pytest.approx(expected.statistic, rel=1e-6)
            assert row["p_value"] == pytest.approx(min(1.0, expected.pvalue * 4), rel=1e-6)


def test_a_criterion_of_ones_own_shows_its_scores():
    class Evenness:
        def score(self, cells):
            return -np.abs(np.diff(cells.sum(axis=2), axis=1)[:, 0])

    X, y = np.arange(10.0)[:, None], [0, 1] * 5
    table = hb.DecisionTreeClassifier(criterion=Evenness()).fit(X, y).split_table(X, y)
    assert table["own_score"].tolist() == [-8, -6, -4, -2, 0, -2, -4, -6, -8]
    assert table["chosen"].tolist() == [False] * 4 + [True] + [False] * 4


def test_best_per_feature_of_the_cars():
    """Worked number 11, from the table that shows all candidates."""
    cars = hb.datasets.cars()
    model = hb.DecisionTreeClassifier(criterion="entropy").fit(cars.frame(), cars.y)
    best = model.split_table(cars.frame(), cars.y, best_per_feature=True).set_index("feature")
    expected = {
        "horsepower": (0.8113, 88),
        "displacement": (0.4204, 107.5),
        "acceleration": (0.4204, 17.35),
        "cylinders": (0.3113, 4.5),
        "weight": (0.3113, 2636.5),
        "modelyear": (0.3113, 75),
    }
    for name, (gain, threshold) in expected.items():
        assert best.loc[name, "gain"] == pytest.approx(gain, abs=5e-5)
        assert best.loc[name, "threshold"] == pytest.approx(threshold)
    assert best.index[0] == "horsepower"
    assert best.loc["horsepower", "counts"] == ({"bad": 0, "good": 3}, {"bad": 9, "good": 0})
    assert best["chosen"].tolist() == [True] + [False] * 6


def test_ratings_show_means():
    courses = hb.datasets.courses("rating")
    model = hb.DecisionTreeRegressor().fit(courses.frame(), courses.y)
    table = model.split_table(courses.frame(), courses.y).set_index("feature")
    assert table.loc["systems", "score"] == pytest.approx(1.0450)
    assert table.loc["easy", "score"] == pytest.approx(2.1450)
    assert table.loc["systems", "test"] == "systems = y"
    assert table.loc["systems", "means"] == pytest.approx((-1.0, 1.1))


def test_what_it_refuses():
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    model = hb.DecisionTreeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="node must be from 0 to 2; got 3"):
        model.split_table(X, y, 3)
    with pytest.raises(ValueError, match="y, row 0: the class 'a' is not among the classes"):
        model.split_table(X, ["a"] * 6)
    assert model.split_table(X, y, 1).empty is False  # a leaf has candidates, too: none of them was asked
    assert not model.split_table(X, y, 1)["chosen"].any()


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
def test_categories_of_a_single_class() -> None:
    X = np.array([["a"], ["b"], ["c"], ["a"]], dtype=object)
    tree = hb.DecisionTreeClassifier(categorical_split="target_mean").fit(X, [1, 1, 1, 1])
    table = tree.split_table(X, [1, 1, 1, 1])
    assert (table["gain"] == 0).all()
