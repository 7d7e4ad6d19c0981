"""The labels for every value of every column, as bars, with the gain of splitting on the column."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.impurity import information_gain
from hornbeam.plot.canvas import axes_for, class_colours, label

__all__ = ["distributions"]

# A bar per value up to so many; rarer ones are put together.
MOST_VALUES = 8
HATCHES = ("", "//", "..", "xx", "\\\\", "++", "oo", "--")


def distributions(X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw a bar per value of each column, divided by class, and the gain of the column; return the axes.

    Columns of numbers are divided at the threshold of most information gain. The length of a bar is its
    number of rows.
    """
    columns, names = _columns(X)
    labels = np.asarray(y)
    classes, codes = np.unique(
        labels.astype(str) if labels.dtype.kind == "O" else labels, return_inverse=True
    )
    parts = [(name, *_asked(values, codes)) for name, values in zip(names, columns, strict=True)]
    n_bars = sum(len(rows) for _, rows, _ in parts)
    ax = axes_for(ax, size=(7, 0.7 + 0.27 * (n_bars + len(parts))), purpose="Drawing distributions")
    place = 0.0
    ticks: list[float] = []
    words: list[str] = []
    colours = class_colours(len(classes))
    longest = max(counts.sum() for _, rows, _ in parts for _, counts in rows)
    for name, rows, gain in parts:
        middle = place + (len(rows) - 1) / 2
        ax.text(1.04 * longest, middle, f"{gain:.4f}", va="center")
        for value, counts in rows:
            begin = 0.0
            for k, count in enumerate(counts):
                ax.barh(
                    place,
                    count,
                    left=begin,
                    height=0.8,
                    color=colours[k],
                    hatch=HATCHES[k % len(HATCHES)],
                    edgecolor="white",
                    linewidth=0.5,
                    label=label(classes[k]) if not ticks else "",
                )
                begin += count
            ticks.append(place)
            words.append(label(f"{name}  {value}"))
            place += 1
        place += 0.6
    ax.text(1.04 * longest, -1.1, "gain", va="center", style="italic")
    ax.set_yticks(ticks, words)
    ax.set_ylim(place - 0.4, -1.7)
    ax.set_xlim(0, 1.22 * longest)
    ax.set_xlabel("rows")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(classes))
    return ax


def _columns(X: Any) -> tuple[list[npt.NDArray[Any]], list[str]]:
    if hasattr(X, "columns"):
        return [X[name].to_numpy() for name in X.columns], [str(name) for name in X.columns]
    table = np.asarray(X)
    return [table[:, j] for j in range(table.shape[1])], [f"x{j}" for j in range(table.shape[1])]


def _asked(values: npt.NDArray[Any], codes: npt.NDArray[np.int64]) -> tuple[list[tuple[str, Any]], float]:
    """Return the bars of a column, in words with their counts, and what asking for it gains."""
    n_classes = int(codes.max()) + 1
    if values.dtype.kind in "if":
        ordered = np.unique(values)
        if len(ordered) < 2:
            return [("any", np.bincount(codes, minlength=n_classes))], 0.0
        middles = (ordered[:-1] + ordered[1:]) / 2
        gains = [round(information_gain(labels=codes, by=values < middle), 12) for middle in middles]
        at = float(middles[int(np.argmax(gains))])
        sides = ((f"< {at:g}", values < at), (f">= {at:g}", values >= at))
        return [(word, np.bincount(codes[rows], minlength=n_classes)) for word, rows in sides], max(gains)
    words = values.astype(str)
    present, counts = np.unique(words, return_counts=True)
    shown = present
    if len(present) > MOST_VALUES:
        shown = np.sort(present[np.argsort(-counts, kind="stable")[: MOST_VALUES - 1]])
    bars = [(str(value), np.bincount(codes[words == value], minlength=n_classes)) for value in shown]
    if len(shown) < len(present):
        rest = ~np.isin(words, shown)
        bars.append((f"{len(present) - len(shown)} others", np.bincount(codes[rest], minlength=n_classes)))
    return bars, information_gain(labels=codes, by=words)
