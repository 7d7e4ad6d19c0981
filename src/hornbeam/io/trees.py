"""Trees as tensors: all trees of a model share one set of arrays, end to end.

Nodes are numbered breadth-first and the children of a node lie side by side, so the numbers of branches alone
say where all children are: child indices are not stored and cannot be wrong. What only some nodes have
(tests, thresholds, gains) is stored for these only. Class shares are stored as the whole numbers they were
divided from, where that gives every share back bit by bit. What was put in is taken out again and compared
before it is written.

Trees that are read go through the core's own check, as all trees of unknown origin do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError
from hornbeam.io.packed_numbers import Steps, open_numbers, put_numbers
from hornbeam.io.packed_sums import put_gains, put_impurities, put_means, read_gains, read_numbers
from hornbeam.io.packed_trees import (
    PACKED_FROM,
    PACKED_NODES_PER_TREE,
    Bits,
    Escaped,
    Patches,
    follows_from_leaves,
    gini_gain,
    gini_impurity,
    put_bits,
    put_derived,
    put_escaped,
    sums_of_leaves,
)
from hornbeam.io.record import RecordWriter, TensorReader, TensorStream, same_bits
from hornbeam.model import SURROGATE_ARRAYS, TREE_ARRAYS

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

# Trees are decoded in batches of about this many nodes: few enough for the processor's caches, and enough
# that thousands of small trees cost no more than a few large ones.
_BATCH_NODES = 2**16
_MOST_SMALL_TREES, _FEWEST_BYTES = 100_000, 16


class _Nodes:
    """Which of the nodes that lie end to end belongs to which tree."""

    def __init__(self, counts: AnyArray, first_tree: int = 0) -> None:
        self.counts = counts
        self.ends = np.cumsum(counts)
        self.starts = self.ends - counts
        self._first_tree = first_tree

    def running_totals(self, values: AnyArray) -> AnyArray:
        """Add up, for each node, the values of the nodes before it in its tree."""
        before: AnyArray = np.cumsum(values, dtype=np.int64)
        before -= values
        if len(self.counts) > 1:
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
        """Raise, naming a node."""
        tree = int(np.searchsorted(self.ends, position, side="right"))
        self.refuse_tree(tree, f"node {position - int(self.starts[tree])}: {what}")

    def refuse_tree(self, tree: int, what: str) -> NoReturn:
        """Raise, naming a tree."""
        raise ModelFormatError(f"tree {self._first_tree + tree}: {what}")


def _n_categories(schema: Schema) -> AnyArray:
    """Return the number of categories of each feature, 0 for those that are not categorical."""
    return np.array(
        [
            len(categories or ()) if kind == "categorical" else 0
            for kind, categories in zip(schema.kinds, schema.categories, strict=True)
        ],
        dtype=np.int64,
    )


def _table_sizes(feature: AnyArray, n_branches: AnyArray, n_categories: AnyArray) -> AnyArray:
    """Return how many words the table of categories of each node has: none at a leaf and for a threshold.

    Entries are branch numbers, of 1 bit each if there are two branches, else of 8, 16 or 32.
    """
    sizes = np.zeros(len(feature), dtype=np.int64)
    if n_categories.any():
        inner = n_branches > 0
        n = n_branches[inner]
        bits = np.select([n <= 2, n <= 2**8, n <= 2**16], [1, 8, 16], 32)
        sizes[inner] = (n_categories[feature[inner]] * bits + 31) // 32
    return sizes


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
    writer.put("trees.feature", arrays["feature"][inner])
    thresholds = arrays["threshold"][inner & (arrays["category_begin"] == _NO_TABLE)]
    if arrays["category_words"].size:
        writer.put("trees.category_words", arrays["category_words"])
    counts = _class_counts(arrays["value"], arrays[WEIGHTS]) if WEIGHTS in known else None
    is_large = len(inner) >= max(PACKED_FROM, PACKED_NODES_PER_TREE * len(trees))
    is_large = is_large and not np.any(arrays["n_branches"][inner] != 2)
    if is_large:
        put_numbers(writer, "trees.threshold", thresholds)
        _write_packed(arrays, counts, writer, known, needed)
    else:
        writer.put("trees.threshold", thresholds)
        _write_plain(arrays, inner, counts, writer, needed)
    if any(len(tree.surrogate_begin) for tree in trees):
        _write_surrogates(trees, writer)
    _verify(arrays, trees, schema, writer)


def _write_plain(
    arrays: Arrays, inner: AnyArray, counts: AnyArray | None, writer: RecordWriter, needed: frozenset[str]
) -> None:
    """Put in branches and what the fit saw, a number for each node."""
    writer.put("trees.branches", arrays["n_branches"])
    writer.put("trees.missing_branch", arrays["missing_branch"][inner])
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


def _write_packed(
    arrays: Arrays,
    counts: AnyArray | None,
    writer: RecordWriter,
    known: frozenset[str],
    needed: frozenset[str],
) -> None:
    """Put in the same without what follows from the rest; every test has two branches."""
    node_counts = writer.tensors_so_far("trees.node_counts").astype(np.int64)
    is_inner = arrays["n_branches"] > 0
    inner = np.flatnonzero(is_inner)
    put_bits(writer, "trees.inner", is_inner)
    put_bits(writer, "trees.missing_second", arrays["missing_branch"][inner] == 1)
    if counts is not None and follows_from_leaves(counts, inner, node_counts):
        put_escaped(writer, "trees.leaf_class_counts", counts[~is_inner])
    elif counts is not None:
        writer.put("trees.class_counts", counts)
    else:
        whole = WEIGHTS in known and follows_from_leaves(arrays[WEIGHTS], inner, node_counts)
        follow = (whole or WEIGHTS in needed) and put_means(writer, arrays, is_inner, node_counts)
        if not follow:
            writer.put("trees.value", arrays["value"])
        if whole and (follow or WEIGHTS in needed):
            put_escaped(writer, "trees.leaf_weights", arrays[WEIGHTS][~is_inner])
        elif WEIGHTS in needed:
            writer.put(f"trees.{WEIGHTS}", arrays[WEIGHTS])
    if needed >= STATISTICS:
        _write_packed_statistics(arrays, counts, is_inner, node_counts, writer)


def _write_packed_statistics(
    arrays: Arrays, counts: AnyArray | None, is_inner: AnyArray, node_counts: AnyArray, writer: RecordWriter
) -> None:
    inner = np.flatnonzero(is_inner)
    rows = arrays["n_node_samples"]
    if not same_bits(rows.astype(np.float64), arrays[WEIGHTS]):
        if follows_from_leaves(rows, inner, node_counts):
            put_escaped(writer, "trees.leaf_samples", rows[~is_inner])
        else:
            writer.put("trees.n_node_samples", rows)
    gain = arrays["gain"][inner]
    if counts is not None:
        follow = put_derived(writer, "trees.gini", arrays["impurity"], gini_impurity(arrays["value"]))
    else:
        follow = put_impurities(writer, arrays, is_inner, node_counts)
    if not follow:
        writer.put("trees.impurity", arrays["impurity"])
    if counts is not None and counts.shape[1] == 1:
        by_class = counts[:, 0].T.astype(np.float64)
        if put_derived(
            writer, "trees.gini_gain", gain, gini_gain(by_class, arrays[WEIGHTS], inner, node_counts)
        ):
            return
    if not put_gains(writer, gain, arrays, inner, node_counts):
        writer.put("trees.gain", gain)


def _write_surrogates(trees: Sequence[Any], writer: RecordWriter) -> None:
    """Put in the tests that stand in for others; tables of categories lie in their order, without gaps."""
    counts = [
        np.diff(tree.surrogate_begin) if len(tree.surrogate_begin) else np.zeros(tree.node_count, np.int64)
        for tree in trees
    ]
    inner = np.concatenate([tree.n_branches for tree in trees]) > 0
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in SURROGATE_ARRAYS[1:]}
    numeric = arrays["surrogate_category_begin"] == _NO_TABLE
    writer.put("trees.surrogates", np.concatenate(counts)[inner].astype(np.int32))
    writer.put("trees.surrogate_feature", arrays["surrogate_feature"])
    writer.put("trees.surrogate_threshold", arrays["surrogate_threshold"][numeric])
    writer.put("trees.surrogate_low_branch", arrays["surrogate_low_branch"][numeric])
    writer.put("trees.surrogate_agreement", arrays["surrogate_agreement"])
    if not numeric.all():
        writer.put("trees.surrogate_words", arrays["surrogate_category_words"])


def _end_to_end(trees: Sequence[Any], schema: Schema, names: Sequence[str]) -> Arrays:
    """Lay the arrays of all trees end to end; tables of categories in the order of nodes, without gaps."""
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    nodes = _Nodes(np.array([tree.node_count for tree in trees], dtype=np.int64))
    sizes = _table_sizes(arrays["feature"], arrays["n_branches"], _n_categories(schema))
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
    same_weights = sums.all() and same_bits(sums[:, 0], weights)
    if not same_weights or not same_bits(_shares(counts, sums), values):
        return None
    return counts


def _sums_of(counts: AnyArray) -> AnyArray:
    """Add up the counts of each node and output, as float64, which is exact.

    Class by class: numpy takes long for many sums of a few numbers each.
    """
    sums: AnyArray = counts[:, :, 0].astype(np.int64)
    for k in range(1, counts.shape[2]):
        sums += counts[:, :, k]
    return sums.astype(np.float64)


def _shares(counts: AnyArray, sums: AnyArray) -> AnyArray:
    """Divide the counts of classes by their sums."""
    shares = np.empty(counts.shape)
    for k in range(counts.shape[2]):
        np.divide(counts[:, :, k], sums, out=shares[:, :, k])
    return shares


def _verify(
    arrays: Mapping[str, AnyArray], trees: Sequence[Any], schema: Schema, writer: RecordWriter
) -> None:
    """Take out what was put in: what cannot be read, or would give other trees back, must not be written."""
    begin = word_begin = 0
    waiting = iter(trees)
    for nodes, decoded, surrogates in _batches_to_write(writer, schema):
        end, word_end = begin + int(nodes.ends[-1]), word_begin + len(decoded["category_words"])
        for name, array in decoded.items():
            place = slice(word_begin, word_end) if name == "category_words" else slice(begin, end)
            if not same_bits(array, arrays[name][place]):
                raise ValueError(
                    f"The model cannot be saved exactly: its trees hold something in {name!r} where a tree "
                    "has nothing. Fit the model again with this version of hornbeam."
                )
        try:
            made = _make_trees(nodes, decoded, surrogates, schema, trees[0].gaps)
        except ModelFormatError as error:
            raise ValueError(f"The model cannot be saved: it could not be loaded. {error}.") from None
        for one, tree in zip(made, waiting, strict=False):
            same = all(same_bits(getattr(one, name), getattr(tree, name)) for name in SURROGATE_ARRAYS)
            if not same or one.gaps != tree.gaps:
                raise ValueError(
                    "The model cannot be saved exactly: its surrogate tests hold something where such tests "
                    "have nothing. Fit the model again with this version of hornbeam."
                )
        begin, word_begin = end, word_end


def _batches_to_write(writer: RecordWriter, schema: Schema) -> Iterator[tuple[_Nodes, Arrays, list[Arrays]]]:
    try:
        yield from _read_batches(writer.reader(), schema)
    except ModelFormatError as error:
        raise ValueError(f"The model cannot be saved: it could not be loaded. {error}.") from None


# ------------------------------------------------------------------------------------------------------------
# From tensors to trees


def read_trees(
    reader: TensorReader, schema: Schema, *, gaps: str = "branch"
) -> tuple[tuple[_core.Tree, ...], frozenset[str]]:
    """Take out trees, checked, and say which statistics are known; the others are 0 and must not be shown."""
    trees: list[_core.Tree] = []
    known = frozenset[str]()
    batches = _read_batches(reader, schema)
    made: Future[list[_core.Tree]] | None = None
    with ThreadPoolExecutor(1) as aside:
        while True:
            try:
                batch = next(batches, None)  # read while trees are made of the one before,
            finally:
                trees += made.result() if made is not None else []  # whose faults come first
            if batch is None:
                return tuple(trees), known
            known = STATISTICS & batch[1].keys()
            if trees:
                made = _started(aside, _make_trees, *batch, schema, gaps)
            else:
                trees += _make_trees(*batch, schema, gaps)  # all of a small model: no thread is needed


def _started(aside: Executor, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Start a task in another thread; do it here if the system gives none."""
    try:
        return aside.submit(task, *arguments)
    except RuntimeError:
        done: Future[Any] = Future()
        done.set_result(task(*arguments))
        return done


