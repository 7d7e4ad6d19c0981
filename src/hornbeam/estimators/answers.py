"""Targets on their way in and answers on their way out: classes or numbers, one output or several.

`ClassVotes` is what all classifiers share: labels follow from `predict_proba`. The functions read the targets
of trees and forests, and turn the trees' values into what users get.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.class_weight import ClassWeight, class_weights
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers
from hornbeam.data.weights import multiplied
from hornbeam.estimators.base import Training
from hornbeam.params import Declared, fitted
from hornbeam.sklearn_bases import ClassifierMixin, MultiOutputMixin

__all__ = ["ClassVotes", "check_counts", "classes_to_fit", "numbers_of", "numbers_to_fit", "shares_of"]

FloatArray = npt.NDArray[np.float64]


class ClassVotes(ClassifierMixin, MultiOutputMixin, Declared):
    """What all classifiers share: from class probabilities to labels."""

    n_outputs_: int = fitted()
    classes_: Any = fitted()
    n_classes_: Any = fitted()

    def _remember_classes(self, target: ClassTarget) -> None:
        """Store the classes as scikit-learn's tools expect them."""
        counts = [len(classes) for classes in target.classes]
        self.classes_ = target.classes if target.is_multi_output else target.classes[0]
        self.n_classes_ = counts if target.is_multi_output else counts[0]

    def _class_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes of each output."""
        return (self.classes_,) if self.n_outputs_ == 1 else tuple(self.classes_)

    def _labels_of(self, shares: Any) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals."""
        if self.n_outputs_ == 1:
            labels: npt.NDArray[Any] = self.classes_[np.argmax(shares, axis=1)]
            return labels
        by_output = [
            classes[np.argmax(share, axis=1)] for classes, share in zip(self.classes_, shares, strict=True)
        ]
        return np.stack(by_output, axis=1)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class: rows x classes; a list of such arrays for several outputs."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of `predict_proba`."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(share) for share in shares]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals."""
        return self._labels_of(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several outputs are supported."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def classes_to_fit(
    training: Training, y: Any, class_weight: ClassWeight | None, *, estimator_name: str
) -> tuple[ClassTarget, FloatArray | None]:
    """Read the labels of the rows that count, and the weights after `class_weight`."""
    target = read_classes(y, training.n_rows_given, rows=training.rows, estimator_name=estimator_name)
    factors = class_weights(class_weight, target, training.weights)
    return target, multiplied(training.weights, factors)


def numbers_to_fit(training: Training, y: Any, *, criterion: object, estimator_name: str) -> RegressionTarget:
    """Read the targets of the rows that count; the criterion may restrict them."""
    target = read_numbers(y, training.n_rows_given, rows=training.rows, estimator_name=estimator_name)
    if criterion == "poisson":
        check_counts(target.values)
    return target


def shares_of(values: FloatArray, n_classes: Any) -> Any:
    """Turn the trees' values, rows x outputs x classes, into what `predict_proba` returns."""
    if isinstance(n_classes, list):
        return [values[:, k, :n] for k, n in enumerate(n_classes)]
    return values[:, 0, :n_classes]


def numbers_of(values: FloatArray) -> FloatArray:
    """Turn the trees' values, rows x outputs x 1, into what `predict` returns."""
    return values[:, 0, 0] if values.shape[1] == 1 else values[:, :, 0]


def check_counts(values: FloatArray) -> None:
    """Raise unless targets are what a Poisson criterion takes: one output, none negative, not all 0."""
    if values.shape[1] > 1:
        raise ValueError("criterion='poisson' takes one output; use 'squared_error' for several.")
    negative = values[:, 0] < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise ValueError(
            f"Some value(s) of y are negative which is not allowed for Poisson regression: row {row} holds "
            f"{values[row, 0]}. Use criterion='squared_error'."
        )
    if values.sum() <= 0:
        raise ValueError(
            "Sum of y is not strictly positive which is necessary for Poisson regression: every target is 0."
        )
