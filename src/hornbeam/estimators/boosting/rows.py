"""Rows of a boosting fit: table, target, weights and offset, to grow on or to judge by."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.recipes.holdout import taken

__all__ = ["BoostingRows", "Target", "labels_of"]

FloatArray = npt.NDArray[np.float64]
Target = ClassTarget | RegressionTarget


@dataclass(frozen=True, eq=False)
class BoostingRows:
    """Rows of a fit: to grow on, or to judge by."""

    table: Table
    target: Target
    weights: FloatArray | None
    offset: FloatArray | None
    given_rows: Any  # as the user gave it: all rows, while the table may have some of them
    groups: npt.NDArray[np.int32] | None = None  # rows of one group are never divided

    @property
    def y(self) -> FloatArray:
        """The targets as losses take them: numbers, or the codes of classes."""
        return self.target.numbers()

    def take(self, chosen: npt.NDArray[np.uint32]) -> "BoostingRows":
        """Keep some rows, in ascending order."""
        rows = chosen.astype(np.int64)
        return BoostingRows(
            table=self.table.take(rows),
            target=taken(self.target, rows),
            weights=None if self.weights is None else self.weights[rows],
            offset=None if self.offset is None else self.offset[rows],
            given_rows=self.given_rows,
            groups=None if self.groups is None else self.groups[rows],
        )

    def in_own_container(self) -> Any:
        """Return these rows in the user's container, for user-defined scorers."""
        from sklearn.utils import _safe_indexing  # noqa: PLC0415 - here and in tests of scikit-learn only

        numbers = self.table.row_numbers
        return self.given_rows if numbers is None else _safe_indexing(self.given_rows, numbers)


def labels_of(target: Target) -> npt.NDArray[Any]:
    """Return the targets as they were given."""
    return target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0]
