"""Members one after the other, each correcting the ones before: gradient boosting and AdaBoost."""

from typing import Annotated, Literal

from hornbeam.declare import Bounds, option, option_group
from hornbeam.params.fitting import (
    ClassWeightOptions,
    ColumnOptions,
    RunOptions,
    TimeOptions,
    ValidationOptions,
)
from hornbeam.params.values import (
    Count,
    CountFromTwo,
    InteractionGroups,
    Learner,
    NonNegative,
    OwnLoss,
    ProperShare,
    Scorer,
    Share,
)


@option_group
class BoostingOptions(ColumnOptions, RunOptions, TimeOptions, ValidationOptions):
    """The options of gradient boosting, whatever it predicts."""

    missing: Literal["learn", "error"] = option(
        default="learn",
        help="Missing values: 'learn' sends them where the split gains most, 'error' refuses them.",
    )
    n_estimators: Annotated[int, Bounds(low=1, high=2**31 - 1)] | Literal["auto"] = option(
        default="auto",
        help="Number of rounds, each a tree per member and class; 'auto' finds it on held-out rows. With a "
        "number, other 'auto' settings take their classical values (learning rate 0.1, 31 leaves).",
        kw_only=False,
    )
    learning_rate: Annotated[float, Bounds(low=0, low_open=True)] | Literal["auto"] = option(
        default="auto", help="Factor on the step that each tree takes; 'auto' depends on the number of rows."
    )
    max_leaf_nodes: CountFromTwo | Literal["auto"] | None = option(
        default="auto", help="Most leaves of a tree; None sets no limit."
    )
    max_depth: Count | None = option(
        default=None, help="Most tests on the way from the root to a leaf; None sets no limit."
    )
    growth: Literal["auto", "best_first", "level", "symmetric", "mixed"] = option(
        default="auto",
        help="The order of splits: the node that gains most first, or 'level' by level; 'symmetric': one "
        "test for all nodes of a level; 'mixed': members alternate, symmetric (with four times as many "
        "leaves) and best first; 'auto': mixed where n_estimators is 'auto' and several members have one "
        "score each, otherwise best first.",
    )
    min_samples_leaf: Count | Literal["auto"] = option(
        default="auto", help="Fewest rows a split may leave in a child."
    )
    min_hessian_leaf: NonNegative = option(
        default=1e-3, help="Smallest sum of second derivatives of the loss that a split may leave in a child."
    )
    l1_regularization: NonNegative = option(
        default=0.0, help="Subtracted from the size of a leaf's gradient before its value is computed."
    )
    l2_regularization: NonNegative | Literal["auto"] = option(
        default="auto", help="Added to a leaf's hessian before its value is computed."
    )
    min_split_gain: NonNegative = option(
        default=0.0, help="A split must lower the loss, to second order, by more than this."
    )
    subsample: Share | Literal["auto"] = option(
        default="auto", help="Share of the rows that each round is grown on, drawn without replacement."
    )
    max_features: Count | Share | Literal["sqrt", "log2", "auto"] | None = option(
        default="auto",
        help="Features drawn for each split: a number, a share, the square root or the binary logarithm of "
        "all; None takes all.",
    )
    feature_sampling: Literal["node", "tree"] = option(
        default="node", help="Draw max_features anew for each split, or once for each round."
    )
    interaction_cst: InteractionGroups | Literal["pairwise", "no_interactions"] | None = option(
        default=None,
        help="Groups of columns that may occur together on one path; columns not named form one more group; "
        "'pairwise' allows any two, 'no_interactions' a single one, None all.",
    )
    categorical_split: Literal["auto", "subset", "one_vs_rest"] = option(
        default="auto",
        help="Test sets of categories, or one category against all others, as one-hot columns would; 'auto' "
        "tests sets or, above 30 categories, the mean target of other rows.",
    )
    categorical_smoothing: NonNegative = option(
        default=10.0,
        help="Added to the hessian of each category when categories are sorted, which keeps rare ones away "
        "from the ends, and to that of both branches when sets of more than four are scored.",
    )
    max_bins: Annotated[int, Bounds(low=2, high=255)] = option(
        default=255, help="Most bins per numeric column; columns with fewer distinct values keep them all."
    )
    n_members: Annotated[int, Bounds(low=1, high=16)] | Literal["auto"] = option(
        default="auto",
        help="How many models are averaged where n_estimators is 'auto', each judged on rows it has not "
        "seen: 1, 2, 4, 8 or 16; 'auto' depends on the size of the table.",
    )
    early_stopping: bool | Literal["auto"] = option(
        default="auto",
        help="Stop when the score of validation rows no longer rises, and keep the best round; 'auto' where "
        "n_estimators is 'auto'.",
    )
    validation_fraction: ProperShare = option(default=0.1)
    n_iter_no_change: Count | Literal["auto"] = option(
        default="auto", help="Rounds without progress after which early stopping ends the fit."
    )
    tol: NonNegative = option(
        default=1e-7, help="A validation score must rise by more than this to count as progress."
    )
    scoring: Scorer = option(
        default="loss", help="What early stopping maximises: minus the loss, or a scorer."
    )
    warm_start: bool = option(
        default=False, help="Keep the rounds already fitted and add more, up to n_estimators."
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with remaining time and score; 0 prints nothing."
    )


