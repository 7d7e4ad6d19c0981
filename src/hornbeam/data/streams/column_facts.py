"""The first pass over blocks of rows: what each column holds, and the bins and categories that follow.

In: blocks of any size. Out: facts that do not depend on how rows were divided into blocks. Numbers are taken
from the rows that the core samples, and from all rows as long as their distinct values are few. Texts and
categories are all collected, since they are sorted by value. A date has facts for each numeric column that
may be derived from it. Texts may turn out to be dates once all of them have been seen.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.coded import CodedColumn, code_type
from hornbeam.data.column import Kind, categories_in, codes_as_fitted
from hornbeam.data.content import MISSING, UNSEEN, AnyArray, Content, Labels, Numbers, Times, numeric_values
from hornbeam.data.date_texts import Order
from hornbeam.data.dates import (
    PART_NAMES,
    DatePart,
    FoundDates,
    SeenDays,
    days_as_fitted,
    part_columns_names,
    part_values,
)
from hornbeam.data.readers import read_series
from hornbeam.data.streams.blocks import Block
from hornbeam.data.wording import shown

__all__ = ["ColumnFacts", "facts_of", "read_column"]

_BYTES_PER_TEXT = 80  # of a text in a set, besides its characters


def read_column(block: Block, name: str) -> Content:
    """Read a column of a block as it would be read in memory; errors say where the block comes from."""
    try:
        return read_series(nw.from_native(block.column(name), series_only=True), name)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{block.where}: {error}") from error


class ColumnFacts:
    """What is known about a column: collected while blocks are added, then fixed and used to make codes."""

    kind: Kind
    n_codes: int
    has_missing: bool
    values: npt.NDArray[np.float64] | None = None
    binned: bool = False
    categories: tuple[Any, ...] | None = None
    part: DatePart | None = None

    def __init__(self, name: str, max_bins: int) -> None:
        self.name = name
        self.max_bins = max_bins
        self.has_missing = False

    def add(self, content: Content, block: Block, sampled: AnyArray) -> None:
        """Add a block; `sampled` are its sampled rows, counted within it."""
        raise NotImplementedError

    def settle(self, found: FoundDates) -> None:
        """Make bins or categories from what was seen; texts that turn out to be dates go to `found`."""
        raise NotImplementedError

    def columns(self, taken: set[str]) -> "Sequence[ColumnFacts]":
        """Return the facts of each column derived from this one, under names that are not `taken`."""
        return [self]

    def codes_of_columns(self, content: Content, block: Block) -> Sequence[AnyArray]:
        """Return the codes of a block in each of these columns."""
        return [self.codes(content, block)]

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
        """Add a block."""
        numbers = self._numbers(content, block)
        self.add_numbers(numbers, numbers[sampled])

    def add_numbers(self, numbers: AnyArray, sample: AnyArray) -> None:
        """Add numbers, and those of sampled rows."""
        self._distinct.add(numbers)
        self._samples.append(sample)

    def settle(self, found: FoundDates) -> None:
        """Make the bins."""
        sample = np.concatenate(self._samples)
        self.values, self.binned = _core.make_bins(sample, self._distinct.values(), self.max_bins)
        self.n_codes = len(self.values) + self.binned
        self.has_missing = self._distinct.has_missing
        self._samples, self._distinct = [], None

    def codes(self, content: Content, block: Block) -> AnyArray:
        """Return the codes of a block."""
        return self.codes_of_numbers(self._numbers(content, block), block)

    def codes_of_numbers(self, numbers: AnyArray, block: Block) -> AnyArray:
        """Return the codes of the numbers of a block."""
        assert self.values is not None
        try:
            codes: Any = _core.codes_in_bins(numbers, self.values, self.binned)
            return np.asarray(codes)
        except ValueError as error:
            raise _changed(block, self.name) from error

    def _numbers(self, content: Content, block: Block) -> AnyArray:
        if not isinstance(content, Numbers):
            raise _changed(block, self.name)
        return numeric_values(content, self.name)


class DateFacts(ColumnFacts):
    """Facts of a column of dates: those of each column that may be derived from it."""

    kind: Kind = "numeric"

    def __init__(self, name: str, max_bins: int) -> None:
        super().__init__(name, max_bins)
        self._seen = SeenDays()
        # Whole days are those of "time", too.
        self._parts = {part: NumberFacts(name, max_bins) for part in PART_NAMES if part != "date"}
        self._order: Order = "unknown"
        self._chosen: list[NumberFacts] = []

    def add(self, content: Content, block: Block, sampled: AnyArray) -> None:
        """Add a block."""
        days = self._days(content, block)
        self.add_days(days, days[sampled])

    def add_days(self, days: AnyArray, sample: AnyArray, order: Order = "unknown") -> None:
        """Add days, and those of sampled rows; `order` is that of texts."""
        self._seen.add(days)
        self._order = order
        for part, facts in self._parts.items():
            facts.add_numbers(part_values(days, part), part_values(sample, part))

    def settle(self, found: FoundDates) -> None:
        """Choose the columns that are worth having, and make their bins."""
        for part in self._seen.chosen(self._order):
            facts = self._parts["time" if part.name == "date" else part.name]
            facts.settle(found)
            facts.part = part
            self._chosen.append(facts)
        self._parts = {}

    def columns(self, taken: set[str]) -> Sequence[ColumnFacts]:
        """Return the facts of each column that was chosen."""
        names = part_columns_names(self.name, [facts.part for facts in self._chosen if facts.part], taken)
        for facts, own in zip(self._chosen, names, strict=True):
            facts.name = own
        return self._chosen

    def codes_of_columns(self, content: Content, block: Block) -> Sequence[AnyArray]:
        """Return the codes of a block in each of these columns."""
        days = self._days(content, block)
        return [
            facts.codes_of_numbers(part_values(days, facts.part.name), block)
            for facts in self._chosen
            if facts.part
        ]

    def _days(self, content: Content, block: Block) -> npt.NDArray[np.float64]:
        try:
            return days_as_fitted(content, self.name, self._order)
        except ValueError as error:
            raise _changed(block, self.name) from error


class CategoryFacts(ColumnFacts):
    """Facts of a column of categories; texts that are dates in every row become those of a date."""

    kind: Kind = "categorical"

    def __init__(self, name: str, max_bins: int, *, declared: bool) -> None:
        super().__init__(name, max_bins)
        self._declared = declared
        self._seen: dict[Any, int] = {}  # numbered in order of appearance
        self._n_bytes = 0
        self._samples: list[AnyArray] = []
        self._dates: DateFacts | None = None

    def add(self, content: Content, block: Block, sampled: AnyArray) -> None:
        """Add a block."""
        found, codes = categories_in(content, self.name)
        new = [value for value in found if value not in self._seen]
        for value in new:
            self._seen.setdefault(value, len(self._seen))
        self._n_bytes += sum(_BYTES_PER_TEXT + len(str(value)) for value in new)
        self.has_missing |= bool((codes == MISSING).any())
        if self._may_be_dates():
            numbers = [self._seen[value] for value in found]
            self._samples.append(np.array([*numbers, MISSING], dtype=np.int32)[codes[sampled]])

    def _may_be_dates(self) -> bool:
        return not self._declared and isinstance(next(iter(self._seen), ""), str)

    def settle(self, found: FoundDates) -> None:
        """Sort the categories, or turn to dates."""
        if self._may_be_dates():
            labels = Labels(list(self._seen), np.arange(len(self._seen)))
            content = found.in_texts(labels, self.name)
            if isinstance(content, Times):
                return self._turn_to_dates(content, found)
        self.categories = tuple(sorted(self._seen))
        self.n_codes = len(self.categories)
        self._seen, self._samples = {}, []

    def _turn_to_dates(self, times: Times, found: FoundDates) -> None:
        self._dates = DateFacts(self.name, self.max_bins)
        sample = np.append(times.days, np.nan)[np.concatenate(self._samples)]
        days = np.append(times.days, np.nan) if self.has_missing else times.days
        self._dates.add_days(days, sample, times.order)
        self._dates.settle(found)
        self._seen, self._samples = {}, []

    def columns(self, taken: set[str]) -> Sequence[ColumnFacts]:
        """Return these facts, or those of the date."""
        return [self] if self._dates is None else self._dates.columns(taken)

    def codes_of_columns(self, content: Content, block: Block) -> Sequence[AnyArray]:
        """Return the codes of a block in each of these columns."""
        return (
            [self.codes(content, block)]
            if self._dates is None
            else self._dates.codes_of_columns(content, block)
        )

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
    """Create the facts of a column from its first block."""
    if isinstance(content, Times) and not forced:
        return DateFacts(name, max_bins)
    if forced or isinstance(content, Labels):
        declared = forced or (isinstance(content, Labels) and content.declared)
        return CategoryFacts(name, max_bins, declared=declared)
    return NumberFacts(name, max_bins)


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
    """Distribute columns over passes so that the samples of a pass fit into this much memory."""
    sample = 8 * min(n_rows, 200_000)
    width = max(1, n_bytes // max(1, sample))
    return [names[begin : begin + width] for begin in range(0, len(names), width)]
