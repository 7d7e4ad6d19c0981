"""The losses of gradient boosting as Python sees them: targets, where scores start, what a score means.

The core has the derivatives of the losses of this library (cpp/boost/losses.h, with the formulas). Here is
the rest of each: `check` refuses targets it cannot take, `baseline` is the best constant score, `row_losses`
is the loss itself, `answers` turns scores into predictions. Arrays of scores are rows x scores; y has a
number per row, or the code of its class. A loss of the user's own is an object with a method
`gradient_hessian`; `OwnLoss` calls it and checks what it returns.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit, log_softmax, logit, softmax

from hornbeam.data.wording import shown

__all__ = ["LOSSES", "Loss", "OwnLoss", "OwnLossError", "named_loss"]

FloatArray = npt.NDArray[np.float64]
Link = Literal["identity", "exp", "logistic", "softmax"]

# A class without weight has a prior of 0, and log 0 cannot be a score; it gets this prior instead.
_LEAST_PRIOR = 1e-12
_LARGEST_TARGET = 2.0**90  # of losses whose targets go into the core unscaled, in float32


class OwnLossError(ValueError):
    """A loss of the user's own returned something that boosting cannot use."""


@dataclass(frozen=True)
class Loss:
    """What the losses share; `parameter` is alpha or the power, for those that have one."""

    parameter: float = 0.0
    n_scores: int = 1

    name: ClassVar[str] = ""
    # How a prediction follows from a score, and the factor on the score before that.
    link: ClassVar[Link] = "identity"
    factor: ClassVar[float] = 1.0
    # The unit of scores, in words.
    unit_of_scores: ClassVar[str] = ""
    # Whether it depends only on y - score, so that scores can be shifted by shifting the targets.
    is_of_differences: ClassVar[bool] = False
    # Whether its derivatives grow exponentially with the score and may overflow.
    is_steep: ClassVar[bool] = False

    def check(self, y: FloatArray) -> None:
        """Raise ValueError for a target that the loss cannot take."""

    def check_offset(self, offset: FloatArray | None, name: str = "offset") -> None:
        """Raise ValueError for starting scores at which the loss overflows."""
        most = np.log(_LARGEST_TARGET) if self.is_steep else _LARGEST_TARGET
        beyond = False if offset is None else (np.abs(offset) > most).any(axis=1)
        if offset is not None and np.any(beyond):
            row = int(np.argmax(beyond))
            counted = f", which counts {self.unit_of_scores}" if self.link == "exp" else ""
            raise ValueError(
                f"{name} is too large: row {row} holds {shown(offset[row].tolist())}, and loss={self.name!r} "
                f"takes at most {most:.3g} either way. It is added to the score of the row{counted}."
            )

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        """Return the best constant, one per score, to be added to the offset."""
        raise NotImplementedError

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Return the loss of each row."""
        raise NotImplementedError

    def mean(self, y: FloatArray, scores: FloatArray, weights: FloatArray | None) -> float:
        """Return the weighted mean of the loss."""
        return float(np.average(self.row_losses(y, scores), weights=weights))

    def answers(self, scores: FloatArray) -> FloatArray:
        """Turn scores into predictions: numbers, or a share for each class."""
        return scores[:, 0]


# --- Losses of y - score ---------------------------------------------------------------------------------


class _DifferenceLoss(Loss):
    unit_of_scores: ClassVar[str] = "in units of the target"
    is_of_differences: ClassVar[bool] = True

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        rest = y if offset is None else y - offset[:, 0]
        return np.array([self._centre(rest, weights)])

    def _centre(self, rest: FloatArray, weights: FloatArray | None) -> float:
        return weighted_quantile(rest, weights, 0.5)


class SquaredError(_DifferenceLoss):
    """Half the squared difference: least-squares boosting."""

    name: ClassVar[str] = "squared_error"

    def _centre(self, rest: FloatArray, weights: FloatArray | None) -> float:
        return float(np.average(rest, weights=weights))

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return (y - scores[:, 0]) ** 2 / 2


class AbsoluteError(_DifferenceLoss):
    """The absolute difference: medians."""

    name: ClassVar[str] = "absolute_error"

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return np.abs(y - scores[:, 0])


class Huber(_DifferenceLoss):
    """Squared up to delta, linear beyond; delta is the alpha-quantile of the differences in each round."""

    name: ClassVar[str] = "huber"

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        sizes = np.abs(y - scores[:, 0])
        delta = weighted_quantile(sizes, None, self.parameter)
        return np.where(sizes <= delta, sizes**2 / 2, delta * (sizes - delta / 2))


class Quantile(_DifferenceLoss):
    """The pinball loss, whose best constant is the alpha-quantile."""

    name: ClassVar[str] = "quantile"

    def _centre(self, rest: FloatArray, weights: FloatArray | None) -> float:
        return weighted_quantile(rest, weights, self.parameter)

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        rest = y - scores[:, 0]
        return np.maximum(self.parameter * rest, (self.parameter - 1) * rest)


# --- Losses of targets that are not negative: the prediction is e^score ----------------------------------


class _LogLinkLoss(Loss):
    link: ClassVar[Link] = "exp"
    unit_of_scores: ClassVar[str] = "logarithms of what is predicted"
    zero_allowed: ClassVar[bool] = True
    is_steep: ClassVar[bool] = True

    def check(self, y: FloatArray) -> None:
        allowed = y >= 0 if self.zero_allowed else y > 0
        limit = ">= 0" if self.zero_allowed else "> 0"
        if not allowed.all():
            row = int(np.argmin(allowed))
            raise ValueError(
                f"Some value(s) of y are not allowed for loss={self.name!r}, which takes targets {limit}: "
                f"row {row} holds {y[row]}. Use another loss, or drop such rows."
            )
        beyond = (y > _LARGEST_TARGET) | ((y > 0) & (y < 1 / _LARGEST_TARGET))
        if beyond.any():
            row = int(np.argmax(beyond))
            raise ValueError(
                f"y is too large or too small for loss={self.name!r}: row {row} holds {y[row]}. Count in "
                "other units."
            )
        if not y.any():
            raise ValueError(
                f"Sum of y is not positive which is necessary for loss={self.name!r}: every target is 0."
            )

    def answers(self, scores: FloatArray) -> FloatArray:
        return np.exp(scores[:, 0])


class Poisson(_LogLinkLoss):
    """Half the Poisson deviance, but for what depends on y alone."""

    name: ClassVar[str] = "poisson"

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        exposure = 0.0 if offset is None else _log_mean_exp(offset[:, 0], weights)
        return np.log([np.average(y, weights=weights)]) - exposure

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return np.exp(scores[:, 0]) - y * scores[:, 0]


class Gamma(_LogLinkLoss):
    """Half the gamma deviance, but for what depends on y alone."""

    name: ClassVar[str] = "gamma"
    zero_allowed: ClassVar[bool] = False

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        given = 0.0 if offset is None else offset[:, 0]
        return np.array([_log_mean_exp(np.log(y) - given, weights)])

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return scores[:, 0] + y * np.exp(-scores[:, 0])


class Tweedie(_LogLinkLoss):
    """Half the Tweedie deviance of a power between 1 and 2, but for what depends on y alone."""

    name: ClassVar[str] = "tweedie"

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        power = self.parameter
        given = np.zeros(len(y)) if offset is None else offset[:, 0]
        shares = y if weights is None else y * weights
        claims = _log_mean_exp((1 - power) * given, shares) + np.log(np.average(y, weights=weights))
        return np.array([claims - _log_mean_exp((2 - power) * given, weights)])

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        power, score = self.parameter, scores[:, 0]
        return np.exp((2 - power) * score) / (2 - power) - y * np.exp((1 - power) * score) / (1 - power)


# --- Losses of classes -----------------------------------------------------------------------------------


class LogLoss(Loss):
    """Minus the logarithm of the probability of the class, of two; the score is the logit of the second."""

    name: ClassVar[str] = "log_loss"
    link: ClassVar[Link] = "logistic"
    unit_of_scores: ClassVar[str] = "log-odds of {likelier}"

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        share = _within_priors(np.average(y, weights=weights))
        if offset is None:
            return np.array([logit(share)])
        from scipy.optimize import brentq  # noqa: PLC0415 - slow to import, and seldom needed

        # The constant that makes the mean probability right lies between those for the extreme offsets.
        given = offset[:, 0]

        def surplus(constant: float) -> float:
            return float(np.average(expit(given + constant) - share, weights=weights))

        least, most = float(logit(share) - given.max()), float(logit(share) - given.min())
        if not surplus(least) < 0 < surplus(most):
            return np.array([least])
        return np.array([brentq(surplus, least, most)])

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return np.logaddexp(0.0, scores[:, 0]) - y * scores[:, 0]

    def answers(self, scores: FloatArray) -> FloatArray:
        share = expit(scores[:, 0])
        return np.stack([1 - share, share], axis=1)


class Exponential(Loss):
    """e^(-score) for the second class, e^score for the first: AdaBoost's; the score is half the logit."""

    name: ClassVar[str] = "exponential"
    link: ClassVar[Link] = "logistic"
    factor: ClassVar[float] = 2.0
    unit_of_scores: ClassVar[str] = "half the log-odds of {likelier}"
    is_steep: ClassVar[bool] = True

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        logit_of_share: float = logit(_within_priors(np.average(y, weights=weights)))
        if offset is None or not 0 < np.average(y, weights=weights) < 1:
            return np.array([0.5 * logit_of_share])
        weights = np.ones(len(y)) if weights is None else weights
        second = _log_mean_exp(-offset[:, 0], weights * y)
        first = _log_mean_exp(offset[:, 0], weights * (1 - y))
        return np.array([0.5 * (logit_of_share + second - first)])

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return np.exp(np.where(y > 0, -scores[:, 0], scores[:, 0]))

    def answers(self, scores: FloatArray) -> FloatArray:
        share = expit(2 * scores[:, 0])
        return np.stack([1 - share, share], axis=1)


