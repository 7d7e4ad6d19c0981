"""Tables that need not fit into memory: Parquet files, Arrow data sets and streams, as blocks of rows.

`open_blocks` takes what a user gives and returns `Blocks`, which can be read any number of times, some
columns at a time, always in the same order. A source that can be read only once (a record batch reader, a
query) is written to a Parquet file first. Every block knows where it comes from, so that an error can name
the file and the row group.
"""

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.data.readers import read_series
from hornbeam.data.wording import listed, shown
from hornbeam.disk import FULL

__all__ = ["Block", "Blocks", "fingerprint_of", "open_blocks", "parquet_files_in"]

_PURPOSE = "Fitting from files or a stream"
_ROWS_PER_GROUP = 1 << 17  # of the file that a stream is written to


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows: an Arrow record batch, the number of its first row, and where it comes from."""

    batch: Any
    start: int
    where: str

    def column(self, name: str) -> Any:
        """Return a column as an Arrow array of chunks, which is what narwhals reads."""
        pa = require("pyarrow", purpose=_PURPOSE)
        return pa.chunked_array([self.batch.column(name)])


@dataclass(frozen=True, eq=False)
class _Piece:
    """A row group of a file, or a part of a data set: the unit that is opened at a time."""

    fragment: Any
    where: str
    n_rows: int


class Blocks:
    """The rows of a source, block by block; if `keep` is given, only the rows it marks."""

    def __init__(self, schema: Any, pieces: Sequence[_Piece], fingerprint: str | None) -> None:
        self.schema = schema
        self.declared: frozenset[str] = frozenset()  # columns of categories, whatever their type is here
        self.names: list[str] = list(schema.names)
        self.fingerprint = fingerprint
        self._pieces = pieces
        self._keep: npt.NDArray[np.bool_] | None = None
        self.n_rows = sum(piece.n_rows for piece in pieces)

    def keeping(self, keep: npt.NDArray[np.bool_] | None) -> "Blocks":
        """Leave out rows."""
        if keep is None or keep.all():
            return self
        some = Blocks(self.schema, self._pieces, self.fingerprint)
        some._keep, some.n_rows = keep, int(np.count_nonzero(keep))
        some.declared = self.declared
        return some

    def read(self, columns: Sequence[str], rows_at_once: int) -> Iterator[Block]:
        """Yield all rows, in their order."""
        pa = require("pyarrow", purpose=_PURPOSE)
        read = kept = 0
        for piece in self._pieces:
            before = read
            try:
                scanner = piece.fragment.scanner(
                    schema=self.schema,
                    columns=list(columns),
                    batch_size=rows_at_once,
                    batch_readahead=1,
                    fragment_readahead=1,
                    use_threads=False,
                )
                for whole in scanner.to_batches():
                    batch = whole
                    if self._keep is not None:
                        batch = whole.filter(pa.array(self._keep[read : read + len(whole)]))
                    if len(batch):
                        yield Block(batch, kept, piece.where)
                    read, kept = read + len(whole), kept + len(batch)
            except (pa.ArrowException, OSError) as error:
                raise ValueError(
                    f"{piece.where} cannot be read ({_first_line(error)}). It may be damaged or have "
                    "changed. Write it again, or leave it out."
                ) from error
            if read - before != piece.n_rows:
                raise ValueError(
                    f"{piece.where} has {read - before} rows, but its file states {piece.n_rows}. It may "
                    "have changed while it was read: fit again."
                )


def _streams(source: Any) -> bool:
    return hasattr(source, "__arrow_c_stream__") or _is_lazy_polars(source)


def _is_lazy_polars(source: Any) -> bool:
    return type(source).__name__ == "LazyFrame" and type(source).__module__.startswith("polars")


def fingerprint_of(source: Any) -> str | None:
    """Summarise the files of a source by name, length and time of writing; None if it has no files."""
    return _fingerprint(_files_at(os.fspath(source))) if isinstance(source, str | os.PathLike) else None


def open_blocks(source: Any, folder: Path) -> Blocks:
    """Open a source; `folder` is where a stream that can be read only once is written to."""
    ds = require("pyarrow.dataset", purpose=_PURPOSE)
    if isinstance(source, str | os.PathLike):
        return _blocks_of_files(os.fspath(source))
    if isinstance(source, ds.Dataset):
        return _blocks_of_dataset(source, fingerprint=None, root="")
    pa = require("pyarrow", purpose=_PURPOSE)
    if isinstance(source, pa.Table | pa.RecordBatch):
        return _blocks_of_dataset(ds.dataset(source), fingerprint=None, root="")
    if not _streams(source):
        raise TypeError(
            "With target= the source must be the path of Parquet files, an Arrow data set, or an object that "
            f"Arrow can stream, such as a record batch reader or a frame; got {type(source).__name__}. Give "
            "arrays as fit(X, y)."
        )
    spool = folder / "stream.parquet"
    declared = _write_stream(source, spool)
    if not require("pyarrow.parquet", purpose=_PURPOSE).read_metadata(spool).num_rows:
        raise ValueError(
            "The stream has no rows: there is nothing to learn from. If it was read before, make it anew: it "
            "can be read only once."
        )
    blocks = _blocks_of_dataset(ds.dataset(str(spool), format="parquet"), fingerprint=None, root=None)
    blocks.declared = declared
    return blocks


# ------------------------------------------------------------------------------------------------------------
# Files


def _blocks_of_files(path: str) -> Blocks:
    ds = require("pyarrow.dataset", purpose=_PURPOSE)
    files = _files_at(path)
    root = path if os.path.isdir(path) else None
    options = {"partitioning": "hive", "partition_base_dir": root} if root else {}
    _refuse_broken(files[0])
    dataset = ds.dataset(files, format="parquet", **options)
    return _blocks_of_dataset(dataset, fingerprint=_fingerprint(files), root=root or "")


def _files_at(path: str) -> list[str]:
    """List the files that a path means, in the order of their names."""
    if os.path.isdir(path):
        found = list(parquet_files_in(path))
        if not found:
            raise FileNotFoundError(
                f"The folder {shown(path)} has no Parquet files (*.parquet). Name another, or a pattern such "
                "as 'data/*.parquet'."
            )
        return sorted(found)
    if os.path.exists(path):
        return [path]
    found = [name for name in glob.glob(path, recursive=True) if os.path.isfile(name)]
    if not found:
        raise FileNotFoundError(f"There is no file {shown(path)}, and no file matches this pattern.")
    return sorted(found)


def parquet_files_in(path: str) -> Iterator[str]:
    """Go through a folder and its subfolders; names that begin with a dot or an underscore are skipped."""
    for entry in os.scandir(path):
        if entry.name.startswith((".", "_")):
            continue
        if entry.is_dir():
            yield from parquet_files_in(entry.path)
        elif entry.name.endswith((".parquet", ".pq")):
            yield entry.path


def _fingerprint(files: Sequence[str]) -> str:
    """Summarise which files there are, how long they are and when they were written."""
    digest = hashlib.sha256()
    for name in files:
        status = os.stat(name)
        digest.update(f"{os.path.basename(name)}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _refuse_broken(name: str) -> None:
    pa, pq = require("pyarrow", purpose=_PURPOSE), require("pyarrow.parquet", purpose=_PURPOSE)
    try:
        pq.read_schema(name)
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{name} is not a readable Parquet file ({_first_line(error)}). Write it again, or leave it out."
        ) from error


def _blocks_of_dataset(dataset: Any, *, fingerprint: str | None, root: str | None) -> Blocks:
    """Divide a data set into pieces; `root` is None if its file was written by us."""
    pieces: list[_Piece] = []
    first = ""
    for number, fragment in enumerate(dataset.get_fragments()):
        name = getattr(fragment, "path", None) or f"part {number + 1} of the data set"
        if root is None:
            name = "the stream"
        first = first or name
        pieces += _pieces_of(fragment, name, dataset.schema, first, own=root is None)
    if dataset.schema.names and len(set(dataset.schema.names)) < len(dataset.schema.names):
        twice = [each for each in dataset.schema.names if dataset.schema.names.count(each) > 1]
        raise ValueError(f"Column names must be unique; the source has more than one {listed(twice[:1])}.")
    blocks = Blocks(dataset.schema, pieces, fingerprint)
    if not blocks.n_rows:
        raise ValueError("The source has no rows: there is nothing to learn from.")
    return blocks


def _pieces_of(fragment: Any, name: str, schema: Any, first: str, *, own: bool) -> list[_Piece]:
    pa = require("pyarrow", purpose=_PURPOSE)
    try:
        physical = fragment.physical_schema
        if hasattr(fragment, "split_by_row_group"):
            groups = fragment.split_by_row_group()
            counts = [sum(group.num_rows for group in part.row_groups) for part in groups]
        else:
            groups, counts = [fragment], [fragment.count_rows()]
    except (pa.ArrowException, OSError) as error:
        raise ValueError(
            f"{name} is not a readable Parquet file ({_first_line(error)}). Write it again, or leave it out."
        ) from error
    _refuse_other_schema(physical, schema, name, first, fragment)
    if own or not hasattr(fragment, "split_by_row_group"):
        return [_Piece(group, name, count) for group, count in zip(groups, counts, strict=True)]
    return [
        _Piece(group, f"{name}, row group {number}", count)
        for number, (group, count) in enumerate(zip(groups, counts, strict=True))
    ]


def _refuse_other_schema(physical: Any, schema: Any, name: str, first: str, fragment: Any) -> None:
    """Refuse a file whose columns are not those of the first: Arrow would silently fill in nulls."""
    ds = require("pyarrow.dataset", purpose=_PURPOSE)
    folders = set(ds.get_partition_keys(fragment.partition_expression))
    wanted = [field for field in schema if field.name not in folders]
    missing = [field.name for field in wanted if field.name not in physical.names]
    extra = [each for each in physical.names if each not in schema.names]
    if missing:
        raise ValueError(f"{name} has no column {shown(missing[0])}, which {first} has. Leave the file out.")
    if extra:
        raise ValueError(
            f"{name} has a column {shown(extra[0])}, which {first} does not have. Drop it there, or leave "
            "the file out."
        )
    for field in wanted:
        found = physical.field(field.name).type
        if found != field.type:
            raise ValueError(
                f"{name}, column {shown(field.name)}: the type is {found}, but {first} has {field.type}. "
                "Write the file again with the same types."
            )


# ------------------------------------------------------------------------------------------------------------
# Streams


def _write_stream(source: Any, path: Path) -> frozenset[str]:
    """Write a stream to a file; say clearly if the disk is full or the stream cannot be read."""
    pa = require("pyarrow", purpose=_PURPOSE)
    try:
        return _written(source, path)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        _refuse_unreadable_columns(source)
        raise ValueError(
            f"The stream cannot be read to its end ({_first_line(error)}). Give a stream that is intact and "
            "whose columns have one type each."
        ) from error
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise OSError(
            error.errno,
            f"There is no room left in {path.parent.parent}, where the stream is written so that it can be "
            "read twice. Make room there, let TMPDIR name another folder, or give files.",
        ) from error


def _refuse_unreadable_columns(source: Any) -> None:
    """Read a frame as a fit in memory would, so that an error names the column and the row."""
    frame: Any = nw.from_native(source, pass_through=True, eager_only=True)
    if isinstance(frame, nw.DataFrame):
        for name in frame.columns:
            read_series(frame.get_column(name), name)


def _written(source: Any, path: Path) -> frozenset[str]:
    """Write a source that can be read only once to a file; return the columns of categories.

    A Parquet file does not record that numbers were categories.
    """
    if _is_lazy_polars(source):
        source.sink_parquet(path, maintain_order=True, row_group_size=_ROWS_PER_GROUP)
        return frozenset()
    pa, pq = require("pyarrow", purpose=_PURPOSE), require("pyarrow.parquet", purpose=_PURPOSE)
    reader = pa.RecordBatchReader.from_stream(source)
    empty = _in_plain_types(pa.Table.from_batches([], reader.schema))
    with pq.ParquetWriter(path, empty.schema, compression="snappy", use_dictionary=False) as writer:
        waiting: list[Any] = []
        for batch in reader:
            waiting.append(batch)
            if sum(map(len, waiting)) >= _ROWS_PER_GROUP:
                writer.write_table(_in_plain_types(pa.Table.from_batches(waiting, reader.schema)))
                waiting = []
        writer.write_table(_in_plain_types(pa.Table.from_batches(waiting, reader.schema)))
    return frozenset(field.name for field in reader.schema if pa.types.is_dictionary(field.type))


def _in_plain_types(table: Any) -> Any:
    """Replace text types that Parquet files do not have."""
    pa = require("pyarrow", purpose=_PURPOSE)
    for place, field in enumerate(table.schema):
        is_coded = pa.types.is_dictionary(field.type)
        if str(field.type.value_type if is_coded else field.type) != "string_view":
            continue
        column = table.column(place)
        if is_coded:
            texts = [
                pa.DictionaryArray.from_arrays(
                    chunk.indices.cast(pa.int32()), chunk.dictionary.cast(pa.large_string())
                )
                for chunk in column.chunks
            ]
            plain = pa.chunked_array(texts, pa.dictionary(pa.int32(), pa.large_string()))
        else:
            plain = column.cast(pa.large_string())
        table = table.set_column(place, field.name, plain)
    return table


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
