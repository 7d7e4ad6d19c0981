"""What a tree keeps of its pruning, into a record and back; a tree that was not pruned writes nothing."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.recipes.prune import PruningLog, PruningRecord, PruningTable

__all__ = ["read_pruning", "write_pruning"]

_LOG: dict[str, npt.DTypeLike] = {
    "node": np.int64,
    "nodes_removed": np.int64,
    "error_before": np.float64,
    "error_after": np.float64,
}
_TABLE: dict[str, npt.DTypeLike] = {
    "alpha": np.float64,
    "leaves": np.int64,
    "cost": np.float64,
    "error": np.float64,
    "standard_error": np.float64,
}


def write_pruning(pruning: PruningRecord | None, writer: RecordWriter) -> None:
    """Put in the log and the table; predictions need neither."""
    if pruning is None or writer.predict_only:
        return
    for name in _LOG:
        writer.put(f"pruning_log.{name}", getattr(pruning.log, name))
    writer.put_texts("pruning_log.tests", pruning.tests)
    if pruning.table is not None:
        for name in _TABLE:
            writer.put(f"pruning_table.{name}", getattr(pruning.table, name))
        writer.facts["pruning_chosen"] = pruning.table.chosen


def read_pruning(reader: RecordReader) -> PruningRecord | None:
    """Take out what was put in."""
    if not reader.has("pruning_log.node"):
        return None
    tests = tuple(reader.take_texts("pruning_log.tests"))
    log = PruningLog(**_columns(reader, "pruning_log", _LOG, len(tests)))
    if not reader.has("pruning_table.alpha"):
        return PruningRecord(log, tests, None)
    table = PruningTable(
        **_columns(reader, "pruning_table", _TABLE, None), chosen=reader.fact("pruning_chosen", int)
    )
    if not 0 <= table.chosen < len(table.alpha):
        raise ModelFormatError(f"pruning_chosen is {table.chosen}, with {len(table.alpha)} nested trees")
    return PruningRecord(log, tests, table)


def _columns(
    reader: RecordReader, prefix: str, dtypes: dict[str, npt.DTypeLike], length: int | None
) -> dict[str, Any]:
    """Take arrays of one length, without NaN."""
    columns: dict[str, Any] = {}
    for name, dtype in dtypes.items():
        columns[name] = reader.take(f"{prefix}.{name}", dtype, (length,))
        length = len(columns[name])
        if not np.isfinite(columns[name].astype(np.float64)).all():
            raise ModelFormatError(f"the tensor {prefix}.{name!r} holds a number that is not finite")
    return columns
