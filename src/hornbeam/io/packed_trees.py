"""Large ensembles in fewer bytes, without loss: what can be computed from the rest is not stored.

Per node, of a forest of two classes, on average over inner nodes and leaves:

    whether it is a leaf, where missing values go     1 bit, and 1 bit of the inner ones
    the feature and the threshold of inner nodes      1 and 8 bytes, of half the nodes
    class counts, numbers of rows, of leaves only     1 byte each where below 255; inner nodes are the sums
    impurity and gain                                 follow from the counts, where the criterion is gini

which is about 6 bytes instead of 26. Numbers that can be computed in nearly all nodes are stored only for the
others. The writer computes them as a reader will and compares every bit; what differs is stored.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordWriter, TensorReader, TensorStream, same_bits

__all__ = [
    "PACKED_FROM",
    "PACKED_NODES_PER_TREE",
    "Bits",
    "Escaped",
    "Patches",
    "follows_from_leaves",
    "gini_gain",
    "gini_impurity",
    "put_bits",
    "put_derived",
    "put_escaped",
    "sums_of_leaves",
]

AnyArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]

# Models with fewer nodes, or with fewer per tree on average, are small in any form, and keep the plain one.
PACKED_FROM = 4096
PACKED_NODES_PER_TREE = 16

_ESCAPE = 255
_LARGEST_COUNT = 2**32 - 1
_MOST_EXCEPTIONS = 8  # computing numbers pays off if at most one in this many is wrong


# ------------------------------------------------------------------------------------------------------------
# Bits


def put_bits(writer: RecordWriter, name: str, bits: AnyArray) -> None:
    """Store truth values, eight in a byte, the first in its lowest bit."""
    writer.put(name, np.packbits(bits, bitorder="little"))


class Bits:
    """Truth values that are read from front to back."""

    def __init__(self, reader: TensorReader, name: str, count: int) -> None:
        self._packed = reader.take(name, np.uint8, (-(-count // 8),))
        self._count = count
        self._position = 0
        self._name = name

    def __len__(self) -> int:
        return self._count

    @property
    def n_bytes(self) -> int:
        """Size in the file."""
        return int(self._packed.nbytes)

    def next(self, count: int) -> AnyArray:
        """Read the next ones."""
        begin, end = self._position, self._position + count
        if end > self._count:
            raise ModelFormatError(f"the tensor {self._name!r} has too few bits for the trees")
        self._position = end
        first = begin // 8
        bits = np.unpackbits(self._packed[first : -(-end // 8)], bitorder="little")
        return bits[begin - 8 * first : end - 8 * first]

    def finish(self) -> None:
        """Refuse bits that have not been read."""
        if self._position < self._count:
            raise ModelFormatError(f"the tensor {self._name!r} has too many bits for the trees")


# ------------------------------------------------------------------------------------------------------------
# Small counts


def put_escaped(writer: RecordWriter, name: str, counts: AnyArray) -> None:
    """Store counts in a byte each; those of 255 and more go to a list of their own."""
    is_large = counts >= _ESCAPE
    writer.put(name, np.where(is_large, _ESCAPE, counts).astype(np.uint8))
    writer.put(f"{name}.large", counts[is_large].astype(np.int64))


class Escaped:
    """Such counts, read from front to back."""

    def __init__(self, reader: TensorReader, name: str, *, n_dimensions: int = 1) -> None:
        stored = reader.take(name, np.uint8, (None,) * n_dimensions)
        self.shape = stored.shape[1:]
        self._small = TensorStream(name, stored, stored.dtype)
        self._large = reader.stream(f"{name}.large", np.int64)
        self._name = name

    @property
    def n_bytes(self) -> int:
        """Size in the file."""
        return self._small.n_bytes + self._large.n_bytes

    def next(self, count: int) -> FloatArray:
        """Read those of the next leaves: kinds of counts x leaves, as floats, which hold them exactly."""
        small = self._small.next(count).reshape(count, -1)
        counts = np.ascontiguousarray(small.T, dtype=np.float64)
        places = np.flatnonzero(small.reshape(-1) == _ESCAPE)
        large = self._large.next(len(places))
        if large.size and (large.min() < _ESCAPE or large.max() > _LARGEST_COUNT):
            raise ModelFormatError(f"the tensor '{self._name}.large' holds a count that is not large")
        counts[places % len(counts), places // len(counts)] = large
        return counts

    def finish(self) -> None:
        """Refuse counts that have not been read."""
        self._small.finish()
        self._large.finish()


def sums_of_leaves(at_leaves: FloatArray, inner: AnyArray, node_counts: AnyArray) -> FloatArray:
    """Spread counts of leaves, kinds x leaves, over all nodes; an inner node has the sum of its two children.

    `inner` are the places of the inner nodes, `node_counts` the nodes of each tree, which lie end to end.
    """
    is_inner = np.zeros(int(node_counts.sum()), dtype=np.bool_)
    is_inner[inner] = True
    try:
        return np.stack([_core.sums_of_leaves(one, is_inner, node_counts) for one in at_leaves])
    except ValueError as error:
        raise ModelFormatError(f"the counts of the leaves do not fit the trees: {error}") from None


# ------------------------------------------------------------------------------------------------------------
# Numbers that follow from others


def gini_impurity(shares: FloatArray) -> FloatArray:
    """Compute the gini impurity of class shares, nodes x outputs x classes, as the grower does."""
    impurity = np.zeros(len(shares))
    for output in range(shares.shape[1]):
        one = np.zeros(len(shares))
        for k in range(shares.shape[2]):
            share = shares[:, output, k]
            one += share * (1 - share)
        one /= shares.shape[1]
        impurity += one
    return impurity


def gini_gain(counts: FloatArray, weights: FloatArray, inner: AnyArray, node_counts: AnyArray) -> FloatArray:
    """Compute the gains of tests of two branches: squares of class counts, classes x nodes, over the sum."""
    scores = np.zeros(len(weights))
    for one in counts:
        scores += one * one
    scores /= weights
    roots = np.cumsum(node_counts) - node_counts
    children = np.delete(scores, roots)  # of all inner nodes, in their order
    gain: FloatArray = children[0::2] + children[1::2]
    gain -= scores[inner]
    return np.maximum(0.0, gain, out=gain)


def put_derived(writer: RecordWriter, name: str, wanted: AnyArray, derived: AnyArray) -> bool:
    """Store the numbers that cannot be computed, with their places; False, storing nothing, if too many."""
    places = np.flatnonzero(wanted.view(np.uint64) != derived.view(np.uint64))
    if len(places) * _MOST_EXCEPTIONS > len(wanted):
        return False
    writer.put(f"{name}.at", places.astype(np.int64))
    writer.put(f"{name}.is", wanted[places])
    return True


class Patches:
    """Numbers that cannot be computed, put in their places from front to back."""

    def __init__(self, reader: TensorReader, name: str) -> None:
        self._places = reader.take(f"{name}.at", np.int64, (None,))
        self._numbers: TensorStream = reader.stream(f"{name}.is", np.float64)
        if np.any(self._places[1:] <= self._places[:-1]) or len(self._numbers) != len(self._places):
            raise ModelFormatError(f"the tensors of {name!r} are not a list of places and numbers")
        self._name = name
        self._begin = 0

    @property
    def n_bytes(self) -> int:
        """Size in the file, of the numbers."""
        return self._numbers.n_bytes

    def apply(self, derived: AnyArray) -> AnyArray:
        """Put in those of the next numbers."""
        end = self._begin + len(derived)
        first, last = np.searchsorted(self._places, [self._begin, end]).tolist()
        derived[self._places[first:last] - self._begin] = self._numbers.next(last - first)
        self._begin = end
        return derived

    def finish(self) -> None:
        """Refuse numbers without a place."""
        self._numbers.finish()


def follows_from_leaves(counts: AnyArray, inner: AnyArray, node_counts: AnyArray) -> bool:
    """Tell whether the counts of inner nodes, nodes x kinds, are the sums of their children's."""
    by_kind = counts.reshape(len(counts), -1).T.astype(np.float64)
    is_leaf = np.ones(len(counts), dtype=np.bool_)
    is_leaf[inner] = False
    leaves = by_kind[:, is_leaf]
    if np.any(leaves < 0) or np.any(leaves > _LARGEST_COUNT) or np.any(leaves != np.floor(leaves)):
        return False
    leaves = np.ascontiguousarray(leaves)
    return same_bits(sums_of_leaves(leaves, inner, node_counts), np.ascontiguousarray(by_kind))