def _make_trees(
    nodes: _Nodes, arrays: Arrays, surrogates: list[Arrays], schema: Schema, gaps: str
) -> list[_core.Tree]:
    """Cut arrays into trees, which the core checks."""
    n_nodes = int(nodes.ends[-1])
    unknown = {name: np.zeros(n_nodes) for name in STATISTICS - arrays.keys()}
    if "n_node_samples" in unknown:
        unknown["n_node_samples"] = np.zeros(n_nodes, dtype=np.int64)
    arrays = {**arrays, **unknown}
    n_outputs, n_values = arrays["value"].shape[1:]
    n_categories = _n_categories(schema)
    n_words = nodes.totals(_table_sizes(arrays["feature"], arrays["n_branches"], n_categories))
    trees = []
    categories = n_categories.astype(np.uint32)
    for number, word_end in enumerate(np.cumsum(n_words).tolist()):
        place = slice(int(nodes.starts[number]), int(nodes.ends[number]))
        one = {name: array[place].reshape(-1) for name, array in arrays.items()}
        one["category_words"] = arrays["category_words"][word_end - int(n_words[number]) : word_end]
        try:
            tree = _core.make_tree(
                n_outputs=n_outputs,
                n_values=n_values,
                categories=categories,
                gaps=gaps,
                **one,
                **surrogates[number],
            )
        except ValueError as error:
            nodes.refuse_tree(number, str(error))
        trees.append(tree)
    return trees


