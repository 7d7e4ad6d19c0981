"""Densities: what a `DensityTree` has learned of one column, or of two."""

from typing import Any

import numpy as np

from hornbeam.plot.canvas import BLUE, INK, axes_for, label

__all__ = ["density"]


def density(model: Any, X: Any, *, resolution: int = 300, ax: Any = None) -> Any:
    """Draw the density that a fitted `DensityTree` gives to one column or two, and the rows; return the axes.

    Of one column the pieces of equal density, with a tick per row below; of two, shades and points.
    """
    values = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if values.ndim != 2 or values.shape[1] not in (1, 2):
        raise ValueError(f"A density is drawn over one column or two; X has shape {values.shape}.")
    values = values.astype(np.float64)
    names = [str(name) for name in X.columns] if hasattr(X, "columns") else [f"x{j}" for j in range(2)]
    low, high = values.min(axis=0), values.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    axis = [
        np.linspace(low[j] - margin[j], high[j] + margin[j], resolution if len(low) == 2 else 2000)
        for j in range(values.shape[1])
    ]

    def ask(rows: Any) -> Any:
        return np.exp(
            model.score_samples(type(X)(rows, columns=X.columns) if hasattr(X, "columns") else rows)
        )

    if len(axis) == 1:
        ax = axes_for(ax, size=(6, 4), purpose="Drawing a density")
        found = ask(axis[0][:, np.newaxis])
        ax.fill_between(axis[0], found, step="mid", color=BLUE, alpha=0.25, linewidth=0)
        ax.plot(axis[0], found, color=BLUE, drawstyle="steps-mid", linewidth=1.2)
        ax.plot(values[:, 0], np.zeros(len(values)), "|", color=INK, markersize=10, alpha=0.4)
        ax.set_ylim(bottom=0)
        ax.set_ylabel("density")
    else:
        ax = axes_for(ax, size=(5.5, 4.5), purpose="Drawing a density")
        grid = np.stack([part.ravel() for part in np.meshgrid(*axis)], axis=1)
        found = ask(grid).reshape(resolution, resolution)
        extent = (axis[0][0], axis[0][-1], axis[1][0], axis[1][-1])
        image = ax.imshow(found**0.5, origin="lower", extent=extent, aspect="auto", cmap="Blues")
        ax.figure.colorbar(image, ax=ax, label="square root of the density")
        ax.scatter(*values.T, s=6, color=INK, linewidths=0, alpha=0.6)
        ax.set_ylabel(label(names[1]))
    ax.set_xlabel(label(names[0]))
    return ax
