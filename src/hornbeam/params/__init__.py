"""Every hyperparameter, declared once: name, type with bounds, default, help, and which models take it.

A class of options is a group; an estimator takes the options of the groups that it names::

    @option_group
    class GrowthOptions(Declared):
        max_depth: Annotated[int, Bounds(low=1)] | None = option(default=None, help="Most tests on a path.")

    class DecisionTreeClassifier(ClassifierMixin, GrowthOptions): ...

From the declaration follow the constructor (a real signature for `inspect`, scikit-learn and type checkers),
the check in `fit`, the documentation, and the hint for a name an estimator does not know; `hornbeam.declare`
does this. The type says all that is allowed: `Bounds` narrows `int` and `float`, a `Literal` lists choices,
`Check` judges values with structure (`values`). The groups are in files named for their models; `settled` has
the values that are known only once the data are.
"""

from hornbeam.declare import (
    Bounds,
    Check,
    Declared,
    Option,
    documentation,
    estimators,
    fitted,
    option,
    option_group,
    option_table,
    options_of,
    removed,
    validate,
)
from hornbeam.params.bags import (
    BaggingOptions,
    BagOptions,
    ClassifierForestOptions,
    EstimatorOptions,
    ForestOptions,
    RegressorForestOptions,
    SampleClassWeightOptions,
    VoteOptions,
)
from hornbeam.params.blend import BlendOptions
from hornbeam.params.boosting import (
    AdaBoostClassifierOptions,
    AdaBoostOptions,
    AdaBoostRegressorOptions,
    BoostingOptions,
    ClassifierBoostingOptions,
    RegressorBoostingOptions,
)
from hornbeam.params.fitting import (
    CategoryOptions,
    ClassWeightOptions,
    ColumnOptions,
    RunOptions,
    ThreadOptions,
    ValidationOptions,
)
from hornbeam.params.neighbors import NeighborOptions
from hornbeam.params.settled import (
    MOST_DRAWS_PER_UNIT,
    resolve_count,
    resolve_max_features,
    resolve_max_samples,
    resolve_random_key,
)
from hornbeam.params.stacking import ClassifierStackingOptions, StackingOptions
from hornbeam.params.trees import (
    ClassCriterionOptions,
    ClassifierTreeOptions,
    DensityOptions,
    GrowthOptions,
    NumberCriterionOptions,
    NumberLeafOptions,
    PruningOptions,
    RegressorTreeOptions,
    TreeOptions,
)

__all__ = [
    "MOST_DRAWS_PER_UNIT",
    "AdaBoostClassifierOptions",
    "AdaBoostOptions",
    "AdaBoostRegressorOptions",
    "BagOptions",
    "BaggingOptions",
    "BlendOptions",
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
    "option_group",
    "option_table",
    "options_of",
    "removed",
    "resolve_count",
    "resolve_max_features",
    "resolve_max_samples",
    "resolve_random_key",
    "validate",
]
