"""matplotlib's figures as SVG that can stand inside a page with a strict content policy.

A figure comes in, an `<svg>` element goes out that carries no style attributes, no style sheet, no outside
name and no identifier that another chart could have: colours of the palette become classes, which the page
paints for light and dark, and all other properties become attributes.
"""

import io
import re
from contextlib import AbstractContextManager
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup

from hornbeam._optional import require

__all__ = ["COLOURS", "FAINT", "PAPER", "chart_style", "inline_svg", "new_figure"]

FAINT, LINE, PAPER = "#777777", "#dddddd", "#ffffff"
# Colour in a figure -> the name under which the page knows it. The first eight are those of `hb.plot`.
COLOURS = {
    "#0072b2": "blue",
    "#e69f00": "orange",
    "#009e73": "green",
    "#cc79a7": "pink",
    "#56b4e9": "sky",
    "#d55e00": "red",
    "#f0e442": "yellow",
    "#999999": "grey",
    "#444444": "ink",
    "#000000": "ink",
    FAINT: "faint",
    LINE: "line",
    PAPER: "paper",
}

_PURPOSE = "A report"
_KEPT = re.compile(r"opacity|(?:fill|stroke)(?:-[a-z]+)?|text-anchor|font-(?:size|weight|style)|clip-rule")
_FONT_SIZE = re.compile(r"([0-9.]+)px")
_SPACE_AND_NAME = re.compile(r"\{[^}]*\}(.*)")


def chart_style() -> AbstractContextManager[Any]:
    """Return the settings under which charts are drawn: quiet axes, text as text, nothing random."""
    matplotlib = require("matplotlib", purpose=_PURPOSE)
    context: AbstractContextManager[Any] = matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "hornbeam",
            "font.size": 9.0,
            "axes.titlesize": 9.5,
            "axes.labelsize": 9.0,
            "legend.fontsize": 8.5,
            "xtick.labelsize": 8.5,
            "ytick.labelsize": 8.5,
            "text.color": "#444444",
            "axes.labelcolor": "#444444",
            "axes.titlecolor": "#444444",
            "axes.edgecolor": FAINT,
            "axes.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "axes.axisbelow": True,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "grid.color": LINE,
            "grid.linewidth": 0.6,
            "xtick.color": FAINT,
            "ytick.color": FAINT,
            "xtick.labelcolor": "#444444",
            "ytick.labelcolor": "#444444",
            "xtick.major.size": 0.0,
            "ytick.major.size": 0.0,
            "xtick.minor.size": 0.0,
            "ytick.minor.size": 0.0,
            "legend.frameon": False,
        }
    )
    return context


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """Make a figure of that many inches outside of pyplot, which would keep it, and its only axes."""
    figure = require("matplotlib.figure", purpose=_PURPOSE).Figure(
        figsize=(width, height), layout="constrained"
    )
    return figure, figure.subplots()


def inline_svg(figure: Any, *, name: str, description: str) -> Markup:
    """Turn a figure into an element of the page; `name` tells its identifiers from those of other charts."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    text = re.sub(r"<!DOCTYPE[^>]*>", "", buffer.getvalue())
    root = ElementTree.fromstring(text)
    _clean(root, name)
    width, height = (float(size) for size in root.get("viewBox", "0 0 1 1").split()[2:])
    root.attrib.update({"class": "chart", "role": "img", "aria-label": description})
    root.attrib.update({"width": f"{width * 4 / 3:.0f}", "height": f"{height * 4 / 3:.0f}"})
    # Everything in the text was escaped by the serialiser; what is ours holds no markup.
    return Markup(ElementTree.tostring(root, encoding="unicode", method="html"))


def _clean(root: Any, name: str) -> None:
    referred = _referred(root)
    for element in list(root.iter()):
        element.tag = _local(element.tag)
        for child in list(element):
            if _local(child.tag) in ("metadata", "style"):
                element.remove(child)
        given = dict(element.attrib)
        element.attrib.clear()
        for key, value in given.items():
            _keep_attribute(element, _local(key), value, name, referred)
    root.attrib.pop("version", None)


def _referred(root: Any) -> set[str]:
    """Collect the identifiers that something refers to; all others only name things."""
    texts = [value for element in root.iter() for value in element.attrib.values()]
    return {found for text in texts for found in re.findall(r"(?:^|url\()#([\w-]+)", text)}


def _keep_attribute(element: Any, key: str, value: str, name: str, referred: set[str]) -> None:
    if key == "style":
        _spread_style(element, value)
    elif key == "id":
        if value in referred:
            element.set("id", f"{name}-{value}")
    elif value.startswith("#"):
        element.set(key, f"#{name}-{value[1:]}")
    elif value.startswith("url(#"):
        element.set(key, f"url(#{name}-{value[5:]}")
    else:
        element.set(key, value)


def _spread_style(element: Any, style: str) -> None:
    classes = []
    for declaration in style.split(";"):
        key, _, value = (part.strip() for part in declaration.partition(":"))
        if key == "font":  # the shorthand: size and family; the family is the page's
            size = _FONT_SIZE.search(value)
            if size:
                element.set("font-size", size[1])
            if "bold" in value:
                element.set("font-weight", "bold")
        elif key in ("fill", "stroke") and value.lower() in COLOURS:
            classes.append(f"{key}-{COLOURS[value.lower()]}")
        elif _KEPT.fullmatch(key):
            element.set(key, value.removesuffix("px"))
    if element.tag == "text" and not any(each.startswith("fill-") for each in classes):
        classes.append("fill-ink")  # black is what matplotlib leaves unsaid
    if classes:
        element.set("class", " ".join(classes))


def _local(qualified: str) -> str:
    found = _SPACE_AND_NAME.fullmatch(qualified)
    return found[1] if found else qualified
