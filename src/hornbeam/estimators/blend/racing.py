"""The members of a blend, one after the other, while there is time.

Each is fitted on all rows and predicts rows that it has not seen (`recipes/left_out.py`). The clock is
checked before each; members that are not finished in time are left out of the blend. Boosting is given a time
limit.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from hornbeam.errors import member_error_for, words_of
from hornbeam.recipes.clock import Clock, OutOfTimeError
from hornbeam.recipes.left_out import fitted_and_left_out, leaves_rows_out
from hornbeam.recipes.listen import Listener
from hornbeam.recipes.stack import DealtRows, Member, Splits, StackData

__all__ = ["Finisher", "as_it_went", "race"]

FloatArray = npt.NDArray[np.float64]

# How much of the remaining time a member that can end in time may take, if others follow.
_SHARE_OF_ONE = 0.75


@dataclass(frozen=True, eq=False)
class Finisher:
    """A member that was fitted in time, and its answers to rows that it has not seen."""

    name: str
    fitted: Any
    answers: FloatArray
    seconds: float


def race(
    members: Sequence[Member],
    X: Any,
    data: StackData,
    splits: Splits,
    *,
    clock: Clock,
    listener: Listener,
    may_fail: Collection[str],
) -> tuple[list[Finisher], dict[str, str]]:
    """Fit members while there is time; return them, and why others are missing.

    A member that fails is left out if it `may_fail`; for members given by the user the error is raised.
    """
    finished: list[Finisher] = []
    failures: dict[str, str] = {}
    table = DealtRows(X, members)
    listener.expect(len(members))
    for number, member in enumerate(members):
        before = clock.spent
        try:
            if finished:
                clock.check()
            limited = _limited(member, clock, is_last=number == len(members) - 1)
            fitted, answers = fitted_and_left_out(limited, table, data, splits, clock)
        except OutOfTimeError:
            failures[member.name] = "there was no time left for it"
        except Exception as error:
            if member.name not in may_fail:
                raise member_error_for(error)(
                    f"Member {member.name!r}, a {type(member.estimator).__name__}, failed: {words_of(error)}",
                    member=member.name,
                    fitted={one.name: one.fitted for one in finished},
                ) from error
            failures[member.name] = " ".join(f"{type(error).__name__}: {error}".split())
        else:
            finished.append(Finisher(member.name, fitted, answers, clock.spent - before))
        listener.done(number + 1, member.name)
    return finished, failures


def _limited(member: Member, clock: Clock, *, is_last: bool) -> Member:
    """Give a member that can end in time its share of the remaining time.

    Not to a member that is fitted in folds: ending each of them early would give a model that no settings
    reproduce.
    """
    can_end = "time_budget" in member.estimator.get_params(deep=False) and leaves_rows_out(member.estimator)
    if not np.isfinite(clock.left) or not can_end:
        return member
    seconds = max(clock.left, 1e-3) * (1.0 if is_last else _SHARE_OF_ONE)
    limited = clone(member.estimator).set_params(time_budget=seconds)
    return Member(member.name, limited, member.method, member.shares_reading)


def as_it_went(fitted: Any) -> Any:
    """Return the estimator, unfitted, that gives the same model without a time limit."""
    template = clone(fitted)
    if getattr(fitted, "time_budget", None) is not None:
        finished = getattr(fitted, "settings_", None) or {"n_estimators": len(fitted.estimators_)}
        template.set_params(**finished, time_budget=None)
    return template
