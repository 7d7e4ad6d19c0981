"""Fits with the loss that `test_loss_recipe.py` has added to the sources in the folder given first."""

import sys

# An editable install answers for `hornbeam` before any folder does.
sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_editable")]
sys.path.insert(0, sys.argv[1])

from pathlib import Path  # noqa: E402 - after the path is set

import numpy as np  # noqa: E402

import hornbeam as hb  # noqa: E402


def mean_loss(y, predicted, weights):
    return np.average(np.log(np.cosh(predicted - y)), weights=weights)


def main() -> None:
    assert Path(hb.__file__).is_relative_to(sys.argv[1]), hb.__file__
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X[:, 0] - np.abs(X[:, 1]) + 0.3 * rng.normal(size=500)
    for weights in (np.ones(500), rng.uniform(0.5, 2.0, 500)):
        start = np.average(y, weights=weights)
        slope = np.tanh(start - y)
        model = hb.GradientBoostingRegressor(
            1, loss="log_cosh", learning_rate=1.0, max_leaf_nodes=5, l2_regularization=0.0
        ).fit(X, y, weights)
        answers, leaf_of = np.unique(model.predict(X), return_inverse=True)
        assert len(answers) == 5
        for leaf, answer in enumerate(answers):
            rows = leaf_of == leaf
            newton = -(weights @ (slope * rows)) / (weights @ ((1 - slope**2) * rows))
            np.testing.assert_allclose(answer - start, newton, rtol=1e-5)

        model = hb.GradientBoostingRegressor(30, loss="log_cosh", max_leaf_nodes=8).fit(X, y, weights)
        staged = [mean_loss(y, predicted, weights) for predicted in model.staged_predict(X)]
        assert [mean_loss(y, start, weights), *staged] == sorted([mean_loss(y, start, weights), *staged])[
            ::-1
        ]

    path = Path(sys.argv[1]) / "model.hornbeam"
    hb.save(model, path)
    np.testing.assert_array_equal(hb.load(path).predict(X), model.predict(X))
    try:
        hb.GradientBoostingRegressor(loss="log_sinh").fit(X, y)
    except ValueError as error:
        assert "'log_cosh'" in str(error), error
    else:
        raise AssertionError("an unknown loss was taken")


main()
