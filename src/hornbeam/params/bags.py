"""Bags of members on rows of their own: forests, and bagging of any estimator."""

from typing import Annotated, Literal

from hornbeam.declare import Bounds, Declared, option, option_group
from hornbeam.params.fitting import ColumnOptions, RunOptions, TimeOptions
from hornbeam.params.trees import (
    ClassCriterionOptions,
    GrowthOptions,
    NumberCriterionOptions,
    NumberLeafOptions,
)
from hornbeam.params.values import ClassWeights, Count, Keep, Learner, Metric, Share


@option_group
class VoteOptions(Declared):
    """How the members of a bag of classifiers vote."""

    stratify: bool = option(
        default=False, help="Draw from each class separately, so that every sample has the same share of it."
    )
    voting: Literal["soft", "hard"] = option(
        default="soft",
        help="'soft' averages the class shares of the members, 'hard' counts the classes they predict.",
    )


@option_group
class BagOptions(RunOptions, TimeOptions):
    """How many members there are, and which rows each of them sees."""

    n_estimators: Count | Literal["auto"] = option(
        default=100,
        help="Number of trees; 'auto' adds trees until the out-of-bag error stops falling.",
        kw_only=False,
    )
    bootstrap: bool = option(
        default=True,
        help="Draw each sample with replacement; otherwise without replacement, or take all rows.",
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
        default=False, help="Keep the members already fitted and add more, up to n_estimators."
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with the remaining time; 0 prints nothing."
    )


@option_group
class EstimatorOptions(Declared):
    """The estimator that members are copies of."""

    estimator: Learner | None = option(
        default=None, help="What each member is a copy of; None means a decision tree.", kw_only=False
    )


@option_group
class BaggingOptions(BagOptions, EstimatorOptions):
    """The options of bagging of any estimator."""

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


@option_group
class ForestOptions(GrowthOptions, ColumnOptions, BagOptions):
    """The options of every forest."""

    feature_sampling: Literal["node", "tree"] = option(
        default="node", help="Draw max_features anew for each split, or once for each tree."
    )
    keep: Keep | None = option(
        default=None,
        help="What to keep for error bars: 'oob' for intervals and sets, 'leaf_rows' for quantiles, 'in_bag' "
        "for a table of how often each tree saw each row; or a list of these.",
    )


@option_group
class SampleClassWeightOptions(Declared):
    """How much each class counts, in all rows or in the sample of each member."""

    class_weight: ClassWeights | Literal["balanced", "balanced_subsample"] | None = option(
        default=None,
        help="Factor on the weight of each class's rows; 'balanced' gives all classes equal totals, "
        "'balanced_subsample' does so in the sample of each tree.",
    )


@option_group
class ClassifierForestOptions(ForestOptions, VoteOptions, SampleClassWeightOptions, ClassCriterionOptions):
    """The options of forests of classification trees."""

    max_features: Count | Share | Literal["sqrt", "log2"] | None = option(default="sqrt")
    smoothing: Annotated[float, Bounds(low=0)] = option(
        default=0.01,
        help="Part of each vote that is spread evenly over the classes, so that none has probability 0; 0 "
        "gives the plain mean of the trees. Votes under voting='hard' are counted as they are.",
    )


@option_group
class RegressorForestOptions(ForestOptions, NumberCriterionOptions, NumberLeafOptions):
    """The options of forests of regression trees."""

    max_features: Count | Share | Literal["sqrt", "log2"] | None = option(default=1.0)