def _read_batches(reader: TensorReader, schema: Schema) -> Iterator[tuple[_Nodes, Arrays, list[Arrays]]]:
    """Spell the tensors out as the arrays of trees, some trees at a time; without statistics not there.

    The last of the three are the arrays of surrogate tests of each tree, nothing if there are none.
    """
    counts = reader.take("trees.node_counts", np.int64, (None,))
    streams = _streams(reader, counts)
    n_nodes = len(streams["inner" if "inner" in streams else "branches"])
    ends = np.cumsum(counts)
    # In this order, no sum can have overflowed unnoticed: none of its terms exceeds the length of an array.
    in_range = counts.size > 0 and counts.min() > 0 and counts.max() <= n_nodes
    if not in_range or ends.min() < 0 or ends[-1] != n_nodes:
        raise ModelFormatError("the numbers of nodes of the trees do not add up")
    _refuse_crowds(len(counts), sum(stream.n_bytes for stream in streams.values()))
    n_categories = _n_categories(schema)
    first = 0
    while first < len(counts):
        before = int(ends[first] - counts[first])
        stop = max(first + 1, int(np.searchsorted(ends, before + _BATCH_NODES, side="right")))
        nodes = _Nodes(counts[first:stop], first)
        arrays = _read_batch(streams, nodes, n_categories)
        yield nodes, arrays, _read_surrogates(streams, arrays["n_branches"], nodes, n_categories)
        first = stop
    for stream in streams.values():
        stream.finish()


