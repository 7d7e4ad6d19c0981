"""Cost-complexity pruning through the estimators."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import hornbeam as hb

CASES = {
    "classifier": (hb.DecisionTreeClassifier, load_breast_cancer),
    "regressor": (hb.DecisionTreeRegressor, load_diabetes),
}


@pytest.mark.parametrize("case", CASES)
def test_the_path_says_what_ccp_alpha_does(case):
    make, load = CASES[case]
    X, y = load(return_X_y=True)
    path = make(min_samples_leaf=5).cost_complexity_pruning_path(X, y)
    assert path.ccp_alphas[0] == 0
    assert (np.diff(path.ccp_alphas) > 0).all()
    for step in np.linspace(0, len(path.ccp_alphas) - 1, 8).astype(int):
        tree = make(min_samples_leaf=5, ccp_alpha=path.ccp_alphas[step]).fit(X, y).tree_
        leaves = tree.first_child == -1
        shares = tree.weighted_n_node_samples[leaves] / tree.weighted_n_node_samples[0]
        assert (shares * tree.impurity[leaves]).sum() == pytest.approx(path.impurities[step], rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_the_largest_alpha_leaves_the_root(case):
    make, load = CASES[case]
    X, y = load(return_X_y=True)
    last = make().cost_complexity_pruning_path(X, y).ccp_alphas[-1]
    assert make(ccp_alpha=last).fit(X, y).get_n_leaves() == 1
    assert make(ccp_alpha=last * 0.99).fit(X, y).get_n_leaves() > 1
