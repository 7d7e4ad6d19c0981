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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

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
    "AdaBoostClassifierOptions",
    "AdaBoostOptions",
    "AdaBoostRegressorOptions",
    "BagOptions",
    "BaggingOptions",
    "BoostingOptions",
    "Bounds",
    "CategoryOptions",
    "Check",
    "ClassCriterionOptions",
    "ClassWeightOptions",
    "ClassifierBoostingOptions",
    "ClassifierForestOptions",
    "ClassifierStackingOptions",
    "ClassifierTreeOptions",
    "ColumnOptions",
    "Declared",
    "DensityOptions",
    "EstimatorOptions",
    "ForestOptions",
    "GrowthOptions",
    "NeighborOptions",
    "NumberCriterionOptions",
    "NumberLeafOptions",
    "Option",
    "PruningOptions",
    "RegressorBoostingOptions",
    "RegressorForestOptions",
    "RegressorTreeOptions",
    "RunOptions",
    "SampleClassWeightOptions",
    "StackingOptions",
    "ThreadOptions",
    "TreeOptions",
    "ValidationOptions",
    "VoteOptions",
    "documentation",
    "estimators",
    "fitted",
    "option",
    "option_table",
    "options_of",
    "removed",
    "resolve_count",
    "resolve_max_features",
    "resolve_max_samples",
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


