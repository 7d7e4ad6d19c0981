"""Bias and variance, against a parameter that makes a model more complex, or for several models."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from hornbeam.bootstrap import BiasVariance
from hornbeam.bootstrap import bias_variance as measure
from hornbeam.plot.canvas import BLUE, INK, ORANGE, axes_for, label

__all__ = ["bias_variance"]


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    param_name: str | None = None,
    param_range: Sequence[Any] = (),
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw error, bias and variance; return the axes.

    For one estimator, against the values of a parameter; or, given a dict of estimators by name, one bar for
    each of them. `options` go to `hb.bias_variance`: `n`, `X_test` and `y_test`, `loss`, `random_state` and
    others. With a dict the bars are bias plus what the variance adds to the error.
    """
    ax = axes_for(ax, size=(6, 4), purpose="Drawing bias and variance")
    if isinstance(estimator, Mapping):
        if param_name is not None:
            raise ValueError("Give one estimator and param_name, or several estimators and no param_name.")
        found = [measure(each, X, y, **options) for each in estimator.values()]
        _draw_bars([label(name) for name in estimator], found, ax)
    else:
        if param_name is None or not len(param_range):
            raise ValueError("Give param_name and the values of param_range, or a dict of estimators.")
        found = [
            measure(clone(estimator).set_params(**{param_name: value}), X, y, **options)
            for value in param_range
        ]
        _draw_curves(param_name, list(param_range), found, ax)
    what = "0/1 error" if found[0].loss == "zero_one" else "squared error"
    ax.set_ylabel(f"{what} on test rows")
    ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]))
    ax.legend(frameon=False)
    return ax


def _draw_curves(param_name: str, values: list[Any], found: list[BiasVariance], ax: Any) -> None:
    are_numbers = all(isinstance(value, int | float | np.number) for value in values)
    places = np.asarray(values, dtype=np.float64) if are_numbers else np.arange(float(len(values)))
    errors = np.array([each.error for each in found])
    spread = np.array([each.standard_error for each in found])
    ax.fill_between(places, errors - spread, errors + spread, color=INK, alpha=0.15, linewidth=0)
    ax.plot(places, errors, "o-", color=INK, markersize=3, label="error")
    ax.plot(places, [each.bias for each in found], "s--", color=BLUE, markersize=4, label="bias")
    variances = [each.variance for each in found]
    ax.plot(places, variances, "^:", color=ORANGE, markersize=4, label="variance")
    if are_numbers and np.all(places > 0) and places.max() > 20 * places.min():
        ax.set_xscale("log")
        ax.minorticks_off()
    ax.set_xticks(places, [label(value) for value in values])
    ax.set_xlabel(label(param_name))


def _draw_bars(names: list[str], found: list[BiasVariance], ax: Any) -> None:
    places = np.arange(len(names))
    bias = np.array([each.bias for each in found])
    added = np.array([each.variance_effect for each in found])
    ax.bar(places, bias, 0.6, color=BLUE, label="bias")
    # Where the variance corrects mistakes it lowers the error, and the bar is drawn inside that of the bias.
    ax.bar(
        places,
        added,
        0.6,
        bottom=bias,
        color=ORANGE,
        hatch="//",
        edgecolor="white",
        linewidth=0,
        label="added by variance",
    )
    ax.errorbar(
        places,
        bias + added,
        yerr=[each.standard_error for each in found],
        fmt="none",
        ecolor=INK,
        capsize=3,
    )
    ax.set_xticks(places, names)
