"""A loss of the user's own does not run away: steps end near the minimum, and a loss that rises is said."""

import warnings

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.warnings import LossWarning


class LogCosh:
    """The loss of docs/boosting.md: next to no curvature where rows are far off."""

    def gradient_hessian(self, y, score):
        slope = np.tanh(score - y)
        return slope, 1 - slope**2

    def baseline(self, y, sample_weight):
        return np.median(y)

    def loss(self, y, score, sample_weight):
        return np.average(np.logaddexp(score - y, y - score) - np.log(2), weights=sample_weight)


class WithoutValue:
    gradient_hessian = LogCosh.gradient_hessian


class WrongSign(LogCosh):
    def gradient_hessian(self, y, score):
        return 0.01 * np.tanh(y - score), np.ones_like(score)


def far_targets(n_rows=400):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 5))
    return X, 10 * X[:, 0] + np.where(X[:, 1] > 0, 20, 0) + generator.normal(size=n_rows)


@pytest.mark.parametrize("options", [{}, {"n_estimators": 100}, {"n_estimators": 100, "subsample": 0.5}])
@pytest.mark.parametrize("loss", [LogCosh(), WithoutValue()])
def test_log_cosh_on_400_rows_learns(loss, options):
    X, y = far_targets()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LossWarning)
        model = hb.GradientBoostingRegressor(loss=loss, random_state=0, **options).fit(X, y)
    assert model.score(X, y) > 0.95


def test_a_leaf_goes_between_once_and_twice_the_way():
    # Newton's step from 0 is tanh(15) / (1 - tanh(15)^2), more than a million; the minimum is at 15.
    X, y = np.zeros((40, 1)), np.full(40, 15.0)
    with pytest.warns(UserWarning, match="constant"):
        y[0] = 15.5
        model = hb.GradientBoostingRegressor(1, learning_rate=1.0, loss=WithoutValue()).fit(X, y)
    assert 15 <= model.predict(X)[0] <= 30.1
    np.testing.assert_allclose(model.predict(X), model.estimators_[0, 0].predict(X))


def test_weights_and_order_constraints_hold_for_shortened_steps():
    X, y = far_targets()
    weights = np.arange(len(y)) % 3 + 1.0
    model = hb.GradientBoostingRegressor(60, loss=LogCosh(), monotonic_cst=[1, 0, 0, 0, 0]).fit(X, y, weights)
    ramp = np.zeros((200, 5))
    ramp[:, 0] = np.linspace(-3, 3, 200)
    assert np.all(np.diff(model.predict(ramp)) >= 0)
    assert model.score(X, y, weights) > 0.8


def test_a_training_loss_that_rises_is_said():
    X, y = far_targets()
    with pytest.warns(LossWarning, match=r"has risen from .* Check the signs of gradient_hessian"):
        hb.GradientBoostingRegressor(20, loss=WrongSign()).fit(X, y)


def test_targets_beyond_single_precision_are_the_business_of_the_loss():
    X, y = far_targets(60)
    with pytest.raises(ValueError, match=r"gradient of row 0 is .* not a finite number of float32"):
        hb.GradientBoostingRegressor(3, loss=Slopes(1.0)).fit(X, np.full(60, 1e300))
    model = hb.GradientBoostingRegressor(3, loss=Slopes(1e-300)).fit(X, np.where(y > 0, 1e300, 3e300))
    assert np.isfinite(model.predict(X)).all()


class Slopes:
    """Squared error in other units."""

    def __init__(self, unit):
        self.unit = unit

    def gradient_hessian(self, y, score):
        return (score - y) * self.unit, np.ones_like(y)


class Flat:
    """No curvature to speak of: a step is a million times the largest float32."""

    def gradient_hessian(self, y, score):
        return np.full_like(y, 1e22), np.full_like(y, 1e-22)


@pytest.mark.parametrize("options", [{"n_estimators": 3}, {"n_estimators": "auto"}])
def test_a_step_beyond_all_numbers_is_said_to_come_from_the_loss(options):
    X, y = far_targets(60)
    model = hb.GradientBoostingRegressor(loss=Flat(), l2_regularization=0.0, **options)
    with pytest.raises(ValueError, match=r"^loss: the step of a leaf.* is -inf, .*larger hessians"):
        model.fit(X, y)
