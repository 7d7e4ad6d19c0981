"""From tensors to trees. In: tensors written by `tree_writing.py`. Out: checked trees.

Trees that are read pass the core's own check, like all trees of unknown origin.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError
from hornbeam.io.packed_numbers import Steps, open_numbers
from hornbeam.io.packed_sums import read_gains, read_numbers
from hornbeam.io.packed_trees import (
    Bits,
    Escaped,
    Patches,
    gini_gain,
    gini_impurity,
    sums_of_leaves,
)
from hornbeam.io.record import TensorReader, TensorStream
from hornbeam.io.tree_nodes import (
    NO_CHILD,
    NO_FEATURE,
    NO_TABLE,
    NO_THRESHOLD,
    STATISTICS,
    WEIGHTS,
    AnyArray,
    Arrays,
    Nodes,
    numbers_of_categories,
    shares_of,
    sums_of,
    table_sizes,
)

__all__ = ["make_trees", "read_batches", "read_trees"]

# Trees are decoded in batches of about this many nodes: few enough for the processor's caches, and enough
# that thousands of small trees cost no more than a few large ones.
_BATCH_NODES = 2**16
_MOST_SMALL_TREES, _FEWEST_BYTES = 100_000, 16


def read_trees(
    reader: TensorReader, schema: Schema, *, gaps: str = "branch"
) -> tuple[tuple[_core.Tree, ...], frozenset[str]]:
    """Take out trees, checked, and say which statistics are known; others are 0 and must not be shown."""
    trees: list[_core.Tree] = []
    known = frozenset[str]()
    batches = read_batches(reader, schema)
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
                made = _started(aside, make_trees, *batch, schema, gaps)
            else:
                trees += make_trees(*batch, schema, gaps)  # all of a small model: no thread is needed


def _started(aside: Executor, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Start a task in another thread; run it here if the system allows none."""
    try:
        return aside.submit(task, *arguments)
    except RuntimeError:
        done: Future[Any] = Future()
        done.set_result(task(*arguments))
        return done


def make_trees(
    nodes: Nodes, arrays: Arrays, surrogates: list[Arrays], schema: Schema, gaps: str
) -> list[_core.Tree]:
    """Cut arrays into trees, which the core checks."""
    n_nodes = int(nodes.ends[-1])
    unknown = {name: np.zeros(n_nodes) for name in STATISTICS - arrays.keys()}
    if "n_node_samples" in unknown:
        unknown["n_node_samples"] = np.zeros(n_nodes, dtype=np.int64)
    arrays = {**arrays, **unknown}
    n_outputs, n_values = arrays["value"].shape[1:]
    n_categories = numbers_of_categories(schema)
    n_words = nodes.totals(table_sizes(arrays["feature"], arrays["n_branches"], n_categories))
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


