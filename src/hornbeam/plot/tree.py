"""Draws a tree in matplotlib: tests in boxes, predictions in the colours of their classes.

In: a fitted model made of our trees. Out: axes. Leaves stand side by side, every inner node in the
middle of its children. Small trees grow down, larger ones to the right, where every leaf has a line of text
of its own. Nothing recurses: the walk of a `TreeReading` gives the nodes in order.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.inside import words
from hornbeam.inside.nodes import Place, TreeReading, readings_of, way_to_members
from hornbeam.plot.canvas import axes_for, class_colours, label, tint, value_colours

__all__ = ["tree"]

Direction = Literal["down", "right"]

# Beyond this many leaves the lower levels of a tree are folded, unless max_depth says otherwise.
MOST_LEAVES = 64
# Up to this many leaves fit side by side on a page.
MOST_LEAVES_DOWN = 8
# Longer words are cut, so that neighbours do not overlap.
LONGEST_WORDS = 34


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the nodes shown are: `along` the line of leaves, `depth` away from the root."""

    places: list[Place]
    along: dict[int, float]
    folded: frozenset[int]
    n_lines: int
    n_levels: int


def tree(
    model: Any,
    *,
    member: int = 0,
    max_depth: int | None = None,
    direction: Direction | None = None,
    font_size: float = 8.0,
    ax: Any = None,
) -> Any:
    """Draw a tree, or one member of an ensemble of trees; return the axes.

    The width of the line to a node is its share of the training rows; its colour is the class that it would
    predict, paler the more mixed its rows are, or for numbers, darker for larger ones. A left or upper branch
    means that the test is true. Nodes below `max_depth` are folded; None shows as many levels as can be read.
    """
    readings = readings_of(model)
    if not readings:
        raise TypeError(
            f"plot.tree draws models made of hornbeam's trees; got {type(model).__name__}."
            f"{way_to_members(model)}"
        )
    reading = readings[member]
    layout = _layout(reading, _depth_to_show(reading, max_depth))
    direction = direction or ("down" if layout.n_lines <= MOST_LEAVES_DOWN else "right")
    ax = axes_for(ax, size=_size(layout, direction, font_size), purpose="Drawing a tree")
    painter = _Painter(reading, layout, direction, font_size, ax)
    for place in layout.places:
        painter.draw_line(place)
    for place in layout.places:
        painter.draw_box(place.node)
    painter.finish()
    return ax


# --- Where everything goes -------------------------------------------------------------------------------


def _depth_to_show(reading: TreeReading, max_depth: int | None) -> int:
    if max_depth is not None:
        return max_depth
    depths = reading.tree.depth
    is_leaf = reading.tree.n_branches == 0
    for depth in range(int(depths.max()), 0, -1):
        if np.count_nonzero((depths == depth) | (is_leaf & (depths < depth))) <= MOST_LEAVES:
            return depth
    return 1


def _layout(reading: TreeReading, max_depth: int) -> _Layout:
    places = [place for place in reading.walk() if place.depth <= max_depth]
    folded = frozenset(p.node for p in places if p.depth == max_depth and reading.branches(p.node))
    along: dict[int, float] = {}
    n_lines = 0
    for place in places:
        if place.node in folded or not reading.branches(place.node):
            along[place.node] = n_lines
            n_lines += 1
    for place in reversed(places):  # children come after their parent, so backwards they are placed first
        if place.node not in along:
            children = [along[reading.child(place.node, branch)] for branch in reading.branches(place.node)]
            along[place.node] = (children[0] + children[-1]) / 2
    return _Layout(places, along, folded, n_lines, 1 + max(place.depth for place in places))


def _size(layout: _Layout, direction: Direction, font_size: float) -> tuple[float, float]:
    """Return the size of a figure in inches in which no two boxes meet."""
    em = font_size / 72
    if direction == "down":
        return max(4.0, 15 * em * layout.n_lines), max(2.5, 8 * em * layout.n_levels)
    return max(5.0, 20 * em * layout.n_levels), max(2.5, 3.1 * em * layout.n_lines)


# --- What it looks like ----------------------------------------------------------------------------------


