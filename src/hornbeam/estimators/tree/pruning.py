"""Pruning in estimators: by options of a fit, by a method of a fitted tree, with a log to read."""

import copy
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.growth import GrownModel
from hornbeam.estimators.validation import Validation, read_validation
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.pruning import candidates_frame, pruning_log_frame, pruning_table_frame
from hornbeam.model import Ensemble
from hornbeam.params import PruningOptions, fitted
from hornbeam.recipes.holdout import GrowingData, HeldOut, hold_out, refuse_one_class
from hornbeam.recipes.prune import (
    Judge,
    Pruned,
    PruningRecord,
    as_if_leaves,
    cut_at_alpha,
    cut_to_leaves,
    prune_by_pessimism,
    prune_by_table,
    prune_by_validation,
)
from hornbeam.threads import resolve_n_jobs

__all__ = ["Prunable"]

Target = ClassTarget | RegressionTarget

_LARGER_PART = "Set validation_fraction higher, or give X_val and y_val."


class Prunable(GrownModel, PruningOptions):
    """Base of single trees, which can be cut back after they have grown."""

    _pruning: PruningRecord | None = fitted()

    # --- In a fit ----------------------------------------------------------------------------------------

    @property
    def _wants_validation(self) -> bool:
        return self.prune == "reduced_error" or (
            self.prune == "cost_complexity" and self.prune_select == "validation"
        )

    @property
    def _draws_rows(self) -> bool:
        return self._wants_validation or self.prune == "cost_complexity"

    def _check_pruning(self, target: Target, validation: Validation, *, with_groups: bool) -> None:
        """Refuse what pruning would ignore."""
        if self.prune is not None and self.ccp_alpha > 0:
            raise ValueError(
                f"ccp_alpha={self.ccp_alpha} prunes by itself, and prune={self.prune!r} chooses for itself. "
                "Set ccp_alpha=0.0 or prune=None."
            )
        if self.prune == "pessimistic" and isinstance(target, RegressionTarget):
            raise ValueError(
                "prune='pessimistic' counts misclassified rows, and a regressor has none. Use "
                "'cost_complexity' or 'reduced_error'."
            )
        if validation.is_given and not self._wants_validation:
            raise ValueError(
                "X_val and y_val are given, but nothing would use them. Set prune='reduced_error', or "
                "prune='cost_complexity' with prune_select='validation'."
            )
        if with_groups and (validation.is_given or not self._draws_rows):
            raise ValueError(
                "groups are given, but nothing would use them: they keep rows together in the folds of "
                "prune='cost_complexity' and in the validation part that a fit draws from X."
            )

    def _read_validation(self, validation: Validation, model: Ensemble, target: Target) -> HeldOut:
        return read_validation(
            validation,
            model=model,
            target=target,
            class_weight=getattr(self, "class_weight", None),
            estimator_name=type(self).__name__,
        )

    def _grow_and_prune(
        self, data: GrowingData, model: Ensemble, held: HeldOut | None, *, n_threads: int
    ) -> tuple[_core.Tree, Pruned | None]:
        """Grow a tree on all rows, or all but a validation part, and prune it by the options."""
        rows = data.rows
        if held is None and self._wants_validation:
            fraction = self.validation_fraction
            rows, held_rows = hold_out(data.target, data.rows, fraction, data.key, data.groups)
            held = data.held_out(held_rows)
            refuse_one_class(held, what="The validation part", way_out=_LARGER_PART)
        tree = data.grow(rows)
        by_error, unit = self.prune_cost == "error", Judge.unit_for(data.target)
        judge = Judge(model, n_threads, by_error=by_error, unit=unit)
        if self.prune == "pessimistic":
            return tree, prune_by_pessimism(tree, self.prune_confidence)
        if self.prune == "reduced_error" and held is not None:
            return tree, prune_by_validation(tree, held, judge)
        if self.prune == "cost_complexity":
            judged = (
                judge.by_folds(tree, data.fold_trees(self.cv))
                if held is None
                else judge.by_validation(tree, held)
            )
            return tree, prune_by_table(tree, judged, self.prune_select, by_error=judge.by_error)
        return tree, cut_at_alpha(tree, self.ccp_alpha, by_error=False) if self.ccp_alpha > 0 else None

    def _remember_pruning(self, pruned: Pruned | None) -> None:
        """Replace the grown tree by a pruned one, and keep a log of the cuts in words."""
        if pruned is None:
            self._pruning = None
            return
        model = self._model
        grown = TreeReading(model.trees[0], model.schema, (), model.unseen, self._missing_seen)
        tests = tuple(grown.test_words(int(node)) for node in pruned.log.node)
        self._model = replace(model, trees=(pruned.tree,))
        self._pruning = PruningRecord(pruned.log, tests, pruned.table)

    # --- Of a fitted tree --------------------------------------------------------------------------------

    def pruned(
        self,
        how: Literal["reduced_error", "cost_complexity", "pessimistic"] = "cost_complexity",
        *,
        ccp_alpha: float | None = None,
        leaves: int | None = None,
        confidence: float = 0.25,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Return a copy of this fitted tree, pruned; the tree itself stays as it is.

        "reduced_error" uses the validation rows. "cost_complexity" takes the nested tree for `ccp_alpha`, the
        largest one with at most `leaves` leaves or, without either, the one with the least error on the
        validation rows. "pessimistic" only needs its `confidence`. Cross-validation grows further trees, so
        it is available only in a fit: `prune_select="cv"`.
        """
        check_is_fitted(self)
        validation = Validation(X_val, y_val, sample_weight_val)
        result = copy.copy(self)
        result._remember_pruning(self._prune_fitted(how, ccp_alpha, confidence, validation, leaves))
        return result

    def _prune_fitted(
        self,
        how: str,
        ccp_alpha: float | None,
        confidence: float,
        validation: Validation,
        leaves: int | None,
    ) -> Pruned:
        if how not in ("reduced_error", "cost_complexity", "pessimistic"):
            raise ValueError(f"how must be 'reduced_error', 'cost_complexity' or 'pessimistic'; got {how!r}.")
        if leaves is not None:
            self._check_leaves(how, ccp_alpha, leaves)
        chooses = ccp_alpha is None and leaves is None
        by_validation = how == "reduced_error" or (how == "cost_complexity" and chooses)
        if by_validation != validation.is_given:
            needs = "needs X_val and y_val" if by_validation else "has no use for X_val and y_val"
            alternative = ", or ccp_alpha, or leaves" if how == "cost_complexity" and by_validation else ""
            raise ValueError(f"pruned(how={how!r}) {needs}{alternative}.")
        tree, by_error = self._model.trees[0], self.prune_cost == "error"
        if how == "pessimistic":
            return prune_by_pessimism(tree, confidence)
        if leaves is not None:
            return cut_to_leaves(tree, leaves, by_error=by_error)
        if ccp_alpha is not None:
            return cut_at_alpha(tree, ccp_alpha, by_error=by_error)
        held = self._read_validation(validation, self._model, self._target_kind())
        judge = Judge(self._model, resolve_n_jobs(self.n_jobs), by_error, Judge.unit_for(held.target))
        if how == "reduced_error":
            return prune_by_validation(tree, held, judge)
        return prune_by_table(tree, judge.by_validation(tree, held), "validation", by_error=by_error)

    def _check_leaves(self, how: str, ccp_alpha: float | None, leaves: Any) -> None:
        if how != "cost_complexity" or ccp_alpha is not None:
            raise ValueError(
                "leaves chooses a nested tree of 'cost_complexity' by itself; leave ccp_alpha out."
            )
        if isinstance(leaves, bool) or not isinstance(leaves, int | np.integer) or leaves < 1:
            raise ValueError(f"leaves must be a whole number >= 1; got {leaves!r}.")

    def pruning_candidates(self, X_val: Any, y_val: Any, sample_weight_val: Any = None) -> Any:
        """Return, for every node with a test, the tree's validation error if the node became a leaf.

        A pandas DataFrame with a row per node: its test, the validation rows that reach it, their cost with
        the subtree and with a leaf in its place, and the error of the whole tree in that case. Reduced-error
        pruning cuts the node of least `error_if_leaf`, as long as that is no higher than the current error.
        """
        check_is_fitted(self)
        held = self._read_validation(
            Validation(X_val, y_val, sample_weight_val), self._model, self._target_kind()
        )
        judge = Judge(self._model, resolve_n_jobs(self.n_jobs), False, Judge.unit_for(held.target))
        tree = self._model.trees[0]
        found = as_if_leaves(tree, held, judge)
        reading = self._reading(tree)
        return candidates_frame(found, [reading.test_words(int(node)) for node in found.node])

    def _target_kind(self) -> Target:
        """Return a target like that of the fit, without rows."""
        classes = list(self._class_labels())
        several = self.n_outputs_ > 1
        if classes:
            return ClassTarget(np.empty((0, len(classes)), dtype=np.int32), classes, several)
        return RegressionTarget(np.empty((0, self.n_outputs_)), several)

    @property
    def pruning_log_(self) -> Any:
        """What pruning cut, in order, as a pandas DataFrame: node, test, error before and after."""
        return pruning_log_frame(self._pruning_record())

    @property
    def pruning_table_(self) -> Any:
        """The nested trees of cost-complexity pruning, as a pandas DataFrame: alpha, leaves, error."""
        return pruning_table_frame(self._pruning_record())

    def _pruning_record(self) -> PruningRecord:
        check_is_fitted(self)
        if self._pruning is None:
            raise AttributeError("The tree was not pruned: set prune or ccp_alpha, or call pruned().")
        return self._pruning
