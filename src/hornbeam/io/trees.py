"""Trees as tensors: all trees of a model share one set of arrays, end to end.

Nodes are numbered breadth-first and the children of a node lie side by side, so the numbers of branches alone
say where all children are: child indices are not stored and cannot be wrong. What only some nodes have
(tests, thresholds, gains) is stored for these only. Class shares are stored as the whole numbers they were
divided from, where that gives every share back bit by bit. What was put in is taken out again and compared
before it is written.

Trees that are read go through the core's own check, as all trees of unknown origin do.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordWriter, TensorReader, same_bits
from hornbeam.model import TREE_ARRAYS, tree_from_arrays

__all__ = ["STATISTICS", "WEIGHTS", "read_trees", "write_trees"]

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

# What the fit saw in each node. Predictions need none of it, but for the weights if unseen="majority".
WEIGHTS = "weighted_n_node_samples"
STATISTICS = frozenset({"n_node_samples", "impurity", "gain", WEIGHTS})

_NO_CHILD = -1
_NO_FEATURE = -2
_NO_THRESHOLD = -2.0
_NO_TABLE = -1


class _Nodes:
    """Which node of the long arrays belongs to which tree."""

    def __init__(self, counts: AnyArray) -> None:
        self.counts = counts
        self.ends = np.cumsum(counts)
        self.starts = self.ends - counts

    def running_totals(self, values: AnyArray) -> AnyArray:
        """Add up, for each node, the values of the nodes before it in its tree."""
        before: AnyArray = np.cumsum(values, dtype=np.int64) - values
        before -= np.repeat(before[self.starts], self.counts)
        return before

    def totals(self, values: AnyArray) -> AnyArray:
        """Add up the values of each tree."""
        return np.add.reduceat(values, self.starts, dtype=np.int64)

    def refuse(self, wrong: AnyArray, what: str) -> None:
        """Raise if a node is wrong, naming the first."""
        if wrong.any():
            self.refuse_node(int(np.argmax(wrong)), what)

    def refuse_node(self, position: int, what: str) -> NoReturn:
        tree = int(np.searchsorted(self.ends, position, side="right"))
        raise ModelFormatError(f"tree {tree}: node {position - int(self.starts[tree])}: {what}")


def _table_sizes(feature: AnyArray, n_branches: AnyArray, schema: Schema) -> AnyArray:
    """Return how many words the table of categories of each node has: none at a leaf and for a threshold.

    Entries are branch numbers, of 1 bit each if there are two branches, else of 8, 16 or 32.
    """
    n_categories = np.array([*_n_categories(schema), 0], dtype=np.int64)  # at the end: of no feature
    bits = np.select([n_branches <= 2, n_branches <= 2**8, n_branches <= 2**16], [1, 8, 16], 32)
    sizes: AnyArray = (n_categories[np.where(n_branches > 0, feature, -1)] * bits + 31) // 32
    return sizes


def _n_categories(schema: Schema) -> Iterator[int]:
    for kind, categories in zip(schema.kinds, schema.categories, strict=True):
        yield len(categories or ()) if kind == "categorical" else 0


# ------------------------------------------------------------------------------------------------------------
# From trees to tensors


def write_trees(
    trees: Sequence[Any],
    schema: Schema,
    writer: RecordWriter,
    *,
    known: frozenset[str],
    needed: frozenset[str],
) -> None:
    """Put in trees over one schema; of the statistics that are `known`, those that are `needed`.

    Others come along where they cost nothing: counts of classes add up to weights.
    """
    names = [name for name in TREE_ARRAYS if name in known or name not in STATISTICS]
    arrays = _end_to_end(trees, schema, names)
    inner = arrays["n_branches"] > 0
    writer.put("trees.node_counts", np.array([tree.node_count for tree in trees], dtype=np.int64))
    writer.put("trees.branches", arrays["n_branches"])
    writer.put("trees.feature", arrays["feature"][inner])
    writer.put("trees.threshold", arrays["threshold"][inner & (arrays["category_begin"] == _NO_TABLE)])
    writer.put("trees.missing_branch", arrays["missing_branch"][inner])
    if arrays["category_words"].size:
        writer.put("trees.category_words", arrays["category_words"])
    counts = _class_counts(arrays["value"], arrays[WEIGHTS]) if WEIGHTS in known else None
    if counts is not None:
        writer.put("trees.class_counts", counts)
    else:
        writer.put("trees.value", arrays["value"])
        if WEIGHTS in needed:
            writer.put(f"trees.{WEIGHTS}", arrays[WEIGHTS])
    if needed >= STATISTICS:
        rows = arrays["n_node_samples"]
        if not same_bits(rows.astype(np.float64), arrays[WEIGHTS]):
            writer.put("trees.n_node_samples", rows)
        writer.put("trees.impurity", arrays["impurity"])
        writer.put("trees.gain", arrays["gain"][inner])
    _verify(arrays, schema, writer)


def _end_to_end(trees: Sequence[Any], schema: Schema, names: Sequence[str]) -> Arrays:
    """Lay the arrays of all trees end to end; tables of categories in the order of nodes, without gaps."""
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    nodes = _Nodes(np.array([tree.node_count for tree in trees], dtype=np.int64))
    sizes = _table_sizes(arrays["feature"], arrays["n_branches"], schema)
    has_table = sizes > 0
    words_before_tree = np.cumsum([0, *(len(tree.category_words) for tree in trees[:-1])])
    old_begin = (arrays["category_begin"] + np.repeat(words_before_tree, nodes.counts))[has_table]
    new_end = np.cumsum(sizes[has_table])
    shift = old_begin - (new_end - sizes[has_table])
    places = np.repeat(shift, sizes[has_table]) + np.arange(sizes.sum())
    arrays["category_words"] = arrays["category_words"][places]
    arrays["category_begin"] = np.where(has_table, nodes.running_totals(sizes), _NO_TABLE)
    return arrays


def _class_counts(values: AnyArray, weights: AnyArray) -> AnyArray | None:
    """Find whole numbers whose sums are exactly the weights and whose shares of them exactly the values."""
    if values.shape[2] == 1:  # a mean, or the only class
        return None
    with np.errstate(over="ignore"):
        rounded = np.rint(values * weights[:, np.newaxis, np.newaxis])
    if not np.all((rounded >= 0) & (rounded <= np.iinfo(np.uint32).max)):
        return None
    counts: AnyArray = rounded.astype(np.uint32)
    sums = _sums_of(counts)
    if not sums.all() or not same_bits(sums[:, 0, 0], weights) or not same_bits(counts / sums, values):
        return None
    return counts


def _sums_of(counts: AnyArray) -> AnyArray:
    """Add up the counts of each node and output: nodes x outputs x 1, as float64, which is exact."""
    sums: AnyArray = counts.sum(axis=2, keepdims=True, dtype=np.int64)
    return sums.astype(np.float64)


def _verify(arrays: Mapping[str, AnyArray], schema: Schema, writer: RecordWriter) -> None:
    """Take out what was put in: what cannot be read, or would give other trees back, must not be written."""
    nodes, decoded = _read_arrays(writer.reader(), schema)
    for name, array in decoded.items():
        if not same_bits(array, arrays[name]):
            raise ValueError(
                f"The model cannot be saved exactly: its trees hold something in {name!r} where a tree has "
                "nothing. Fit the model again with this version of hornbeam."
            )
    try:
        _make_trees(nodes, decoded, schema)
    except ModelFormatError as error:
        raise ValueError(f"The model cannot be saved, because it could not be loaded: {error}.") from None


# ------------------------------------------------------------------------------------------------------------
# From tensors to trees


def read_trees(reader: TensorReader, schema: Schema) -> tuple[tuple[_core.Tree, ...], frozenset[str]]:
    """Take out trees, checked, and say which statistics are known; the others are 0 and must not be shown."""
    nodes, arrays = _read_arrays(reader, schema)
    return _make_trees(nodes, arrays, schema), STATISTICS & arrays.keys()


def _make_trees(nodes: _Nodes, arrays: Arrays, schema: Schema) -> tuple[_core.Tree, ...]:
    """Cut long arrays into trees, which the core checks."""
    n_nodes = int(nodes.ends[-1])
    unknown = {name: np.zeros(n_nodes) for name in STATISTICS - arrays.keys()}
    if "n_node_samples" in unknown:
        unknown["n_node_samples"] = np.zeros(n_nodes, dtype=np.int64)
    arrays = {**arrays, **unknown}
    word_ends = np.cumsum(nodes.totals(_table_sizes(arrays["feature"], arrays["n_branches"], schema)))
    trees = []
    begin = word_begin = 0
    for number, (end, word_end) in enumerate(zip(nodes.ends.tolist(), word_ends.tolist(), strict=True)):
        one = {name: array[begin:end] for name, array in arrays.items()}
        one["category_words"] = arrays["category_words"][word_begin:word_end]
        try:
            trees.append(tree_from_arrays(one, schema))
        except ValueError as error:
            raise ModelFormatError(f"tree {number}: {error}") from None
        begin, word_begin = end, word_end
    return tuple(trees)


def _read_arrays(reader: TensorReader, schema: Schema) -> tuple[_Nodes, Arrays]:
    """Spell the tensors out as the arrays of trees, end to end, without statistics that are not there."""
    n_branches = reader.take("trees.branches", np.int32, (None,))
    nodes = _read_nodes(reader, len(n_branches))
    inner = n_branches > 0
    nodes.refuse((n_branches < 0) | (n_branches == 1), "it has neither no branches nor two or more")
    arrays: Arrays = {"n_branches": n_branches, "first_child": _first_children(n_branches, nodes)}
    arrays.update(_read_tests(reader, inner, arrays, nodes, schema))
    arrays.update(_read_facts(reader, inner, nodes))
    return nodes, arrays


def _read_nodes(reader: TensorReader, n_nodes: int) -> _Nodes:
    counts = reader.take("trees.node_counts", np.int64, (None,))
    nodes = _Nodes(counts)
    # In this order, no sum can have overflowed unnoticed: none of its terms exceeds the length of an array.
    in_range = counts.size > 0 and counts.min() > 0 and counts.max() <= n_nodes
    if not in_range or not np.all(nodes.starts >= 0) or nodes.ends[-1] != n_nodes:
        raise ModelFormatError("the numbers of nodes of the trees do not add up")
    return nodes


def _first_children(n_branches: AnyArray, nodes: _Nodes) -> AnyArray:
    """Say where the children of each node are: behind those of all nodes before it in its tree."""
    first = nodes.running_totals(n_branches) + 1
    nodes.refuse(
        first + n_branches > np.repeat(nodes.counts, nodes.counts), "its children lie outside the tree"
    )
    return np.where(n_branches > 0, first, _NO_CHILD).astype(np.int32)


def _read_tests(
    reader: TensorReader, inner: AnyArray, arrays: Mapping[str, AnyArray], nodes: _Nodes, schema: Schema
) -> Arrays:
    """Read what each inner node asks. A test of a categorical column is a table, any other a threshold."""
    n_inner = int(inner.sum())
    n_branches = arrays["n_branches"]
    feature = _spread(reader.take("trees.feature", np.int32, (n_inner,)), inner, _NO_FEATURE)
    nodes.refuse(inner & ((feature < 0) | (feature >= len(schema.kinds))), "its feature is out of range")
    sizes = _table_sizes(feature, n_branches, schema)
    has_table = sizes > 0
    has_threshold = inner & ~has_table
    threshold = reader.take("trees.threshold", np.float64, (int(has_threshold.sum()),))
    words = np.zeros(0, dtype=np.uint32)
    if has_table.any():
        words = reader.take("trees.category_words", np.uint32, (int(sizes.sum()),))
    _refuse_wide_tables(words, n_branches, sizes, nodes)
    return {
        "feature": feature,
        "threshold": _spread(threshold, has_threshold, _NO_THRESHOLD),
        "missing_branch": _spread(reader.take("trees.missing_branch", np.int32, (n_inner,)), inner, 0),
        "category_begin": np.where(has_table, nodes.running_totals(sizes), _NO_TABLE),
        "category_words": words,
    }


def _refuse_wide_tables(words: AnyArray, n_branches: AnyArray, sizes: AnyArray, nodes: _Nodes) -> None:
    """Check branch numbers of 32 bits here: those of 2**31 and more turn negative where they are used."""
    ends = np.cumsum(sizes)
    for node in np.flatnonzero((n_branches > 2**16) & (sizes > 0)).tolist():
        if words[ends[node] - sizes[node] : ends[node]].max() >= n_branches[node]:
            nodes.refuse_node(node, "its table of categories names a branch that does not exist")


def _read_facts(reader: TensorReader, inner: AnyArray, nodes: _Nodes) -> Arrays:
    """Read what each node says, and what the fit saw there if that was kept."""
    n_nodes = len(inner)
    arrays: Arrays = {}
    if reader.has("trees.class_counts"):
        counts = reader.take("trees.class_counts", np.uint32, (n_nodes, None, None))
        sums = _sums_of(counts)
        nodes.refuse((sums == 0).any(axis=(1, 2)), "its class counts are all 0")
        arrays["value"], arrays[WEIGHTS] = counts / sums, sums[:, 0, 0].copy()
    else:
        arrays["value"] = reader.take("trees.value", np.float64, (n_nodes, None, None))
        if max(arrays["value"].shape[1:]) > np.iinfo(np.int32).max:
            raise ModelFormatError("the values of the trees have more outputs or classes than can be counted")
        if reader.has(f"trees.{WEIGHTS}"):
            arrays[WEIGHTS] = reader.take(f"trees.{WEIGHTS}", np.float64, (n_nodes,))
    if reader.has("trees.impurity"):
        arrays["impurity"] = reader.take("trees.impurity", np.float64, (n_nodes,))
    if reader.has("trees.gain"):
        arrays["gain"] = _spread(reader.take("trees.gain", np.float64, (int(inner.sum()),)), inner, 0.0)
    if reader.has("trees.n_node_samples"):
        arrays["n_node_samples"] = reader.take("trees.n_node_samples", np.int64, (n_nodes,))
    elif "impurity" in arrays and WEIGHTS in arrays:
        arrays["n_node_samples"] = _rows_of_weights(arrays[WEIGHTS], nodes)
    return arrays


def _rows_of_weights(weights: AnyArray, nodes: _Nodes) -> AnyArray:
    """Read numbers of rows from the weights, which they are if no others are stored."""
    whole = (weights >= 0) & (weights < 2.0**53) & (weights == np.floor(weights))
    nodes.refuse(~whole, "its number of rows is missing")
    return weights.astype(np.int64)


def _spread(values: AnyArray, places: AnyArray, otherwise: float) -> AnyArray:
    """Put values where they belong and another everywhere else."""
    result = np.full(len(places), otherwise, dtype=values.dtype)
    result[places] = values
    return result
