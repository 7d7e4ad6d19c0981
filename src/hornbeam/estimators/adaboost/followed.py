"""The rounds of AdaBoost replayed in numbers: weights of rows, errors, weights in the vote, loss and margins.

A fit keeps little of its rounds. All of it follows from the members, the rows and their labels.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["RoundByRound", "round_by_round"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RoundByRound:
    """What happened in each round, for the rows of the fit.

    `weights` has one row more than there are rounds: the weights before each, and those after the last.
    `wrong` marks mistakes, rounds x rows, `errors` is the weighted error and `alpha` the weight of each
    member in the vote. `training_error` is that of the vote so far, `loss` its mean exponential loss, `bound`
    the product of 2 sqrt(error (1 - error)), an upper bound of both. `margins`, rounds x rows, are the share
    of the vote for the right class minus the largest share for a wrong one.
    """

    weights: FloatArray = field(repr=False)
    wrong: npt.NDArray[np.bool_] = field(repr=False)
    errors: FloatArray
    alpha: FloatArray
    training_error: FloatArray
    loss: FloatArray = field(repr=False)
    bound: FloatArray = field(repr=False)
    margins: FloatArray = field(repr=False)
    normalised: bool = True

    @property
    def n_rounds(self) -> int:
        """Number of rounds."""
        return len(self.errors)


def round_by_round(
    model: Any, votes: npt.NDArray[Any], y: npt.NDArray[Any], *, normalised: bool
) -> RoundByRound:
    """Follow the rounds of a model whose members have cast `votes`: rounds x rows."""
    classes = model.classes_
    if votes.shape[1] != len(y):
        raise ValueError(f"y has {len(y)} entries, but X has {votes.shape[1]} rows.")
    if not np.isin(y, classes).all():
        raise ValueError(f"y has labels that the fit did not know; its classes are {classes.tolist()}.")
    wrong = votes != y
    beta = np.asarray(model.estimator_weights_, dtype=np.float64)
    counted = np.where(np.isinf(beta), 0.0, beta)  # a member without error decides alone, at the end
    weights = _weights(model, wrong, counted, normalised=normalised)
    shares = weights[:-1] / weights[:-1].sum(axis=1, keepdims=True)
    errors = (shares * wrong).sum(axis=1)
    for_class = np.stack(
        [np.cumsum((votes == label) * counted[:, None], axis=0) for label in classes], axis=2
    )
    right = np.take_along_axis(for_class, np.searchsorted(classes, y)[None, :, None], axis=2)[:, :, 0]
    others = np.where(classes[None, None, :] == y[None, :, None], -np.inf, for_class).max(axis=2)
    others = np.where(np.isinf(others), 0.0, others)  # for a single class
    said = np.maximum(np.cumsum(counted), np.finfo(float).tiny)[:, None]
    answers = classes[np.argmax(for_class, axis=2)]
    is_last_certain = bool(np.isinf(beta[-1]))
    if is_last_certain:
        answers[-1] = votes[-1]
    training_error = (answers != y).mean(axis=1)
    with np.errstate(over="ignore"):  # infinite, for absurdly large learning rates
        loss = np.exp(others - right).mean(axis=1)
    bound = np.cumprod(2 * np.sqrt(np.clip(errors * (1 - errors), 0.0, None)))
    margins = (right - others) / said
    if is_last_certain:
        loss[-1], margins[-1] = 0.0, np.where(wrong[-1], -1.0, 1.0)
    return RoundByRound(
        weights=weights,
        wrong=wrong,
        errors=errors,
        alpha=beta if normalised else 2 * beta,
        training_error=training_error,
        loss=loss,
        bound=bound,
        margins=margins,
        normalised=normalised,
    )


def _weights(model: Any, wrong: npt.NDArray[np.bool_], beta: FloatArray, *, normalised: bool) -> FloatArray:
    """Return the weights before each round and after the last: rounds + 1 x rows."""
    start = np.ones(wrong.shape[1])
    if hasattr(model, "sample_weights_"):  # those that the fit began with, if it has kept them
        start = model.sample_weights_[0] * wrong.shape[1]
    # Up to a factor, e^beta for mistakes and e^-beta for hits is the same as e^(2 beta) for mistakes.
    logarithms = np.concatenate([np.zeros((1, len(start))), np.cumsum(2 * beta[:, None] * wrong, axis=0)])
    if not normalised:
        with np.errstate(over="ignore"):
            return np.asarray(start * np.exp(logarithms))
    weights = start * np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
