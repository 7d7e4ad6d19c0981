"""How a tree is grown and cut back; single trees, and trees of densities."""

from typing import Annotated, Literal

import numpy as np

from hornbeam.declare import Bounds, Declared, option, option_group
from hornbeam.params.fitting import ClassWeightOptions, ColumnOptions, RunOptions, ValidationOptions
from hornbeam.params.values import (
    Count,
    CountFromTwo,
    NonNegative,
    OwnCriterion,
    ProperShare,
    SeedOrKey,
    Share,
    Splits,
)


@option_group
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
        default=0.0,
        help="A split must lower the impurity, times the node's share of all rows, by at least this much.",
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
        "auto", "subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"
    ] = option(
        default="auto",
        help="Sets, one against the rest, a branch each, similar ones merged, mean targets, sorted order, "
        "binary digits; 'auto': sets, or means above 30 categories.",
    )
    merge_level: ProperShare = option(
        default=0.05,
        help="Categories share a branch under categorical_split='merge' unless the p-value of their "
        "difference is at most this.",
    )


@option_group
class ClassCriterionOptions(Declared):
    """The criterion of a classifier's splits."""

    criterion: (
        Literal["gini", "entropy", "log_loss", "accuracy", "misclassification", "gain_ratio", "chi2"]
        | OwnCriterion
    ) = option(
        default="gini",
        help="What splits are chosen by: Gini index, entropy (log_loss) or error (accuracy) of branches, "
        "entropy gained per bit, p-value of a chi-square test; or your own.",
    )


@option_group
class NumberCriterionOptions(Declared):
    """The criterion of a regressor's splits."""

    criterion: (
        Literal["squared_error", "friedman_mse", "absolute_error", "poisson", "f_test"] | OwnCriterion
    ) = option(
        default="squared_error",
        help="What splits are chosen by: variance, absolute error around the median or half the Poisson "
        "deviance of the branches, p-value of an F test; or your own.",
    )


@option_group
class NumberLeafOptions(Declared):
    """What the leaves of a regressor predict."""

    leaf_value: Literal["mean", "median"] = option(
        default="mean",
        help="What a node predicts: the weighted mean of its targets, or their weighted median, which a few "
        "extreme targets hardly move.",
    )


@option_group
class PruningOptions(ValidationOptions):
    """How a grown tree is pruned, and on what evidence."""

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
        default=0.25, help="Confidence factor of 'pessimistic': smaller values prune more."
    )
    cv: CountFromTwo | Splits = option(
        default=10,
        help="Folds of cross-validation: a number of random ones, a splitter of scikit-learn, or pairs of "
        "row positions.",
    )


@option_group
class DensityOptions(RunOptions):
    """The options of `DensityTree`."""

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


@option_group
class TreeOptions(GrowthOptions, ColumnOptions, RunOptions, PruningOptions):
    """The options of every single decision tree."""

    splitter: Literal["best", "random"] = option(
        default="best",
        help="'best' examines every threshold of a feature, 'random' one drawn from its range.",
    )
    random_state: SeedOrKey | np.random.RandomState | None = option(
        default=None,
        help="Seed of every random draw; the same whole number gives the same model again. Members of "
        "forests have numbers from 2^32 on, which repeat their draws.",
    )


@option_group
class ClassifierTreeOptions(TreeOptions, ClassWeightOptions, ClassCriterionOptions):
    """The options of `DecisionTreeClassifier`."""


@option_group
class RegressorTreeOptions(TreeOptions, NumberCriterionOptions, NumberLeafOptions):
    """The options of `DecisionTreeRegressor`."""
