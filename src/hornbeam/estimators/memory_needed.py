"""How much memory a fit on an encoded table takes while trees grow, and what is done if that is too much.

The figures count the per-row arrays of the core, and were compared with measured peaks
(docs/howto/stream.md).
"""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from hornbeam.data.streams.encoded_table import EncodedTable
from hornbeam.data.target import CodedLabels
from hornbeam.memory import in_words, parse_bytes
from hornbeam.threads import resolve_n_jobs

__all__ = ["make_do"]

_BASE_BYTES = 160 << 20  # Python, libraries, histograms

# Gradient boosting. Two lists of rows with their derivatives, sets of rows, and the number of the leaf.
_BYTES_IN_LISTS = 2 * 8 + 2 + 1
_BYTES_PER_SCORE = 8 + 2 * 4  # the score and its derivatives; with a file, none of them is in memory
_BYTES_OF_TARGET = 4  # for the core
_BYTES_OF_WEIGHTS = 8 + 4 + 8  # as given, for the core, and derivatives in more bits
_ALIGNED = 1.2  # codes of a row side by side lie at multiples of 16 bytes

# Trees and forests, beside the codes of a row side by side: the target, how often rows are drawn, and, for
# each thread, the rows of a tree under way, with targets. A node has this much beside its class shares.
_BYTES_OF_FOREST = 100
_BYTES_PER_THREAD = 70
_BYTES_PER_NODE = 72
_MOST_MEMBERS = 1000  # that n_estimators="auto" comes to


def make_do(estimator: Any, encoded: EncodedTable, max_memory: Any, folder: Path) -> None:
    """Keep a fit within `max_memory`: let it use a file in `folder`, or refuse before it begins."""
    if max_memory is None:
        return
    allowed = parse_bytes(max_memory)
    options = estimator.get_params(deep=False)
    if "learning_rate" not in options:
        return _refuse_trees_beyond(allowed, options, encoded, of_classes=is_classifier(estimator))
    in_memory, with_file = _bytes_of_boosting(encoded)
    if in_memory <= allowed:
        return
    if with_file > allowed:
        raise MemoryError(
            f"{encoded.n_rows} rows of {encoded.n_columns} columns take about {in_words(with_file)} while "
            f"trees grow, with all that can wait in a file; max_memory is {in_words(allowed)}. Raise it, or "
            "fit on fewer rows or columns."
        )
    encoded.keep_rows_in(folder)


def _refuse_trees_beyond(
    allowed: int, options: dict[str, Any], encoded: EncodedTable, *, of_classes: bool
) -> None:
    """Refuse trees and forests that may need more, with as many leaves as the options and the rows allow."""
    members = options.get("n_estimators", 1)
    members = _MOST_MEMBERS if members == "auto" else int(members)
    n_threads = min(resolve_n_jobs(options["n_jobs"]) if "n_jobs" in options else 1, members)
    n_leaves = _most_leaves(options, encoded.n_rows)
    at_work = encoded.n_rows * (_BYTES_OF_FOREST + encoded.n_code_columns + n_threads * _BYTES_PER_THREAD)
    n_values = _n_classes(encoded) if of_classes else 1
    in_trees = (members + n_threads) * (2 * n_leaves - 1) * (_BYTES_PER_NODE + 8 * n_values)
    needed = _BASE_BYTES + at_work + in_trees
    if needed > allowed:
        raise MemoryError(
            f"{members} tree(s) of up to {n_leaves} leaves, {n_threads} at a time, may take "
            f"{in_words(needed)}: {in_words(at_work)} for {encoded.n_rows} rows while trees grow, and "
            f"{in_words(in_trees)} for the trees; max_memory is {in_words(allowed)}. Raise it, or set "
            "min_samples_leaf, max_leaf_nodes or max_depth, or lower n_estimators or n_jobs."
        )


def _most_leaves(options: dict[str, Any], n_rows: int) -> int:
    least = options.get("min_samples_leaf") or 1
    least = int(np.ceil(least * n_rows)) if isinstance(least, float) else int(least)
    most = max(1, n_rows // max(1, least))
    if options.get("max_leaf_nodes") is not None:
        most = min(most, int(options["max_leaf_nodes"]))
    if options.get("max_depth") is not None:
        most = min(most, 2 ** min(62, int(options["max_depth"])))
    return most


def _n_classes(encoded: EncodedTable) -> int:
    return len(encoded.y.distinct) if isinstance(encoded.y, CodedLabels) else len(np.unique(encoded.y))


def _bytes_of_boosting(encoded: EncodedTable) -> tuple[int, int]:
    """Return the memory that gradient boosting needs, and the least that it needs with the help of a file."""
    labels = len(encoded.y.distinct) if isinstance(encoded.y, CodedLabels) else 2
    n_scores = labels if labels > 2 else 1
    given = 1 if isinstance(encoded.y, CodedLabels) or encoded.y.dtype.kind in ("b", "u", "i") else 8
    weighted = _BYTES_OF_WEIGHTS if encoded.sample_weight is not None else 0
    started = 8 * n_scores if encoded.offset is not None else 0
    n_codes = encoded.n_code_columns
    at_least = _BYTES_IN_LISTS + given + weighted + started + n_codes
    beside = _BYTES_PER_SCORE * n_scores + _BYTES_OF_TARGET + (_ALIGNED - 1) * n_codes
    return (
        _BASE_BYTES + int(encoded.n_rows * (at_least + beside)),
        _BASE_BYTES + encoded.n_rows * at_least,
    )