def _refuse_crowds(n_trees: int, n_bytes: int) -> None:
    """Refuse a small file that would fill the memory: there a tree takes a kilobyte, however small it is."""
    if n_trees > _MOST_SMALL_TREES and n_bytes < n_trees * _FEWEST_BYTES:
        raise ModelFormatError(
            f"it has {n_trees} trees in {n_bytes} bytes; more than {_MOST_SMALL_TREES} trees must have "
            f"{_FEWEST_BYTES} bytes each"
        )


def _streams(reader: TensorReader, node_counts: AnyArray) -> dict[str, Any]:
    """Open the tensors that are there. What comes in one of several forms would be left over in another."""
    types: dict[str, npt.DTypeLike] = {"feature": np.int32}
    is_packed = reader.has("trees.inner")
    if not is_packed:
        types |= {"branches": np.int32, "missing_branch": np.int32}
    optional: dict[str, npt.DTypeLike] = {
        "category_words": np.uint32,
        "n_node_samples": np.int64,
        "impurity": np.float64,
        "gain": np.float64,
        "surrogates": np.int32,
        "surrogate_words": np.uint32,
    }
    if reader.has("trees.surrogates"):
        types |= {"surrogate_feature": np.int32, "surrogate_low_branch": np.int32}
        types |= {"surrogate_threshold": np.float64, "surrogate_agreement": np.float64}
    leaf_counts = is_packed and reader.has("trees.leaf_class_counts")
    has_counts = reader.has("trees.class_counts") or leaf_counts
    leaf_weights = is_packed and reader.has("trees.leaf_weights")
    if not has_counts and not leaf_weights:
        optional[WEIGHTS] = np.float64
    types.update({name: dtype for name, dtype in optional.items() if reader.has(f"trees.{name}")})
    streams: dict[str, Any] = {name: reader.stream(f"trees.{name}", dtype) for name, dtype in types.items()}
    if is_packed:
        streams |= _packed_streams(reader, node_counts, len(streams["feature"]))
    else:
        streams["threshold"] = reader.stream("trees.threshold", np.float64)
    if leaf_counts:
        streams["leaf_class_counts"] = Escaped(reader, "trees.leaf_class_counts", n_dimensions=3)
    elif has_counts:
        streams["class_counts"] = reader.stream("trees.class_counts", np.uint32, n_dimensions=3)
    elif "mean_steps" not in streams:
        streams["value"] = reader.stream("trees.value", np.float64, n_dimensions=3)
    return streams


