"""What "auto" stands for in gradient boosting, once the table is known.

A fit is automatic if `n_estimators` is "auto": held-out rows decide how many rounds there are, and other
"auto" settings depend on the size of the table. The values come from comparisons on many tables
(docs/decisions/37-automatic-boosting.md). If `n_members` is given with early stopping, a fit is automatic
too, with a number of rounds as its limit, so that the settings of a fit that ran out of time reproduce it.
Any other fit with a number of rounds is classical: "auto" then stands for the values of LightGBM and of
hornbeam 0.1, which benchmarks and textbooks use.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hornbeam.params import BoostingOptions
from hornbeam.recipes.boosting.rounds import EarlyStopping

__all__ = ["CLASSICAL", "BoostingPlan", "plan_boosting"]


@dataclass(frozen=True)
class BoostingPlan:
    """The settings of a fit, all of them settled."""

    n_estimators: int
    learning_rate: float
    growth: Literal["best_first", "level", "symmetric", "mixed"]
    max_leaf_nodes: int | None
    min_samples_leaf: int
    l2_regularization: float
    subsample: float
    max_features: float | Literal["sqrt", "log2"] | None
    n_members: int
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    least_progress: float
    has_members: bool
    class_trees: Literal["separate", "shared"] | None = "separate"  # None for a regressor

    def stopping(self, tol: float) -> EarlyStopping | None:
        """When to end the rounds early, if at all."""
        if not self.early_stopping:
            return None
        return EarlyStopping(self.n_iter_no_change, tol, self.least_progress)

    @property
    def in_words(self) -> str:
        """What was chosen, for the title of the progress bar."""
        if not self.has_members:
            return ""
        leaves = "any number of" if self.max_leaf_nodes is None else self.max_leaf_nodes
        members = f"{self.n_members} members" if self.n_members > 1 else "1 member"
        return f" ({members}, learning_rate {self.learning_rate:.3g}, {leaves} leaves)"

    @property
    def public(self) -> dict[str, Any]:
        """The settings as a user may read them, and give them to another fit."""
        hidden = {"least_progress", "has_members"} | ({"class_trees"} if self.class_trees is None else set())
        return {name: value for name, value in vars(self).items() if name not in hidden}


CLASSICAL = BoostingPlan(
    n_estimators=100,
    learning_rate=0.1,
    growth="best_first",
    max_leaf_nodes=31,
    min_samples_leaf=20,
    l2_regularization=0.0,
    subsample=1.0,
    max_features=1.0,
    n_members=1,
    early_stopping=False,
    validation_fraction=0.1,
    n_iter_no_change=10,
    least_progress=0.0,
    has_members=False,
)

_MANY_ROWS = 2_500  # rows from which larger trees pay off
_FEWEST_ROWS = 16  # with fewer rows, nothing can be learned from held-out ones
# The number of members up to a given number of rows x columns x scores: several members cost little on small
# tables, and help most there.
_MEMBERS = ((600_000, 8), (3_000_000, 4))
_FEW_COLUMNS = 10  # going through the rows takes as long as this many columns


def plan_boosting(
    options: BoostingOptions,
    *,
    n_rows: int,
    n_columns: int,
    n_scores: int,
    given_validation: bool,
    can_judge: bool,
    can_be_symmetric: bool = True,
    n_groups: int | None = None,
) -> BoostingPlan:
    """Settle the options of a fit on a table; `can_judge` is False if rounds cannot be scored.

    If trees `can_be_symmetric`, those of every other member are, provided that there are several members and
    one score. Each member leaves out at least one of the `n_groups` groups of rows, which are never divided.
    """
    automatic = _is_automatic(options) and can_judge and n_rows >= _FEWEST_ROWS
    n_members = 1 if given_validation else _n_members(n_rows * max(n_columns, _FEW_COLUMNS) * n_scores)
    while n_groups is not None and 1 < n_members > n_groups:
        n_members //= 2
    chosen = _automatic(n_rows, n_members, has_members=not given_validation) if automatic else CLASSICAL
    if not hasattr(options, "class_trees"):
        chosen = replace(chosen, class_trees=None)
    elif automatic and n_scores > 1:
        chosen = replace(chosen, class_trees="shared")
    has_several = automatic and (n_members if options.n_members == "auto" else options.n_members) > 1
    is_free = can_be_symmetric and n_scores == 1 and options.max_leaf_nodes == "auto"
    if options.growth == "symmetric":
        chosen = _symmetric(chosen)
    elif options.growth == "mixed" or (options.growth == "auto" and has_several and is_free):
        chosen = replace(chosen, growth="mixed", min_samples_leaf=1, max_features=0.8)
    given = {name: getattr(options, name, "auto") for name in vars(chosen)}
    plan = BoostingPlan(**{**vars(chosen), **{k: v for k, v in given.items() if v != "auto"}})
    if plan.n_members & (plan.n_members - 1):
        raise ValueError(f"n_members is {plan.n_members}; it must be 1, 2, 4, 8, 16 or 'auto'.")
    if plan.n_members > 1 and not plan.has_members:
        raise ValueError(
            f"n_members={plan.n_members} goes with n_estimators='auto' or early_stopping=True, and without "
            "X_val: members are judged by rows of X that they have not seen, to find the number of rounds."
        )
    if plan.growth == "mixed" and not (plan.has_members and plan.n_members > 1):
        raise ValueError(
            "growth='mixed' goes with several members, which take turns: n_estimators='auto' or "
            "early_stopping=True, and n_members of 2 or more. This fit has one: use 'symmetric' "
            "or 'best_first'."
        )
    if plan.has_members and n_groups is not None:
        _refuse_few_groups(plan, n_groups)
    return plan


def _refuse_few_groups(plan: BoostingPlan, n_groups: int) -> None:
    if n_groups < 2:
        raise ValueError(
            "groups has a single group, and rows of a group are never divided: none would be left to judge "
            "rounds by. Leave groups out, or give n_estimators, or X_val and y_val."
        )
    if plan.n_members > n_groups:
        raise ValueError(
            f"n_members={plan.n_members} members leave out a group of rows each, but groups has {n_groups}. "
            "Give fewer members, or n_members='auto'."
        )


def _is_automatic(options: BoostingOptions) -> bool:
    """Whether the fit finds its own number of rounds."""
    if options.warm_start or options.early_stopping is False:
        return False
    asks_for_members = options.n_members != "auto" and options.early_stopping is True
    return options.n_estimators == "auto" or asks_for_members


def _automatic(n_rows: int, n_members: int, *, has_members: bool) -> BoostingPlan:
    return BoostingPlan(
        n_estimators=1_500,
        learning_rate=float(np.clip(0.1 * (n_rows / 2_000) ** 0.25, 0.08, 0.1)),
        growth="best_first",
        max_leaf_nodes=24 if n_rows >= _MANY_ROWS else 16,
        min_samples_leaf=5,
        l2_regularization=1.0,
        subsample=0.8,
        max_features=0.6,
        n_members=n_members,
        early_stopping=True,
        validation_fraction=0.1,
        n_iter_no_change=50,
        least_progress=2e-3,
        has_members=has_members,
    )


def _symmetric(plan: BoostingPlan) -> BoostingPlan:
    """Six levels; a test that is good for all nodes of a level is unlikely to fit noise in a few rows."""
    plan = replace(plan, growth="symmetric", max_leaf_nodes=64)
    return replace(plan, min_samples_leaf=1, max_features=0.8) if plan.has_members else plan


def _n_members(work: int) -> int:
    return next((members for most, members in _MEMBERS if work <= most), 1)
