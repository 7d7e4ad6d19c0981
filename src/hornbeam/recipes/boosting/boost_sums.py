"""Sums of what parts of a boosting fit say: whole numbers, which may be added anywhere and in any order.

An answer is a tuple: the sums of some nodes as the core makes them (`cpp/bindings/parts/part_sums.h`), and a
list of the numbers of rows by code of some others.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core

__all__ = ["added", "added_counts"]


def added(answers: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add up answers to the same question."""
    return (*_core.added_sums(list(answers)), added_counts(answers))


def added_counts(answers: Sequence[tuple[Any, ...]]) -> list[npt.NDArray[np.uint32]]:
    """Add up the numbers of rows by code."""
    by_node = zip(*(answer[3] for answer in answers), strict=True)
    return [np.stack(of_node).sum(axis=0, dtype=np.uint32) for of_node in by_node]
