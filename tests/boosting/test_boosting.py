"""Gradient boosting: laws that every fit keeps, what may stop it, what it tells about itself."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from model_files import same_trees
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

import hornbeam as hb
from hornbeam import warnings as hb_warnings

BOTH = (hb.GradientBoostingClassifier, hb.GradientBoostingRegressor)
NUMBER_LOSSES = ("squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie")


def problem(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X[:, 0]) + np.abs(np.nan_to_num(X[:, 1])) + 0.5 * rng.normal(size=n_rows)
    return X, score


def fitted(cls, X, score, *args, **options):
    y = (score > 0.7).astype(int) if cls is BOTH[0] else score
    fit_options = {name: options.pop(name) for name in ("offset", "callbacks") if name in options}
    return cls(**{"n_estimators": 10, "n_jobs": 1} | options).fit(X, y, *args, **fit_options)


# --- Least squares by hand -------------------------------------------------------------------------------


def test_least_squares_boosting_by_hand():
    """y = 0, 0, 3, 9 with stumps and steps of 1/2: each round halves what its stump explains."""
    X, y = np.arange(4.0).reshape(-1, 1), np.array([0.0, 0.0, 3.0, 9.0])
    model = hb.GradientBoostingRegressor(2, learning_rate=0.5, max_leaf_nodes=2, min_samples_leaf=1).fit(X, y)
    # The mean is 3. Differences -3 -3 0 6 are best cut before the last: -2 | 6, of which half is added.
    # Then -2 -2 1 3 are best cut in the middle: -2 | 2.
    stages = list(model.staged_predict(X))
    np.testing.assert_allclose(stages[0], [2, 2, 2, 6])
    np.testing.assert_allclose(stages[1], [1, 1, 3, 7])
    np.testing.assert_array_equal(model.predict(X), stages[1])


# --- Losses ----------------------------------------------------------------------------------------------


class _Squares:
    """Squared error as a user would write it."""

    def gradient_hessian(self, y, score):
        return score - y, np.ones_like(score)

    def baseline(self, y, sample_weight):
        return np.average(y, weights=sample_weight)

    def loss(self, y, score, sample_weight):
        return np.average((y - score) ** 2 / 2, weights=sample_weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_of_ones_own_that_is_squared_error(weighted):
    X, y = problem()
    weights = np.arange(300) % 4 + 1.0 if weighted else None
    own = hb.GradientBoostingRegressor(20, loss=_Squares()).fit(X, y, weights)
    ours = hb.GradientBoostingRegressor(20).fit(X, y, weights)
    np.testing.assert_allclose(own.predict(X), ours.predict(X), atol=2e-3)
    assert not hasattr(own, "classes_")


class _Logistic:
    def gradient_hessian(self, y, score):
        share = 1 / (1 + np.exp(-score))
        return share - y, share * (1 - share)


class _SoftmaxByHand:
    def gradient_hessian(self, y, score):
        shares = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        truth = np.eye(score.shape[1])[y.astype(int)]
        return shares - truth, shares * (1 - shares)


def test_a_loss_of_ones_own_for_classes():
    X, y = load_breast_cancer(return_X_y=True)
    own = hb.GradientBoostingClassifier(30, loss=_Logistic()).fit(X, y)
    assert own.predict_proba(X).shape == (len(y), 2)
    assert own.score(X, y) > 0.98
    X, y = load_iris(return_X_y=True)
    own = hb.GradientBoostingClassifier(30, loss=_SoftmaxByHand()).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X).sum(axis=1), 1)
    assert own.score(X, y) > 0.95


@threadpool_limits.wrap(limits=1)
@pytest.mark.parametrize("loss", NUMBER_LOSSES)
def test_every_loss_falls_and_is_as_low_as_scikit_learns(loss):
    X, y = load_diabetes(return_X_y=True)
    alpha = 0.8
    model = hb.GradientBoostingRegressor(60, loss=loss, alpha=alpha).fit(X, y, X_val=X, y_val=y)
    assert (np.diff(model.validation_score_) > 0).mean() > 0.95
    np.testing.assert_allclose(model.train_score_, model.validation_score_, rtol=1e-6)
    metrics = {
        "squared_error": lambda p: np.mean((p - y) ** 2),
        "absolute_error": lambda p: np.abs(p - y).mean(),
        "quantile": lambda p: mean_pinball_loss(y, p, alpha=alpha),
        "poisson": lambda p: mean_poisson_deviance(y, p),
        "gamma": lambda p: np.mean(np.log(p) + y / p),
    }
    if loss in metrics:
        twin = HistGradientBoostingRegressor(loss=loss, quantile=alpha, max_iter=60, early_stopping=False)
        assert metrics[loss](model.predict(X)) < 1.03 * metrics[loss](twin.fit(X, y).predict(X))


def test_quantiles_hold_their_share_and_medians_ignore_outliers():
    X, y = problem(2000)
    high = hb.GradientBoostingRegressor(100, loss="quantile", alpha=0.9).fit(X, y).predict(X)
    assert np.mean(y <= high) == pytest.approx(0.9, abs=0.03)
    spoilt = np.where(np.arange(2000) % 50 == 0, 1e6, y)
    for loss in ("absolute_error", "huber"):
        found = hb.GradientBoostingRegressor(50, loss=loss).fit(X, spoilt).predict(X)
        assert np.median(np.abs(found - y)) < 0.6


@threadpool_limits.wrap(limits=1)  # its threads wait for each other where cores are few
def test_classes_are_as_good_as_scikit_learns():
    for load, metric in ((load_breast_cancer, "roc_auc"), (load_iris, "accuracy")):
        X, y = load(return_X_y=True)
        twin = HistGradientBoostingClassifier(max_iter=50, early_stopping=False)
        ours = cross_val_score(hb.GradientBoostingClassifier(50), X, y, scoring=metric, cv=3)
        theirs = cross_val_score(twin, X, y, scoring=metric, cv=3)
        assert ours.mean() > theirs.mean() - 0.01


def test_exponential_loss_predicts_half_the_logit():
    X, y = load_breast_cancer(return_X_y=True)
    model = hb.GradientBoostingClassifier(50, loss="exponential").fit(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * scores)))
    assert roc_auc_score(y, scores) > 0.99
    with pytest.raises(ValueError, match="two classes; y has 3"):
        hb.GradientBoostingClassifier(loss="exponential").fit(X[:6], [0, 1, 2, 0, 1, 2])


# --- Laws ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "max_features": 2}, {"growth": "level"}])
def test_the_same_bits_for_any_number_of_threads(cls, options):
    X, score = problem(40_000 if not options else 2000)
    models = [
        fitted(cls, X, score, random_state=3, **{"n_estimators": 4, **options, "n_jobs": n}) for n in (1, 2)
    ]
    assert same_trees(*models)
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


@pytest.mark.parametrize("options", [{}, {"subsample": 0.5, "max_features": 2}, {"growth": "level"}])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_classes_grow_side_by_side_with_the_same_bits(options, weighted, monkeypatch):
    """With two threads the last of eleven trees is shared out, with four the last three, with twelve all."""
    monkeypatch.setattr("hornbeam.threads.usable_cores", lambda: 12)
    cls = hb.GradientBoostingClassifier
    X, score = problem(3000)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, 12)[1:-1]), score)
    weights = np.arange(3000) % 5 + 0.5 if weighted else None
    models = [
        fitted(cls, X, y, weights, random_state=3, **{"n_estimators": 3, **options, "n_jobs": n})
        for n in (1, 2, 4, 12)
    ]
    for other in models[1:]:
        assert same_trees(models[0], other)
        np.testing.assert_array_equal(models[0].predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("cls", BOTH)
def test_rows_without_weight_are_as_if_they_were_not_there(cls):
    X, score = problem()
    weights = np.array([0.0, 1.0, 2.5])[np.arange(300) % 3]
    kept = weights > 0
    spoilt = np.where(kept[:, np.newaxis], X, 1e9)
    assert same_trees(fitted(cls, spoilt, score, weights), fitted(cls, X[kept], score[kept], weights[kept]))


@pytest.mark.parametrize("cls", BOTH)
def test_weights_are_scaled_by_powers_of_two(cls):
    X, score = problem()
    weights = np.arange(300) % 7 + 1.0
    for factor in (2.0**-900, 2.0**900):
        scaled = fitted(cls, X, score, weights * factor)
        np.testing.assert_allclose(scaled.predict(X), fitted(cls, X, score, weights).predict(X), rtol=1e-6)


def test_one_warning_tells_of_weights_too_small_to_count():
    X, y = problem()
    weights = np.where(np.arange(300) < 5, 1e-12, 1e12)
    with pytest.warns(hb_warnings.WeightWarning, match="5 row"):
        model = fitted(BOTH[1], X, y, weights)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("options", [{}, {"subsample": 0.6, "max_features": 0.5, "feature_sampling": "tree"}])
def test_rounds_on_top_of_rounds_equal_all_at_once(cls, options):
    X, score = problem()
    at_once = fitted(cls, X, score, random_state=5, **options)
    y = (score > 0.7).astype(int) if cls is BOTH[0] else score
    in_parts = cls(4, random_state=5, warm_start=True, **options).fit(X, y)
    in_parts.set_params(n_estimators=10).fit(X, y)
    assert same_trees(at_once, in_parts)
    with pytest.warns(hb_warnings.WarmStartWarning):
        in_parts.fit(X, y)
    with pytest.raises(ValueError, match="larger or equal to the 10 rounds"):
        in_parts.set_params(n_estimators=9).fit(X, y)
    with pytest.raises(ValueError, match="columns, classes and loss"):
        in_parts.set_params(n_estimators=12).fit(X[:, :2], y)


def test_warm_start_of_three_classes():
    X, y = load_iris(return_X_y=True)
    at_once = hb.GradientBoostingClassifier(6).fit(X, y)
    in_parts = (
        hb.GradientBoostingClassifier(2, warm_start=True).fit(X, y).set_params(n_estimators=6).fit(X, y)
    )
    assert same_trees(at_once, in_parts)


def test_stages_end_in_the_prediction():
    X, y = load_iris(return_X_y=True)
    model = hb.GradientBoostingClassifier(5).fit(X, y)
    for method in ("decision_function", "predict_proba", "predict"):
        *_, last = stages = list(getattr(model, f"staged_{method}")(X))
        assert len(stages) == 5
        np.testing.assert_array_equal(last, getattr(model, method)(X))


def test_large_and_small_targets_lose_no_digits():
    X, y = problem()
    plain = fitted(BOTH[1], X, y).predict(X)
    for factor in (2.0**900, 2.0**-900):
        np.testing.assert_array_equal(fitted(BOTH[1], X, y * factor).predict(X), plain * factor)
    shifted = fitted(BOTH[1], X, y + 2.0**30).predict(X)
    np.testing.assert_allclose(shifted - 2.0**30, plain, atol=1e-5)


def test_an_offset_is_where_scores_start():
    X, y = problem()
    known = np.linspace(-3, 3, 300)
    model = fitted(BOTH[1], X, y + known, offset=known)
    np.testing.assert_allclose(model.predict(X), fitted(BOTH[1], X, y).predict(X), atol=1e-5)
    np.testing.assert_allclose(model.predict(X, offset=known), model.predict(X) + known)
    with pytest.raises(ValueError, match="offset must have 300 number"):
        model.predict(X, offset=known[:5])


@pytest.mark.parametrize("loss", ["poisson", "gamma", "tweedie"])
def test_an_exposure_is_taken_out(loss):
    X, score = problem(1000)
    exposure = np.where(np.arange(1000) % 2, 1.0, 50.0)
    y = np.exp(score) * exposure
    model = hb.GradientBoostingRegressor(50, loss=loss).fit(X, y, offset=np.log(exposure))
    assert np.corrcoef(np.log(model.predict(X)), score)[0, 1] > 0.9
    assert model.predict(X).mean() == pytest.approx(np.exp(score).mean(), rel=0.2)


def test_an_offset_of_classes():
    X, score = problem()
    y = score > 0.7
    known = np.where(y, 2.0, -2.0)
    model = hb.GradientBoostingClassifier(1, max_leaf_nodes=2).fit(X, y, offset=known)
    start = model.decision_function(X, offset=known) - model.decision_function(X)
    np.testing.assert_allclose(start, known)
    labels = np.arange(300) % 3
    three = hb.GradientBoostingClassifier(2).fit(X, labels, offset=np.zeros((300, 3)))
    assert same_trees(three, hb.GradientBoostingClassifier(2).fit(X, labels))


def test_monotonic_constraints_hold():
    X, y = problem(600)
    X = np.nan_to_num(X)
    model = hb.GradientBoostingRegressor(50, monotonic_cst=[1, -1, 0, 0, 0], min_samples_leaf=5).fit(X, y)
    for feature, direction in ((0, 1), (1, -1)):
        moved = np.repeat(X[:50], 30, axis=0)
        moved[:, feature] = np.tile(np.linspace(-3, 3, 30), 50)
        steps = np.diff(model.predict(moved).reshape(50, 30), axis=1) * direction
        assert steps.min() >= -1e-6
    with pytest.raises(ValueError, match="multiclass"):
        hb.GradientBoostingClassifier(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, np.arange(600) % 3)


def test_categories_and_gaps():
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdefgh"), 600)
    frame = pd.DataFrame({"town": pd.Categorical(town), "size": rng.normal(size=600)})
    frame.loc[::7, "size"] = np.nan
    y = np.isin(town, ["b", "e", "g"]) * 2.0 + frame["size"].isna()
    model = hb.GradientBoostingRegressor(100, max_leaf_nodes=4).fit(frame, y)
    assert np.abs(model.predict(frame) - y).max() < 0.05
    unknown = pd.DataFrame({"town": pd.Categorical(["z"]), "size": [0.0]})
    with pytest.warns(hb_warnings.UnseenCategoryWarning):
        model.predict(unknown)


@pytest.mark.parametrize("n_categories", [7, 400])
@pytest.mark.parametrize("subsample", [1.0, 0.5])
def test_one_vs_rest_is_one_hot(n_categories, subsample):
    rng = np.random.default_rng(n_categories)
    kinds = rng.integers(0, n_categories, 3000)
    y = rng.normal(size=n_categories)[kinds] + 0.3 * rng.normal(size=3000)
    options = {"n_estimators": 10, "min_samples_leaf": 3, "subsample": subsample, "random_state": 0}
    frame = pd.DataFrame({"kind": pd.Categorical(kinds)})
    ours = hb.GradientBoostingRegressor(categorical_split="one_vs_rest", **options).fit(frame, y)
    columns = (kinds[:, np.newaxis] == np.arange(n_categories)).astype(float)
    theirs = hb.GradientBoostingRegressor(**options).fit(columns, y)
    np.testing.assert_array_equal(ours.predict(frame), theirs.predict(columns))


def test_more_categories_than_a_byte_holds():
    town = np.arange(6000) % 300
    frame = pd.DataFrame({"town": pd.Categorical([f"t{i}" for i in town])})
    y = (town * 7919 % 300 > 150) * 1.0
    model = hb.GradientBoostingRegressor(50, min_samples_leaf=5).fit(frame, y)
    assert np.abs(model.predict(frame) - y).max() < 0.05


@pytest.mark.parametrize("target", [np.zeros(30, dtype=int), ["only"] * 30])
def test_a_single_class(target):
    X, _ = problem(30)
    model = hb.GradientBoostingClassifier(3).fit(X, target)
    assert model.predict_proba(X).tolist() == [[1.0]] * 30
    assert model.predict(X).tolist() == list(target)


# --- Stopping --------------------------------------------------------------------------------------------


def noisy(n_rows=600):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    return X, X[:, 0] + rng.normal(size=n_rows)


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


# --- Code of the user between rounds ---------------------------------------------------------------------


def test_callbacks_see_every_round_and_may_stop():
    X, y = problem()
    told, models = [], []

    class Watcher:
        def before_round(self, at):
            told.append(("before", at.number))

        def after_round(self, at):
            told.append(("after", at.number))
            models.append(at.model())

    def stop(at):
        assert at.n_rounds == 10
        return at.number == 3

    model = fitted(BOTH[1], X, y, callbacks=[Watcher(), stop])
    assert told == [(moment, n) for n in (1, 2, 3) for moment in ("before", "after")]
    assert model.n_iter_ == 3
    for n_rounds, (kept, stage) in enumerate(zip(models, model.staged_predict(X), strict=True), start=1):
        assert kept.n_iter_ == n_rounds
        np.testing.assert_array_equal(kept.predict(X), stage)


def fails_in(number, error):
    def callback(at):
        if at.number == number:
            raise error

    return callback


@pytest.mark.parametrize("cls", BOTH)
def test_a_callback_that_fails_leaves_the_rounds_before(cls):
    X, score = problem()
    y = (score > 0.7).astype(int) if cls is BOTH[0] else score
    error = RuntimeError("mine")
    model = cls(10)
    with pytest.raises(RuntimeError, match="mine") as caught:
        model.fit(X, y, callbacks=[fails_in(4, error)])
    assert caught.value is error
    assert model.n_iter_ == 4
    assert same_trees(model, cls(4).fit(X, y))


class _FailsInRoundThree(_Squares):
    def __init__(self, how):
        self.how = how
        self.n_calls = 0

    def gradient_hessian(self, y, score):
        self.n_calls += 1
        gradient, hessian = super().gradient_hessian(y, score)
        if self.n_calls == 5:  # a round asks where it starts, and where its steps end
            return self.how(gradient, hessian)
        return gradient, hessian


def _raises(gradient, hessian):
    raise ZeroDivisionError("mine")


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        (_raises, ZeroDivisionError, "mine"),
        (lambda g, h: (g[:5], h), ValueError, r"the gradient has shape \(5,\); the score has \(300,\)"),
        (lambda g, h: (g, np.where(g > 0, np.nan, h)), ValueError, r"the hessian of row \d+ is \[nan\]"),
        (lambda g, h: (g, -h), ValueError, "must not be negative"),
        (lambda g, h: (g, 0 * h), ValueError, "every row is 0"),
        (lambda g, h: g, ValueError, "must return two arrays"),
    ],
)
def test_a_loss_that_fails_leaves_the_rounds_before(how, error, words):
    X, y = problem()
    model = hb.GradientBoostingRegressor(10, loss=_FailsInRoundThree(how))
    with pytest.raises(error, match=words):
        model.fit(X, y)
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(
        model.predict(X), hb.GradientBoostingRegressor(2, loss=_Squares()).fit(X, y).predict(X)
    )


def test_a_fit_that_fails_in_its_first_round_changes_nothing():
    X, y = problem()
    model = fitted(BOTH[1], X, y)
    before = copy.deepcopy(model)

    class Fails:
        def before_round(self, at):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        model.fit(X, -y, callbacks=[Fails()])
    assert same_trees(model, before)


def test_stopping_by_the_loss_needs_its_value():
    X, y = problem()
    with pytest.raises(ValueError, match="needs the value of the loss"):
        hb.GradientBoostingClassifier(loss=_Logistic(), early_stopping=True).fit(X, y > 0)
    model = hb.GradientBoostingRegressor(5, loss=_Squares(), early_stopping=True, random_state=0).fit(X, y)
    assert (np.diff(model.validation_score_) > 0).all()


def test_a_bar_only_for_who_asks(capsys):
    X, y = problem()
    fitted(BOTH[1], X, y)
    assert capsys.readouterr() == ("", "")
    fitted(BOTH[1], X, y, verbose=1)
    printed = capsys.readouterr().err
    assert "10/10" in printed
    assert "score -" in printed


# --- Looking inside --------------------------------------------------------------------------------------


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
        hb.save(hb.GradientBoostingRegressor(2, loss=_Squares()).fit(X, score), tmp_path / "own")


# --- Beside AdaBoost -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_exponential_loss_with_stumps_tracks_adaboost(seed):
    """AdaBoost lowers the same loss, by one size of step for both leaves: a little slower, not elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 8))
    y = (X.sum(axis=1) + rng.normal(size=1500) > 0).astype(int)
    stumps = {"max_leaf_nodes": 2, "min_samples_leaf": 1, "min_hessian_leaf": 0, "learning_rate": 1.0}
    boosting = hb.GradientBoostingClassifier(60, loss="exponential", **stumps).fit(X, y)
    ours = np.array([np.mean(answer != y) for answer in boosting.staged_predict(X)])
    adaboost = 1 - np.array(list(hb.AdaBoostClassifier(n_estimators=60).fit(X, y).staged_score(X, y)))
    assert np.abs(ours - adaboost).mean() < 0.015
    assert np.corrcoef(ours, adaboost)[0, 1] > 0.98


