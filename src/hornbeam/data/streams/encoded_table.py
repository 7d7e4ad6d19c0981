"""`EncodedTable`: an encoded table, made from files or a stream in two passes and kept in a file for fits.

The first pass finds what each column holds (`column_facts.py`), the second writes the codes (`code_file.py`).
Target and weights are read with the first and kept beside the codes. Models fitted on it equal those of the
same rows in memory, bit for bit.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.coded import CodedColumn, code_type
from hornbeam.data.column import Column
from hornbeam.data.content import Content
from hornbeam.data.date_texts import Order
from hornbeam.data.dates import PART_NAMES, DatePart, FoundDates
from hornbeam.data.names import forced_columns
from hornbeam.data.sources import CodedSource
from hornbeam.data.streams.blocks import Blocks, fingerprint_of, open_blocks
from hornbeam.data.streams.code_file import CodeFileError, CodeWriter, read_arrays
from hornbeam.data.streams.column_facts import (
    ColumnFacts,
    facts_of,
    groups_of_columns,
    read_column,
    sampled_within,
)
from hornbeam.data.streams.rows_beside import BesideReader, beside_from
from hornbeam.data.streams.scratch import scratch_folder
from hornbeam.data.table import Table
from hornbeam.data.wording import shown
from hornbeam.memory import parse_bytes

__all__ = ["EncodedTable", "Progress"]

Progress = Callable[[str, int, int], None]  # the name of the pass, rows so far, rows in all

_INDEX_OF_PANDAS = "__index_level_0__"  # pandas' name for row numbers that it saves as a column
_BESIDE = ("target", "sample_weight", "offset", "groups")
_SHARE_OF_SAMPLES = 4  # a pass may use a quarter of the memory for samples, and as much for categories
_MOST_ROWS_AT_ONCE = 1 << 16
_BYTES_PER_VALUE = 24  # of a block while it is read: Arrow's copy, ours, and the codes
_USUAL_MEMORY = 4 << 30


class EncodedTable(CodedSource):
    """An encoded table in a memory-mapped file. Give it to `fit` as X; y is then its target.

    Attributes
    ----------
    y : array or labels
        The target.
    sample_weight, offset, groups : array or None
        The other columns that were read for the fit.
    n_rows, n_columns : int
        The size of the table; a date counts as one column, though it has several columns of codes.
    feature_names : list of str
        The names of the columns.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        facts, arrays = read_arrays(Path(path))
        try:
            self._set_up(facts, arrays)
        except CodeFileError:
            raise
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise CodeFileError(
                f"{os.fspath(path)} is damaged: {error}. Make it again with EncodedTable.make."
            ) from error
        self.path = Path(path)

    def _set_up(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.n_rows = int(facts["n_rows"])
        self.max_bins = int(facts["max_bins"])
        self.fingerprint = facts["fingerprint"]
        self.roles: dict[str, str] = dict(facts["roles"])
        self._forced = frozenset(facts["forced"])
        columns = [_column_from(each, j, arrays, self.max_bins) for j, each in enumerate(facts["columns"])]
        in_core = [column.values.for_core() for column in columns if isinstance(column.values, CodedColumn)]
        _core.dataset_of_codes(self.n_rows, in_core)  # checks every code, so that fits may trust them
        given = [column.name for column in columns if column.part is None or column.part.is_first]
        self.feature_names, self.n_columns = given, len(given)
        self.shape = (self.n_rows, self.n_columns)
        self._table = Table(self.n_rows, tuple(columns), self.feature_names, encodings={})
        self.y, self.sample_weight, self.offset, self.groups = (
            beside_from(facts["beside"].get(name), arrays, name) for name in _BESIDE
        )
        for name in _BESIDE:
            found = self.y if name == "target" else getattr(self, name)
            if found is not None and len(found) != self.n_rows:
                raise ValueError(f"its {name} and its columns differ in length")

    @property
    def table(self) -> Table:
        """The columns, in codes."""
        return self._table

    @property
    def n_code_columns(self) -> int:
        """The number of columns of codes: dates have several."""
        return len(self._table.columns)

    def keep_rows_in(self, folder: Path) -> None:
        """Let fits keep per-row data in a file in this folder, because memory is short."""
        self._table = replace(self._table, scratch=folder)

    def table_for(self, categorical_features: Any) -> Table:
        """Return the table, if it was encoded with these columns as categorical."""
        forced = forced_columns(categorical_features, self.feature_names, self.n_columns)
        if forced != self._forced:
            raise ValueError(
                "The table was encoded with other categorical_features than those of the estimator. Give "
                "both the same."
            )
        return self._table

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, source: Any = None) -> "EncodedTable":
        """Open a file written by `make`; with `source`, make sure that it was made from that source.

        The files of the source are compared by name, length and time of writing.
        """
        table = cls(path)
        if source is not None:
            fingerprint = fingerprint_of(source)
            if fingerprint is None or fingerprint != table.fingerprint:
                raise ValueError(
                    f"{os.fspath(path)} was made from another source, or the files have changed since. Make "
                    "it again with EncodedTable.make."
                )
        return table

    @classmethod
    def make(
        cls,
        source: Any,
        path: str | os.PathLike[str],
        *,
        target: str,
        sample_weight: str | None = None,
        offset: str | None = None,
        groups: str | None = None,
        drop: Iterable[str] = (),
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        max_memory: str | int | None = None,
        progress: Progress | None = None,
    ) -> "EncodedTable":
        """Encode the rows of files or of a stream into the file `path`, and open it.

        `source` is the path of a Parquet file, a folder of such files or a pattern, an Arrow data set, or
        anything that Arrow can stream. `target` is the name of the column to predict; `sample_weight`,
        `offset` and `groups` name further columns that are not features, `drop` columns that are not used at
        all. Rows of weight 0 are left out.
        """
        place = Path(path)
        beside = {"target": target, "sample_weight": sample_weight, "offset": offset, "groups": groups}
        plan = _Plan(
            {role: name for role, name in beside.items() if name is not None},
            frozenset(drop),
            max_bins,
            categorical_features,
            _USUAL_MEMORY if max_memory is None else parse_bytes(max_memory),
            progress or (lambda what, done, in_all: None),
        )
        with scratch_folder(".hornbeam-", place.parent) as folder:
            blocks = open_blocks(source, folder)
            _write(blocks, place, plan)
            if fingerprint_of(source) != blocks.fingerprint:
                place.unlink()
                raise ValueError("The files have changed while they were read. Fit again.")
        return cls(place)

    def read(self, j: int, name: str) -> Content:
        """Refuse: the values are not kept."""
        raise TypeError(
            "An EncodedTable holds the codes of bins, which trees, forests and gradient boosting learn from; "
            "other learners need the values. Read the table into memory for them."
        )

    @property
    def container(self) -> Any:
        """Refuse: there is no container of the user's."""
        return self.read(0, "")

    @property
    def labelled(self) -> Any:
        """Refuse: there is no container of the user's."""
        return self.read(0, "")


