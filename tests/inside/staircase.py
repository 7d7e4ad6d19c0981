"""A tree that is as deep as it can be: one leaf per level."""

from dataclasses import replace

import numpy as np

import hornbeam as hb
from hornbeam import _core


def staircase(n_levels):
    """Return a tree that asks x0 <= 0.5, x0 <= 1.5, ... and answers "even", "odd", "even", ..."""
    n_nodes = 2 * n_levels + 1
    inner = np.arange(0, n_nodes - 1, 2)
    leaves = np.arange(1, n_nodes, 2)
    first_child = np.full(n_nodes, -1, dtype=np.int32)
    first_child[inner] = inner + 1
    threshold = np.full(n_nodes, -2.0)
    threshold[inner] = np.arange(n_levels) + 0.5
    is_inner = first_child >= 0
    rows = np.empty(n_nodes, dtype=np.int64)
    rows[leaves] = 1
    rows[np.append(inner, n_nodes - 1)] = np.arange(n_levels + 1, 0, -1)
    odd_rows = np.empty(n_nodes)
    odd_rows[leaves] = np.arange(n_levels) % 2
    odd_rows[n_nodes - 1] = n_levels % 2
    odd_rows[inner] = odd_rows[n_nodes - 1] + odd_rows[leaves][::-1].cumsum()[::-1]
    value = np.stack([1 - odd_rows / rows, odd_rows / rows], axis=1)
    tree = _core.make_tree(
        n_outputs=1,
        n_values=2,
        categories=np.zeros(1, dtype=np.uint32),
        first_child=first_child,
        n_branches=np.where(is_inner, 2, 0).astype(np.int32),
        feature=np.where(is_inner, 0, -2).astype(np.int32),
        threshold=threshold,
        category_begin=np.full(n_nodes, -1, dtype=np.int64),
        missing_branch=is_inner.astype(np.int32),
        n_node_samples=rows,
        weighted_n_node_samples=rows.astype(float),
        impurity=2 * value[:, 0] * value[:, 1],
        gain=np.zeros(n_nodes),
        value=value.reshape(-1),
        category_words=np.zeros(0, dtype=np.uint32),
    )
    model = hb.DecisionTreeClassifier().fit(np.array([[0.0], [1.0]]), ["even", "odd"])
    model._model = replace(model._model, trees=(tree,))
    return model
