"""Pictures of contributions: all rows as swarms or bars, one row step by step, one column over its values.

In: `Contributions` (`model.contributions(X)`). Out: axes. With classes or several outputs, `output` selects
one.
"""

from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.data.dates import text_of_days
from hornbeam.data.wording import shown
from hornbeam.inside import words
from hornbeam.inside.shapley import Contributions
from hornbeam.plot.canvas import BLUE, GREY, INK, ORANGE, axes_for, label, name_dates, turn_long_names

__all__ = ["contributions"]

FloatArray = npt.NDArray[np.float64]
Kind = Literal["beeswarm", "bar", "waterfall", "dependence"]

# A swarm has so many places along its line, and is so high.
N_PLACES = 120
HALF_HEIGHT = 0.4

# Categories have a box each; beyond so many, the rare ones have none.
MOST_BOXES = 20


def contributions(
    found: Contributions,
    kind: Kind = "beeswarm",
    *,
    output: Any = None,
    row: int | None = None,
    column: str | None = None,
    most: int = 12,
    ax: Any = None,
) -> Any:
    """Draw what columns contribute; return the axes.

    "beeswarm" has a dot for every row, along the line of its column, darker for larger values; "bar" the mean
    size per column; "waterfall" leads from the base to the score of one `row`; "dependence" shows what one
    `column` contributes at each of its values. `most` limits the number of columns. `output` is the class or
    output to show, if there are several.
    """
    if kind not in get_args(Kind):
        raise ValueError(f"kind must be one of {', '.join(map(repr, get_args(Kind)))}; got {shown(kind)}.")
    if not isinstance(found, Contributions):
        names = (
            [name for name in found if isinstance(found[name], Contributions)] if type(found) is dict else []
        )
        of_member = f" Choose a member: contributions(X)[{names[0]!r}]." if names else ""
        raise TypeError(f"found must come from contributions(X); got {type(found).__name__}.{of_member}")
    if found.pairs:
        raise ValueError("Pairs are not drawn; give contributions(X) without interactions.")
    shown_part = _of_one_output(found, output)
    if kind == "waterfall":
        return _waterfall(shown_part, row, most, ax)
    if kind == "dependence":
        return _dependence(shown_part, column, ax)
    return (_swarms if kind == "beeswarm" else _bars)(shown_part, most, ax)


def _of_one_output(found: Contributions, output: Any) -> Contributions:
    if found.values.ndim == 2:
        return found
    if found.values.ndim > 3:
        raise ValueError("Several outputs of classes are not drawn; look at `values`.")
    if output is None:
        known = ", ".join(map(repr, found.outputs[:10]))
        raise ValueError(
            f"There are contributions to {len(found.outputs)} outputs; choose one: output={known}."
        )
    return found.of(output)


def _largest(found: Contributions, most: int) -> list[int]:
    sizes = np.abs(found.values).mean(axis=0)
    order: list[int] = np.argsort(-sizes, kind="stable")[:most].tolist()
    return order


def _values_of(found: Contributions, column: int) -> npt.NDArray[Any] | None:
    """Return the values of a column, if the rows are still at hand."""
    X = found.X
    if X is None:
        return None
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[:, column].to_numpy()
    if hasattr(X, "toarray"):
        return np.asarray(X[:, [column]].toarray()).ravel()
    return np.asarray([line[column] for line in X]) if isinstance(X, list) else np.asarray(X)[:, column]


def _numbers(found: Contributions, column: int) -> FloatArray | None:
    """Return the values of a column as numbers, dates as days; None if they are neither, or not at hand."""
    if column in found.days:
        return found.days[column]
    values = _values_of(found, column)
    if values is None:
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _finish_lines(ax: Any, found: Contributions, order: list[int], what: str) -> Any:
    ax.set_yticks(range(len(order)), [label(found.names[j]) for j in order])
    ax.invert_yaxis()
    ax.set_xlabel(what)
    if len(order) < len(found.names):
        ax.set_title(f"{len(order)} of {len(found.names)} columns", size="small", loc="right")
    return ax


def _bars(found: Contributions, most: int, ax: Any) -> Any:
    order = _largest(found, most)
    ax = axes_for(ax, size=(6, 0.8 + 0.28 * len(order)), purpose="Drawing contributions")
    ax.barh(range(len(order)), np.abs(found.values[:, order]).mean(axis=0), color=BLUE, height=0.7)
    return _finish_lines(ax, found, order, "mean size of the contribution")


def _swarms(found: Contributions, most: int, ax: Any) -> Any:
    order = _largest(found, most)
    ax = axes_for(ax, size=(7, 1 + 0.36 * len(order)), purpose="Drawing contributions")
    colours = require("matplotlib", purpose="Colours").colormaps["cividis_r"]
    ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
    for line, j in enumerate(order):
        parts, numbers = found.values[:, j], _numbers(found, j)
        shades: Any = GREY
        if numbers is not None and np.isfinite(numbers).any():
            known = np.isfinite(numbers)
            ranks = np.full(len(numbers), np.nan)
            places = np.searchsorted(np.sort(numbers[known]), numbers[known], side="left")
            ranks[known] = places / max(places.max(), 1)
            shades = np.where(known[:, np.newaxis], colours(np.nan_to_num(ranks)), (0.75, 0.75, 0.75, 1))
        heights = line + _spread(parts, *ax.get_xlim())
        ax.scatter(parts, heights, s=9, c=shades, linewidths=0, rasterized=len(parts) > 2000)
    ax.set_ylim(-0.7, len(order) - 0.3)
    bar = ax.figure.colorbar(
        require("matplotlib.cm", purpose="Colours").ScalarMappable(cmap=colours),
        ax=ax,
        ticks=[0, 1],
        aspect=40,
    )
    bar.set_ticklabels(["low", "high"])
    bar.set_label("value of the column", labelpad=-18)
    return _finish_lines(ax, found, order, "contribution")


