"""What a stream's rows have besides their features: the target, weights, offsets, groups.

Each such column is read block by block into memory: numbers unchanged, texts as codes. It is small compared
with the features, and every round of a fit needs all of it.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.content import MISSING, AnyArray, Labels, Numbers
from hornbeam.data.streams.blocks import Block
from hornbeam.data.streams.column_facts import read_column
from hornbeam.data.target import CodedLabels
from hornbeam.data.wording import shown

__all__ = ["BesideReader", "beside_from"]


class BesideReader:
    """Reads one column; `role` is what it is for: "target", "sample_weight", "offset" or "groups"."""

    def __init__(self, role: str, name: str, n_rows: int) -> None:
        self.role = role
        self.name = name
        self.values: AnyArray = np.empty(0)
        self._n_rows = n_rows
        self._places: dict[Any, int] | None = None

    def add(self, block: Block) -> None:
        """Take the rows of a block."""
        content = read_column(block, self.name)
        if isinstance(content, Numbers):
            present = content.present()
            self._refuse_gaps(present, block)
            values = content.values if content.values.dtype != object else _plain(content.values)
            self._refuse_infinity(values, block)
            self._refuse_below_zero(values, block)
        elif isinstance(content, Labels):
            self._refuse_gaps(content.codes != MISSING, block)
            self._places = {} if self._places is None else self._places
            places = [self._places.setdefault(label, len(self._places)) for label in content.distinct]
            values = np.array(places or [0], dtype=np.int32)[content.codes]
        else:
            raise ValueError(
                f"{block.where}: column {shown(self.name)} holds dates; as {self.role} it must hold numbers "
                "or labels."
            )
        if not len(self.values):
            self.values = np.empty(self._n_rows, dtype=values.dtype)
        self.values[block.start : block.start + len(values)] = values

    def weights_that_count(self) -> npt.NDArray[np.bool_]:
        """Mark the rows that have a weight other than 0."""
        if self._places is not None:
            raise ValueError(f"sample_weight={self.name!r} is a column of texts; weights are numbers.")
        if not self.values.any():
            raise ValueError(
                f"sample_weight={self.name!r}: all rows have weight 0, so none is left to learn from. Give "
                "some rows a weight."
            )
        return np.asarray(self.values != 0)

    def settle(self) -> None:
        """Refuse values that do not fit the role."""
        if self._places is not None and self.role in ("sample_weight", "offset"):
            raise ValueError(f"{self.role}={self.name!r} is a column of texts; it must hold numbers.")

    def described(self) -> dict[str, Any]:
        """Say how the values are to be read."""
        return {"labels": None if self._places is None else list(self._places)}

    def _refuse_gaps(self, present: npt.NDArray[np.bool_], block: Block) -> None:
        if not present.all():
            row = int(np.argmin(present)) + block.start
            raise ValueError(
                f"{block.where}: column {shown(self.name)} ({self.role}) has no value in row {row} of the "
                "source. Drop such rows or fill them in."
            )

    def _refuse_infinity(self, values: AnyArray, block: Block) -> None:
        infinite = np.isinf(values) if values.dtype.kind == "f" else np.zeros(0, dtype=np.bool_)
        if self.role != "groups" and infinite.any():
            row = int(np.argmax(infinite))
            raise ValueError(
                f"{block.where}: column {shown(self.name)} ({self.role}) holds {values[row]} in row "
                f"{row + block.start} of the source. Drop such rows or rescale."
            )

    def _refuse_below_zero(self, values: AnyArray, block: Block) -> None:
        if self.role == "sample_weight" and (values < 0).any():
            row = int(np.argmax(values < 0))
            raise ValueError(
                f"{block.where}: column {shown(self.name)} (sample_weight) holds {values[row]} in row "
                f"{row + block.start} of the source. Weights count rows; give a row weight 0 to leave it out."
            )


def _plain(values: AnyArray) -> AnyArray:
    return values.astype(np.float64)


def beside_from(described: Any, arrays: dict[str, AnyArray], role: str) -> Any:
    """Return what was read for a role; None if nothing was."""
    if described is None:
        return None
    values = arrays[role]
    if described["labels"] is None:
        return values
    labels = list(described["labels"])
    if len(values) and not (int(values.min()) >= 0 and int(values.max()) < len(labels)):
        raise ValueError(f"its {role} has a label that is not in the list")
    return CodedLabels(labels, values)
