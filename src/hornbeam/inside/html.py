"""What notebooks show: texts and tables as HTML, with every name escaped."""

from collections.abc import Sequence
from html import escape

__all__ = ["html_table", "preformatted"]

_CELL = "text-align:right;padding:0.1em 0.8em 0.1em 0"
_FIRST = "text-align:left;padding:0.1em 0.8em 0.1em 0"


def preformatted(text: str) -> str:
    """Show a text as it is."""
    return f"<pre>{escape(text)}</pre>"


def html_table(titles: Sequence[str], rows: Sequence[Sequence[str]], below: str = "") -> str:
    """Show rows of texts under their titles, the first column to the left, and a sentence below."""
    head = "".join(_cell("th", title, place) for place, title in enumerate(titles))
    body = "".join(
        "<tr>" + "".join(_cell("td", cell, place) for place, cell in enumerate(row)) + "</tr>" for row in rows
    )
    said = f"<p>{escape(below)}</p>" if below else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{said}"


def _cell(kind: str, text: str, place: int) -> str:
    return f'<{kind} style="{_CELL if place else _FIRST}">{escape(text)}</{kind}>'
