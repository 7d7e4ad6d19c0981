"""AdaBoost for any learner: each round gives more weight to what the members so far get wrong.

In: a learner and starting weights. Out: members with their errors and their weights in the vote. A learner
fits one member to weighted rows and predicts the same rows; how it does so is its own business.

Classes (Freund and Schapire; SAMME of Zhu, Zou, Rosset and Hastie for K > 2): a member of weighted error
`err` gets `beta = learning_rate / 2 * (ln((1 - err) / err) + ln(K - 1))`; the weights of its mistakes are
multiplied by e^beta, those of its hits by e^-beta. Numbers (R2 of Drucker): the loss of a row is its distance
from the target relative to the largest one, and the prediction is the weighted median of the members.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.listen import Listener
from hornbeam.sums import sum_in_any_order

__all__ = [
    "Boosted",
    "ClassLearner",
    "Losses",
    "NumberLearner",
    "Rounds",
    "StopReason",
    "boost_classes",
    "boost_numbers",
    "starting_weights",
    "votes_of",
    "weighted_median",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
StopReason = Literal["n_estimators", "no_error", "no_better_than_chance", "time_budget"]
Losses = Literal["linear", "square", "exponential"]

_log = logging.getLogger("hornbeam")

# An error equal to chance on paper may be a few bits smaller.
_ROUNDING = 2.0**-40
# If the largest weight is below this, weights are rescaled before their mean is set to 1.
_SMALLEST_USUAL = 2.0**-900


class ClassLearner(Protocol):
    """Fits members that predict classes."""

    def fit(self, weights: FloatArray, member: int) -> tuple[Any, BoolArray]:
        """Fit member number `member`; return it, and for each row whether it is wrong."""


class NumberLearner(Protocol):
    """Fits members that predict numbers."""

    def fit(self, weights: FloatArray, member: int) -> tuple[Any, FloatArray]:
        """Fit member number `member`; return it, and what it predicts for each row."""


@dataclass(frozen=True)
class Rounds:
    """The largest number of rounds, and what each of them does.

    `key` is that of the fit's random draws. With `resample` a learner gets as weights how often each row was
    drawn. The first round always runs, others while there is time on the `clock`.
    """

    n_rounds: int
    learning_rate: float = 1.0
    resample: bool = False
    keep_weights: bool = False
    key: int = 0
    clock: Clock = field(default_factory=lambda: Clock(None))


@dataclass
class Boosted:
    """The result of the rounds; all lists have an entry per member."""

    members: list[Any] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    sample_weights: list[FloatArray] = field(default_factory=list)
    stop_reason: StopReason = "n_estimators"

    def _add(self, member: Any, error: float, weight: float, sample_weights: FloatArray | None) -> None:
        self.members.append(member)
        self.errors.append(error)
        self.weights.append(weight)
        if sample_weights is not None:
            shares = sample_weights / len(sample_weights)
            self.sample_weights.append(
                np.minimum(shares, 1.0)
            )  # a row that has all the weight may round above it

    def _stop(self, reason: StopReason, says: str) -> None:
        self.stop_reason = reason
        _log.info("AdaBoost stops after %d member(s): %s", len(self.members), says)

    def _is_out_of_time(self, rounds: Rounds) -> bool:
        if not self.members or rounds.clock.left > 0:
            return False
        self._stop("time_budget", "the time is up.")
        return True


def starting_weights(weights: FloatArray | None, n_rows: int) -> FloatArray:
    """Scale the weights of rows to mean 1, so that a plain fit and the first round see the same weights."""
    if weights is None:
        return np.ones(n_rows)
    return _with_mean_one(weights / weights.max())  # their sum might be too large for a float


def _with_mean_one(weights: FloatArray) -> FloatArray:
    largest = weights.max()
    if 0 < largest < _SMALLEST_USUAL:  # the factor would be infinite
        weights = np.ldexp(weights, -int(np.frexp(largest)[1]))
    scaled: FloatArray = weights * (len(weights) / sum_in_any_order(weights))
    return scaled


def _confidence(error: float) -> float:
    """Return ln((1 - error) / error), even if the quotient overflows."""
    quotient = (1 - error) / error
    return math.log(quotient) if math.isfinite(quotient) else -math.log(error)


def _drawn_by(weights: FloatArray, rounds: Rounds, member: int) -> FloatArray:
    """Draw rows with replacement, in proportion to their weights; return how often each was drawn."""
    # The other half of the member's key is the seed of its own draws.
    generator = np.random.RandomState(int(_core.member_keys(rounds.key, member, 1)[0]) & 0xFFFFFFFF)
    ends = np.cumsum(weights)
    drawn = np.searchsorted(ends / ends[-1], generator.random_sample(len(weights)), side="right")
    return np.bincount(drawn, minlength=len(weights)).astype(np.float64)


# ------------------------------------------------------------------------------------------------------------
# Classes


def boost_classes(
    learner: ClassLearner, weights: FloatArray, n_classes: int, rounds: Rounds, listener: Listener
) -> Boosted:
    """Boost members that predict classes; `weights` have mean 1.

    Stops when a member makes no mistake: it then decides alone, and its weight is infinite. Stops when a
    member is no better than chance, and drops it. If that is the first member it is kept, with weight 0.
    """
    boosted = Boosted()
    chance = 1 - 1 / n_classes
    listener.expect(rounds.n_rounds)
    for number in range(rounds.n_rounds):
        if boosted._is_out_of_time(rounds):
            break
        given = _drawn_by(weights, rounds, number) if rounds.resample else weights
        member, wrong = learner.fit(given, number)
        error = float(sum_in_any_order(weights * wrong) / len(weights))
        kept = weights if rounds.keep_weights else None
        if error == 0:
            boosted._add(member, error, math.inf, kept)
            boosted._stop("no_error", "the last one makes no mistake and decides alone.")
            break
        if error >= chance - _ROUNDING:
            if not boosted.members:
                boosted._add(member, error, 0.0, kept)
            boosted._stop("no_better_than_chance", f"the next has a weighted error of {error:.4g}.")
            break
        beta = rounds.learning_rate / 2 * (_confidence(error) + math.log(n_classes - 1))
        boosted._add(member, error, beta, kept)
        # Times e^beta and e^-beta, up to a factor that normalising removes; this way nothing overflows. e^(-2
        # beta) is below 1. Choosing by `np.where` would take ten times as long.
        weights = _with_mean_one(weights * np.maximum(wrong, math.exp(-2 * beta)))
        listener.done(number + 1)
    return boosted


def votes_of(weights: npt.ArrayLike) -> FloatArray:
    """Return the weights to vote with: a member that makes no mistake decides alone."""
    votes = np.array(weights, dtype=np.float64)
    return np.where(np.isinf(votes), 1.0, 0.0) if np.isinf(votes).any() else votes


# ------------------------------------------------------------------------------------------------------------
# Numbers

_LOSSES: dict[Losses, Callable[[FloatArray], FloatArray]] = {
    "linear": lambda distance: distance,
    "square": np.square,
    "exponential": lambda distance: -np.expm1(-distance),
}


def boost_numbers(
    learner: NumberLearner,
    weights: FloatArray,
    targets: FloatArray,
    rounds: Rounds,
    listener: Listener,
    *,
    loss: Losses,
) -> Boosted:
    """Boost members that predict numbers; `weights` have mean 1. Stops as `boost_classes` does, at 1/2."""
    boosted = Boosted()
    listener.expect(rounds.n_rounds)
    for number in range(rounds.n_rounds):
        if boosted._is_out_of_time(rounds):
            break
        given = _drawn_by(weights, rounds, number) if rounds.resample else weights
        member, predictions = learner.fit(given, number)
        kept = weights if rounds.keep_weights else None
        distance = np.abs(predictions / 2 - targets / 2)  # halved, because a difference might overflow
        farthest = distance[weights > 0].max()
        if farthest == 0:
            boosted._add(member, 0.0, math.inf, kept)
            boosted._stop("no_error", "the last one is exact and decides alone.")
            break
        losses = _LOSSES[loss](np.minimum(distance / farthest, 1.0))
        error = float(sum_in_any_order(weights * losses) / len(weights))
        if error >= 0.5 - _ROUNDING:
            if not boosted.members:
                boosted._add(member, error, 0.0, kept)
            boosted._stop("no_better_than_chance", f"the next has an average loss of {error:.4g}.")
            break
        confidence = _confidence(error)
        boosted._add(member, error, rounds.learning_rate * confidence, kept)
        # Drucker's beta to the power of (1 - loss), up to a factor that normalising removes.
        weights = _with_mean_one(
            weights * np.exp(rounds.learning_rate * confidence * (losses - losses.max()))
        )
        listener.done(number + 1)
    return boosted


def weighted_median(predictions: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted median of each row of rows x members: the lower one of two."""
    order = np.argsort(predictions, axis=1, kind="stable")
    below = np.cumsum(weights[order], axis=1)
    middle = np.argmax(below >= 0.5 * below[:, -1:], axis=1)
    rows = np.arange(len(predictions))
    median: FloatArray = predictions[rows, order[rows, middle]]
    return median
