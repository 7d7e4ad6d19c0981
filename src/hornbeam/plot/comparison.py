"""A comparison of methods: scores with error bars, the best on top, the baseline as a line."""

from typing import Any

import numpy as np

from hornbeam.plot.canvas import axes_for, label

__all__ = ["comparison"]

_BASELINE = "baseline"


def comparison(result: Any, *, ax: Any = None) -> Any:
    """Draw what `hb.compare` has found; return the axes.

    Thick bars are one standard error by bootstrap over rows, thin ones by the spread over the folds.
    """
    records = result.records[::-1]
    metric = result.metrics[0].name
    ax = axes_for(ax, size=(6, 0.6 + 0.32 * len(records)), purpose="Drawing a comparison")
    places = np.arange(len(records))
    values = np.array([record[metric] for record in records])
    for which, width, colour in (("folds", 1.0, "#555555"), ("rows", 3.5, "#9bbfd8")):
        errors = np.nan_to_num([record[f"{metric} se {which}"] for record in records])
        ax.errorbar(
            values,
            places,
            xerr=errors,
            fmt="none",
            elinewidth=width,
            ecolor=colour,
            zorder=1 if which == "rows" else 2,
            label=f"± one standard error, {which}",
        )
    ax.plot(values, places, "o", color="#0072B2", markersize=5, zorder=3)
    baseline = [record[metric] for record in records if record["method"] == _BASELINE]
    if baseline:
        ax.axvline(baseline[0], color="#999999", linestyle=":", linewidth=1, zorder=0, label="baseline")
    ax.set_yticks(places, [label(record["method"]) for record in records])
    ax.set_xlabel(label(metric))
    ax.legend(frameon=False, fontsize="small")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax
