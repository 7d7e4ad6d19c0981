"""Metrics: scikit-learn's values, and on samples what repeated rows would give."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from hornbeam.selection.metrics import Answers, Truth, chosen_metrics

REFERENCE = {
    "accuracy": lambda truth, answers: sk.accuracy_score(truth.y, answers.labels),
    "balanced accuracy": lambda truth, answers: np.mean(
        [np.mean(answers.labels[truth.y == label] == label) for label in np.unique(truth.y)]
    ),
    "log loss": lambda truth, answers: sk.log_loss(
        truth.y, np.clip(answers.probabilities, 1e-15, 1), labels=truth.classes
    ),
    "ROC AUC": lambda truth, answers: sk.roc_auc_score(truth.y, answers.probabilities[:, 1]),
    "R2": lambda truth, answers: sk.r2_score(truth.y, answers.labels),
    "RMSE": lambda truth, answers: sk.root_mean_squared_error(truth.y, answers.labels),
    "MAE": lambda truth, answers: sk.mean_absolute_error(truth.y, answers.labels),
}


@st.composite
def judged(draw):
    """Truth, answers and how often each row counts; both classes are there."""
    n_rows = draw(st.integers(4, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    task = draw(st.sampled_from(["classification", "regression"]))
    counts = rng.integers(0, 3, n_rows)
    counts[:3] = 1
    if task == "regression":
        y = rng.integers(-3, 4, n_rows) / 2 + 1e6 * draw(st.booleans())
        y[:2] = y[0], y[0] + 1
        return task, Truth(y), Answers(y + rng.normal(size=n_rows)), counts
    classes = np.array(["n", "y"])
    y = classes[[0, 1, *rng.integers(0, 2, n_rows - 2)]]
    second = rng.integers(1, 8, n_rows) / 8  # with ties
    return (
        task,
        Truth(y, classes),
        Answers(classes[(second > 0.5) * 1], np.stack([1 - second, second], 1)),
        counts,
    )


@given(judged())
@settings(max_examples=60, deadline=None)
def test_metrics_equal_those_of_scikit_learn_also_on_samples(case):
    task, truth, answers, counts = case
    drawn = np.repeat(np.arange(len(counts)), counts)
    sample = Truth(truth.y[drawn], truth.classes)
    sampled = Answers(
        answers.labels[drawn], None if answers.probabilities is None else answers.probabilities[drawn]
    )
    for metric in chosen_metrics(task, 2, None):
        assert metric.of(truth, answers) == pytest.approx(REFERENCE[metric.name](truth, answers), rel=1e-6)
        found = metric.on_samples(truth, answers, np.stack([counts, counts]).astype(float))
        np.testing.assert_allclose(found, REFERENCE[metric.name](sample, sampled), rtol=1e-6, atol=1e-9)


def test_the_metric_that_decides_can_be_named_or_brought_along():
    assert chosen_metrics("classification", 2, "neg_log_loss")[0].name == "log loss"
    assert chosen_metrics("classification", 2, "roc_auc")[0].name == "ROC AUC"
    assert [metric.name for metric in chosen_metrics("regression", 0, "r2")] == ["R2", "RMSE", "MAE"]

    def hits(truth, found):
        return float(np.sum(truth == found))

    own = chosen_metrics("classification", 2, hits)[0]
    assert (own.name, own.of(Truth(np.array([1, 2])), Answers(np.array([1, 1])))) == ("hits", 1.0)
    with pytest.raises(ValueError, match="Did you mean 'accuracy'"):
        chosen_metrics("classification", 2, "acuracy")
    with pytest.raises(ValueError, match="is not a metric for classification"):
        chosen_metrics("classification", 3, "ROC AUC")


def test_skill_is_the_share_of_the_way_from_the_baseline_to_perfection():
    accuracy, _, log_loss = chosen_metrics("classification", 3, None)
    assert accuracy.skill(0.9, 0.6) == pytest.approx(0.75)
    assert log_loss.skill(0.2, 0.8) == pytest.approx(0.75)
    assert np.isnan(accuracy.skill(1.0, 1.0))
