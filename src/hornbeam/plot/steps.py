"""Numbers predicted from one column, as steps; and boosting's steps with their residuals, round by round."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.plot.canvas import BLUE, GREY, INK, ORANGE, axes_for, label

__all__ = ["residuals", "steps"]

FloatArray = npt.NDArray[np.float64]


def steps(model: Any, X: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw what a fitted regressor of one column predicts, over the rows; return the axes."""
    x, name = _column(X)
    ax = axes_for(ax, size=(6, 4), purpose="Drawing steps")
    if y is not None:
        ax.scatter(x, np.asarray(y), s=12, color=GREY, linewidths=0)
    grid = _grid(x)
    ax.plot(grid, _asked(model, X, grid), color=BLUE, linewidth=1.6, drawstyle="steps-mid")
    ax.set_xlabel(label(name))
    ax.set_ylabel("prediction")
    return ax


def residuals(
    model: Any, X: Any, y: Any, *, shown: Sequence[int] = (1, 2, 3, 20), axes: Any = None
) -> npt.NDArray[Any]:
    """Draw a boosted regressor of one column after some rounds: its steps above, the residuals below.

    Returns the axes, 2 x rounds shown.
    """
    x, name = _column(X)
    target = np.asarray(y, dtype=np.float64)
    n_rounds = len(model.estimators_)
    wanted = [number for number in shown if 1 <= number <= n_rounds]
    if not wanted:
        raise ValueError(f"shown counts rounds from 1 to {n_rounds}; got {tuple(shown)}.")
    pyplot = require("matplotlib.pyplot", purpose="Drawing residuals")
    if axes is None:
        size = (2.9 * len(wanted), 4.6)
        axes = pyplot.subplots(
            2, len(wanted), figsize=size, layout="constrained", squeeze=False, sharex=True, sharey="row"
        )[1]
    grid_of_axes: npt.NDArray[Any] = np.asarray(axes, dtype=object).reshape(2, len(wanted))
    grid = _grid(x)
    for number, (above, below) in zip(wanted, grid_of_axes.T, strict=True):
        so_far = model.first(number)
        left = target - so_far.predict(X)
        above.scatter(x, target, s=10, color=GREY, linewidths=0)
        above.plot(grid, _asked(so_far, X, grid), color=BLUE, linewidth=1.5, drawstyle="steps-mid")
        error = np.sqrt(np.mean(left**2))
        above.set_title("1 round" if number == 1 else f"{number} rounds", size="medium")
        below.vlines(x, 0, left, color=ORANGE, linewidth=0.8)
        below.axhline(0, color=INK, linewidth=0.6)
        below.set_title(f"root mean square {error:.3g}", size="small")
        below.set_xlabel(label(name))
    grid_of_axes[0, 0].set_ylabel("prediction")
    grid_of_axes[1, 0].set_ylabel("what is left")
    return grid_of_axes


def _column(X: Any) -> tuple[FloatArray, str]:
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if values.ndim != 2 or values.shape[1] != 1:
        raise ValueError(f"Steps are drawn over one column; X has shape {values.shape}.")
    return values[:, 0].astype(np.float64), str(X.columns[0]) if hasattr(X, "columns") else "x0"


def _grid(x: FloatArray) -> FloatArray:
    margin = 0.03 * (float(np.ptp(x)) or 1.0)
    return np.linspace(x.min() - margin, x.max() + margin, 1000)


def _asked(model: Any, X: Any, grid: FloatArray) -> FloatArray:
    rows = grid[:, np.newaxis]
    return np.asarray(model.predict(type(X)(rows, columns=X.columns) if hasattr(X, "columns") else rows))
