"""The table of candidate splits agrees with the engine: the test it chose is the best, with its gain."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb


@st.composite
def mixed_rows(draw):
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
    kind = draw(st.sampled_from(["gini", "entropy", "accuracy", "squared_error", "poisson"]))
    if kind in ("gini", "entropy", "accuracy"):
        y = generator.integers(0, draw(st.integers(2, 3)), n)
        model = hb.DecisionTreeClassifier(criterion=kind)
    else:
        y = generator.integers(0, 4, n).astype(float)
        y[0] = 1.0
        model = hb.DecisionTreeRegressor(criterion=kind)
    splits = ["subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"]
    model.set_params(categorical_split=draw(st.sampled_from(splits)), merge_level=0.5)
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
        assert best["score"] <= table["score"].min() + 1e-9
        assert best["feature"] == frame.columns[tree.feature[node]]
        if best["feature"] != "colour":
            assert best["threshold"] == tree.threshold[node]
        assert sum(best["rows"]) == tree.n_node_samples[node]


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
