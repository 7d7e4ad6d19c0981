"""Worked number 9: a pruned tree of 17 leaves on Spambase, with the split of the ESL book."""

import numpy as np
import pytest

import hornbeam as hb


def test_seventeen_leaves_have_the_books_error(shared_data):
    table = shared_data("spambase")
    is_test = shared_data("spambase_esl_split")["test"].to_numpy() == 1
    X, y = table.drop(columns="spam"), table["spam"]
    assert (is_test.sum(), (~is_test).sum()) == (1536, 3065)
    settings = {"criterion": "entropy", "min_samples_leaf": 5}
    path = hb.DecisionTreeClassifier(**settings).cost_complexity_pruning_path(X[~is_test], y[~is_test])
    trees = {
        tree.get_n_leaves(): tree
        for alpha in path.ccp_alphas[-30:]
        for tree in [hb.DecisionTreeClassifier(**settings, ccp_alpha=alpha).fit(X[~is_test], y[~is_test])]
    }
    tree = trees[17]
    assert 1 - tree.score(X[is_test], y[is_test]) == pytest.approx(0.0938, abs=5e-4)
    root = X.columns[tree.tree_.feature[0]]
    assert "$" in root or "dollar" in root
    assert np.round(tree.tree_.threshold[0], 4) == 0.0555
