"""How good the answers are, beside those of a guess that needs no model, with error bars.

The guess is the most frequent class with the class shares, or the mean. Error bars come from drawing rows
with replacement: what other rows of the same kind would have given.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import metrics

from hornbeam.bootstrap import bootstrap
from hornbeam.report.judging import Answers

__all__ = ["Score", "Scores", "class_scores", "number_scores"]

FloatArray = npt.NDArray[np.float64]
Metric = Callable[..., float]

N_DRAWS = 400
MOST_ROWS_DRAWN = 20_000  # of more rows a part is drawn: their error bars are narrow anyhow
LEAST_SHARE = 1e-15  # given to the true class, where a model says that it is impossible


@dataclass(frozen=True)
class Score:
    """One metric of the model, of the guess and, if known, of the model on the rows of its fit."""

    name: str
    more_is_better: bool
    model: float
    low: float
    high: float
    standard_error: float
    baseline: float
    gain: float  # of the model over the guess, better being positive
    gain_low: float
    gain_high: float
    training: float | None = None

    @property
    def is_noise(self) -> bool:
        """Whether the interval of the gain holds 0."""
        return self.gain_low <= 0 <= self.gain_high


@dataclass(frozen=True)
class Scores:
    """All metrics, the headline first, and what the guess is."""

    scores: tuple[Score, ...]
    guess: str

    @property
    def headline(self) -> Score:
        """The metric to look at first."""
        return self.scores[0]


@dataclass(frozen=True, eq=False)
class _Measure:
    """A metric as a function of the truth, the answers and, for some, the shares of the classes."""

    name: str
    more_is_better: bool
    of: Metric


def class_scores(
    y: npt.NDArray[np.int64], answers: Answers, guess: Answers, training: tuple[Any, Answers] | None, *, seed: int
) -> tuple[Score, ...]:
    """Score codes of classes; shares have a column per class, and a code without one is not known."""
    measures = [_Measure("accuracy", True, lambda truth, said, _: float(np.mean(truth == said)))]
    measures.append(_Measure("balanced accuracy", True, lambda truth, said, _: _balanced(truth, said)))
    if answers.shares is not None and y.max() < answers.shares.shape[1]:
        measures.append(_Measure("log loss", False, lambda truth, _, shares: _log_loss(truth, shares)))
        measures.append(_Measure("Brier score", False, lambda truth, _, shares: _brier(truth, shares)))
        if answers.shares.shape[1] == 2 and len(np.unique(y)) == 2:
            measures.append(_Measure("area under ROC", True, lambda truth, _, shares: _area(truth, shares)))
    return tuple(_score(measure, y, answers, guess, training, seed) for measure in measures)


def number_scores(
    y: FloatArray, answers: Answers, guess: Answers, training: tuple[Any, Answers] | None, *, seed: int
) -> tuple[Score, ...]:
    """Score numbers; R² is the share of the variance of the rows that the answers explain."""
    measures = (
        _Measure("R²", True, lambda truth, said, _: _explained(truth, said)),
        _Measure("RMSE", False, lambda truth, said, _: float(np.sqrt(np.mean((truth - said) ** 2)))),
        _Measure("MAE", False, lambda truth, said, _: float(np.mean(np.abs(truth - said)))),
    )
    return tuple(_score(measure, y, answers, guess, training, seed) for measure in measures)


def _score(
    measure: _Measure,
    y: npt.NDArray[Any],
    answers: Answers,
    guess: Answers,
    training: tuple[Any, Answers] | None,
    seed: int,
) -> Score:
    sign = 1.0 if measure.more_is_better else -1.0

    def model_and_gain(rows: npt.NDArray[np.int64]) -> FloatArray:
        model = measure.of(y[rows], answers.predicted[rows], _some(answers, rows))
        baseline = measure.of(y[rows], guess.predicted[rows], _some(guess, rows))
        return np.array([model, sign * (model - baseline)])

    everything = np.arange(len(y))
    model, gain = (float(value) for value in model_and_gain(everything))
    drawn = everything
    if len(y) > MOST_ROWS_DRAWN:
        drawn = np.random.default_rng(seed).choice(len(y), MOST_ROWS_DRAWN, replace=False)
    spread = bootstrap(model_and_gain, drawn, n=N_DRAWS, random_state=seed)
    # Fewer rows were drawn than there are: the error of all is smaller by the root of the share.
    shrink = np.sqrt(len(drawn) / len(y))
    low, high = (shrink * (np.asarray(end) - np.asarray(spread.value)) for end in spread.percentile)
    return Score(
        name=measure.name,
        more_is_better=measure.more_is_better,
        model=model,
        low=model + float(low[0]),
        high=model + float(high[0]),
        standard_error=float(shrink * np.asarray(spread.standard_error)[0]),
        baseline=measure.of(y, guess.predicted, guess.shares),
        gain=gain,
        gain_low=gain + float(low[1]),
        gain_high=gain + float(high[1]),
        training=None
        if training is None
        else measure.of(training[0], training[1].predicted, training[1].shares),
    )


def _some(answers: Answers, rows: npt.NDArray[np.int64]) -> FloatArray | None:
    return None if answers.shares is None else answers.shares[rows]


def _balanced(truth: npt.NDArray[Any], said: npt.NDArray[Any]) -> float:
    """Average the accuracy of each class that occurs."""
    counts = np.bincount(truth)
    hits = np.bincount(truth, weights=truth == said, minlength=len(counts))
    return float(np.mean(hits[counts > 0] / counts[counts > 0]))


def _log_loss(truth: npt.NDArray[Any], shares: FloatArray) -> float:
    given = shares[np.arange(len(truth)), truth]
    return float(-np.mean(np.log(np.clip(given, LEAST_SHARE, 1.0))))


def _brier(truth: npt.NDArray[Any], shares: FloatArray) -> float:
    given = shares[np.arange(len(truth)), truth]
    return float(np.mean(np.square(shares).sum(axis=1) - 2 * given + 1))


def _area(truth: npt.NDArray[Any], shares: FloatArray) -> float:
    return float(metrics.roc_auc_score(truth, shares[:, 1])) if len(np.unique(truth)) == 2 else 0.5


def _explained(truth: FloatArray, said: FloatArray) -> float:
    variation = float(np.sum((truth - truth.mean()) ** 2))
    error = float(np.sum((truth - said) ** 2))
    return 1 - error / variation if variation > 0 else 0.0
