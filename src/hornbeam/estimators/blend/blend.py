"""The weighted mean of several models: `BlendClassifier` and `BlendRegressor`, which `hb.best` returns.

Members are fitted one after the other, as long as there is time (`racing.py`). Weights come from their
predictions for rows they have not seen (`recipes/blend.py`); members of weight 0 are left out. A pruned tree
is fitted, too, but not as a member: users should know if it is as good as the blend, within a standard error.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch, _safe_indexing, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from hornbeam.data.pass_on import NotedColumns, table_to_pass_on
from hornbeam.data.table import read_table
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_groups, read_numbers
from hornbeam.data.task import Task
from hornbeam.data.units import unit_of
from hornbeam.data.unseen import said_once
from hornbeam.data.weights import rows_that_count
from hornbeam.estimators.blend.candidates import usual_members
from hornbeam.estimators.blend.racing import Finisher, as_it_went, race
from hornbeam.estimators.row_scores import scoring_row_by_row
from hornbeam.estimators.sharing import shares_reading
from hornbeam.estimators.stacking.inspection import InspectableMembers
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.words import named
from hornbeam.params import BlendOptions, fitted, resolve_random_key, validate
from hornbeam.recipes.blend import greedy_weights, losses_of
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.holdout import GivenRows, folds
from hornbeam.recipes.listen import listening
from hornbeam.recipes.stack import Member, Method, Splits, StackData, answers_of, seeded
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin
from hornbeam.threads import resolve_n_jobs

__all__ = ["BlendClassifier", "BlendRegressor"]

FloatArray = npt.NDArray[np.float64]
Target = ClassTarget | RegressionTarget

_FOLDS = 5
_TREE = "pruned-tree"


class Blend(InspectableMembers, BlendOptions):
    """What blends of classifiers and of regressors share; `metric_` judges the members."""

    metric_: ClassVar[str]
    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    named_estimators_: Bunch = fitted()
    weights_: dict[str, float] = fitted()
    members_: list[dict[str, Any]] = fitted()
    failures_: dict[str, str] = fitted()
    verdict_: str = fitted()
    simple_tree_: Any = fitted()
    _seed: int = fitted()

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Target:
        validate(self)
        clock = Clock(self.time_budget)
        seed = self._settled_seed()
        key = resolve_random_key(seed)
        columns = NotedColumns()
        X = table_to_pass_on(columns, X, reset=True)
        n_given = X.shape[0]
        rows, weights = rows_that_count(sample_weight, n_given)
        target = self._read_target(y, n_given, rows)
        together = None if groups is None else read_groups(groups, n_given, rows=rows)
        if rows is not None:
            X = _safe_indexing(X, rows)
        members = self._to_fit(X, key, weighted=weights is not None)
        data = StackData(
            y=target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0],
            classes=target.classes[0] if isinstance(target, ClassTarget) else None,
            fit_options=_options_of(members, weights, together),
            n_threads=resolve_n_jobs(self.n_jobs),
        )
        splits = _splits(target, key, together)
        with said_once(), listening(self.verbose, type(self).__name__) as listener:
            finished, failures = race(
                members,
                X,
                data,
                splits,
                clock=clock,
                listener=listener,
                may_fail={one.name for one in members} if self.members is None else {_TREE},
            )
        tree = next((one for one in finished if one.name == _TREE), None)
        finished = [one for one in finished if one is not tree]
        if not finished:
            name, why = next(iter(failures.items()))
            raise ValueError(f"{type(self).__name__}: no member could be fitted. {name}: {why}")
        self._remember(finished, failures, tree, _Judged(finished, target, weights))
        self._seed = seed
        self._remember_columns(columns)
        return target

    def _settled_seed(self) -> int:
        """Return a number that gives the same draws again."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return resolve_random_key(self.random_state) % 2**32

    def _to_fit(self, X: Any, key: int, *, weighted: bool) -> list[Member]:
        """List the members, with seeds, and the tree to compare with."""
        given = self.members
        if given is None:
            given = usual_members(
                self._task(), read_table(X, estimator_name=type(self).__name__), self.n_jobs
            )
        pairs = [*given, (_TREE, self._tree())]
        members = []
        for number, (name, estimator) in enumerate(pairs):
            if weighted and not has_fit_parameter(estimator, "sample_weight"):
                continue
            own = seeded(estimator, key + number)
            members.append(Member(name, own, self._method(name, own), shares_reading(own)))
        return members

    def _remember(
        self,
        finished: Sequence[Finisher],
        failures: Mapping[str, str],
        tree: Finisher | None,
        judged: "_Judged",
    ) -> None:
        weights = judged.weights()
        kept = [one for one, weight in zip(finished, weights, strict=True) if weight > 0]
        self.weights_ = {
            one.name: float(weight) for one, weight in zip(finished, weights, strict=True) if weight > 0
        }
        self.named_estimators_ = Bunch(**{one.name: one.fitted for one in kept})
        self.failures_ = {name: why for name, why in failures.items() if name != _TREE}
        self.members_ = judged.records(weights)
        self.simple_tree_ = None
        self.verdict_ = judged.in_words(weights)
        if tree is not None and judged.is_close(tree, weights):
            self.simple_tree_ = tree.fitted
            n_leaves = tree.fitted.tree_.n_leaves
            self.verdict_ += (
                f" A single pruned tree of {n_leaves} leaves is within one standard error of it: "
                "simple_tree_ has it."
            )

    def _remember_columns(self, columns: Any) -> None:
        self.n_features_in_ = columns.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(columns, "feature_names_in_"):
            self.feature_names_in_ = columns.feature_names_in_

    @property
    def settings_(self) -> dict[str, Any]:
        """Parameters with which a fit without a time limit gives the same model."""
        check_is_fitted(self)
        members = [(name, as_it_went(model)) for name, model in self.named_estimators_.items()]
        return {"members": members, "random_state": self._seed, "time_budget": None}

    # --- Answers -----------------------------------------------------------------------------------------

    def _blended(self, X: Any) -> FloatArray:
        """Add up the members' predictions, times their weights."""
        check_is_fitted(self)
        X = table_to_pass_on(self, X, reset=False)
        total: Any = 0.0
        with said_once():
            for name, model in self.named_estimators_.items():
                member = Member(name, model, self._method(name, model))
                answers = answers_of(member, scoring_row_by_row(model), X, self._classes())
                total = total + self.weights_[name] * answers
        blended: FloatArray = total
        return blended

    def first_level(self) -> dict[str, Any]:
        """Return the members by name; they all see the user's own columns."""
        check_is_fitted(self)
        return dict(self.named_estimators_)

    # --- What classes and numbers differ in --------------------------------------------------------------

    def _task(self) -> Task:
        raise NotImplementedError

    def _tree(self) -> Any:
        raise NotImplementedError

    def _read_target(self, y: Any, n_rows: int, rows: Any) -> Target:
        raise NotImplementedError

    def _method(self, name: str, estimator: Any) -> Method:
        return "predict"

    def _classes(self) -> npt.NDArray[Any] | None:
        return None

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold: what all members accept, and anything if they are not given."""
        tags = super().__sklearn_tags__()
        try:
            inner = [get_tags(member).input_tags for _, member in self.members or ()]
        except (AttributeError, TypeError, ValueError):
            return tags  # members are invalid, which fit will report
        for what in ("allow_nan", "sparse", "categorical", "string"):
            setattr(tags.input_tags, what, all(getattr(one, what) for one in inner))
        return tags


class BlendClassifier(ClassifierMixin, Blend):
    """The weighted mean of several classifiers; the weights are found on rows that they have not seen.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    named_estimators_ : Bunch
        The fitted members by name.
    weights_ : dict
        The weights of the members, which sum to 1.
    members_ : list of dicts
        The score of each member on rows it had not seen, its weight, and what it adds to the blend.
    verdict_ : str
        The result in words.
    simple_tree_ : DecisionTreeClassifier or None
        A pruned tree, if one is within a standard error of the blend.
    failures_ : dict
        Why members are missing, by name.
    settings_ : dict
        Parameters with which a fit without a time limit gives the same model.
    """

    metric_: ClassVar[str] = "log loss"
    classes_: npt.NDArray[Any] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the members on rows X with labels y; rows of equal `groups` are never divided."""
        target: Any = self._fit(X, y, sample_weight, groups)
        self.classes_ = target.classes[0]
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the weighted mean of the members' class probabilities."""
        return self._blended(X)

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class; the first of equals."""
        winners = self._blended(X).argmax(axis=1)
        labels: npt.NDArray[Any] = self.classes_[winners]
        return labels

    def _task(self) -> Task:
        return "classification"

    def _tree(self) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(prune="cost_complexity", n_jobs=self.n_jobs)

    def _read_target(self, y: Any, n_rows: int, rows: Any) -> ClassTarget:
        name = type(self).__name__
        return read_classes(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _method(self, name: str, estimator: Any) -> Method:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"{type(self).__name__}: member {name!r}, a {type(estimator).__name__}, has no predict_proba."
            )
        return "predict_proba"

    def _classes(self) -> npt.NDArray[Any]:
        return self.classes_


class BlendRegressor(RegressorMixin, Blend):
    """The weighted mean of several regressors; the weights are found on rows that they have not seen.

    {parameters}

    Attributes
    ----------
    named_estimators_ : Bunch
        The fitted members by name.
    weights_ : dict
        The weights of the members, which sum to 1.
    members_ : list of dicts
        The score of each member on rows it had not seen, its weight, and what it adds to the blend.
    verdict_ : str
        The result in words.
    simple_tree_ : DecisionTreeRegressor or None
        A pruned tree, if one is within a standard error of the blend.
    failures_ : dict
        Why members are missing, by name.
    settings_ : dict
        Parameters with which a fit without a time limit gives the same model.
    """

    metric_: ClassVar[str] = "RMSE"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the members on rows X with targets y; rows of equal `groups` are never divided."""
        self._fit(X, y, sample_weight, groups)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the weighted mean of the members' predictions."""
        return self._blended(X)[:, 0]

    def _task(self) -> Task:
        return "regression"

    def _tree(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(prune="cost_complexity", n_jobs=self.n_jobs)

    def _read_target(self, y: Any, n_rows: int, rows: Any) -> RegressionTarget:
        name = type(self).__name__
        return read_numbers(y, n_rows, rows=rows, multi_output=False, estimator_name=name)


# ------------------------------------------------------------------------------------------------------------
# Judging


class _Judged:
    """Members and the rows that all of them have predicted without having seen them."""

    def __init__(self, members: Sequence[Finisher], target: Target, row_weights: FloatArray | None) -> None:
        self._members = members
        self._metric = "log loss" if isinstance(target, ClassTarget) else "RMSE"
        known = ~np.any([np.isnan(one.answers).any(axis=1) for one in members], axis=0)
        if not known.any():
            raise ValueError("There is no row that all members have predicted without having seen it.")
        self._rows = np.flatnonzero(known)
        self._answers = [one.answers[self._rows] for one in members]
        self._y = target.numbers()[self._rows]
        self._codes = self._y.astype(np.intp) if isinstance(target, ClassTarget) else None
        self._unit = 1.0 if self._codes is not None else unit_of(self._y)  # in which squares are finite
        self._row_weights = None if row_weights is None else row_weights[self._rows]

    def weights(self) -> FloatArray:
        return greedy_weights(self._answers, self._codes, self._y, self._row_weights)

    def _mean(self, weights: FloatArray) -> FloatArray:
        mean: FloatArray = np.zeros_like(self._answers[0])
        for weight, answers in zip(weights, self._answers, strict=True):
            if weight:
                mean += weight * answers
        return mean

    def _score(self, answers: FloatArray) -> float:
        mean = float(np.average(self._losses(answers), weights=self._row_weights))
        return mean if self._codes is not None else float(np.sqrt(mean)) * self._unit

    def _losses(self, answers: FloatArray) -> FloatArray:
        if self._codes is not None:
            return losses_of(answers, self._codes, self._y)
        return losses_of(answers / self._unit, None, self._y / self._unit)

    def records(self, weights: FloatArray) -> list[dict[str, Any]]:
        """Describe the members and the blend, the best first."""
        blended = self._score(self._mean(weights))
        records = [
            {
                "member": one.name,
                self._metric: self._score(answers),
                "weight": float(weight),
                "adds": self._without(number) - blended if weight else 0.0,
                "seconds": one.seconds,
            }
            for number, (one, answers, weight) in enumerate(
                zip(self._members, self._answers, weights, strict=True)
            )
        ]
        return sorted(records, key=lambda record: record[self._metric])

    def _without(self, number: int) -> float:
        """Return the score of the blend without a member."""
        others = [answers for other, answers in enumerate(self._answers) if other != number]
        if not others:
            return float("nan")
        weights = greedy_weights(others, self._codes, self._y, self._row_weights)
        return self._score(sum(w * answers for w, answers in zip(weights, others, strict=True)))

    def in_words(self, weights: FloatArray) -> str:
        blended = self._score(self._mean(weights))
        scores = [self._score(answers) for answers in self._answers]
        best = int(np.argmin(scores))
        n_members = int(np.count_nonzero(weights))
        if n_members == 1:
            only = self._members[int(np.argmax(weights))].name
            return f"{named(only)} alone is best: {self._metric} {blended:.4g} on rows it had not seen."
        return (
            f"The mean of {n_members} members has {self._metric} {blended:.4g} on rows they had not seen; "
            f"the best of them alone, {named(self._members[best].name)}, has {scores[best]:.4g}."
        )

    def is_close(self, tree: Finisher, weights: FloatArray) -> bool:
        """Whether a tree is as good as the blend, within a standard error of the difference."""
        answers, mean = tree.answers[self._rows], self._mean(weights)
        if np.isnan(answers).any():
            return False
        if self._codes is None:
            worse = self._losses(answers) - self._losses(mean)
        else:
            wrong = [found.argmax(axis=1) != self._codes for found in (answers, mean)]
            worse = wrong[0].astype(np.float64) - wrong[1]
        return bool(worse.mean() <= worse.std() / np.sqrt(len(worse)))


def _splits(target: Target, key: int, groups: npt.NDArray[np.int32] | None) -> Splits:
    rows = np.arange(target.n_rows, dtype=np.uint32)
    n_folds = min(_FOLDS, target.n_rows if groups is None else len(np.unique(groups)))
    if n_folds < 2:
        what = f"n_samples={target.n_rows}" if groups is None else "1 group"
        raise ValueError(
            f"There is {what}: a blend needs at least two, to predict rows that its members have not seen."
        )
    pairs = folds(target, rows, n_folds, key, given=GivenRows(target.n_rows), groups=groups)
    return [(np.asarray(fit, np.intp), np.asarray(held, np.intp)) for fit, held in pairs]


def _options_of(
    members: Sequence[Member], weights: FloatArray | None, groups: npt.NDArray[np.int32] | None
) -> Any:
    """Return a function that says what a member's fit gets besides X and y, for some rows."""
    takes_groups = {one.name for one in members if has_fit_parameter(one.estimator, "groups")}

    def options(name: str, rows: npt.NDArray[np.intp]) -> dict[str, Any]:
        found: dict[str, Any] = {} if weights is None else {"sample_weight": weights[rows]}
        if groups is not None and name in takes_groups:
            found["groups"] = groups[rows]
        return found

    return options
