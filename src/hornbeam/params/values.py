"""Types that options share: bounds, and checks of values with structure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hornbeam.declare import Bounds, Check
from hornbeam.declare.kinds import Flag, Instance, Kind, RealNumber, WholeNumber, shown

Count = Annotated[int, Bounds(low=1)]
CountFromTwo = Annotated[int, Bounds(low=2)]
NonNegative = Annotated[float, Bounds(low=0)]
Share = Annotated[float, Bounds(low=0, high=1, low_open=True)]
ProperShare = Annotated[float, Bounds(low=0, high=1, low_open=True, high_open=True)]
Seed = Annotated[int, Bounds(low=0, high=2**32 - 1)]  # what numpy's RandomState takes
SeedOrKey = Annotated[int, Bounds(low=0, high=2**64 - 1)]  # beyond: the key of all draws


def is_list(value: object) -> bool:
    """Recognise lists, arrays, index objects and series; not texts, dicts, scalars or ensembles."""
    if isinstance(value, str | bytes | Mapping) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return False
    if hasattr(value, "get_params"):  # ensembles are sequences of their members
        return False
    return hasattr(value, "__len__") and hasattr(value, "__iter__")


def _is_list_or_dict(value: object) -> bool:
    return is_list(value) or isinstance(value, Mapping)


def _fits(kind: Kind, value: object) -> bool:
    return kind.claims(value) and kind.fault(value) is None


def _class_weight_fault(value: Mapping[Any, Any] | Iterable[Any]) -> str | None:
    tables = [value] if isinstance(value, Mapping) else list(value)
    if not tables:
        return "The list is empty."
    for table in tables:
        if not isinstance(table, Mapping):
            return f"{shown(table)} is not a dict."
        for label, weight in table.items():
            if not _fits(RealNumber(Bounds(low=0)), weight):
                return f"Class {shown(label)} has the weight {shown(weight)}."
    return None


def _monotonic_fault(value: Mapping[Any, Any] | Iterable[Any]) -> str | None:
    by_name = isinstance(value, Mapping)
    for feature, direction in value.items() if isinstance(value, Mapping) else enumerate(value):
        if by_name and not isinstance(feature, str):
            return f"{shown(feature)} is not a column name."
        if not _fits(WholeNumber(Bounds(low=-1, high=1)), direction):
            return f"Feature {shown(feature)} has {shown(direction)}."
    return None


def _columns_fault(value: Iterable[Any]) -> str | None:
    columns = list(value)
    if not columns:
        return None
    candidates: tuple[Kind, ...] = (Instance(str), Flag(), WholeNumber(Bounds(low=0)))
    # The first entry says what the list is meant to be; all others must be of its kind.
    meant = [kind for kind in candidates if kind.claims(columns[0])]
    odd = [column for column in columns if not (meant and _fits(meant[0], column))]
    return f"The list holds {shown(odd[0])}." if odd else None


def _groups_fault(value: Iterable[Any]) -> str | None:
    for group in value:
        if not is_list(group) or len(list(group)) == 0:
            return f"{shown(group)} is not a list of columns."
        fault = _columns_fault(group)
        if fault:
            return fault
    return None


ClassWeights = Annotated[
    Mapping[Any, float] | Sequence[Mapping[Any, float]],
    Check(
        phrases=("a dict from class to weight >= 0", "a list of such dicts, one per output"),
        claims=_is_list_or_dict,
        fault=_class_weight_fault,
    ),
]
MonotonicDirections = Annotated[
    Sequence[int] | Mapping[str, int] | NDArray[Any],
    Check(
        phrases=("a list of -1, 0 and 1, one per feature", "a dict from column name to -1, 0 or 1"),
        claims=_is_list_or_dict,
        fault=_monotonic_fault,
    ),
]
Columns = Annotated[
    Sequence[str] | Sequence[int] | Sequence[bool] | NDArray[Any],
    Check(
        phrases=("a list of column names", "of column indices >= 0", "of one truth value per column"),
        claims=is_list,
        fault=_columns_fault,
    ),
]
InteractionGroups = Annotated[
    Sequence[Sequence[str] | Sequence[int]],
    Check(
        phrases=("a list of groups, each a list of column names or of column indices >= 0",),
        claims=is_list,
        fault=_groups_fault,
    ),
]
Threads = Annotated[
    int,
    Check(
        phrases=("a whole number other than 0",),
        claims=WholeNumber().claims,
        fault=lambda value: "" if value == 0 else None,
    ),
]


def _is_splits(value: object) -> bool:
    has_split = hasattr(value, "split") and not isinstance(value, str | bytes)  # texts have another split
    return has_split or (is_list(value) and not isinstance(value, np.ndarray))


def _splits_fault(value: Any) -> str | None:
    if hasattr(value, "split"):
        return None
    odd = [pair for pair in value if not (is_list(pair) and len(pair) == 2)]
    if odd or not len(value):
        return f"The list holds {shown(odd[0])}." if odd else "The list is empty."
    return None


Splits = Annotated[
    Any,
    Check(
        phrases=("a splitter with a method split", "a list of pairs of row positions"),
        claims=_is_splits,
        fault=_splits_fault,
    ),
]


def _fractions_fault(value: Iterable[Any]) -> str | None:
    fractions = list(value)
    odd = [one for one in fractions if not _fits(RealNumber(Bounds(low=0, low_open=True)), one)]
    if odd or not fractions:
        return f"The list holds {shown(odd[0])}." if odd else "The list is empty."
    return None if abs(sum(fractions) - 1) < 1e-9 else f"They sum to {sum(fractions):g}."


Estimator = Annotated[
    Any,
    Check(
        phrases=("an estimator with fit and predict",),
        claims=lambda value: hasattr(value, "fit") and not isinstance(value, type),
        fault=lambda value: None if hasattr(value, "predict") else "It has no predict.",
    ),
]
Fractions = Annotated[
    Sequence[float] | NDArray[Any],
    Check(
        phrases=("a list of numbers > 0 that sum to 1",),
        claims=is_list,
        fault=_fractions_fault,
    ),
]
WeightFunction = Annotated[
    Callable[..., Any],
    Check(
        phrases=("a function of an array of distances",),
        claims=lambda value: callable(value) and not isinstance(value, type),
        fault=lambda value: None,
    ),
]


def _metric_fault(value: object) -> str | None:
    if callable(value):
        return None
    from sklearn.metrics import get_scorer_names  # noqa: PLC0415 - slow to import, and seldom needed

    return None if value in get_scorer_names() else "No metric of scikit-learn has that name."


def _keep_fault(value: str | Iterable[Any]) -> str | None:
    wanted = [value] if isinstance(value, str) else list(value)
    odd = [entry for entry in wanted if entry not in KEEPABLE]
    return f"{shown(odd[0])} is not one of them." if odd else None


Learner = Annotated[
    Any,
    Check(
        phrases=("an estimator of scikit-learn's kind",),
        claims=lambda value: hasattr(value, "fit") and hasattr(value, "get_params"),
        fault=lambda value: "That is a class; make an object of it." if isinstance(value, type) else None,
    ),
]
KEEPABLE = ("oob", "leaf_rows", "in_bag")
Metric = Annotated[
    str | Callable[..., float],
    Check(
        phrases=("a metric of scikit-learn by name", "a function of targets and predictions"),
        claims=lambda value: isinstance(value, str) or callable(value),
        fault=_metric_fault,
    ),
]
Keep = Annotated[
    str | Sequence[str],
    Check(
        phrases=(f"{', '.join(map(repr, KEEPABLE))}", "a list of these"),
        claims=lambda value: isinstance(value, str) or is_list(value),
        fault=_keep_fault,
    ),
]

OwnLoss = Annotated[
    Any,
    Check(
        phrases=("an object with a method gradient_hessian(y, score)",),
        claims=lambda value: hasattr(value, "gradient_hessian"),
        fault=lambda value: None if callable(value.gradient_hessian) else "",
    ),
]


class ScoresCells(Protocol):
    """A criterion of the user's own: a score per test from cells[test, branch, element], larger is better."""

    def score(self, cells: NDArray[np.float64], /) -> Any:
        """Return a score per test."""


OwnCriterion = Annotated[
    ScoresCells,
    Check(
        phrases=("an object with a method score(cells)",),
        claims=lambda value: hasattr(value, "score"),
        fault=lambda value: "That is a class; make an object of it." if isinstance(value, type) else None,
    ),
]


def _scorer_fault(value: object) -> str | None:
    return None if value == "loss" else _metric_fault(value)


Scorer = Annotated[
    str | Callable[..., float],
    Check(
        phrases=("'loss'", "a scorer of scikit-learn by name", "a function of estimator, X and y"),
        claims=lambda value: isinstance(value, str) or callable(value),
        fault=_scorer_fault,
    ),
]