def read_batches(reader: TensorReader, schema: Schema) -> Iterator[tuple[Nodes, Arrays, list[Arrays]]]:
    """Turn the tensors into the arrays of trees, some trees at a time, without statistics that are missing.

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
    n_categories = numbers_of_categories(schema)
    first = 0
    while first < len(counts):
        before = int(ends[first] - counts[first])
        stop = max(first + 1, int(np.searchsorted(ends, before + _BATCH_NODES, side="right")))
        nodes = Nodes(counts[first:stop], first)
        arrays = _read_batch(streams, nodes, n_categories)
        yield nodes, arrays, _read_surrogates(streams, arrays["n_branches"], nodes, n_categories)
        first = stop
    for stream in streams.values():
        stream.finish()


def _refuse_crowds(n_trees: int, n_bytes: int) -> None:
    """Refuse a small file that would fill the memory, where every tree takes at least a kilobyte."""
    if n_trees > _MOST_SMALL_TREES and n_bytes < n_trees * _FEWEST_BYTES:
        raise ModelFormatError(
            f"it has {n_trees} trees in {n_bytes} bytes; more than {_MOST_SMALL_TREES} trees must have "
            f"{_FEWEST_BYTES} bytes each"
        )


def _streams(reader: TensorReader, node_counts: AnyArray) -> dict[str, Any]:
    """Open the tensors that are there; one that does not belong to the form in use is later refused."""
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
    # The caller refuses a sum that is not the number of nodes; here it must only be harmless.
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


def _read_batch(streams: Mapping[str, Any], nodes: Nodes, n_categories: AnyArray) -> Arrays:
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


def _first_children(n_branches: AnyArray, inner: AnyArray, nodes: Nodes) -> AnyArray:
    """Return where the children of each node are: behind those of all nodes before it in its tree."""
    first = nodes.running_totals(n_branches) + 1
    if np.any(nodes.totals(n_branches) >= nodes.counts):
        outside = first + n_branches > np.repeat(nodes.counts, nodes.counts)
        nodes.refuse(outside, "its children lie outside the tree")
    return _spread(first[inner].astype(np.int32), inner, len(n_branches), NO_CHILD)


def _read_tests(
    streams: Mapping[str, TensorStream],
    n_branches: AnyArray,
    inner: AnyArray,
    nodes: Nodes,
    n_categories: AnyArray,
) -> Arrays:
    """Read the test of each inner node: a table for a categorical column, a threshold for any other."""
    n_nodes = len(n_branches)
    feature = _spread(streams["feature"].next(len(inner)), inner, n_nodes, NO_FEATURE)
    in_range = (feature >= 0) & (feature < len(n_categories))
    nodes.refuse((n_branches > 0) & ~in_range, "its feature is out of range")
    sizes = table_sizes(feature, n_branches, n_categories)
    category_begin = np.full(n_nodes, NO_TABLE, dtype=np.int64)
    words = np.zeros(0, dtype=np.uint32)
    with_threshold = inner
    if sizes.any():
        if "category_words" not in streams:
            raise ModelFormatError("the tensor 'trees.category_words' is missing")
        words = streams["category_words"].next(int(sizes.sum()))
        _refuse_wide_tables(words, n_branches, sizes, nodes)
        with_threshold = inner[sizes[inner] == 0]
        category_begin = np.where(sizes > 0, nodes.running_totals(sizes), NO_TABLE)
    threshold = streams["threshold"].next(len(with_threshold))
    return {
        "feature": feature,
        "threshold": _spread(threshold, with_threshold, n_nodes, NO_THRESHOLD),
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
    streams: Mapping[str, TensorStream], n_branches: AnyArray, nodes: Nodes, n_categories: AnyArray
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
    threshold = _spread(streams["surrogate_threshold"].next(len(numeric)), numeric, total, NO_THRESHOLD)
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
                    own_sizes > 0, np.cumsum(own_sizes) - own_sizes, NO_TABLE
                ),
                "surrogate_agreement": agreement[begin:end],
                "surrogate_category_words": words[word_begin:word_end],
            }
        )
    return by_tree


def _refuse_wide_tables(words: AnyArray, n_branches: AnyArray, sizes: AnyArray, nodes: Nodes) -> None:
    """Check branch numbers of 32 bits here: those of 2**31 and more turn negative where they are used."""
    ends = np.cumsum(sizes)
    for node in np.flatnonzero((n_branches > 2**16) & (sizes > 0)).tolist():
        if words[ends[node] - sizes[node] : ends[node]].max() >= n_branches[node]:
            nodes.refuse_node(node, "its table of categories names a branch that does not exist")


def _read_facts(streams: Mapping[str, Any], inner: AnyArray, nodes: Nodes) -> Arrays:
    """Read the value of each node, and what the fit saw there if that was stored."""
    n_nodes = int(nodes.ends[-1])
    if "leaf_class_counts" in streams:
        arrays, by_class = _read_leaf_counts(streams["leaf_class_counts"], inner, nodes)
    elif "class_counts" in streams:
        counts = streams["class_counts"].next(n_nodes)
        sums = sums_of(counts)
        if not sums.all():
            nodes.refuse((sums == 0).any(axis=1), "its class counts are all 0")
        arrays = {"value": shares_of(counts, sums), WEIGHTS: sums[:, 0].copy()}
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


def _read_leaf_counts(stream: Escaped, inner: AnyArray, nodes: Nodes) -> tuple[Arrays, AnyArray | None]:
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
    streams: Mapping[str, Any], arrays: Arrays, by_class: AnyArray | None, inner: AnyArray, nodes: Nodes
) -> Arrays:
    """Compute what the packed form does not store."""
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


def _rows_of_weights(weights: AnyArray, nodes: Nodes) -> AnyArray:
    """Read numbers of rows from the weights, which they are if no others are stored."""
    whole = (weights >= 0) & (weights < 2.0**53) & (weights == np.floor(weights))
    nodes.refuse(~whole, "its number of rows is missing")
    return weights.astype(np.int64)


def _spread(values: AnyArray, places: AnyArray, n_nodes: int, otherwise: float) -> AnyArray:
    """Put values in their places and another value everywhere else."""
    result = np.full(n_nodes, otherwise, dtype=values.dtype)
    result[places] = values
    return result
