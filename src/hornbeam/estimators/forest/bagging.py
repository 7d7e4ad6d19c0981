"""Bagging of any estimator: `BaggingClassifier` and `BaggingRegressor`."""

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.class_weight import class_weights
from hornbeam.data.pass_on import table_to_pass_on
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers
from hornbeam.data.unseen import said_once
from hornbeam.data.weights import multiplied
from hornbeam.estimators.answers import check_counts
from hornbeam.estimators.forest.bagged_members import Bagging, Tree
from hornbeam.estimators.forest.oob_scores import score_of_classes, score_of_numbers
from hornbeam.estimators.forest.routed import Calls, calls_of_classifiers, calls_of_regressors
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.params import (
    VoteOptions,
    fitted,
)
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin

__all__ = ["BaggingClassifier", "BaggingRegressor"]

FloatArray = npt.NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])


def _where_members_have_it(method: F) -> F:
    """Offer a method only where the members have one of its name, as far as is known before a fit."""
    offered: Callable[[F], F] = available_if(lambda bag: bag._members_have(method.__name__))
    return offered(method)


class BaggingClassifier(ClassifierMixin, Bagging, VoteOptions):
    """Copies of a classifier, each fitted on a sample of the rows; they vote.

    Members without `predict_proba` vote by the classes they predict, whatever `voting` says.

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
        Accuracy, or the chosen metric, of predictions by members that have not seen the row.
    oob_decision_function_ : array
        The class probabilities of these predictions; NaN for rows that every member has seen.
    oob_curve_ : array
        The share of wrong predictions after each member.
    """

    _tree: ClassVar[type[Tree]] = DecisionTreeClassifier
    classes_: npt.NDArray[Any] = fitted()
    n_classes_: int = fitted()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, samples: Any = None
    ) -> Self:
        """Fit the members on rows X with labels y; rows of equal `groups` are drawn together.

        `samples` replaces drawing: for each member a list of row numbers of X, from 0, repeated as often as
        the row is in the sample. There are then as many members as samples.
        """
        target: Any = self._fit(X, y, sample_weight, groups, samples)
        self.classes_ = target.classes[0]
        self.n_classes_ = len(self.classes_)
        if isinstance(self._grown, DecisionTreeClassifier):
            self._grown._remember_classes(target)
        return self

    def predict_proba(self, X: Any, **metadata: Any) -> FloatArray:
        """Return the members' mean class probabilities or, under hard voting, the shares of their votes."""
        return self._shares(X, "predict_proba", metadata)

    def predict_log_proba(self, X: Any, **metadata: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self._shares(X, "predict_log_proba", metadata))

    @_where_members_have_it
    def decision_function(self, X: Any, **metadata: Any) -> FloatArray:
        """Return the mean of the members' decision functions, if they have one."""
        check_is_fitted(self)
        options = self._options_of_members("decision_function", metadata)
        X = table_to_pass_on(self, X, reset=False)
        total: Any = 0.0
        with said_once():
            for number, member in enumerate(self._fitted_members):
                self._check_classes_of(number, member)
                features = self._features_of(number) if self._features.n_wanted else None
                rows = X if features is None else _safe_indexing(X, features, axis=1)
                total = total + np.asarray(member.decision_function(rows, **options), dtype=np.float64)
        return np.asarray(total / len(self._fitted_members))

    def _check_classes_of(self, number: int, member: Any) -> None:
        """Raise if a member does not know all classes."""
        lacking = np.setdiff1d(self.classes_, member.classes_).tolist()
        if lacking:
            raise ValueError(
                "decision_function averages the members' numbers class by class, but the sample of member "
                f"{number} lacks the class {lacking[0]!r}. Set stratify=True, which draws from every class, "
                "or use predict_proba."
            )

    def _members_have(self, method: str) -> bool:
        """Whether members have a method, as far as is known before a fit."""
        if hasattr(self, "_fitted_members"):
            return self._grown is None and hasattr(self._fitted_members[0], method)
        return hasattr(self._tree() if self.estimator is None else self.estimator, method)

    def predict(self, X: Any, **metadata: Any) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals.

        Under scikit-learn's metadata routing, `metadata` is passed to the members' methods that request it.
        """
        shares = self._shares(X, "predict", metadata)
        labels: npt.NDArray[Any] = self.classes_[np.argmax(shares, axis=1)]
        return labels

    def _shares(self, X: Any, caller: str, metadata: dict[str, Any]) -> FloatArray:
        check_is_fitted(self)
        return self._mean_answer(X, self.classes_, **self._options_of_members(caller, metadata))

    def _calls(self, template: Any) -> Calls:
        return calls_of_classifiers(hard_votes=self._votes_are_hard(template))

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

    def _votes_are_hard(self, member: Any = None) -> bool:
        has_no_shares = member is not None and not hasattr(member, "predict_proba")
        return self.voting == "hard" or has_no_shares

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
    """Copies of a regressor, each fitted on a sample of the rows; their predictions are averaged.

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
        R^2, or the chosen metric, of predictions by members that have not seen the row.
    oob_prediction_ : array
        These predictions; NaN for rows that every member has seen.
    oob_curve_ : array
        The mean squared error of these predictions after each member.
    """

    _tree: ClassVar[type[Tree]] = DecisionTreeRegressor

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, samples: Any = None
    ) -> Self:
        """Fit the members on rows X with targets y; rows of equal `groups` are drawn together.

        `samples` replaces drawing: for each member a list of row numbers of X, from 0, repeated as often as
        the row is in the sample. There are then as many members as samples.
        """
        self._fit(X, y, sample_weight, groups, samples)
        return self

    def predict(self, X: Any, **metadata: Any) -> FloatArray:
        """Return the mean of the members' predictions.

        Under scikit-learn's metadata routing, `metadata` is passed to the members' `predict` if it requests
        it.
        """
        check_is_fitted(self)
        return self._mean_answer(X, None, **self._options_of_members("predict", metadata))[:, 0]

    def _calls(self, template: Any) -> Calls:
        return calls_of_regressors()

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