def _groups_fault(value: Iterable[Any]) -> str | None:
    for group in value:
        if not _is_list(group) or len(list(group)) == 0:
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
        claims=_is_list,
        fault=_columns_fault,
    ),
]
InteractionGroups = Annotated[
    Sequence[Sequence[str] | Sequence[int]],
    Check(
        phrases=("a list of groups, each a list of column names or of column indices >= 0",),
        claims=_is_list,
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


def _levels_fault(value: Iterable[Any]) -> str | None:
    levels = list(value)
    if not levels:
        return "There is no level."
    for number, level in enumerate(levels, start=1):
        if _is_member(level):
            return "A level is a list of members: write levels=[[...]]."
        if not _is_list(level):
            return f"Level {number} is {shown(level)}."
        if not len(level):
            return f"Level {number} is empty."
        odd = [member for member in level if not _is_member(member)]
        if odd:
            return f"Level {number} holds {shown(odd[0])}, not a pair of name and estimator."
    return _names_fault([name for level in levels for name, _ in level])


def _is_member(value: Any) -> bool:
    return _is_list(value) and len(value) == 2 and isinstance(value[0], str) and not _is_list(value[1])


def _names_fault(names: Sequence[str]) -> str | None:
    for name in names:
        if names.count(name) > 1:
            return f"The name {name!r} is given twice; names are unique over all levels."
        if "__" in name or not name:
            return f"The name {name!r} is empty or has two underscores, which mark parameters of members."
        if name in ClassifierStackingOptions._options or name == "splitter":
            return f"The name {name!r} is that of a parameter of the stack."
    return None


def _fractions_fault(value: Iterable[Any]) -> str | None:
    fractions = list(value)
    odd = [one for one in fractions if not _fits(RealNumber(Bounds(low=0, low_open=True)), one)]
    if odd or not fractions:
        return f"The list holds {shown(odd[0])}." if odd else "The list is empty."
    return None if abs(sum(fractions) - 1) < 1e-9 else f"They sum to {sum(fractions):g}."


Levels = Annotated[
    Any,
    Check(phrases=("a list of lists of (name, estimator)",), claims=_is_list, fault=_levels_fault),
]
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
        claims=_is_list,
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
        claims=lambda value: isinstance(value, str) or _is_list(value),
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

    def score(self, cells: NDArray[np.float64], /) -> Any: ...


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
    min_significance: Share | None = option(
        default=None,
        help="With 'chi2' or 'f_test': a node stays a leaf if the p-value of its best split, adjusted for "
        "the number of tests tried, is larger; None sets no limit.",
    )
    max_surrogates: Annotated[int, Bounds(low=0, high=2**31 - 1)] = option(
        default=5, help="Most surrogate splits per node with missing='surrogate'."
    )
    ccp_alpha: NonNegative = option(
        default=0.0, help="Cost of a leaf in minimal cost-complexity pruning after growth; 0 prunes nothing."
    )
    categorical_split: Literal[
        "subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"
    ] = option(
        default="subset",
        help="How categories are split: by sets, one against the rest, a branch each, a branch for those "
        "that do not differ, by order of mean targets, by order, or by digits.",
    )
    merge_level: ProperShare = option(
        default=0.05,
        help="Largest p-value at which categories differ; others share a branch under "
        "categorical_split='merge'.",
    )


class CategoryOptions(Declared):
    """Which columns hold categories."""

    categorical_features: Columns | Literal["from_dtype"] | None = option(
        default="from_dtype",
        help="Columns that hold categories; 'from_dtype' goes by the types of the columns, None means none.",
    )


class ColumnOptions(CategoryOptions):
    """How the columns of the table are read: order, categories, gaps, bins."""

    monotonic_cst: MonotonicDirections | None = option(
        default=None,
        help="Per feature: 1 if predictions may never fall as it grows, -1 if never rise, 0 if free.",
    )
    missing: Literal["learn", "surrogate", "fractional", "majority", "available", "error"] = option(
        default="learn",
        help="Rows without a split's feature go where it gains most ('learn'), by other splits "
        "('surrogate'), in parts ('fractional'), to the 'majority' or nowhere, or raise.",
    )
    unseen: Literal["missing", "majority", "error"] = option(
        default="missing",
        help="Categories first met in prediction go as missing values do, go to the larger child, or raise.",
    )
    max_bins: Annotated[int, Bounds(low=2, high=65535)] | None = option(
        default=None,
        help="Most bins per numeric column; None keeps all distinct values, so splits are exact.",
    )


class ThreadOptions(Declared):
    """How many threads may work; the answer never depends on it."""

    n_jobs: Threads | None = option(
        default=None,
        help="Threads to use: -1 all usable cores, -2 all but one; None goes by HORNBEAM_NUM_THREADS, else "
        "by OMP_NUM_THREADS, else all usable cores.",
    )


class RunOptions(ThreadOptions):
    """What a run needs besides the data: a seed, which shapes the model, and threads, which never do."""

    random_state: Seed | np.random.RandomState | None = option(
        default=None, help="Seed of every random draw; the same whole number gives the same model again."
    )


class ClassCriterionOptions(Declared):
    """What the splits of a classifier lower."""

    criterion: Literal["gini", "entropy", "accuracy", "gain_ratio", "chi2"] | OwnCriterion = option(
        default="gini",
        help="What splits are chosen by: Gini index, entropy or error of the branches, entropy gained per "
        "bit of split information, p-value of a chi-square test; or your own.",
    )


class NumberCriterionOptions(Declared):
    """What the splits of a regressor lower."""

    criterion: Literal["squared_error", "poisson", "f_test"] | OwnCriterion = option(
        default="squared_error",
        help="What splits are chosen by: variance or half the Poisson deviance of the branches, the p-value "
        "of the F test of equal means, or a criterion of your own.",
    )


class NumberLeafOptions(Declared):
    """What the leaves of a regressor predict."""

    leaf_value: Literal["mean", "median"] = option(
        default="mean",
        help="What a node predicts: the weighted mean of its targets, or their weighted median, which few "
        "far targets cannot move.",
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


class DensityOptions(RunOptions):
    """What `DensityTree` takes."""

    max_depth: Count | None = option(
        default=None, help="Most tests on the way from the root to a leaf; None sets no limit."
    )
    min_samples_split: CountFromTwo | Share = option(
        default=10,
        help="A node with fewer rows stays a leaf; a fraction is of the training rows, rounded up.",
    )
    min_samples_leaf: Count | ProperShare = option(
        default=5,
        help="Fewest rows a split may leave in a child; a fraction is of the training rows, rounded up.",
    )
    prune: Literal["cost_complexity"] | None = option(
        default="cost_complexity",
        help="'cost_complexity' takes the nested tree of least cross-validated error; None keeps all.",
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


class ClassifierTreeOptions(TreeOptions, ClassWeightOptions, ClassCriterionOptions):
    """What `DecisionTreeClassifier` takes."""


class RegressorTreeOptions(TreeOptions, NumberCriterionOptions, NumberLeafOptions):
    """What `DecisionTreeRegressor` takes."""


class VoteOptions(Declared):
    """How the members of a bag of classifiers are asked."""

    stratify: bool = option(
        default=False, help="Draw from each class in its own right, so that every sample has its share."
    )
    voting: Literal["soft", "hard"] = option(
        default="soft",
        help="'soft' averages the class shares of the members, 'hard' counts the classes they predict.",
    )


class BagOptions(RunOptions):
    """How many members there are, and what rows each of them sees."""

    n_estimators: Count | Literal["auto"] = option(
        default=100,
        help="Number of trees; 'auto' adds trees until the out-of-bag error stops falling.",
        kw_only=False,
    )
    bootstrap: bool = option(
        default=True, help="Draw each sample with replacement; else without, or take all rows."
    )
    max_samples: Count | Share | None = option(
        default=None,
        help="Rows (or groups) drawn for each member: a number, or a share; None draws as many as there are.",
    )
    oob_score: bool | Metric = option(
        default=False,
        help="Estimate the error from the rows each sample lacks; a metric replaces accuracy or R^2.",
    )
    warm_start: bool = option(
        default=False, help="Keep the members there are and add more, up to n_estimators."
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with the remaining time; 0 prints nothing."
    )


class EstimatorOptions(Declared):
    """What members are made from."""

    estimator: Learner | None = option(
        default=None, help="What each member is a copy of; None means a decision tree.", kw_only=False
    )


class BaggingOptions(BagOptions, EstimatorOptions):
    """What bagging of any estimator takes."""

    n_estimators: Count | Literal["auto"] = option(
        default=10,
        help="Number of members; 'auto' adds members until the out-of-bag error stops falling.",
        kw_only=False,
    )
    max_samples: Count | Share | None = option(default=1.0)
    max_features: Count | Share = option(
        default=1.0, help="Features that each member may use: a number, or a share of all."
    )
    bootstrap_features: bool = option(
        default=False, help="Draw the features of each member with replacement."
    )


class ForestOptions(GrowthOptions, ColumnOptions, BagOptions):
    """What every forest takes."""

    feature_sampling: Literal["node", "tree"] = option(
        default="node", help="Draw max_features anew for each split, or once for each tree."
    )
    keep: Keep | None = option(
        default=None,
        help="What to keep for error bars: 'oob' for intervals and sets, 'leaf_rows' for quantiles, 'in_bag' "
        "for a table of how often each tree saw each row; or a list of these.",
    )


class SampleClassWeightOptions(Declared):
    """How much each class counts, in all rows or in the sample of each member."""

    class_weight: ClassWeights | Literal["balanced", "balanced_subsample"] | None = option(
        default=None,
        help="Factor on the weight of each class's rows; 'balanced' gives all classes equal totals, "
        "'balanced_subsample' does so in the sample of each tree.",
    )


class ClassifierForestOptions(ForestOptions, VoteOptions, SampleClassWeightOptions, ClassCriterionOptions):
    """What forests of classification trees take."""

    max_features: Count | Share | Literal["sqrt", "log2"] | None = option(default="sqrt")


class RegressorForestOptions(ForestOptions, NumberCriterionOptions, NumberLeafOptions):
    """What forests of regression trees take."""

    max_features: Count | Share | Literal["sqrt", "log2"] | None = option(default=1.0)


class BoostingOptions(ColumnOptions, RunOptions, ValidationOptions):
    """What gradient boosting takes, whatever it predicts."""

    missing: Literal["learn", "error"] = option(
        default="learn",
        help="Missing values: 'learn' sends them where the split gains most, 'error' refuses them.",
    )
    n_estimators: Annotated[int, Bounds(low=1, high=2**31 - 1)] = option(
        default=100, help="Most rounds; each adds a tree, or a tree per class.", kw_only=False
    )
    learning_rate: Annotated[float, Bounds(low=0, low_open=True)] = option(
        default=0.1, help="Factor on the step that each tree takes."
    )
    max_leaf_nodes: CountFromTwo | None = option(
        default=31, help="Most leaves of a tree; None sets no limit."
    )
    max_depth: Count | None = option(
        default=None, help="Most tests on the way from the root to a leaf; None sets no limit."
    )
    growth: Literal["best_first", "level"] = option(
        default="best_first",
        help="Split the node that gains most first, or level by level; it matters under max_leaf_nodes only.",
    )
    min_samples_leaf: Count = option(default=20, help="Fewest rows a split may leave in a child.")
    min_hessian_leaf: NonNegative = option(
        default=1e-3, help="Smallest sum of second derivatives of the loss that a split may leave in a child."
    )
    l1_regularization: NonNegative = option(
        default=0.0, help="Taken off the size of a leaf's gradient before its value is found."
    )
    l2_regularization: NonNegative = option(
        default=0.0, help="Added to a leaf's hessian before its value is found."
    )
    min_split_gain: NonNegative = option(
        default=0.0, help="A split must lower the loss, to second order, by more than this."
    )
    subsample: Share = option(
        default=1.0, help="Share of the rows that each round is grown on, drawn without replacement."
    )
    max_features: Count | Share | Literal["sqrt", "log2"] | None = option(
        default=1.0,
        help="Features drawn for each split: a number, a share, the square root or the binary logarithm of "
        "all; None takes all.",
    )
    feature_sampling: Literal["node", "tree"] = option(
        default="node", help="Draw max_features anew for each split, or once for each round."
    )
    interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = option(
        default=None,
        help="Groups of columns that may be tested on one path together, columns not named being one more "
        "group; 'pairwise' allows any two, 'no_interactions' a single one, None all.",
    )
    categorical_split: Literal["subset", "one_vs_rest"] = option(
        default="subset",
        help="How categories are split: 'subset' sends one set of them left, the others right; 'one_vs_rest' "
        "singles one out, as one-hot columns would.",
    )
    categorical_smoothing: NonNegative = option(
        default=10.0,
        help="Hessian added to each category's when categories are put in order, which keeps rare ones from "
        "the ends.",
    )
    max_bins: Annotated[int, Bounds(low=2, high=255)] = option(
        default=255, help="Most bins per numeric column; columns with fewer distinct values keep them all."
    )
    early_stopping: bool = option(
        default=False,
        help="Stop when the score of validation rows no longer rises, and predict with the best round.",
    )
    validation_fraction: ProperShare = option(default=0.1)
    n_iter_no_change: Count = option(
        default=10, help="Rounds without progress after which early stopping ends the fit."
    )
    tol: NonNegative = option(
        default=1e-7, help="A validation score must rise by more than this to count as progress."
    )
    scoring: Scorer = option(
        default="loss", help="What early stopping goes by: minus the loss, or a scorer; higher is better."
    )
    warm_start: bool = option(
        default=False, help="Keep the rounds there are and add more, up to n_estimators."
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with remaining time and score; 0 prints nothing."
    )


class ClassifierBoostingOptions(BoostingOptions, ClassWeightOptions):
    """What `GradientBoostingClassifier` takes."""

    loss: Literal["log_loss", "exponential"] | OwnLoss = option(
        default="log_loss",
        help="'log_loss' for any number of classes, 'exponential' (AdaBoost's) for two, or one of your own.",
    )


class RegressorBoostingOptions(BoostingOptions):
    """What `GradientBoostingRegressor` takes."""

    loss: (
        Literal["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
        | OwnLoss
    ) = option(
        default="squared_error",
        help="What the rounds lower; 'poisson', 'gamma' and 'tweedie' predict e^score. Or one of your own.",
    )
    alpha: ProperShare = option(
        default=0.9,
        help="The quantile that 'quantile' predicts; for 'huber' the share of rows that count squared.",
    )
    tweedie_power: Annotated[float, Bounds(low=1, high=2, low_open=True, high_open=True)] = option(
        default=1.5, help="Power of the variance of 'tweedie': near 1 like Poisson, near 2 like gamma."
    )


class NeighborOptions(CategoryOptions, ThreadOptions):
    """What `KNeighborsClassifier` and `KNeighborsRegressor` take."""

    n_neighbors: Count | None = option(
        default=5,
        kw_only=False,
        help="How many of the nearest rows have a say; None means all rows, weighted by their distance.",
    )
    weights: Literal["uniform", "distance", "inverse_square", "gaussian"] | WeightFunction = option(
        default="uniform",
        help="What a neighbour at distance d counts: 1, 1/d, 1/d^2, exp(-d^2 / (2 bandwidth^2)), or what a "
        "function makes of an array of distances.",
    )
    bandwidth: Annotated[float, Bounds(low=0, low_open=True)] | Literal["median"] = option(
        default="median",
        help="Width of the gaussian weights; 'median' takes the median distance between rows of the fit.",
    )
    metric: Literal["minkowski", "euclidean", "manhattan", "chebyshev", "cosine", "gower"] = option(
        default="minkowski",
        help="How distance is measured; 'gower' compares numbers, categories and missing values alike.",
    )
    p: Annotated[float, Bounds(low=1, high=64)] = option(
        default=2,
        help="Power of the metric 'minkowski': 1 is 'manhattan', 2 is 'euclidean', no limit is 'chebyshev'.",
    )
    scale: Literal["standard"] | None = option(
        default=None,
        help="'standard' gives every column the mean 0 and the standard deviation 1 first, so that units do "
        "not matter; None takes columns as they are.",
    )
    algorithm: Literal["auto", "brute", "kd_tree"] = option(
        default="auto",
        help="How neighbours are found; it changes the time, never the answer. 'auto' takes what is faster.",
    )


class AdaBoostOptions(RunOptions):
    """How members are boosted."""

    estimator: Learner | None = option(
        default=None,
        help="What is boosted: any estimator whose fit takes sample_weight, or any at all with "
        "resample=True; None is a decision tree.",
        kw_only=False,
    )
    n_estimators: Count = option(
        default=50,
        help="Most rounds; boosting stops earlier at a member without error or no better than chance.",
        kw_only=False,
    )
    learning_rate: Annotated[float, Bounds(low=0, low_open=True)] = option(
        default=1.0, help="Factor on the weight of each member; smaller ones need more rounds."
    )
    resample: bool = option(
        default=False, help="Fit members to rows drawn by the weights, in place of weighted rows."
    )
    keep_weights: bool = option(
        default=False, help="Keep the weights of all rows in every round, as sample_weights_."
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with the remaining time; 0 prints nothing."
    )


class AdaBoostClassifierOptions(AdaBoostOptions):
    """What `AdaBoostClassifier` takes."""


class AdaBoostRegressorOptions(AdaBoostOptions):
    """What `AdaBoostRegressor` takes."""

    loss: Literal["linear", "square", "exponential"] = option(
        default="linear", help="How the distance from the target, beside the largest, counts as an error."
    )


class StackingOptions(RunOptions):
    """What `StackingRegressor` takes, and `StackingClassifier`, too."""

    levels: Levels = option(
        kw_only=False,
        help="The levels, each a list of (name, estimator) with names that are unique over all levels; "
        "'drop' in the place of an estimator leaves it out.",
    )
    final_estimator: Estimator | None = option(
        default=None,
        help="What learns from the answers of the last level; None takes scikit-learn's logistic regression "
        "or ridge regression.",
    )
    cv: CountFromTwo | Splits | Literal["holdout", "prefit"] = option(
        default=5,
        help="Folds in which members answer rows they have not seen: a number, a splitter, pairs of row "
        "positions; 'holdout' gives each level rows of its own, 'prefit' takes members as they are fitted.",
    )
    holdout_fractions: Fractions | None = option(
        default=None,
        help="Shares of the rows for each level and the final estimator under cv='holdout'; None: equal.",
    )
    passthrough: bool = option(
        default=False, help="Whether levels above the first and the final estimator see X, too."
    )


class ClassifierStackingOptions(StackingOptions):
    """What `StackingClassifier` takes."""

    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = option(
        default="auto",
        help="How members are asked; 'auto' takes the first of the three that a member has.",
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


def resolve_max_samples(value: float | None, n_units: int, *, units: str) -> int:
    """Turn `max_samples` into a number of draws, at least 1; a share is rounded."""
    if value is None:
        return n_units
    if not isinstance(value, numbers.Integral):
        return max(1, round(value * n_units))
    if value > n_units:
        raise ValueError(
            f"max_samples is {value}, but there are only {n_units} {units} to draw from. Give a smaller "
            "number, a fraction, or None for as many as there are."
        )
    return int(value)


def resolve_random_key(random_state: int | np.random.RandomState | None) -> int:
    """Draw the one 64-bit key from which all random numbers of a fit follow.

    A whole number gives the same key every time; a RandomState moves on, so the next fit differs; None draws
    from numpy's global state, as scikit-learn does.
    """
    generator: np.random.RandomState = check_random_state(random_state)
    return int.from_bytes(generator.bytes(8), "little")
