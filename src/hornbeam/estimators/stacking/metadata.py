"""What reaches the members of a stack besides X and y, and which rows: weights, groups, metadata, splits.

In: the weights, groups and splits of a fit, by the user's row numbers. Out: the keyword arguments of each
member's `fit`, and splits of the rows that have weight.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import Bunch
from sklearn.utils.validation import _check_method_params

__all__ = ["Metadata", "Numbering", "RoutedMetadata"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]


class Metadata:
    """Passes the weights of the rows to the members' `fit`, and nothing else."""

    def __init__(self, groups: npt.NDArray[np.int32] | None, weights: FloatArray | None) -> None:
        self.groups = groups
        self.split_options: dict[str, Any] = {"groups": groups}
        self._weights = weights

    def options_of(self, name: str, rows: RowArray) -> dict[str, Any]:
        """Return the keyword arguments of a member's fit on some rows."""
        return {} if self._weights is None else {"sample_weight": self._weights[rows]}


class RoutedMetadata(Metadata):
    """Passes what scikit-learn's metadata routing assigns to each."""

    def __init__(self, X: Any, groups: npt.NDArray[np.int32] | None, routed: Any) -> None:
        super().__init__(groups, None)
        self._X = X
        self._routes = routed
        self.split_options = {} if routed is None else dict(routed.get("splitter", Bunch(split={})).split)

    def options_of(self, name: str, rows: RowArray) -> dict[str, Any]:
        """Return the keyword arguments of a member's fit on some rows."""
        if self._routes is None:
            return {}
        options: dict[str, Any] = _check_method_params(self._X, self._routes[name].fit, indices=rows)
        return options


class Numbering:
    """Splits without rows of weight 0; the other rows are renumbered."""

    def __init__(self, rows: RowArray | None, n_given: int) -> None:
        self._n_rows = n_given if rows is None else len(rows)
        self._new: RowArray | None = None
        if rows is not None:
            self._new = np.full(n_given, -1)
            self._new[rows] = np.arange(len(rows))

    def kept(
        self, splits: list[tuple[RowArray, RowArray]], *, given: bool
    ) -> list[tuple[RowArray, RowArray]]:
        """Check that every row is tested once; `given` splits number the rows of X as the user did."""
        if given and self._new is not None:
            new = self._new
            splits = [(_without_gaps(new[train]), _without_gaps(new[test])) for train, test in splits]
        times = np.bincount(np.concatenate([test for _, test in splits]), minlength=self._n_rows)
        if (times != 1).any():
            row = int(np.argmax(times != 1))
            raise ValueError(
                f"cv must test every row once, so that each gets one answer; it tests row {row} "
                f"{times[row]} times. Use folds that test each row once, such as KFold, or cv='holdout'."
            )
        return splits


def _without_gaps(rows: RowArray) -> RowArray:
    return rows[rows >= 0]
