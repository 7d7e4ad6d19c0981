"""Small trees found by exhaustive search, and trees whose first test is given: what greedy growth misses.

The rows of a node are the bits of a whole number, so that a test is a bitwise `and` and counting is fast
enough to try every tree of depth 3 or 4 on a table of a lecture. What comes out is a fitted
`DecisionTreeClassifier` like any other.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.data.encode import core_column
from hornbeam.data.target import read_classes
from hornbeam.declare.kinds import did_you_mean
from hornbeam.estimators.tree import DecisionTreeClassifier
from hornbeam.impurity import information_gain
from hornbeam.model import Ensemble, refuse_missing, tree_from_arrays

__all__ = ["small_tree"]

_MOST_TREES = 20_000_000  # tests to the power of the depth; minutes of searching


@dataclass(frozen=True)
class _Test:
    """A question about one column; `yes` are the rows, as bits, that go down the second branch."""

    feature: int
    threshold: float
    category: int
    yes: int


@dataclass(frozen=True)
class _Node:
    """The rows of a node, as bits, and its test with the two nodes below, if any."""

    rows: int
    test: _Test | None = None
    below: tuple["_Node", ...] = ()


def small_tree(
    X: Any,
    y: Any,
    *,
    max_depth: int = 3,
    first: Any = None,
    search: Literal["optimal", "greedy"] = "optimal",
) -> DecisionTreeClassifier:
    """Return the tree of least training error up to a depth and, of equals, of fewest leaves.

    Every tree of binary tests is tried: a threshold between any two values, any category against the rest.
    `first` gives the column of the first test, or (column, threshold) or (column, category) the test itself.
    "greedy" takes the test of most information gain at every node after that, as trees usually grow, and goes
    on until leaves are pure.
    """
    if isinstance(max_depth, bool) or not isinstance(max_depth, int | np.integer) or max_depth < 1:
        raise ValueError(f"max_depth must be a whole number >= 1; got {max_depth!r}.")
    if search not in ("optimal", "greedy"):
        raise ValueError(f"search must be 'optimal' or 'greedy'; got {search!r}.")
    max_depth = int(max_depth)
    template = DecisionTreeClassifier(max_depth=max_depth).fit(X, y)
    search_state = _Search(template._model, X, y)
    if search == "optimal" and len(search_state.tests) ** max_depth > _MOST_TREES:
        raise ValueError(
            f"{len(search_state.tests)} tests to the power of max_depth={max_depth} are more than "
            f"{_MOST_TREES:,} trees to look at. Give fewer rows or columns, or a smaller max_depth."
        )
    begin = search_state.tests if first is None else search_state.tests_named(first)
    root = search_state.grow(begin, max_depth, greedy=search == "greedy")
    model = template._model
    tree = tree_from_arrays(search_state.arrays(root), model.schema)
    template._model = Ensemble((tree,), model.schema, model.unseen, model.missing_allowed)
    return template


class _Search:
    """The rows, classes and tests of a table as bits."""

    def __init__(self, model: Ensemble, X: Any, y: Any) -> None:
        table = model.read(X, estimator_name="small_tree")
        refuse_missing(table, "small_tree")
        target = read_classes(y, table.n_rows, multi_output=False, estimator_name="small_tree")
        self.schema = model.schema
        self.everything = (1 << table.n_rows) - 1
        n_classes = len(target.classes[0])
        self.classes = [_bits(target.codes[:, 0] == k) for k in range(n_classes)]
        self.tests = list(_distinct(self._all_tests(table), self.everything))
        self._known: dict[tuple[int, int], tuple[int, int, _Node]] = {}

    def _all_tests(self, table: Any) -> Iterator[_Test]:
        for feature, column in enumerate(table.columns):
            values = np.asarray(core_column(column.kind, column.values))
            present = np.unique(values)
            if column.kind == "categorical":
                for code in present.tolist():
                    yield _Test(feature, -2.0, int(code), _bits(values == code))
            else:
                for lower, upper in zip(present[:-1].tolist(), present[1:].tolist(), strict=True):
                    middle = lower + (upper - lower) / 2
                    yield _Test(feature, middle, -1, _bits(values > middle))

    def tests_named(self, first: Any) -> list[_Test]:
        """Find the tests that the user means."""
        name, value = first if isinstance(first, tuple) else (first, None)
        names = self.schema.names
        if name not in names:
            near = did_you_mean(str(name), names)
            raise ValueError(f"first names {name!r}, which is not a column of X. {near}".rstrip())
        feature = names.index(name)
        found = [test for test in self.tests if test.feature == feature]
        if value is not None and self.schema.kinds[feature] == "categorical":
            known = list(self.schema.categories[feature] or ())
            found = [test for test in found if known[test.category] == value]
        elif value is not None:
            found = sorted(found, key=lambda test: abs(test.threshold - value))[:1]
        if not found:
            raise ValueError(f"first={first!r}: no test on that column separates the rows.")
        return found

    def counts(self, rows: int) -> list[int]:
        return [(rows & of_class).bit_count() for of_class in self.classes]

    # --- Looking -----------------------------------------------------------------------------------------

    def grow(self, first: Sequence[_Test], max_depth: int, *, greedy: bool) -> _Node:
        return (
            self._greedy(self.everything, first, max_depth)
            if greedy
            else self._best(self.everything, max_depth, first)[2]
        )

    def _best(self, rows: int, depth: int, tests: Sequence[_Test] | None = None) -> tuple[int, int, _Node]:
        """Return the least errors below a node, the fewest leaves with them, and the node."""
        counts = self.counts(rows)
        as_leaf = (sum(counts) - max(counts), 1, _Node(rows))
        if depth == 0 or as_leaf[0] == 0:
            return as_leaf
        if tests is None and (rows, depth) in self._known:
            return self._known[rows, depth]
        best: tuple[int, int, _Node] | None = None if tests is not None else as_leaf
        for test in tests or self.tests:
            yes = rows & test.yes
            no = rows & ~test.yes
            if not yes or not no:
                continue
            left = self._best(no, depth - 1)
            if best is not None and left[0] > best[0]:
                continue
            right = self._best(yes, depth - 1)
            found = (left[0] + right[0], left[1] + right[1])
            if best is None or found < best[:2]:
                best = (*found, _Node(rows, test, (left[2], right[2])))
        best = best or as_leaf
        if tests is None:
            self._known[rows, depth] = best
        return best

    def _greedy(self, rows: int, tests: Sequence[_Test], depth: int) -> _Node:
        if depth == 0 or sum(count > 0 for count in self.counts(rows)) < 2:
            return _Node(rows)
        dividing = [test for test in tests if rows & test.yes and rows & ~test.yes]
        if not dividing:
            return _Node(rows)
        gains = [
            round(information_gain([self.counts(rows & ~test.yes), self.counts(rows & test.yes)]), 12)
            for test in dividing
        ]
        test = dividing[int(np.argmax(gains))]
        sides = (rows & ~test.yes, rows & test.yes)
        return _Node(rows, test, tuple(self._greedy(side, self.tests, depth - 1) for side in sides))

    # --- A tree of ours ----------------------------------------------------------------------------------

    def arrays(self, root: _Node) -> dict[str, npt.NDArray[Any]]:
        """Write a tree as the arrays that trees are made of, level by level."""
        nodes, first_child = [root], []
        for node in nodes:  # which grows meanwhile
            first_child.append(len(nodes) if node.test is not None else -1)
            nodes += node.below
        counts = np.array([self.counts(node.rows) for node in nodes], dtype=np.float64)
        sizes = counts.sum(axis=1)
        shares = counts / sizes[:, np.newaxis]
        impurity = (shares * (1 - shares)).sum(axis=1)
        begins, words = self._categories(nodes)
        gain = np.zeros(len(nodes))
        for at, child in enumerate(first_child):
            if child >= 0:
                below = slice(child, child + 2)
                gain[at] = max(0.0, sizes[at] * impurity[at] - (sizes[below] * impurity[below]).sum())
        inner = [node.test for node in nodes]
        return {
            "first_child": np.array(first_child, dtype=np.int32),
            "n_branches": np.array([2 if test else 0 for test in inner], dtype=np.int32),
            "feature": np.array([test.feature if test else -2 for test in inner], dtype=np.int32),
            "threshold": np.array([test.threshold if test else -2.0 for test in inner]),
            "category_begin": begins,
            "missing_branch": np.array(
                [_larger(nodes[c], nodes[c + 1]) if c >= 0 else 0 for c in first_child], dtype=np.int32
            ),
            "n_node_samples": sizes.astype(np.int64),
            "weighted_n_node_samples": sizes,
            "impurity": impurity,
            "gain": gain,
            "value": shares[:, np.newaxis, :],
            "category_words": words,
            "gaps": np.array("branch"),
        }

    def _categories(self, nodes: list[_Node]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """Write sets of categories: a bit per category, set for the one that goes down the second branch."""
        begins: list[int] = []
        words: list[int] = []
        for node in nodes:
            if node.test is None or node.test.category < 0:
                begins.append(-1)
                continue
            begins.append(len(words))
            n_words = (len(self.schema.categories[node.test.feature] or ()) + 31) // 32
            bits = 1 << node.test.category
            words += [bits >> (32 * at) & 0xFFFFFFFF for at in range(n_words)]
        return np.array(begins, dtype=np.int64), np.array(words, dtype=np.uint32)


def _distinct(tests: Iterator[_Test], everything: int) -> Iterator[_Test]:
    """Leave out tests that divide the rows as an earlier test of the same column does."""
    seen = set()
    for test in tests:
        partition = (test.feature, min(test.yes, everything & ~test.yes))
        if partition not in seen and 0 < test.yes < everything:
            seen.add(partition)
            yield test


def _larger(first: _Node, second: _Node) -> int:
    return int(second.rows.bit_count() > first.rows.bit_count())


def _bits(rows: npt.NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(rows, bitorder="little").tobytes(), "little")
