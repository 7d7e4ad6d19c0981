"""Targets of very different size: fixed-point gradients must lose nothing that float64 keeps.

The twins are scikit-learn's boosting and, where it is installed, LightGBM, at the same settings.
"""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_poisson_deviance, roc_auc_score
from threadpoolctl import threadpool_limits

import hornbeam as hb

SEEDS = range(3)
N_TRAINING = 4000


def table(seed):
    """Rows, and a standard normal number per row that half follows from them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N_TRAINING, 5))
    signal = X[:, 0] + np.sin(2 * X[:, 1]) + 0.5 * rng.normal(size=len(X))
    return X, signal / signal.std(), rng


def ours(loss, X, y):
    return hb.GradientBoostingRegressor(n_estimators=100, loss=loss).fit(X, y)


def scikit_learns(loss, X, y):
    with threadpool_limits(1):  # its threads wait for each other, which is slow on a busy machine
        return HistGradientBoostingRegressor(loss=loss, early_stopping=False).fit(X, y)


def lightgbms(loss, X, y):
    lightgbm = pytest.importorskip("lightgbm")
    objective = {"squared_error": "l2"}.get(loss, loss)
    return lightgbm.LGBMRegressor(objective=objective, verbosity=-1, n_jobs=1).fit(X, y)


def lognormal_error(learner, seed):
    """The squared error on new rows, in units of the target's variance."""
    X, signal, _ = table(seed)
    y = np.exp(3 * signal)
    model = learner("squared_error", X[:N_TRAINING], y[:N_TRAINING])
    return np.mean((model.predict(X[N_TRAINING:]) - y[N_TRAINING:]) ** 2) / np.var(y[N_TRAINING:])


def count_deviance(learner, seed):
    """The deviance on new rows of a model that has seen one count of a million."""
    X, signal, rng = table(seed)
    y = rng.poisson(np.exp(signal)).astype(float)
    y[17] = 1e6
    model = learner("poisson", X[:N_TRAINING], y[:N_TRAINING])
    return mean_poisson_deviance(y[N_TRAINING:], np.maximum(model.predict(X[N_TRAINING:]), 1e-9))


@pytest.mark.parametrize("peer", [scikit_learns, lightgbms])
def test_lognormal_targets_of_sigma_3(peer):
    ratios = [lognormal_error(ours, seed) / lognormal_error(peer, seed) for seed in SEEDS]
    assert np.mean(ratios) < 1.05


@pytest.mark.parametrize("peer", [scikit_learns, lightgbms])
def test_one_count_of_a_million(peer):
    for seed in SEEDS:
        assert count_deviance(ours, seed) < count_deviance(peer, seed)


def test_gamma_of_very_small_targets_stays_in_range():
    X, signal, _ = table(0)
    y = np.exp(3 * signal)
    model = ours("gamma", X[:N_TRAINING], y[:N_TRAINING])
    ratio = np.log(model.predict(X[N_TRAINING:]) / y[N_TRAINING:])
    assert np.isfinite(ratio).all()
    assert np.abs(ratio).max() < 20


def test_one_row_in_a_thousand_is_of_the_class():
    """Newton's steps run away where a class seems next to impossible, as scikit-learn's do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 5)).astype(np.float32)
    score = 1.5 * (X[:, 0] * X[:, 1] + X[:, 2] + np.sin(3 * X[:, 3])) - 9.5
    y = rng.random(len(X)) < 1 / (1 + np.exp(-score))
    training, new = slice(0, 40_000), slice(40_000, None)
    chances = hb.GradientBoostingClassifier(100).fit(X[training], y[training]).predict_proba(X[new])
    with threadpool_limits(1):
        twin = HistGradientBoostingClassifier(early_stopping=False).fit(X[training], y[training])
    assert y.mean() < 0.0025
    assert roc_auc_score(y[new], chances[:, 1]) > 0.9
    assert log_loss(y[new], chances) < log_loss(y[new], twin.predict_proba(X[new])) / 3
