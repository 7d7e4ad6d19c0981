"""Sums of what parts of a boosting fit say: whole numbers, which may be added anywhere and in any order.

An answer is a list: of the cells of nodes (rows on the left, total, cells, categories), or of counts by code.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam import _core

__all__ = ["added"]


def added(answers: Sequence[list[Any]]) -> list[Any]:
    """Add up answers, place by place; cells come in 32 bits where these hold them."""
    if answers and answers[0] and isinstance(answers[0][0], np.ndarray):
        return [np.stack(of_place).sum(axis=0, dtype=np.uint32) for of_place in zip(*answers, strict=True)]
    sums: list[Any] = _core.added_sums(list(answers))
    return sums
