"""Bootstrap of statistics and of models; correlation of members."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression

import hornbeam as hb


def test_the_standard_error_is_close_to_the_monte_carlo_one() -> None:
    """n = 100, B = 1000: the median of normal numbers."""
    rng = np.random.default_rng(0)
    truth = np.std([np.median(rng.normal(size=100)) for _ in range(2000)])
    found = [hb.bootstrap(np.median, rng.normal(size=100), n=1000, random_state=s) for s in range(8)]
    assert np.mean([one.standard_error for one in found]) == pytest.approx(truth, rel=0.15)
    mean = hb.bootstrap(np.mean, rng.normal(size=100), n=1000, random_state=0)
    assert mean.standard_error == pytest.approx(0.1, rel=0.2)
    assert len(mean.replicates) == 1000


def test_intervals_hold_the_truth() -> None:
    """Of a skewed statistic, for which the plain interval is too low, the corrected one lies higher."""
    held, higher = 0, 0
    for seed in range(80):
        sample = np.random.default_rng(seed).exponential(size=40)
        found = hb.bootstrap(np.var, sample, n=300, confidence=0.9, random_state=seed)
        held += found.bca[0] <= 1 <= found.bca[1]
        higher += found.bca[0] > found.percentile[0] and found.bca[1] > found.percentile[1]
    assert higher > 0.9 * 80
    assert held > 0.6 * 80  # both hold too seldom on 40 rows of such a skewed kind


def test_bca_equals_its_formula() -> None:
    scipy_stats = pytest.importorskip("scipy.stats")
    seed = "rng" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else "random_state"
    sample = np.random.default_rng(1).exponential(size=50)
    found = hb.bootstrap(np.mean, sample, n=4000, random_state=0)
    peer = scipy_stats.bootstrap((sample,), np.mean, n_resamples=4000, method="BCa", **{seed: 0})
    assert found.bca[0] == pytest.approx(peer.confidence_interval.low, rel=0.03)
    assert found.bca[1] == pytest.approx(peer.confidence_interval.high, rel=0.03)
    assert found.standard_error == pytest.approx(peer.standard_error, rel=0.05)


def test_several_arrays_and_answers() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=80)})
    y = 2 * frame["x"] + rng.normal(size=80)
    found = hb.bootstrap(
        lambda table, target: np.polyfit(table["x"], target, 1), frame, y, n=300, random_state=0
    )
    assert found.value.shape == found.standard_error.shape == found.bca[0].shape == (2,)
    assert found.replicates.shape == (300, 2)
    assert found.bca[0][0] < 2 < found.bca[1][0]
    again = hb.bootstrap(
        lambda table, target: np.polyfit(table["x"], target, 1), frame, y, n=300, random_state=0
    )
    assert np.array_equal(found.replicates, again.replicates)


def test_groups_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(20), 10)
    values = rng.normal(size=20)[groups] + 0.1 * rng.normal(size=200)
    alone = hb.bootstrap(np.mean, values, n=300, random_state=0).standard_error
    together = hb.bootstrap(np.mean, values, n=300, groups=groups, random_state=0).standard_error
    assert together > 2 * alone


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {}, "needs data"),
        (([1.0, 2.0],), {"n": 1}, "n must be"),
        (([1.0, 2.0],), {"confidence": 1.0}, "confidence must be"),
        (([1.0, 2.0],), {"groups": [1]}, "groups has 1 entries"),
        (([1.0, 2.0], [1.0]), {}, "inconsistent numbers of samples"),
    ],
)
def test_bootstrap_refuses(arguments: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hb.bootstrap(np.mean, *arguments, **options)


def test_squared_error_is_bias_and_variance() -> None:
    X, y = make_friedman1(300, random_state=0)
    test_X, test_y = make_friedman1(200, random_state=1)

    def parts(estimator: Any) -> Any:
        return hb.bias_variance(estimator, X, y, X_test=test_X, y_test=test_y, n=15, random_state=0)

    tree = parts(hb.DecisionTreeRegressor())
    bagged = parts(hb.BaggingRegressor(hb.DecisionTreeRegressor(), 20))
    forest = parts(hb.RandomForestRegressor(20, max_features=3))
    stump = parts(hb.DecisionTreeRegressor(max_depth=1))
    boosted = parts(hb.GradientBoostingRegressor(n_estimators=100, max_depth=1))
    for found in (tree, bagged, forest, stump, boosted):
        assert found.error == pytest.approx(found.bias + found.variance)
        assert found.variance_effect == pytest.approx(found.variance)
    # Bagging lowers variance and not bias; a stump is all bias, which boosting lowers.
    assert bagged.variance < 0.5 * tree.variance
    assert forest.variance < 0.5 * tree.variance
    assert bagged.bias == pytest.approx(tree.bias, rel=0.25)
    assert stump.bias > 2 * tree.bias > tree.variance > stump.variance
    assert boosted.bias < 0.5 * stump.bias
    line = parts(LinearRegression())
    assert line.variance < 0.2 * line.bias


def test_zero_one_error() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    found = hb.bias_variance(hb.DecisionTreeClassifier(), X, y, n=15, random_state=0)
    assert (found.loss, found.n_fits) == ("zero_one", 15)
    assert 0 < found.bias < found.error
    assert found.variance_effect == pytest.approx(found.error - found.bias)
    assert 0 < found.variance < 0.3
    with pytest.raises(ValueError, match="Give both X_test and y_test"):
        hb.bias_variance(hb.DecisionTreeClassifier(), X, y, X_test=X)
    with pytest.raises(ValueError, match="loss must be"):
        hb.bias_variance(hb.DecisionTreeClassifier(), X, y, loss="hinge")


def test_the_variance_of_an_average() -> None:
    """rho s^2 + (1 - rho) / T s^2, predicted and measured, on a simulated problem."""
    X, y = make_friedman1(300, random_state=0)
    test_X, test_y = make_friedman1(500, random_state=1)
    found = {}
    for share in (1.0, 0.2):
        forest = hb.RandomForestRegressor(40, max_features=share, random_state=0).fit(X, y)
        output = found[share] = hb.member_agreement(forest, test_X, test_y)
        assert output.measured_variance == pytest.approx(output.predicted_variance, rel=0.05)
        errors = np.stack([member.predict(test_X) - test_y for member in forest.estimators_])
        pairs = np.corrcoef(errors)[np.triu_indices(40, 1)]
        assert output.rho == pytest.approx(pairs.mean(), rel=1e-9)
        assert output.member_variance == pytest.approx(errors.var(axis=1).mean())
        assert sum(output.root_share.values()) == pytest.approx(1)
    assert found[0.2].rho < found[1.0].rho
    assert max(found[0.2].root_share.values()) < max(found[1.0].root_share.values())


def test_correlation_of_classifiers_and_bags() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 4)), columns=[*"abcd"])
    y = np.where(X["a"] > 0, "up", "down")
    forest = hb.RandomForestClassifier(10, random_state=0).fit(X, y)
    output = hb.member_agreement(forest, X)
    assert 0 < output.rho <= 1
    assert set(output.root_share) == set("abcd")
    bag = hb.BaggingClassifier(hb.DecisionTreeClassifier(max_bins=8), 6, max_features=2, random_state=0)
    assert hb.member_agreement(bag.fit(X, y), X, y).n_members == 6
    with pytest.raises(ValueError, match="two members or more"):
        hb.member_agreement(hb.RandomForestClassifier(1).fit(X, y), X)
