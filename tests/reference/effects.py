"""Effects by their definition: a model is asked, row by row and value by value, with one column changed.

In:  `ask`, which takes a list of rows (dicts) and returns a score per row; the rows; a column and the values
     it is asked at, in order: the upper ends of the steps of a number, or categories.
Out: partial dependence of one column and of two; accumulated local effects of one and of two.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Ask = Callable[[list[Row]], Sequence[float]]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def partial(ask: Ask, rows: list[Row], columns: Sequence[str], values: Sequence[Any]) -> float:
    """The mean score of all rows with these values in these columns."""
    return _mean(ask([{**row, **dict(zip(columns, values, strict=True))} for row in rows]))


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _place(value: Any, values: Sequence[Any], is_number: bool) -> int:
    """Which of the steps a row is at."""
    if not is_number:
        return list(values).index(value)
    return next(k for k, end in enumerate(values) if value <= end)


def rows_near(
    rows: list[Row], column: str, values: Sequence[Any], step: int, n_bins: int, is_number: bool
) -> list[int]:
    """The rows near the step from one value to the next: of the same bin, or of the two categories."""
    known = [i for i, row in enumerate(rows) if not _is_missing(row[column])]
    if not is_number:
        return [i for i in known if rows[i][column] in (values[step], values[step + 1])]
    ordered = sorted(rows[i][column] for i in known)
    n = len(ordered)
    # The smallest number with at least k of n_bins parts of the rows up to it.
    edges = {ordered[(n * k + n_bins - 1) // n_bins - 1] for k in range(1, n_bins)} - {ordered[-1]}

    def bin_of_row(value: float) -> int:
        return sum(edge < value for edge in edges)

    bin_of_step = sum(edge <= values[step] for edge in edges)
    return [i for i in known if bin_of_row(rows[i][column]) == bin_of_step]


def accumulated(
    ask: Ask, rows: list[Row], column: str, values: Sequence[Any], n_bins: int, is_number: bool
) -> list[float]:
    """The accumulated local effect of one column at each value; the mean over the rows is 0."""
    curve = [0.0]
    for step in range(len(values) - 1):
        near = [rows[i] for i in rows_near(rows, column, values, step, n_bins, is_number)]
        up = partial(ask, near, [column], [values[step + 1]])
        curve.append(curve[-1] + up - partial(ask, near, [column], [values[step]]))
    own = [curve[_place(row[column], values, is_number)] for row in rows if not _is_missing(row[column])]
    return [one - _mean(own) for one in curve]


def accumulated_pair(
    ask: Ask, rows: list[Row], columns: tuple[str, str], values: Sequence[Sequence[Any]], n_bins: int
) -> list[list[float]]:
    """Of two columns of numbers."""
    rows = [row for row in rows if not any(_is_missing(row[column]) for column in columns)]
    near = [
        [set(rows_near(rows, column, own, step, n_bins, True)) for step in range(len(own) - 1)]
        for column, own in zip(columns, values, strict=True)
    ]
    places = [[_place(row[c], own, True) for row in rows] for c, own in zip(columns, values, strict=True)]
    n, m = len(values[0]), len(values[1])
    used = [(i, j) for i in range(n - 1) for j in range(m - 1) if near[0][i] & near[1][j]]
    surface = [[0.0] * m for _ in range(n)]
    for k in range(1, n):
        for q in range(1, m):
            _, i, j = min(((i - k + 1) ** 2 + (j - q + 1) ** 2, i, j) for i, j in used)
            some = [rows[r] for r in sorted(near[0][i] & near[1][j])]

            def at(a: int, b: int, some: list[Row] = some) -> float:
                return partial(ask, some, columns, [values[0][a], values[1][b]])

            mixed = at(k, q) - at(k, q - 1) - at(k - 1, q) + at(k - 1, q - 1)
            surface[k][q] = surface[k - 1][q] + surface[k][q - 1] - surface[k - 1][q - 1] + mixed
    first = [0.0]
    for k in range(1, n):
        jumps = [surface[k][places[1][r]] - surface[k - 1][places[1][r]] for r in near[0][k - 1]]
        first.append(first[-1] + _mean(jumps))
    surface = [[one - first[k] for one in line] for k, line in enumerate(surface)]
    second = [0.0]
    for q in range(1, m):
        jumps = [surface[places[0][r]][q] - surface[places[0][r]][q - 1] for r in near[1][q - 1]]
        second.append(second[-1] + _mean(jumps))
    surface = [[one - second[q] for q, one in enumerate(line)] for line in surface]
    centre = _mean([surface[a][b] for a, b in zip(*places, strict=True)])
    return [[one - centre for one in line] for line in surface]
