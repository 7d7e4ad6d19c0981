"""The losses: derivatives of the core against differences of the loss, constants against the best."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit

import hornbeam as hb
from hornbeam import _core
from hornbeam.data.encode import encode
from hornbeam.data.table import read_table
from hornbeam.recipes.boosting.losses import named_loss, weighted_quantile

PARAMETERS = {"huber": 0.7, "quantile": 0.3, "tweedie": 1.4}
TARGETS = {
    "squared_error": "numbers", "absolute_error": "numbers", "huber": "numbers", "quantile": "numbers",
    "poisson": "counts", "gamma": "positive", "tweedie": "counts",
    "log_loss": "two", "exponential": "two", "softmax": "three",
}  # fmt: skip
WITHOUT_BEND = ("absolute_error", "huber", "quantile")


def loss_of(name):
    return named_loss(name, parameter=PARAMETERS.get(name, 0.0), n_scores=3 if name == "softmax" else 1)


def targets_of(name, n_rows=40):
    rng = np.random.default_rng(0)
    return (
        {
            "numbers": rng.normal(size=n_rows),
            "counts": rng.poisson(2.0, n_rows).astype(np.float64),
            "positive": rng.gamma(2.0, size=n_rows) + 0.1,
            "two": rng.integers(0, 2, n_rows).astype(np.float64),
            "three": rng.integers(0, 3, n_rows).astype(np.float64),
        }[TARGETS[name]]
        .astype(np.float32)
        .astype(np.float64)
    )


def core_derivatives(name, y, scores, weights=None):
    loss = loss_of(name)
    encoded = encode(read_table(np.zeros((len(y), 1))), max_bins=255, n_threads=1)
    limits = dict.fromkeys(("max_depth", "max_leaf_nodes", "max_features"), 0)
    numbers = dict.fromkeys(
        (
            "min_hessian_leaf",
            "l1_regularization",
            "l2_regularization",
            "min_split_gain",
            "categorical_smoothing",
        ),
        0.0,
    )
    booster = _core.Booster(
        encoded.codes,
        y=y.astype(np.float32),
        weights=None if weights is None else weights.astype(np.float32),
        n_scores=loss.n_scores,
        loss=name,
        loss_parameter=loss.parameter,
        learning_rate=1.0,
        growth="best_first",
        min_samples_leaf=1,
        monotonic=[],
        n_threads=1,
        **limits,
        **numbers,
    )
    booster.scores()[:] = scores.T
    booster.compute_derivatives()
    return booster.gradients().T.copy(), booster.hessians().T.copy()


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("weighted", [False, True])
def test_derivatives_are_those_of_the_loss(name, weighted):
    loss, y = loss_of(name), targets_of(name)
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(len(y), loss.n_scores))
    weights = (
        rng.uniform(0.5, 2.0, len(y)).astype(np.float32).astype(np.float64) if weighted else np.ones(len(y))
    )
    gradients, hessians = core_derivatives(name, y, scores, weights if weighted else None)
    if name == "huber":  # delta moves with the scores, in the loss as in the core; the slope does not
        sizes = np.abs(y - scores[:, 0])
        delta = weighted_quantile(sizes, weights, PARAMETERS[name])
        np.testing.assert_allclose(
            gradients[:, 0], weights * np.clip(scores[:, 0] - y, -delta, delta), rtol=1e-5, atol=1e-6
        )
        return
    step = 1e-4
    for column in range(loss.n_scores):
        move = np.zeros(loss.n_scores)
        move[column] = step
        above, here, below = (loss.row_losses(y, scores + k * move) for k in (1, 0, -1))
        np.testing.assert_allclose(
            gradients[:, column], weights * (above - below) / (2 * step), rtol=1e-4, atol=1e-4
        )
        if name not in WITHOUT_BEND and (weighted or name != "squared_error"):
            bend = weights * (above - 2 * here + below) / step**2
            np.testing.assert_allclose(hessians[:, column], bend, rtol=1e-3, atol=1e-4)


# Huber starts from the median, and softmax with an offset only near the best.
CLOSED_FORMS = [
    (name, shifted)
    for name in TARGETS
    for shifted in (False, True)
    if name != "huber" and not (name == "softmax" and shifted)
]


@pytest.mark.parametrize(("name", "shifted"), CLOSED_FORMS)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_start_from_the_best_constant(name, shifted, weighted):
    loss, y = loss_of(name), targets_of(name)
    rng = np.random.default_rng(2)
    weights = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    offset = rng.normal(size=(len(y), loss.n_scores)) if shifted else None
    known = 0.0 if offset is None else offset

    def mean(constants):
        return loss.mean(y, np.tile(constants, (len(y), 1)) + known, weights)

    found = loss.baseline(y, weights, offset)
    best = minimize(mean, found + 0.1, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-14})
    assert mean(found) <= best.fun + 1e-9


def test_answers_are_probabilities_or_numbers():
    scores = np.array([[-800.0], [0.0], [800.0]])
    for name in ("log_loss", "exponential"):
        shares = loss_of(name).answers(scores)
        np.testing.assert_array_equal(shares, [[1, 0], [0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(loss_of("softmax").answers(np.array([[1000.0, 0.0, -1000.0]])), [[1, 0, 0]])
    np.testing.assert_array_equal(loss_of("poisson").answers(np.array([[0.0]])), [1.0])


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9])
def test_weighted_quantiles_count_weights_as_rows(alpha):
    rng = np.random.default_rng(3)
    for _ in range(50):
        values = rng.integers(0, 6, 9).astype(np.float64)
        times = rng.integers(1, 4, 9)
        repeated = np.repeat(values, times)
        assert weighted_quantile(values, times.astype(np.float64), alpha) == weighted_quantile(
            repeated, None, alpha
        )
    assert weighted_quantile(np.array([3.0, 1.0, 2.0, 4.0]), None, 0.5) == 2.5


def longest_step(gradient, hessian):
    """Twice the way from p to the share of a class, for rows that all have the mean derivatives."""
    p = min(np.roots([1.0, -1.0, min(hessian, 0.25)]).real)
    share = min(p + abs(gradient), 1 - p / 2)
    return 2 * (logit(share) - logit(p))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_rare_classes_end_near_their_minimum(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(4000, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=4000), [2.6, 3.0][: n_classes - 1])
    weights = rng.uniform(0.5, 2.0, 4000) if weighted else np.ones(4000)
    model = hb.GradientBoostingClassifier(20, learning_rate=0.5, max_leaf_nodes=8)
    model.fit(X, y, weights if weighted else None)
    one_score = n_classes == 2
    scores = [s.reshape(4000, -1) for s in model.staged_decision_function(X)]
    chances = [s[:, 1:] if one_score else s for s in model.staged_predict_proba(X)]
    n_shortened = 0
    for before, after, p in zip(scores, scores[1:], chances, strict=False):
        for k in range(before.shape[1]):
            truth = y == (1 if one_score else k)
            # rows of one leaf have the same step
            steps, leaf_of = np.unique(np.round(after[:, k] - before[:, k], 9), return_inverse=True)
            for leaf, step in enumerate(steps):
                rows = leaf_of == leaf
                w = weights[rows] / weights[rows].sum()
                gradient = w @ (p[rows, k] - truth[rows])
                hessian = w @ (p[rows, k] * (1 - p[rows, k]))
                newton, longest = abs(gradient / hessian), longest_step(gradient, hessian)
                n_shortened += newton > 1.01 * longest
                assert step == pytest.approx(-np.sign(gradient) * 0.5 * min(newton, longest), rel=1e-3)
    assert n_shortened >= 3
