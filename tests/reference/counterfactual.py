"""The nearest change that changes an answer, by trying every combination of cells.

In:  `ask`, which takes rows (dicts) and returns an answer per row; the row; for each column the changes to
     try, as (new value, distance); `is_wanted`, which judges an answer.
Out: the smallest sum of distances of a combination with a wanted answer; infinity if there is none.
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = dict[str, Any]


def smallest_distance(
    ask: Callable[[list[Row]], Sequence[Any]],
    row: Row,
    options: Mapping[str, Sequence[tuple[Any, float]]],
    is_wanted: Callable[[Any], bool],
) -> float:
    names = list(options)
    tried, distances = [], []
    for combination in itertools.product(*(options[name] for name in names)):
        tried.append({**row, **{name: value for name, (value, _) in zip(names, combination, strict=True)}})
        distances.append(sum(distance for _, distance in combination))
    wanted = [distance for distance, answer in zip(distances, ask(tried), strict=True) if is_wanted(answer)]
    return min(wanted, default=math.inf)


def options_of_number(
    own: float, thresholds: Sequence[float], spread: float, *, up: bool = True, down: bool = True
) -> list[tuple[float, float]]:
    """The row's own number, and the nearest beyond every threshold."""
    found = [(own, 0.0)]
    for threshold in thresholds:
        if threshold < own and down:
            found.append((threshold, (own - threshold) / spread))
        elif threshold >= own and up:
            found.append((math.nextafter(threshold, math.inf), (threshold - own) / spread))
    return found


def spread_of(values: Sequence[float]) -> float:
    """The mean distance from the median."""
    known = sorted(value for value in values if not math.isnan(value))
    n = len(known)
    median = (known[(n - 1) // 2] + known[n // 2]) / 2
    return sum(abs(value - median) for value in known) / n or 1.0
