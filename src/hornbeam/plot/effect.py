"""The effect of columns: predictions as one changes, on average and for single rows, or as two do."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.dates import DatePart, text_of_days
from hornbeam.data.wording import shown
from hornbeam.inside.accumulated import AccumulatedEffect
from hornbeam.inside.effects import Effect, JointEffect
from hornbeam.inside.words import printable
from hornbeam.plot.canvas import BLUE, GREY, ORANGE, axes_for, label, name_dates, turn_long_names

__all__ = ["edges_of_steps", "effect"]

FloatArray = npt.NDArray[np.float64]

# So many names can be read beside each other; of more categories the lowest and the highest are drawn.
_MOST_CATEGORIES = 24


def effect(
    found: Effect | AccumulatedEffect | JointEffect,
    *,
    output: Any = None,
    most_lines: int = 40,
    ax: Any = None,
) -> Any:
    """Draw how the score depends on a column, or two (`model.effect(X, column)`); return the axes.

    The thick line is the mean over the rows, the thin ones are single rows, at most `most_lines` of them; an
    orange line is the score without a value. Accumulated effects have no lines of rows, and their mean is 0.
    If there are many categories, those with the lowest and the highest means are drawn. Two columns are drawn
    as a map; dots are where X has rows. `output` is the class or output, if there are several: for two
    classes, the second by default.
    """
    if isinstance(found, JointEffect):
        return _draw_map(found, output, ax)
    if not isinstance(found, Effect | AccumulatedEffect):
        raise TypeError(f"found must come from model.effect(X, column); got {type(found).__name__}.")
    place = _place_of(found, output)
    mean, missing = _at(found.mean, place), None if found.missing is None else _at(found.missing, place)
    lines = _at(found.lines, place) if isinstance(found, Effect) else np.zeros((0, len(mean)))
    ax = axes_for(ax, size=(5.5, 3.6), purpose="Drawing an effect")
    values, name = found.values, label(found.column)
    if not found.is_number and len(values) > _MOST_CATEGORIES:
        half = _MOST_CATEGORIES // 2
        order = np.argsort(mean, kind="stable")
        drawn = np.sort(np.r_[order[:half], order[-half:]])
        name = f"{name}: the {half} lowest and {half} highest of {len(values):,}"
        values, mean, lines = values[drawn], mean[drawn], lines[:, drawn] if len(lines) else lines
    some = lines[np.linspace(0, len(lines) - 1, min(most_lines, len(lines))).astype(np.int64)]
    if found.is_number:
        edges = edges_of_steps(found.values)
        for line in some:
            ax.stairs(line, edges, color=GREY, alpha=0.35, linewidth=0.7, baseline=None)
        ax.stairs(mean, edges, color=BLUE, linewidth=2.2, baseline=None)
    else:
        for line in some:
            ax.plot(range(len(line)), line, color=GREY, alpha=0.35, linewidth=0.7)
        ax.plot(range(len(mean)), mean, "o", color=BLUE)
        ax.set_xticks(range(len(mean)), [label(printable(value)) for value in values])
        turn_long_names(ax, values.tolist())
    if isinstance(found, AccumulatedEffect):
        ax.axhline(0, color=GREY, linewidth=0.7)
    if missing is not None:
        ax.axhline(float(missing), color=ORANGE, linestyle="--", linewidth=1, label="without a value")
        ax.legend(frameon=False, fontsize="small")
    if found.part is not None and found.part.is_first:
        name_dates(ax.xaxis)
    ax.set_xlabel(name)
    ax.set_ylabel(_score_words(found, place))
    return ax


def _at(values: Any, place: int | None) -> Any:
    """Return the values of one output; all, if there is but one score."""
    return np.asarray(values) if place is None else np.asarray(values)[..., place]


def _place_of(found: Effect | AccumulatedEffect | JointEffect, output: Any) -> int | None:
    """Return the place of the output among the last dimension; None if there is but one score."""
    n_own = 2 if isinstance(found, JointEffect) else 1
    if found.mean.ndim == n_own:
        return None
    if output is None and len(found.outputs) == 2:
        return 1  # of two classes, the second: a score of one number speaks for it, too
    if output not in found.outputs:
        known = ", ".join(map(repr, found.outputs[:10]))
        raise ValueError(f"Choose one of the outputs: output={known}; got {shown(output)}.")
    return found.outputs.index(output)


def _score_words(found: Effect | AccumulatedEffect | JointEffect, place: int | None) -> str:
    """Name what is drawn."""
    is_mean = isinstance(found, Effect) or (isinstance(found, JointEffect) and found.kind == "partial")
    words = found.of if is_mean else f"change of the {found.of}"
    return words if place is None else f"{words} of {label(found.outputs[place])}"


def edges_of_steps(values: npt.NDArray[Any]) -> FloatArray:
    """Return where the steps of a number begin and end, the outermost cut off."""
    ends = values[:-1].astype(np.float64)
    span = float(np.ptp(ends)) if len(ends) > 1 else 1.0
    last = (ends[-1] if len(ends) else 0.0) + 0.05 * span
    first = (ends[0] if len(ends) else 0.0) - 0.05 * span
    edges: FloatArray = np.r_[first, ends, last]
    return edges


def _draw_map(found: JointEffect, output: Any, ax: Any) -> Any:
    """Draw two columns as a map, the first to the right; missing values as strips beyond the edges."""
    place = _place_of(found, output)
    mean = _at(found.mean, place)
    edges = [
        edges_of_steps(values) if number else np.arange(len(values) + 1, dtype=np.float64) - 0.5
        for values, number in zip(found.values, found.is_number, strict=True)
    ]
    if found.missing is not None:
        of_first, of_second, of_both = (_at(part, place) for part in found.missing)
        mean = np.block([[mean, of_second[:, np.newaxis]], [of_first[np.newaxis, :], of_both]])
        edges = [
            np.r_[own, own[-1] + (1.0 if not number else 0.08 * (own[-1] - own[0]))]
            for own, number in zip(edges, found.is_number, strict=True)
        ]
    ax = axes_for(ax, size=(5.4, 4.2), purpose="Drawing an effect")
    size = float(np.abs(mean).max()) or 1.0
    shades: dict[str, Any] = {"cmap": "viridis"}
    if found.kind == "ale":
        shades = {"cmap": "RdBu_r", "vmin": -size, "vmax": size}
    drawn = ax.pcolormesh(edges[0], edges[1], mean.T, **shades)
    middles = [(own[:-1] + own[1:]) / 2 for own in edges]
    right, up = np.nonzero(found.n_rows)  # a dot where X has rows: elsewhere nobody has seen any
    ax.plot(middles[0][right], middles[1][up], ".", color="#444444", markersize=1.5)
    ax.figure.colorbar(drawn, ax=ax, label=_score_words(found, place))
    for axis, values, number, own, part in zip(
        (ax.xaxis, ax.yaxis), found.values, found.is_number, edges, found.parts, strict=True
    ):
        if part is not None and part.is_first:
            name_dates(axis)
            if axis is ax.xaxis:  # which is short beside long names
                axis.set_tick_params(labelrotation=90)
        _label_axis(
            axis, values, is_number=number, edges=own, has_missing=found.missing is not None, part=part
        )
    ax.set_xlabel(label(found.columns[0]))
    ax.set_ylabel(label(found.columns[1]))
    return ax


def _label_axis(
    axis: Any,
    values: npt.NDArray[Any],
    *,
    is_number: bool,
    edges: FloatArray,
    has_missing: bool,
    part: DatePart | None,
) -> None:
    beyond = float((edges[-2] + edges[-1]) / 2)
    if not is_number:
        ticks, texts = [float(k) for k in range(len(values))], [label(printable(value)) for value in values]
    elif has_missing:
        low, high = edges[0], edges[-2] - 0.12 * (edges[-2] - edges[0])  # room for the last label
        ticks = [float(tick) for tick in axis.get_major_locator().tick_values(low, high) if low < tick < high]
        is_date = part is not None and part.is_first
        texts = [text_of_days(tick) if is_date else f"{tick:.6g}" for tick in ticks]
    else:
        return
    if has_missing:
        ticks, texts = [*ticks, beyond], [*texts, "none"]
    axis.set_ticks(ticks, texts)
