"""Every hyperparameter, declared once: name, type with bounds, default, help, and which models take it.

A class of options is a group; an estimator takes the options of the groups it inherits::

    class GrowthOptions(Declared):
        max_depth: Annotated[int, Bounds(low=1)] | None = option(default=None, help="Most tests on a path.")

    class DecisionTreeClassifier(ClassifierMixin, GrowthOptions): ...

From the declaration follow the constructor (a real signature for `inspect`, scikit-learn and type checkers),
the check in `fit`, the documentation, and the hint for a name an estimator does not know; `hornbeam.declare`
does this. The type says all that is allowed: `Bounds` narrows `int` and `float`, a `Literal` lists choices,
`Check` judges values with structure. At the end: the values that are settled only once the data are known.
"""

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from hornbeam.declare import (
    Bounds,
    Check,
    Declared,
    Option,
    documentation,
    estimators,
    fitted,
    option,
    option_table,
    options_of,
    removed,
    validate,
)
from hornbeam.declare.kinds import Flag, Instance, Kind, RealNumber, WholeNumber, shown

__all__ = [
    "Bounds",
    "Check",
    "ClassWeightOptions",
    "ClassifierTreeOptions",
    "ColumnOptions",
    "Declared",
    "GrowthOptions",
    "Option",
    "PruningOptions",
    "RegressorTreeOptions",
    "RunOptions",
    "TreeOptions",
    "ValidationOptions",
    "documentation",
    "estimators",
    "fitted",
    "option",
    "option_table",
    "options_of",
    "removed",
    "resolve_count",
    "resolve_max_features",
    "resolve_random_key",
    "validate",
]

# --- Types that options share ----------------------------------------------------------------------------

Count = Annotated[int, Bounds(low=1)]
CountFromTwo = Annotated[int, Bounds(low=2)]
NonNegative = Annotated[float, Bounds(low=0)]
Share = Annotated[float, Bounds(low=0, high=1, low_open=True)]
ProperShare = Annotated[float, Bounds(low=0, high=1, low_open=True, high_open=True)]
Seed = Annotated[int, Bounds(low=0, high=2**32 - 1)]  # what numpy's RandomState takes


def _is_list(value: object) -> bool:
    """Recognise lists, arrays, index objects and series, but neither texts nor dicts nor scalars."""
    if isinstance(value, str | bytes | Mapping) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return False
    return hasattr(value, "__len__") and hasattr(value, "__iter__")


def _is_list_or_dict(value: object) -> bool:
    return _is_list(value) or isinstance(value, Mapping)


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
        claims=_is_list,
        fault=_columns_fault,
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
    return has_split or (_is_list(value) and not isinstance(value, np.ndarray))


def _splits_fault(value: Any) -> str | None:
    if hasattr(value, "split"):
        return None
    odd = [pair for pair in value if not (_is_list(pair) and len(pair) == 2)]
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

# --- The groups of options -------------------------------------------------------------------------------


class GrowthOptions(Declared):
    """How far a tree grows, and how far it is cut back."""

    max_depth: Count | None = option(
        default=None, help="Most tests on the way from the root to a leaf; None sets no limit."
    )
    min_samples_split: CountFromTwo | Share = option(
        default=2, help="A node with fewer rows stays a leaf; a fraction is of the training rows, rounded up."
    )
    min_samples_leaf: Count | ProperShare = option(
        default=1,
        help="Fewest rows a split may leave in a child; a fraction is of the training rows, rounded up.",
    )
    min_weight_fraction_leaf: Annotated[float, Bounds(low=0, high=0.5)] = option(
        default=0.0, help="Smallest share of the total sample weight that a split may leave in a child."
    )
    max_features: Count | Share | Literal["sqrt", "log2"] | None = option(
        default=None,
        help="Features drawn for each split: a number, a share, the square root or the binary logarithm of "
        "all; None takes all.",
    )
    max_leaf_nodes: CountFromTwo | None = option(
        default=None,
        help="Most leaves; under a limit the node that gains most is split first. None sets no limit.",
    )
    max_nodes: Count | None = option(
        default=None, help="Most nodes, inner nodes and leaves together; None sets no limit."
    )
    min_impurity_decrease: NonNegative = option(
        default=0.0, help="A split must lower the impurity, times the node's share of all rows, by this much."
    )
    ccp_alpha: NonNegative = option(
        default=0.0, help="Cost of a leaf in minimal cost-complexity pruning after growth; 0 prunes nothing."
    )


class ColumnOptions(Declared):
    """How the columns of the table are read: order, categories, gaps, bins."""

    monotonic_cst: MonotonicDirections | None = option(
        default=None,
        help="Per feature: 1 if predictions may never fall as it grows, -1 if never rise, 0 if free.",
    )
    categorical_features: Columns | Literal["from_dtype"] | None = option(
        default="from_dtype",
        help="Columns that hold categories; 'from_dtype' goes by the types of the columns, None means none.",
    )
    categorical_split: Literal["subset"] = option(
        default="subset",
        help="How categories are split: 'subset' sends one set of them left, the others right.",
    )
    missing: Literal["learn", "error"] = option(
        default="learn",
        help="Missing values: 'learn' sends them where the split gains most, 'error' refuses them.",
    )
    unseen: Literal["missing", "majority", "error"] = option(
        default="missing",
        help="Categories first met in prediction go as missing values do, go to the larger child, or raise.",
    )
    max_bins: Annotated[int, Bounds(low=2, high=65535)] | None = option(
        default=None,
        help="Most bins per numeric column; None keeps all distinct values, so splits are exact.",
    )


