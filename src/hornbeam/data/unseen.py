"""Categories that a fit has not seen: one warning per call, with counts, even if it predicts many times.

`warn_of_unseen` warns at once, unless a loop over folds or members uses `said_once`: then rows are counted,
and the loop warns at its end.
"""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from hornbeam.warnings import UnseenCategoryWarning, each_warning_once, warn

__all__ = ["said_once", "warn_of_unseen"]

_MOST_COLUMNS = 5

_lock = threading.Lock()
_tallies: list[Counter[tuple[str, str]]] = []  # one per running loop, the outermost first


def warn_of_unseen(n_unseen: Mapping[str, int], way: str) -> None:
    """Warn of rows with unknown categories, counted by column; `way` says where they go.

    Columns of which nothing is to be said come with a count of 0, so that all are said in the table's order.
    """
    with _lock:
        if _tallies:
            _tallies[0].update({(way, name): count for name, count in n_unseen.items()})
            return
    _say(n_unseen, way, "")


@contextmanager
def said_once() -> Iterator[None]:
    """Collect the warnings of all predictions in the block, and warn once after it.

    Other warnings, too, are given at most once.
    """
    with _lock:
        tally: Counter[tuple[str, str]] = Counter()
        _tallies.append(tally)
    try:
        with each_warning_once():
            yield
    finally:
        with _lock:  # by identity: the one of another thread may be equal to it
            _tallies[:] = [other for other in _tallies if other is not tally]
    for way in dict.fromkeys(way for way, _ in tally):
        counts = {name: count for (which, name), count in tally.items() if which == way}
        _say(counts, way, ", over all folds and members")


def _say(n_unseen: Mapping[str, int], way: str, where: str) -> None:
    told = [f"{name!r}: {count} row(s)" for name, count in n_unseen.items() if count]
    if not told:
        return
    shown = told[:_MOST_COLUMNS]
    more = len(told) - len(shown)
    if more:
        shown.append(f"and {more} other column(s)")
    warn(
        f"Categories that the fit has not seen go {way} (unseen='error' refuses them): "
        f"{', '.join(shown)}{where}.",
        UnseenCategoryWarning,
    )
