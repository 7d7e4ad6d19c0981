"""Levels of members, each of which learns from the predictions of the one below."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from hornbeam.declare import Check, option, option_group
from hornbeam.declare.kinds import shown
from hornbeam.params.fitting import RunOptions
from hornbeam.params.values import CountFromTwo, Estimator, Fractions, Splits, is_list


def _levels_fault(value: Iterable[Any]) -> str | None:
    levels = list(value)
    if not levels:
        return "There is no level."
    for number, level in enumerate(levels, start=1):
        if _is_member(level):
            return "A level is a list of members: write levels=[[...]]."
        if not is_list(level):
            return f"Level {number} is {shown(level)}."
        if not len(level):
            return f"Level {number} is empty."
        odd = [member for member in level if not _is_member(member)]
        if odd:
            return f"Level {number} holds {shown(odd[0])}, not a pair of name and estimator."
    return _names_fault([name for level in levels for name, _ in level])


def _is_member(value: Any) -> bool:
    return is_list(value) and len(value) == 2 and isinstance(value[0], str) and not is_list(value[1])


def _names_fault(names: Sequence[str]) -> str | None:
    for name in names:
        if names.count(name) > 1:
            return f"The name {name!r} is given twice; names are unique over all levels."
        if "__" in name or not name:
            return f"The name {name!r} is empty or has two underscores, which mark parameters of members."
        if name in ClassifierStackingOptions._options or name == "splitter":
            return f"The name {name!r} is that of a parameter of the stack."
    return None


Levels = Annotated[
    Any,
    Check(phrases=("a list of lists of (name, estimator)",), claims=is_list, fault=_levels_fault),
]


@option_group
class StackingOptions(RunOptions):
    """The options of `StackingRegressor`, which `StackingClassifier` shares."""

    levels: Levels = option(
        kw_only=False,
        help="The levels, each a list of (name, estimator) with names that are unique over all levels; "
        "'drop' instead of an estimator leaves it out.",
    )
    final_estimator: Estimator | None = option(
        default=None,
        help="The estimator that learns from the predictions of the last level; None takes scikit-learn's "
        "logistic regression "
        "or ridge regression.",
    )
    cv: CountFromTwo | Splits | Literal["holdout", "prefit"] = option(
        default=5,
        help="Folds in which members predict rows they have not seen: a number, a splitter, pairs of row "
        "positions; 'holdout' gives each level rows of its own, 'prefit' takes members that are already "
        "fitted.",
    )
    holdout_fractions: Fractions | None = option(
        default=None,
        help="Shares of the rows for each level and the final estimator under cv='holdout'; None: equal.",
    )
    passthrough: bool = option(
        default=False, help="Whether levels above the first and the final estimator also see X."
    )


@option_group
class ClassifierStackingOptions(StackingOptions):
    """The options of `StackingClassifier`."""

    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = option(
        default="auto",
        help="The method of members that is called; 'auto' takes the first of the three that a member has.",
    )
