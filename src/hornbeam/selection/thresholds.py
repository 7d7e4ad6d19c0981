"""Thresholds for two classes: the probability from which on the second class is predicted.

The default of every classifier is one half, which is right if both mistakes cost the same. A threshold is
chosen by predictions for rows that the model has not seen: it maximises a metric, or minimises the cost of
mistakes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.declare.kinds import did_you_mean, joined, shown
from hornbeam.inside.words import named
from hornbeam.selection.metrics import Truth
from hornbeam.selection.trials import Trial

__all__ = ["Threshold", "chosen_threshold"]

FloatArray = npt.NDArray[np.float64]

_MOST_TRIED = 1000


@dataclass(frozen=True)
class Threshold:
    """The least share of the second class for which it is the answer, and why."""

    share: float
    sentence: str


def chosen_threshold(wanted: Any, truths: Sequence[Truth], trials: Sequence[Trial]) -> Threshold:
    """Choose by the answers of the folds: `wanted` is a number, a metric, or the price of missing a class."""
    classes = truths[0].classes
    if classes is None or len(classes) != 2:
        raise ValueError(
            f"threshold={shown(wanted)} is for two classes; y has {0 if classes is None else len(classes)}."
        )
    probabilities = [trial.answers.probabilities for trial in trials]
    known = [each for each in probabilities if each is not None]
    if len(known) < len(probabilities):
        raise ValueError("threshold: the winner gives no class probabilities to compare with a threshold.")
    share = np.concatenate(known)[:, 1]
    second = np.concatenate([truth.y for truth in truths]) == classes[1]
    label = named(str(classes[1]))
    if isinstance(wanted, int | float | np.number) and not isinstance(wanted, bool):
        if not 0 <= float(wanted) <= 1:
            raise ValueError(f"threshold={shown(wanted)}: a share lies between 0 and 1.")
        return Threshold(
            float(wanted), f"It answers {label} from a share of {float(wanted):.3g} on, as given."
        )
    if isinstance(wanted, Mapping):
        return _cheapest(wanted, classes.tolist(), share, second, label)
    return _best_by_metric(str(wanted), share, second, label)


def _tried(share: FloatArray) -> FloatArray:
    """List thresholds that differ in their answers, a thousand at most."""
    distinct = np.unique(share)
    if len(distinct) > _MOST_TRIED:
        distinct = np.unique(np.quantile(share, np.linspace(0, 1, _MOST_TRIED), method="nearest"))
    return np.append(distinct, np.nextafter(1.0, 2.0))  # the last says the first class to all


@dataclass(frozen=True, eq=False)
class _Counts:
    """How the answers of each threshold meet the truth."""

    hits: FloatArray
    false_alarms: FloatArray
    misses: FloatArray
    quiet: FloatArray


def _counts(tried: FloatArray, share: FloatArray, second: npt.NDArray[np.bool_]) -> _Counts:
    of_second, of_first = np.sort(share[second]), np.sort(share[~second])
    hits = len(of_second) - np.searchsorted(of_second, tried)
    false_alarms = len(of_first) - np.searchsorted(of_first, tried)
    return _Counts(
        hits.astype(np.float64),
        false_alarms.astype(np.float64),
        (len(of_second) - hits).astype(np.float64),
        (len(of_first) - false_alarms).astype(np.float64),
    )


def _ratio(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


_METRICS: Mapping[str, Callable[[_Counts], FloatArray]] = {
    "accuracy": lambda c: (c.hits + c.quiet) / (c.hits + c.quiet + c.misses + c.false_alarms),
    "balanced accuracy": lambda c: (
        (_ratio(c.hits, c.hits + c.misses) + _ratio(c.quiet, c.quiet + c.false_alarms)) / 2
    ),
    "f1": lambda c: _ratio(2 * c.hits, 2 * c.hits + c.misses + c.false_alarms),
}


def _best_by_metric(name: str, share: FloatArray, second: npt.NDArray[np.bool_], label: str) -> Threshold:
    folded = name.casefold().replace("_", " ").removesuffix(" score")
    if folded not in _METRICS:
        ways = did_you_mean(name, list(_METRICS)) or f"It may be {joined(list(_METRICS), 'or')}."
        raise ValueError(
            f"threshold={shown(name)} is not a metric to choose a threshold by. {ways} Or give a number, or "
            "the "
            "price of missing a row of each class, as a dict."
        )
    tried = _tried(share)
    values = _METRICS[folded](_counts(tried, share, second))
    best = int(np.argmax(values))
    half = float(_METRICS[folded](_counts(np.array([0.5]), share, second))[0])
    return Threshold(
        float(tried[best]),
        f"It answers {label} from a share of {tried[best]:.3g} on: {folded} {values[best]:.4g} on rows not "
        f"seen ({half:.4g} at one half).",
    )


def _cheapest(
    prices: Mapping[Any, Any],
    classes: Sequence[Any],
    share: FloatArray,
    second: npt.NDArray[np.bool_],
    label: str,
) -> Threshold:
    by_text = {str(known): known for known in classes}  # the command line knows texts only
    prices = {by_text.get(label, label): price for label, price in prices.items()}
    missing = [known for known in classes if known not in prices]
    if missing or len(prices) != 2:
        raise ValueError(
            f"threshold: give the price of missing a row of each class, {joined(map(repr, classes), 'and')}; "
            f"got {shown(dict(prices))}."
        )
    price_of_first, price_of_second = (float(prices[known]) for known in classes)
    if not (min(price_of_first, price_of_second) >= 0 < max(price_of_first, price_of_second) < np.inf):
        raise ValueError(f"threshold: prices must be numbers from 0 on; got {shown(dict(prices))}.")
    tried = _tried(share)

    def cost(counts: _Counts) -> FloatArray:
        total: FloatArray = counts.misses * price_of_second + counts.false_alarms * price_of_first
        return total / len(share)

    values = cost(_counts(tried, share, second))
    best = int(np.argmin(values))
    half = float(cost(_counts(np.array([0.5]), share, second))[0])
    return Threshold(
        float(tried[best]),
        f"It answers {label} from a share of {tried[best]:.3g} on: rows not seen cost {values[best]:.4g} "
        f"each ({half:.4g} at one half).",
    )
