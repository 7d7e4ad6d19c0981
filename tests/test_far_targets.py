"""Targets like 1e200 and 1e-200: their squares are no numbers, yet the models are those of usual targets.

Targets are multiplied by powers of two, which changes no bit but the exponent: so must the answers be.
"""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV

import hornbeam as hb
from hornbeam.cli.scores import scores_of_numbers
from hornbeam.estimators.row_scores import scoring_row_by_row
from hornbeam.recipes.blend import greedy_weights
from hornbeam.warnings import HornbeamWarning

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
Y = X[:, 0] + 0.3 * X[:, 1] + rng.normal(size=150) * 0.1
EXPONENTS = [-1000, -600, -520, 520, 600, 1000]  # 2^520 is 3e156
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("DecisionTreeRegressor", {}),
    ("DecisionTreeRegressor", {"criterion": "f_test", "max_leaf_nodes": 9}),
    ("DecisionTreeRegressor", {"prune": "cost_complexity", "cv": 3}),
    ("DecisionTreeRegressor", {"prune": "reduced_error"}),
    ("RandomForestRegressor", {"n_estimators": 12, "oob_score": True, "keep": ["oob", "leaf_rows"]}),
    ("RandomForestRegressor", {"n_estimators": "auto"}),
    ("ExtraTreesRegressor", {"n_estimators": 5}),
    ("BaggingRegressor", {"n_estimators": 12, "oob_score": True}),
    ("AdaBoostRegressor", {"n_estimators": 5}),
    ("GradientBoostingRegressor", {"n_estimators": 5}),
    ("GradientBoostingRegressor", {"n_estimators": 12, "early_stopping": True, "loss": "huber", "tol": 0.0}),
]


def fitted(name: str, options: dict[str, Any], exponent: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        return getattr(hb, name)(random_state=0, **options).fit(X, np.ldexp(Y, exponent))


@pytest.mark.parametrize(("name", "options"), KINDS)
def test_far_targets_give_the_model_of_near_ones(name: str, options: dict[str, Any]) -> None:
    near = fitted(name, options, 0)
    for exponent in EXPONENTS:
        far = fitted(name, options, exponent)
        np.testing.assert_array_equal(far.predict(X), np.ldexp(near.predict(X), exponent))
        if hasattr(near, "feature_importances_"):
            np.testing.assert_allclose(far.feature_importances_, near.feature_importances_, rtol=1e-9)
        if "oob_score" in options:
            assert far.oob_score_ == pytest.approx(near.oob_score_, rel=1e-12)
        for more in ("predict_std", "predict_interval", "predict_quantiles"):
            if "keep" in options:
                expected = np.ldexp(getattr(near, more)(X[:9]), exponent)
                np.testing.assert_allclose(getattr(far, more)(X[:9]), expected, rtol=1e-9)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_what_a_tree_tells_of_far_targets_is_finite(exponent: int) -> None:
    tree = fitted("DecisionTreeRegressor", {"max_depth": 4}, exponent)
    assert np.isfinite(tree.tree_.impurity).all()
    assert np.all(tree.tree_.gain[tree.tree_.feature >= 0] > 0)
    assert json.loads(hb.export(tree, "json"))
    assert tree.rules()
    assert len(tree.split_table(X, np.ldexp(Y, exponent)))


def test_a_mean_of_the_largest_numbers_is_a_number() -> None:
    y = np.where(X[:, 0] > 0, 1.7e308, 1.2e308)
    forest = hb.RandomForestRegressor(9, random_state=0).fit(X, y)
    said = forest.predict(X)
    assert said.min() == pytest.approx(1.2e308)
    assert said.max() == pytest.approx(1.7e308)


@pytest.mark.parametrize("exponent", [*EXPONENTS, 1022])
def test_a_bag_of_forests_means_far_answers(exponent: int) -> None:
    """As many members as would overflow if their answers were just added up."""
    options = {"estimator": hb.ExtraTreesRegressor(2), "n_estimators": 12}
    near, far = (fitted("BaggingRegressor", options, power) for power in (0, exponent - 2))
    assert np.array_equal(far.predict(X), np.ldexp(near.predict(X), exponent - 2))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_blends_choose_the_same_weights(exponent: int) -> None:
    answers = [Y[:, np.newaxis] + noise for noise in rng.normal(size=(3, len(Y), 1))]
    usual = greedy_weights(answers, None, Y)
    far = greedy_weights([np.ldexp(each, exponent) for each in answers], None, np.ldexp(Y, exponent))
    assert far.tolist() == usual.tolist()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_blends_score_their_members_as_those_of_near_targets(exponent: int) -> None:
    options = {
        "members": [
            ("tree", hb.DecisionTreeRegressor(max_depth=3)),
            ("leaf", hb.DecisionTreeRegressor(max_nodes=1)),
        ]
    }
    near, far = (fitted("BlendRegressor", options, power) for power in (0, exponent))
    assert far.weights_ == near.weights_
    assert [one["RMSE"] for one in far.members_] == [np.ldexp(one["RMSE"], exponent) for one in near.members_]
    assert (far.simple_tree_ is None) == (near.simple_tree_ is None)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_the_linear_model_of_a_stack_counts_far_targets_in_a_unit(exponent: int) -> None:
    options = {
        "levels": [[("tree", hb.DecisionTreeRegressor(max_depth=3)), ("few", hb.ExtraTreesRegressor(3))]]
    }
    near, far = (fitted("StackingRegressor", options, power) for power in (0, exponent))
    np.testing.assert_allclose(np.ldexp(far.predict(X), -exponent), near.predict(X), atol=0.05)


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array])
@pytest.mark.parametrize("exponent", [520, 600, 1000])
def test_columns_that_are_passed_on_are_counted_in_the_unit_too(exponent: int, container: Any) -> None:
    given: Any = X if container is not pl.DataFrame else {f"c{j}": X[:, j] for j in range(4)}
    table = container(given)
    if container is pd.DataFrame:
        table.columns = [f"c{j}" for j in range(4)]
    levels = [[("tree", hb.DecisionTreeRegressor(max_depth=3)), ("few", hb.ExtraTreesRegressor(3))]]
    model = hb.StackingRegressor(levels, passthrough=True, random_state=0)
    # In units of a far target the columns are next to nothing: the answers are those of the members alone.
    alone = hb.StackingRegressor(levels, random_state=0).fit(table, Y).predict(table)
    far = model.fit(table, np.ldexp(Y, exponent)).predict(table)
    np.testing.assert_allclose(np.ldexp(far, -exponent), alone, atol=0.05)


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value encountered")
def test_a_linear_model_without_numbers_is_refused() -> None:
    levels = [[("tree", hb.DecisionTreeRegressor(max_depth=3))]]
    model = hb.StackingRegressor(levels, final_estimator=RidgeCV(), passthrough=True)
    with pytest.raises(ValueError, match=r"RidgeCV, failed to fit: its coefficients are not finite numbers"):
        model.fit(X, np.ldexp(Y, 520))


