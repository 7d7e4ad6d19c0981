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
from hornbeam.estimators.growth import rows_with_weight, warn_of_constant_columns
from hornbeam.estimators.validation import Validation, read_validation
from hornbeam.model import Ensemble
from hornbeam.params import fitted, resolve_max_features, resolve_random_key
from hornbeam.recipes.bag import MemberFeatures, plan_draws
from hornbeam.recipes.boost import Boosting, BoostSettings, BoostTarget, RoundDraws, turns
from hornbeam.recipes.footprint import refuse_hopeless_ensemble
from hornbeam.recipes.holdout import HeldOut, hold_out, refuse_one_class
from hornbeam.recipes.listen import listening
from hornbeam.recipes.losses import Loss, OwnLoss
from hornbeam.recipes.rounds import EarlyStopping, UserCodeError, Watch
from hornbeam.sklearn_bases import CallbackSupportMixin
from hornbeam.threads import resolve_n_jobs
from hornbeam.warnings import WarmStartWarning

__all__ = ["BoostingFit", "BoostingRounds"]

FloatArray = npt.NDArray[np.float64]

_MOST_JUDGED_ROWS = 100_000  # of the training rows; to judge them all would take longer than to learn


@dataclass(frozen=True, eq=False)
class BoostingFit:
    """What of a fit is remembered besides its trees."""

    table: Table
    given: Target
    target: BoostTarget
    missing_seen: tuple[bool, ...]
    key: int
    goes_on: bool


