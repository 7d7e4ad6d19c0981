"""What forests and bagging share: plans of draws, and members added on top of old ones."""

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.content import Rows
from hornbeam.data.target import read_groups
from hornbeam.estimators.first_members import copy_of
from hornbeam.estimators.sequenced import Sequenced
from hornbeam.params import BagOptions, fitted, resolve_random_key
from hornbeam.recipes.bag import Bag, BagPlan, fill, fill_until_settled, plan_draws
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.footprint import refuse_ensemble_beyond_memory
from hornbeam.recipes.listen import listening
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.warnings import MembersWarning, WarmStartWarning, warn

__all__ = ["BagModel", "warn_of_equal_trees"]

FloatArray = npt.NDArray[np.float64]
Member = TypeVar("Member")

# What fit sets only on request; a later fit without the request removes it again.
_OPTIONAL = (
    "oob_score_",
    "oob_curve_",
    "oob_prediction_",
    "oob_decision_function_",
    "in_bag_",
    "_oob_errors",
    "_leaf_rows",
)


def warn_of_equal_trees(name: str, n_trees: int, *, weighted: bool) -> None:
    """Warn that all members are one tree; with weights in scikit-learn's words, for filters."""
    first = f"When fitting {name} with sample_weight it" if weighted else f"With {name} it"
    warn(
        f"{first} is recommended to use bootstrap=True: as it is, every member gets all rows and all "
        f"columns, so that all {n_trees} are the same tree. Or set max_samples or max_features below 1.0.",
        MembersWarning,
    )


class BagModel(Sequenced, BagOptions):
    """Base of the estimators whose members see samples of the rows."""

    oob_score_: float = fitted()
    oob_curve_: FloatArray = fitted()
    _plan: BagPlan = fitted()
    _n_rows_given: int = fitted()
    _rows_given: Rows | None = fitted()

    def _with_members(self, m: int, **members: Any) -> Self:
        """Return a copy with the first members, without the results of all of them."""
        gone = {"oob_score": False, **({"keep": None} if hasattr(self, "keep") else {})}
        result = copy_of(self, m, **gone, **members)
        for name in _OPTIONAL:
            vars(result).pop(name, None)
        return result

    def _forget_out_of_bag(self) -> Self:
        """Remove out-of-bag predictions and scores, which reveal something of every row; return the model."""
        self.oob_score = False
        for name in ("oob_score_", "oob_curve_", "oob_prediction_", "oob_decision_function_", "_oob_errors"):
            vars(self).pop(name, None)
        return self

    # --- Draws -------------------------------------------------------------------------------------------

    def _make_plan(
        self,
        rows: npt.NDArray[np.uint32],
        n_rows: int,
        *,
        groups: npt.NDArray[np.int32] | None,
        strata: npt.NDArray[np.int32] | None,
        weights: FloatArray | None = None,
        key: int,
    ) -> BagPlan:
        """Plan the draws of this fit from `rows` of the table."""
        plan = plan_draws(
            rows,
            n_rows,
            key=key,
            with_replacement=self.bootstrap,
            max_samples=self.max_samples,
            groups=groups,
            strata=strata,
            weights=weights,
        )
        if self._wants_out_of_bag() and not plan.leaves_rows_out:
            raise ValueError(
                "Out of bag estimation only available if bootstrap=True, or max_samples below 1.0: else "
                "every sample has every row. It is asked for by oob_score, by n_estimators='auto' and by "
                "keep='oob'."
            )
        return plan

    def _wants_out_of_bag(self) -> bool:
        return self.oob_score is not False or self.n_estimators == "auto"

    def _read_groups(self, groups: Any, n_rows: int, rows: Rows | None) -> npt.NDArray[np.int32] | None:
        return None if groups is None else read_groups(groups, n_rows, rows=rows)

    @property
    def estimators_samples_(self) -> list[npt.NDArray[np.int32]]:
        """The rows of X in each member's sample, as often as they were drawn; drawn again at each access."""
        check_is_fitted(self)
        return [self._sample_of(member) for member in range(self._n_members)]

    def _sample_of(self, member: int) -> npt.NDArray[np.int32]:
        rows = np.arange(self._plan.n_rows) if self._rows_given is None else self._rows_given
        return np.repeat(rows, self._plan.times(member)).astype(np.int32)  # as scikit-learn has them

    @property
    def _n_members(self) -> int:
        raise NotImplementedError

    # --- Members on top of members -----------------------------------------------------------------------

    def _key_of_fit(self) -> int:
        """Draw a key; a warm start keeps the old one, so that 50 + 50 members equal 100."""
        return self._plan.key if self._continues() else resolve_random_key(self.random_state)

    def _continues(self) -> bool:
        return bool(self.warm_start) and hasattr(self, "_plan")

    def _members_to_add(self, n_rows: int) -> range:
        """Number the members that this fit makes; raise if they do not fit the existing ones."""
        n_former = self._n_members if self._continues() else 0
        if self.n_estimators == "auto":
            if n_former:
                raise ValueError(
                    "warm_start adds members up to a fixed number, but n_estimators is 'auto': "
                    "use one or the other."
                )
            return range(0)
        if n_former and self._plan.n_rows != n_rows:
            raise ValueError(
                f"warm_start continues the last fit, which had {self._plan.n_rows} rows; X now has {n_rows}. "
                "Give the same X, or set warm_start=False."
            )
        if self.n_estimators < n_former:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to the {n_former} members there "
                "are when warm_start==True."
            )
        if n_former and self.n_estimators == n_former:
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                WarmStartWarning,
            )
        refuse_ensemble_beyond_memory(int(self.n_estimators) - n_former)
        return range(n_former, int(self.n_estimators))

    def _fill(
        self, bag: Bag[Member], members: range, former: Sequence[Member], out_of_bag: OutOfBag | None
    ) -> list[Member]:
        """Make the members of this fit, in addition to earlier ones."""
        clock = Clock(self.time_budget)
        with listening(self.verbose, type(self).__name__) as listener:
            if self.n_estimators == "auto" and out_of_bag is not None:
                return fill_until_settled(bag, out_of_bag, listener, clock)
            return fill(bag, members, former, out_of_bag, listener, clock=clock)

    def _remember_draws(
        self, plan: BagPlan, n_rows_given: int, rows_given: Rows | None, optional: Mapping[str, Any]
    ) -> None:
        """Store the draws of this fit, and what it should keep; nothing of an earlier fit stays."""
        self._plan = plan
        self._n_rows_given = n_rows_given
        self._rows_given = rows_given
        for name in _OPTIONAL:
            vars(self).pop(name, None)
        vars(self).update(optional)

    def _among_rows_given(self, answers: FloatArray, n_rows_given: int, rows: Rows | None) -> FloatArray:
        """Align predictions with the rows of X; rows of weight 0 have none."""
        if rows is None:
            return answers
        everything = np.full((n_rows_given, *answers.shape[1:]), np.nan)
        everything[rows] = answers
        return everything
