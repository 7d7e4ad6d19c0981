"""Nearest neighbours with many columns: the nearest row is hardly nearer than others, and noise misleads."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from hornbeam.estimators.neighbors import KNeighborsClassifier
from hornbeam.plot.canvas import BLUE, CYCLE, INK, STYLES, axes_for

__all__ = ["irrelevant_columns", "nearest_distance"]


def nearest_distance(
    dimensions: Sequence[int] = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500),
    *,
    n_rows: int = 500,
    random_state: int = 0,
    ax: Any = None,
) -> Any:
    """Draw how far the nearest of `n_rows` uniform points is, relative to the mean distance; return the axes.

    In few dimensions the nearest is near; in many it is nearly as far as all the others.
    """
    generator = np.random.default_rng(random_state)
    ratios, nearest = [], []
    for n_columns in dimensions:
        points, queries = generator.random((n_rows, n_columns)), generator.random((50, n_columns))
        distances = cdist(queries, points)
        ratios.append(float(np.mean(distances.min(axis=1) / distances.mean(axis=1))))
        nearest.append(float(np.mean(distances.min(axis=1))))
    ax = axes_for(ax, size=(6, 4), purpose="Drawing distances")
    ax.plot(dimensions, ratios, "o-", color=BLUE, markersize=4, label="nearest / mean distance")
    ax.axhline(1, color=INK, linewidth=0.6)
    ax.set_xscale("log")
    ax.set_xticks(list(dimensions), [str(n) for n in dimensions])
    ax.minorticks_off()
    ax.set_ylim(0, 1.08)
    ax.set_xlabel(f"columns ({n_rows} rows, uniform)")
    ax.set_ylabel("distance of the nearest, beside the mean")
    return ax


def irrelevant_columns(
    X: Any,
    y: Any,
    *,
    added: Sequence[int] = (0, 1, 2, 5, 10, 20, 50),
    estimators: dict[str, Any] | None = None,
    cv: int = 5,
    random_state: int = 0,
    ax: Any = None,
) -> Any:
    """Draw the cross-validated accuracy as columns of noise are added to X; return the axes.

    `estimators` are those to compare, by name; without any, 5 nearest neighbours on scaled columns.
    """
    table = np.asarray(X, dtype=np.float64)
    generator = np.random.default_rng(random_state)
    noise = generator.normal(size=(len(table), max(added))) * table.std(axis=0).mean()
    models = estimators or {"5 nearest neighbours": KNeighborsClassifier(n_neighbors=5, scale="standard")}
    ax = axes_for(ax, size=(6, 4), purpose="Drawing irrelevant columns")
    for position, (name, model) in enumerate(models.items()):
        scores = [
            cross_val_score(clone(model), np.hstack([table, noise[:, :more]]), y, cv=cv).mean()
            for more in added
        ]
        ax.plot(
            np.arange(len(added)),
            scores,
            marker="os^D"[position % 4],
            color=CYCLE[position % len(CYCLE)],
            linestyle=STYLES[position % len(STYLES)],
            markersize=4,
            label=name,
        )
    ax.set_xticks(np.arange(len(added)), [str(more) for more in added])
    ax.set_xlabel(f"columns of noise beside the {table.shape[1]} of X")
    ax.set_ylabel("accuracy, cross-validated")
    ax.legend(frameon=False)
    return ax
