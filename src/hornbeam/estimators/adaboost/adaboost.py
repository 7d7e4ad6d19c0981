"""AdaBoost: `AdaBoostClassifier` and `AdaBoostRegressor`."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.content import Rows
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers
from hornbeam.data.units import unit_of
from hornbeam.estimators.adaboost.followed import RoundByRound, round_by_round
from hornbeam.estimators.adaboost.given import Given, Target, read_for_fit
from hornbeam.estimators.adaboost.members import Members, OtherMembers, TreeMembers
from hornbeam.estimators.first_members import copy_of, members_to_keep
from hornbeam.estimators.inspection import Inspectable
from hornbeam.estimators.sequenced import Sequenced
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.shapley import ScoreSum, TreeSum
from hornbeam.model import Ensemble
from hornbeam.params import (
    AdaBoostClassifierOptions,
    AdaBoostOptions,
    AdaBoostRegressorOptions,
    fitted,
    validate,
)
from hornbeam.recipes.adaboost import (
    Boosted,
    Rounds,
    StopReason,
    boost_classes,
    boost_numbers,
    starting_weights,
    votes_of,
    weighted_median,
)
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.footprint import refuse_ensemble_beyond_memory
from hornbeam.recipes.listen import Listener, listening
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin
from hornbeam.threads import resolve_n_jobs

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]

FloatArray = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]


class _AdaBoost(Sequenced, Inspectable, AdaBoostOptions):
    """What the two kinds of AdaBoost share."""

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    estimator_errors_: FloatArray = fitted()
    estimator_weights_: FloatArray = fitted()
    sample_weights_: FloatArray = fitted()
    stop_reason_: StopReason = fitted()
    _members: Members = fitted()

    # --- Reading -----------------------------------------------------------------------------------------

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _check_kind(self, estimator: Any) -> None:
        """Raise if an estimator does not predict the same kind of target as this one."""
        raise NotImplementedError

    def _read_target(self, y: Any, n_rows: int, rows: Rows | None) -> Target:
        raise NotImplementedError

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Given:
        validate(self)
        given = read_for_fit(self, X, y, sample_weight)
        refuse_ensemble_beyond_memory(self.n_estimators)
        rounds = Rounds(
            n_rounds=self.n_estimators,
            learning_rate=self.learning_rate,
            resample=given.resample,
            keep_weights=self.keep_weights,
            key=given.key,
            clock=Clock(self.time_budget),
        )
        with listening(self.verbose, type(self).__name__) as listener:
            boosted = self._boost(given, starting_weights(given.weights, given.n_rows), rounds, listener)
        self._remember(given, boosted)
        return given

    def _boost(self, given: Given, weights: FloatArray, rounds: Rounds, listener: Listener) -> Boosted:
        raise NotImplementedError

    def _remember(self, given: Given, boosted: Boosted) -> None:
        """Store the result of a fit; called when nothing can fail any more."""
        self._members = given.learner.gather(boosted.members)
        self.estimator_errors_ = np.array(boosted.errors)
        self.estimator_weights_ = np.array(boosted.weights)
        self.stop_reason_ = boosted.stop_reason
        self.n_features_in_ = given.n_features
        for name in ("feature_names_in_", "sample_weights_"):  # of an earlier fit
            vars(self).pop(name, None)
        if given.feature_names is not None:
            self.feature_names_in_ = np.array(given.feature_names, dtype=object)
        if self.keep_weights:
            self.sample_weights_ = np.zeros((len(boosted.members), given.n_rows_given))
            columns = slice(None) if given.rows is None else given.rows
            self.sample_weights_[:, columns] = boosted.sample_weights

    # --- Members -----------------------------------------------------------------------------------------

    @property
    def estimators_(self) -> list[Any]:
        """The members, in the order of the rounds."""
        check_is_fitted(self)
        return self._members.estimators()

    @property
    def estimator_(self) -> Any:
        """The estimator that was boosted: `estimator`, or the default."""
        check_is_fitted(self)
        return self._default_estimator() if self.estimator is None else self.estimator

    def first(self, m: int) -> Self:
        """Return the model after its first `m` rounds, as a fit with n_estimators=m would have made it."""
        check_is_fitted(self)
        there_are = len(self.estimator_weights_)
        m = members_to_keep(m, there_are, what="rounds")
        kept = {"sample_weights_": self.sample_weights_[:m]} if hasattr(self, "sample_weights_") else {}
        return copy_of(
            self,
            m,
            _members=self._members.first(m),
            estimator_errors_=self.estimator_errors_[:m],
            estimator_weights_=self.estimator_weights_[:m],
            stop_reason_=self.stop_reason_ if m == there_are else "n_estimators",
            **kept,
        )

    @property
    def _model(self) -> Ensemble:
        """The trees, if the members are trees whose leaves add up."""
        try:
            return self._trees.model
        except ValueError as error:
            raise AttributeError(str(error)) from None

    @property
    def _trees(self) -> TreeMembers:
        members = self._members
        if isinstance(members, TreeMembers):
            return members
        if not isinstance(members, OtherMembers) or not members.are_trees:
            raise AttributeError(f"the members of this {type(self).__name__} are not trees of hornbeam")
        labels = self._class_labels()
        return members.as_trees(labels[0] if labels else None)

    def _reading(self, tree: _core.Tree) -> TreeReading:
        """Combine a tree with the names that make it readable."""
        return self._trees.reading(tree)

    def _readings(self) -> list[TreeReading]:
        if isinstance(self._members, TreeMembers):
            return [self._members.reading(tree) for tree in self._members.model.trees]
        if not isinstance(self._members, OtherMembers) or not self._members.are_trees:
            return []
        return [one._reading(one._own_tree()) for one in self._members.fitted]

    def _trees_to_explain(self) -> Ensemble:
        return self._trees.model

    def _facts_beside_trees(self) -> dict[str, Any]:
        """Return what an export needs besides the trees."""
        return {"weights": votes_of(self.estimator_weights_).tolist()}

    @property
    def feature_importances_(self) -> FloatArray:
        """The mean of the members' importances, by their weights in the vote."""
        check_is_fitted(self)
        importances = np.array(self._members.importances())
        votes = votes_of(self.estimator_weights_)
        return np.average(importances, axis=0, weights=votes if votes.any() else None)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf of each row in each member, if these are trees: rows x members."""
        check_is_fitted(self)
        model = self._trees.model
        rows = model.read(X, estimator_name=type(self).__name__)
        return model.leaves(rows, n_threads=resolve_n_jobs(self.n_jobs))

    def _rows(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._members.read(X, estimator_name=type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold: what the members take."""
        tags = super().__sklearn_tags__()
        member = self._default_estimator() if self.estimator is None else self.estimator
        if hasattr(member, "__sklearn_tags__") and not isinstance(member, type):
            tags.input_tags = get_tags(member).input_tags
        return tags


