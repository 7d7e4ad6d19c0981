"""How AdaBoost fits its members: our stumps and trees on one shared encoding, or any estimator.

A learner fits one member after the other to changing weights (see `hornbeam.recipes.adaboost`) and collects
them in `Members` at the end. If several learners could fit an estimator, they give the same members; they
only differ in how much is done once for all rounds.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from hornbeam import _core
from hornbeam.data.class_weight import class_weights
from hornbeam.data.encode import Encoded
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.adaboost.members import Members, OtherMembers, TreeMembers, one_answer_per_row
from hornbeam.estimators.growth import criterion_by_name, warn_of_a_lone_leaf
from hornbeam.estimators.tree import DecisionTreeClassifier
from hornbeam.model import EncodedRows, Ensemble
from hornbeam.params import resolve_random_key
from hornbeam.recipes.category_means import CategoryMeans
from hornbeam.recipes.members import seeds_of, with_seed
from hornbeam.recipes.single import grow_tree, warn_of_weightless_rows

__all__ = [
    "Learner",
    "OtherLearner",
    "StumpLearner",
    "TreeGround",
    "TreeLearner",
    "is_plain_stump",
    "refuse_without_weights",
]

FloatArray = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]


class Learner(Protocol):
    """Fits members, and collects them."""

    def fit(self, weights: FloatArray, member: int) -> tuple[Any, AnyArray]:
        """Fit a member; return for each row whether it is wrong or, for numbers, what it predicts."""

    def gather(self, members: list[Any]) -> Members:
        """Collect members that this learner has fitted."""


# ------------------------------------------------------------------------------------------------------------
# Our trees


@dataclass(frozen=True, eq=False)
class TreeGround:
    """What trees grow on: a table, encoded once for all rounds. `tree` has their parameters, unfitted."""

    tree: Any
    encoded: Encoded
    target: ClassTarget | RegressionTarget
    missing_seen: tuple[bool, ...]
    means: CategoryMeans | None = None

    def leaves(self, tree: _core.Tree, n_threads: int) -> npt.NDArray[np.int32]:
        """Find the leaf of each row in a tree that was grown here."""
        rows = EncodedRows(self.encoded.codes, self.encoded.all_rows())
        return Ensemble((tree,), self.encoded.schema).leaves(rows, n_threads=n_threads)[:, 0]

    def members(self, trees: list[_core.Tree], key: int) -> TreeMembers:
        """Collect trees that were grown here, in the user's columns; draws came from `key`."""
        means = self.means
        model = Ensemble(
            trees=tuple(trees) if means is None else tuple(means.restored(tree) for tree in trees),
            schema=self.encoded.schema if means is None else means.given,
            unseen=self.tree.unseen,
            missing_allowed=self.tree.missing != "error",
        )
        classes = self.target.classes[0] if isinstance(self.target, ClassTarget) else None
        seeds = tuple(seeds_of(key, range(len(trees))).tolist())
        return TreeMembers(model, self.tree, classes, self.missing_seen, seeds)


# The options that select the stump of least weighted error. The search handles these options with the values
# named here; every other option, including future ones, must be at its default, otherwise a tree is grown.
_OF_A_STUMP: dict[str, tuple[Any, ...]] = {
    "criterion": ("accuracy", "misclassification"),
    "max_depth": (1,),
    "missing": ("learn", "error"),
    "categorical_split": ("auto", "subset"),
}
# Further options of the tree that the search may ignore: AdaBoost or the reader of the table handles them, or
# they refine something that the tree does not do.
_DEALT_WITH = frozenset(
    (
        *("unseen", "max_bins", "categorical_features", "random_state", "n_jobs"),
        *("max_surrogates", "merge_level", "prune_select", "prune_cost", "prune_confidence"),
        *("cv", "validation_fraction"),
    )
)


def is_plain_stump(tree: Any) -> bool:
    """Whether a tree is the stump of least weighted error, which has its own search."""
    if not isinstance(tree, DecisionTreeClassifier):
        return False
    usual = DecisionTreeClassifier().get_params(deep=False)
    return all(
        name in _DEALT_WITH or any(_same(given, value) for value in _OF_A_STUMP.get(name, (usual[name],)))
        for name, given in tree.get_params(deep=False).items()
    )


def _same(given: Any, value: Any) -> bool:
    return type(given) is type(value) and bool(given == value)


