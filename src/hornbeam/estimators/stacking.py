"""Stacking in any number of levels: `StackingClassifier` and `StackingRegressor`.

scikit-learn's splitters, metrics and linear models are imported when they are needed: `import hornbeam` stays
quick.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import Bunch, _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_method_params,
    check_is_fitted,
    has_fit_parameter,
)

from hornbeam._optional import require
from hornbeam.data.pass_on import NotedColumns, table_to_pass_on
from hornbeam.data.target import (
    ClassTarget,
    RegressionTarget,
    read_classes,
    read_groups,
    read_numbers,
    read_weights,
)
from hornbeam.errors import MemberError
from hornbeam.estimators.sharing import shares_reading
from hornbeam.params import (
    ClassifierStackingOptions,
    StackingOptions,
    fitted,
    resolve_random_key,
    validate,
)
from hornbeam.recipes.stack import (
    Member,
    Method,
    StackData,
    Stacked,
    answers_of,
    cross_fitted,
    fitted_on_parts,
    holdout_parts,
    prefitted,
    seeded,
)
from hornbeam.sklearn_bases import ClassifierMixin, RegressorMixin, TransformerMixin
from hornbeam.threads import resolve_n_jobs

__all__ = ["StackingClassifier", "StackingRegressor", "columns_of_levels"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]
Target = ClassTarget | RegressionTarget
F = TypeVar("F", bound=Callable[..., Any])

_METHODS: tuple[Method, ...] = ("predict_proba", "decision_function", "predict")


def _final_has(method: str) -> Callable[[F], F]:
    """Offer a method only where the final estimator has it."""

    def check(stack: Any) -> bool:
        final = getattr(stack, "final_estimator_", None)
        # Its own AttributeError says best what is wrong.
        getattr(stack._final_template() if final is None else final, method)
        return True

    offered: Callable[[F], F] = available_if(check)
    return offered


class _Stacking(TransformerMixin, StackingOptions):
    """What stacks of classifiers and of regressors share.

    `_answers` holds, by member, its answers to the rows of X that it has not seen, NaN for others.
    """

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    estimators_: list[list[Any]] = fitted()
    final_estimator_: Any = fitted()
    stack_method_: dict[str, Method] = fitted()
    member_scores_: dict[str, float] = fitted()
    _answers: dict[str, FloatArray] = fitted()

    # --- Parameters: members are found by their names, whatever level they are on ------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep` also members by their names, and their parameters."""
        found: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, member in self._named():
                found[name] = member
                if hasattr(member, "get_params"):
                    found.update({f"{name}__{key}": value for key, value in member.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name: `knn=...` replaces a member, `knn__n_neighbors=3` sets its parameter."""
        if "levels" in params:
            super().set_params(levels=params.pop("levels"))
        names = {name for name, _ in self._named()}
        replaced = {name: params.pop(name) for name in [*params] if name in names}
        if replaced:
            self.levels = [
                [(name, replaced.get(name, member)) for name, member in level] for level in self.levels
            ]
        return super().set_params(**params)

    def _named(self) -> Iterator[tuple[str, Any]]:
        """Yield names and members; nothing where `levels` is not what it should be, which fit will say."""
        try:
            pairs = [(name, member) for level in self.levels for name, member in level]
        except (TypeError, ValueError):
            return
        yield from (pair for pair in pairs if isinstance(pair[0], str))

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> Target:
        validate(self)
        key = None if self.random_state is None else resolve_random_key(self.random_state)
        levels = self._levels(key)
        columns = NotedColumns()
        X = table_to_pass_on(columns, X, reset=True)
        n_given = X.shape[0]
        weights = read_weights(sample_weight, n_given)
        rows = None if weights is None or weights.all() else np.flatnonzero(weights)
        target = self._read_target(y, n_given, rows)
        group_numbers = None if groups is None else read_groups(groups, n_given, rows=rows)
        if rows is not None and weights is not None:
            X, weights = _safe_indexing(X, rows), weights[rows]
        metadata = self._routed(X, weights, group_numbers)
        data = StackData(
            y=target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0],
            classes=target.classes[0] if isinstance(target, ClassTarget) else None,
            fit_options=metadata.options_of,
            n_threads=resolve_n_jobs(self.n_jobs),
        )
        stacked = self._fit_levels(
            levels,
            X,
            data,
            strata=target.codes[:, 0] if isinstance(target, ClassTarget) else None,
            metadata=metadata,
            numbering=_Numbering(rows, n_given),
            key=key,
        )
        final = self._fit_final(stacked, data)
        answers = _answers_by_name(levels, stacked)
        methods = {member.name: member.method for level in levels for member in level}
        scores = {
            name: self._score_of(found, methods[name], target, weights) for name, found in answers.items()
        }
        self._remember_columns(columns)
        self.estimators_ = [level.fitted for level in stacked.levels]
        self.final_estimator_ = final
        self.stack_method_ = methods
        self.member_scores_ = scores
        seen = self.cv == "prefit"
        self._answers = {} if seen else {n: _among(one, n_given, rows) for n, one in answers.items()}
        return target

    def _levels(self, key: int | None) -> list[list[Member]]:
        """List the members that are not dropped, checked, with seeds if the stack has one."""
        levels = []
        for number, level in enumerate(self.levels, start=1):
            kept = [(name, member) for name, member in level if not _is_dropped(name, member)]
            if not kept:
                raise ValueError(f"{type(self).__name__}: all members of level {number} are dropped.")
            levels.append([self._member(name, member, key) for name, member in kept])
        n_parts = len(levels) + 1
        fractions = self.holdout_fractions
        if fractions is not None and self.cv != "holdout":
            raise ValueError("holdout_fractions are for cv='holdout'.")
        if fractions is not None and len(fractions) != n_parts:
            raise ValueError(
                f"holdout_fractions has {len(fractions)} entries; {len(levels)} level(s) and the final "
                f"estimator need {n_parts}."
            )
        return levels

    def _member(self, name: str, estimator: Any, key: int | None) -> Member:
        self._check_kind(f"member {name!r}", estimator)
        if self.cv == "prefit":
            check_is_fitted(estimator)
        elif key is not None:
            estimator = seeded(estimator, key)
        return Member(name, estimator, self._method_of(name, estimator), shares_reading(estimator))

    def _fit_levels(
        self,
        levels: list[list[Member]],
        X: Any,
        data: StackData,
        *,
        strata: npt.NDArray[np.int32] | None,
        metadata: "_Metadata",
        numbering: "_Numbering",
        key: int | None,
    ) -> Stacked:
        def combine(members: Sequence[Member], answers: Sequence[FloatArray]) -> Any:
            return self._combined(X, members, answers, data.classes)

        if self.cv == "prefit":
            return prefitted(levels, X, data, combine)
        if self.cv == "holdout":
            n_parts = len(levels) + 1
            parts = holdout_parts(
                [1 / n_parts] * n_parts if self.holdout_fractions is None else list(self.holdout_fractions),
                len(data.y),
                strata=strata,
                groups=metadata.groups,
                generator=np.random.default_rng(resolve_random_key(None) if key is None else key),
            )
            return fitted_on_parts(levels, X, data, parts, combine)
        splits = numbering.kept(self._splits(X, data, metadata), given=not _makes_splits(self.cv))
        return cross_fitted(levels, X, data, splits, combine)

    def _splits(self, X: Any, data: StackData, metadata: "_Metadata") -> list[tuple[RowArray, RowArray]]:
        from sklearn.model_selection import check_cv  # noqa: PLC0415 - slow to import, and seldom needed

        splitter = check_cv(self.cv, data.y, classifier=data.classes is not None)
        return list(splitter.split(X, data.y, **metadata.split_options))

    def _fit_final(self, stacked: Stacked, data: StackData) -> Any:
        final = clone(self._final_template())
        rows = stacked.final_rows
        everything = len(rows) == len(data.y)
        features = stacked.features if everything else _safe_indexing(stacked.features, rows)
        try:
            return final.fit(features, data.y[rows], **data.fit_options("final_estimator", rows))
        except Exception as error:
            raise MemberError(
                f"The final estimator, a {type(final).__name__}, failed to fit: {error}",
                member="final_estimator",
                fitted=dict(
                    zip(
                        self._kept_names(), (m for level in stacked.levels for m in level.fitted), strict=True
                    )
                ),
            ) from error

    def _remember_columns(self, columns: Any) -> None:
        self.n_features_in_ = columns.n_features_in_
        vars(self).pop("feature_names_in_", None)
        if hasattr(columns, "feature_names_in_"):
            self.feature_names_in_ = columns.feature_names_in_

    # --- Metadata ----------------------------------------------------------------------------------------

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn who gets what is passed to fit: members, the final estimator, the splitter."""
        router = MetadataRouter(owner=type(self).__name__)
        fits = MethodMapping().add(caller="fit", callee="fit")
        for name, member in self._named():
            if not _is_dropped(name, member):
                router.add(**{name: member}, method_mapping=fits)
        router.add(final_estimator=self._final_template(), method_mapping=fits)
        if hasattr(self.cv, "get_metadata_routing"):
            splits = MethodMapping().add(caller="fit", callee="split")
            router.add(splitter=self.cv, method_mapping=splits)
        return router

    def _routed(
        self, X: Any, weights: FloatArray | None, groups: npt.NDArray[np.int32] | None
    ) -> "_Metadata":
        given = {"sample_weight": weights, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given) if given else None
            return _Routed(X, groups, routed)
        if weights is not None:
            self._refuse_members_without_weights()
        return _Metadata(X, groups, weights)

    def _refuse_members_without_weights(self) -> None:
        everybody = [*self._named(), ("final_estimator", self._final_template())]
        for name, member in everybody:
            if not _is_dropped(name, member) and not has_fit_parameter(member, "sample_weight"):
                raise ValueError(
                    f"{type(self).__name__}: fit has sample_weight, but {name!r}, a {type(member).__name__}, "
                    "takes none. Leave it out of the stack, or say who gets weights: "
                    "sklearn.set_config(enable_metadata_routing=True) and set_fit_request."
                )

    # --- What classes and numbers differ in --------------------------------------------------------------

    def _read_target(self, y: Any, n_rows: int, rows: RowArray | None) -> Target:
        raise NotImplementedError

    def _check_kind(self, what: str, estimator: Any) -> None:
        raise NotImplementedError

    def _method_of(self, name: str, estimator: Any) -> Method:
        return "predict"

    def _score_of(
        self, answers: FloatArray, method: Method, target: Any, weights: FloatArray | None
    ) -> float:
        raise NotImplementedError

    def _final_template(self) -> Any:
        raise NotImplementedError

    def _classes(self) -> npt.NDArray[Any] | None:
        return None

    # --- Answers -----------------------------------------------------------------------------------------

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members of all levels, by name."""
        check_is_fitted(self)
        return Bunch(
            **dict(zip(self.stack_method_, (m for level in self.estimators_ for m in level), strict=True))
        )

    def _kept_names(self) -> list[str]:
        return [name for name, member in self._named() if not _is_dropped(name, member)]

    def _combined(
        self,
        X: Any,
        members: Sequence[Member],
        answers: Sequence[FloatArray],
        classes: npt.NDArray[Any] | None,
    ) -> Any:
        """Put answers side by side; of two classes' shares, which say the same, the second is enough."""
        columns = [_informative(member.method, found) for member, found in zip(members, answers, strict=True)]
        stacked = np.hstack(columns)
        if not self.passthrough:
            return stacked
        if sparse.issparse(X):
            return sparse.hstack([stacked, X], format="csr")
        if hasattr(X, "iloc"):
            pandas = require("pandas", purpose="Passing a data frame through")
            names = [
                name
                for member, found in zip(members, columns, strict=True)
                for name in _column_names(member.name, found.shape[1], classes)
            ]
            return pandas.concat([pandas.DataFrame(stacked, columns=names, index=X.index), X], axis=1)
        return np.hstack([stacked, np.asarray(X)])

    def _stacked_features(self, X: Any) -> Any:
        """Ask level after level; return what the final estimator sees."""
        check_is_fitted(self)
        X = table_to_pass_on(self, X, reset=False)
        features = X
        names = iter(self.stack_method_.items())
        for models in self.estimators_:
            members = [
                Member(name, model, method) for model, (name, method) in zip(models, names, strict=False)
            ]
            answers = [answers_of(member, member.estimator, features, self._classes()) for member in members]
            features = self._combined(X, members, answers, self._classes())
        return features

    def transform(self, X: Any) -> Any:
        """Return what the final estimator sees: the answers of the last level, and X if it is passed on."""
        return self._stacked_features(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Name the columns of `transform`: members, with their classes if there are more than two, then X."""
        check_is_fitted(self)
        of_table = _check_feature_names_in(self, input_features)
        names = columns_of_levels(self, self._classes())[-1]
        if self.passthrough:
            names[-len(of_table) :] = of_table
        return np.array(names, dtype=object)

    @_final_has("predict")
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return what the final estimator predicts from the answers of the members."""
        features = self._stacked_features(X)
        predicted: npt.NDArray[Any] = self.final_estimator_.predict(features)
        return predicted

    # --- Looking inside ----------------------------------------------------------------------------------

    @property
    def oof_predictions_(self) -> Any:
        """What the members said about rows they had not seen: a data frame, a column per member and class.

        It has the rows of X. Missing are rows that a member had seen (under cv='holdout'), and rows without
        weight.
        """
        pandas = require("pandas", purpose="A table of predictions")
        columns = {}
        for name, answers in self._unseen_answers().items():
            for j, column in enumerate(_column_names(name, answers.shape[1], self._classes())):
                columns[column] = answers[:, j]
        return pandas.DataFrame(columns)

    @property
    def member_correlation_(self) -> Any:
        """How alike the members answer: correlations between their out-of-fold answers, as a data frame.

        Over all rows that both have not seen and, for classes, over all classes, each around its mean.
        """
        pandas = require("pandas", purpose="A table of correlations")
        answers = self._unseen_answers()
        by_member = {name: _for_correlation(found, self._classes()) for name, found in answers.items()}
        table = np.eye(len(by_member))
        for i, one in enumerate(by_member.values()):
            for j, other in enumerate(by_member.values()):
                if i != j:
                    table[i, j] = _correlation(one, other)
        return pandas.DataFrame(table, index=list(by_member), columns=list(by_member))

    def _unseen_answers(self) -> dict[str, FloatArray]:
        check_is_fitted(self)
        if not self._answers:
            raise AttributeError(
                "There are no out-of-fold answers: members were fitted before (cv='prefit'), or the model "
                "was saved with predict_only=True."
            )
        return self._answers

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold: what all members of the first level take."""
        tags = super().__sklearn_tags__()
        try:
            first = [member for name, member in self.levels[0] if not _is_dropped(name, member)]
            inner = [get_tags(member).input_tags for member in first]
            if self.passthrough:
                inner.append(get_tags(self._final_template()).input_tags)
        except (AttributeError, TypeError, ValueError, IndexError):
            return tags  # levels are not what they should be; fit says so
        for what in ("allow_nan", "sparse", "categorical", "string"):
            setattr(tags.input_tags, what, all(getattr(one, what) for one in inner))
        return tags


class _Metadata:
    """What the members' `fit` gets besides X and y: the weights of its rows, and nothing else."""

    def __init__(self, X: Any, groups: npt.NDArray[np.int32] | None, weights: FloatArray | None) -> None:
        self.groups = groups
        self.split_options: dict[str, Any] = {"groups": groups}
        self._weights = weights

    def options_of(self, name: str, rows: RowArray) -> dict[str, Any]:
        """Return the keyword arguments of a member's fit on some rows."""
        return {} if self._weights is None else {"sample_weight": self._weights[rows]}


class _Routed(_Metadata):
    """What scikit-learn's metadata routing says that each gets."""

    def __init__(self, X: Any, groups: npt.NDArray[np.int32] | None, routed: Any) -> None:
        super().__init__(X, groups, None)
        self._X = X
        self._routes = routed
        self.split_options = {} if routed is None else dict(routed.get("splitter", Bunch(split={})).split)

    def options_of(self, name: str, rows: RowArray) -> dict[str, Any]:
        """Return the keyword arguments of a member's fit on some rows."""
        if self._routes is None:
            return {}
        options: dict[str, Any] = _check_method_params(self._X, self._routes[name].fit, indices=rows)
        return options


class _Numbering:
    """Rows without weight are left out; the others are numbered anew."""

    def __init__(self, rows: RowArray | None, n_given: int) -> None:
        self._n_rows = n_given if rows is None else len(rows)
        self._new: RowArray | None = None
        if rows is not None:
            self._new = np.full(n_given, -1)
            self._new[rows] = np.arange(len(rows))

    def kept(
        self, splits: list[tuple[RowArray, RowArray]], *, given: bool
    ) -> list[tuple[RowArray, RowArray]]:
        """Check that every row is tested once; `given` splits number the rows of X as the user did."""
        if given and self._new is not None:
            new = self._new
            splits = [(_without_gaps(new[train]), _without_gaps(new[test])) for train, test in splits]
        times = np.bincount(np.concatenate([test for _, test in splits]), minlength=self._n_rows)
        if (times != 1).any():
            row = int(np.argmax(times != 1))
            raise ValueError(
                f"cv must test every row once, so that each gets one answer; it tests row {row} "
                f"{times[row]} times. Use folds that part the rows, such as KFold, or cv='holdout'."
            )
        return splits


def _without_gaps(rows: RowArray) -> RowArray:
    return rows[rows >= 0]


def _makes_splits(cv: Any) -> bool:
    return isinstance(cv, int | np.integer) or hasattr(cv, "split")


def _is_dropped(name: str, member: Any) -> bool:
    if isinstance(member, str):
        if member != "drop":
            raise ValueError(f"Member {name!r} is {member!r}; give an estimator, or 'drop' to leave it out.")
        return True
    return False


def _informative(method: Method, answers: FloatArray) -> FloatArray:
    return answers[:, 1:] if method == "predict_proba" and answers.shape[1] == 2 else answers


def columns_of_levels(stack: Any, classes: npt.NDArray[Any] | None) -> list[list[str]]:
    """Name the columns that each level sees, and the final estimator at last."""
    of_table = list(getattr(stack, "feature_names_in_", [f"x{j}" for j in range(stack.n_features_in_)]))
    columns, methods = [of_table], iter(stack.stack_method_.items())
    for level in stack.estimators_:
        answers: list[str] = []
        for name, method in [next(methods) for _ in level]:
            several = classes is not None and len(classes) > 2 and method != "predict"
            answers += _column_names(name, len(classes) if several and classes is not None else 1, classes)
        columns.append(answers + (of_table if stack.passthrough else []))
    return columns


def _column_names(name: str, n_columns: int, classes: npt.NDArray[Any] | None) -> list[str]:
    if n_columns == 1 or classes is None:
        return [name]
    return [f"{name}_{label}" for label in classes]


def _answers_by_name(levels: Sequence[Sequence[Member]], stacked: Stacked) -> dict[str, FloatArray]:
    return {
        member.name: answers
        for members, level in zip(levels, stacked.levels, strict=True)
        for member, answers in zip(members, level.answers, strict=True)
    }


def _among(answers: FloatArray, n_given: int, rows: RowArray | None) -> FloatArray:
    """Put the answers to some rows among all rows given."""
    if rows is None:
        return answers
    result = np.full((n_given, answers.shape[1]), np.nan)
    result[rows] = answers
    return result


def _for_correlation(answers: FloatArray, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Give every member the same columns: one, or one per class."""
    if classes is None or answers.shape[1] > 1:
        return answers[:, 1:] if answers.shape[1] == 2 else answers
    if len(classes) == 2:
        return answers
    votes: FloatArray = np.where(np.isnan(answers), np.nan, answers == np.arange(len(classes)))
    return votes


def _correlation(one: FloatArray, other: FloatArray) -> float:
    both = ~np.isnan(one).any(axis=1) & ~np.isnan(other).any(axis=1)
    if not both.any():
        return float("nan")
    a, b = (values[both] - values[both].mean(axis=0) for values in (one, other))
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / size) if size > 0 else float("nan")


class StackingClassifier(ClassifierMixin, _Stacking, ClassifierStackingOptions):
    """Classifiers whose answers to rows they have not seen are what a final classifier learns from.

    {parameters}

    Attributes
    ----------
    classes_ : array
        The classes, sorted.
    estimators_ : list of lists of estimators
        The fitted members, level by level.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted final estimator.
    stack_method_ : dict
        How each member is asked.
    oof_predictions_ : DataFrame
        What the members said about rows they had not seen.
    member_scores_ : dict
        The accuracy of each member on such rows.
    member_correlation_ : DataFrame
        How alike they answer.
    """

    classes_: npt.NDArray[Any] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the stack on rows X with labels y; a splitter keeps rows of equal `groups` together."""
        target: Any = self._fit(X, y, sample_weight, groups)
        self.classes_ = target.classes[0]
        return self

    @_final_has("predict_proba")
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class shares that the final estimator gives."""
        features = self._stacked_features(X)
        shares: FloatArray = self.final_estimator_.predict_proba(features)
        return shares

    @_final_has("predict_proba")
    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: FloatArray = np.log(self.predict_proba(X))
        return logarithms

    @_final_has("decision_function")
    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores that the final estimator gives."""
        features = self._stacked_features(X)
        scores: FloatArray = self.final_estimator_.decision_function(features)
        return scores

    def _read_target(self, y: Any, n_rows: int, rows: RowArray | None) -> ClassTarget:
        name = type(self).__name__
        return read_classes(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _check_kind(self, what: str, estimator: Any) -> None:
        if not is_classifier(estimator):
            raise ValueError(f"{type(self).__name__}: {what} should be a classifier; got {estimator!r}.")

    def _method_of(self, name: str, estimator: Any) -> Method:
        wanted = _METHODS if self.stack_method == "auto" else (self.stack_method,)
        for method in wanted:
            if hasattr(estimator, method):
                return method
        raise ValueError(
            f"{type(self).__name__}: member {name!r}, a {type(estimator).__name__}, has no "
            f"{' or '.join(wanted)}. Use stack_method='auto', or make it predict probabilities."
        )

    def _final_template(self) -> Any:
        if self.final_estimator is not None:
            return self.final_estimator
        from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - slow to import, and seldom needed

        return LogisticRegression(max_iter=1000)

    def _classes(self) -> npt.NDArray[Any] | None:
        return self.classes_

    def _score_of(
        self, answers: FloatArray, method: Method, target: Any, weights: FloatArray | None
    ) -> float:
        known = ~np.isnan(answers).any(axis=1)
        if answers.shape[1] > 1:
            codes = np.argmax(answers[known], axis=1)
        elif method == "predict":
            codes = answers[known, 0].astype(np.intp)
        else:
            codes = (answers[known, 0] > 0).astype(np.intp)
        right = codes == target.codes[known, 0]
        return float(np.average(right, weights=None if weights is None else weights[known]))


class StackingRegressor(RegressorMixin, _Stacking):
    """Regressors whose answers to rows they have not seen are what a final regressor learns from.

    {parameters}

    Attributes
    ----------
    estimators_ : list of lists of estimators
        The fitted members, level by level.
    named_estimators_ : Bunch
        The same by name.
    final_estimator_ : estimator
        The fitted final estimator.
    stack_method_ : dict
        How each member is asked: always by `predict`.
    oof_predictions_ : DataFrame
        What the members said about rows they had not seen.
    member_scores_ : dict
        The coefficient of determination of each member on such rows.
    member_correlation_ : DataFrame
        How alike they answer.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Fit the stack on rows X with targets y; a splitter keeps rows of equal `groups` together."""
        self._fit(X, y, sample_weight, groups)
        return self

    def _read_target(self, y: Any, n_rows: int, rows: RowArray | None) -> RegressionTarget:
        name = type(self).__name__
        return read_numbers(y, n_rows, rows=rows, multi_output=False, estimator_name=name)

    def _check_kind(self, what: str, estimator: Any) -> None:
        if not is_regressor(estimator):
            raise ValueError(f"{type(self).__name__}: {what} should be a regressor; got {estimator!r}.")

    def _final_template(self) -> Any:
        if self.final_estimator is not None:
            return self.final_estimator
        from sklearn.linear_model import RidgeCV  # noqa: PLC0415 - slow to import, and seldom needed

        return RidgeCV()

    def _score_of(
        self, answers: FloatArray, method: Method, target: Any, weights: FloatArray | None
    ) -> float:
        from sklearn.metrics import r2_score  # noqa: PLC0415 - slow to import, and seldom needed

        known = ~np.isnan(answers).any(axis=1)
        if np.count_nonzero(known) < 2:
            return float("nan")
        of_known = None if weights is None else weights[known]
        return float(r2_score(target.values[known, 0], answers[known, 0], sample_weight=of_known))
