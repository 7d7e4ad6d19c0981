"""Options of any fit: what columns hold, how much rows count, what is set aside, seed and threads."""

from typing import Annotated, Literal

import numpy as np

from hornbeam.declare import Bounds, Declared, option, option_group
from hornbeam.params.values import (
    ClassWeights,
    Columns,
    MonotonicDirections,
    ProperShare,
    Seed,
    Threads,
)


@option_group
class CategoryOptions(Declared):
    """Which columns hold categories."""

    categorical_features: Columns | Literal["from_dtype"] | None = option(
        default="from_dtype",
        help="Columns that hold categories; 'from_dtype' decides by the types of the columns, None means "
        "none.",
    )


@option_group
class ColumnOptions(CategoryOptions):
    """How the columns of the table are read: order, categories, gaps, bins."""

    monotonic_cst: MonotonicDirections | None = option(
        default=None,
        help="Per feature: 1 if predictions may never fall as it grows, -1 if never rise, 0 if free.",
    )
    missing: Literal["learn", "surrogate", "fractional", "majority", "available", "error"] = option(
        default="learn",
        help="Rows lacking a split's feature go by gain ('learn'), by other splits ('surrogate'), down all "
        "branches ('fractional'), with the 'majority' or nowhere, or raise.",
    )
    unseen: Literal["missing", "majority", "error"] = option(
        default="missing",
        help="Categories that the fit has not seen are treated as missing, go to the larger child, or raise.",
    )
    max_bins: Annotated[int, Bounds(low=2, high=65535)] | None = option(
        default=None,
        help="Most bins per numeric column; None keeps all distinct values, so splits are exact.",
    )


@option_group
class ThreadOptions(Declared):
    """How many threads may work; the answer never depends on it."""

    n_jobs: Threads | None = option(
        default=None,
        help="Threads to use: -1 all usable cores, -2 all but one; None goes by HORNBEAM_NUM_THREADS, else "
        "by OMP_NUM_THREADS, else all usable cores.",
    )


@option_group
class RunOptions(ThreadOptions):
    """What a run needs besides the data: a seed, which shapes the model, and threads, which never do."""

    random_state: Seed | np.random.RandomState | None = option(
        default=None, help="Seed of every random draw; the same whole number gives the same model again."
    )


@option_group
class TimeOptions(Declared):
    """How long a fit may take."""

    time_budget: Annotated[float, Bounds(low=0, low_open=True)] | None = option(
        default=None,
        help="Seconds after which a fit ends with what it has finished; None sets no limit.",
    )


@option_group
class ClassWeightOptions(Declared):
    """How much each class counts."""

    class_weight: ClassWeights | Literal["balanced"] | None = option(
        default=None,
        help="Factor on the weight of each class's rows; 'balanced' gives all classes equal totals.",
    )


@option_group
class ValidationOptions(Declared):
    """Rows of the training data that are set aside to judge a model by."""

    validation_fraction: ProperShare = option(
        default=0.25,
        help="Share of the rows held out to judge the fit on, where that is needed and X_val is not given.",
    )
