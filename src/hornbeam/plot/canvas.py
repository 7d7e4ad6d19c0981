"""What all pictures share: axes to draw into, and colours that everybody can distinguish."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.data.dates import text_of_days
from hornbeam.inside.words import printable

__all__ = [
    "BLUE",
    "CYCLE",
    "GREY",
    "INK",
    "ORANGE",
    "PALETTE",
    "STYLES",
    "axes_for",
    "class_colours",
    "draw_course",
    "label",
    "name_dates",
    "tint",
    "turn_long_names",
    "value_colours",
]

# Okabe and Ito (2008): told apart by colour-blind people, too. Beyond them colours are spread over the wheel.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999")

BLUE, ORANGE, GREY, INK = PALETTE[0], PALETTE[1], PALETTE[7], "#444444"
# Lines that differ in colour differ in stroke, too: a copy in grey can still be read.
CYCLE = tuple(colour for colour in PALETTE if colour != "#F0E442")  # yellow lines cannot be seen on white
STYLES = ("-", "--", ":", "-.")


def axes_for(ax: Any, *, size: tuple[float, float] | None = None, purpose: str) -> Any:
    """Return the given axes, or new ones on a figure of their own."""
    pyplot = require("matplotlib.pyplot", purpose=purpose)
    if ax is not None:
        return ax
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def class_colours(n_classes: int) -> npt.NDArray[np.float64]:
    """Return one colour per class, as red, green and blue."""
    colors = require("matplotlib.colors", purpose="Colours")
    if n_classes <= len(PALETTE):
        return np.array([colors.to_rgb(name) for name in PALETTE[:n_classes]])
    hues = np.arange(n_classes) / n_classes
    wheel: npt.NDArray[np.float64] = colors.hsv_to_rgb(
        np.stack([hues, np.full(n_classes, 0.75), np.full(n_classes, 0.8)], axis=1)
    )
    return wheel


def value_colours(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return a colour per number, from light for the least to dark for the largest."""
    colormaps = require("matplotlib", purpose="Colours").colormaps
    least, largest = float(np.min(values)), float(np.max(values))
    span = (largest - least) or 1.0
    shades: npt.NDArray[np.float64] = colormaps["Blues"](0.15 + 0.7 * (values - least) / span)[..., :3]
    return shades


def tint(colour: npt.NDArray[np.float64], strength: Any) -> npt.NDArray[np.float64]:
    """Mix colours with white: strength 1 leaves a colour as it is, 0 makes it white."""
    strength = np.asarray(strength, dtype=np.float64)[..., None]
    mixed: npt.NDArray[np.float64] = 1 - strength * (1 - colour)
    return mixed


def draw_course(ax: Any, places: Any, values: Any, name: str, *, marker: str | None = None) -> None:
    """Draw a line of training rows or test rows, the same way in every picture that has both."""
    is_training = name == "training rows"
    colour, style = (GREY, "--") if is_training else (BLUE, "-")
    face = "white" if is_training else colour
    ax.plot(
        places,
        values,
        linestyle=style,
        color=colour,
        marker=marker,
        markersize=4,
        markerfacecolor=face,
        linewidth=1.4,
        label=name,
    )


def label(text: object) -> str:
    """Write other people's text so that matplotlib shows it as it is: `$` would start a formula."""
    return printable(text).replace("$", r"\$")


def name_dates(axis: Any) -> None:
    """Write the days since 1970-01-01 along an axis as dates, of which few have room."""
    ticker = require("matplotlib.ticker", purpose="Writing dates")
    axis.set_major_locator(ticker.MaxNLocator(4))
    axis.set_major_formatter(ticker.FuncFormatter(lambda days, _: text_of_days(days)))


def turn_long_names(ax: Any, names: Sequence[object]) -> None:
    """Write names along the lower axis aslant where they would run into each other."""
    room = 60 / max(len(names), 1)  # letters that an axis of the usual width has for each
    if any(len(label(name)) > room for name in names):
        ax.tick_params(axis="x", labelrotation=40)
        for text in ax.get_xticklabels():
            text.set(ha="right", rotation_mode="anchor")
