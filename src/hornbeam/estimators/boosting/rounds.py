"""The fit of gradient boosting: reads rows, runs the rounds, and stores the result.

`settings.py` settles the options, and `preparing.py` prepares the first round. In `recipes/boosting/`,
`boost.py` and `boost_members.py` add trees round by round, and `rounds.py` follows their progress.
Predictions are in `scores.py`.
"""

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.wording import shown
from hornbeam.declare import KeptFit
from hornbeam.estimators.boosting.begun import BoostingData, BoostingFit
from hornbeam.estimators.boosting.preparing import BoostingPreparation
from hornbeam.estimators.boosting.rows import Target
from hornbeam.estimators.boosting.settings import BoostingPlan, plan_boosting
from hornbeam.estimators.growth import warn_of_constant_columns
from hornbeam.model import Ensemble
from hornbeam.params import fitted, resolve_max_features, resolve_random_key
from hornbeam.recipes.boosting.boost import turns
from hornbeam.recipes.boosting.boost_members import MemberBoosting
from hornbeam.recipes.boosting.checkpoint import Checkpoint, digest_of
from hornbeam.recipes.boosting.losses import Loss, OwnLoss
from hornbeam.recipes.boosting.rounds import UserCodeError, Watch
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.footprint import refuse_ensemble_beyond_memory
from hornbeam.recipes.listen import listening
from hornbeam.sklearn_bases import CallbackSupportMixin
from hornbeam.warnings import LossWarning, WarmStartWarning, warn

__all__ = ["BoostingRounds"]

FloatArray = npt.NDArray[np.float64]

# The share of a time budget for rounds; new leaf values after them take about the rest.
_SHARE_OF_ROUNDS = 0.75


