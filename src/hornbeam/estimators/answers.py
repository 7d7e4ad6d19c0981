"""Targets on their way in and answers on their way out: classes or numbers, one output or several.

`ClassAnswers` and `NumberAnswers` are what classifiers and regressors made of our trees share, whatever
recipe grows the trees. The answers follow from `_values`: what the trees say about each row. `ClassVotes` is
the part of it that every classifier shares, whatever it is made of: labels follow from `predict_proba`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.target import (
    ClassTarget,
    ClassWeight,
    RegressionTarget,
    class_weights,
    read_classes,
    read_numbers,
)
from hornbeam.data.weights import multiplied
from hornbeam.estimators.base import Training, TreeModel
from hornbeam.params import Declared, fitted
from hornbeam.sklearn_bases import ClassifierMixin, MultiOutputMixin, RegressorMixin

__all__ = ["ClassAnswers", "ClassVotes", "NumberAnswers", "check_counts"]

FloatArray = npt.NDArray[np.float64]


class ClassVotes(ClassifierMixin, MultiOutputMixin, Declared):
    """What all classifiers share: from the shares of the classes to labels."""

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
        """Return the class with the largest share; the first of equals."""
        if self.n_outputs_ == 1:
            labels: npt.NDArray[Any] = self.classes_[np.argmax(shares, axis=1)]
            return labels
        by_output = [
            classes[np.argmax(share, axis=1)] for classes, share in zip(self.classes_, shares, strict=True)
        ]
        return np.stack(by_output, axis=1)

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class: rows x classes; a list of such arrays for several outputs."""
        raise NotImplementedError

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of `predict_proba`."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(share) for share in shares]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest share; the first of equals."""
        return self._labels_of(self.predict_proba(X))

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several outputs are welcome."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class ClassAnswers(ClassVotes, TreeModel):
    """What classifiers made of our trees share."""

    def _read_classes(
        self, training: Training, y: Any, class_weight: ClassWeight | None
    ) -> tuple[ClassTarget, FloatArray | None]:
        """Read the labels of the rows that count, and the weights after `class_weight`."""
        name = type(self).__name__
        target = read_classes(y, training.n_rows_given, rows=training.rows, estimator_name=name)
        factors = class_weights(class_weight, target, training.weights)
        return target, multiplied(training.weights, factors)

    def _shares_of(self, values: FloatArray) -> Any:
        """Cut rows x outputs x classes into what `predict_proba` returns."""
        if self.n_outputs_ == 1:
            return values[:, 0, : self.n_classes_]
        return [values[:, k, :n] for k, n in enumerate(self.n_classes_)]

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class: rows x classes; a list of such arrays for several outputs."""
        return self._shares_of(self._values(X))


class NumberAnswers(RegressorMixin, MultiOutputMixin, TreeModel):
    """What regressors made of our trees share."""

    n_outputs_: int = fitted()

    def _read_numbers(self, training: Training, y: Any, *, criterion: object) -> RegressionTarget:
        """Read the targets of the rows that count; the criterion may ask more of them."""
        name = type(self).__name__
        target = read_numbers(y, training.n_rows_given, rows=training.rows, estimator_name=name)
        if criterion == "poisson":
            check_counts(target.values)
        return target

    def _numbers_of(self, values: FloatArray) -> FloatArray:
        """Cut rows x outputs x 1 into what `predict` returns."""
        return values[:, 0, 0] if self.n_outputs_ == 1 else values[:, :, 0]

    def predict(self, X: Any) -> FloatArray:
        """Return the predicted number of each row: rows, or rows x outputs."""
        return self._numbers_of(self._values(X))


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
            "Sum of y is not positive which is necessary for Poisson regression: every target is 0."
        )