class Softmax(Loss):
    """Minus the logarithm of the probability of the class, of three or more; one score per class."""

    name: ClassVar[str] = "softmax"
    link: ClassVar[Link] = "softmax"
    unit_of_scores: ClassVar[str] = "logarithms of the shares, up to a number that all classes have in common"

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        totals = np.bincount(y.astype(np.int64), weights=weights, minlength=self.n_scores)
        priors = np.log(_within_priors(totals / totals.sum()))
        # With an offset there is no closed form; starting from its mean is close enough.
        centre: Any = 0.0 if offset is None else np.average(offset, axis=0, weights=weights)
        constants: FloatArray = priors - centre
        return constants

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        rows = np.arange(len(y))
        losses: FloatArray = -log_softmax(scores, axis=1)[rows, y.astype(np.int64)]
        return losses

    def answers(self, scores: FloatArray) -> FloatArray:
        probabilities: FloatArray = softmax(scores, axis=1)
        return probabilities


class OnlyClass(Loss):
    """There is only one class: nothing to learn, and its probability is 1."""

    name: ClassVar[str] = "only_class"

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        return np.zeros(1)

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return np.zeros(len(y))

    def answers(self, scores: FloatArray) -> FloatArray:
        return np.ones((len(scores), 1))


# --- A loss of the user's own ----------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnLoss(Loss):
    """Wraps a user's object.

    It has a method `gradient_hessian(y, score)` that returns the first and second derivatives of the loss by
    the score, arrays of the shape of the score: one number per row, or rows x classes for three classes or
    more. It may have `baseline(y, sample_weight)`, the constant that scores start from (else 0);
    `loss(y, score, sample_weight)`, a number, needed to stop early by the loss; and `answers(score)`, the
    predictions that scores stand for (else the score itself for numbers, the logistic function of it for
    classes). Classes are numbered from 0 in y.
    """

    given: Any = None
    n_classes: int = 0

    name: ClassVar[str] = "own"

    def derivatives(self, y: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ask for derivatives, rows x scores; raise OwnLossError if they cannot be used."""
        try:
            pair = self.given.gradient_hessian(y, self._shaped(scores))
        except (ValueError, IndexError, TypeError) as error:
            if self.n_scores == 1 or type(error) not in (ValueError, IndexError, TypeError):
                raise
            raise OwnLossError(  # typical of a loss written for numbers or two classes
                f"loss: gradient_hessian raised {type(error).__name__} ({str(error).strip()}). y has "
                f"{self.n_scores} classes, so its score has a column for each, {scores.shape}, and y is the "
                f"number of each row's class, {y.shape}. Both derivatives must have the shape of the score."
            ) from error
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise OwnLossError(
                f"loss: gradient_hessian must return two arrays, gradient and hessian; got {shown(pair)}."
            )
        gradient, hessian = (
            self._checked(array, what, scores)
            for array, what in zip(pair, ("gradient", "hessian"), strict=True)
        )
        if not hessian.any(axis=0).all():
            raise OwnLossError("loss: the hessian of every row is 0; it must be above 0 somewhere.")
        if hessian.min() < 0:
            row = int(np.argmin(hessian.min(axis=1)))
            raise OwnLossError(
                f"loss: the hessian of row {row} is {hessian[row].min()}; it must not be negative. Where the "
                "loss is concave, give the absolute value or a small constant instead."
            )
        return gradient, hessian

    def _shaped(self, scores: FloatArray) -> FloatArray:
        return scores[:, 0] if self.n_scores == 1 else scores

    def _checked(self, array: Any, what: str, scores: FloatArray) -> FloatArray:
        expected = self._shaped(scores).shape
        numbers = np.asarray(array, dtype=np.float64)
        if numbers.shape != expected:
            raise OwnLossError(f"loss: the {what} has shape {numbers.shape}; the score has {expected}.")
        numbers = numbers.reshape(scores.shape)
        with np.errstate(over="ignore"):
            fits = np.isfinite(numbers.astype(np.float32)).all(axis=1)
        if not fits.all():
            row = int(np.argmin(fits))
            raise OwnLossError(
                f"loss: the {what} of row {row} is {numbers[row].tolist()}, not a finite number of float32."
            )
        return numbers

    def slopes(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        """Ask for the first derivatives only, rows x scores, unchecked: scores may be far away."""
        gradient = self.given.gradient_hessian(y, self._shaped(scores))[0]
        return np.asarray(gradient, dtype=np.float64).reshape(scores.shape)

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        """Ask for the constant; 0 if there is an offset, which is a starting score already."""
        if offset is not None or not hasattr(self.given, "baseline"):
            return np.zeros(self.n_scores)
        constants = np.atleast_1d(np.asarray(self.given.baseline(y, weights), dtype=np.float64))
        if constants.shape != (self.n_scores,) or not np.isfinite(constants).all():
            raise OwnLossError(
                f"loss: baseline must return {self.n_scores} finite number(s); got {constants.tolist()}."
            )
        return constants

    @property
    def has_value(self) -> bool:
        """Whether the loss itself is known, and not only its derivatives."""
        return hasattr(self.given, "loss")

    def mean(self, y: FloatArray, scores: FloatArray, weights: FloatArray | None) -> float:
        """Ask for the loss."""
        value = np.asarray(self.given.loss(y, self._shaped(scores), weights), dtype=np.float64)
        if value.size != 1:
            raise OwnLossError(
                f"loss: the method loss returned an array of shape {value.shape}; it must return one number, "
                "the mean over the rows."
            )
        if np.isnan(value).any():
            raise OwnLossError("loss: the method loss returned NaN.")
        return float(value.item())

    def answers(self, scores: FloatArray) -> FloatArray:
        """Ask for the predictions that scores stand for."""
        if hasattr(self.given, "answers"):
            found = np.asarray(self.given.answers(self._shaped(scores)), dtype=np.float64)
            expected = (len(scores), self.n_classes) if self.n_classes else (len(scores),)
            if found.shape != expected:
                kind = "a share for each row and class" if self.n_classes else "a number for each row"
                raise OwnLossError(
                    f"loss: answers must return {kind}, {expected}; it returned an array of shape "
                    f"{found.shape}."
                )
            return found
        if not self.n_classes:
            return scores[:, 0]
        plain = LogLoss() if self.n_scores == 1 else Softmax()
        return plain.answers(scores)


# ------------------------------------------------------------------------------------------------------------

_NAMED: tuple[type[Loss], ...] = (
    SquaredError,
    AbsoluteError,
    Huber,
    Quantile,
    Poisson,
    Gamma,
    Tweedie,
    LogLoss,
    Exponential,
    Softmax,
    OnlyClass,
)
LOSSES = {loss.name: loss for loss in _NAMED}


def named_loss(name: str, *, parameter: float = 0.0, n_scores: int = 1) -> Loss:
    """Return a loss of this library."""
    return LOSSES[name](parameter, n_scores)


def weighted_quantile(values: FloatArray, weights: FloatArray | None, alpha: float) -> float:
    """Return the value below which lies a share `alpha` of the weight; halfway where it is between two."""
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(np.ones(len(values)) if weights is None else weights[order])
    wanted = alpha * sums[-1]
    place = min(int(np.searchsorted(sums, wanted, side="right")), len(values) - 1)
    upper = float(values[order[place]])
    if place > 0 and sums[place - 1] == wanted:
        return (float(values[order[place - 1]]) + upper) / 2
    return upper


def _log_mean_exp(exponents: FloatArray, weights: FloatArray | None) -> float:
    """Return the logarithm of the weighted mean of e^exponent, however large these are."""
    most = exponents.max()
    return float(most + np.log(np.average(np.exp(exponents - most), weights=weights)))


def _within_priors(shares: Any) -> Any:
    return np.clip(shares, _LEAST_PRIOR, 1 - _LEAST_PRIOR)