class BoostingRounds(CallbackSupportMixin, BoostingPreparation):
    """What the fits of the two kinds of gradient boosting share."""

    _oof_name: ClassVar[str]
    n_iter_: int = fitted()
    best_iteration_: int = fitted()
    train_score_: FloatArray = fitted()
    validation_score_: FloatArray = fitted()

    # --- Fitting -----------------------------------------------------------------------------------------

    def _fit_rounds(self, data: BoostingData, callbacks: Sequence[Any], checkpoint: Any = None) -> None:
        loss = data.loss
        loss.check(data.rows.y)
        plan = self._plan(data)
        former = self._former_trees(data, plan)
        baseline = self._baseline if self._continues() else None
        kept = None if checkpoint is None else Checkpoint(checkpoint)
        key = self._key_of_fit(data, plan) if kept is None or kept.key is None else kept.key
        begun = self._begin(data, plan, key, former, baseline)
        digest = "" if kept is None else self._digest(begun)
        if kept is not None:
            begun.target.refuse_rounding()
        resumed = None if kept is None else kept.resumed(digest, begun.encoded.schema)
        n_former = len(former) // loss.n_scores
        if not plan.early_stopping and not callbacks:  # which may end the fit after a few rounds
            refuse_ensemble_beyond_memory((plan.n_estimators - n_former) * loss.n_scores)
        fault: BaseException | None = None
        clock = self._clock(plan)
        with listening(self.verbose, f"{type(self).__name__}{plan.in_words}") as listener:
            watch = Watch(
                n_rounds=plan.n_estimators,
                listener=listener,
                model=lambda trees: copy.copy(self)._remember_rounds(begun, begun.averaged(trees), None),
                callbacks=callbacks,
                score_training=begun.score_training,
                score_validation=begun.score_validation,
                stopping=plan.stopping(self.tol),
                clock=clock,
                keep=None if kept is None else lambda watch, trees: kept.write(watch, trees, key, digest),
            )
            if resumed is None:
                watch.begin_after(former, n_former)
            else:
                n_former = len(resumed.trees) // begun.trees_per_round
                begun.boosting.go_on_after(resumed.trees)
                watch.go_on_after(resumed.trees, resumed.train_scores, resumed.validation_scores, n_former)
            loss_before = _training_loss(begun)
            try:
                begun.boosting.run(range(n_former, plan.n_estimators), watch)
            except UserCodeError as wrapped:
                fault = wrapped.__cause__
        trees = begun.boosting.trees
        if fault is not None and (len(trees) == len(former) or watch.judged_by_no_number):
            raise fault
        if watch.judged_by_no_number:
            raise ValueError(
                f"scoring={shown(self.scoring)} gave {watch.validation_scores[0]} for the rows that judge "
                "the rounds, and it is not a number in any round, so no round is the best. Give another "
                "scoring, or "
                "early_stopping=False."
            )
        if trees[0].node_count == 1 and np.ptp(begun.target.y) > 0:
            warn_of_constant_columns(begun.encoded)
        self._remember_rounds(begun, begun.finished(watch), watch)
        if fault is not None:  # the rounds before it are kept
            raise KeptFit(fault)
        if kept is not None:
            kept.remove()
        _warn_of_a_loss_that_rises(loss_before, _training_loss(begun))

    def _refuse_checkpoint(self, folder: Any) -> None:
        """Refuse a checkpoint from which a fit could not continue; called before any work."""
        if folder is None:
            return
        if self.warm_start:
            raise ValueError("checkpoint and warm_start both continue an earlier fit: use one of them.")
        if hasattr(getattr(self, "loss", ""), "gradient_hessian"):
            raise ValueError(
                "checkpoint does not go with a loss of your own: its steps cannot be computed again from the "
                "trees. Leave one of them out."
            )

    def _digest(self, begun: BoostingFit) -> str:
        """Digest everything that the rounds depend on, except a key that is drawn."""
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else None
        judged_by = self.scoring if isinstance(self.scoring, str) else type(self.scoring).__name__
        return digest_of(
            begun.encoded,
            begun.target,
            begun.settings,
            (begun.plan, seed, judged_by, self.tol, self.feature_sampling),
        )

    def _plan(self, data: BoostingData) -> BoostingPlan:
        """Settle what is "auto"; early stopping needs a score to go by."""
        loss = data.loss
        has_no_value = self.scoring == "loss" and isinstance(loss, OwnLoss) and not loss.has_value
        if has_no_value and (self.early_stopping is True or data.validation.is_given):
            raise ValueError(
                "scoring='loss' needs the value of the loss: give your loss a method loss(y, score, "
                "sample_weight), or use a scorer, for example scoring='r2'."
            )
        return plan_boosting(
            self,
            n_rows=data.rows.table.n_rows,
            n_columns=data.n_columns,
            n_scores=loss.n_scores,
            given_validation=data.validation.is_given,
            can_judge=not has_no_value,
            can_be_symmetric=self._can_be_symmetric(),
            n_groups=None if data.rows.groups is None else len(np.unique(data.rows.groups)),
        )

    def _clock(self, plan: BoostingPlan) -> Clock:
        if self.time_budget is None:
            return Clock(None)
        return Clock(self.time_budget * (_SHARE_OF_ROUNDS if plan.has_members else 1.0))

    def _key_of_fit(self, data: BoostingData, plan: BoostingPlan) -> int:
        """Draw the key of all random numbers; 0 for a fit without any, so that no generator is advanced."""
        if self._continues():
            return self._key
        draws_something = (
            plan.subsample < 1
            or resolve_max_features(plan.max_features, data.n_columns) < data.n_columns
            or (plan.early_stopping and not data.validation.is_given)
            or self._columns_of_many(data.rows.table)
        )
        return resolve_random_key(self.random_state) if draws_something else 0

    # --- Rounds on top of rounds -------------------------------------------------------------------------

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_model")

    def _former_trees(self, data: BoostingData, plan: BoostingPlan) -> tuple[_core.Tree, ...]:
        """Return the trees that a warm start continues; raise if the new rounds do not fit them."""
        if not self._continues():
            return ()
        same_columns = data.rows.table.schema == self._model.schema
        if not same_columns or not self._same_answers(data.rows.target, data.loss):
            raise ValueError(
                "warm_start continues the previous fit, but the columns, classes or loss have changed. "
                "Give the same, or set warm_start=False."
            )
        n_former = len(self._model.trees) // data.loss.n_scores
        if plan.n_estimators < n_former:
            raise ValueError(
                f"n_estimators={plan.n_estimators} must be larger or equal to the {n_former} rounds there "
                "are when warm_start==True."
            )
        if plan.n_estimators == n_former:
            warn("Warm-start fitting without increasing n_estimators does not add rounds.", WarmStartWarning)
        return self._model.trees

    def _same_answers(self, target: Target, loss: Loss) -> bool:
        return loss == self._loss

    def _remember_rounds(self, fit: BoostingFit, trees: Sequence[_core.Tree], watch: Watch | None) -> Self:
        """Store the result of a fit; called when nothing can fail any more."""
        loss = fit.target.loss
        n_kept = len(trees) // fit.trees_per_round
        self._remember_columns(fit.table, fit.missing_seen)
        self.n_iter_ = n_kept if watch is None else watch.n_done
        self.best_iteration_ = n_kept if watch is None else watch.best_round
        self.settings_ = fit.plan.public
        if watch is not None and watch.out_of_time:
            self.settings_["n_estimators"] = watch.n_done
        self._remember_scores(watch, goes_on=fit.goes_on)
        self._remember_left_out(None if watch is None else fit.left_out_answers(watch))
        self._loss, self._baseline, self._key = loss, fit.target.baseline, fit.key
        self._model = Ensemble(
            trees=tuple(trees),
            schema=fit.table.schema,
            unseen=self.unseen,
            missing_allowed=self.missing != "error",
            adds_to=turns(len(trees), loss.n_scores),
        )
        return self

    def _remember_left_out(self, answers: FloatArray | None) -> None:
        vars(self).pop(self._oof_name, None)
        if answers is not None:
            setattr(self, self._oof_name, answers)

    def _remember_scores(self, watch: Watch | None, *, goes_on: bool) -> None:
        for name, scores in (
            ("train_score_", watch.train_scores if watch else []),
            ("validation_score_", watch.validation_scores if watch else []),
        ):
            former = getattr(self, name, np.empty(0)) if goes_on else np.empty(0)
            setattr(self, name, np.concatenate([former, scores]))


def _training_loss(fit: BoostingFit) -> float | None:
    """Return the loss of the training rows, for a user-defined loss that can compute it."""
    loss, target = fit.target.loss, fit.target
    if not isinstance(loss, OwnLoss) or not loss.has_value:
        return None
    boosting = fit.boosting.members[0] if isinstance(fit.boosting, MemberBoosting) else fit.boosting
    return loss.mean(target.y, boosting.scores(), target.weights)


def _warn_of_a_loss_that_rises(before: float | None, after: float | None) -> None:
    if before is None or after is None or after <= before + 1e-9 * abs(before):
        return
    warn(
        f"The loss of the training rows has risen from {before:.6g} to {after:.6g}: the rounds have made the "
        "model worse. Check the signs of gradient_hessian against loss (both are derivatives by the score), "
        "or lower learning_rate.",
        LossWarning,
    )
