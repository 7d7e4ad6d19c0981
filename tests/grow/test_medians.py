"""Absolute error: trees beside the slow twin, numbers by hand, and scikit-learn's trees."""

from itertools import pairwise

import numpy as np
import pytest
from core.cases import grow_with
from core.comparing import compare
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from reference.criteria import absolute_error, median
from reference.nodes import Rules
from reference.tables import Table, tables
from sklearn.tree import DecisionTreeRegressor as TheirTree

import hornbeam as hb


@st.composite
def cases(draw: st.DrawFn) -> tuple[Table, Rules]:
    table = draw(tables(draw(st.sampled_from(("numbers", "counts")))))
    limits = {
        "max_depth": st.sampled_from([None, 1, 3]),
        "min_samples_leaf": st.sampled_from([1, 1, 2, 4]),
        "min_weight_leaf": st.sampled_from([0.0, 0.0, 2.0]),
        "min_impurity_decrease": st.sampled_from([0.0, 0.0, 0.01]),
        "max_leaf_nodes": st.sampled_from([None, None, 4]),
        "order": st.sampled_from(["depth", "best"]),
    }
    drawn = {name: draw(strategy) for name, strategy in limits.items()}
    return table, Rules(**drawn, criterion="absolute_error", categorical_split="one_vs_rest", missing="learn")


@settings(max_examples=120)
@given(cases())
def test_the_engine_grows_the_twins_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, rules=rules)
    compare(grow_with(table, rules), nodes, table, rules)


def test_a_far_target_does_not_move_the_cut():
    """Two groups around 0 and 10 and one row at 10**9: squared error isolates it, absolute error does not."""
    X = np.arange(9.0).reshape(-1, 1)
    y = np.array([0, 1, 0, 1, 10, 11, 10, 11, 1e9])
    by_median = hb.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X[:8], y[:8])
    assert by_median.tree_.threshold[0] == 3.5
    assert by_median.predict([[0], [7]]).tolist() == [0.5, 10.5]
    assert by_median.tree_.impurity.tolist() == [5.0, 0.5, 0.5]  # 8 rows around 5.5: 4 by 5 and 4 by 5
    weighted = hb.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(
        X[:4], [0, 1, 5, 9], sample_weight=[1, 3, 1, 1]
    )
    # 3 of 6 lie up to 1: cut after row 1, {0, 1, 1, 1} | {5, 9} costs 1 + 4; after row 2 4 + 1 + 0.
    assert weighted.tree_.value[0, 0, 0] == 1
    assert weighted.tree_.impurity[0] == pytest.approx((1 + 4 + 8) / 6)


@pytest.mark.parametrize("seed", range(20))
def test_categories_are_cut_in_the_order_of_their_medians(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, 40)
    y = rng.normal(size=40) * 3 + np.array([0, 5, 2, 8, 1, 7])[x]
    w = rng.integers(1, 4, 40).astype(float)
    model = hb.DecisionTreeRegressor(
        criterion="absolute_error", max_depth=1, categorical_split="subset", categorical_features=[0]
    ).fit(x.reshape(-1, 1), y, w)
    order = sorted(set(x.tolist()), key=lambda c: (median(y[x == c], w[x == c]), c))
    cuts = [np.isin(x, order[:k]) for k in range(1, len(order))]
    least = min(absolute_error(y[s], w[s]) + absolute_error(y[~s], w[~s]) for s in cuts)
    tree = model.tree_
    after = float(np.dot(tree.impurity[1:], tree.weighted_n_node_samples[1:]))
    assert after == pytest.approx(least)


@pytest.mark.parametrize("weights", [False, True])
def test_the_errors_of_the_root_are_those_of_scikit_learn(weights):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(3000, 4)), rng.normal(size=(3000, 2)).round(2)
    w = rng.random(3000) if weights else None
    ours = hb.DecisionTreeRegressor(criterion="absolute_error", max_depth=1).fit(X, y, w).tree_
    theirs = TheirTree(criterion="absolute_error", max_depth=1, random_state=0).fit(X, y, w).tree_
    assert ours.feature[0] == theirs.feature[0]
    assert ours.threshold[0] == pytest.approx(theirs.threshold[0], rel=1e-6)  # theirs is of single precision
    assert ours.impurity == pytest.approx(theirs.impurity, rel=1e-9)


@pytest.mark.parametrize("kind", [hb.RandomForestRegressor, hb.ExtraTreesRegressor])
def test_forests_do_not_depend_on_threads_or_the_order_of_rows(kind):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(400, 5)), rng.standard_cauchy(400)
    X[rng.random(X.shape) < 0.1] = np.nan
    models = [
        kind(5, criterion="absolute_error", random_state=0, n_jobs=n, bootstrap=False).fit(X, y)
        for n in (1, 2)
    ]
    assert models[0].predict(X).tobytes() == models[1].predict(X).tobytes()
    turned = kind(5, criterion="absolute_error", random_state=0, bootstrap=False).fit(X[::-1], y[::-1])
    assert turned.predict(X).tobytes() == models[0].predict(X).tobytes()


def test_larger_trees_err_less_and_less():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    y = X[:, 0] + rng.normal(size=500)
    errors = [
        np.abs(
            y - hb.DecisionTreeRegressor(criterion="absolute_error", max_depth=d).fit(X, y).predict(X)
        ).mean()
        for d in range(1, 7)
    ]
    assert all(a > b for a, b in pairwise(errors))


def test_what_does_not_go_with_medians_is_refused():
    X, y = np.array([[0.0], [1.0], [np.nan], [2.0]]), [0.0, 1.0, 2.0, 3.0]
    for settings_, words in (
        ({"missing": "majority"}, "missing='majority'"),
        ({"monotonic_cst": [1]}, "monotonic_cst"),
    ):
        with pytest.raises(ValueError, match=words):
            hb.DecisionTreeRegressor(criterion="absolute_error", **settings_).fit(X, y)
    with pytest.raises(ValueError, match="categorical_split='multiway'"):
        hb.DecisionTreeRegressor(criterion="absolute_error", categorical_split="multiway").fit(
            [["a"], ["b"], ["a"], ["c"]], y
        )
    tree = hb.DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
    with pytest.raises(ValueError, match="medians cannot be added up"):
        tree.split_table(X, y)


def test_two_names_of_one_criterion():
    X = np.random.default_rng(0).random((60, 3))
    y = (X[:, 0] * 3).astype(int)
    for one, other in (("log_loss", "entropy"), ("misclassification", "accuracy")):
        trees = [hb.DecisionTreeClassifier(criterion=name).fit(X, y) for name in (one, other)]
        assert trees[0].rules() == trees[1].rules()
        assert trees[0].split_table(X, y).equals(trees[1].split_table(X, y))
        forests = [
            hb.RandomForestClassifier(3, criterion=name, random_state=0).fit(X, y) for name in (one, other)
        ]
        assert (forests[0].predict_proba(X) == forests[1].predict_proba(X)).all()
