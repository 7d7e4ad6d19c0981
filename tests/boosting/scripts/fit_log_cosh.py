"""Fits with the loss that `test_loss_recipe.py` has added to the sources in the folder given first."""

import sys

# An editable install answers for `hornbeam` before any folder does.
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
sys.path.insert(0, sys.argv[1])

from pathlib import Path  # noqa: E402 - after the path is set

import numpy as np  # noqa: E402

import hornbeam as hb  # noqa: E402


class LogCosh:
    """The same loss, written in Python."""

    def gradient_hessian(self, y, score):
        slope = np.tanh(score - y)
        return slope, 1 - slope**2

    def baseline(self, y, sample_weight):
        return np.average(y, weights=sample_weight)


def main() -> None:
    assert Path(hb.__file__).is_relative_to(sys.argv[1]), hb.__file__
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X[:, 0] - np.abs(X[:, 1]) + 0.3 * rng.normal(size=500)
    settings = {"n_estimators": 20, "max_leaf_nodes": 8, "random_state": 0}
    for weights in (None, rng.uniform(0.5, 2.0, 500)):
        model = hb.GradientBoostingRegressor(loss="log_cosh", **settings).fit(X, y, weights)
        by_hand = hb.GradientBoostingRegressor(loss=LogCosh(), **settings).fit(X, y, weights)
        found = model.predict(X)
        np.testing.assert_allclose(found, by_hand.predict(X), rtol=1e-5, atol=1e-6)
        mean = np.average(y, weights=weights)
        losses = [
            np.average(np.log(np.cosh(predicted - y)), weights=weights)
            for predicted in (mean, *model.staged_predict(X))
        ]
        assert losses == sorted(losses, reverse=True), losses

    path = Path(sys.argv[1]) / "model.hornbeam"
    hb.save(model, path)
    np.testing.assert_array_equal(hb.load(path).predict(X), found)
    try:
        hb.GradientBoostingRegressor(loss="log_sinh").fit(X, y)
    except ValueError as error:
        assert "'log_cosh'" in str(error), error
    else:
        raise AssertionError("an unknown loss was taken")


main()