def _packed_streams(reader: TensorReader, node_counts: AnyArray, n_inner: int) -> dict[str, Any]:
    """Open the tensors of the packed form that are there."""
    # A sum that is not the number of nodes is refused by its caller; here it must only be no harm.
    n_nodes = min(max(int(node_counts.sum()), 0), 2**40) if node_counts.size else 0
    streams: dict[str, Any] = {
        "inner": Bits(reader, "trees.inner", n_nodes),
        "missing_second": Bits(reader, "trees.missing_second", n_inner),
        "threshold": open_numbers(reader, "trees.threshold"),
    }
    for name in ("leaf_weights", "leaf_samples"):
        if reader.has(f"trees.{name}"):
            streams[name] = Escaped(reader, f"trees.{name}")
    for name in ("gini", "gini_gain"):
        if reader.has(f"trees.{name}.at"):
            streams[name] = Patches(reader, f"trees.{name}")
    for steps, leaves in (("mean_steps", "leaf_means"), ("impurity_steps", "leaf_impurities")):
        if reader.has(f"trees.{steps}"):
            streams[steps] = Steps(reader, f"trees.{steps}")
            streams[leaves] = open_numbers(reader, f"trees.{leaves}")
    if reader.has("trees.gain_steps"):
        streams["gain_steps"] = Steps(reader, "trees.gain_steps")
    return streams


def _read_batch(streams: Mapping[str, Any], nodes: _Nodes, n_categories: AnyArray) -> Arrays:
    n_nodes = int(nodes.ends[-1])
    if "inner" in streams:
        n_branches = 2 * streams["inner"].next(n_nodes).astype(np.int32)
    else:
        n_branches = streams["branches"].next(n_nodes)
    nodes.refuse((n_branches < 0) | (n_branches == 1), "it has neither no branches nor two or more")
    inner = np.flatnonzero(n_branches != 0)  # six times as fast as for numbers
    arrays = {
        "n_branches": n_branches,
        "first_child": _first_children(n_branches, inner, nodes),
        **_read_tests(streams, n_branches, inner, nodes, n_categories),
    }
    return {**arrays, **_read_facts(streams, inner, nodes)}


def _first_children(n_branches: AnyArray, inner: AnyArray, nodes: _Nodes) -> AnyArray:
    """Say where the children of each node are: behind those of all nodes before it in its tree."""
    first = nodes.running_totals(n_branches) + 1
    if np.any(nodes.totals(n_branches) >= nodes.counts):
        outside = first + n_branches > np.repeat(nodes.counts, nodes.counts)
        nodes.refuse(outside, "its children lie outside the tree")
    return _spread(first[inner].astype(np.int32), inner, len(n_branches), _NO_CHILD)


