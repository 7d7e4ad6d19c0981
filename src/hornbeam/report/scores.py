"""How good the answers are, beside those of a guess that needs no model, with error bars.

The guess is the most frequent class with the proportions of the classes, or the mean. Error bars come from
drawing rows with replacement: what other rows of the same kind would have given. The metrics are those of
`hb.compare`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam.selection.metrics import Answers, Metric, Truth, chosen_metrics
from hornbeam.selection.score_errors import draw_counts

__all__ = ["Contest", "Score", "Scores", "score_classes", "score_numbers"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

N_DRAWS = 500
MOST_ROWS_DRAWN = (
    5_000  # of more rows a part is drawn from: the error bars of all are narrower by a known factor
)


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
class Contest:
    """The right answers, the model's and the guess's; and the model's on the rows of its fit, if known."""

    truth: Truth
    model: Answers
    guess: Answers
    fit: tuple[Truth, Answers] | None

    def take(self, rows: IntArray) -> "Contest":
        """Keep some rows."""
        truth = Truth(self.truth.y[rows], self.truth.classes)
        return Contest(truth, _some(self.model, rows), _some(self.guess, rows), None)


def _some(answers: Answers, rows: IntArray) -> Answers:
    return Answers(
        answers.labels[rows], None if answers.probabilities is None else answers.probabilities[rows]
    )


def score_classes(contest: Contest, *, seed: int) -> tuple[Score, ...]:
    """Score numbers of classes, of which the model knows the first ones."""
    y, n_known = (
        contest.truth.y,
        len(contest.guess.probabilities[0]) if contest.guess.probabilities is not None else 0,
    )
    metrics = chosen_metrics("classification", len(np.unique(y)), None)
    if contest.model.probabilities is None or len(np.unique(y)) != n_known or y.max() >= n_known:
        # A class that the model does not know has no share, and one without rows has no rank.
        metrics = [metric for metric in metrics if not metric.needs_probabilities]
    return _scores(metrics, contest, seed)


def score_numbers(contest: Contest, *, seed: int) -> tuple[Score, ...]:
    """Score numbers; R2, the share of the variance of the rows that the answers explain, comes first."""
    varies = np.ptp(contest.truth.y) > 0
    metrics = chosen_metrics("regression", 0, "R2" if varies else None)
    return _scores([metric for metric in metrics if varies or metric.name != "R2"], contest, seed)


def _scores(metrics: list[Metric], contest: Contest, seed: int) -> tuple[Score, ...]:
    n_rows = len(contest.truth.y)
    generator = np.random.default_rng(seed)
    drawn = np.arange(n_rows)
    if n_rows > MOST_ROWS_DRAWN:
        drawn = generator.choice(n_rows, MOST_ROWS_DRAWN, replace=False)
    # The first line is the drawn rows as they are, the others are samples of them.
    counts = np.concatenate([np.ones((1, len(drawn))), draw_counts(generator, len(drawn), N_DRAWS)])
    return tuple(_score(metric, contest, contest.take(drawn), counts) for metric in metrics)


def _score(metric: Metric, contest: Contest, drawn: Contest, counts: FloatArray) -> Score:
    on_samples = metric.on_samples(drawn.truth, drawn.model, counts)
    gains = metric.sign() * (on_samples - metric.on_samples(drawn.truth, drawn.guess, counts))
    model, baseline = metric.of(contest.truth, contest.model), metric.of(contest.truth, contest.guess)
    gain = metric.sign() * (model - baseline)
    shrink = float(np.sqrt(len(drawn.truth.y) / len(contest.truth.y)))
    low, high, error = _spread(on_samples, shrink)
    gain_low, gain_high, _ = _spread(gains, shrink)
    return Score(
        name=metric.name.replace("R2", "R²"),
        more_is_better=metric.greater_is_better,
        model=model,
        low=model + low,
        high=model + high,
        standard_error=error,
        baseline=baseline,
        gain=gain,
        gain_low=gain + gain_low,
        gain_high=gain + gain_high,
        training=None if contest.fit is None else metric.of(*contest.fit),
    )


def _spread(values: FloatArray, shrink: float) -> tuple[float, float, float]:
    """Return how far the 95 % interval reaches below and above the first value, and the standard error."""
    samples = values[1:][~np.isnan(values[1:])]
    if len(samples) < 2:
        return 0.0, 0.0, 0.0
    low, high = np.quantile(samples, [0.025, 0.975]) - values[0]
    return float(shrink * low), float(shrink * high), float(shrink * samples.std(ddof=1))
