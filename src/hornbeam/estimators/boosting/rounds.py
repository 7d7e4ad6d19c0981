"""The fit of gradient boosting: rows come in, rounds are run, what they made is remembered.

A fit sets validation rows aside if it is to stop early, encodes the rest into bins and has
`recipes/boost.py` add trees round by round, while `recipes/rounds.py` watches. Answers are in
`boosting_scores.py`.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded, encode
from hornbeam.data.table import Table
from hornbeam.data.target import read_offset
from hornbeam.data.units import unit_of
from hornbeam.data.weights import unequal
from hornbeam.estimators.boosting.interactions import interaction_groups
from hornbeam.estimators.boosting.rows import BoostingRows, Target, labels_of
from hornbeam.estimators.boosting.scores import BoostingScores
from hornbeam.estimators.boosting.settings import BoostingPlan, is_automatic, plan_boosting
from hornbeam.estimators.growth import rows_with_weight, warn_of_constant_columns
from hornbeam.estimators.validation import Validation, read_validation
from hornbeam.model import Ensemble, with_values_times
from hornbeam.params import fitted, resolve_max_features, resolve_random_key
from hornbeam.recipes.bag import MemberFeatures, plan_draws
from hornbeam.recipes.boost import Boosting, BoostSettings, BoostTarget, RoundDraws, turns
from hornbeam.recipes.boost_members import Member, MemberBoosting
from hornbeam.recipes.category_means import CategoryMeans
from hornbeam.recipes.footprint import refuse_hopeless_ensemble
from hornbeam.recipes.holdout import GivenRows, HeldOut, folds, hold_out, refuse_one_class
from hornbeam.recipes.listen import listening
from hornbeam.recipes.losses import Loss, OwnLoss
from hornbeam.recipes.rounds import UserCodeError, Watch
from hornbeam.sklearn_bases import CallbackSupportMixin
from hornbeam.threads import resolve_n_jobs
from hornbeam.warnings import WarmStartWarning

__all__ = ["BoostingFit", "BoostingRounds"]

FloatArray = npt.NDArray[np.float64]

# Columns of more categories are grown on as means of the target (docs/decisions/38-many-categories.md).
_MOST_CATEGORIES = 30
_FIRST_MEMBER_KEY = 2**40  # of the keys that follow from a fit's; rounds use those from 0 on
_MOST_JUDGED_ROWS = 100_000  # of the training rows; to judge them all would take longer than to learn


@dataclass(frozen=True, eq=False)
class BoostingFit:
    """A fit that has begun: what is remembered of it besides its trees, and how its rounds are run."""

    table: Table
    given: Target
    target: BoostTarget
    missing_seen: tuple[bool, ...]
    key: int
    plan: BoostingPlan
    encoded: Encoded
    means: CategoryMeans | None
    monotonic: bool
    goes_on: bool
    title: str
    boosting: Any = None  # Boosting or MemberBoosting
    score_training: Callable[[], float] | None = None
    score_validation: Callable[[Sequence[_core.Tree]], float] | None = None

    @property
    def trees_per_round(self) -> int:
        """How many trees a round adds."""
        return self.plan.n_members * self.target.loss.n_scores

    def restored(self, trees: Sequence[_core.Tree]) -> list[_core.Tree]:
        """Write trees in the user's columns."""
        return list(trees) if self.means is None else [self.means.restored(tree) for tree in trees]

    def averaged(self, trees: Sequence[_core.Tree]) -> list[_core.Tree]:
        """Divide what the trees of the members say by their number, and write them in the user's columns."""
        share = 1.0 / self.plan.n_members
        if share < 1:
            trees = [with_values_times(tree, share, self.encoded.schema) for tree in trees]
        return self.restored(trees)

    def finished(self, watch: Watch) -> list[_core.Tree]:
        """Return the trees that the model keeps: up to the best round, with values from all rows."""
        n_rounds = watch.best_round if self.plan.early_stopping else watch.n_done
        if isinstance(self.boosting, MemberBoosting) and not self.monotonic:
            return self.restored(self.boosting.refitted(n_rounds))
        # Values of all rows need not keep the order that constraints ask for.
        return self.averaged(self.boosting.trees[: n_rounds * self.trees_per_round])


