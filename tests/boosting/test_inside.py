"""What a boosted model tells about itself: contributions, paths, importances."""

import pickle

import numpy as np
import pytest
from model_files import same_trees
from sklearn.datasets import load_iris

import hornbeam as hb
from boosting.problems import BOTH, Squares, fitted, noisy, problem

# --- Looking inside ------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
def test_contributions_sum_to_the_score(cls):
    X, score = problem()
    model = fitted(cls, X, score, n_estimators=40)
    for row in X[:20]:
        parts = model.explain(row)
        assert parts.start + sum(parts.contributions.values()) == pytest.approx(parts.score, abs=1e-12)
        assert parts.prediction == model.predict(row.reshape(1, -1))[0]
    assert str(parts).startswith("answer: ")
    # The first two columns make the target, and so most of the score.
    sizes = np.abs([[*model.explain(row).contributions.values()] for row in X[:50]]).mean(axis=0)
    assert sizes[:2].min() > sizes[2:].max()
    assert model.feature_importances_[:2].sum() > 0.7
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_contributions_of_three_classes():
    X, y = load_iris(return_X_y=True)
    model = hb.GradientBoostingClassifier(10).fit(X, y)
    parts = model.explain(X[60])
    np.testing.assert_allclose(parts.start + sum(parts.contributions.values()), parts.score, atol=1e-12)
    np.testing.assert_array_equal(parts.score, model.decision_function(X[60:61])[0])


def test_members_are_trees_of_steps():
    X, y = load_iris(return_X_y=True)
    model = hb.GradientBoostingClassifier(4).fit(X, y)
    members = model.estimators_
    assert members.shape == (4, 3)
    steps = np.stack([[tree.predict(X) for tree in turn] for turn in members]).sum(axis=0).T
    np.testing.assert_allclose(model._baseline + steps, model.decision_function(X))
    assert "x2 <= " in members[0, 0].rules()
    paths, begins = model.decision_path(X)
    assert paths.shape == (150, begins[-1])
    assert model.apply(X).shape == (150, 12)


@pytest.mark.parametrize("cls", BOTH)
def test_pickles_and_files(cls, tmp_path):
    X, score = problem()
    model = fitted(cls, X, score, early_stopping=True, random_state=0)
    hb.save(model, tmp_path / "model")
    for again in (pickle.loads(pickle.dumps(model)), hb.load(tmp_path / "model")):
        assert same_trees(model, again)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(again.validation_score_, model.validation_score_)
        assert (again.n_iter_, again.best_iteration_) == (model.n_iter_, model.best_iteration_)
    with pytest.raises(ValueError, match="a model file cannot hold"):
        hb.save(hb.GradientBoostingRegressor(2, loss=Squares()).fit(X, score), tmp_path / "own")


# --- Importance ----------------------------------------------------------------------------------------


def test_importance_by_gain_count_and_shuffling():
    X, y = noisy(400)
    model = hb.GradientBoostingRegressor(10, max_leaf_nodes=4).fit(X, y)
    np.testing.assert_array_equal(model.importance(), model.feature_importances_)
    asked = np.concatenate([member.tree_.feature for member in model.estimators_[:, 0]])
    counts = np.bincount(asked[asked >= 0], minlength=X.shape[1])
    np.testing.assert_allclose(model.importance("count"), counts / counts.sum())
    found = model.importance("permutation", X=X, y=y, n_repeats=3)
    assert found.importances.shape == (X.shape[1], 3)
    assert found.importances_mean.argmax() == model.feature_importances_.argmax()
    with pytest.raises(ValueError, match="give X and y"):
        model.importance("permutation")
    with pytest.raises(ValueError, match="'permutation', 'drop'; got 'shap'"):
        model.importance("shap")


class _Straight:
    """A loss with curvature at one row only."""

    def gradient_hessian(self, y, score):
        return score - y, np.where(y == 40, 1.0, 0.0)


def test_a_leaf_without_curvature_adds_nothing():
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(1.0, 41.0)
    options = {"subsample": 0.25, "learning_rate": 0.01, "min_hessian_leaf": 0.0, "random_state": 0}
    model = hb.GradientBoostingRegressor(12, loss=_Straight(), **options).fit(X, y)
    added = np.array([member.predict(X[:1])[0] for member in model.estimators_[:, 0]])
    assert np.isfinite(added).all()
    assert 0 < np.count_nonzero(added == 0) < 12


def test_rows_that_are_wrong_beyond_doubt_move_by_finite_steps():
    """Probabilities of 0 and 1 have no hessian; l2 alone keeps Newton's step from infinity."""
    X = np.arange(400.0).reshape(-1, 1)
    y = (X[:, 0] >= 200).astype(int)
    doubt = X[:, 0] % 200 < 100
    offset = np.where(doubt, 0.0, np.where(y == 1, -800.0, 800.0))
    options = {"l2_regularization": 1.0, "min_hessian_leaf": 0.0, "learning_rate": 1.0}
    model = hb.GradientBoostingClassifier(20, **options).fit(X, y, offset=offset)
    scores = model.decision_function(X, offset=offset)
    assert np.isfinite(scores).all()
    wrong = ~doubt
    assert (scores[wrong & (y == 1)] > -800).all()
    assert (scores[wrong & (y == 0)] < 800).all()
