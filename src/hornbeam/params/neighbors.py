"""Nearest neighbours."""

from typing import Annotated, Literal

from hornbeam.declare import Bounds, option, option_group
from hornbeam.params.fitting import CategoryOptions, ThreadOptions
from hornbeam.params.values import Count, WeightFunction


@option_group
class NeighborOptions(CategoryOptions, ThreadOptions):
    """The options of `KNeighborsClassifier` and `KNeighborsRegressor`."""

    n_neighbors: Count | None = option(
        default=5,
        kw_only=False,
        help="How many of the nearest rows are used; None means all rows, weighted by their distance.",
    )
    weights: Literal["uniform", "distance", "inverse_square", "gaussian"] | WeightFunction = option(
        default="uniform",
        help="The weight of a neighbour at distance d: 1, 1/d, 1/d^2, exp(-d^2 / (2 bandwidth^2)), or a "
        "function of an array of distances.",
    )
    bandwidth: Annotated[float, Bounds(low=0, low_open=True)] | Literal["median"] = option(
        default="median",
        help="Width of the gaussian weights; 'median' takes the median distance between rows of the fit, or "
        "between 1,000 of them where there are more.",
    )
    metric: Literal["minkowski", "euclidean", "manhattan", "chebyshev", "cosine", "gower"] = option(
        default="minkowski",
        help="How distance is measured; 'gower' compares numbers, categories and missing values alike.",
    )
    p: Annotated[float, Bounds(low=1, high=64)] = option(
        default=2,
        help="Power of the metric 'minkowski': 1 is 'manhattan', 2 is 'euclidean', infinity would be "
        "'chebyshev'.",
    )
    scale: Literal["standard"] | None = option(
        default=None,
        help="'standard' first gives every column mean 0 and standard deviation 1, so that units do not "
        "matter; None takes columns as they are.",
    )
    algorithm: Literal["auto", "brute", "kd_tree"] = option(
        default="auto",
        help="How neighbours are found; it changes the time, never the answer. 'auto' takes the faster way.",
    )