class BoostingRounds(CallbackSupportMixin, BoostingScores):
    """What the fits of the two kinds of gradient boosting share."""

    settings_: dict[str, Any] = fitted()
    n_iter_: int = fitted()
    best_iteration_: int = fitted()
    train_score_: FloatArray = fitted()
    validation_score_: FloatArray = fitted()

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit_rounds(
        self,
        given: BoostingRows,
        loss: Loss,
        validation: Validation,
        offset_val: Any,
        callbacks: Sequence[Any],
        groups: npt.NDArray[np.int32] | None = None,
    ) -> None:
        loss.check(given.y)
        self._check_stopping(loss, validation)
        plan = plan_boosting(
            self,
            n_rows=given.table.n_rows,
            n_answers=len(given.table.columns) * loss.n_scores,
            given_validation=validation.is_given,
        )
        former = self._former_trees(given, loss, plan)
        key = self._key_of_fit(given, plan, validation)
        begun = self._begin(given, loss, plan, key, validation, offset_val, former, groups)
        n_former = len(former) // loss.n_scores
        if not plan.early_stopping and not callbacks:  # which may end the fit after a few rounds
            refuse_hopeless_ensemble((plan.n_estimators - n_former) * loss.n_scores)
        fault: BaseException | None = None
        with listening(self.verbose, begun.title) as listener:
            watch = Watch(
                n_rounds=plan.n_estimators,
                listener=listener,
                model=lambda trees: copy.copy(self)._remember_rounds(begun, begun.averaged(trees), None),
                callbacks=callbacks,
                score_training=begun.score_training if begun.score_validation or self.verbose else None,
                score_validation=begun.score_validation,
                stopping=plan.stopping(self.tol),
            )
            watch.begin_after(former, n_former)
            try:
                begun.boosting.run(range(n_former, plan.n_estimators), watch)
            except UserCodeError as wrapped:
                fault = wrapped.__cause__
        trees = begun.boosting.trees
        if fault is not None and len(trees) == len(former):
            raise fault
        if trees[0].node_count == 1 and np.ptp(begun.target.y) > 0:
            warn_of_constant_columns(begun.encoded, stacklevel=5)
        self._remember_rounds(begun, begun.finished(watch), watch)
        if fault is not None:  # the rounds before it are kept
            raise fault

    def _key_of_fit(self, given: BoostingRows, plan: BoostingPlan, validation: Validation) -> int:
        """Draw the key of all random numbers; 0 for a fit that draws none, so that it moves no generator."""
        if self._continues():
            return self._key
        draws_something = (
            plan.subsample < 1
            or self._n_features_drawn(plan, len(given.table.columns)) < len(given.table.columns)
            or (plan.early_stopping and not validation.is_given)
            or self._has_many_categories(given.table)
        )
        return resolve_random_key(self.random_state) * draws_something

    def _begin(
        self,
        given: BoostingRows,
        loss: Loss,
        plan: BoostingPlan,
        key: int,
        validation: Validation,
        offset_val: Any,
        former: Sequence[_core.Tree],
        groups: npt.NDArray[np.int32] | None,
    ) -> "BoostingFit":
        """Prepare everything that the first round needs."""
        automatic = plan.early_stopping and is_automatic(self) and not validation.is_given
        rows = rows_with_weight(given.table.n_rows, given.weights)
        judged = None
        if automatic:
            grown_on = given if len(rows) == given.table.n_rows else given.take(rows)
        else:
            grown_on, judged = self._set_aside(given, loss, plan, validation, offset_val, key, groups)
        n_threads = resolve_n_jobs(self.n_jobs)
        means = self._category_means(grown_on, key)
        table = grown_on.table if means is None else means.table
        encoded = encode(table, max_bins=self.max_bins, n_threads=n_threads)
        settings = self._settings(plan, encoded, grown_on, means)
        baseline = self._baseline if self._continues() else None
        target = BoostTarget.of(loss, grown_on.target, grown_on.weights, grown_on.offset, baseline)
        seen = encoded.columns_with_gaps()
        fit = BoostingFit(
            table=given.table,
            given=given.target,
            target=target,
            missing_seen=seen if means is None else means.with_gaps(grown_on.table, seen),
            key=key,
            plan=plan,
            encoded=encoded,
            means=means,
            monotonic=bool(settings.monotonic),
            goes_on=bool(former),
            title=f"{type(self).__name__}{plan.in_words if automatic else ''}",
        )
        per_round = self.feature_sampling == "tree" and settings.max_features < encoded.n_features
        drawn = MemberFeatures(settings.max_features if per_round else 0)
        if self.feature_sampling == "tree":
            settings = replace(settings, max_features=0)
        if automatic:
            members = self._members(plan, grown_on, drawn, encoded, key, groups)
            folded = MemberBoosting(encoded, target, settings, members, n_threads=n_threads)
            return replace(
                fit,
                boosting=folded,
                score_training=self._judge_training(folded.members[0], grown_on, members[0].grown_on),
                score_validation=self._judge_unseen(folded, grown_on),
            )
        draws = self._draws(plan, drawn, encoded, encoded.all_rows(), key)
        boosting = Boosting(encoded, target, settings, draws, n_threads=n_threads, former=former)
        return replace(
            fit,
            boosting=boosting,
            score_training=self._judge_training(boosting, grown_on),
            score_validation=self._judge_validation(judged, fit, n_threads) if judged else None,
        )

    def _members(
        self,
        plan: BoostingPlan,
        rows: BoostingRows,
        drawn: MemberFeatures,
        encoded: Encoded,
        key: int,
        groups: npt.NDArray[np.int32] | None,
    ) -> list[Member]:
        """Deal the rows out to parts, of which each member leaves one out."""
        n_parts = plan.n_members if plan.n_members > 1 else max(2, round(1 / plan.validation_fraction))
        parts = folds(
            rows.target, encoded.all_rows(), n_parts, key, given=GivenRows(encoded.n_rows), groups=groups
        )
        keys = _core.member_keys(key, _FIRST_MEMBER_KEY, plan.n_members)
        return [
            Member(outside, inside, self._draws(plan, drawn, encoded, outside, int(own_key)))
            for (outside, inside), own_key in zip(parts, keys, strict=False)
        ]

    def _category_means(self, rows: BoostingRows, key: int) -> CategoryMeans | None:
        if not self._has_many_categories(rows.table):
            return None
        return CategoryMeans.of(rows.table, rows.target, rows.weights, more_than=_MOST_CATEGORIES, key=key)

    def _has_many_categories(self, table: Table) -> bool:
        """Whether there are columns that are grown on as means; rounds on top of others take them as sets."""
        return (
            self.categorical_split == "auto"
            and not self.warm_start
            and any(column.kind == "categorical" and len(column.categories or ()) > _MOST_CATEGORIES for column in table.columns)
        )

    def _check_stopping(self, loss: Loss, validation: Validation) -> None:
        judges = self.early_stopping is True or is_automatic(self) or validation.is_given
        if judges and self.scoring == "loss" and isinstance(loss, OwnLoss) and not loss.has_value:
            raise ValueError(
                "scoring='loss' needs the value of the loss: give your loss a method loss(y, score, "
                "sample_weight), or use a scorer, for example scoring='r2'."
            )

    def _set_aside(
        self,
        given: BoostingRows,
        loss: Loss,
        plan: BoostingPlan,
        validation: Validation,
        offset_val: Any,
        key: int,
        groups: npt.NDArray[np.int32] | None,
    ) -> tuple[BoostingRows, BoostingRows | None]:
        """Return the rows to grow on, and those to judge by, if any."""
        rows = rows_with_weight(given.table.n_rows, given.weights)
        judged = None
        if plan.early_stopping and not validation.is_given:
            rows, held = hold_out(given.target, rows, plan.validation_fraction, key, groups)
            judged = given.take(held)
            refuse_one_class(
                HeldOut(judged.table, judged.target, judged.weights),
                what="The part set aside for early stopping",
                way_out="Give more rows, raise validation_fraction, or give X_val and y_val.",
            )
        elif validation.is_given:
            judged = self._read_validation(given, loss, validation, offset_val)
        if len(rows) < given.table.n_rows:
            given = given.take(rows)
        return given, judged

    def _read_validation(
        self, given: BoostingRows, loss: Loss, validation: Validation, offset_val: Any
    ) -> BoostingRows:
        reading = Ensemble((), given.table.schema, self.unseen, missing_allowed=self.missing != "error")
        held = read_validation(
            validation,
            model=reading,
            target=given.target,
            class_weight=getattr(self, "class_weight", None),
            estimator_name=type(self).__name__,
        )
        table = held.rows
        if not isinstance(table, Table) or (given.offset is None) != (offset_val is None):
            raise ValueError("offset and offset_val go together: give both, or neither.")
        offset = read_offset(offset_val, table.n_rows, loss.n_scores, name="offset_val")
        judged = BoostingRows(table, held.target, unequal(held.weights), offset, validation.X)
        loss.check(judged.y)
        return judged

    def _settings(
        self, plan: BoostingPlan, encoded: Encoded, rows: BoostingRows, means: CategoryMeans | None
    ) -> BoostSettings:
        """Turn the parameters into numbers, now that the data are known."""
        n_rows = encoded.n_rows
        schema = rows.table.schema
        monotonic = self._checked_monotonic(schema, rows.target)
        interactions = interaction_groups(self.interaction_cst, schema.names)
        # Limits far beyond the rows say no more than these; the core counts with fewer bits than Python.
        return BoostSettings(
            learning_rate=float(plan.learning_rate),
            best_first=self.growth == "best_first",
            max_depth=min(self.max_depth or 0, n_rows),
            max_leaf_nodes=min(plan.max_leaf_nodes or 0, n_rows + 1),
            min_samples_leaf=min(plan.min_samples_leaf, n_rows + 1),
            min_hessian_leaf=float(self.min_hessian_leaf),
            l1=float(self.l1_regularization),
            l2=float(plan.l2_regularization),
            min_split_gain=float(self.min_split_gain),
            max_features=self._n_features_drawn(plan, encoded.n_features),
            monotonic=monotonic if means is None else means.of_features(monotonic),
            interactions=interactions if means is None else means.of_groups(interactions),
            category_smoothing=float(self.categorical_smoothing),
            one_vs_rest=self.categorical_split == "one_vs_rest",
        )

    def _n_features_drawn(self, plan: BoostingPlan, n_features: int) -> int:
        return resolve_max_features(plan.max_features, n_features)

    def _draws(
        self,
        plan: BoostingPlan,
        features: MemberFeatures,
        encoded: Encoded,
        rows: npt.NDArray[np.uint32],
        key: int,
    ) -> RoundDraws:
        drawn = plan_draws(
            rows,
            encoded.n_rows,
            key=key,
            with_replacement=False,
            max_samples=float(plan.subsample),
        )
        return RoundDraws(drawn, features, encoded.n_features)

    # --- Rounds on top of rounds -------------------------------------------------------------------------

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_model")

    def _former_trees(self, given: BoostingRows, loss: Loss, plan: BoostingPlan) -> tuple[_core.Tree, ...]:
        """Return the trees that a warm start goes on with; raise if the new rounds cannot go with them."""
        if not self._continues():
            return ()
        if given.table.schema != self._model.schema or not self._same_answers(given.target, loss):
            raise ValueError(
                "warm_start goes on with the columns, classes and loss of the fit before; they have changed. "
                "Give the same, or set warm_start=False."
            )
        n_former = len(self._model.trees) // loss.n_scores
        if plan.n_estimators < n_former:
            raise ValueError(
                f"n_estimators={plan.n_estimators} must be larger or equal to the {n_former} rounds there "
                "are when warm_start==True."
            )
        if plan.n_estimators == n_former:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not add rounds.",
                WarmStartWarning,
                stacklevel=4,
            )
        return self._model.trees

    def _same_answers(self, target: Target, loss: Loss) -> bool:
        return loss == self._loss

    def _remember_rounds(self, fit: BoostingFit, trees: Sequence[_core.Tree], watch: Watch | None) -> Self:
        """Store what a fit has made; called when nothing can fail any more."""
        loss = fit.target.loss
        n_kept = len(trees) // fit.trees_per_round
        self._remember_columns(fit.table, fit.missing_seen)
        self.n_iter_ = n_kept if watch is None else watch.n_done
        self.best_iteration_ = n_kept if watch is None else watch.best_round
        self.settings_ = fit.plan.public
        self._remember_scores(watch, goes_on=fit.goes_on)
        self._loss, self._baseline, self._key = loss, fit.target.baseline, fit.key
        self._model = Ensemble(
            trees=tuple(trees),
            schema=fit.table.schema,
            unseen=self.unseen,
            missing_allowed=self.missing != "error",
            adds_to=turns(len(trees), loss.n_scores),
        )
        return self

    def _remember_scores(self, watch: Watch | None, *, goes_on: bool) -> None:
        for name, scores in (
            ("train_score_", watch.train_scores if watch else []),
            ("validation_score_", watch.validation_scores if watch else []),
        ):
            former = getattr(self, name, np.empty(0)) if goes_on else np.empty(0)
            setattr(self, name, np.concatenate([former, scores]))

    # --- Judging rounds ----------------------------------------------------------------------------------

    def _judge_training(
        self, boosting: Boosting, rows: BoostingRows, grown_on: npt.NDArray[np.uint32] | None = None
    ) -> Callable[[], float]:
        """Return a function that judges the rows that trees are grown on, or some of them if they are many."""
        numbers = np.arange(rows.table.n_rows, dtype=np.uint32) if grown_on is None else grown_on
        some = numbers[:: -(-len(numbers) // _MOST_JUDGED_ROWS)]
        judge = self._judge(boosting.target.loss, rows if len(some) == rows.table.n_rows else rows.take(some))
        return lambda: judge(boosting.scores(some))

    def _judge_unseen(
        self, boosting: MemberBoosting, rows: BoostingRows
    ) -> Callable[[Sequence[_core.Tree]], float]:
        """Return a function that judges rows by members that have not seen them."""
        some = boosting.judged_rows
        judge = self._judge(boosting.target.loss, rows if len(some) == rows.table.n_rows else rows.take(some))
        return lambda new: judge(boosting.unseen_scores())

    def _judge_validation(
        self, rows: BoostingRows, fit: BoostingFit, n_threads: int
    ) -> Callable[[Sequence[_core.Tree]], float]:
        """Return a function that adds new trees to the scores of the rows and judges these."""
        target = fit.target
        judge = self._judge(target.loss, rows)
        start = BoostTarget(target.loss, rows.target, None, target.baseline, rows.offset).start
        scores = np.array(start, order="C")[:, np.newaxis, :]

        def judge_with(new: Sequence[_core.Tree]) -> float:
            trees = tuple(fit.restored(new))
            adds_to = turns(len(trees), target.loss.n_scores)
            model = Ensemble(trees, rows.table.schema, self.unseen, adds_to=adds_to)
            model.total(rows.table, n_threads=n_threads, onto=scores)
            return judge(scores[:, 0, :])

        return judge_with

    def _judge(self, loss: Loss, rows: BoostingRows) -> Callable[[FloatArray], float]:
        """Return a function from scores to how good they are, the higher the better."""
        y, weights, scoring = rows.y, rows.weights, self.scoring
        if scoring == "loss":
            unit = unit_of(y) if loss.is_of_differences else 1.0
            return lambda scores: -loss.mean(y / unit, scores / unit, weights)
        truth = labels_of(rows.target)
        if callable(scoring):
            own, X = scoring, rows.in_own_container()
            return lambda scores: float(own(self._recorded(loss, scores, rows.target), X, truth))
        from sklearn.metrics import get_scorer  # noqa: PLC0415 - slow to import, and seldom needed

        scorer = get_scorer(scoring)
        options = {} if weights is None else {"sample_weight": weights}
        stand_in = np.zeros((len(y), 1))  # a scorer by name looks at answers only
        return lambda scores: float(
            scorer(self._recorded(loss, scores, rows.target), stand_in, truth, **options)
        )

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> Any:
        raise NotImplementedError