@option_group
class ClassifierBoostingOptions(BoostingOptions, ClassWeightOptions):
    """The options of `GradientBoostingClassifier`."""

    loss: Literal["log_loss", "exponential"] | OwnLoss = option(
        default="log_loss",
        help="'log_loss' for any number of classes, 'exponential' (AdaBoost's) for two, or one of your own.",
    )
    class_trees: Literal["auto", "separate", "shared"] = option(
        default="auto",
        help="With three or more classes: 'separate' grows a tree per class in each round, 'shared' a "
        "single tree with leaf values for each class; 'auto' shares where n_estimators is 'auto'.",
    )


@option_group
class RegressorBoostingOptions(BoostingOptions):
    """The options of `GradientBoostingRegressor`."""

    loss: (
        Literal["squared_error", "absolute_error", "huber", "quantile", "poisson", "gamma", "tweedie"]
        | OwnLoss
    ) = option(
        default="squared_error",
        help="The loss that is minimised; 'poisson', 'gamma' and 'tweedie' predict e^score. Or one of your "
        "own.",
    )
    alpha: ProperShare = option(
        default=0.9,
        help="The quantile that 'quantile' predicts; for 'huber' the share of rows whose error is squared.",
    )
    tweedie_power: Annotated[float, Bounds(low=1, high=2, low_open=True, high_open=True)] = option(
        default=1.5, help="Power of the variance of 'tweedie': near 1 like Poisson, near 2 like gamma."
    )


@option_group
class AdaBoostOptions(RunOptions, TimeOptions):
    """How members are boosted."""

    estimator: Learner | None = option(
        default=None,
        help="What is boosted: any estimator whose fit takes sample_weight, or any at all with "
        "resample=True; None is a decision tree.",
        kw_only=False,
    )
    n_estimators: Count = option(
        default=50,
        help="Most rounds; boosting stops earlier at a member that makes no error or is no better than "
        "chance.",
        kw_only=False,
    )
    learning_rate: Annotated[float, Bounds(low=0, low_open=True)] = option(
        default=1.0, help="Factor on the weight of each member; smaller ones need more rounds."
    )
    resample: bool = option(
        default=False,
        help="Fit members to rows drawn in proportion to the weights, instead of weighted rows.",
    )
    keep_weights: bool = option(
        default=False, help="Keep the weights of all rows in every round, as sample_weights_."
    )
    verbose: Annotated[int, Bounds(low=0)] = option(
        default=0, help="1 shows a progress bar with the remaining time; 0 prints nothing."
    )


@option_group
class AdaBoostClassifierOptions(AdaBoostOptions):
    """The options of `AdaBoostClassifier`."""


@option_group
class AdaBoostRegressorOptions(AdaBoostOptions):
    """The options of `AdaBoostRegressor`."""

    loss: Literal["linear", "square", "exponential"] = option(
        default="linear", help="How a residual, relative to the largest one, counts as an error."
    )
