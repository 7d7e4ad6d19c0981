"""The first pass over blocks of rows: what each column holds, and the bins and categories that follow.

In come blocks in any size; out go facts that are the same as if all rows had been read at once. Numbers are
looked at in the rows that the core samples, and in all rows as long as their distinct values are few. Texts
and categories are collected, for they are sorted by value.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.blocks import Block
from hornbeam.data.coded import CodedColumn, code_type
from hornbeam.data.column import Kind, categories_in, codes_as_fitted
from hornbeam.data.content import MISSING, UNSEEN, AnyArray, Content, Labels, Numbers, Times, numeric_values
from hornbeam.data.dates import FoundDates
from hornbeam.data.readers import read_series
from hornbeam.data.wording import shown

__all__ = ["ColumnFacts", "facts_of", "read_column"]

_BYTES_PER_TEXT = 80  # of a text in a set, besides its characters


def read_column(block: Block, name: str) -> Content:
    """Read a column of a block as it would be read in memory; errors say where the block is from."""
    try:
        return read_series(nw.from_native(block.column(name), series_only=True), name)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{block.where}: {error}") from error


class ColumnFacts:
    """What is known of a column: first while blocks are added, then, once they are settled, for its codes."""

    kind: Kind
    n_codes: int
    has_missing: bool
    values: npt.NDArray[np.float64] | None = None
    binned: bool = False
    categories: tuple[Any, ...] | None = None

    def __init__(self, name: str, max_bins: int) -> None:
        self.name = name
        self.max_bins = max_bins
        self.has_missing = False

    def add(self, content: Content, block: Block, sampled: AnyArray) -> None:
        """Take note of a block; `sampled` are its sampled rows, counted within it."""
        raise NotImplementedError

    def settle(self) -> None:
        """Make bins or categories of what was seen."""
        raise NotImplementedError

    def codes(self, content: Content, block: Block) -> AnyArray:
        """Return the codes of a block."""
        raise NotImplementedError

    @property
    def n_bytes(self) -> int:
        """About how much memory the facts take."""
        return 0

    @property
    def dtype(self) -> npt.DTypeLike:
        """The type of the codes."""
        return code_type(self.n_codes)

    def coded(self, codes: AnyArray) -> CodedColumn:
        """Put codes and their meaning together."""
        return CodedColumn(codes, self.n_codes, self.has_missing, self.max_bins, self.values, self.binned)


class NumberFacts(ColumnFacts):
    """Facts of a column of numbers."""

    kind: Kind = "numeric"

    def __init__(self, name: str, max_bins: int) -> None:
        super().__init__(name, max_bins)
        self._distinct: Any = _core.DistinctNumbers(max_bins)
        self._samples: list[AnyArray] = []

    def add(self, content: Content, block: Block, sampled: AnyArray) -> None:
        """Take note of a block."""
        numbers = self._numbers(content, block)
        self._distinct.add(numbers)
        self._samples.append(numbers[sampled])

    def settle(self) -> None:
        """Make the bins."""
        sample = np.concatenate(self._samples)
        self.values, self.binned = _core.make_bins(sample, self._distinct.values(), self.max_bins)
        self.n_codes = len(self.values) + self.binned
        self.has_missing = self._distinct.has_missing
        self._samples, self._distinct = [], None

    def codes(self, content: Content, block: Block) -> AnyArray:
        """Return the codes of a block."""
        assert self.values is not None
        try:
            codes: Any = _core.codes_in_bins(self._numbers(content, block), self.values, self.binned)
            return np.asarray(codes)
        except ValueError as error:
            raise _changed(block, self.name) from error

    def _numbers(self, content: Content, block: Block) -> AnyArray:
        if not isinstance(content, Numbers):
            raise _changed(block, self.name)
        return numeric_values(content, self.name)


class CategoryFacts(ColumnFacts):
    """Facts of a column of categories."""

    kind: Kind = "categorical"

    def __init__(self, name: str, max_bins: int, *, declared: bool) -> None:
        super().__init__(name, max_bins)
        self._declared = declared
        self._seen: set[Any] = set()
        self._n_bytes = 0

    def add(self, content: Content, block: Block, sampled: AnyArray) -> None:
        """Take note of a block."""
        found, gaps = categories_in(content, self.name)
        new = [value for value in found if value not in self._seen]
        self._seen.update(new)
        self._n_bytes += sum(_BYTES_PER_TEXT + len(str(value)) for value in new)
        self.has_missing |= gaps

    def settle(self) -> None:
        """Sort the categories; texts that are dates in every row would be columns of numbers in memory."""
        self.categories = tuple(sorted(self._seen))
        self.n_codes = len(self.categories)
        self._seen = set()
        if not self._declared and isinstance(self.categories[:1] and self.categories[0], str):
            labels = Labels(list(self.categories), np.arange(self.n_codes))
            if isinstance(FoundDates().in_texts(labels, self.name), Times):
                refuse_dates(self.name)

    def codes(self, content: Content, block: Block) -> AnyArray:
        """Return the codes of a block."""
        assert self.categories is not None
        codes = codes_as_fitted(content, self.name, self.categories, refuse_unseen=False)
        if (codes == UNSEEN).any():
            raise _changed(block, self.name)
        filled: AnyArray = np.where(codes == MISSING, self.n_codes, codes).astype(self.dtype)
        return filled

    @property
    def n_bytes(self) -> int:
        """About how much memory the categories take."""
        return self._n_bytes


def facts_of(name: str, content: Content, max_bins: int, *, forced: bool) -> ColumnFacts:
    """Begin the facts of a column by its first block."""
    if isinstance(content, Times) and not forced:
        refuse_dates(name)
    if forced or isinstance(content, Labels):
        declared = forced or (isinstance(content, Labels) and content.declared)
        return CategoryFacts(name, max_bins, declared=declared)
    return NumberFacts(name, max_bins)


def refuse_dates(name: str) -> None:
    """Refuse dates, which fits in memory split into several columns."""
    raise ValueError(
        f"Column {shown(name)} holds dates, which a fit from files or a stream does not read yet. Leave the "
        "column out, replace it by numbers (the year, the days since a first date), or name it in "
        "categorical_features."
    )


def all_bytes(facts: Iterable[ColumnFacts]) -> int:
    """Add up the memory that facts take."""
    return sum(each.n_bytes for each in facts)


def _changed(block: Block, name: str) -> ValueError:
    return ValueError(
        f"{block.where}: column {shown(name)} has changed since it was first read. Fit again when nobody "
        "writes to the files."
    )


def sampled_within(rows: npt.NDArray[np.uint32], block: Block) -> AnyArray:
    """Find which of the sampled rows are in a block, counted from its first."""
    begin, end = np.searchsorted(rows, [block.start, block.start + len(block.batch)])
    within: AnyArray = rows[begin:end].astype(np.int64) - block.start
    return within


def groups_of_columns(names: Sequence[str], n_rows: int, n_bytes: int) -> list[Sequence[str]]:
    """Share columns out to passes so that the samples of a pass take at most so much memory."""
    sample = 8 * min(n_rows, 200_000)
    width = max(1, n_bytes // max(1, sample))
    return [names[begin : begin + width] for begin in range(0, len(names), width)]
