"""How much memory a tree will need, as far as that is known before it grows.

Most trees are small compared with their data, with two exceptions. Every node holds a share for every class,
so memory is quadratic if there are as many classes as rows; and every test on categories holds a bit for each
of them, so it is quadratic for an identifier taken for a category. Both are refused if they do not fit. So
are more members than would fit if each were a single leaf.
"""

import numpy as np

from hornbeam.data.encode import Encoded
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.wording import shown
from hornbeam.memory import refuse_beyond_memory

__all__ = ["refuse_ensemble_beyond_memory", "refuse_tree_beyond_memory"]

_ALWAYS_FITS = 2**28  # bytes; a tree that cannot be larger is never refused
_LEAST_BYTES_OF_A_MEMBER = 1000  # a tree of one leaf, with the object around it
_WAY_OUT = "Limit the tree with max_leaf_nodes or max_depth"


def refuse_tree_beyond_memory(
    encoded: Encoded, target: ClassTarget | RegressionTarget, *, most_leaves: int
) -> None:
    """Raise MemoryError if a tree that tells the targets apart cannot fit, however good its tests are."""
    if isinstance(target, ClassTarget):
        _refuse_class_shares(encoded, target, most_leaves)
    _refuse_category_tables(encoded, target, most_leaves)


def refuse_ensemble_beyond_memory(n_members: int) -> None:
    """Raise MemoryError if this many members cannot fit, even if each were a single leaf."""
    if n_members * _LEAST_BYTES_OF_A_MEMBER < _ALWAYS_FITS:
        return
    refuse_beyond_memory(
        n_members * _LEAST_BYTES_OF_A_MEMBER,
        what=f"n_estimators={n_members}: so many members, even of a single leaf each,",
        way_out="Lower n_estimators.",
    )


def _refuse_class_shares(encoded: Encoded, target: ClassTarget, most_leaves: int) -> None:
    n_classes = max(len(classes) for classes in target.classes)
    bytes_per_node = 8 * target.n_outputs * n_classes
    if 4 * most_leaves * bytes_per_node < _ALWAYS_FITS:
        return
    n_nodes = 2 * _n_leaves(encoded, min(most_leaves, n_classes)) - 1
    refuse_beyond_memory(
        2 * n_nodes * bytes_per_node,  # once while the tree grows, once in the tree
        what=f"The shares of {n_classes} classes in the {n_nodes} nodes of a tree that tells them apart",
        way_out=f"{_WAY_OUT}, or use a regressor if the classes are numbers.",
    )


def _refuse_category_tables(
    encoded: Encoded, target: ClassTarget | RegressionTarget, most_leaves: int
) -> None:
    """Check columns in which nearly all values differ: they win every test, and each test has a table."""
    schema = encoded.schema
    for name, kind, categories in zip(schema.names, schema.kinds, schema.categories, strict=True):
        n_categories = len(categories or ()) if kind == "categorical" else 0
        if 2 * n_categories <= encoded.n_rows or most_leaves * n_categories // 4 < _ALWAYS_FITS:
            continue
        n_tests = _n_leaves(encoded, min(most_leaves, _n_answers(target))) - 1
        refuse_beyond_memory(
            2 * n_tests * n_categories // 8,
            what=f"Column {shown(name)} has {n_categories} categories, and {n_tests} tests on it",
            way_out=f"Drop the column if it is an identifier. {_WAY_OUT} otherwise.",
        )


def _n_answers(target: ClassTarget | RegressionTarget) -> int:
    if isinstance(target, ClassTarget):
        return max(len(classes) for classes in target.classes)
    return max(len(np.unique(target.values[:, k])) for k in range(target.n_outputs))


def _n_leaves(encoded: Encoded, wanted: int) -> int:
    """Return `wanted`, or fewer if the values of all columns have fewer combinations."""
    combinations = 1
    for feature in range(encoded.n_features):
        combinations *= encoded.codes.n_codes(feature) + 1  # one for missing
        if combinations >= wanted:
            return wanted
    return combinations
