"""leaf_value='median': every node predicts the weighted median of its targets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb


def median(y: np.ndarray, weights: np.ndarray) -> float:
    """The least value with at least half of the weight at or below it; the mean of two where it is half."""
    order = np.argsort(y, kind="stable")
    sums = np.cumsum(weights[order])
    place = int(np.argmax(sums >= sums[-1] / 2))
    above = order[place + 1] if sums[place] == sums[-1] / 2 else order[place]
    return float(y[order[place]] / 2 + y[above] / 2)


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")  # of constant columns
@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 40), st.integers(0, 10**6), st.booleans(), st.integers(1, 3), st.sampled_from([None, 6])
)
def test_every_node_holds_the_median_of_its_rows(n_rows, seed, weighted, n_outputs, max_leaf_nodes):
    """So few rows are one small subtree from the root on; under a limit of leaves there is none."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n_rows, 2)).astype(float)
    y = rng.integers(-3, 4, size=(n_rows, n_outputs)) / 2
    weights = rng.integers(0, 4, n_rows).astype(float) if weighted else np.ones(n_rows)
    weights[0] = 1
    model = hb.DecisionTreeRegressor(leaf_value="median", max_depth=3, max_leaf_nodes=max_leaf_nodes)
    model.fit(X, y[:, 0] if n_outputs == 1 else y, weights if weighted else None)
    path = model.decision_path(X).toarray().astype(bool)
    for node in range(model.tree_.node_count):
        rows = path[:, node] & (weights > 0)
        expected = [median(column[rows], weights[rows]) for column in y.T]
        assert model.tree_.value[node, :, 0].tolist() == pytest.approx(expected, abs=1e-12)


def test_unweighted_medians_are_numpys_and_far_targets_do_not_matter():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    tree = hb.DecisionTreeRegressor(leaf_value="median", max_leaf_nodes=2).fit(X, y)
    for leaf in (1, 2):
        assert tree.tree_.value[leaf, 0, 0] == np.median(y[tree.apply(X) == leaf])
    mean = hb.DecisionTreeRegressor(max_leaf_nodes=2).fit(X, y)
    assert mean.tree_.threshold[0] == tree.tree_.threshold[0]  # only what leaves say differs
    assert mean.tree_.impurity.tolist() == tree.tree_.impurity.tolist()


def test_whole_number_weights_are_repeated_rows():
    rng = np.random.default_rng(1)
    X, y, times = rng.normal(size=(60, 2)), rng.normal(size=60), rng.integers(1, 4, 60)
    weighted = hb.DecisionTreeRegressor(leaf_value="median", max_depth=3).fit(X, y, times)
    repeated = hb.DecisionTreeRegressor(leaf_value="median", max_depth=3)
    repeated.fit(X.repeat(times, axis=0), y.repeat(times))
    assert weighted.predict(X).tolist() == repeated.predict(X).tolist()


def test_forests_average_the_medians_and_constraints_are_refused():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    forest = hb.RandomForestRegressor(
        n_estimators=5, leaf_value="median", bootstrap=False, max_depth=2, random_state=0
    ).fit(X, y)
    tree = hb.DecisionTreeRegressor(leaf_value="median", max_depth=2).fit(X, y)
    np.testing.assert_allclose(forest.predict(X), tree.predict(X), rtol=1e-12)
    with pytest.raises(ValueError, match="monotonic_cst compares the means of branches"):
        hb.DecisionTreeRegressor(leaf_value="median", monotonic_cst=[1, 0]).fit(X, y)
