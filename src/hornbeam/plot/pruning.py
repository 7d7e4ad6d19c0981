"""What pruning did: error against the size of the tree."""

from typing import Any

import numpy as np

from hornbeam._optional import require
from hornbeam.plot.canvas import axes_for

__all__ = ["pruning"]

_PURPOSE = "Drawing the course of pruning"


def pruning(model: Any, *, ax: Any = None) -> Any:
    """Draw the error of a pruned tree against its number of leaves; return the axes.

    For cost complexity: the error of every nested tree on rows it did not see, with one standard error, and
    the tree that was taken. For the other two methods: the error after each cut, against the number of nodes
    left.
    """
    record = model._pruning_record()
    ax = axes_for(ax, size=(6, 4), purpose=_PURPOSE)
    if record.table is None:
        _draw_cuts(record.log, int(model.tree_.node_count), ax)
        return ax
    table = record.table
    ax.errorbar(
        table.leaves,
        table.error,
        yerr=table.standard_error,
        fmt="o-",
        markersize=3,
        linewidth=1,
        elinewidth=0.7,
        color="#0072B2",
        ecolor="#9bbfd8",
        label="error, ± one standard error",
    )
    least = int(np.argmin(table.error))
    ax.axhline(
        table.error[least] + table.standard_error[least],
        color="#999999",
        linestyle=":",
        linewidth=1,
        label="least error + one standard error",
    )
    ax.plot(
        table.leaves[table.chosen],
        table.error[table.chosen],
        "o",
        color="#D55E00",
        markersize=8,
        label=f"taken: {table.leaves[table.chosen]} leaves",
    )
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(require("matplotlib.ticker", purpose=_PURPOSE).StrMethodFormatter("{x:g}"))
    ax.set_xlabel("leaves")
    ax.set_ylabel("error on rows not seen")
    ax.legend(frameon=False)
    return ax


def _draw_cuts(log: Any, nodes_left: int, ax: Any) -> None:
    nodes_before = nodes_left + int(log.nodes_removed.sum())
    nodes = nodes_before - np.concatenate([[0], np.cumsum(log.nodes_removed)])
    errors = [*log.error_before[:1], *log.error_after]
    if errors:
        ax.step(nodes, errors, where="post", color="#0072B2", marker="o", markersize=3, linewidth=1)
        ax.plot(nodes[-1], errors[-1], "o", color="#D55E00", markersize=8, label=f"left: {nodes_left} nodes")
        ax.legend(frameon=False)
    ax.invert_xaxis()
    ax.set_xlabel("nodes, cut by cut")
    ax.set_ylabel("error that pruning went by")
