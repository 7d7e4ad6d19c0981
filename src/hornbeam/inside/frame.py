"""A tree as a table: turns a `TreeReading` into a pandas DataFrame with one row per node."""

from typing import Any

import numpy as np

from hornbeam._optional import require
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.words import printable

__all__ = ["tree_frame"]


def tree_frame(reading: TreeReading) -> Any:
    """Lay a tree out as a table, a row per node, numbered as in the arrays of the tree.

    `branch` says on which branch of its `parent` a node hangs, `test` which rows go down its own first
    branch, `categories` which ones go down each branch, and `missing_to` to which node a row without the
    value goes. Where a tree has surrogates, `surrogates` lists which rows without the value go down the first
    branch before that, and in which share of the rows each agrees with the test. What a node does not have
    is missing. Names, categories and predictions are given as they are; in what is made of them for
    reading, `test`, `surrogates` and the titles of the columns of shares, hostile characters are escaped.
    """
    pandas = require("pandas", purpose="A tree as a data frame")
    tree = reading.tree
    places = np.array(sorted(reading.walk()))  # by node; columns as in `Place`
    is_leaf = tree.feature < 0
    columns = {
        "node": places[:, 0],
        "parent": pandas.Series(places[:, 2], dtype="Int64").mask(places[:, 2] < 0),
        "branch": pandas.Series(places[:, 3], dtype="Int64").mask(places[:, 3] < 0),
        "depth": places[:, 1],
        **_tests(reading, pandas),
        "missing_to": pandas.Series(tree.first_child + tree.missing_branch, dtype="Int64").mask(is_leaf),
        **_surrogates(reading, pandas),
        "rows": tree.n_node_samples,
        "weight": tree.weighted_n_node_samples,
        "impurity": tree.impurity,
        "gain": np.where(is_leaf, np.nan, _gains(tree)),
        **_answers(reading),
    }
    return pandas.DataFrame(columns)


def _gains(tree: Any) -> Any:
    """Return by how much splits lower the mean impurity of their rows, as in `split_table`."""
    weights = tree.weighted_n_node_samples
    return np.divide(tree.gain, weights, out=np.zeros(len(weights)), where=weights > 0)


def _tests(reading: TreeReading, pandas: Any) -> dict[str, Any]:
    tree = reading.tree
    nodes = range(tree.node_count)
    inner = [bool(reading.branches(node)) for node in nodes]
    has_threshold = (tree.feature >= 0) & (tree.category_begin < 0)
    texts = [reading.branch_words(node, 0) if has_test else None for node, has_test in enumerate(inner)]
    names = [
        reading.schema.names[reading.feature(n)] if has_test else None for n, has_test in enumerate(inner)
    ]
    categories = [reading.categories_by_branch(node) for node in nodes]
    return {
        "test": pandas.Series(texts, dtype=object),
        "feature": pandas.Series(names, dtype=object),
        "threshold": np.where(has_threshold, tree.threshold, np.nan),
        "categories": pandas.Series(categories, dtype=object),
    }


def _surrogates(reading: TreeReading, pandas: Any) -> dict[str, Any]:
    if not reading.has_surrogates:
        return {}
    texts = [tuple(reading.surrogate_words(node)) or None for node in range(reading.tree.node_count)]
    return {"surrogates": pandas.Series(texts, dtype=object)}


def _answers(reading: TreeReading) -> dict[str, Any]:
    """Give every output its prediction and, per class, its share; several outputs are numbered."""
    tree = reading.tree
    columns: dict[str, Any] = {}
    for output in range(tree.n_outputs):
        number = "" if tree.n_outputs == 1 else f" {output}"
        value = tree.value[:, output, :]
        if not reading.classes:
            columns[f"prediction{number}"] = value[:, 0]
            continue
        classes = reading.classes[output]
        columns[f"prediction{number}"] = classes[np.argmax(value[:, : len(classes)], axis=1)]
        for k, label in enumerate(reading.labels[output]):
            columns[f"share{number} {printable(label, limit=None)}"] = value[:, k]
    return columns
