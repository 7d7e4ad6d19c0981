"""One tree with its columns and classes, which its numbers refer to: its tests, its answers and its paths.

Rules, frames, explanations, drawings and exports are made from a `TreeReading`, for every model whose members
are our trees. Nothing here recurses, because a tree may be 100,000 levels deep.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Category, Schema, Unseen
from hornbeam.inside import words
from hornbeam.inside.conditions import Condition, Group, Interval, condition_words

__all__ = ["Place", "StandIn", "TreeReading", "readings_of", "way_to_members"]

Passing = Interval | Group
Path = dict[int, Passing]


class Place(NamedTuple):
    """A node with its place in the tree: the root has depth 0 and is branch -1 of node -1."""

    node: int
    depth: int
    parent: int
    branch: int


class StandIn(NamedTuple):
    """A test that decides where a row lacks the feature of a node's own test.

    `passing` says which values of the feature go down each of the two branches, `agreement` for which share
    of the training rows it says what the node's test says.
    """

    feature: int
    passing: tuple[Passing, Passing]
    agreement: float


@dataclass(frozen=True, eq=False)
class TreeReading:
    """A tree, its columns and its classes.

    `classes` holds the labels of each output, and nothing for a tree that predicts numbers. `missing_seen`
    says for each feature whether the fit met a missing value in it: only then has the tree learned a
    direction; otherwise a missing value takes the larger branch. If a tree has surrogates, they come before
    either.
    """

    tree: _core.Tree
    schema: Schema
    classes: tuple[npt.NDArray[Any], ...]
    unseen: Unseen
    missing_seen: tuple[bool, ...]

    # --- Nodes -------------------------------------------------------------------------------------------

    @cached_property
    def _plain(self) -> dict[str, list[Any]]:
        """The arrays as lists: a walk reads one entry at a time, which is slow with numpy."""
        names = (
            *("first_child", "n_branches", "feature", "threshold", "missing_branch"),
            *("n_node_samples", "weighted_n_node_samples", "value"),
        )
        return {name: getattr(self.tree, name).tolist() for name in names}

    def branches(self, node: int) -> range:
        """Number the branches of a node; a leaf has none."""
        return range(self._plain["n_branches"][node])

    def child(self, node: int, branch: int) -> int:
        """Return the node at the end of a branch."""
        first: int = self._plain["first_child"][node]
        return first + branch

    def walk(self) -> Iterator[Place]:
        """Visit every node before its children, and the children in order."""
        waiting = [Place(0, 0, -1, -1)]
        while waiting:
            place = waiting.pop()
            yield place
            node = place.node
            waiting += [
                Place(self.child(node, branch), place.depth + 1, node, branch)
                for branch in reversed(self.branches(node))
            ]

    def paths(self) -> Iterator[tuple[int, Path]]:
        """Visit every leaf in the order of `walk`, with what the tests before it ask of each feature."""
        waiting: list[tuple[int, Path]] = [(0, {})]
        while waiting:
            node, path = waiting.pop()
            branches = self.branches(node)
            if not branches:
                yield node, path
            for branch in reversed(branches):
                feature = self.feature(node)
                passing: Any = self.passing(node, branch)
                if feature in path:
                    passing = passing.also(path[feature])
                waiting.append((self.child(node, branch), {**path, feature: passing}))

    # --- Tests -------------------------------------------------------------------------------------------

    def feature(self, node: int) -> int:
        """Return the number of the column that a node tests; negative at leaves."""
        feature: int = self._plain["feature"][node]
        return feature

    def features_above(self, node: int) -> set[int]:
        """Return the columns that are tested on the way to a node."""
        parents: list[int] = self.tree.parent.tolist()
        features = set()
        while (node := parents[node]) >= 0:
            features.add(self.feature(node))
        return features

    def missing_branch(self, node: int) -> int:
        """Return the branch that missing values take."""
        branch: int = self._plain["missing_branch"][node]
        return branch

    @property
    def has_surrogates(self) -> bool:
        """Whether tests on other features stand in where a value is missing."""
        return len(self.tree.surrogate_begin) > 0

    def surrogates(self, node: int) -> list[StandIn]:
        """Return the tests that stand in for that of a node, in the order in which they are asked."""
        tree = self.tree
        found = []
        for s in range(*tree.surrogate_begin[node : node + 2].tolist()) if self.has_surrogates else ():
            feature = int(tree.surrogate_feature[s])
            passing: tuple[Passing, Passing]
            if self.schema.kinds[feature] == "categorical":
                branches = tree.surrogate_branches(s, len(self.schema.categories[feature] or ()))
                passing = Group(branches == 0, False, unseen=False), Group(branches == 1, False, unseen=False)
            else:
                threshold = float(tree.surrogate_threshold[s])
                low, high = Interval(None, threshold, False), Interval(threshold, None, False)
                passing = (low, high) if tree.surrogate_low_branch[s] == 0 else (high, low)
            found.append(StandIn(feature, passing, float(tree.surrogate_agreement[s])))
        return found

    def surrogate_words(self, node: int) -> list[str]:
        """Write what sends a row down the first branch where it lacks the feature of the node."""
        return [
            f"{self.condition_words(one.feature, one.passing[0])} ({words.percent(one.agreement)})"
            for one in self.surrogates(node)
        ]

    def unseen_branch(self, node: int) -> int:
        """Return the branch for categories that the fit has not seen."""
        if self.unseen != "majority" or not self._has_group(node):
            return self.missing_branch(node)
        weights = [self.weight(self.child(node, branch)) for branch in self.branches(node)]
        return weights.index(max(weights))

    def passing(self, node: int, branch: int) -> Passing:
        """Say which values of its feature a node sends down a branch."""
        missing = self.missing_branch(node) == branch
        if self._has_group(node):
            n_categories = len(self.schema.categories[self.feature(node)] or ())
            chosen = self.tree.branches_of_categories(node, n_categories) == branch
            return Group(chosen, missing, unseen=self.unseen_branch(node) == branch)
        threshold: float = self._plain["threshold"][node]
        return Interval(None, threshold, missing) if branch == 0 else Interval(threshold, None, missing)

    def _has_group(self, node: int) -> bool:
        return self.schema.kinds[self.feature(node)] == "categorical"

    def condition(self, feature: int, passing: Passing) -> Condition:
        """Name what passes."""
        return Condition.of(
            passing,
            feature=self.schema.names[feature],
            kind=self.schema.kinds[feature],
            known_categories=self.schema.categories[feature],
            words=self.condition_words(feature, passing),
        )

    def condition_words(self, feature: int, passing: Passing) -> str:
        """Write what passes."""
        return condition_words(
            passing,
            name=self.name_words[feature],
            known_categories=self.schema.categories[feature],
            tell_missing=self.missing_seen[feature],
            all_digits=feature in self._features_in_full,
            part=self.schema.part(feature),
        )

    @cached_property
    def name_words(self) -> list[str]:
        """The names of the columns, fit to print."""
        return [words.named(name) for name in self.schema.names]

    def branch_words(self, node: int, branch: int) -> str:
        """Write which values a node sends down a branch."""
        return self.condition_words(self.feature(node), self.passing(node, branch))

    def test_words(self, node: int) -> str:
        """Write the test of a node: what goes left or, with more than two branches, what is asked."""
        if len(self.branches(node)) > 2:
            return self.name_words[self.feature(node)]
        return self.branch_words(node, 0)

    def categories_by_branch(self, node: int) -> tuple[tuple[Category, ...], ...] | None:
        """Return the categories that each branch of a node takes; None where no categories are tested."""
        branches = self.branches(node)
        if not branches or self.schema.categories[self.feature(node)] is None:
            return None
        conditions = [self.condition(self.feature(node), self.passing(node, branch)) for branch in branches]
        return tuple(condition.categories or () for condition in conditions)

    @cached_property
    def _features_in_full(self) -> frozenset[int]:
        """The features with thresholds that look alike when they are written short."""
        inner = self.tree.feature >= 0
        features, thresholds = self.tree.feature[inner], self.tree.threshold[inner]
        order = np.lexsort((thresholds, features))
        features, thresholds = features[order], thresholds[order]
        lower, higher = thresholds[:-1], thresholds[1:]
        with np.errstate(invalid="ignore", over="ignore"):  # thresholds may be infinite, or nearly
            gap = higher - lower
        # Only neighbours that have the same short form need more digits; there are few, if any.
        close = (features[:-1] == features[1:]) & (gap > 0) & (gap <= words.NOISE * 4 * np.abs(higher))
        return frozenset(
            int(features[at])
            for at in np.flatnonzero(close)
            if words.number(float(lower[at])) == words.number(float(higher[at]))
        )

    # --- Answers -----------------------------------------------------------------------------------------

    @cached_property
    def labels(self) -> list[list[Any]]:
        """The classes of each output as plain values."""
        return [classes.tolist() for classes in self.classes]

    def shares(self, node: int) -> tuple[dict[Any, float], ...]:
        """Return the class shares of a node, a table per output; no table if the tree predicts numbers."""
        return tuple(
            # An output with fewer classes than another has its shares padded.
            dict(zip(labels, shares[: len(labels)], strict=True))
            for labels, shares in zip(self.labels, self._plain["value"][node], strict=False)
        )

    def answers(self, node: int) -> tuple[Any, ...]:
        """Return what a node says, an answer per output: the class with the largest share, or the mean."""
        if not self.classes:
            return tuple(mean for (mean,) in self._plain["value"][node])
        return tuple(
            labels[best] for labels, best in zip(self.labels, self._largest_shares[node], strict=True)
        )

    def answer_shares(self, node: int) -> tuple[float, ...]:
        """Return the share of each answer in its node; nothing if the tree predicts numbers."""
        if not self.classes:
            return ()
        shares = self._plain["value"][node]
        return tuple(shares[output][best] for output, best in enumerate(self._largest_shares[node]))

    @cached_property
    def _largest_shares(self) -> list[list[int]]:
        """The class with the largest share per node and output; the first of equals, as predict has it."""
        best: list[list[int]] = np.argmax(self.tree.value, axis=2).tolist()
        return best

    def prediction(self, node: int) -> Any:
        """Return what a node says; a tuple if there are several outputs."""
        answers = self.answers(node)
        return answers[0] if len(answers) == 1 else answers

    def rows(self, node: int) -> int:
        """Return the number of training rows in a node."""
        rows: int = self._plain["n_node_samples"][node]
        return rows

    def weight(self, node: int) -> float:
        """Return the weight of the training rows in a node."""
        weight: float = self._plain["weighted_n_node_samples"][node]
        return weight

    def answer_words(self, node: int) -> str:
        """Write what a node says."""
        if self.classes:
            texts = [self._label_words[k][best] for k, best in enumerate(self._largest_shares[node])]
        else:
            texts = [words.brief_number(mean) for mean in self.answers(node)]
        return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"

    @cached_property
    def _label_words(self) -> list[list[str]]:
        return [[words.named(label) for label in labels] for labels in self.labels]

    def row_words(self, node: int) -> str:
        """Write how many training rows a node has, and their weight if that is another number."""
        rows = words.count(self.rows(node), "row")
        return f"{rows} of weight {words.brief_number(self.weight(node))}" if self._is_weighted else rows

    @cached_property
    def _is_weighted(self) -> bool:
        return not np.array_equal(self.tree.weighted_n_node_samples, self.tree.n_node_samples)

    def share_words(self, node: int) -> str:
        """Write the class shares of a node, or its mean."""
        if not self.classes:
            return f"mean {self.answer_words(node)}"
        per_output = [
            words.share_words(labels, shares)
            for labels, shares in zip(self._label_words, self._plain["value"][node], strict=True)
        ]
        if len(per_output) == 1:
            return per_output[0]
        return "; ".join(f"output {k}: {text}" for k, text in enumerate(per_output))


def readings_of(model: Any) -> list[TreeReading]:
    """Return the trees of a fitted model with their names; nothing if it is not made of our trees."""
    if hasattr(model, "_readings"):
        readings: list[TreeReading] = model._readings()
        return readings
    if hasattr(model, "_reading"):
        return [model._reading(tree) for tree in model._model.trees]
    return []


_LIBRARIES = {"sklearn": "scikit-learn", "lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}


def way_to_members(model: Any) -> str:
    """Say what to use instead: the members of a stack or a blend, or an import of another library's model."""
    library = _LIBRARIES.get(type(model).__module__.partition(".")[0])
    if library is not None:
        return f" It is a model of {library}: hb.from_model converts it, if it is made of trees."
    if not hasattr(model, "first_level"):
        return ""
    names = [name for name, member in model.first_level().items() if readings_of(member)]
    if not names:
        return " None of its members is made of trees."
    more = f" ({', '.join(map(repr, names))})" if len(names) > 1 else ""
    return f" Ask a member: named_estimators_[{names[0]!r}]{more}."
