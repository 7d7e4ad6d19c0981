"""Contributions beside those of the shap package, on real tables: equal to 1e-6.

Only along the paths: against a background, shap 0.51 gives values for such trees that differ from the sum
over all sets of columns, which ours equal (test_shapley.py).
"""

import numpy as np
import pytest

import hornbeam as hb

shap = pytest.importorskip("shap", reason="the shap package is not installed: pip install shap")

# Numbers, missing values (pima), several classes (wine_quality: of red and white; glass: six kinds).
TABLES = {
    "california_housing": "median_house_value",
    "wine_quality": "quality",
    "pima_diabetes_missing": None,
    "glass": None,
    "concrete": None,
}
N_ROWS = 60


def for_shap(tree, value, weight):
    """A tree of ours, one of its values, as the package takes trees."""
    left = tree.children_left
    return {
        "children_left": np.array(left),
        "children_right": np.array(tree.children_right),
        "children_default": np.where(left < 0, -1, tree.first_child + tree.missing_branch),
        "features": np.array(tree.feature),
        "thresholds": np.array(tree.threshold),
        "values": weight * tree.value[:, 0, value][:, np.newaxis],
        "node_sample_weight": np.array(tree.weighted_n_node_samples),
    }


@pytest.fixture(params=TABLES)
def problem(request, shared_data):
    table = shared_data(request.param)
    target = TABLES[request.param] or table.columns[-1]
    y = table[target]
    X = table.drop(columns=target).select_dtypes("number")
    return X.to_numpy(dtype=np.float64)[:2000], y.to_numpy()[:2000]


def models(X, y):
    numbers = np.unique(y, return_inverse=True)[1].astype(float)
    yield hb.RandomForestRegressor(5, max_depth=6, random_state=0).fit(X, numbers), 0.2
    yield hb.GradientBoostingRegressor(n_estimators=10, max_leaf_nodes=15).fit(X, numbers), 1.0
    few = np.unique(y, return_inverse=True)[1] % 3
    forest = hb.ExtraTreesClassifier(4, max_depth=7, random_state=0).fit(X, few)
    yield forest, 1 / (4 + forest.smoothing)


def test_contributions_are_those_of_shap(problem):
    X, y = problem
    rows = X[:N_ROWS]
    for model, weight in models(X, y):
        trees = model._model.trees
        for value in range(trees[0].value.shape[2]):
            theirs = {
                "trees": [for_shap(tree, value, weight) for tree in trees],
                "internal_dtype": np.float64,  # single precision, unless it is told
                "input_dtype": np.float64,
            }
            by_path = shap.TreeExplainer(theirs, feature_perturbation="tree_path_dependent")
            scale = max(np.abs(y).max() if np.issubdtype(y.dtype, np.number) else 1.0, 1.0)
            for ours, expected in (
                (model.contributions(rows), by_path.shap_values(rows, check_additivity=False)),
                (model.contributions(rows, interactions=True), by_path.shap_interaction_values(rows)),
            ):
                found = ours.values if ours.outputs == () else ours.values[..., value]
                np.testing.assert_allclose(found, np.reshape(expected, found.shape), atol=1e-6 * scale)