# --- Bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"learning_rate": 0}, "learning_rate must be 'auto' or a finite number > 0; got 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be"),
        ({"n_estimators": 10**12}, r"n_estimators must be 'auto' or a whole number in \[1, 2147483647\]"),
        ({"max_depth": -3}, "max_depth must be None or a whole number >= 1; got -3"),
        ({"min_samples_leaf": True}, "min_samples_leaf must be"),
        ({"max_bins": 256}, r"max_bins must be a whole number in \[2, 255\]"),
        ({"loss": "hinge"}, "loss must be"),
        ({"scoring": "rsquared"}, "scoring must be"),
        ({"subsample": 0.0}, "subsample must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"missing": "error"}, "column 'x0', row"),
    ],
)
def test_parameters_out_of_range(options, words):
    X, y = problem()
    with pytest.raises(ValueError, match=words):
        hb.GradientBoostingRegressor(**options).fit(X, y)


@pytest.mark.parametrize(
    ("cls", "twin"),
    [(BOTH[0], HistGradientBoostingClassifier), (BOTH[1], HistGradientBoostingRegressor)],
)
def test_with_a_number_of_rounds_the_defaults_are_scikit_learns(cls, twin):
    X, y = problem()
    fitted = cls(100).fit(X, y > np.median(y) if cls is BOTH[0] else y)
    ours, theirs = {**fitted.get_params(), **fitted.settings_}, twin().get_params()
    assert ours["n_estimators"] == theirs.pop("max_iter")
    assert theirs.pop("early_stopping") == "auto"
    assert ours["early_stopping"] is False
    assert theirs.pop("quantile", None) is None  # alpha, here
    assert {name: ours[name] for name in theirs} == theirs


