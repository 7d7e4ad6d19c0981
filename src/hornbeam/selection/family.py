"""The members of a comparison: from the guess that needs no columns to the ensembles, and what users add."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hornbeam.data.table import Table
from hornbeam.data.task import Task
from hornbeam.declare.kinds import did_you_mean, joined, shown
from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.blend.candidates import distances_for
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.forest.bagging import BaggingClassifier, BaggingRegressor
from hornbeam.estimators.linear import linear_model
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.estimators.stacking import StackingClassifier, StackingRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.selection.grids import defaults_first

__all__ = [
    "BASELINE",
    "LINEAR",
    "NAMES",
    "STACK",
    "Member",
    "choose_family",
    "choose_from_bins",
    "stack_of",
]

BASELINE, LINEAR, STACK = "baseline", "linear", "stacking"

# In the order of how easily they are understood: of equals, the verdict recommends the first.
NAMES = (
    *(BASELINE, LINEAR, "pruned-tree", "tree", "neighbors"),
    *("adaboost", "boosting", "forest", "extra-trees", "bagging", STACK),
)
# Members without parameters worth a search, or that find them themselves.
_NOT_SEARCHED = frozenset({BASELINE, "tree", "pruned-tree", "bagging", STACK})


@dataclass(frozen=True, eq=False)
class Member:
    """A name, an estimator or a function that fits, and the settings to search, the default first."""

    name: str
    template: Any
    settings: Sequence[Mapping[str, Any]] = ({},)
    added: bool = False

    @property
    def can_be_stacked(self) -> bool:
        """Whether a stack may have this as a member."""
        return hasattr(self.template, "fit") and self.name not in (BASELINE, "tree", STACK)


def choose_family(
    task: Task, table: Table, methods: Iterable[str] | None, add: Mapping[str, Any] | None
) -> tuple[list[Member], bool]:
    """Return the members that were asked for, those of the user last, and whether a stack is wanted."""
    wanted = _wanted(methods)
    estimators = _of_classes(table) if task == "classification" else _of_numbers(table)
    members = [
        Member(name, template, ({},) if name in _NOT_SEARCHED else defaults_first(template))
        for name, template in estimators.items()
        if name in wanted
    ]
    return [*members, *_added(add or {})], STACK in wanted


def choose_from_bins(
    task: Task, table: Table, methods: Iterable[str] | None, add: Mapping[str, Any] | None, *, max_bins: int
) -> list[Member]:
    """Return the members for a table that is in bins: those that learn from them, and the guess."""
    members, wants_stack = choose_family(task, table, methods, add)
    beyond = [
        member.name
        for member in members
        if not (member.added or member.name == BASELINE or _learns_from_bins(member.template))
    ]
    if methods is not None and (beyond or wants_stack):
        raise ValueError(
            f"{joined(map(shown, [*beyond, *([STACK] if wants_stack else [])]), 'and')} cannot learn from an "
            "EncodedTable, which holds bins and no values. Leave them out, or compare on the table in memory."
        )
    for member in members:
        if _learns_from_bins(member.template) and member.template.max_bins is None:
            member.template.set_params(max_bins=max_bins)
    return [member for member in members if member.name not in beyond]


def _learns_from_bins(template: Any) -> bool:
    return hasattr(template, "get_params") and "max_bins" in template.get_params(deep=False)


def _wanted(methods: Iterable[str] | None) -> list[str]:
    if methods is None:
        return list(NAMES)
    if isinstance(methods, str):
        raise ValueError(f"methods takes a list of names, such as [{methods!r}].")
    folded = {name.replace("-", ""): name for name in NAMES}
    chosen = [BASELINE]  # every result is shown against it
    for given in methods:
        name = folded.get(str(given).casefold().replace("-", "").replace("_", "").replace(" ", ""))
        if name is None:
            nearest = did_you_mean(str(given), NAMES) or f"There are {joined(NAMES, 'and')}."
            raise ValueError(f"methods names {shown(given)}, which is not a method of compare. {nearest}")
        chosen.append(name)
    return chosen


def _added(add: Mapping[str, Any]) -> Iterable[Member]:
    if not isinstance(add, Mapping):
        raise TypeError(f"add takes a dict from names to estimators or functions; got {shown(add)}.")
    for name, template in add.items():
        if name in NAMES:
            raise ValueError(f"add: {name!r} is a method of its own; choose another name.")
        if isinstance(template, type) or not (hasattr(template, "fit") or callable(template)):
            raise TypeError(f"add: {name!r} must be an estimator or a function; got {shown(template)}.")
        yield Member(str(name), template, added=True)


def _of_classes(table: Table) -> dict[str, Any]:
    from sklearn.dummy import DummyClassifier  # noqa: PLC0415

    return {
        BASELINE: DummyClassifier(strategy="prior"),
        LINEAR: linear_model("classification"),
        "tree": DecisionTreeClassifier(),
        "pruned-tree": DecisionTreeClassifier(prune="cost_complexity"),
        "neighbors": KNeighborsClassifier(**distances_for(table)),
        "adaboost": AdaBoostClassifier(),
        "boosting": GradientBoostingClassifier(),
        "forest": RandomForestClassifier(),
        "extra-trees": ExtraTreesClassifier(),
        "bagging": BaggingClassifier(n_estimators=50),
    }


def _of_numbers(table: Table) -> dict[str, Any]:
    from sklearn.dummy import DummyRegressor  # noqa: PLC0415

    return {
        BASELINE: DummyRegressor(),
        LINEAR: linear_model("regression"),
        "tree": DecisionTreeRegressor(),
        "pruned-tree": DecisionTreeRegressor(prune="cost_complexity"),
        "neighbors": KNeighborsRegressor(**distances_for(table)),
        "adaboost": AdaBoostRegressor(),
        "boosting": GradientBoostingRegressor(),
        "forest": RandomForestRegressor(),
        "extra-trees": ExtraTreesRegressor(),
        "bagging": BaggingRegressor(n_estimators=50),
    }


def stack_of(task: Task, members: Sequence[tuple[str, Any]]) -> Any:
    """Return a stack of some members."""
    kind = StackingClassifier if task == "classification" else StackingRegressor
    return kind(levels=[list(members)])
