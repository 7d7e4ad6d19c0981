"""The trees of a bag side by side: how a few different rows change a tree."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.plot.tree import tree

__all__ = ["members"]


def members(model: Any, n: int = 4, *, max_depth: int | None = 2, axes: Any = None) -> npt.NDArray[Any]:
    """Draw the first `n` trees of a forest, a bag or AdaBoost side by side; return their axes."""
    found = np.ravel(np.asarray(model.estimators_, dtype=object))[:n]
    if not all(hasattr(member, "tree_") for member in found):
        raise TypeError(f"The members of this {type(model).__name__} are not trees.")
    pyplot = require("matplotlib.pyplot", purpose="Drawing the members of a bag")
    if axes is None:
        columns = min(2, len(found))
        rows = -(-len(found) // columns)
        axes = pyplot.subplots(
            rows, columns, figsize=(9.5 * columns, 3.6 * rows), layout="constrained", squeeze=False
        )[1]
    flat = np.asarray(axes, dtype=object).ravel()
    if len(flat) < len(found):
        raise ValueError(f"axes must be {len(found)} or more; got {len(flat)}.")
    for number, (member, ax) in enumerate(zip(found, flat, strict=False), start=1):
        tree(member, max_depth=max_depth, font_size=7.0, ax=ax)
        ax.set_title(f"tree {number}", size="medium")
    for ax in flat[len(found) :]:
        ax.axis("off")
    return flat[: len(found)]