class RunOptions(Declared):
    """What a run needs besides the data: a seed, which shapes the model, and threads, which never do."""

    random_state: Seed | np.random.RandomState | None = option(
        default=None, help="Seed of every random draw; the same whole number gives the same model again."
    )
    n_jobs: Threads | None = option(
        default=None,
        help="Threads to use: -1 all usable cores, -2 all but one; None goes by HORNBEAM_NUM_THREADS, else "
        "by OMP_NUM_THREADS, else all usable cores.",
    )


class ClassWeightOptions(Declared):
    """How much each class counts."""

    class_weight: ClassWeights | Literal["balanced"] | None = option(
        default=None,
        help="Factor on the weight of each class's rows; 'balanced' gives all classes equal totals.",
    )


class ValidationOptions(Declared):
    """Rows of the training data that are set aside to judge a model by."""

    validation_fraction: ProperShare = option(
        default=0.25,
        help="Share of the rows kept out of the fit to judge it by, if that is needed and there is no X_val.",
    )


class PruningOptions(ValidationOptions):
    """How a grown tree is cut back, and on what evidence."""

    prune: Literal["reduced_error", "cost_complexity", "pessimistic"] | None = option(
        default=None,
        help="Cut the grown tree back: 'reduced_error' while validation error falls, 'cost_complexity' to "
        "the best nested tree, 'pessimistic' by C4.5's estimate.",
    )
    prune_select: Literal["cv", "cv_1se", "validation"] = option(
        default="cv",
        help="Which nested tree 'cost_complexity' takes: that of least cross-validated error, the smallest "
        "within one standard error, or that of least validation error.",
    )
    prune_cost: Literal["impurity", "error"] = option(
        default="impurity",
        help="What a leaf costs in 'cost_complexity': its impurity, or its share of wrong training rows.",
    )
    prune_confidence: Annotated[float, Bounds(low=0, high=1, low_open=True, high_open=True)] = option(
        default=0.25, help="Confidence factor of 'pessimistic': the smaller, the more is cut."
    )
    cv: CountFromTwo | Splits = option(
        default=10,
        help="Folds of cross-validation: a number of random ones, a splitter of scikit-learn, or pairs of "
        "row positions.",
    )


class TreeOptions(GrowthOptions, ColumnOptions, RunOptions, PruningOptions):
    """What every single decision tree takes."""

    splitter: Literal["best", "random"] = option(
        default="best",
        help="'best' examines every threshold of a feature, 'random' one drawn from its range.",
    )


class ClassifierTreeOptions(TreeOptions, ClassWeightOptions):
    """What `DecisionTreeClassifier` takes."""

    criterion: Literal["gini", "entropy"] = option(
        default="gini",
        help="Impurity that splits lower: the Gini index or the entropy of the classes in a node.",
    )


class RegressorTreeOptions(TreeOptions):
    """What `DecisionTreeRegressor` takes."""

    criterion: Literal["squared_error", "poisson"] = option(
        default="squared_error",
        help="Impurity that splits lower: variance or half the Poisson deviance of the targets in a node.",
    )


# --- Values that are settled once the data are known -----------------------------------------------------


def resolve_count(value: float, n_rows: int, *, at_least: int = 1) -> int:
    """Turn "a number of rows or a fraction of them" into a number of rows.

    A fraction is rounded up, and up to `at_least`. A whole number is returned as it is, even above `n_rows`:
    a limit that no node can meet is a legal way to ask for a single leaf.
    """
    if isinstance(value, numbers.Integral):
        return int(value)
    return max(at_least, math.ceil(value * n_rows))


def resolve_max_features(value: float | Literal["sqrt", "log2"] | None, n_features: int) -> int:
    """Turn `max_features` into a number of features, at least 1; shares, roots and logarithms round down."""
    if value is None:
        return n_features
    if isinstance(value, str):
        root_or_logarithm = {"sqrt": math.isqrt(n_features), "log2": n_features.bit_length() - 1}
        return max(1, root_or_logarithm[value])
    if not isinstance(value, numbers.Integral):
        return max(1, int(value * n_features))
    if value > n_features:
        raise ValueError(
            f"max_features is {value}, but X has only {n_features} feature(s). "
            "Give a smaller number, a fraction, 'sqrt', 'log2', or None for all."
        )
    return int(value)


def resolve_random_key(random_state: int | np.random.RandomState | None) -> int:
    """Draw the one 64-bit key from which all random numbers of a fit follow.

    A whole number gives the same key every time; a RandomState moves on, so the next fit differs; None draws
    from numpy's global state, as scikit-learn does.
    """
    generator: np.random.RandomState = check_random_state(random_state)
    return int.from_bytes(generator.bytes(8), "little")
