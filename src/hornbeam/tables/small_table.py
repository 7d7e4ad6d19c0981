"""What every function of `hb.datasets` returns: named columns and a target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require

__all__ = ["SmallTable"]

_MOST_NAMES = 12  # of columns that a table prints


@dataclass(frozen=True, eq=False)
class SmallTable:
    """Named columns and a target, of one length each."""

    columns: Mapping[str, Sequence[Any]]
    y: npt.NDArray[Any]
    target_name: str
    description: str

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns, without the target."""
        return list(self.columns)

    @cached_property
    def X(self) -> npt.NDArray[Any]:  # noqa: N802 - the table is X, as everywhere
        """The columns as one array: of numbers or truth values if all of them are, else of objects."""
        kinds = {np.array(values).dtype.kind for values in self.columns.values()}
        dtype: Any = np.float64 if kinds <= {"i", "f"} else np.bool_ if kinds == {"b"} else object
        table = np.empty((len(self.y), len(self.columns)), dtype=dtype)
        for j, values in enumerate(self.columns.values()):
            table[:, j] = values
        return table

    def frame(self, *, with_target: bool = False) -> Any:
        """Return the columns as a pandas DataFrame, on request with the target as the last one."""
        pandas = require("pandas", purpose="A table as a data frame")
        columns = {name: list(values) for name, values in self.columns.items()}
        if with_target:
            columns[self.target_name] = list(self.y)
        return pandas.DataFrame(columns)

    def __repr__(self) -> str:
        names = ", ".join(self.feature_names[:_MOST_NAMES]) or "no columns"
        if len(self.feature_names) > _MOST_NAMES:
            names += f" and {len(self.feature_names) - _MOST_NAMES:,} more columns"
        return f"<{len(self.y)} rows of {names}; target {self.target_name}>\n{self.description}"
