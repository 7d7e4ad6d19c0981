"""Names, numbers, shares and categories as words that are safe to print.

Column names, class labels and categories are other people's text: they may hold escape sequences of a
terminal, line breaks, marks that reverse the writing direction, or a megabyte. Whatever goes into a line
for people goes through `printable` first.
"""

import math
import re
from collections.abc import Iterable, Sequence
from operator import itemgetter

__all__ = ["brief_number", "count", "listed", "named", "number", "percent", "printable", "share_words"]

# A name is cut here; a test of a few names still fits on a line.
LONGEST_NAME = 60
# A set of categories is cut here, and so is a list of class shares.
MOST_CATEGORIES = 12
MOST_SHARES = 4

# A short form of a number differs from it by less than this share of it.
NOISE = 2.0**-50

# What a reader could take for a part of the sentence around a name.
_AMBIGUOUS = re.compile(r"""^$|^\s|\s$|[,{}'"]|\s(?:and|or|then)\s""")


def printable(text: object, limit: int | None = LONGEST_NAME) -> str:
    """Return a text with everything that does not print as itself escaped, cut at `limit` characters."""
    whole = str(text)
    if (limit is None or len(whole) <= limit) and whole.isprintable():
        return whole
    # Escaping only ever makes a text longer, so what lies beyond the limit need not be escaped to be cut.
    shown = "".join(map(_escaped, whole if limit is None else whole[: limit + 1]))
    return shown if limit is None or len(shown) <= limit else shown[: limit - 3] + "..."


def _escaped(character: str) -> str:
    return character if character.isprintable() else ascii(character)[1:-1]


def named(value: object) -> str:
    """Name a column, a class or a category; in quotes where its end could not be seen without them."""
    text = printable(value)
    if not _AMBIGUOUS.search(text):
        return text
    return f'"{text}"' if "'" in text else f"'{text}'"


def number(value: float, *, all_digits: bool = False) -> str:
    """Write a number that has to separate others.

    Halfway between 0.1 and 0.2 lies 0.15000000000000002 to a computer and 0.15 to everybody else: a last
    digit that follows a run of zeros or nines is noise. Any other number keeps every digit it needs.
    """
    exact = repr(float(value)).removesuffix(".0")
    short = f"{value:.15g}"
    is_noise = len(short) < len(exact) - 3 and math.isclose(float(short), value, rel_tol=NOISE)
    return short if is_noise and not all_digits else exact


def brief_number(value: float) -> str:
    """Write a number that is only for reading."""
    return f"{value:.6g}"


def percent(share: float) -> str:
    """Write a share; only exactly 0 and exactly 1 are written 0 % and 100 %."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    if share < 0.001:
        return "<0.1 %"
    if share > 0.999:
        return ">99.9 %"
    digits = 1 if share < 0.01 or share > 0.99 else 0
    return f"{100 * share:.{digits}f} %"


def count(n: int, noun: str) -> str:
    """Count things: "1 row", "1,200 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def share_words(labels: Sequence[str], shares: Sequence[float]) -> str:
    """Write class shares, the largest first; equals in the order of the classes, so the answer leads.

    The labels come as words, and there may be fewer of them than shares: the rest is padding.
    """
    present = [(share, label) for label, share in zip(labels, shares, strict=False) if share > 0]
    present.sort(key=itemgetter(0), reverse=True)
    words = [f"{percent(share)} {label}" for share, label in present[:MOST_SHARES]]
    left = len(present) - len(words)
    return ", ".join(words) + (f", {left:,} more" if left else "")


def listed(categories: Sequence[object]) -> str:
    """Write a set of categories; a long one is cut and its size given."""
    return "{" + ", ".join(_cut(categories)) + "}"


def _cut(categories: Sequence[object]) -> Iterable[str]:
    yield from (named(category) for category in categories[:MOST_CATEGORIES])
    left = len(categories) - MOST_CATEGORIES
    if left > 0:
        yield f"... {left:,} more"
