"""Weights of a blend: the weighted mean of members that best predicts rows they have not seen.

The weights are found greedily (Caruana et al. 2004): each step adds one member, perhaps again, such that the
mean of all added so far is best. Members that are never added have weight 0. This hardly overfits, since the
weights are few and coarse, and it leaves out useless members.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hornbeam.data.units import unit_of

__all__ = ["greedy_weights", "losses_of"]

FloatArray = npt.NDArray[np.float64]

_MOST_STEPS = 100
_LEAST_SHARE = 1e-6  # replaces a probability of 0 in logarithms


def losses_of(answers: FloatArray, codes: npt.NDArray[np.intp] | None, y: FloatArray) -> FloatArray:
    """Return the loss of each row: -ln of the share of its class, or the squared distance from its number."""
    if codes is None:
        squared: FloatArray = (answers[:, 0] - y) ** 2
        return squared
    return _log_loss(answers[np.arange(len(codes)), codes])


def greedy_weights(
    answers: Sequence[FloatArray],
    codes: npt.NDArray[np.intp] | None,
    y: FloatArray,
    row_weights: FloatArray | None = None,
) -> FloatArray:
    """Find weights that sum to 1; answers are rows x classes, or rows x 1 if `codes` is None."""
    n_rows = len(y)
    if codes is None:
        unit = unit_of(y)  # in which squares are finite
        y, answers = y / unit, [each / unit for each in answers]
    # Only the probability of the right class counts, so there is one number per row to average.
    by_member = [each[:, 0] if codes is None else each[np.arange(n_rows), codes] for each in answers]
    times = np.zeros(len(by_member))
    total = np.zeros(n_rows)
    best_loss, best = np.inf, times
    for step in range(1, _MOST_STEPS + 1):
        means = [(total + each) / step for each in by_member]
        losses = [
            np.average(_log_loss(mean) if codes is not None else (mean - y) ** 2, weights=row_weights)
            for mean in means
        ]
        added = int(np.argmin(losses))
        total += by_member[added]
        times[added] += 1
        if losses[added] < best_loss:
            best_loss, best = losses[added], times / step
    return best


def _log_loss(probabilities: FloatArray) -> FloatArray:
    loss: FloatArray = -np.log(np.clip(probabilities, _LEAST_SHARE, 1.0))
    return loss