class AdaBoostClassifier(ClassifierMixin, _AdaBoost, AdaBoostClassifierOptions):
    """AdaBoost for classes: each member is fitted to what earlier ones get wrong, and they vote.

    The default member is the stump of least weighted error. For more than two classes this is SAMME.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    n_classes_ : int
        The number of classes.
    estimators_ : list
        The members.
    estimator_errors_ : array
        The weighted error of each member in its round.
    estimator_weights_ : array
        The weight of each member in the vote (beta); infinite for a member without error, which decides
        alone.
    sample_weights_ : array
        The weights of all rows in every round, with sum 1: members x rows; with keep_weights=True.
    stop_reason_ : str
        Why boosting stopped: "n_estimators", "time_budget", "no_error" (of the last member) or
        "no_better_than_chance" (as the next one would be).
    feature_importances_ : array
        The feature importances of the members, averaged by their weights.
    """

    classes_: AnyArray = fitted()
    n_classes_: int = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost members on rows X with labels y, starting from equal weights or from `sample_weight`."""
        given = self._fit(X, y, sample_weight)
        assert isinstance(given.target, ClassTarget)
        self.classes_ = given.target.classes[0]
        self.n_classes_ = len(self.classes_)
        return self

    def _default_estimator(self) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(criterion="accuracy", max_depth=1)

    def _check_kind(self, estimator: Any) -> None:
        if get_tags(estimator).estimator_type not in ("classifier", None):  # not all declare their kind
            raise ValueError(
                f"{type(self).__name__}: estimator must be a classifier; {type(estimator).__name__} is not."
            )

    def _read_target(self, y: Any, n_rows: int, rows: Rows | None) -> Target:
        name = type(self).__name__
        return read_classes(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _boost(self, given: Given, weights: FloatArray, rounds: Rounds, listener: Listener) -> Boosted:
        assert isinstance(given.target, ClassTarget)
        return boost_classes(given.learner, weights, len(given.target.classes[0]), rounds, listener)

    # --- Answers -----------------------------------------------------------------------------------------

    def _votes(self, X: Any) -> FloatArray:
        return self._votes_of(self._rows(X), range(len(self.estimator_weights_)))

    def _votes_of(self, rows: Any, members: range) -> FloatArray:
        return self._members.votes(
            rows,
            votes_of(self.estimator_weights_),
            self.classes_,
            members=members,
            n_threads=resolve_n_jobs(self.n_jobs),
        )

    def _staged_votes(self, X: Any) -> Iterator[FloatArray]:
        rows = self._rows(X)
        total: FloatArray = np.zeros((1, self.n_classes_))
        for number, weight in enumerate(self.estimator_weights_):
            said = self._members.votes(
                rows,
                np.where(np.isinf(self.estimator_weights_), 1.0, self.estimator_weights_),
                self.classes_,
                members=range(number, number + 1),
                n_threads=resolve_n_jobs(self.n_jobs),
            )
            total = said if np.isinf(weight) else total + said
            yield total

    def _scores_of(self, votes: FloatArray) -> FloatArray:
        return votes[:, 1] - votes[:, 0] if self.n_classes_ == 2 else votes

    def _shares_of(self, votes: FloatArray, *, is_certain: bool) -> FloatArray:
        """Turn votes into probabilities: the softmax of twice the votes, as exponential loss implies."""
        if is_certain:
            return votes
        shares = np.exp(2 * (votes - votes.max(axis=1, keepdims=True)))
        shares /= shares.sum(axis=1, keepdims=True)
        return np.asarray(shares)

    def _labels_of(self, votes: FloatArray) -> AnyArray:
        labels: AnyArray = self.classes_[np.argmax(votes, axis=1)]
        return labels

    def _score_sum(self) -> ScoreSum:
        """Return the votes: one sum per class or, for two, those for the second minus those for the first."""
        trees = TreeSum(self._trees.model, votes_of(self.estimator_weights_), votes=True)
        n = self.n_classes_

        def answers(scores: FloatArray) -> FloatArray:
            if n > 2:
                return self._shares_of(scores, is_certain=False)
            return (scores + 1) / 2 if self._is_certain else expit(2 * scores)

        if n == 2:
            difference = np.array([[-1.0], [1.0]])
            return ScoreSum((replace(trees, onto=difference),), np.zeros(1), answers=answers)
        is_share = self._is_certain or n == 1
        votes = ScoreSum((trees,), np.zeros(n), (n,), tuple(self.classes_.tolist()))
        return votes if is_share else replace(votes, answers=answers, sharpness=2.0)

    def _class_labels(self) -> tuple[AnyArray, ...]:
        return (self.classes_,)

    def _exact_score(self, table: Table) -> FloatArray:
        weights = votes_of(self.estimator_weights_)
        members = range(len(weights))
        votes = self._trees.votes(table, weights, self.classes_, members=members, n_threads=1)
        return np.asarray(votes[0])

    def _answer_of(self, score: FloatArray) -> tuple[Any, dict[Any, float] | None]:
        shares = self._shares_of(score[np.newaxis, :], is_certain=self._is_certain)[0]
        classes = self.classes_.tolist()
        return classes[int(np.argmax(score))], dict(zip(classes, shares.tolist(), strict=True))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the sum of the weights of the members that vote for each class: rows x classes.

        For two classes, one number: the weights for the second class minus those for the first.
        """
        return self._scores_of(self._votes(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the class with the largest sum of weights; the first of equals."""
        return self._labels_of(self._votes(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, rows x classes: proportional to e^(2 votes for the class).

        With two classes and decision function F that is 1 / (1 + e^-2F), the probability at which F has the
        least exponential loss. Many rounds make it overconfident; see `CalibratedClassifierCV`.
        """
        return self._shares_of(self._votes(X), is_certain=self._is_certain)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def _is_certain(self) -> bool:
        return bool(np.isinf(self.estimator_weights_[-1]))

    def round_by_round(self, X: Any, y: Any, *, normalised: bool = True) -> RoundByRound:
        """Replay the rounds on the X and y of the fit: weights before and after each round, margins.

        `normalised=False` uses the other form found in textbooks: weights begin at 1 and only those of
        mistakes change, by e^alpha with alpha = ln((1 - error) / error), twice the weight in the vote here.
        """
        votes = np.stack([np.asarray(member.predict(X)) for member in self.estimators_])
        return round_by_round(self, votes, np.asarray(y), normalised=normalised)

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield `decision_function` after each round."""
        for votes in self._staged_votes(X):
            yield self._scores_of(votes)

    def staged_predict(self, X: Any) -> Iterator[AnyArray]:
        """Yield `predict` after each round."""
        for votes in self._staged_votes(X):
            yield self._labels_of(votes)

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield `predict_proba` after each round."""
        for votes, weight in zip(self._staged_votes(X), self.estimator_weights_, strict=True):
            yield self._shares_of(votes, is_certain=bool(np.isinf(weight)))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy after each round."""
        for labels in self.staged_predict(X):
            yield float(accuracy_score(y, labels, sample_weight=sample_weight))


class AdaBoostRegressor(RegressorMixin, _AdaBoost, AdaBoostRegressorOptions):
    """AdaBoost for numbers (R2): each member is fitted to where the last was far off; predicts their median.

    The default member is a tree of depth 3.

    {parameters}

    Attributes
    ----------
    estimators_ : list
        The members.
    estimator_errors_ : array
        The weighted mean loss of each member in its round.
    estimator_weights_ : array
        The weight of each member in the median; infinite for a member without error, which decides alone.
    sample_weights_ : array
        The weights of all rows in every round, with sum 1: members x rows; with keep_weights=True.
    stop_reason_ : str
        Why boosting stopped: "n_estimators", "time_budget", "no_error" (of the last member) or
        "no_better_than_chance" (as the next one would be: its mean loss is 1/2 or more).
    feature_importances_ : array
        The feature importances of the members, averaged by their weights.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost members on rows X with targets y, starting from equal weights or from `sample_weight`."""
        self._fit(X, y, sample_weight)
        return self

    def _default_estimator(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(max_depth=3)

    def _check_kind(self, estimator: Any) -> None:
        if is_classifier(estimator):
            raise ValueError(
                f"{type(self).__name__}: estimator must be a regressor; {type(estimator).__name__} is not."
            )

    def _read_target(self, y: Any, n_rows: int, rows: Rows | None) -> Target:
        name = type(self).__name__
        return read_numbers(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _boost(self, given: Given, weights: FloatArray, rounds: Rounds, listener: Listener) -> Boosted:
        assert isinstance(given.target, RegressionTarget)
        targets = given.target.values[:, 0]
        return boost_numbers(given.learner, weights, targets, rounds, listener, loss=self.loss)

    def _predictions(self, X: Any) -> FloatArray:
        rows = self._rows(X)
        return self._members.predictions(rows, n_threads=resolve_n_jobs(self.n_jobs))

    def _score_sum(self) -> ScoreSum:
        """Return the trees whose median is the prediction."""
        trees = TreeSum(self._trees.model, votes_of(self.estimator_weights_))
        return ScoreSum((trees,), np.zeros(1), is_median=True)

    def _exact_score(self, table: Table) -> FloatArray:
        said = self._trees.predictions(table, n_threads=1)
        return weighted_median(said, votes_of(self.estimator_weights_))

    def predict(self, X: Any) -> FloatArray:
        """Return the weighted median of the members' predictions."""
        return weighted_median(self._predictions(X), votes_of(self.estimator_weights_))

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield `predict` after each round."""
        predictions = self._predictions(X)
        for end in range(1, predictions.shape[1] + 1):
            yield weighted_median(predictions[:, :end], votes_of(self.estimator_weights_[:end]))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield R^2 after each round."""
        truth = np.asarray(y, dtype=np.float64)
        unit = unit_of(truth)  # in which squares are finite
        for numbers in self.staged_predict(X):
            yield float(r2_score(truth / unit, numbers / unit, sample_weight=sample_weight))
