"""From trees to tensors: all trees of a model share one set of arrays, end to end.

Nodes are numbered breadth-first and the children of a node lie side by side, so the numbers of branches alone
say where all children are: child indices are not stored and cannot be wrong. What only some nodes have
(tests, thresholds, gains) is stored for these only. Class shares are stored as the whole numbers they were
divided from, where that gives every share back bit by bit. What was put in is taken out again and compared
before it is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError
from hornbeam.io.packed_numbers import put_numbers
from hornbeam.io.packed_sums import put_gains, put_impurities, put_means
from hornbeam.io.packed_trees import (
    PACKED_FROM,
    PACKED_NODES_PER_TREE,
    follows_from_leaves,
    gini_gain,
    gini_impurity,
    put_bits,
    put_derived,
    put_escaped,
)
from hornbeam.io.record import RecordWriter, same_bits
from hornbeam.io.tree_nodes import (
    NO_TABLE,
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
from hornbeam.io.tree_reading import make_trees, read_batches
from hornbeam.model import SURROGATE_ARRAYS, TREE_ARRAYS

__all__ = ["write_trees"]


def write_trees(
    trees: Sequence[Any],
    schema: Schema,
    writer: RecordWriter,
    *,
    known: frozenset[str],
    needed: frozenset[str],
) -> None:
    """Put in trees over one schema; of the statistics that are `known`, those that are `needed`.

    Others are included where they cost nothing: counts of classes add up to weights.
    """
    names = [name for name in TREE_ARRAYS if name in known or name not in STATISTICS]
    arrays = _end_to_end(trees, schema, names)
    inner = arrays["n_branches"] > 0
    writer.put("trees.node_counts", np.array([tree.node_count for tree in trees], dtype=np.int64))
    writer.put("trees.feature", arrays["feature"][inner])
    thresholds = arrays["threshold"][inner & (arrays["category_begin"] == NO_TABLE)]
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
    """Put in the same without what can be computed from the rest; every test has two branches."""
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
    numeric = arrays["surrogate_category_begin"] == NO_TABLE
    writer.put("trees.surrogates", np.concatenate(counts)[inner].astype(np.int32))
    writer.put("trees.surrogate_feature", arrays["surrogate_feature"])
    writer.put("trees.surrogate_threshold", arrays["surrogate_threshold"][numeric])
    writer.put("trees.surrogate_low_branch", arrays["surrogate_low_branch"][numeric])
    writer.put("trees.surrogate_agreement", arrays["surrogate_agreement"])
    if not numeric.all():
        writer.put("trees.surrogate_words", arrays["surrogate_category_words"])


def _end_to_end(trees: Sequence[Any], schema: Schema, names: Sequence[str]) -> Arrays:
    """Concatenate the arrays of all trees, with tables of categories in the order of nodes, without gaps."""
    arrays = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    nodes = Nodes(np.array([tree.node_count for tree in trees], dtype=np.int64))
    sizes = table_sizes(arrays["feature"], arrays["n_branches"], numbers_of_categories(schema))
    has_table = sizes > 0
    words_before_tree = np.cumsum([0, *(len(tree.category_words) for tree in trees[:-1])])
    old_begin = (arrays["category_begin"] + np.repeat(words_before_tree, nodes.counts))[has_table]
    new_end = np.cumsum(sizes[has_table])
    shift = old_begin - (new_end - sizes[has_table])
    places = np.repeat(shift, sizes[has_table]) + np.arange(sizes.sum())
    arrays["category_words"] = arrays["category_words"][places]
    arrays["category_begin"] = np.where(has_table, nodes.running_totals(sizes), NO_TABLE)
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
    sums = sums_of(counts)
    same_weights = sums.all() and same_bits(sums[:, 0], weights)
    if not same_weights or not same_bits(shares_of(counts, sums), values):
        return None
    return counts


def _verify(
    arrays: Mapping[str, AnyArray], trees: Sequence[Any], schema: Schema, writer: RecordWriter
) -> None:
    """Take out what was put in: what cannot be read, or would give different trees, must not be written."""
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
            made = make_trees(nodes, decoded, surrogates, schema, trees[0].gaps)
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


def _batches_to_write(writer: RecordWriter, schema: Schema) -> Iterator[tuple[Nodes, Arrays, list[Arrays]]]:
    try:
        yield from read_batches(writer.reader(), schema)
    except ModelFormatError as error:
        raise ValueError(f"The model cannot be saved: it could not be loaded. {error}.") from None
