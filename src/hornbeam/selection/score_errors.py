"""The uncertainty of scores: by drawing rows with replacement, and by their differences from fold to fold.

Both are given because they answer different questions. The bootstrap over rows measures how much the score
would vary for other rows of the same origin, with the models as they are; the spread over the folds also
contains that other training rows give other models. All members are judged on the same draws, so that the
standard error of a difference is that of the difference itself, not of two scores.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.data.units import units_of_rows
from hornbeam.selection.folds import Folded
from hornbeam.selection.metrics import Answers, Metric, Truth
from hornbeam.selection.trials import Trial

__all__ = ["Scores", "draw_counts", "judge"]

FloatArray = npt.NDArray[np.float64]

# Counts drawn at once.
_MOST_COUNTS = 4_000_000
# With fewer rows in a fold, samples of single folds would say little: rows are drawn from all folds together.
_FEW_ROWS = 10


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of members (first axis) by metrics (second): per fold, and on bootstrap samples of the rows."""

    per_fold: FloatArray
    on_samples: FloatArray

    @property
    def values(self) -> FloatArray:
        """Means over the folds: members x metrics."""
        return _mean(self.per_fold)

    @property
    def spread_over_folds(self) -> FloatArray:
        """Standard errors of the means, from the differences between folds."""
        return _standard_error_of_mean(self.per_fold)

    @property
    def spread_over_rows(self) -> FloatArray:
        """Standard errors from the bootstrap over rows."""
        return _deviation(self.on_samples)

    def of_metrics(self, places: Sequence[int]) -> "Scores":
        """Return the scores by some of the metrics, in the order of their places."""
        return Scores(self.per_fold[:, places], self.on_samples[:, places])

    def difference(self, one: int, other: int, metric: int = 0) -> tuple[float, float]:
        """Return by how much one member is above another, and the larger standard error of that."""
        folds = self.per_fold[one, metric] - self.per_fold[other, metric]
        rows = self.on_samples[one, metric] - self.on_samples[other, metric]
        errors = [float(_standard_error_of_mean(folds)), float(_deviation(rows))]
        known = [error for error in errors if not np.isnan(error)]
        return float(_mean(folds)), max(known, default=float("nan"))


def _mean(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        mean: FloatArray = np.where(known, values, 0).sum(axis=-1) / known.sum(axis=-1)
    return mean


def _deviation(values: FloatArray) -> FloatArray:
    known = ~np.isnan(values)
    n_known = known.sum(axis=-1)
    away = np.where(known, values - _mean(values)[..., np.newaxis], 0)
    units = units_of_rows(away)  # in which squares are finite: errors of far targets are far, too
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation: FloatArray = np.sqrt(((away / units) ** 2).sum(axis=-1) / (n_known - 1)) * units[..., 0]
    return deviation


def _standard_error_of_mean(values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        error: FloatArray = _deviation(values) / np.sqrt((~np.isnan(values)).sum(axis=-1))
    return error


def judge(
    data: Folded, trials: Sequence[Sequence[Trial]], metrics: Sequence[Metric], *, n_draws: int, seed: int
) -> Scores:
    """Judge the trials of each member, which has one per fold, by all metrics."""
    answers = [[trial.answers for trial in member] for member in trials]
    truths = [fold.truth for fold in data.folds]
    per_fold = np.array(
        [
            [
                [metric.of(truth, found) for truth, found in zip(truths, member, strict=True)]
                for metric in metrics
            ]
            for member in answers
        ]
    )
    return Scores(per_fold, _on_samples(truths, answers, metrics, n_draws, seed))


def _on_samples(
    truths: list[Truth],
    answers: list[list[Answers]],
    metrics: Sequence[Metric],
    n_draws: int,
    seed: int,
) -> FloatArray:
    """Score every member on the same bootstrap samples: the mean over folds, each drawn from by itself."""
    if min(len(truth.y) for truth in truths) < _FEW_ROWS:
        truths, answers = [_pooled_truth(truths)], [[_pooled_answers(member)] for member in answers]
    generator = np.random.default_rng(seed)
    result = np.zeros((len(answers), len(metrics), n_draws))
    for number, truth in enumerate(truths):
        n_rows = len(truth.y)
        step = max(1, _MOST_COUNTS // n_rows)
        for begin in range(0, n_draws, step):
            some = slice(begin, min(begin + step, n_draws))
            counts = draw_counts(generator, n_rows, some.stop - begin)
            for m, member in enumerate(answers):
                for k, metric in enumerate(metrics):
                    result[m, k, some] += metric.on_samples(truth, member[number], counts)
    return result / len(truths)


def draw_counts(generator: np.random.Generator, n_rows: int, n_draws: int) -> FloatArray:
    """Draw rows with replacement, so many times as there are rows, and count them: draws x rows."""
    drawn = generator.integers(n_rows, size=(n_draws, n_rows))
    drawn += np.arange(n_draws)[:, np.newaxis] * n_rows
    counts = np.bincount(drawn.ravel(), minlength=n_draws * n_rows)
    return counts.reshape(n_draws, n_rows).astype(np.float64)


def _pooled_truth(truths: list[Truth]) -> Truth:
    return Truth(np.concatenate([truth.y for truth in truths]), truths[0].classes)


def _pooled_answers(answers: list[Answers]) -> Answers:
    probabilities = [each.probabilities for each in answers if each.probabilities is not None]
    return Answers(
        np.concatenate([each.labels for each in answers]),
        np.concatenate(probabilities) if len(probabilities) == len(answers) else None,
    )
