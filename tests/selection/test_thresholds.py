"""Rare classes: the metric that decides, and the threshold to act on."""

import numpy as np
import pytest

from selection.comparing import quick

# --- Rare classes ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rare():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(600, 4))
    return X, np.where(X[:, 0] + generator.normal(size=600) > 2.2, "yes", "no")


def test_shares_decide_where_no_accuracy_beats_the_guess(rare):
    found = quick(*rare, methods=["linear"], cv=3)
    names = [entry.name for entry in found.entries]
    accuracy = [m.name for m in found.metrics].index("accuracy")
    guess, line = (found.scores.values[names.index(name), accuracy] for name in ("baseline", "linear"))
    assert line - guess < 0.01  # the accuracies say little
    assert found.metrics[0].name == "log loss" and found.best_name == "linear"
    assert "By accuracy nothing beats the guess" in found.verdict and "threshold=" in found.verdict
    asked = quick(*rare, methods=["linear"], cv=3, scoring="accuracy")
    assert asked.metrics[0].name == "accuracy"  # what was asked for decides


def test_accuracy_decides_where_it_tells_methods_from_the_guess(iris):
    assert quick(*iris, methods=["linear"], cv=3).metrics[0].name == "accuracy"


@pytest.mark.parametrize("wanted", ["balanced accuracy", "f1", "accuracy", {"yes": 10, "no": 1}])
def test_a_threshold_is_the_best_of_all_by_counting(rare, wanted):
    X, y = rare
    found = quick(X, y, methods=["linear"], cv=3, threshold=wanted)
    entry = next(entry for entry in found.entries if entry.name == "linear")
    share = np.concatenate([trial.answers.probabilities[:, 1] for trial in entry.trials])
    truth = np.concatenate([y[judge] for _, judge in found.splits]) == "yes"

    def worth(limit):
        said = share >= limit
        hits, missed, alarms = (said & truth).sum(), (~said & truth).sum(), (said & ~truth).sum()
        quiet = (~said & ~truth).sum()
        if wanted == "f1":
            return 2 * hits / (2 * hits + missed + alarms)
        if wanted == "accuracy":
            return (said == truth).mean()
        if wanted == "balanced accuracy":
            return (hits / truth.sum() + quiet / (~truth).sum()) / 2
        return -(10 * missed + alarms) / len(truth)

    assert worth(found.threshold.share) == max(worth(limit) for limit in [*share, 2.0])
    shares = found.best_.predict_proba(X)[:, 1]
    np.testing.assert_array_equal(found.decide(X) == "yes", shares >= found.threshold.share)


def test_a_threshold_may_be_given(rare, iris):
    X, y = rare
    found = quick(X, y, methods=["linear"], cv=2, threshold=0.2)
    assert found.threshold.share == 0.2 and "as given" in found.verdict
    for wanted, message in [
        (1.5, "between 0 and 1"),
        ("gain", "not a metric to choose a threshold by"),
        ({"yes": 1}, "of each class"),
        ({"yes": -1, "no": 1}, "numbers from 0 on"),
    ]:
        with pytest.raises(ValueError, match=message):
            quick(X, y, methods=["linear"], cv=2, threshold=wanted)
    with pytest.raises(ValueError, match="is for two classes; y has 3"):
        quick(*iris, methods=["linear"], cv=2, threshold=0.2)
