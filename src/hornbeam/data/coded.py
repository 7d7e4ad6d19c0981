"""A column that is already encoded: the form of tables whose values were read once and not kept.

The codes may lie in a file that is mapped. A numeric column knows its distinct values or the edges between
its bins (`cpp/data/bins.h`); a categorical one has the numbers of its categories. The last code is "missing".
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.content import MISSING, AnyArray, Rows

__all__ = ["CodedColumn", "code_type"]


def code_type(n_codes: int) -> npt.DTypeLike:
    """Return the narrowest type that has room for this many codes and the code of missing values."""
    return np.uint8 if n_codes <= 0xFF else np.uint16 if n_codes <= 0xFFFF else np.uint32


@dataclass(frozen=True, eq=False, slots=True)
class CodedColumn:
    """Codes of rows; `values` are edges of bins if `binned`, else distinct values, or None for categories."""

    codes: AnyArray
    n_codes: int
    has_missing: bool
    max_bins: int
    values: npt.NDArray[np.float64] | None = None
    binned: bool = False

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def take(self, rows: Rows) -> "CodedColumn":
        """Keep some rows; the bins stay those of all rows."""
        return replace(self, codes=self.codes[rows])

    def missing_rows(self) -> npt.NDArray[np.bool_]:
        """Mark the rows without a value."""
        missing: npt.NDArray[np.bool_] = self.codes == self.n_codes
        return missing

    def to_dense(self) -> AnyArray:
        """Return a value for each row that trees grown on the codes treat exactly like the true one."""
        if self.values is None:
            return np.where(self.missing_rows(), MISSING, self.codes.astype(np.int32)).astype(np.int32)
        stand_ins = self.values
        if self.binned:  # a bin reaches up to its edge, the last one beyond all edges
            last = np.nextafter(self.values[-1:], np.inf) if len(self.values) else np.zeros(1)
            stand_ins = np.concatenate([self.values, last])
        dense: AnyArray = np.append(stand_ins, np.nan)[self.codes]
        return dense

    def for_core(self) -> tuple[Any, ...]:
        """Return the column as the core's `dataset_of_codes` takes it."""
        if self.values is None:
            return self.codes, self.n_codes, self.has_missing
        return self.codes, self.values, self.binned, self.has_missing
