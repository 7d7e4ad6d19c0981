"""Sums of what parts of a boosting fit say: whole numbers, which may be added anywhere and in any order.

An answer about nodes is a tuple of arrays, as the core makes it (`cpp/bindings/part_sums.h`); one about rows by
code is a list of counts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hornbeam import _core

__all__ = ["added"]


def added(answers: Sequence[Any]) -> Any:
    """Add up answers to the same question."""
    if isinstance(answers[0], tuple):
        return _core.added_sums(list(answers))
    return [np.stack(of_place).sum(axis=0, dtype=np.uint32) for of_place in zip(*answers, strict=True)]