def _read_tests(
    streams: Mapping[str, TensorStream],
    n_branches: AnyArray,
    inner: AnyArray,
    nodes: _Nodes,
    n_categories: AnyArray,
) -> Arrays:
    """Read what each inner node asks. A test of a categorical column is a table, any other a threshold."""
    n_nodes = len(n_branches)
    feature = _spread(streams["feature"].next(len(inner)), inner, n_nodes, _NO_FEATURE)
    in_range = (feature >= 0) & (feature < len(n_categories))
    nodes.refuse((n_branches > 0) & ~in_range, "its feature is out of range")
    sizes = _table_sizes(feature, n_branches, n_categories)
    category_begin = np.full(n_nodes, _NO_TABLE, dtype=np.int64)
    words = np.zeros(0, dtype=np.uint32)
    with_threshold = inner
    if sizes.any():
        if "category_words" not in streams:
            raise ModelFormatError("the tensor 'trees.category_words' is missing")
        words = streams["category_words"].next(int(sizes.sum()))
        _refuse_wide_tables(words, n_branches, sizes, nodes)
        with_threshold = inner[sizes[inner] == 0]
        category_begin = np.where(sizes > 0, nodes.running_totals(sizes), _NO_TABLE)
    threshold = streams["threshold"].next(len(with_threshold))
    return {
        "feature": feature,
        "threshold": _spread(threshold, with_threshold, n_nodes, _NO_THRESHOLD),
        "missing_branch": _spread(_missing_branches(streams, len(inner)), inner, n_nodes, 0),
        "category_begin": category_begin,
        "category_words": words,
    }


def _missing_branches(streams: Mapping[str, Any], n_inner: int) -> AnyArray:
    if "missing_second" in streams:
        second: AnyArray = streams["missing_second"].next(n_inner).astype(np.int32)
        return second
    branches: AnyArray = streams["missing_branch"].next(n_inner)
    return branches


def _read_surrogates(
    streams: Mapping[str, TensorStream], n_branches: AnyArray, nodes: _Nodes, n_categories: AnyArray
) -> list[Arrays]:
    """Read the tests that stand in for others, tree by tree."""
    if "surrogates" not in streams:
        return [{} for _ in nodes.counts]
    inner = np.flatnonzero(n_branches != 0)  # six times as fast as for numbers
    counts = _spread(streams["surrogates"].next(len(inner)), inner, len(n_branches), 0)
    nodes.refuse(counts < 0, "its number of surrogates is negative")
    n_of_tree = nodes.totals(counts)
    total = int(n_of_tree.sum())
    feature = streams["surrogate_feature"].next(total)
    if np.any((feature < 0) | (feature >= len(n_categories))):
        raise ModelFormatError("the feature of a surrogate is out of range")
    sizes = (n_categories[feature] + 31) // 32
    numeric = np.flatnonzero(sizes == 0)
    words = np.zeros(0, dtype=np.uint32)
    if sizes.any():
        if "surrogate_words" not in streams:
            raise ModelFormatError("the tensor 'trees.surrogate_words' is missing")
        words = streams["surrogate_words"].next(int(sizes.sum()))
    threshold = _spread(streams["surrogate_threshold"].next(len(numeric)), numeric, total, _NO_THRESHOLD)
    low_branch = _spread(streams["surrogate_low_branch"].next(len(numeric)), numeric, total, 0)
    agreement = streams["surrogate_agreement"].next(total)
    by_tree: list[Arrays] = []
    end = word_end = 0
    for tree, n in enumerate(n_of_tree.tolist()):
        begin, end = end, end + n
        word_begin, word_end = word_end, word_end + int(sizes[begin:end].sum())
        if n == 0:
            by_tree.append({})
            continue
        own = counts[nodes.starts[tree] : nodes.ends[tree]]
        own_sizes = sizes[begin:end]
        by_tree.append(
            {
                "surrogate_begin": np.concatenate([[0], np.cumsum(own, dtype=np.int64)]),
                "surrogate_feature": feature[begin:end],
                "surrogate_threshold": threshold[begin:end],
                "surrogate_low_branch": low_branch[begin:end],
                "surrogate_category_begin": np.where(
                    own_sizes > 0, np.cumsum(own_sizes) - own_sizes, _NO_TABLE
                ),
                "surrogate_agreement": agreement[begin:end],
                "surrogate_category_words": words[word_begin:word_end],
            }
        )
    return by_tree


def _refuse_wide_tables(words: AnyArray, n_branches: AnyArray, sizes: AnyArray, nodes: _Nodes) -> None:
    """Check branch numbers of 32 bits here: those of 2**31 and more turn negative where they are used."""
    ends = np.cumsum(sizes)
    for node in np.flatnonzero((n_branches > 2**16) & (sizes > 0)).tolist():
        if words[ends[node] - sizes[node] : ends[node]].max() >= n_branches[node]:
            nodes.refuse_node(node, "its table of categories names a branch that does not exist")


