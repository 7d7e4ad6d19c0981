"""Sums of what parts of a boosting fit say: whole numbers, which may be added anywhere and in any order.

An answer is a list: of the cells of nodes (rows on the left, total, cells, categories), or of counts by code.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["added", "narrow"]

_MOST_NARROW = 2**31 - 1


def added(answers: Sequence[list[Any]]) -> list[Any]:
    """Add up answers, place by place, in full width."""
    return [_added(of_place) for of_place in zip(*answers, strict=True)]


def narrow(answer: list[Any]) -> list[Any]:
    """Halve what is sent: most sums fit 32 bits."""
    return [own if isinstance(own, np.ndarray) else _narrow(own) for own in answer]


def _narrow(sums: Any) -> Any:
    n_left, total, cells, categories = sums
    if len(cells) and max(int(cells.max()), -int(cells.min())) <= _MOST_NARROW:
        cells = cells.astype(np.int32)
    return n_left, total, cells, categories


def _added(answers: Sequence[Any]) -> Any:
    if isinstance(answers[0], np.ndarray):  # counts
        return np.stack(answers).sum(axis=0, dtype=np.uint32)
    n_left = sum(answer[0] for answer in answers)
    total = np.sum([answer[1] for answer in answers], axis=0, dtype=np.int64)
    cells = np.zeros(len(answers[0][2]), dtype=np.int64)
    for answer in answers:
        cells += answer[2]
    by_column = zip(*(answer[3] for answer in answers), strict=True)
    return n_left, total, cells, [_added_categories(columns) for columns in by_column]


def _added_categories(columns: Sequence[Any]) -> tuple[Any, ...]:
    codes, places = np.unique(np.concatenate([column[0] for column in columns]), return_inverse=True)
    cells = np.zeros((len(codes), 2), dtype=np.int64)
    rows = np.zeros(len(codes), dtype=np.int64)
    np.add.at(cells, places, np.concatenate([column[1] for column in columns]).reshape(-1, 2))
    np.add.at(rows, places, np.concatenate([column[2] for column in columns]))
    return codes, cells.reshape(-1), rows
