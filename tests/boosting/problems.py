"""Small problems for tests of boosting, and the models fitted to them."""

import numpy as np

import hornbeam as hb

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


def noisy(n_rows=600):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    return X, X[:, 0] + rng.normal(size=n_rows)


class Squares:
    """Squared error as a user would write it."""

    def gradient_hessian(self, y, score):
        return score - y, np.ones_like(score)

    def baseline(self, y, sample_weight):
        return np.average(y, weights=sample_weight)

    def loss(self, y, score, sample_weight):
        return np.average((y - score) ** 2 / 2, weights=sample_weight)


class Logistic:
    def gradient_hessian(self, y, score):
        share = 1 / (1 + np.exp(-score))
        return share - y, share * (1 - share)
