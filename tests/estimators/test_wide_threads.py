"""Few rows, many columns: features that could be shared out, in subtrees that are one thread's."""

import numpy as np
import pytest

import hornbeam as hb


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_threads_do_not_matter_on_a_wide_table(criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 60)).round(2)
    y = (X[:, :5].sum(axis=1) + rng.normal(size=3_000) > 0).astype(int)
    alone = hb.DecisionTreeClassifier(criterion=criterion, n_jobs=1).fit(X, y)
    together = hb.DecisionTreeClassifier(criterion=criterion, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(alone.tree_.feature, together.tree_.feature)
    np.testing.assert_array_equal(alone.tree_.threshold, together.tree_.threshold)
