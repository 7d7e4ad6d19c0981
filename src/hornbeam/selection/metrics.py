"""How answers are judged: a `Metric` takes the truth and a model's answers, and gives a number.

Every metric is written for rows that count several times, many such counts at once: one line of `counts` is
the rows as they are, the others are bootstrap samples of them.

    accuracy            share of right answers
    balanced accuracy   mean over the classes of the share of their rows that is answered right
    log loss            mean of -ln of the share given to the true class
    ROC AUC             probability that a row of the second class is ranked above one of the first
    R2                  1 - squared error / squared error of the mean
    RMSE, MAE           root mean squared, mean absolute error
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.task import Task
from hornbeam.data.units import unit_of
from hornbeam.declare.kinds import did_you_mean, joined, shown

__all__ = ["Answers", "Metric", "Truth", "chosen_metrics"]

FloatArray = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]

_LEAST_SHARE = float(np.finfo(np.float64).eps)  # what a share of 0 counts as, in a logarithm


@dataclass(frozen=True, eq=False)
class Truth:
    """The right answers for some rows: labels or numbers; `classes` are those of all rows, sorted."""

    y: AnyArray
    classes: AnyArray | None = None


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says of some rows; `probabilities` are rows x classes, where the model gives any."""

    labels: AnyArray
    probabilities: FloatArray | None = None


@dataclass(frozen=True)
class Metric:
    """A name, a formula, the best value there is, and whether the formula needs probabilities of the classes.

    `values(truth, answers, counts)` returns one number per line of `counts`.
    """

    name: str
    values: Callable[[Truth, Answers, FloatArray], FloatArray]
    perfect: float = 1.0
    needs_probabilities: bool = False

    @property
    def greater_is_better(self) -> bool:
        """Whether more is better; of errors, less is."""
        return self.perfect > 0

    def of(self, truth: Truth, answers: Answers) -> float:
        """Judge answers; NaN if the metric needs probabilities and there are none."""
        return float(self.on_samples(truth, answers, np.ones((1, len(truth.y))))[0])

    def on_samples(self, truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
        """Judge answers on samples in which rows occur as often as `counts` says."""
        if self.needs_probabilities and answers.probabilities is None:
            return np.full(len(counts), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):  # a sample may lack a class: NaN
            return self.values(truth, answers, counts)

    def skill(self, value: float, baseline: float) -> float:
        """Return the share of the baseline's distance from perfection that is overcome."""
        if not np.isfinite(self.perfect):
            return float("nan")
        away = self.perfect - baseline
        return (value - baseline) / away if away else float("nan")

    def sign(self) -> int:
        """Return 1 where more is better, else -1."""
        return 1 if self.greater_is_better else -1


# --- Formulas ----------------------------------------------------------------------------------------------


def _mean(per_row: AnyArray, counts: FloatArray) -> FloatArray:
    mean: FloatArray = (counts @ per_row) / counts.sum(axis=1)
    return mean


def _accuracy(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    return _mean((answers.labels == truth.y).astype(np.float64), counts)


def _balanced_accuracy(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    right = answers.labels == truth.y
    present = np.unique(truth.y)
    rates = [
        (counts @ (right & (truth.y == label)).astype(np.float64))
        / (counts @ (truth.y == label).astype(np.float64))
        for label in present
    ]
    per_class = np.array(rates)  # NaN where a sample has no row of a class
    known = ~np.isnan(per_class)
    balanced: FloatArray = np.where(known, per_class, 0).sum(axis=0) / known.sum(axis=0)
    return balanced


def _log_loss(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    assert answers.probabilities is not None and truth.classes is not None
    given = answers.probabilities[np.arange(len(truth.y)), np.searchsorted(truth.classes, truth.y)]
    return _mean(-np.log(np.clip(given, _LEAST_SHARE, 1.0)), counts)


def _roc_auc(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    """Count pairs of one row per class that are ranked right; equal probabilities count half."""
    assert answers.probabilities is not None and truth.classes is not None
    score = answers.probabilities[:, 1]
    order = np.argsort(score, kind="stable")
    begins = np.flatnonzero(np.append(True, np.diff(score[order]) > 0))
    is_second = (truth.y == truth.classes[1])[order]
    second = np.add.reduceat(counts[:, order] * is_second, begins, axis=1)
    first = np.add.reduceat(counts[:, order] * ~is_second, begins, axis=1)
    below = np.cumsum(first, axis=1) - first
    pairs = first.sum(axis=1) * second.sum(axis=1)
    area: FloatArray = (second * (below + first / 2)).sum(axis=1) / pairs
    return area


def _r_squared(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    unit = unit_of(truth.y)  # in which squares are finite
    y = truth.y / unit
    centred = y - y.mean()
    n_rows = counts.sum(axis=1)
    spread = counts @ centred**2 - (counts @ centred) ** 2 / n_rows
    explained: FloatArray = 1 - (counts @ (answers.labels / unit - y) ** 2) / spread
    return explained


def _rmse(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    unit = unit_of(truth.y)
    root: FloatArray = np.sqrt(_mean((answers.labels / unit - truth.y / unit) ** 2, counts)) * unit
    return root


def _mae(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
    return _mean(np.abs(answers.labels - truth.y), counts)


_ACCURACY = Metric("accuracy", _accuracy)
_BALANCED = Metric("balanced accuracy", _balanced_accuracy)
_LOG_LOSS = Metric("log loss", _log_loss, perfect=0.0, needs_probabilities=True)
_ROC_AUC = Metric("ROC AUC", _roc_auc, needs_probabilities=True)
_R_SQUARED = Metric("R2", _r_squared)
_RMSE = Metric("RMSE", _rmse, perfect=0.0)
_MAE = Metric("MAE", _mae, perfect=0.0)


# --- Choice ------------------------------------------------------------------------------------------------


def chosen_metrics(task: Task, n_classes: int, scoring: Any) -> list[Metric]:
    """List the metrics of a task, the one that decides first: the usual one, or what `scoring` names.

    `scoring` may be a function of the truth and the predictions, of which more is better.
    """
    usual: Sequence[Metric]
    if task == "classification":
        usual = (_ACCURACY, _BALANCED, _LOG_LOSS, *((_ROC_AUC,) if n_classes == 2 else ()))
    else:
        usual = (_RMSE, _MAE, _R_SQUARED)
    if scoring is None:
        return list(usual)
    if callable(scoring):
        return [_own_metric(scoring), *usual]
    by_name = {_folded(metric.name): metric for metric in usual}
    first = by_name.get(_folded(str(scoring)))
    if first is None:
        names = [metric.name for metric in usual]
        nearest = did_you_mean(str(scoring), names) or f"It must be {joined(names, 'or')}, or a function."
        raise ValueError(f"scoring={shown(scoring)} is not a metric for {task}. {nearest}")
    return [first, *(metric for metric in usual if metric is not first)]


def _folded(name: str) -> str:
    return name.casefold().removeprefix("neg_").replace("_", " ").removesuffix(" score")


def _own_metric(function: Callable[[AnyArray, AnyArray], float]) -> Metric:
    def values(truth: Truth, answers: Answers, counts: FloatArray) -> FloatArray:
        rows = (np.repeat(np.arange(len(truth.y)), line.astype(np.int64)) for line in counts)
        return np.array([function(truth.y[some], answers.labels[some]) for some in rows], dtype=np.float64)

    return Metric(getattr(function, "__name__", "score"), values, perfect=float("inf"))
