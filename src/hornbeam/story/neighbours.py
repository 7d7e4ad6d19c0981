"""The chapter of nearest neighbours: rows in a plane, and what the page needs to search among them itself.

The model compares all of its columns; a picture has two. The page searches by these two, scaled as the model
scales them, and says so where the model has more.
"""

from typing import Any

import numpy as np

from hornbeam.story.material import Material, rounded

__all__ = ["neighbours_chapter"]

METRICS = ("euclidean", "manhattan", "chebyshev")


def neighbours_chapter(material: Material) -> dict[str, Any]:
    """Lay out the rows, the scale of both columns, and the settings that the sliders begin with."""
    model, columns = material.model, list(material.plane)
    spread = [_spread(material, column) for column in columns]
    metric = model.metric
    if metric == "minkowski":
        metric = {1: "manhattan", 2: "euclidean"}.get(model.p, "euclidean")
    weights = model.weights if isinstance(model.weights, str) else "uniform"
    return {
        "kind": "neighbours",
        "k": min(int(model.n_neighbors or len(material.shown)), len(material.shown)),
        "weights": weights,
        "metric": metric if metric in METRICS else "euclidean",
        "own_metric": metric,
        "bandwidth": _bandwidth(material, columns, spread),
        "axes": [material.axis(column).plain() for column in columns],
        "points": material.points(columns),
        "spread": [rounded(value) for value in spread],
        "scaled": getattr(model, "scale", None) == "standard" or metric == "gower",
        "n_columns": material.rows.n_columns,
    }


def _spread(material: Material, column: int) -> float:
    """Return what differences in a column are divided by."""
    model, known = material.model, material.values[:, column]
    known = known[~np.isnan(known)]
    if model.metric == "gower":
        return float(np.ptp(known)) or 1.0 if len(known) else 1.0
    if model._model.scaling is not None:
        return float(model._model.scaling.spread[column]) or 1.0
    return 1.0


def _bandwidth(material: Material, columns: list[int], spread: list[float]) -> float:
    """Return the model's bandwidth if it compares just the columns shown, else half the median distance."""
    if getattr(material.model, "bandwidth_", None) and material.rows.n_columns == len(columns):
        return rounded(float(material.model.bandwidth_), 4)
    points = np.nan_to_num(material.values[material.shown][:, columns]) / np.array(spread)
    distances = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    different = distances[distances > 0]
    return rounded(float(np.median(different)) / 2, 3) if len(different) else 1.0
