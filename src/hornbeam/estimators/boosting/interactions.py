"""Which columns may occur together on a path: turns `interaction_cst` into groups of columns."""

from itertools import combinations
from typing import Any

__all__ = ["interaction_groups"]


def interaction_groups(given: Any, names: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Turn `interaction_cst` into groups of column numbers; empty if nothing is constrained."""
    columns = range(len(names))
    if given is None:
        return ()
    if isinstance(given, str):
        size = 2 if given == "pairwise" and len(names) > 1 else 1
        return tuple(combinations(columns, size))
    groups = [tuple(_column_number(column, names) for column in group) for group in given]
    left_over = tuple(sorted(set(columns).difference(*groups)))
    return tuple([*groups, left_over] if left_over else groups)


def _column_number(column: Any, names: tuple[str, ...]) -> int:
    """Find a column of `interaction_cst`, given by name or number."""
    if not isinstance(column, str):
        if column >= len(names):
            raise ValueError(f"interaction_cst has column {column}, but X has only {len(names)} column(s).")
        return int(column)
    if column not in names:
        raise ValueError(
            f"interaction_cst names {column!r}, which is not a column of X; columns are "
            f"{', '.join(map(repr, names[:10]))}."
        )
    return names.index(column)