def _spread(parts: FloatArray, low: float, high: float) -> FloatArray:
    """Move dots that lie at the same place off the line, alternately up and down."""
    low, high = min(low, float(parts.min())), max(high, float(parts.max()))
    places = np.floor((parts - low) / ((high - low) or 1.0) * N_PLACES).astype(np.int64)
    order = np.argsort(places, kind="stable")
    begins = np.r_[True, np.diff(places[order]) > 0]
    first = np.flatnonzero(begins)
    number = np.arange(len(parts)) - np.repeat(first, np.diff(np.r_[first, len(parts)]))
    steps = np.where(number % 2 == 0, number // 2, -(number // 2 + 1)).astype(np.float64)
    offsets = np.empty(len(parts))
    offsets[order] = steps / max(np.abs(steps).max(), 12.0) * HALF_HEIGHT
    return offsets


def _waterfall(found: Contributions, row: int | None, most: int, ax: Any) -> Any:
    if row is None and len(found) == 1:
        row = 0
    if row is None or not -len(found) <= row < len(found):
        raise ValueError(f"A waterfall shows one row: give row=, from 0 to {len(found) - 1}.")
    parts = found.values[row]
    base = np.asarray(found.base_values, dtype=np.float64)
    start = float(base[row] if base.ndim else base)
    order = np.argsort(-np.abs(parts), kind="stable")
    named, rest = order[:most].tolist(), order[most:].tolist()
    steps = [float(parts[j]) for j in named]
    titles = [_named_value(found, j, row) for j in named]
    if rest:
        steps.append(float(parts[rest].sum()))
        titles.append(f"{words.count(len(rest), 'other column')}")
    ends = start + np.cumsum(steps)
    begins = np.r_[start, ends[:-1]]
    ax = axes_for(ax, size=(7, 1.2 + 0.32 * len(steps)), purpose="Drawing contributions")
    span = max(float(np.ptp(np.r_[start, ends])), 1e-300)
    for line, (begin, step) in enumerate(zip(begins, steps, strict=True)):
        ax.barh(line, step, left=begin, color=BLUE if step >= 0 else ORANGE, height=0.65)
        at = max(begin, begin + step) + 0.01 * span
        ax.text(at, line, f"{step:+.3g}", va="center", size="small", color=INK)
        if line + 1 < len(steps):
            ax.plot([begin + step] * 2, [line - 0.33, line + 1.33], color=GREY, linewidth=0.8, zorder=0)
    ax.axvline(start, color=GREY, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_yticks(range(len(steps)), [label(title) for title in titles])
    ax.invert_yaxis()
    low, high = min(start, *ends, *begins), max(start, *ends, *begins)
    ax.set_xlim(low - 0.05 * span, high + 0.14 * span)
    ax.set_xlabel(f"score: from {start:.4g}, of an unknown row, to {ends[-1]:.4g}")
    return ax


def _named_value(found: Contributions, column: int, row: int) -> str:
    values = _values_of(found, column)
    name = words.printable(found.names[column])
    if values is None:
        return name
    value = values[row]
    if column in found.days and not np.isnan(found.days[column][row]):
        return f"{name} = {text_of_days(float(found.days[column][row]))}"
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return f"{name} = {f'{value:.4g}' if is_number else words.printable(value)}"


def _dependence(found: Contributions, column: str | None, ax: Any) -> Any:
    if column not in found.names:
        known = ", ".join(shown(name) for name in found.names[:10])
        raise ValueError(f"Dependence shows one column: give column=, one of {known}; got {shown(column)}.")
    place = found.names.index(column)
    values, parts = _values_of(found, place), found.values[:, place]
    if values is None:
        raise ValueError("The values of the rows are not at hand: take contributions(X) of a table.")
    ax = axes_for(ax, size=(5.5, 3.6), purpose="Drawing contributions")
    ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
    numbers = _numbers(found, place)
    if numbers is not None:
        ax.scatter(numbers, parts, s=12, color=BLUE, alpha=0.6, linewidths=0)
        if place in found.days:
            name_dates(ax.xaxis)
    else:
        _boxes(ax, np.array([words.printable(value) for value in values]), parts)
    ax.set_xlabel(label(column))
    ax.set_ylabel("contribution")
    return ax


def _boxes(ax: Any, texts: npt.NDArray[Any], parts: FloatArray) -> None:
    """Draw a box for each category, of many for the most frequent."""
    groups, counts = np.unique(texts, return_counts=True)
    drawn = np.sort(np.argsort(-counts, kind="stable")[:MOST_BOXES])
    ax.boxplot([parts[texts == groups[k]] for k in drawn], tick_labels=[label(groups[k]) for k in drawn])
    turn_long_names(ax, [groups[k] for k in drawn])
    if len(drawn) < len(groups):
        ax.set_title(f"the {len(drawn)} most frequent of {len(groups):,} values", size="small", loc="right")
