"""One candidate on one fold: fitted on some rows, timed, and judged by its predictions for the others.

A candidate is an estimator with some of its parameters changed, or a function: it takes X and y and returns a
fitted estimator or, simpler still, a function from X to answers.
"""

import pickle
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from hornbeam.io.native import packed
from hornbeam.recipes.members import with_seed
from hornbeam.selection.folds import Fold
from hornbeam.selection.metrics import Answers

__all__ = ["Candidate", "Trial", "ask", "run_trial", "size_of"]

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Candidate:
    """An estimator, unfitted, or a function that fits; with parameters to change and a seed for its draws.

    A seed is for estimators that have none of their own: `random_state` that is given stays.
    """

    template: Any
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None

    @property
    def is_function(self) -> bool:
        """Whether the template is a function and not an estimator."""
        return not hasattr(self.template, "fit")

    def made(self) -> Any:
        """Return an estimator of its own, unfitted."""
        model = clone(self.template).set_params(**{n: _own(value) for n, value in self.params.items()})
        return model if self.seed is None else _seeded(model, self.seed)

    def fitted(self, X: Any, y: AnyArray) -> Any:
        """Fit on rows X with targets y."""
        return self.template(X, y) if self.is_function else self.made().fit(X, y)


def _own(value: Any) -> Any:
    return clone(value) if hasattr(value, "get_params") and not isinstance(value, type) else value


def _seeded(model: Any, seed: int) -> Any:
    given = {n: v for n, v in model.get_params(deep=True).items() if n.rpartition("__")[2] == "random_state"}
    with_seed(model, seed)
    return model.set_params(**{name: value for name, value in given.items() if value is not None})


@dataclass(frozen=True, eq=False)
class Trial:
    """How a candidate did on a fold: its answers, the seconds that took, and what it warned of."""

    answers: Answers
    fit_seconds: float
    predict_seconds: float
    n_bytes: int | None
    warnings: tuple[str, ...]


def run_trial(candidate: Candidate, fold: Fold, *, measure_size: bool = False) -> Trial:
    """Fit a candidate on a fold and ask it about the rows that it has not seen."""
    classes = fold.data.classes
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X_fit, X_judge = fold.X_fit(candidate.template), fold.X_judge(candidate.template)
        start = time.perf_counter()
        model = candidate.fitted(X_fit, fold.y_fit)
        fitted = time.perf_counter()
        labels = _predict(model, X_judge)
        predicted = time.perf_counter()
        answers = ask(model, X_judge, classes, labels)
    if len(answers.labels) != len(fold.judge_rows):
        raise ValueError(f"there are {len(answers.labels)} answers for {len(fold.judge_rows)} rows")
    return Trial(
        answers=answers,
        fit_seconds=fitted - start,
        predict_seconds=predicted - fitted,
        n_bytes=size_of(model) if measure_size else None,
        warnings=tuple(dict.fromkeys(str(each.message) for each in caught)),
    )


def _predict(model: Any, X: Any) -> AnyArray:
    answers = model.predict(X) if hasattr(model, "predict") else model(X)
    return np.asarray(answers)


def ask(model: Any, X: Any, classes: AnyArray | None, labels: AnyArray | None = None) -> Answers:
    """Ask a model about rows; `classes` are those of the comparison, None for numbers."""
    labels = _predict(model, X) if labels is None else labels
    if classes is None:
        return Answers(_finite(np.asarray(labels, dtype=np.float64).reshape(-1)))
    if labels.ndim == 2 and labels.shape[1] == len(classes) > 1:  # a function that returns probabilities
        probabilities = _finite(labels.astype(np.float64))
        return Answers(classes[np.argmax(probabilities, axis=1)], probabilities)
    asks: Callable[[Any], Any] | None = getattr(model, "predict_proba", None)
    if asks is None:
        return Answers(labels.reshape(-1))
    return Answers(labels.reshape(-1), _finite(_of_all_classes(asks(X), model.classes_, classes)))


def _of_all_classes(probabilities: Any, known: Any, classes: AnyArray) -> npt.NDArray[np.float64]:
    """Put probabilities into the columns of all classes; one that the fit has not seen has none."""
    given: npt.NDArray[np.float64] = np.asarray(probabilities, dtype=np.float64)
    if len(known) == len(classes):
        return given
    everything = np.zeros((len(given), len(classes)))
    everything[:, np.searchsorted(classes, known)] = given
    return everything


def _finite(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values.reshape(len(values), -1)).all(axis=1)))
        raise ValueError(f"the answer for row {row} of the fold is {values[row]}, which is not finite")
    return values


def size_of(model: Any) -> int | None:
    """Return the bytes of a model's file or, where it is not one of hornbeam's, of its pickle."""
    try:
        return sum(memoryview(piece).nbytes for piece in packed(model))
    except (TypeError, ValueError):  # not one of ours, or with a member that is not
        pass
    try:
        return len(pickle.dumps(model))
    except Exception:  # functions and lambdas cannot be pickled, and that is no fault of the comparison
        return None
