"""Intervals, sets, standard errors and quantiles: against slow twins, and how often they hold."""

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import hornbeam as hb
from hornbeam.recipes.uncertainty import jackknife_std
from hornbeam.warnings import OutOfBagWarning


def numbers(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    return make_friedman1(n_rows, noise=1.0, random_state=seed)


def classes(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    noisy = X[:, 0] + X[:, 1] + rng.normal(size=n_rows) > 0
    return X, noisy.astype(int) + (X[:, 2] + 0.5 * rng.normal(size=n_rows) > 1)


def members_without(forest: Any, row: int) -> list[Any]:
    pairs = zip(forest.estimators_, forest.estimators_samples_, strict=True)
    return [member for member, sample in pairs if row not in sample]


def test_intervals_equal_their_slow_twin() -> None:
    X, y = numbers(60, 0)
    train, test, alpha = slice(0, 40), slice(40, 60), 0.2
    forest = hb.RandomForestRegressor(60, random_state=0, keep="oob").fit(X[train], y[train])
    low, high = [], []
    for row in range(40):
        others = members_without(forest, row)
        error = abs(y[row] - np.mean([member.predict(X[[row]])[0] for member in others]))
        answer = np.mean([member.predict(X[test]) for member in others], axis=0)
        low.append(answer - error)
        high.append(answer + error)
    found = forest.predict_interval(X[test], alpha)
    np.testing.assert_allclose(found[:, 0], np.sort(low, axis=0)[int(np.floor(alpha * 41)) - 1])
    np.testing.assert_allclose(found[:, 1], np.sort(high, axis=0)[int(np.ceil((1 - alpha) * 41)) - 1])
    assert np.all(np.isinf(forest.predict_interval(X[test], 0.01)))


def test_sets_equal_their_slow_twin() -> None:
    X, y = classes(60, 0)
    train, test, alpha = slice(0, 40), slice(40, 60), 0.2
    forest = hb.RandomForestClassifier(60, random_state=0, keep="oob").fit(X[train], y[train])
    n_better = np.zeros((20, 3))
    for row in range(40):
        others = members_without(forest, row)
        error = 1 - np.mean([member.predict_proba(X[[row]])[0, y[row]] for member in others])
        own = 1 - np.mean([member.predict_proba(X[test]) for member in others], axis=0)
        n_better += error < own - 1e-9
    assert np.array_equal(forest.predict_set(X[test], alpha), n_better < (1 - alpha) * 41)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_coverage(kind: str) -> None:
    held = []
    for seed in range(200):
        X, y = (numbers if kind == "numbers" else classes)(180, seed)
        make = hb.RandomForestRegressor if kind == "numbers" else hb.RandomForestClassifier
        forest = make(40, random_state=seed, keep="oob", n_jobs=1, min_samples_leaf=2).fit(X[:120], y[:120])
        if kind == "numbers":
            low, high = forest.predict_interval(X[120:], 0.1).T
            held.append(np.mean((low <= y[120:]) & (y[120:] <= high)))
        else:
            held.append(np.mean(forest.predict_set(X[120:], 0.1)[np.arange(60), y[120:]]))
    assert 0.88 <= np.mean(held) <= 0.93


def test_standard_errors_equal_the_formula() -> None:
    X, y = numbers(50, 0)
    forest = hb.RandomForestRegressor(30, random_state=0).fit(X, y)
    times = np.stack([np.bincount(sample, minlength=50) for sample in forest.estimators_samples_])
    said = np.stack([member.predict(X[:5]) for member in forest.estimators_])
    expected = []
    for row in range(5):
        covariances = [np.cov(times[:, i], said[:, row], ddof=0)[0, 1] for i in range(50)]
        by_chance = 49 / 30 * np.var(said[:, row])
        expected.append(np.sqrt(max(0, np.sum(np.square(covariances)) - by_chance)))
    np.testing.assert_allclose(forest.predict_std(X[:5]), expected)


@pytest.mark.parametrize(("n_members", "n_units"), [(6, 7), (7, 7), (8, 7)])
def test_standard_errors_with_fewer_and_more_members_than_rows(n_members: int, n_units: int) -> None:
    """Which product is smaller decides how the sum of squares is found."""
    rng = np.random.default_rng(0)
    said, times = rng.normal(size=(40, n_members)) * 50, rng.integers(0, 4, (n_members, n_units))
    centred = said - said.mean(axis=1, keepdims=True)
    covariances = centred @ (times - times.mean(axis=0)) / n_members
    by_chance = n_units * (1 - 1 / n_units) * np.square(centred).mean(axis=1) / n_members
    expected = np.sqrt(np.maximum(np.square(covariances).sum(axis=1) - by_chance, 0))
    assert np.count_nonzero(expected) > 5
    found = jackknife_std(said, times.astype(np.uint32), n_draws=n_units, with_replacement=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_standard_error_of_a_bagged_mean_is_that_of_the_mean() -> None:
    """A forest of single leaves is the bagged mean, whose standard error everybody knows."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    forest = hb.RandomForestRegressor(3000, max_nodes=1, random_state=0).fit(rng.normal(size=(60, 1)), y)
    assert forest.predict_std([[0.0]])[0] == pytest.approx(y.std() / np.sqrt(60), rel=0.1)
    half = hb.RandomForestRegressor(3000, max_nodes=1, random_state=0, bootstrap=False, max_samples=0.5)
    half.fit(rng.normal(size=(60, 1)), y)
    assert half.predict_std([[0.0]])[0] == pytest.approx(y.std() / np.sqrt(60), rel=0.15)


def test_standard_errors_are_never_negative() -> None:
    said, times = np.ones((2, 5)), np.ones((5, 7), dtype=np.uint32)
    assert jackknife_std(said, times, n_draws=7, with_replacement=True).tolist() == [0, 0]


def test_sets_of_a_forest_whose_trees_have_seen_everything() -> None:
    """Nothing is known of errors then: every class may be, as intervals are infinite."""
    forest = hb.RandomForestClassifier(1, max_samples=1, keep="oob", random_state=0)
    with pytest.warns(OutOfBagWarning):
        forest.fit([[1.0], [2.0]], [0, 1], sample_weight=[1, 1], groups=[0, 0])
    assert forest.predict_set([[1.0]]).tolist() == [[True, True]]


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_equal_their_slow_twin(weighted: bool) -> None:
    X, y = numbers(60, 0)
    weights = np.random.default_rng(0).integers(1, 4, 60).astype(float) if weighted else None
    forest = hb.RandomForestRegressor(15, min_samples_leaf=3, random_state=0, keep=["leaf_rows"])
    forest.fit(X, y, weights)
    shares = (0.0, 0.1, 0.5, 0.9, 1.0)
    found = forest.predict_quantiles(X[:10], shares)
    for row in range(10):
        total = np.zeros(60)
        for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            times = np.bincount(sample, minlength=60) * (1 if weights is None else weights)
            together = times * (member.apply(X) == member.apply(X[[row]])[0])
            total += together / together.sum()
        order = np.argsort(y)
        cumulated = np.cumsum(total[order]) / total.sum()
        present = np.flatnonzero(total[order])
        expected = [y[order][present[np.argmax(cumulated[present] >= share - 1e-9)]] for share in shares]
        np.testing.assert_allclose(found[row], expected)


def test_quantiles_of_several_outputs() -> None:
    X, y = numbers(60, 0)
    forest = hb.RandomForestRegressor(15, random_state=0, keep="leaf_rows").fit(X, np.stack([y, -y], axis=1))
    found = forest.predict_quantiles(X[:4], [0.25, 0.75])
    assert found.shape == (4, 2, 2)
    assert np.all(found[:, :, 0] <= found[:, :, 1])
    intervals = hb.RandomForestRegressor(40, random_state=0, keep="oob").fit(X, np.stack([y, -y], axis=1))
    assert intervals.predict_interval(X[:4]).shape == (4, 2, 2)
    assert intervals.predict_std(X[:4]).shape == (4, 2)


def test_in_bag_counts() -> None:
    X, y = numbers(40, 0)
    weights = (np.arange(40) % 4 > 0).astype(float)
    forest = hb.RandomForestRegressor(6, random_state=0, keep="in_bag").fit(X, y, weights)
    expected = [np.bincount(sample, minlength=40) for sample in forest.estimators_samples_]
    assert np.array_equal(forest.in_bag_, np.stack(expected, axis=1))


@pytest.mark.parametrize("method", ["predict_interval", "predict_quantiles", "predict_set"])
def test_what_was_not_kept_is_named(method: str) -> None:
    X, y = classes(40, 0)
    make = hb.RandomForestClassifier if method == "predict_set" else hb.RandomForestRegressor
    forest = make(3, random_state=0).fit(X, y)
    keep = "leaf_rows" if method == "predict_quantiles" else "oob"
    with pytest.raises(AttributeError, match=f"{method} needs what a fit with keep='{keep}' keeps"):
        getattr(forest, method)(X)


def test_what_is_refused() -> None:
    X, y = numbers(40, 0)
    forest = hb.RandomForestRegressor(30, random_state=0, keep=["oob", "leaf_rows"]).fit(X, y)
    for alpha in (0, 1, -0.1, "0.1", True):
        with pytest.raises(ValueError, match=r"alpha must be a number in \(0, 1\)"):
            forest.predict_interval(X, alpha)
    with pytest.raises(ValueError, match=r"quantiles must be numbers in \[0, 1\]"):
        forest.predict_quantiles(X, [0.5, 1.5])
    with pytest.raises(ValueError, match="keep must be"):
        hb.RandomForestRegressor(keep=["oob", "everything"]).fit(X, y)
    with pytest.raises(ValueError, match="needs bootstrap=True"):
        hb.RandomForestRegressor(3, bootstrap=False).fit(X, y).predict_std(X)
    with pytest.raises(ValueError, match="only available if bootstrap=True"):
        hb.RandomForestRegressor(3, bootstrap=False, keep="oob").fit(X, y)
    with pytest.raises(ValueError, match="classifiers do not have"):
        hb.RandomForestClassifier(3, keep="leaf_rows").fit(X, y > 10)
