"""What stacks of classifiers and of regressors share: members as parameters, fitting, predicting, inspection.

scikit-learn's splitters are imported when they are needed: `import hornbeam` stays quick.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import Bunch, _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, has_fit_parameter

from hornbeam._optional import require
from hornbeam.data.pass_on import NotedColumns, table_to_pass_on
from hornbeam.data.target import ClassTarget, RegressionTarget, read_groups
from hornbeam.data.unseen import said_once
from hornbeam.data.weights import rows_that_count
from hornbeam.errors import member_error_for, words_of
from hornbeam.estimators.row_scores import scoring_row_by_row
from hornbeam.estimators.sharing import shares_reading
from hornbeam.estimators.stacking.answers import (
    among,
    answers_by_name,
    column_names,
    columns_of_levels,
    correlations,
    side_by_side,
)
from hornbeam.estimators.stacking.inspection import InspectableMembers
from hornbeam.estimators.stacking.metadata import Metadata, Numbering, RoutedMetadata
from hornbeam.params import StackingOptions, fitted, resolve_random_key, validate
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
from hornbeam.sklearn_bases import TransformerMixin, visual_block
from hornbeam.threads import resolve_n_jobs

__all__ = ["Stack", "final_has"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]
Target = ClassTarget | RegressionTarget
F = TypeVar("F", bound=Callable[..., Any])


def final_has(method: str) -> Callable[[F], F]:
    """Offer a method only where the final estimator has it."""

    def check(stack: Any) -> bool:
        final = getattr(stack, "final_estimator_", None)
        # Its own AttributeError explains best what is wrong.
        getattr(stack._final_template() if final is None else final, method)
        return True

    offered: Callable[[F], F] = available_if(check)
    return offered


class Stack(InspectableMembers, TransformerMixin, StackingOptions):
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
        """Yield names and members; nothing if `levels` is invalid, which fit will report."""
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
        rows, weights = rows_that_count(sample_weight, n_given)
        target = self._read_target(y, n_given, rows)
        group_numbers = None if groups is None else read_groups(groups, n_given, rows=rows)
        if rows is not None:
            X = _safe_indexing(X, rows)
        metadata = self._routed(X, weights, group_numbers)
        data = StackData(
            y=target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0],
            classes=target.classes[0] if isinstance(target, ClassTarget) else None,
            fit_options=metadata.options_of,
            n_threads=resolve_n_jobs(self.n_jobs),
        )
        with said_once():
            stacked = self._fit_levels(
                levels,
                X,
                data,
                strata=target.codes[:, 0] if isinstance(target, ClassTarget) else None,
                metadata=metadata,
                numbering=Numbering(rows, n_given),
                key=key,
            )
        final = self._fit_final(stacked, data, key)
        answers = answers_by_name(levels, stacked)
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
        self._answers = {} if seen else {n: among(one, n_given, rows) for n, one in answers.items()}
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
        metadata: Metadata,
        numbering: Numbering,
        key: int | None,
    ) -> Stacked:
        def combine(members: Sequence[Member], answers: Sequence[FloatArray]) -> Any:
            return side_by_side(X, members, answers, classes=data.classes, passthrough=self.passthrough)

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

    def _splits(self, X: Any, data: StackData, metadata: Metadata) -> list[tuple[RowArray, RowArray]]:
        from sklearn.model_selection import check_cv  # noqa: PLC0415 - slow to import, and seldom needed

        splitter = check_cv(self.cv, data.y, classifier=data.classes is not None)
        return list(splitter.split(X, data.y, **metadata.split_options))

    def _fit_final(self, stacked: Stacked, data: StackData, key: int | None) -> Any:
        final = clone(self._final_template())
        if key is not None:
            final = seeded(final, key)
        rows = stacked.final_rows
        everything = len(rows) == len(data.y)
        features = stacked.features if everything else _safe_indexing(stacked.features, rows)
        try:
            fitted = self._fitted(final, features, data.y[rows], data.fit_options("final_estimator", rows))
            _refuse_no_numbers(fitted)
            return fitted
        except Exception as error:
            raise member_error_for(error)(
                f"The final estimator, a {type(final).__name__}, failed to fit: {words_of(error)}",
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
        """Tell scikit-learn who gets metadata passed to fit: members, the final estimator, the splitter."""
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

    def _routed(self, X: Any, weights: FloatArray | None, groups: npt.NDArray[np.int32] | None) -> Metadata:
        given = {"sample_weight": weights, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given) if given else None
            return RoutedMetadata(X, groups, routed)
        if weights is not None:
            self._refuse_members_without_weights()
        return Metadata(groups, weights)

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

    def _fitted(self, final: Any, features: Any, y: npt.NDArray[Any], options: dict[str, Any]) -> Any:
        return final.fit(features, y, **options)

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

    def _stacked_features(self, X: Any) -> Any:
        """Let level after level predict; return what the final estimator sees."""
        check_is_fitted(self)
        X = table_to_pass_on(self, X, reset=False)
        features = X
        names = iter(self.stack_method_.items())
        for models in self.estimators_:
            members = [
                Member(name, model, method) for model, (name, method) in zip(models, names, strict=False)
            ]
            with said_once():
                answers = [
                    answers_of(one, scoring_row_by_row(one.estimator), features, self._classes())
                    for one in members
                ]
            features = side_by_side(
                X, members, answers, classes=self._classes(), passthrough=self.passthrough
            )
        return features

    def _asked_final(self) -> Any:
        return scoring_row_by_row(self.final_estimator_)

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

    @final_has("predict")
    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return what the final estimator predicts from the answers of the members."""
        features = self._stacked_features(X)
        predicted: npt.NDArray[Any] = self._asked_final().predict(features)
        return predicted

    # --- Looking inside ----------------------------------------------------------------------------------

    @property
    def oof_predictions_(self) -> Any:
        """The members' predictions for rows they had not seen: a data frame, a column per member and class.

        It has the rows of X. Values are missing for rows that a member had seen (under cv='holdout'), and for
        rows of weight 0.
        """
        pandas = require("pandas", purpose="A table of predictions")
        columns = {}
        for name, answers in self._unseen_answers().items():
            for j, column in enumerate(column_names(name, answers.shape[1], self._classes())):
                columns[column] = answers[:, j]
        return pandas.DataFrame(columns)

    @property
    def member_correlation_(self) -> Any:
        """The correlations between the members' out-of-fold predictions, as a data frame.

        Computed over all rows that neither has seen and, for classes, over all classes, each around its mean.
        """
        pandas = require("pandas", purpose="A table of correlations")
        answers = self._unseen_answers()
        table = correlations(answers, self._classes())
        return pandas.DataFrame(table, index=list(answers), columns=list(answers))

    def _unseen_answers(self) -> dict[str, FloatArray]:
        check_is_fitted(self)
        if not self._answers:
            raise AttributeError(
                "There are no out-of-fold answers: members were fitted before (cv='prefit'), or the model "
                "was saved with slim=True or predict_only=True."
            )
        return self._answers

    def _sk_visual_block_(self) -> Any:
        """Tell scikit-learn how to display a stack: levels below each other, members side by side."""
        block = visual_block()
        if block is None:
            raise AttributeError("this version of scikit-learn draws no blocks")
        levels = [
            block(
                "parallel", [one for _, one in level], names=[name for name, _ in level], dash_wrapped=False
            )
            for level in self.levels
        ]
        names = [f"level {number}" for number in range(1, len(levels) + 1)]
        return block("serial", [*levels, self._final_template()], names=[*names, "final"], dash_wrapped=False)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold: what all members of the first level take."""
        tags = super().__sklearn_tags__()
        try:
            first = [member for name, member in self.levels[0] if not _is_dropped(name, member)]
            inner = [get_tags(member).input_tags for member in first]
            if self.passthrough:
                inner.append(get_tags(self._final_template()).input_tags)
        except (AttributeError, TypeError, ValueError, IndexError):
            return tags  # levels are invalid, which fit will report
        for what in ("allow_nan", "sparse", "categorical", "string"):
            setattr(tags.input_tags, what, all(getattr(one, what) for one in inner))
        return tags


def _refuse_no_numbers(final: Any) -> None:
    """Refuse a linear model whose sums were too large: it would silently predict NaN."""
    kept = getattr(final, "__dict__", {})
    found = [np.asarray(kept[name]) for name in ("coef_", "intercept_") if name in kept]
    if any(one.dtype.kind == "f" and not np.isfinite(one).all() for one in found):
        raise ValueError(
            "its coefficients are not finite numbers. Count large targets and columns in other units, or "
            "give another final_estimator, such as a tree."
        )


def _makes_splits(cv: Any) -> bool:
    return isinstance(cv, int | np.integer) or hasattr(cv, "split")


def _is_dropped(name: str, member: Any) -> bool:
    if isinstance(member, str):
        if member != "drop":
            raise ValueError(f"Member {name!r} is {member!r}; give an estimator, or 'drop' to leave it out.")
        return True
    return False
