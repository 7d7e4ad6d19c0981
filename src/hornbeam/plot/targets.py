"""Bias and variance as hits on a target: predictions of fits to many training sets, around the truth."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.plot.canvas import BLUE, INK, ORANGE, label
from hornbeam.training_sets import fitted_on_each

__all__ = ["targets"]


def targets(
    estimators: Mapping[str, Any],
    tables: Iterable[tuple[Any, Any]],
    X: Any,
    truth: Any,
    *,
    random_state: Any = 0,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Draw the predictions of estimators for two rows X, fitted to each of `tables`, as hits on targets.

    The horizontal position is the prediction for the first row minus its `truth`, the vertical one that for
    the second; the bull's eye is right about both. The distance of the centre of the hits from it is bias,
    their spread is variance. Returns an axes per estimator.
    """
    wanted = np.asarray(truth, dtype=np.float64)
    if len(X) != 2 or wanted.shape != (2,):
        raise ValueError("targets asks about two rows: give X of two rows, and the two numbers of truth.")
    training = list(tables)
    hits = {
        name: np.stack([model.predict(X) for model in fitted_on_each(each, training, random_state)]) - wanted
        for name, each in estimators.items()
    }
    pyplot = require("matplotlib.pyplot", purpose="Drawing targets")
    if axes is None:
        n = len(hits)
        axes = pyplot.subplots(1, n, figsize=(3.2 * n, 3.5), layout="constrained", squeeze=False)[1][0]
    row = np.asarray(axes, dtype=object).ravel()
    reach = 1.1 * max(float(np.abs(found).max()) for found in hits.values())
    for (name, found), ax in zip(hits.items(), row, strict=True):
        for part in (1.0, 0.75, 0.5, 0.25):
            ax.add_patch(
                pyplot.Circle((0, 0), part * reach, facecolor="none", edgecolor="#bbbbbb", linewidth=0.8)
            )
        ax.scatter(*found.T, s=16, color=BLUE, edgecolors="white", linewidths=0.4)
        middle = found.mean(axis=0)
        ax.plot(*middle, "X", color=ORANGE, markersize=10, markeredgecolor=INK)
        ax.plot(0, 0, "+", color=INK, markersize=12)
        bias, variance = np.mean(middle**2), np.mean(found.var(axis=0))
        ax.set_title(f"{label(name)}\nbias² {bias:.2g}, variance {variance:.2g}", size="small")
        ax.set_aspect("equal")
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        ax.set_xticks([])
        ax.set_yticks([])
    return row