def test_names_of_other_libraries_are_known():
    with pytest.raises(TypeError, match="Here it is called 'n_estimators'"):
        hb.GradientBoostingClassifier(max_iter=10)
    with pytest.raises(TypeError, match="Here it is called 'min_hessian_leaf'"):
        hb.GradientBoostingClassifier(min_child_weight=10)
    with pytest.raises(ValueError, match="Did you mean 'learning_rate'"):
        hb.GradientBoostingRegressor().set_params(learnin_rate=0.1)


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        ("poisson", [1, 2, -1, 0], "takes targets >= 0: row 2 holds -1.0"),
        ("tweedie", [1, 2, -1, 0], "takes targets >= 0: row 2 holds -1.0"),
        ("gamma", [1, 2, 3, 0], "takes targets > 0: row 3 holds 0.0"),
        ("poisson", [0, 0, 0, 0], "every target is 0"),
        ("poisson", [0, 0, 1e300, 0], r"row 2 holds 1e\+300"),
        ("gamma", [1, 1e-300, 1, 1], "row 1 holds 1e-300"),
    ],
)
def test_targets_that_a_loss_cannot_take(loss, y, words):
    with pytest.raises(ValueError, match=words):
        hb.GradientBoostingRegressor(loss=loss).fit(np.arange(4.0).reshape(-1, 1), y)


