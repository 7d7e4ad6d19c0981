"""Trees as tensors: all trees of a model share one set of arrays, end to end.

Nodes are numbered breadth-first with the children of a node side by side, so the number of branches of every node says
where its children are: child indices are not stored and cannot be wrong. What only some nodes have (tests, gains,
thresholds) is stored for these only. Class shares are stored as the whole numbers they were divided from, where that
gives every share back bit by bit. Before anything is written it is decoded again and compared with the trees.

A tree that is read goes through the core's own check, as every tree of unknown origin does.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordReader, RecordWriter, same_bits
from hornbeam.model import TREE_ARRAYS, tree_from_arrays

__all__ = ["STATISTICS", "read_trees", "write_trees"]

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

# What the fit has seen in each node; no prediction needs it, but for the weights under unseen="majority".
STATISTICS = ("n_node_samples", "weighted_n_node_samples", "impurity", "gain")

_NO_CHILD = np.int32(-1)
_NO_FEATURE = np.int32(-2)
_NO_THRESHOLD = np.float64(-2.0)
_NO_TABLE = np.int64(-1)
_LARGEST_COUNT = 2**32 - 1

# ----------------------------------------------------------------------------------------------------------------------
# From trees to tensors


def write_trees(trees: Sequence[Any], schema: Schema, writer: RecordWriter, *, left_out: frozenset[str]) -> None:
    """Put in trees over one schema, without the statistics that are left out."""
    arrays = _end_to_end(trees, schema, left_out)
    node_counts = np.array([tree.node_count for tree in trees], dtype=np.int64)
    inner = arrays["n_branches"] > 0
    writer.put("trees.node_counts", node_counts)
    writer.put("trees.branches", arrays["n_branches"])
    writer.put("trees.feature", arrays["feature"][inner])
    writer.put("trees.threshold", arrays["threshold"][inner & (arrays["category_begin"] == _NO_TABLE)])
    writer.put("trees.missing_branch", arrays["missing_branch"][inner])
    if arrays["category_words"].size:
        writer.put("trees.category_words", arrays["category_words"])
    _write_values(arrays, writer)
    if "impurity" in arrays:
        writer.put("trees.impurity", arrays["impurity"])
    if "gain" in arrays:
        writer.put("trees.gain", arrays["gain"][inner])
    _verify(arrays, schema, writer)


def _end_to_end(trees: Sequence[Any], schema: Schema, left_out: frozenset[str]) -> Arrays:
    """Lay the arrays of all trees end to end; tables of categories in the order of their nodes, without gaps."""
    arrays = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in TREE_ARRAYS
        if name not in left_out
    }
    tables = _Tables(arrays["feature"], arrays["n_branches"], schema)
    first_words = np.cumsum([0, *(len(tree.category_words) for tree in trees[:-1])])
    begins = arrays["category_begin"] + np.repeat(first_words, [tree.node_count for tree in trees])
    sizes = tables.sizes[tables.nodes]
    shifts = begins[tables.nodes] - (np.cumsum(sizes) - sizes)
    arrays["category_words"] = arrays["category_words"][np.repeat(shifts, sizes) + np.arange(sizes.sum())]
    node_counts = np.array([tree.node_count for tree in trees], dtype=np.int64)
    arrays["category_begin"] = tables.begins(_starts(node_counts))
    return arrays


def _write_values(arrays: Mapping[str, AnyArray], writer: RecordWriter) -> None:
    """Put in values, weights and numbers of rows; what follows from another of them is left away."""
    weights = arrays.get("weighted_n_node_samples")
    counts = None if weights is None else _class_counts(arrays["value"], weights)
    if counts is not None:
        writer.put("trees.class_counts", counts)
    else:
        writer.put("trees.value", arrays["value"])
        if weights is not None:
            writer.put("trees.weighted_n_node_samples", weights)
    rows = arrays.get("n_node_samples")
    if rows is not None and (weights is None or not same_bits(rows.astype(np.float64), weights)):
        writer.put("trees.n_node_samples", rows)


def _class_counts(values: AnyArray, weights: AnyArray) -> AnyArray | None:
    """Find whole numbers whose shares of their sum are exactly the values, and whose sum is exactly the weight."""
    if values.shape[2] == 1:  # not classes, or a single one
        return None
    counts = np.rint(values * weights[:, np.newaxis, np.newaxis])
    if not np.all((counts >= 0) & (counts <= _LARGEST_COUNT)):
        return None
    counts = counts.astype(np.int64)
    totals = counts.sum(axis=2)
    if not totals.all():
        return None
    shares, sums = _shares_of(counts)
    return counts if same_bits(shares, values) and same_bits(sums, weights) else None


def _shares_of(counts: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Divide counts by their sum: the shares, and the sums of the first output. No sum may be 0."""
    sums = counts.sum(axis=2, keepdims=True).astype(np.float64)
    return counts / sums, sums[:, 0, 0].copy()


def _verify(arrays: Mapping[str, AnyArray], schema: Schema, writer: RecordWriter) -> None:
    """Decode what was put in and compare: a file that gives back another tree must not be written."""
    tensors = {name: array for name, array in writer.tensors_by_name().items() if name.startswith("trees.")}
    decoded = _read_arrays(RecordReader.of_tensors(tensors), schema, frozenset(STATISTICS) - arrays.keys())
    for name, array in arrays.items():
        if not same_bits(array, decoded[name]):
            raise ValueError(
                f"The model cannot be saved: its trees hold values in {name!r} where a tree has none. "
                "Fit it again with this version of hornbeam."
            )


# ----------------------------------------------------------------------------------------------------------------------
# From tensors to trees


def read_trees(reader: RecordReader, schema: Schema, left_out: frozenset[str]) -> tuple[_core.Tree, ...]:
    """Take out trees, checked; statistics that are left out are 0 in them and must not be shown."""
    arrays = _read_arrays(reader, schema, left_out)
    n_nodes, n_words = arrays.pop("node_counts"), arrays.pop("word_counts")
    for name in left_out:
        dtype = np.int64 if name == "n_node_samples" else np.float64
        arrays[name] = np.zeros(n_nodes.sum(), dtype=dtype)
    trees = []
    for number in range(len(n_nodes)):
        nodes = slice(int(n_nodes[:number].sum()), int(n_nodes[: number + 1].sum()))
        words = slice(int(n_words[:number].sum()), int(n_words[: number + 1].sum()))
        one = {name: arrays[name][words if name == "category_words" else nodes] for name in TREE_ARRAYS}
        try:
            trees.append(tree_from_arrays(one, schema))
        except ValueError as error:
            raise ModelFormatError(f"tree {number}, {error}") from None
    return tuple(trees)
