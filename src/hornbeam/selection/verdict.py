"""The result of a comparison in words.

A difference counts when it is larger than two of its standard errors (see `score_errors.py`); below that, the
folds might have shown it by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hornbeam.inside.words import named
from hornbeam.selection.family import BASELINE, LINEAR, NAMES
from hornbeam.selection.metrics import Metric
from hornbeam.selection.score_errors import Scores

__all__ = ["Standing", "informative_first", "standing_of", "verdict"]

_STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Standing:
    """The best member, and those that noise does not distinguish from it: positions, the best first."""

    best: int
    within_noise: tuple[int, ...]
    beats_baseline: bool


def standing_of(names: Sequence[str], metric: Metric, scores: Scores) -> Standing:
    """Rank the members by the metric that decides."""
    values = metric.sign() * scores.values[:, 0]
    order = [int(m) for m in np.argsort(-np.where(np.isnan(values), -np.inf, values), kind="stable")]
    best = order[0]
    close = tuple(m for m in order[1:] if not _is_better(scores, best, m))
    baseline = names.index(BASELINE) if BASELINE in names else None
    beats = baseline is not None and best != baseline and _is_better(scores, best, baseline)
    return Standing(best, close, beats)


def _is_better(scores: Scores, one: int, other: int) -> bool:
    """Whether the difference of two members is more than noise."""
    difference, error = scores.difference(one, other)
    return abs(difference) > _STANDARD_ERRORS * error


def informative_first(
    names: Sequence[str], metrics: Sequence[Metric], scores: Scores
) -> tuple[list[Metric], Scores]:
    """Put first a metric that tells methods from the guess: the usual one, else one of probabilities.

    With rare classes the guess of the most frequent one is hard to beat by accuracy, and says nothing.
    """
    usual = list(metrics)
    if BASELINE not in names or standing_of(names, usual[0], scores).beats_baseline:
        return usual, scores
    for place, metric in enumerate(usual):
        if not metric.needs_probabilities:
            continue
        order = [place, *(other for other in range(len(usual)) if other != place)]
        turned = scores.of_metrics(order)
        if standing_of(names, metric, turned).beats_baseline:
            return [usual[k] for k in order], turned
    return usual, scores


def verdict(names: Sequence[str], metrics: Sequence[Metric], scores: Scores, left_out: Sequence[str]) -> str:
    """Say who wins, whether that is more than noise, and whether something simpler would do."""
    metric = metrics[0]
    standing = standing_of(names, metric, scores)
    if list(names) == [BASELINE] and left_out:
        return f"{_only_the_baseline(metric, scores)} Not in the ranking: {', '.join(map(named, left_out))}."
    sentences = [_winner(names, metric, scores, standing.best), *_why_not_accuracy(names, metrics, scores)]
    if BASELINE in names and not standing.beats_baseline:
        sentences.append(_nothing_beats_the_baseline(is_whole=not left_out))
    elif standing.within_noise:
        close = [names[m] for m in standing.within_noise if not _is_a_guess(names, metric, scores, m)]
        if close:
            listed = ", ".join(map(named, close))
            sentences.append(f"Within noise of it (two standard errors of the difference): {listed}.")
        sentences += _something_simpler(names[standing.best], close)
    elif names[standing.best] != LINEAR:
        sentences.append("No other method comes within noise of it.")
    if standing.beats_baseline:
        sentences += _about_linear(names, metric, scores, standing, is_whole=not left_out)
    if left_out:
        sentences.append(f"Not in the ranking: {', '.join(map(named, left_out))}.")
    return " ".join(sentences)


def _winner(names: Sequence[str], metric: Metric, scores: Scores, best: int) -> str:
    error = _largest(scores.spread_over_folds[best, 0], scores.spread_over_rows[best, 0])
    sentence = f"Best is {named(names[best])}: {metric.name} {scores.values[best, 0]:.4g} ± {error:.2g}"
    if BASELINE in names and names[best] != BASELINE:
        sentence += f" (baseline {scores.values[names.index(BASELINE), 0]:.4g})"
    return sentence + "."


def _only_the_baseline(metric: Metric, scores: Scores) -> str:
    return (
        f"Only the baseline could be judged: {metric.name} {scores.values[0, 0]:.4g}. Whether any method "
        "does better is not known."
    )


def _nothing_beats_the_baseline(*, is_whole: bool) -> str:
    if not is_whole:
        return "That is no better than the baseline beyond noise; the methods that were left out might be."
    return (
        "That is no better than the baseline beyond noise: these columns tell little about the target, "
        "or there are too few rows to see it."
    )


def _why_not_accuracy(names: Sequence[str], metrics: Sequence[Metric], scores: Scores) -> list[str]:
    """Explain, where probabilities decide, that no method has a better accuracy than the guess."""
    if not metrics[0].needs_probabilities or BASELINE not in names:
        return []
    for place, metric in enumerate(metrics):
        if metric.name == "accuracy":
            order = [place, *(other for other in range(len(metrics)) if other != place)]
            if standing_of(names, metric, scores.of_metrics(order)).beats_baseline:
                return []
            return [
                "By accuracy nothing beats the guess of the most frequent class; the probabilities of "
                "the classes tell more."
            ]
    return []


def _largest(*errors: float) -> float:
    return max((error for error in errors if not np.isnan(error)), default=float("nan"))


def _is_a_guess(names: Sequence[str], metric: Metric, scores: Scores, m: int) -> bool:
    """Whether a member is the baseline or no better than it: then there is nothing to recommend."""
    if BASELINE not in names:
        return False
    values = metric.sign() * scores.values[:, 0]
    return bool(names[m] == BASELINE or values[m] <= values[names.index(BASELINE)])


def _something_simpler(best: str, close: Sequence[str]) -> list[str]:
    """Recommend the simplest of those within noise, if that is another than the best and not linear."""
    known = [name for name in (best, *close) if name in NAMES[1:]]
    if not known:
        return []
    simplest = min(known, key=NAMES.index)
    if simplest in (LINEAR, best):
        return []
    return [f"The simplest of these is {named(simplest)}."]


def _about_linear(
    names: Sequence[str], metric: Metric, scores: Scores, standing: Standing, *, is_whole: bool
) -> list[str]:
    if LINEAR not in names:
        return []
    linear = names.index(LINEAR)
    if standing.best == linear and not is_whole:
        return ["No method in the ranking does better than the linear model; those left out might."]
    if standing.best == linear:
        return ["The relation looks linear: no tree and no ensemble does better than the linear model."]
    if linear in standing.within_noise:
        return ["The linear model is enough: what the best has over it is within noise."]
    difference, _ = scores.difference(standing.best, linear)
    return [f"The linear model is {abs(difference):.3g} behind: the relation is not linear."]
