"""Bagging of any estimator: `BaggingClassifier` and `BaggingRegressor`."""

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import (
    ClassTarget,
    RegressionTarget,
    class_weights,
    read_classes,
    read_numbers,
)
from hornbeam.data.weights import multiplied
from hornbeam.estimators.answers import check_counts
from hornbeam.estimators.forest.bagged_members import Bagging, Tree
from hornbeam.estimators.forest.oob_scores import score_of_classes, score_of_numbers
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.params import (
    VoteOptions,
    fitted,
)
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin

__all__ = ["BaggingClassifier", "BaggingRegressor"]

FloatArray = npt.NDArray[np.float64]


class BaggingClassifier(ClassifierMixin, Bagging, VoteOptions):
    """Copies of a classifier, each fitted on a sample of the rows; they vote.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    estimator_ : estimator
        What the members are copies of.
    estimators_ : list of estimators
        The members.
    estimators_samples_, estimators_features_ : list of arrays
        The rows and the columns of X that each member was fitted on.
    oob_score_ : float
        Accuracy, or the metric asked for, of each row's answer by the members that have not seen it.
    oob_decision_function_ : array
        The class shares of these answers; NaN for rows that every member has seen.
    oob_curve_ : array
        The share of wrong answers after each member.
    """

    _tree: ClassVar[type[Tree]] = DecisionTreeClassifier
    classes_: npt.NDArray[Any] = fitted()
    n_classes_: int = fitted()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, samples: Any = None
    ) -> Self:
        """Fit the members on rows X with labels y; rows of equal `groups` are drawn together.

        `samples` are the samples themselves where they are to be given, not drawn: for each member a list of
        the rows of X, numbered from 0, as often as they are in it. There are then as many members as samples.
        """
        target: Any = self._fit(X, y, sample_weight, groups, samples)
        self.classes_ = target.classes[0]
        self.n_classes_ = len(self.classes_)
        if isinstance(self._grown, DecisionTreeClassifier):
            self._grown._remember_classes(target)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean class shares of the members, or under hard voting the shares of their votes."""
        check_is_fitted(self)
        return self._mean_answer(X, self.classes_)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest share; the first of equals."""
        shares = self.predict_proba(X)
        labels: npt.NDArray[Any] = self.classes_[np.argmax(shares, axis=1)]
        return labels

    def _check_votes(self, template: Any) -> None:
        if self.voting == "soft" and not hasattr(template, "predict_proba"):
            raise ValueError(
                f"voting='soft' averages class shares, but {type(template).__name__} has no predict_proba. "
                "Use voting='hard', which counts predicted classes."
            )

    def _read_target(self, y: Any, n_rows: int, rows: Any) -> ClassTarget:
        name = type(self).__name__
        return read_classes(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _strata(self, target: ClassTarget) -> npt.NDArray[np.int32] | None:
        return target.codes[:, 0] if self.stratify else None

    def _tree_weights(
        self, tree: DecisionTreeClassifier, target: ClassTarget, weights: FloatArray | None
    ) -> tuple[FloatArray | None, bool]:
        if tree.class_weight == "balanced":  # in its own sample, as each copy would
            return weights, True
        return multiplied(weights, class_weights(tree.class_weight, target)), False

    def _votes_are_hard(self) -> bool:
        return self.voting == "hard"

    def _out_of_bag_facts(
        self, target: ClassTarget, out_of_bag: OutOfBag | None, n_rows_given: int, rows: Any
    ) -> dict[str, Any]:
        facts = super()._out_of_bag_facts(target, out_of_bag, n_rows_given, rows)
        if out_of_bag is not None and self.oob_score is not False:
            shares = out_of_bag.answers()
            facts["oob_score_"] = score_of_classes(self.oob_score, target, shares)
            answers = self._among_rows_given(shares, n_rows_given, rows)
            facts["oob_decision_function_"] = answers[:, 0]
        return facts


class BaggingRegressor(RegressorMixin, Bagging):
    """Copies of a regressor, each fitted on a sample of the rows; their answers are averaged.

    {parameters}

    Attributes
    ----------
    estimator_ : estimator
        What the members are copies of.
    estimators_ : list of estimators
        The members.
    estimators_samples_, estimators_features_ : list of arrays
        The rows and the columns of X that each member was fitted on.
    oob_score_ : float
        R^2, or the metric asked for, of each row's answer by the members that have not seen it.
    oob_prediction_ : array
        These answers; NaN for rows that every member has seen.
    oob_curve_ : array
        The mean squared error of these answers after each member.
    """

    _tree: ClassVar[type[Tree]] = DecisionTreeRegressor

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, samples: Any = None
    ) -> Self:
        """Fit the members on rows X with targets y; rows of equal `groups` are drawn together.

        `samples` are the samples themselves where they are to be given, not drawn: for each member a list of
        the rows of X, numbered from 0, as often as they are in it. There are then as many members as samples.
        """
        self._fit(X, y, sample_weight, groups, samples)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the mean of what the members predict."""
        return self._mean_answer(X, None)[:, 0]

    def _read_target(self, y: Any, n_rows: int, rows: Any) -> RegressionTarget:
        name = type(self).__name__
        return read_numbers(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _check_target(self, tree: DecisionTreeRegressor, target: RegressionTarget) -> None:
        if tree.criterion == "poisson":
            check_counts(target.values)

    def _out_of_bag_facts(
        self, target: RegressionTarget, out_of_bag: OutOfBag | None, n_rows_given: int, rows: Any
    ) -> dict[str, Any]:
        facts = super()._out_of_bag_facts(target, out_of_bag, n_rows_given, rows)
        if out_of_bag is not None and self.oob_score is not False:
            facts["oob_score_"] = score_of_numbers(self.oob_score, target, out_of_bag)
            answers = self._among_rows_given(out_of_bag.answers(), n_rows_given, rows)
            facts["oob_prediction_"] = answers[:, 0, 0]
        return facts