@dataclass(frozen=True, eq=False)
class StumpLearner:
    """The stump of least weighted error; the columns are sorted once for all rounds."""

    ground: TreeGround
    search: _core.StumpSearch
    n_threads: int

    def fit(self, weights: FloatArray, member: int) -> tuple[_core.Tree, AnyArray]:
        """Find the best stump; return for each row whether it is wrong."""
        tree, wrong, n_weightless = self.search.best(weights, self.n_threads)
        if member == 0:
            warn_of_weightless_rows(n_weightless)
        return tree, wrong.view(np.bool_)

    def gather(self, members: list[_core.Tree]) -> Members:
        """Collect stumps; nothing is drawn for them."""
        warn_of_a_lone_leaf(members[0], self.ground.encoded)
        return self.ground.members(members, key=0)


@dataclass(frozen=True, eq=False)
class TreeLearner:
    """A decision tree of ours with any parameters."""

    ground: TreeGround
    key: int
    n_threads: int

    def fit(self, weights: FloatArray, member: int) -> tuple[_core.Tree, AnyArray]:
        """Grow a tree; return for each row whether it is wrong or, for numbers, what it predicts."""
        tree = self._grow(weights, member)
        target = self.ground.target
        leaves = self.ground.leaves(tree, self.n_threads)
        if isinstance(target, RegressionTarget):
            return tree, tree.value[:, 0, 0][leaves]
        answers = np.argmax(tree.value[:, 0, :], axis=1)[leaves]
        return tree, answers != target.codes[:, 0]

    def _grow(self, weights: FloatArray, member: int) -> _core.Tree:
        options, encoded, target = self.ground.tree, self.ground.encoded, self.ground.target
        if isinstance(target, ClassTarget):
            factors = class_weights(options.class_weight, target, weights)
            weights = weights if factors is None else weights * factors
        rows = np.flatnonzero(weights).astype(np.uint32)
        random_splits = options.splitter == "random"
        settings = options._settings(
            encoded,
            target,
            weights,
            criterion=criterion_by_name(options.criterion),
            random_splits=random_splits,
            rows=rows,
            means=self.ground.means,
        )
        is_random = random_splits or settings.max_features < encoded.n_features
        tree = grow_tree(
            encoded,
            target,
            weights,
            settings,
            rows=rows,
            key=resolve_random_key(_seed_of(self.key, member)) if is_random else 0,
            n_threads=self.n_threads,
            warn_of_weightless=member == 0,
        )
        return _core.prune_cost_complexity(tree, options.ccp_alpha) if options.ccp_alpha > 0 else tree

    def gather(self, members: list[_core.Tree]) -> Members:
        """Collect trees."""
        warn_of_a_lone_leaf(members[0], self.ground.encoded)
        return self.ground.members(members, self.key)


# ------------------------------------------------------------------------------------------------------------
# Any estimator


@dataclass(frozen=True, eq=False)
class OtherLearner:
    """An estimator of any kind; with `resample` the weights say how often each row is given to it."""

    estimator: Any
    X: Any
    y: AnyArray
    feature_names: tuple[str, ...]
    names_given: bool
    predicts_numbers: bool
    resample: bool
    key: int

    def fit(self, weights: FloatArray, member: int) -> tuple[Any, AnyArray]:
        """Fit a clone; return for each row whether it is wrong or, for numbers, what it predicts."""
        fitted = with_seed(clone(self.estimator), _seed_of(self.key, member))
        if self.resample:
            rows = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
            fitted.fit(_safe_indexing(self.X, rows), self.y[rows])
        else:
            fitted.fit(self.X, self.y, sample_weight=weights)
        answers = one_answer_per_row(fitted, self.X, len(self.y))
        return fitted, answers if self.predicts_numbers else answers != self.y

    def gather(self, members: list[Any]) -> Members:
        """Collect fitted estimators."""
        return OtherMembers(tuple(members), self.feature_names, self.names_given)


def _seed_of(key: int, member: int) -> int:
    return int(seeds_of(key, range(member, member + 1))[0])


def refuse_without_weights(estimator: Any, name: str) -> None:
    """Raise if an estimator cannot be fitted to weighted rows."""
    if not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError(
            f"{name}: the fit of {type(estimator).__name__} doesn't support sample_weight. Give an estimator "
            "that takes it, or set resample=True: members are then fitted to rows drawn by the weights."
        )
