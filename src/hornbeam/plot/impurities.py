"""The impurities of two classes as curves: why accuracy is a poor splitting score."""

from typing import Any

import numpy as np

from hornbeam.plot.canvas import axes_for

__all__ = ["impurities"]


def impurities(*, ax: Any = None) -> Any:
    """Draw entropy, Gini index and misclassification against the share of one class; return the axes."""
    ax = axes_for(ax, size=(5.5, 4), purpose="Drawing impurities")
    p = np.linspace(0, 1, 401)
    inside = p[1:-1]
    entropy = np.zeros_like(p)
    entropy[1:-1] = -(inside * np.log2(inside) + (1 - inside) * np.log2(1 - inside))
    ax.plot(p, entropy, color="#0072B2", label="entropy (bits)")
    ax.plot(p, entropy / 2, color="#0072B2", linestyle=":", label="entropy / 2")
    ax.plot(p, 2 * p * (1 - p), color="#009E73", linestyle="--", label="Gini index")
    ax.plot(p, np.minimum(p, 1 - p), color="#D55E00", linestyle="-.", label="misclassification")
    ax.set_xlabel("share of one of two classes")
    ax.set_ylabel("impurity")
    ax.legend(frameon=False)
    return ax
