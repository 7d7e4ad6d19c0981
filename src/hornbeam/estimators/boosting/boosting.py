"""Gradient boosting: `GradientBoostingClassifier` and `GradientBoostingRegressor`.

This file has what differs between classes and numbers: the target, the loss, the form of the predictions.
Rounds are run in `rounds.py`, and scores are predicted in `scores.py`.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.class_weight import class_weights
from hornbeam.data.target import ClassTarget, read_classes, read_groups, read_numbers, read_offset
from hornbeam.data.weights import multiplied, unequal
from hornbeam.estimators.boosting.begun import BoostingData, BoostingFit
from hornbeam.estimators.boosting.rounds import BoostingRounds
from hornbeam.estimators.boosting.rows import BoostingRows, Target
from hornbeam.estimators.from_source import fit_from_source, with_own_target
from hornbeam.estimators.recorded import RecordedClasses, RecordedNumbers
from hornbeam.estimators.validation import Validation
from hornbeam.params import ClassifierBoostingOptions, RegressorBoostingOptions, fitted
from hornbeam.recipes.boosting.losses import Loss, OwnLoss, named_loss
from hornbeam.recipes.boosting.rounds import Watch, checked_callbacks
from hornbeam.recipes.boosting.scikit_callbacks import passed_on
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin, with_callbacks

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

FloatArray = npt.NDArray[np.float64]


class GradientBoostingClassifier(ClassifierMixin, BoostingRounds, ClassifierBoostingOptions):
    """Gradient boosting that predicts classes: each tree lowers the loss that the trees before it have left.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    n_classes_ : int
        The number of classes.
    estimators_ : array of DecisionTreeRegressor
        The trees, rounds x (members x scores): steps of the score.
    settings_ : dict
        The settings of the fit, with the values that "auto" stood for.
    n_iter_ : int
        The number of rounds.
    best_iteration_ : int
        The round with the best validation score; early stopping keeps the rounds up to it.
    train_score_, validation_score_ : array
        Scores after each round, higher is better; empty if there are no validation rows.
    oof_decision_function_ : array
        Class probabilities of the rows of X by members that have not seen them, NaN for others (automatic
        fits).
    feature_importances_ : array
        The share of each feature in the gains of all splits.
    """

    oof_decision_function_: FloatArray = fitted()
    classes_: npt.NDArray[Any] = fitted()
    n_classes_: int = fitted()
    _oof_name: ClassVar[str] = "oof_decision_function_"

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        max_memory: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        offset: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        callbacks: Sequence[Any] | None = None,
    ) -> Self:
        """Boost on rows X with labels y.

        `offset` is the part of each row's score that is known beforehand: the rounds start from it, and
        predictions take it again. Rounds are judged on X_val and y_val or, with `early_stopping`, on rows of
        X; rows of equal `groups` then stay together. `callbacks` are called between rounds
        (`hornbeam.recipes.boosting.rounds`), and so are scikit-learn's own, of `set_callbacks`.

        With `target`, X is not a table but the source of one: the path of Parquet files, an Arrow data set or
        stream; `target`, `sample_weight`, `offset` and `groups` are names of its columns, and `max_memory`
        ("4GB") limits the memory of the fit. The model is the same.

        `checkpoint` is a folder where rounds are saved while the fit runs. If the process dies, the same fit
        with the same folder continues from there and gives the same model.
        """
        self._refuse_checkpoint(checkpoint)
        if target is not None:
            return fit_from_source(
                self,
                X,
                target=target,
                max_memory=max_memory,
                checkpoint=checkpoint,
                y=y,
                sample_weight=sample_weight,
                offset=offset,
                groups=groups,
                X_val=X_val,
                y_val=y_val,
                sample_weight_val=sample_weight_val,
                offset_val=offset_val,
                callbacks=callbacks,
            )
        y, sample_weight, offset, groups = with_own_target(
            X, y, sample_weight=sample_weight, offset=offset, groups=groups
        )
        training = self._begin_fit(X, sample_weight)
        labels = read_classes(
            y,
            training.n_rows_given,
            rows=training.rows,
            multi_output=False,
            estimator_name=type(self).__name__,
        ).in_few_bytes()
        factors = class_weights(self.class_weight, labels, training.weights)
        weights = unequal(multiplied(training.weights, factors))
        loss = self._loss_of(len(labels.classes[0]))
        known = read_offset(offset, training.n_rows_given, loss.n_scores, rows=training.rows)
        together = None if groups is None else read_groups(groups, training.n_rows_given, rows=training.rows)
        given = BoostingRows(training.table, labels, weights, known, X, together)
        validation = Validation(X_val, y_val, sample_weight_val)
        own = checked_callbacks(callbacks)
        with passed_on(self, X, y, sample_weight) as more_callbacks:
            data = BoostingData(given, loss, validation, offset_val, training.n_rows_given)
            self._fit_rounds(data, [*own, *more_callbacks], checkpoint)
        return self

    def _loss_of(self, n_classes: int) -> Loss:
        n_scores = 1 if n_classes <= 2 else n_classes
        if n_classes == 1:
            return named_loss("only_class")
        if not isinstance(self.loss, str):
            return OwnLoss(n_scores=n_scores, given=self.loss, n_classes=n_classes)
        if self.loss == "exponential" and n_classes > 2:
            raise ValueError(f"loss='exponential' takes two classes; y has {n_classes}. Use loss='log_loss'.")
        return named_loss("softmax" if n_classes > 2 else self.loss, n_scores=n_scores)

    def _same_answers(self, target: Target, loss: Loss) -> bool:
        same = isinstance(target, ClassTarget) and np.array_equal(target.classes[0], self.classes_)
        return same and super()._same_answers(target, loss)

    def _remember_rounds(self, fit: BoostingFit, trees: Sequence[_core.Tree], watch: Watch | None) -> Self:
        super()._remember_rounds(fit, trees, watch)
        if isinstance(fit.given, ClassTarget):
            self.classes_ = fit.given.classes[0]
            self.n_classes_ = len(self.classes_)
        return self

    def _facts_beside_trees(self) -> dict[str, Any]:
        return {**super()._facts_beside_trees(), "labels": self.classes_.tolist()}

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> RecordedClasses:
        shares = loss.answers(scores)
        return RecordedClasses(target.classes[0][shares.argmax(axis=1)], shares, target.classes[0])

    def decision_function(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the scores: for two classes one per row, above 0 for the second; else rows x classes."""
        return self._decision(self._scores(X, offset))

    def predict_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the probability of each class: rows x classes."""
        return self._answers(self._scores(X, offset))

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, offset=offset))

    def predict(self, X: Any, *, offset: Any = None) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals."""
        return self._predictions(self._scores(X, offset))

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield what `decision_function` returns after each round."""
        return map(self._decision, self._staged_scores(X, offset))

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield what `predict_proba` returns after each round."""
        return map(self._answers, self._staged_scores(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[npt.NDArray[Any]]:
        """Yield what `predict` returns after each round."""
        return map(self._predictions, self._staged_scores(X, offset))

    def _decision(self, scores: FloatArray) -> FloatArray:
        return scores[:, 0] if self._loss.n_scores == 1 else scores

    def _predictions(self, scores: FloatArray) -> npt.NDArray[Any]:
        # A score just above 0 may round to a probability of exactly one half; the score decides.
        scores_decide = self.n_classes_ > 1 and not isinstance(self._loss, OwnLoss)
        if scores_decide:
            codes = (scores[:, 0] > 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
        else:
            codes = self._answers(scores).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[codes]
        return labels


class GradientBoostingRegressor(RegressorMixin, BoostingRounds, RegressorBoostingOptions):
    """Gradient boosting that predicts numbers: each tree lowers the loss that the trees before it have left.

    {parameters}

    Attributes
    ----------
    estimators_ : array of DecisionTreeRegressor
        The trees, rounds x members: steps of the score.
    settings_ : dict
        The settings of the fit, with the values that "auto" stood for.
    n_iter_ : int
        The number of rounds.
    best_iteration_ : int
        The round with the best validation score; early stopping keeps the rounds up to it.
    train_score_, validation_score_ : array
        Scores after each round, higher is better; empty if there are no validation rows.
    oof_prediction_ : array
        Predictions for the rows of X by members that have not seen them, NaN for others (automatic fits).
    feature_importances_ : array
        The share of each feature in the gains of all splits.
    """

    oof_prediction_: FloatArray = fitted()
    _oof_name: ClassVar[str] = "oof_prediction_"

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        max_memory: str | int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        offset: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset_val: Any = None,
        groups: Any = None,
        callbacks: Sequence[Any] | None = None,
    ) -> Self:
        """Boost on rows X with targets y.

        `offset` is the part of each row's score that is known beforehand, for example the logarithm of an
        exposure: the rounds start from it, and predictions take it again. Rounds are judged on X_val and
        y_val or, with `early_stopping`, on rows of X; rows of equal `groups` then stay together. `callbacks`
        are called between rounds (`hornbeam.recipes.boosting.rounds`), and so are scikit-learn's own, of
        `set_callbacks`.

        With `target`, X is not a table but the source of one: the path of Parquet files, an Arrow data set or
        stream; `target`, `sample_weight`, `offset` and `groups` are names of its columns, and `max_memory`
        ("4GB") limits the memory of the fit. The model is the same.

        `checkpoint` is a folder where rounds are saved while the fit runs. If the process dies, the same fit
        with the same folder continues from there and gives the same model.
        """
        self._refuse_checkpoint(checkpoint)
        if target is not None:
            return fit_from_source(
                self,
                X,
                target=target,
                max_memory=max_memory,
                checkpoint=checkpoint,
                y=y,
                sample_weight=sample_weight,
                offset=offset,
                groups=groups,
                X_val=X_val,
                y_val=y_val,
                sample_weight_val=sample_weight_val,
                offset_val=offset_val,
                callbacks=callbacks,
            )
        y, sample_weight, offset, groups = with_own_target(
            X, y, sample_weight=sample_weight, offset=offset, groups=groups
        )
        training = self._begin_fit(X, sample_weight)
        numbers = read_numbers(
            y,
            training.n_rows_given,
            rows=training.rows,
            multi_output=False,
            estimator_name=type(self).__name__,
        )
        loss = self._loss_of()
        known = read_offset(offset, training.n_rows_given, loss.n_scores, rows=training.rows)
        together = None if groups is None else read_groups(groups, training.n_rows_given, rows=training.rows)
        given = BoostingRows(training.table, numbers, unequal(training.weights), known, X, together)
        validation = Validation(X_val, y_val, sample_weight_val)
        own = checked_callbacks(callbacks)
        with passed_on(self, X, y, sample_weight) as more_callbacks:
            data = BoostingData(given, loss, validation, offset_val, training.n_rows_given)
            self._fit_rounds(data, [*own, *more_callbacks], checkpoint)
        return self

    def _loss_of(self) -> Loss:
        if not isinstance(self.loss, str):
            return OwnLoss(given=self.loss)
        parameters = {"huber": self.alpha, "quantile": self.alpha, "tweedie": self.tweedie_power}
        return named_loss(self.loss, parameter=float(parameters.get(self.loss, 0.0)))

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> RecordedNumbers:
        return RecordedNumbers(loss.answers(scores))

    def predict(self, X: Any, *, offset: Any = None) -> FloatArray:
        """Return the predicted number of each row."""
        return self._predictions(self._scores(X, offset))

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[FloatArray]:
        """Yield what `predict` returns after each round."""
        return map(self._predictions, self._staged_scores(X, offset))

    def _predictions(self, scores: FloatArray) -> FloatArray:
        return self._answers(scores)
