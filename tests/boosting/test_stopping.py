"""When boosting stops: validation rows, patience, steps that gain nothing; and offsets to start from."""

import numpy as np
import pandas as pd
import pytest
from model_files import same_trees
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb
from boosting.problems import BOTH, fitted, noisy


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("scoring", ["loss", "r2-or-auc", "own"])
def test_early_stopping_keeps_the_best_round(cls, scoring):
    X, score = noisy()
    names = {hb.GradientBoostingClassifier: "roc_auc", hb.GradientBoostingRegressor: "r2"}
    metric = {"r2-or-auc": names[cls], "own": lambda model, X, y: model.score(X, y)}.get(scoring, scoring)
    stops = {"early_stopping": True, "n_iter_no_change": 5, "random_state": 0, "scoring": metric}
    model = fitted(cls, X, score, **{"n_estimators": 300, **stops})
    assert model.best_iteration_ < model.n_iter_ < 300
    assert len(model.validation_score_) == len(model.train_score_) == model.n_iter_
    assert np.argmax(model.validation_score_) + 1 == model.best_iteration_
    assert len(model._model.trees) == model.best_iteration_ == len(list(model.staged_predict(X)))


def test_validation_rows_that_are_given():
    X, y = noisy()
    held = np.arange(600) % 4 == 0
    model = hb.GradientBoostingRegressor(200, early_stopping=True, n_iter_no_change=3)
    model.fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
    errors = [np.mean((stage - y[held]) ** 2) / 2 for stage in model.staged_predict(X[held])]
    np.testing.assert_allclose(-model.validation_score_[: model.best_iteration_], errors, rtol=1e-6)
    whole = hb.GradientBoostingRegressor(model.n_iter_).fit(X[~held], y[~held], X_val=X[held], y_val=y[held])
    assert len(whole._model.trees) == model.n_iter_
    np.testing.assert_array_equal(whole.validation_score_, model.validation_score_)
    part = hb.GradientBoostingRegressor(model.best_iteration_).fit(X[~held], y[~held])
    assert same_trees(part, model)


def test_validation_rows_leave_no_trace_in_the_bins():
    X, y = noisy()
    model = hb.GradientBoostingRegressor(5, early_stopping=True, random_state=0).fit(X, y)
    again = hb.GradientBoostingRegressor(5, early_stopping=True, random_state=0)
    tags = []
    again.set_params(scoring=lambda _, X_val, y_val: tags.append(X_val) or 0.0).fit(X, y)
    held = {tuple(row) for part in tags for row in part.tolist()}
    seen = np.array([tuple(row) not in held for row in X.tolist()])
    # The scorer was asked about both parts; those of the training part are many more.
    assert len(held) == 600 and not seen.any()
    assert model.n_iter_ == 5


@pytest.mark.parametrize("n_rows", [111_111, 111_112, 230_000])
@pytest.mark.parametrize("kind", ["array", "frame", "weights"])
def test_training_rows_are_judged_by_their_own_targets(n_rows, kind):
    """Of more than 100,000 training rows some are judged; X, y and scores have to be those of the same rows.

    111,111 rows leave 100,000 to train on, the most of which all are judged.
    """
    x = np.random.default_rng(0).permutation(n_rows).astype(float)
    weights = np.where(x % 7 == 0, 0.0, 1.0) if kind == "weights" else None
    judged = []

    def agreeing(model, X, y):
        values = np.asarray(X)[:, 0]
        np.testing.assert_array_equal(values, y)
        judged.append(len(y))
        return -np.mean((model.predict(X) - y) ** 2) / 2

    X = pd.DataFrame({"x": x}) if kind == "frame" else x[:, np.newaxis]
    options = {"early_stopping": True, "random_state": 0, "n_estimators": 3, "n_jobs": 1}
    model = hb.GradientBoostingRegressor(scoring=agreeing, **options).fit(X, x, weights)
    n_used = n_rows if weights is None else np.count_nonzero(weights)
    n_held = judged[1]
    n_training = n_used - n_held
    assert judged == [-(-n_training // -(-n_training // 100_000)), n_held] * 3
    assert n_held == pytest.approx(n_used / 10, abs=1)
    # Judged by the loss, the same rows give the squared error of their own answers.
    by_loss = hb.GradientBoostingRegressor(**options).fit(X, x, weights)
    np.testing.assert_allclose(by_loss.train_score_, model.train_score_)


def test_early_stopping_in_pipelines_and_searches():
    X, y = load_breast_cancer(return_X_y=True)
    model = hb.GradientBoostingClassifier(200, early_stopping=True, n_iter_no_change=3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    assert pipeline[-1].n_iter_ < 200
    search = GridSearchCV(model, {"learning_rate": [0.1, 0.5]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.9
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, random_state=0)
    model.set_params(early_stopping=True).fit(X_fit, y_fit, X_val=X_test, y_val=y_test)
    found = log_loss(y_test, model.predict_proba(X_test))
    assert -model.validation_score_.max() == pytest.approx(found, rel=1e-9)


def test_what_cannot_judge_is_refused_before_the_first_round():
    X, y = noisy(60)
    labels = (y > 0).astype(int)
    model = hb.GradientBoostingClassifier(early_stopping=True)
    with pytest.raises(ValueError, match="all of class"):
        model.fit(X, labels, X_val=X[:3], y_val=[1, 1, 1])
    with pytest.raises(ValueError, match="the class 7 is not among"):
        model.fit(X, labels, X_val=X[:3], y_val=[1, 0, 7])
    with pytest.raises(ValueError, match="X_val and y_val hold no row"):
        model.fit(X, labels, X_val=X[:0], y_val=[])
    with pytest.raises(ValueError, match="y_val is not given"):
        model.fit(X, labels, X_val=X[:3])
    with pytest.raises(ValueError, match=r"leaves 0 to validate on"):
        model.fit(X[:4], labels[:4])
    with pytest.raises(ValueError, match="offset_val go together"):
        model.fit(X, labels, offset=np.zeros(60), X_val=X, y_val=labels)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("said", [float("nan"), float("-inf")])
@pytest.mark.parametrize("options", [{"n_estimators": "auto"}, {"n_estimators": 9, "early_stopping": True}])
def test_rounds_that_are_judged_by_no_number_are_refused(said, options):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = hb.GradientBoostingRegressor(scoring=lambda *asked: said, **options)
    with pytest.raises(ValueError, match=rf"^scoring=.* gave {said} .*not a number in any round"):
        model.fit(X, X[:, 0])
