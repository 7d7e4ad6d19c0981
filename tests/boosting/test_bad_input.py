"""Bad input to boosting is refused by name."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import hornbeam as hb
from boosting.problems import BOTH, noisy, problem
from hornbeam import warnings as hb_warnings


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
    with pytest.raises(ValueError, match="offset is too large"):
        hb.GradientBoostingClassifier(5, loss="exponential").fit(X, labels, offset=far)
    largest = np.where(labels, 1.7e308, -1.7e308)
    assert np.isfinite(hb.GradientBoostingRegressor(2).fit(X, largest).predict(X)).all()
    with pytest.raises(ValueError, match="left the range"):
        hb.GradientBoostingRegressor(2, learning_rate=4.0).fit(X, largest)


@pytest.mark.parametrize(
    ("loss", "most"),
    [("squared_error", 2.0**90), ("absolute_error", 2.0**90), ("poisson", 62.0), ("tweedie", 62.0)],
)
def test_offsets_up_to_what_a_loss_has_numbers_for(loss, most):
    X, _ = noisy(60)
    y, near = np.ones(60), np.zeros(60)
    near[7] = most
    model = hb.GradientBoostingRegressor(3, loss=loss).fit(X, y, offset=near, sample_weight=y * 1.7e308)
    assert np.isfinite(model.predict(X, offset=near)).all()
    for far in (near * 2, near * -2):
        with pytest.raises(ValueError, match="offset is too large: row 7 holds"):
            hb.GradientBoostingRegressor(3, loss=loss).fit(X, y, offset=far)
        with pytest.raises(ValueError, match="offset is too large: row 7 holds"):
            model.predict(X, offset=far)
        with pytest.raises(ValueError, match="offset_val is too large: row 7 holds"):
            hb.GradientBoostingRegressor(3, loss=loss).fit(
                X, y, offset=near, X_val=X, y_val=y, offset_val=far
            )


def test_offsets_far_beyond_the_targets_and_weights_near_the_largest_number():
    X, y = noisy(60)
    weights = np.linspace(0.1, 1, 60) * 1e300
    model = hb.GradientBoostingRegressor(3).fit(X, y * 1e-200, weights, offset=y * 1e6)
    assert np.isfinite(model.predict(X, offset=y * 1e6)).all()


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_rounds_are_judged_in_the_unit_of_the_largest_of_targets_and_offsets(loss):
    """Scores are like what the fit learns from; in units of tiny targets their squares are infinite."""
    X, y = noisy(60)
    tiny, model = y * 1e-300, hb.GradientBoostingRegressor(3, loss=loss)
    for given in (
        {"y": tiny, "offset": y, "y_val": tiny, "offset_val": y},
        {"y": tiny, "offset": y, "y_val": tiny, "offset_val": tiny},
        {"y": tiny, "offset": tiny, "y_val": tiny, "offset_val": y},
        {"y": y, "y_val": tiny},
    ):
        model.fit(X, **given, X_val=X, callbacks=[lambda at: None])
        assert np.isfinite(model.validation_score_).all() and np.isfinite(model.train_score_).all()


def test_limits_beyond_the_rows_cost_nothing():
    X, y = problem(100)
    model = hb.GradientBoostingRegressor(2, max_leaf_nodes=2_000_000, max_depth=2**40, min_samples_leaf=1)
    assert model.fit(X, y).estimators_[0, 0].get_n_leaves() <= 100


def test_constant_columns_give_the_mean_and_a_warning():
    with pytest.warns(hb_warnings.DataWarning, match="Every column of X is constant"):
        model = hb.GradientBoostingRegressor(3).fit(np.ones((50, 2)), np.arange(50.0))
    assert model.predict(np.ones((1, 2))) == pytest.approx(24.5)
