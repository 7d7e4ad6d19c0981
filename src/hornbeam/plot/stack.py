"""A stack as a diagram: the table, the levels of members, and the final model."""

from typing import Any

from hornbeam.plot.canvas import INK, PALETTE, axes_for, label, tint

__all__ = ["stack"]


def stack(model: Any, *, ax: Any = None) -> Any:
    """Draw the levels of a stack, fitted or not, from the table below to the prediction; return the axes.

    Arrows lead to a level from its input: the predictions of the level below and, with `passthrough`, the
    table as well.
    """
    if not hasattr(model, "levels") or not hasattr(model, "final_estimator"):
        raise TypeError(f"stack draws StackingClassifier and StackingRegressor; got {type(model).__name__}.")
    levels = [[("table", "X")], *([(name, _kind(each)) for name, each in level] for level in _levels(model))]
    last = model.final_estimator
    levels.append([("final estimator", "a linear model" if last is None else _kind(last))])
    widest = max(len(level) for level in levels)
    ax = axes_for(ax, size=(max(4.5, 2.3 * widest), 1.35 * len(levels)), purpose="Drawing a stack")
    ax.set_xlim(-0.45, widest)
    ax.set_ylim(-0.6, len(levels) - 0.4)
    ax.axis("off")
    for height, level in enumerate(levels):
        for place, (name, kind) in enumerate(level):
            x = _x(place, len(level), widest)
            colour = "#eeeeee" if height == 0 else _pale(height)
            ax.text(
                x,
                height,
                f"{label(name)}\n{label(kind)}",
                ha="center",
                va="center",
                fontsize="small",
                bbox={"boxstyle": "round,pad=0.5", "facecolor": colour, "edgecolor": INK, "linewidth": 0.8},
                zorder=3,
            )
            if height:
                for below in range(len(levels[height - 1])):
                    _arrow(ax, _x(below, len(levels[height - 1]), widest), height - 1, x, height)
        ax.text(-0.42, height, _title(height, len(levels)), va="center", fontsize="x-small", color=INK)
    if getattr(model, "passthrough", False):
        ax.set_title("X is also passed on to every level", size="small")
    return ax


def _levels(model: Any) -> list[list[tuple[str, Any]]]:
    levels = list(model.levels)
    return [levels] if levels and isinstance(levels[0], tuple) else levels  # one level may stand alone


def _kind(estimator: Any) -> str:
    return estimator if isinstance(estimator, str) else type(estimator).__name__


def _title(height: int, n_levels: int) -> str:
    if height == 0:
        return ""
    return "" if height == n_levels - 1 else f"level {height}"


def _x(place: int, n: int, widest: int) -> float:
    return widest * (place + 0.5) / n


def _arrow(ax: Any, x0: float, y0: float, x1: float, y1: float) -> None:
    ax.annotate(
        "",
        xy=(x1, y1 - 0.26),
        xytext=(x0, y0 + 0.26),
        arrowprops={"arrowstyle": "->", "color": "#888888", "linewidth": 0.8},
        zorder=1,
    )


def _pale(height: int) -> Any:
    from hornbeam.plot.canvas import class_colours  # noqa: PLC0415 - needs matplotlib

    return tint(class_colours(len(PALETTE))[(height - 1) % len(PALETTE)], 0.25)