# ------------------------------------------------------------------------------------------------------------
# Making one


@dataclass(frozen=True)
class _Plan:
    beside: dict[str, str]
    drop: frozenset[str]
    max_bins: int
    categorical_features: Any
    memory: int
    progress: Progress


def _write(blocks: Blocks, path: Path, plan: _Plan) -> None:
    features = _features(blocks, plan)
    rows_at_once = min(
        _MOST_ROWS_AT_ONCE, max(1024, plan.memory // 8 // (_BYTES_PER_VALUE * len(blocks.names)))
    )
    beside, blocks = _read_beside(blocks, plan, rows_at_once)
    forced = forced_columns(plan.categorical_features, features, len(features))
    facts = _read_facts(blocks, features, forced, plan, rows_at_once)
    taken = set(features)
    columns = [column for each in facts for column in each.columns(taken)]
    arrays: dict[str, tuple[npt.DTypeLike, int]] = {}
    for j, column in enumerate(columns):
        arrays[f"codes {j}"] = (column.dtype, blocks.n_rows)
        if column.values is not None:
            arrays[f"values {j}"] = (np.float64, len(column.values))
    for reader in beside:
        arrays[reader.role] = (reader.values.dtype, blocks.n_rows)
    header = {
        "n_rows": blocks.n_rows,
        "max_bins": plan.max_bins,
        "fingerprint": blocks.fingerprint,
        "roles": plan.beside,
        "forced": sorted(forced),
        "columns": [_described(column) for column in columns],
        "beside": {reader.role: reader.described() for reader in beside},
    }
    with CodeWriter(path, header, arrays) as writer:
        for reader in beside:
            writer.write(reader.role, 0, reader.values)
        for j, column in enumerate(columns):
            if column.values is not None:
                writer.write(f"values {j}", 0, column.values)
        for block in blocks.read(features, rows_at_once):
            codes = [
                own
                for name, each in zip(features, facts, strict=True)
                for own in each.codes_of_columns(read_column(block, name), block)
            ]
            for j, own in enumerate(codes):
                writer.write(f"codes {j}", block.start, own)
            plan.progress("Encoding", block.start + len(block.batch), blocks.n_rows)


def _features(blocks: Blocks, plan: _Plan) -> list[str]:
    for role, name in [*plan.beside.items(), *(("drop", name) for name in sorted(plan.drop))]:
        if name not in blocks.names:
            raise ValueError(
                f"{role}={name!r} is not a column of the source; columns are "
                f"{', '.join(map(shown, blocks.names[:10]))}."
            )
    unused = {*plan.beside.values(), *plan.drop, _INDEX_OF_PANDAS}
    features = [name for name in blocks.names if name not in unused]
    if not features:
        raise ValueError("The source has no columns besides the target: there is nothing to learn from.")
    return features


def _read_beside(blocks: Blocks, plan: _Plan, rows_at_once: int) -> tuple[list[BesideReader], Blocks]:
    """Read target, weights and the like; leave out rows without weight."""
    if "sample_weight" in plan.beside:
        weights = BesideReader("sample_weight", plan.beside["sample_weight"], blocks.n_rows)
        for block in blocks.read([weights.name], rows_at_once):
            weights.add(block)
        blocks = blocks.keeping(weights.weights_that_count())
    readers = [BesideReader(role, name, blocks.n_rows) for role, name in plan.beside.items()]
    for block in blocks.read(sorted({reader.name for reader in readers}), rows_at_once):
        for reader in readers:
            reader.add(block)
    for reader in readers:
        reader.settle()
    return readers, blocks


def _read_facts(
    blocks: Blocks, features: Sequence[str], forced: frozenset[int], plan: _Plan, rows_at_once: int
) -> list[ColumnFacts]:
    """Make the first pass, or several over some columns each if the samples of all need too much memory."""
    sampled = _core.sampled_rows(blocks.n_rows)
    found: dict[str, ColumnFacts] = {}
    dates = FoundDates()
    share = plan.memory // _SHARE_OF_SAMPLES
    groups = groups_of_columns(features, blocks.n_rows, share)
    for number, group in enumerate(groups):
        for block in blocks.read(group, rows_at_once):
            within = sampled_within(sampled, block)
            for name in group:
                content = read_column(block, name)
                if name not in found:
                    is_forced = features.index(name) in forced or name in blocks.declared
                    found[name] = facts_of(name, content, plan.max_bins, forced=is_forced)
                found[name].add(content, block, within)
                _refuse_many_categories(found[name], share)
            done = number * blocks.n_rows + block.start + len(block.batch)
            plan.progress("Finding bins", done // len(groups), blocks.n_rows)
        for name in group:
            found[name].settle(dates)
    dates.say()
    return [found[name] for name in features]


def _refuse_many_categories(facts: ColumnFacts, most: int) -> None:
    if facts.n_bytes > most:
        raise MemoryError(
            f"Column {shown(facts.name)} has so many categories that they take more than a quarter of "
            "max_memory. If it is an identifier, leave it out; else raise max_memory."
        )


def _described(column: ColumnFacts) -> dict[str, Any]:
    return {
        "name": column.name,
        "kind": column.kind,
        "n_codes": column.n_codes,
        "has_missing": bool(column.has_missing),
        "binned": bool(column.binned),
        "categories": None if column.categories is None else list(column.categories),
        "part": None if column.part is None else list(column.part),
    }


def _column_from(described: dict[str, Any], j: int, arrays: dict[str, Any], max_bins: int) -> Column:
    codes = arrays[f"codes {j}"]
    values = arrays.get(f"values {j}")
    categories = described["categories"]
    n_codes = len(categories) if values is None else len(values) + bool(described["binned"])
    if n_codes != described["n_codes"] or codes.dtype != code_type(n_codes):
        raise ValueError(f"column {described['name']!r} has codes of another kind than its header says")
    if described["kind"] != ("categorical" if values is None else "numeric"):
        raise ValueError(f"column {described['name']!r} is of kind {described['kind']!r}")
    coded = CodedColumn(
        codes, n_codes, bool(described["has_missing"]), max_bins, values, bool(described["binned"])
    )
    part = described.get("part")
    if part is not None and (values is None or part[0] not in PART_NAMES or part[1] not in get_args(Order)):
        raise ValueError(f"column {described['name']!r} is not a part of a date")
    return Column(
        str(described["name"]),
        described["kind"],
        coded,
        None if categories is None else tuple(categories),
        None if part is None else DatePart(*part),
    )
