"""Weighted means of members, with weights found on rows that they have not seen."""

from collections.abc import Iterable
from typing import Annotated, Any

from hornbeam.declare import Bounds, Check, option, option_group
from hornbeam.declare.kinds import shown
from hornbeam.params.fitting import RunOptions, TimeOptions
from hornbeam.params.values import is_list


def _members_fault(value: Iterable[Any]) -> str | None:
    members = list(value)
    if not members:
        return "There is none."
    names = []
    for member in members:
        if not (is_list(member) and len(member) == 2 and isinstance(member[0], str)):
            return f"{shown(member)} is not a pair of name and estimator."
        names.append(member[0])
    twice = [name for name in names if names.count(name) > 1]
    return f"The name {twice[0]!r} is given twice." if twice else None


Members = Annotated[
    Any, Check(phrases=("a list of (name, estimator)",), claims=is_list, fault=_members_fault)
]


@option_group
class BlendOptions(RunOptions, TimeOptions):
    """The options of `BlendClassifier` and `BlendRegressor`."""

    members: Members | None = option(
        default=None,
        help="Pairs of name and estimator; None takes boosting, a forest, extra trees, nearest neighbours "
        "and a linear model.",
        kw_only=False,
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with the remaining time; 0 prints nothing."
    )
