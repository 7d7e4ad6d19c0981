"""Gradient boosting: worked numbers, losses, and laws that every fit keeps."""

import numpy as np
import pandas as pd
import pytest
from model_files import same_trees
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance, roc_auc_score
from sklearn.model_selection import cross_val_score
from threadpoolctl import threadpool_limits

import hornbeam as hb
from boosting.problems import BOTH, NUMBER_LOSSES, Logistic, Squares, fitted, problem
from hornbeam import warnings as hb_warnings

# --- Least squares by hand -----------------------------------------------------------------------------


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


# --- Losses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_a_loss_of_ones_own_that_is_squared_error(weighted):
    X, y = problem()
    weights = np.arange(300) % 4 + 1.0 if weighted else None
    own = hb.GradientBoostingRegressor(20, loss=Squares()).fit(X, y, weights)
    ours = hb.GradientBoostingRegressor(20).fit(X, y, weights)
    np.testing.assert_allclose(own.predict(X), ours.predict(X), atol=2e-3)
    assert not hasattr(own, "classes_")


class _SoftmaxByHand:
    def gradient_hessian(self, y, score):
        shares = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
        truth = np.eye(score.shape[1])[y.astype(int)]
        return shares - truth, shares * (1 - shares)


def test_a_loss_of_ones_own_for_classes():
    X, y = load_breast_cancer(return_X_y=True)
    own = hb.GradientBoostingClassifier(30, loss=Logistic()).fit(X, y)
    assert own.predict_proba(X).shape == (len(y), 2)
    assert own.score(X, y) > 0.98
    X, y = load_iris(return_X_y=True)
    own = hb.GradientBoostingClassifier(30, loss=_SoftmaxByHand()).fit(X, y)
    np.testing.assert_allclose(own.predict_proba(X).sum(axis=1), 1)
    assert own.score(X, y) > 0.95


def test_a_loss_that_was_written_for_one_score_is_told_of_the_columns_of_several():
    X, y = load_iris(return_X_y=True)
    asked = []
    with pytest.raises(ValueError, match="operands could not be broadcast") as caught:
        model = hb.GradientBoostingClassifier(30, loss=Logistic())
        model.fit(X, y, callbacks=[asked.append])
    said = str(caught.value)
    assert "3 classes" in said and "(150, 3)" in said and "(150,)" in said and "\n" not in said
    assert isinstance(caught.value.__cause__, ValueError) and not asked

    class Refuses(_SoftmaxByHand):
        def gradient_hessian(self, y, score):
            raise RuntimeError("mine")

    for labels in (y, y > 0):  # what is not about shapes comes out as it is
        with pytest.raises(RuntimeError, match=r"^mine$"):
            hb.GradientBoostingClassifier(30, loss=Refuses()).fit(X, labels)


class _Answering(_SoftmaxByHand, Logistic):
    """Gives what it is told to give as answers and as its value."""

    def __init__(self, given, value=0.0):
        self.given, self.value = given, value

    def gradient_hessian(self, y, score):
        return (Logistic if score.ndim == 1 else _SoftmaxByHand).gradient_hessian(self, y, score)

    def answers(self, score):
        return self.given(score)

    def loss(self, y, score, sample_weight):
        return self.value


def test_answers_and_the_value_of_a_loss_of_ones_own_have_the_right_shape():
    X, y = load_iris(return_X_y=True)
    for labels, wanted in ((y, r"\(150, 3\)"), (y > 0, r"\(150, 2\)")):
        model = hb.GradientBoostingClassifier(3, loss=_Answering(lambda score: np.zeros(len(score))))
        with pytest.raises(ValueError, match=rf"answers must return .*{wanted}.*shape \(150,\)"):
            model.fit(X, labels).predict(X)
    model = hb.GradientBoostingRegressor(3, loss=_Answering(lambda score: score[:, np.newaxis]))
    with pytest.raises(ValueError, match=r"a number for each row, \(150,\)"):
        model.fit(X, y > 0).predict(X)
    model = hb.GradientBoostingRegressor(3, loss=_Answering(lambda score: score, np.zeros(150)))
    with pytest.raises(ValueError, match=r"shape \(150,\); it must return one number"):
        model.fit(X, y > 0, X_val=X, y_val=y > 0)


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


# --- Laws ----------------------------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="columns, classes or loss"):
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


# --- Beside AdaBoost -----------------------------------------------------------------------------------


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