class WithoutIntercept(Ridge):
    """As scikit-learn leaves it where the product of means and coefficients is beyond all numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "WithoutIntercept":
        super().fit(X, y, sample_weight)
        self.intercept_ = np.nan
        return self


def test_a_linear_model_whose_intercept_is_no_number_is_refused() -> None:
    model = hb.StackingRegressor([[("tree", hb.DecisionTreeRegressor())]], final_estimator=WithoutIntercept())
    with pytest.raises(ValueError, match="WithoutIntercept, failed to fit: its coefficients are not finite"):
        model.fit(X, Y)


def test_linear_scores_whose_parts_are_beyond_all_numbers() -> None:
    model = Ridge().fit(X[:, :2], Y)
    model.coef_, model.intercept_ = np.array([4.0, -4.0]), 1.0
    largest = np.finfo(float).max
    rows = np.array([[1e308, 1e308], [1e308, -1e308], [-1e308, 1e308], [1.0, 2.0]])
    said = scoring_row_by_row(model).predict(rows).tolist()
    assert said == [0.0, largest, -largest, -3.0]  # beside 4e308, the intercept of 1 is lost


def test_far_targets_of_great_weight_are_pruned_like_near_ones() -> None:
    weights = np.linspace(1, 2, 150)
    model = hb.DecisionTreeRegressor(prune="reduced_error", random_state=0)
    near = model.fit(X, Y, weights).pruning_log_
    far = model.fit(X, np.ldexp(Y, 1000), weights * 2.0**900).pruning_log_
    assert len(near) > 1
    assert far["node"].tolist() == near["node"].tolist()
    unit = near["error_before"][0] / far["error_before"][0]
    np.testing.assert_allclose(far["error_after"] * unit, near["error_after"])
    candidates = model.pruning_candidates(X, np.ldexp(Y, 1000), weights * 2.0**900)
    assert np.isfinite(candidates["error_if_leaf"]).all()


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_scores_of_far_targets(exponent: int) -> None:
    near, far = (fitted("AdaBoostRegressor", {"n_estimators": 3}, power) for power in (0, exponent))
    far_y = np.ldexp(Y, exponent)
    assert list(far.staged_score(X, far_y)) == list(near.staged_score(X, Y))
    expected, found = scores_of_numbers(near.predict(X), Y), scores_of_numbers(far.predict(X), far_y)
    assert found["R2"] == expected["R2"]
    for name in ("RMSE", "MAE"):
        assert found[name] == np.ldexp(expected[name], exponent)
    near_scores, far_scores = (
        hb.compare(X, y, methods=["tree"], search=False, cv=2, scoring="rmse", random_state=0).records[0]
        for y in (Y, far_y)
    )
    for name in ("RMSE", "RMSE se rows", "RMSE se folds", "MAE", "MAE se rows"):
        assert far_scores[name] == np.ldexp(near_scores[name], exponent)
    for name in ("R2", "R2 se rows", "R2 se folds", "improvement"):
        assert far_scores[name] == pytest.approx(near_scores[name], rel=1e-12)


@pytest.mark.parametrize("exponent", [*EXPONENTS, 1021])
def test_contributions_along_the_path(exponent: int) -> None:
    usual, far = (fitted("RandomForestRegressor", {"n_estimators": 5}, power) for power in (0, exponent))
    (by_column, start), (expected, expected_start) = far.path_contributions(X), usual.path_contributions(X)
    assert np.array_equal(by_column, np.ldexp(expected, exponent))
    assert np.array_equal(start, np.ldexp(expected_start, exponent))


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_means_of_categories_with_far_weights(exponent: int) -> None:
    texts = np.array([f"level {number}" for number in np.arange(len(Y)) % 40], dtype=object)[:, np.newaxis]
    weights = np.ldexp(1.0 + np.arange(len(Y)) % 3, -exponent // 2)
    tree = hb.DecisionTreeRegressor(max_depth=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        far = clone(tree).fit(texts, np.ldexp(Y, exponent), weights).predict(texts)
        usual = clone(tree).fit(texts, Y, 1.0 + np.arange(len(Y)) % 3).predict(texts)
    np.testing.assert_allclose(np.ldexp(far, -exponent), usual)
