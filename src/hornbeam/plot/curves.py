"""Training and test score against the number of rows, or against a parameter; computed by scikit-learn."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import model_selection

from hornbeam.plot.canvas import axes_for, label

__all__ = ["learning_curve", "validation_curve"]


def learning_curve(estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw scores on training and test rows against the number of training rows; return the axes.

    `options` go to scikit-learn's learning_curve: `cv`, `scoring`, `train_sizes`, `groups` and others. The
    bands are one standard deviation over the folds.
    """
    options.setdefault("train_sizes", np.linspace(0.1, 1.0, 8))
    sizes, train, test = model_selection.learning_curve(estimator, X, y, **options)[:3]
    ax = axes_for(ax, size=(6, 4), purpose="Drawing a learning curve")
    _draw_scores(sizes, train, test, ax)
    ax.set_xlabel("training rows")
    return ax


def validation_curve(
    estimator: Any, X: Any, y: Any, *, param_name: str, param_range: Any, ax: Any = None, **options: Any
) -> Any:
    """Draw scores on training and test rows against the values of a parameter; return the axes.

    `options` go to scikit-learn's validation_curve: `cv`, `scoring`, `groups` and others.
    """
    train, test = model_selection.validation_curve(
        estimator, X, y, param_name=param_name, param_range=param_range, **options
    )
    ax = axes_for(ax, size=(6, 4), purpose="Drawing a validation curve")
    values = list(param_range)
    are_numbers = all(isinstance(value, int | float | np.number) for value in values)
    places = np.asarray(values, dtype=np.float64) if are_numbers else np.arange(len(values), dtype=np.float64)
    _draw_scores(places, train, test, ax)
    if not are_numbers:
        ax.set_xticks(places, [label(value) for value in values])
    elif np.all(places > 0) and places.max() > 50 * places.min():
        ax.set_xscale("log")
    ax.set_xlabel(label(param_name))
    return ax


def _draw_scores(
    places: npt.NDArray[np.float64], train: npt.NDArray[np.float64], test: npt.NDArray[np.float64], ax: Any
) -> None:
    for scores, colour, name in ((train, "#999999", "training rows"), (test, "#0072B2", "test rows")):
        mean, spread = scores.mean(axis=1), scores.std(axis=1)
        ax.fill_between(places, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
        ax.plot(places, mean, "o-", color=colour, markersize=3, label=name)
    ax.set_ylabel("score")
    ax.legend(frameon=False)