def test_scores_beyond_700_stay_finite_or_raise():
    X, y = noisy(200)
    labels = y > 0
    far = np.where(labels, -1000.0, 1000.0)
    model = hb.GradientBoostingClassifier(5).fit(X, labels, offset=far)
    assert np.isfinite(model.predict_proba(X, offset=far)).all()
    with pytest.raises(ValueError, match="left the range"):
        hb.GradientBoostingClassifier(5, loss="exponential").fit(X, labels, offset=far)
    largest = np.where(labels, 1.7e308, -1.7e308)
    assert np.isfinite(hb.GradientBoostingRegressor(2).fit(X, largest).predict(X)).all()
    with pytest.raises(ValueError, match="left the range"):
        hb.GradientBoostingRegressor(2, learning_rate=4.0).fit(X, largest)


def test_limits_beyond_the_rows_cost_nothing():
    X, y = problem(100)
    model = hb.GradientBoostingRegressor(2, max_leaf_nodes=2_000_000, max_depth=2**40, min_samples_leaf=1)
    assert model.fit(X, y).estimators_[0, 0].get_n_leaves() <= 100


def test_constant_columns_give_the_mean_and_a_warning():
    with pytest.warns(hb_warnings.DataWarning, match="Every column of X is constant"):
        model = hb.GradientBoostingRegressor(3).fit(np.ones((50, 2)), np.arange(50.0))
    assert model.predict(np.ones((1, 2))) == pytest.approx(24.5)


# --- Importance ------------------------------------------------------------------------------------------


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
