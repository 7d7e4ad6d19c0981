"""Contributions to a weighted median of trees, beside Shapley values by their definition."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.shapley import shapley_pairs, shapley_values, worth_of_sets

import hornbeam as hb


def mixed(seed, n=60):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n).round(1)),
            "b": random.integers(-2, 3, n),
            "c": pd.Series(random.choice(["x", "y", "z"], n), dtype=object),
            "d": random.normal(size=n),
        }
    )
    return X, X["a"].fillna(1) * X["b"] + 2 * (X["c"] == "y") + 0.3 * random.normal(size=n)


def fitted(seed, **options):
    X, y = mixed(seed)
    member = hb.DecisionTreeRegressor(max_depth=3, **options)
    return hb.AdaBoostRegressor(member, n_estimators=4, random_state=seed).fit(X, y), X


def median(numbers, weights):
    """The least number that half of the weight is up to."""
    order = np.argsort(numbers, kind="stable")
    weight = 0.0
    for k in order:
        weight += weights[k]
        if weight >= sum(weights) / 2:
            return numbers[k]
    raise AssertionError("there are no numbers")


@settings(max_examples=10)
@given(st.integers(0, 10_000), st.sampled_from(["learn", "majority"]), st.booleans())
def test_along_the_paths_each_tree_says_its_mean(seed, missing, pairs):
    model, X = fitted(seed, missing=missing)
    found = model.contributions(X.iloc[:5], interactions=pairs)
    np.testing.assert_allclose(found.scores, model.predict(X.iloc[:5]), atol=1e-12)
    trees = model._trees_to_explain()
    (one,) = model._score_sum().sums
    table = trees.read(X.iloc[:5], estimator_name="")
    categories = [len(names or ()) for names in trees.schema.categories]
    for i in range(5):
        row = [float(column.dense()[i]) for column in table.columns]
        means = [
            worth_of_sets(tree, lambda node, tree=tree: tree.value[node, 0], row, None, categories)[:, 0]
            for tree in trees.trees
        ]
        worth = np.array([[median(said, one.weights)] for said in np.stack(means, axis=1)])
        expected = (shapley_pairs if pairs else shapley_values)(worth)[..., 0]
        np.testing.assert_allclose(found.values[i], expected, atol=1e-12)
        assert found.base_values == pytest.approx(worth[0, 0])


@settings(max_examples=5)
@given(st.integers(0, 10_000), st.sampled_from(["learn", "surrogate"]))
def test_against_a_background_rows_are_mixed(seed, missing):
    model, X = fitted(seed, missing=missing)
    others = X.iloc[20:27].reset_index(drop=True)
    found = model.contributions(X.iloc[:3], background=others)
    for i in range(3):
        worth = np.zeros((16, 1))
        for s in range(16):
            rows = others.copy()
            for j, name in enumerate(X.columns):
                if s >> j & 1:
                    rows[name] = pd.Series([X[name][i]] * len(rows), dtype=X[name].dtype)
            worth[s] = model.predict(rows).mean()
        np.testing.assert_allclose(found.values[i], shapley_values(worth)[:, 0], atol=1e-12)
        assert found.base_values == pytest.approx(worth[0, 0])


def test_rows_in_blocks_say_what_rows_at_once_say(monkeypatch):
    model, X = fitted(3)
    whole = model.contributions(X), model.contributions(X.iloc[:4], background=X)
    monkeypatch.setattr("hornbeam.inside.medians._AT_ONCE", 200)
    np.testing.assert_array_equal(whole[0].values, model.contributions(X).values)
    np.testing.assert_array_equal(whole[1].values, model.contributions(X.iloc[:4], background=X).values)


@pytest.mark.parametrize("interactions", [False, True])
def test_a_row_alone_gets_the_bits_it_gets_among_others(interactions):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    model = hb.AdaBoostRegressor(hb.DecisionTreeRegressor(), n_estimators=5, random_state=0)
    whole = model.fit(X, X.sum(axis=1)).contributions(X, interactions=interactions)
    for row in range(40):
        alone = model.contributions(X[row : row + 1], interactions=interactions)
        assert alone.values.tobytes() == whole.values[row : row + 1].tobytes()


def test_the_parts_of_a_date_become_known_together():
    X = pd.DataFrame({"when": pd.date_range("2024-01-01", periods=120), "b": np.arange(120.0) % 7})
    y = X["when"].dt.day_of_week + X["b"] / 9
    model = hb.AdaBoostRegressor(n_estimators=5, random_state=0).fit(X, y)
    found = model.contributions(X.iloc[:9])
    assert found.shape == (9, 2)
    np.testing.assert_allclose(found.scores, model.predict(X.iloc[:9]), atol=1e-12)


def test_what_has_no_answer_names_the_way_out():
    model, X = fitted(1, missing="surrogate")
    gap = X[X["a"].isna()]
    with pytest.raises(ValueError, match=r"stand in for them .*background"):
        model.contributions(gap)
    whole = X[X["a"].notna()]
    np.testing.assert_allclose(model.contributions(whole).scores, model.predict(whole), atol=1e-12)
    with pytest.raises(ValueError, match=r"effect takes|stand|needs a row|fill it in"):
        model.counterfactual(gap.iloc[[0]], X, wanted=(100.0, None))


def test_a_slim_median_needs_a_background(tmp_path):
    model, X = fitted(2)
    hb.save(model, tmp_path / "m.hornbeam", slim=True)
    slim = hb.load(tmp_path / "m.hornbeam")
    with pytest.raises(ValueError, match="give a background"):
        slim.contributions(X)
    np.testing.assert_array_equal(
        slim.contributions(X.iloc[:3], background=X).values,
        model.contributions(X.iloc[:3], background=X).values,
    )


def test_the_effect_of_a_column_is_the_mean_prediction():
    model, X = fitted(4)
    found = model.effect(X, "c")
    for place, name in enumerate(found.values):
        said = model.predict(X.assign(c=pd.Series([name] * len(X), dtype=object)))
        np.testing.assert_allclose(found.lines[:, place], said)
