"""How much each feature contributes to a model."""

from typing import Any

import numpy as np

from hornbeam.inside.importances import Importances
from hornbeam.inside.nodes import way_to_members
from hornbeam.plot.canvas import ORANGE, axes_for, label

__all__ = ["importance"]


def importance(
    model: Any, importances: Any = None, *, names: Any = None, most: int = 20, ax: Any = None
) -> Any:
    """Draw the importances of the features as bars, the largest on top; return the axes.

    They are the `feature_importances_` of the model, or those given: one number per feature, or the result
    of `model.importance` or of scikit-learn's permutation_importance, which have error bars. A dashed line is
    what shuffled copies of columns reached, if that is known. `most` limits the number of bars.
    """
    spread = noise = None
    if importances is None:
        if hasattr(model, "first_level"):
            raise TypeError(
                f"plot.importance draws the importances of one model; a {type(model).__name__} has those of "
                f"its members.{way_to_members(model)}"
            )
        importances = model.feature_importances_
    elif isinstance(importances, Importances):
        noise = importances.noise_level
        names = [_short(group) for group in importances.columns] if names is None else names
        importances, spread = importances.mean, importances.error
    elif hasattr(importances, "importances_mean"):
        importances, spread = importances.importances_mean, importances.importances_std
    values = np.asarray(importances, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"importances must be one number per feature; got shape {values.shape}.")
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(values))])
    if len(names) != len(values):
        raise ValueError(f"There are {len(values)} importances, but {len(names)} names.")
    order = np.argsort(-values, kind="stable")[:most]
    ax = axes_for(ax, size=(6, 0.6 + 0.28 * len(order)), purpose="Drawing importances")
    ax.barh(
        range(len(order)),
        values[order],
        xerr=None if spread is None else np.asarray(spread)[order],
        color="#0072B2",
        ecolor="#444444",
        height=0.7,
    )
    ax.set_yticks(range(len(order)), [label(names[j]) for j in order])
    ax.invert_yaxis()
    if noise is not None:
        ax.axvline(noise, color=ORANGE, linestyle="--", linewidth=1.2, label="what noise reaches")
        ax.legend(frameon=False, fontsize="small", loc="lower right")
    ax.set_xlabel("importance")
    if len(order) < len(values):
        ax.set_title(f"{len(order)} of {len(values)} features", size="small", loc="right")
    return ax


def _short(group: tuple[str, ...]) -> str:
    """Name a group of columns by its first two."""
    return " + ".join(group[:2]) + (f" + {len(group) - 2} more" if len(group) > 2 else "")
