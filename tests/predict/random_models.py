"""Random ensembles, and rows that hit where it hurts: on thresholds and beside them, gaps, new categories.

Trees are made of arrays, not grown: any shape, from bushes to chains, and tests that no data would ask for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from hornbeam import _core

EDGE_VALUES = np.array(
    [-np.inf, -1.7976931348623157e308, -1e300, -2.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 0.1,
     0.30000000000000004, 0.3, 1.0, np.nextafter(1.0, 2.0), 16777217.0, 1.6e9, 1e300, np.inf]
)  # fmt: skip


@dataclass(frozen=True)
class Model:
    """Trees over columns; `categories` counts those of each column, 0 for numbers."""

    trees: tuple[_core.Tree, ...]
    categories: tuple[int, ...]
    thresholds: tuple[np.ndarray, ...]  # by column; empty for categories
    adds_to: np.ndarray | None


def tree_shape(
    random: np.random.Generator, n_leaves: int, bushiness: float, most_branches: int
) -> np.ndarray:
    """Return the number of branches of each node, breadth-first.

    Leaves of the growing tree are split in turn: the oldest with probability `bushiness`, else the newest.
    """
    children: dict[int, list[int]] = {}
    open_leaves, n_nodes = [0], 1
    while len(open_leaves) < n_leaves:
        place = 0 if random.random() < bushiness else len(open_leaves) - 1
        node = open_leaves.pop(place)
        n_branches = int(random.integers(2, most_branches + 1))
        children[node] = list(range(n_nodes, n_nodes + n_branches))
        n_nodes += n_branches
        open_leaves += random.permutation(children[node]).tolist()
    order = [0]
    for node in order:
        order += children.get(node, [])
    return np.array([len(children.get(node, [])) for node in order], dtype=np.int32)


def pack(branches: np.ndarray, n_branches: int) -> np.ndarray:
    """Pack the branch of each category as the core does."""
    bits = next(b for b in (1, 8, 16, 32) if n_branches <= 2**b)
    words = np.zeros(-(-len(branches) * bits // 32), dtype=np.uint32)
    for category, branch in enumerate(branches):
        place = category * bits
        words[place // 32] |= np.uint32(int(branch) << place % 32)
    return words


def random_tree(
    random: np.random.Generator,
    n_branches: np.ndarray,
    categories: Sequence[int],
    thresholds: Sequence[np.ndarray],
    value_shape: tuple[int, int],
) -> _core.Tree:
    """Fill a shape with tests and values; tests with more than two branches ask for categories."""
    n_nodes = len(n_branches)
    inner = n_branches > 0
    first_child = np.full(n_nodes, -1, dtype=np.int32)
    first_child[inner] = 1 + np.concatenate([[0], np.cumsum(n_branches[inner])[:-1]])
    feature = np.full(n_nodes, -2, dtype=np.int32)
    threshold = np.full(n_nodes, -2.0)
    category_begin = np.full(n_nodes, -1, dtype=np.int64)
    missing = np.zeros(n_nodes, dtype=np.int32)
    words: list[np.ndarray] = []
    n_words = 0
    categorical = [j for j, n in enumerate(categories) if n]
    for node in np.flatnonzero(inner):
        j = int(random.choice(categorical) if n_branches[node] > 2 else random.integers(len(categories)))
        feature[node] = j
        missing[node] = random.integers(n_branches[node])
        if categories[j]:
            table = pack(random.integers(n_branches[node], size=categories[j]), int(n_branches[node]))
            category_begin[node] = n_words
            words.append(table)
            n_words += len(table)
        else:
            threshold[node] = random.choice(thresholds[j])
    value = random.choice([random.normal, random.random])(size=(n_nodes, *value_shape))
    if random.random() < 0.5:
        value = value.round(1)  # ties among classes
    return _core.make_tree(
        n_outputs=value_shape[0],
        n_values=value_shape[1],
        categories=np.array(categories, dtype=np.uint32),
        first_child=first_child,
        n_branches=n_branches,
        feature=feature,
        threshold=threshold,
        category_begin=category_begin,
        missing_branch=missing,
        n_node_samples=np.ones(n_nodes, dtype=np.int64),
        weighted_n_node_samples=random.integers(1, 5, size=n_nodes).astype(float),
        impurity=np.zeros(n_nodes),
        gain=np.zeros(n_nodes),
        value=value.ravel(),
        category_words=np.concatenate([np.zeros(0, dtype=np.uint32), *words]).astype(np.uint32),
    )


def random_thresholds(random: np.random.Generator, n: int) -> np.ndarray:
    """Return distinct thresholds, from the edges of the numbers or close together."""
    kind = random.integers(4)
    if kind == 0:
        return random.permutation(EDGE_VALUES)[: max(1, n)]
    if kind == 1:  # neighbours in float64 that float32 cannot tell apart
        return 1.0 + np.arange(n) * 2.0**-52
    if kind == 2:
        return np.unique(random.normal(size=n).astype(np.float32).astype(np.float64))
    return np.unique(random.normal(size=n) * 10.0 ** random.integers(-300, 300))


def random_model(
    seed: int,
    *,
    n_trees: int,
    most_leaves: int,
    value_shape: tuple[int, int],
    n_thresholds: int,
    kinds: str,
    in_turns: bool = False,
) -> Model:
    """Make a model; `kinds` is "numeric", "mixed" (categories, too) or "multiway"."""
    random = np.random.default_rng(seed)
    n_columns = int(random.integers(1, 7))
    categories = [0] * n_columns
    if kinds != "numeric":
        categories = [int(n) for n in random.choice([0, 1, 2, 5, 31, 33, 70, 300], size=n_columns)]
        categories[0] = 5
    thresholds = [
        np.zeros(0) if n else random_thresholds(random, int(random.integers(1, n_thresholds + 1)))
        for n in categories
    ]
    trees = []
    for _ in range(n_trees):
        n_leaves = int(random.integers(1, most_leaves + 1))
        shape = tree_shape(random, n_leaves, random.random(), 4 if kinds == "multiway" else 2)
        trees.append(random_tree(random, shape, categories, thresholds, value_shape))
    turns = (np.arange(n_trees) % 3).astype(np.int32) if in_turns else None
    return Model(tuple(trees), tuple(categories), tuple(thresholds), turns)


def random_rows(
    model: Model, seed: int, n_rows: int, *, gaps: bool, dtype: str = "float64"
) -> list[np.ndarray]:
    """Return columns of rows: thresholds, their neighbours, edge values, anything between."""
    random = np.random.default_rng(seed)
    columns = []
    for n_categories, thresholds in zip(model.categories, model.thresholds, strict=True):
        if n_categories:
            columns.append(random.integers(-2 if gaps else 0, n_categories, size=n_rows).astype(np.int32))
            continue
        near = random.choice(thresholds, size=n_rows)
        towards = random.choice([-np.inf, np.inf], size=n_rows)
        with np.errstate(all="ignore"):
            choices = [
                near,
                np.nextafter(near, towards),
                np.nextafter(near.astype(np.float32), towards.astype(np.float32)).astype(np.float64),
                random.choice(EDGE_VALUES, size=n_rows),
                near + random.normal(size=n_rows),
            ]
            values = np.choose(random.integers(len(choices), size=n_rows), choices)
            if gaps:
                values[random.random(n_rows) < 0.2] = np.nan
            columns.append(values.astype(dtype))
    return columns


@st.composite
def models(draw: st.DrawFn, **fixed: object) -> Model:
    """Draw a model; arguments fix what `random_model` is told."""
    choices = {
        "n_trees": st.integers(1, 6),
        "most_leaves": st.sampled_from([1, 2, 5, 16, 17, 33, 64, 65, 200]),
        "value_shape": st.sampled_from([(1, 1), (1, 2), (1, 3), (2, 3), (3, 1)]),
        "n_thresholds": st.sampled_from([1, 5, 40, 254, 400]),
        "kinds": st.sampled_from(["numeric", "numeric", "mixed", "multiway"]),
    }
    drawn = {name: fixed[name] if name in fixed else draw(choice) for name, choice in choices.items()}
    in_turns = drawn["value_shape"] == (1, 1) and drawn["n_trees"] >= 3 and draw(st.booleans())
    return random_model(draw(st.integers(0, 2**32)), in_turns=in_turns, **drawn)
