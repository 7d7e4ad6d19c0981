"""Regression trees in the packed form: the value of an inner node is nearly the mean of its children's.

    the mean        the weighted mean of the children's
    the impurity    by squared error: what is left in the children, and how far their means are from its own
    the gain        weight times impurity, minus the same over the children

Stored are the numbers of leaves and, for inner nodes, the steps from these predictions to the actual numbers.
Each is used only if it is shorter; all give back every bit.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.errors import ModelFormatError
from hornbeam.io.packed_numbers import (
    IntArray,
    Steps,
    put_numbers,
    put_steps,
    size_of_steps,
    steps,
    walked,
)
from hornbeam.io.record import RecordWriter, narrowed

__all__ = ["put_gains", "put_impurities", "put_means", "read_gains", "read_numbers"]

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

_WEIGHTS = "weighted_n_node_samples"


def put_means(writer: RecordWriter, arrays: Arrays, is_inner: AnyArray, node_counts: AnyArray) -> bool:
    """Store means of leaves, and steps to those of inner nodes; False, storing nothing, if not shorter."""
    if arrays["value"].shape[1:] != (1, 1):
        return False
    means = arrays["value"].reshape(-1)
    ways = _core.steps_to_means(means, arrays[_WEIGHTS], is_inner, node_counts)
    return _put(writer, ("trees.leaf_means", "trees.mean_steps"), means, ways, is_inner)


def put_impurities(writer: RecordWriter, arrays: Arrays, is_inner: AnyArray, node_counts: AnyArray) -> bool:
    """Do the same with impurities."""
    if arrays["value"].shape[1:] != (1, 1):
        return False
    means, impurities = arrays["value"].reshape(-1), arrays["impurity"]
    ways = _core.steps_to_impurities(impurities, means, arrays[_WEIGHTS], is_inner, node_counts)
    return _put(writer, ("trees.leaf_impurities", "trees.impurity_steps"), impurities, ways, is_inner)


def _put(
    writer: RecordWriter, names: tuple[str, str], numbers: AnyArray, ways: IntArray, is_inner: AnyArray
) -> bool:
    if size_of_steps(ways) >= narrowed(numbers[is_inner]).nbytes:
        return False
    put_numbers(writer, names[0], numbers[~is_inner])
    put_steps(writer, names[1], ways)
    return True


def put_gains(
    writer: RecordWriter, gain: AnyArray, arrays: Arrays, inner: AnyArray, node_counts: AnyArray
) -> bool:
    """Store the steps to the gains of inner nodes; False, storing nothing, if that is not shorter."""
    ways = steps(_gains(arrays, inner, node_counts), gain)
    if size_of_steps(ways) >= narrowed(gain).nbytes:
        return False
    put_steps(writer, "trees.gain_steps", ways)
    return True


def _gains(arrays: Mapping[str, AnyArray], inner: AnyArray, node_counts: AnyArray) -> AnyArray:
    """Compute the gains of tests from the weights and impurities of all nodes."""
    with np.errstate(all="ignore"):  # whatever a file holds
        spread = arrays[_WEIGHTS] * arrays["impurity"]
        children = np.delete(spread, np.cumsum(node_counts) - node_counts)  # of inner nodes, in their order
        gains: AnyArray = np.maximum(0.0, spread[inner] - (children[0::2] + children[1::2]))
    return gains


# ------------------------------------------------------------------------------------------------------------
# Back


def read_numbers(
    streams: Mapping[str, Any], arrays: Mapping[str, AnyArray], inner: AnyArray, node_counts: AnyArray
) -> Arrays:
    """Read means and impurities stored as steps; weights, and other means, are among the arrays."""
    found: Arrays = {}
    n_nodes, n_inner = int(node_counts.sum()), len(inner)
    is_inner = np.zeros(n_nodes, dtype=np.bool_)
    is_inner[inner] = True
    try:
        if "mean_steps" in streams:
            at_leaves = streams["leaf_means"].next(n_nodes - n_inner)
            ways = streams["mean_steps"].next(n_inner)
            means = _core.means_by_steps(at_leaves, ways, _weights(arrays), is_inner, node_counts)
            found["value"] = means.reshape(-1, 1, 1)
        if "impurity_steps" in streams:
            at_leaves = streams["leaf_impurities"].next(n_nodes - n_inner)
            ways = streams["impurity_steps"].next(n_inner)
            means = {**arrays, **found}["value"].reshape(-1)
            found["impurity"] = _core.impurities_by_steps(
                at_leaves, ways, means, _weights(arrays), is_inner, node_counts
            )
    except ValueError as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"the numbers of the leaves do not fit the trees: {error}") from None
    return found


def read_gains(
    ways: Steps, arrays: Mapping[str, AnyArray], inner: AnyArray, node_counts: AnyArray
) -> AnyArray:
    """Read gains stored as steps."""
    if "impurity" not in arrays:
        raise ModelFormatError("the gains follow from impurities, which are not there")
    _weights(arrays)
    return walked(_gains(arrays, inner, node_counts), ways.next(len(inner)))


def _weights(arrays: Mapping[str, AnyArray]) -> AnyArray:
    if _WEIGHTS not in arrays:
        raise ModelFormatError("what inner nodes say follows from the weights, which are not there")
    return arrays[_WEIGHTS]