def _read_facts(streams: Mapping[str, Any], inner: AnyArray, nodes: _Nodes) -> Arrays:
    """Read what each node says, and what the fit saw there if that was kept."""
    n_nodes = int(nodes.ends[-1])
    if "leaf_class_counts" in streams:
        arrays, by_class = _read_leaf_counts(streams["leaf_class_counts"], inner, nodes)
    elif "class_counts" in streams:
        counts = streams["class_counts"].next(n_nodes)
        sums = _sums_of(counts)
        if not sums.all():
            nodes.refuse((sums == 0).any(axis=1), "its class counts are all 0")
        arrays = {"value": _shares(counts, sums), WEIGHTS: sums[:, 0].copy()}
        by_class = counts[:, 0].T.astype(np.float64)
    elif "mean_steps" in streams:
        arrays, by_class = {}, None
    else:
        arrays, by_class = {"value": streams["value"].next(n_nodes)}, None
    for name in ("impurity", "n_node_samples", WEIGHTS):
        if name in streams:
            arrays[name] = streams[name].next(n_nodes)
    if "gain" in streams:
        arrays["gain"] = _spread(streams["gain"].next(len(inner)), inner, n_nodes, 0.0)
    arrays |= _read_what_follows(streams, arrays, by_class, inner, nodes)
    if "impurity" in arrays and WEIGHTS in arrays and "n_node_samples" not in arrays:
        arrays["n_node_samples"] = _rows_of_weights(arrays[WEIGHTS], nodes)
    return arrays


def _read_leaf_counts(stream: Escaped, inner: AnyArray, nodes: _Nodes) -> tuple[Arrays, AnyArray | None]:
    """Read class counts of leaves; return shares and weights of all nodes, and the counts of one output."""
    n_nodes = int(nodes.ends[-1])
    counts = sums_of_leaves(stream.next(n_nodes - len(inner)), inner, nodes.counts)
    n_outputs, n_classes = stream.shape
    value = np.empty((n_nodes, n_outputs, n_classes))
    weights = np.zeros(0)
    for output in range(n_outputs - 1, -1, -1):
        own = counts[output * n_classes : (output + 1) * n_classes]
        weights = own.sum(axis=0)
        nodes.refuse(weights == 0, "its class counts are all 0")
        for k in range(n_classes):
            np.divide(own[k], weights, out=value[:, output, k])
    return {"value": value, WEIGHTS: weights}, counts if n_outputs == 1 else None


def _read_what_follows(
    streams: Mapping[str, Any], arrays: Arrays, by_class: AnyArray | None, inner: AnyArray, nodes: _Nodes
) -> Arrays:
    """Work out what the packed form does not store."""
    n_nodes = int(nodes.ends[-1])
    found: Arrays = {}
    for name, packed in (("n_node_samples", "leaf_samples"), (WEIGHTS, "leaf_weights")):
        if packed in streams:
            rows = sums_of_leaves(streams[packed].next(n_nodes - len(inner)), inner, nodes.counts)[0]
            found[name] = rows if name == WEIGHTS else rows.astype(np.int64)
    found |= read_numbers(streams, {**arrays, **found}, inner, nodes.counts)
    if "gini" in streams:
        found["impurity"] = streams["gini"].apply(gini_impurity(arrays["value"]))
    if "gini_gain" in streams:
        if by_class is None:
            raise ModelFormatError("the gains follow from class counts, which are not there")
        gain = gini_gain(by_class, arrays[WEIGHTS], inner, nodes.counts)
        found["gain"] = _spread(streams["gini_gain"].apply(gain), inner, n_nodes, 0.0)
    if "gain_steps" in streams:
        gain = read_gains(streams["gain_steps"], {**arrays, **found}, inner, nodes.counts)
        found["gain"] = _spread(gain, inner, n_nodes, 0.0)
    return found


def _rows_of_weights(weights: AnyArray, nodes: _Nodes) -> AnyArray:
    """Read numbers of rows from the weights, which they are if no others are stored."""
    whole = (weights >= 0) & (weights < 2.0**53) & (weights == np.floor(weights))
    nodes.refuse(~whole, "its number of rows is missing")
    return weights.astype(np.int64)


def _spread(values: AnyArray, places: AnyArray, n_nodes: int, otherwise: float) -> AnyArray:
    """Put values where they belong and another everywhere else."""
    result = np.full(n_nodes, otherwise, dtype=values.dtype)
    result[places] = values
    return result