class _Painter:
    """Draws boxes and lines of one tree."""

    def __init__(
        self, reading: TreeReading, layout: _Layout, direction: Direction, font_size: float, ax: Any
    ) -> None:
        self.reading = reading
        self.layout = layout
        self.direction = direction
        self.font_size = font_size
        self.ax = ax
        self.ends = {
            place.node: (layout.along[place.node], -place.depth)
            if direction == "down"
            else (place.depth, -layout.along[place.node])
            for place in layout.places
        }
        self.colours = _node_colours(reading)
        self.all_rows = max(reading.weight(0), 1e-300)

    def draw_line(self, place: Place) -> None:
        """Draw the line from a parent to a node, with a width by the number of its rows."""
        if place.parent < 0:
            return
        (x0, y0), (x1, y1) = self.ends[place.parent], self.ends[place.node]
        share = self.reading.weight(place.node) / self.all_rows
        # First along the leaves, then away from the root: lines of siblings part at once and never cross.
        xs, ys = ([x0, x1, x1], [y0, y0, y1]) if self.direction == "down" else ([x0, x0, x1], [y0, y1, y1])
        colour = self.colours[place.node] * 0.9
        self.ax.plot(xs, ys, color=colour, linewidth=0.8 + 7 * share, solid_joinstyle="round", zorder=1)
        words_of_branch = self._branch_words(place)
        if words_of_branch:
            at = (x1, (y0 + y1) / 2) if self.direction == "down" else ((x0 + x1) / 2, y1)
            self._text(at, words_of_branch, size=self.font_size * 0.85, box=None)

    def _branch_words(self, place: Place) -> str:
        """Name a branch: yes or no, or the categories that take it where there are more than two."""
        if len(self.reading.branches(place.parent)) == 2:
            return "" if self.direction == "right" else ("yes", "no")[place.branch]
        text = self.reading.branch_words(place.parent, place.branch)
        name = self.reading.name_words[self.reading.feature(place.parent)]
        return _cut(text.removeprefix(f"{name} "), LONGEST_WORDS // 2)

    def draw_box(self, node: int) -> None:
        """Draw a node: its test, or its answer and what that rests on."""
        is_open = bool(self.reading.branches(node)) and node not in self.layout.folded
        text = self._test(node) if is_open else self._answer(node)
        colour = np.ones(3) if is_open else self.colours[node]
        edge = "#444444" if is_open else self.colours[node] * 0.75
        box = {
            "boxstyle": "round,pad=0.35" if is_open else "square,pad=0.3",
            "facecolor": colour,
            "edgecolor": edge,
            "linewidth": 0.8,
        }
        self._text(self.ends[node], text, size=self.font_size, box=box, colour=_ink(colour))

    def _test(self, node: int) -> str:
        """Write a test; a picture has room for six digits, and rather cuts a name than a number."""
        reading = self.reading
        feature = reading.feature(node)
        if reading.schema.kinds[feature] != "numeric" or reading.schema.part(feature) is not None:
            return _cut(reading.test_words(node), LONGEST_WORDS)
        number = words.brief_number(float(reading.tree.threshold[node]))
        return f"{_cut(reading.name_words[feature], LONGEST_WORDS - len(number) - 4)} <= {number}"

    def _answer(self, node: int) -> str:
        reading = self.reading
        answer = _cut(reading.answer_words(node), LONGEST_WORDS)
        rows = reading.row_words(node)
        shares = ", ".join(words.percent(share) for share in reading.answer_shares(node))
        grounds = f"{rows}, {shares}" if shares else rows
        if node in self.layout.folded:
            grounds += ", folded"
        return f"{answer}\n{grounds}" if self.direction == "down" else f"{answer}   {grounds}"

    def _text(
        self, at: tuple[float, float], text: str, *, size: float, box: Any, colour: str = "black"
    ) -> None:
        self.ax.text(
            *at,
            label(text) if "\n" not in text else "\n".join(map(label, text.split("\n"))),
            size=size,
            color=colour,
            ha="center",
            va="center",
            bbox=box or {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"},
            zorder=3 if box else 2,
            clip_on=False,
        )

    def finish(self) -> None:
        """Set limits with room for the boxes, and say how to read a turn."""
        lines, levels = self.layout.n_lines, self.layout.n_levels
        if self.direction == "down":
            self.ax.set_xlim(-0.6, lines - 0.4)
            self.ax.set_ylim(-levels + 0.5, 0.4)
        else:
            self.ax.set_xlim(-0.55, levels - 0.4)
            self.ax.set_ylim(-lines + 0.4, 0.8)
            if any(len(self.reading.branches(place.node)) == 2 for place in self.layout.places):
                self.ax.set_title("test met: upper branch", size=self.font_size, loc="left", color="#444444")
        self.ax.set_axis_off()


def _node_colours(reading: TreeReading) -> npt.NDArray[np.float64]:
    """Return the colour of every node; several outputs show the first."""
    value = np.asarray(reading.tree.value)[:, 0, :]
    if not reading.classes:
        return value_colours(value[:, 0])
    n_classes = len(reading.classes[0])
    shares = value[:, :n_classes]
    # A node where all classes are equally frequent is palest, a pure one has its class's colour.
    purity = (
        (shares.max(axis=1) - 1 / n_classes) / (1 - 1 / n_classes) if n_classes > 1 else np.ones(len(value))
    )
    return tint(class_colours(n_classes)[np.argmax(shares, axis=1)], 0.25 + 0.75 * purity)


def _ink(colour: npt.NDArray[np.float64]) -> str:
    """Choose black or white text, whichever can be read on a colour."""
    return "black" if float(colour @ (0.299, 0.587, 0.114)) > 0.5 else "white"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
