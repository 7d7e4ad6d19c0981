"""Boosting as lectures introduce it: any learner, any loss, and a line search for each member's factor.

h_t = h_(t-1) + beta_t f_t. A round fits the learner to what lowers the loss fastest (the negative slopes, as
targets of a regressor or as weighted labels of a classifier), then takes the beta_t >= 0 of least loss. Under
squared error that is least-squares boosting, under the exponential loss AdaBoost. For larger tables use
`GradientBoosting*` and `AdaBoost*`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from hornbeam.params import resolve_random_key
from hornbeam.recipes.members import seeds_of, with_seed

__all__ = ["BoostedByLineSearch", "boost_by_line_search"]

FloatArray = npt.NDArray[np.float64]
Losses = Literal["squared", "absolute", "exponential", "logistic"]

# A larger factor separates the classes completely; the loss then hardly changes.
_LARGEST_BETA = 1024.0


@dataclass(frozen=True)
class _Loss:
    """The loss of each row, and its slope by the score; classes are -1 and 1."""

    of: Callable[[FloatArray, FloatArray], FloatArray]
    slope: Callable[[FloatArray, FloatArray], FloatArray]
    of_classes: bool = False


_LOSSES = {
    "squared": _Loss(lambda y, h: (h - y) ** 2, lambda y, h: 2 * (h - y)),
    "absolute": _Loss(lambda y, h: np.abs(h - y), lambda y, h: np.sign(h - y)),
    "exponential": _Loss(lambda y, h: np.exp(-y * h), lambda y, h: -y * np.exp(-y * h), of_classes=True),
    "logistic": _Loss(
        lambda y, h: np.logaddexp(0.0, -y * h), lambda y, h: -y / (1 + np.exp(y * h)), of_classes=True
    ),
}


@dataclass(frozen=True)
class BoostedByLineSearch:
    """The sum of `betas` times `members`.

    `losses` has the mean loss of the training rows before the first round and after each. `classes` are the
    two classes that the signs of the sum stand for, None for numbers.
    """

    members: tuple[Any, ...] = field(repr=False)
    betas: FloatArray
    losses: FloatArray
    loss: str
    classes: npt.NDArray[Any] | None = None

    def decision_function(self, X: Any, rounds: int | None = None) -> FloatArray:
        """Return h(x) after the given number of rounds, or after all."""
        total = np.zeros(len(X))
        for beta, member in zip(self.betas[:rounds], self.members[:rounds], strict=True):
            total += beta * _said(member, X, self.classes)
        return total

    def predict(self, X: Any, rounds: int | None = None) -> npt.NDArray[Any]:
        """Return h(x), or the class that its sign stands for."""
        total = self.decision_function(X, rounds)
        return total if self.classes is None else self.classes[(total > 0).astype(np.int64)]


def boost_by_line_search(
    estimator: Any, X: Any, y: Any, *, loss: Losses = "squared", n: int = 10, random_state: Any = None
) -> BoostedByLineSearch:
    """Boost any learner for `n` rounds, from h = 0, with the factor of least loss in each.

    "squared" and "absolute" take regressors; "exponential" and "logistic" two classes, and a classifier
    (whose fit takes sample_weight) or a regressor. It ends early where no factor above 0 lowers the loss.
    """
    if loss not in _LOSSES:
        raise ValueError(f"loss must be one of {', '.join(map(repr, _LOSSES))}; got {loss!r}.")
    chosen = _LOSSES[loss]
    target, classes = _read_target(y, chosen)
    votes = is_classifier(estimator)
    if votes and not chosen.of_classes:
        raise ValueError(f"loss={loss!r} is for numbers; {type(estimator).__name__} predicts classes.")
    if votes and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(f"{type(estimator).__name__} takes no sample_weight in fit; give a regressor.")
    score = np.zeros(len(target))
    members, betas, losses = [], [], [float(chosen.of(target, score).mean())]
    for seed in seeds_of(resolve_random_key(random_state), range(n)).tolist():
        slopes = chosen.slope(target, score)
        member = with_seed(clone(estimator), seed)
        if votes and classes is not None:
            weights = np.abs(slopes)
            member.fit(X, np.asarray(y), sample_weight=weights * (len(weights) / weights.sum()))
        else:
            member.fit(X, -slopes)
        said = _said(member, X, classes)
        beta, least = _least_loss(chosen, target, score, said)
        if not least < losses[-1]:
            break
        score += beta * said
        members.append(member)
        betas.append(beta)
        losses.append(least)
    return BoostedByLineSearch(tuple(members), np.array(betas), np.array(losses), loss, classes)


def _read_target(y: Any, loss: _Loss) -> tuple[FloatArray, npt.NDArray[Any] | None]:
    if not loss.of_classes:
        return np.asarray(y, dtype=np.float64), None
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"Losses of classes take two of them; y has {len(classes)}.")
    signs: FloatArray = np.where(codes > 0, 1.0, -1.0)
    return signs, classes


def _said(member: Any, X: Any, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Return what a member adds to the score: numbers, or -1 and 1."""
    answers = np.asarray(member.predict(X))
    if classes is not None and is_classifier(member):
        return np.where(answers == classes[1], 1.0, -1.0)
    return answers.astype(np.float64)


def _least_loss(loss: _Loss, y: FloatArray, score: FloatArray, said: FloatArray) -> tuple[float, float]:
    """Find the factor of least mean loss, and that loss; the loss is convex along the way."""
    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - slow to import

    def mean_loss(beta: float) -> float:
        with np.errstate(over="ignore"):
            return float(loss.of(y, score + beta * said).mean())

    upper = 1.0
    while upper < _LARGEST_BETA and mean_loss(2 * upper) < mean_loss(upper):
        upper *= 2
    found = minimize_scalar(mean_loss, bounds=(0.0, 2 * upper), method="bounded", options={"xatol": 1e-10})
    return float(found.x), float(found.fun)