class BoostingRounds(CallbackSupportMixin, BoostingScores):
    """What the fits of the two kinds of gradient boosting share."""

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
    ) -> None:
        n_threads = resolve_n_jobs(self.n_jobs)
        loss.check(given.y)
        self._check_stopping(loss, validation)
        draws_something = self._draws_rounds(len(given.table.columns)) or self._sets_rows_aside(validation)
        key = self._key if self._continues() else resolve_random_key(self.random_state) * draws_something
        former = self._former_trees(given, loss)
        grown_on, judged = self._set_aside(given, loss, validation, offset_val, key)
        encoded = encode(grown_on.table, max_bins=self.max_bins, n_threads=n_threads)
        settings = self._settings(encoded, grown_on.target)
        baseline = self._baseline if self._continues() else None
        target = BoostTarget.of(loss, grown_on.target, grown_on.weights, grown_on.offset, baseline)
        draws = self._draws(encoded, settings, key)
        if self.feature_sampling == "tree":
            settings = replace(settings, max_features=0)
        boosting = Boosting(encoded, target, settings, draws, n_threads=n_threads, former=former)
        fit = BoostingFit(
            given.table, given.target, target, encoded.columns_with_gaps(), key, goes_on=bool(former)
        )
        n_former = len(former) // loss.n_scores
        if not self.early_stopping and not callbacks:  # which may end the fit after a few rounds
            refuse_hopeless_ensemble((self.n_estimators - n_former) * loss.n_scores)
        fault: BaseException | None = None
        with listening(self.verbose, type(self).__name__) as listener:
            watch = Watch(
                n_rounds=self.n_estimators,
                listener=listener,
                model=lambda trees: copy.copy(self)._remember_rounds(fit, trees, None),
                callbacks=callbacks,
                score_training=self._judge_training(boosting, grown_on) if judged or self.verbose else None,
                score_validation=self._judge_validation(judged, target, n_threads) if judged else None,
                stopping=EarlyStopping(self.n_iter_no_change, self.tol) if self.early_stopping else None,
            )
            watch.begin_after(former, n_former)
            try:
                boosting.run(range(n_former, self.n_estimators), watch)
            except UserCodeError as wrapped:
                fault = wrapped.__cause__
        if fault is not None and len(boosting.trees) == len(former):
            raise fault
        if boosting.trees[0].node_count == 1 and np.ptp(grown_on.y) > 0:
            warn_of_constant_columns(encoded, stacklevel=5)
        self._remember_rounds(fit, boosting.trees, watch)
        if fault is not None:  # the rounds before it are kept
            raise fault

    def _check_stopping(self, loss: Loss, validation: Validation) -> None:
        judges = self.early_stopping or validation.is_given
        if judges and self.scoring == "loss" and isinstance(loss, OwnLoss) and not loss.has_value:
            raise ValueError(
                "scoring='loss' needs the value of the loss: give your loss a method loss(y, score, "
                "sample_weight), or use a scorer, for example scoring='r2'."
            )

    def _sets_rows_aside(self, validation: Validation) -> bool:
        return self.early_stopping and not validation.is_given

    def _set_aside(
        self, given: BoostingRows, loss: Loss, validation: Validation, offset_val: Any, key: int
    ) -> tuple[BoostingRows, BoostingRows | None]:
        """Return the rows to grow on, and those to judge by, if any."""
        rows = rows_with_weight(given.table.n_rows, given.weights)
        judged = None
        if self._sets_rows_aside(validation):
            rows, held = hold_out(given.target, rows, self.validation_fraction, key)
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

    def _settings(self, encoded: Encoded, target: Target) -> BoostSettings:
        """Turn the parameters into numbers, now that the data are known."""
        n_rows = encoded.n_rows
        # Limits far beyond the rows say no more than these; the core counts with fewer bits than Python.
        return BoostSettings(
            learning_rate=float(self.learning_rate),
            best_first=self.growth == "best_first",
            max_depth=min(self.max_depth or 0, n_rows),
            max_leaf_nodes=min(self.max_leaf_nodes or 0, n_rows + 1),
            min_samples_leaf=min(self.min_samples_leaf, n_rows + 1),
            min_hessian_leaf=float(self.min_hessian_leaf),
            l1=float(self.l1_regularization),
            l2=float(self.l2_regularization),
            min_split_gain=float(self.min_split_gain),
            max_features=resolve_max_features(self.max_features, encoded.n_features),
            monotonic=self._checked_monotonic(encoded.schema, target),
            interactions=interaction_groups(self.interaction_cst, encoded.schema.names),
            category_smoothing=float(self.categorical_smoothing),
            one_vs_rest=self.categorical_split == "one_vs_rest",
        )

    def _draws_rounds(self, n_features: int) -> bool:
        return self.subsample < 1 or resolve_max_features(self.max_features, n_features) < n_features

    def _draws(self, encoded: Encoded, settings: BoostSettings, key: int) -> RoundDraws:
        plan = plan_draws(
            encoded.all_rows(),
            encoded.n_rows,
            key=key,
            with_replacement=False,
            max_samples=float(self.subsample),
        )
        per_round = self.feature_sampling == "tree" and settings.max_features < encoded.n_features
        return RoundDraws(plan, MemberFeatures(settings.max_features if per_round else 0), encoded.n_features)

    # --- Rounds on top of rounds -------------------------------------------------------------------------

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_model")

    def _former_trees(self, given: BoostingRows, loss: Loss) -> tuple[_core.Tree, ...]:
        """Return the trees that a warm start goes on with; raise if the new rounds cannot go with them."""
        if not self._continues():
            return ()
        if given.table.schema != self._model.schema or not self._same_answers(given.target, loss):
            raise ValueError(
                "warm_start goes on with the columns, classes and loss of the fit before; they have changed. "
                "Give the same, or set warm_start=False."
            )
        n_former = len(self._model.trees) // loss.n_scores
        if self.n_estimators < n_former:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {n_former} rounds there "
                "are when warm_start==True."
            )
        if self.n_estimators == n_former:
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
        n_rounds = len(trees) // loss.n_scores
        best = n_rounds if watch is None else min(watch.best_round, n_rounds)
        kept = trees[: best * loss.n_scores] if self.early_stopping else trees
        self._remember_columns(fit.table, fit.missing_seen)
        self.n_iter_ = n_rounds
        self.best_iteration_ = best
        self._remember_scores(watch, goes_on=fit.goes_on)
        self._loss, self._baseline, self._key = loss, fit.target.baseline, fit.key
        self._model = Ensemble(
            trees=tuple(kept),
            schema=fit.table.schema,
            unseen=self.unseen,
            missing_allowed=self.missing != "error",
            adds_to=turns(len(kept), loss.n_scores),
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

    def _judge_training(self, boosting: Boosting, rows: BoostingRows) -> Callable[[], float]:
        some = slice(None, None, -(-rows.table.n_rows // _MOST_JUDGED_ROWS))
        if some.step > 1:
            rows = rows.take(np.arange(rows.table.n_rows, dtype=np.uint32)[some])
        judge = self._judge(boosting.target.loss, rows)
        return lambda: judge(boosting.scores(some))

    def _judge_validation(
        self, rows: BoostingRows, target: BoostTarget, n_threads: int
    ) -> Callable[[Sequence[_core.Tree]], float]:
        """Return a function that adds new trees to the scores of the rows and judges these."""
        judge = self._judge(target.loss, rows)
        start = BoostTarget(target.loss, rows.target, None, target.baseline, rows.offset).start
        scores = np.array(start, order="C")[:, np.newaxis, :]

        def judge_with(new: Sequence[_core.Tree]) -> float:
            model = Ensemble(
                tuple(new), rows.table.schema, self.unseen, adds_to=turns(len(new), target.loss.n_scores)
            )
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
