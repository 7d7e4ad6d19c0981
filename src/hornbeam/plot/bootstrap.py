"""A bootstrap distribution, and the one that it estimates: that of independent samples."""

from typing import Any

import numpy as np

from hornbeam.plot.canvas import BLUE, INK, ORANGE, axes_for, label

__all__ = ["bootstrap"]


def bootstrap(result: Any, *, independent: Any = None, name: str = "statistic", ax: Any = None) -> Any:
    """Draw the replicates of `hb.bootstrap` with the value and its interval; return the axes.

    `independent` are values of the same statistic from independent samples, if these are available: the
    distribution that the bootstrap estimates from a single sample. `name` labels the axis.
    """
    replicates = np.asarray(result.replicates, dtype=np.float64)
    if replicates.ndim != 1:
        raise ValueError(
            f"bootstrap draws a statistic that is one number; the replicates have shape {replicates.shape}."
        )
    ax = axes_for(ax, size=(6, 4), purpose="Drawing a bootstrap")
    others = np.array([]) if independent is None else np.asarray(independent, dtype=np.float64).ravel()
    bins = np.histogram_bin_edges(np.concatenate([replicates, others]), bins=40)
    ax.hist(replicates, bins=bins, density=True, color=BLUE, alpha=0.45, label="bootstrap samples")
    if len(others):
        ax.hist(
            others,
            bins=bins,
            density=True,
            histtype="step",
            color=ORANGE,
            linewidth=1.8,
            label="independent samples",
        )
    ax.axvline(result.value, color=INK, linewidth=1.2, label=f"value {result.value:.4g}")
    low, high = result.bca
    ax.axvspan(low, high, color=INK, alpha=0.08, linewidth=0, label=f"{result.confidence:.0%} interval")
    ax.set_xlabel(label(name))
    ax.set_ylabel("density")
    ax.legend(frameon=False)
    return ax
