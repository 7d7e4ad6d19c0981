"""How a forest is grown: what its members share, what a warm start continues, and a member as a tree."""

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.base import Training
from hornbeam.estimators.forest.intervals import kept
from hornbeam.estimators.growth import rows_with_weight, warn_of_a_lone_leaf
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.params import options_of
from hornbeam.recipes.bag import MemberFeatures, TreeBag
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.threads import resolve_n_jobs

__all__ = ["as_tree", "grow_forest", "joint_classes", "with_options_of"]

DecisionTree = TypeVar("DecisionTree", DecisionTreeClassifier, DecisionTreeRegressor)


def grow_forest(
    forest: Any,
    training: Training,
    target: ClassTarget | RegressionTarget,
    weights: npt.NDArray[np.float64] | None,
    *,
    criterion: Any,
    groups: Any,
    strata: npt.NDArray[np.int32] | None = None,
    balance_classes: bool = False,
) -> None:
    """Grow the members of a forest and store them, with the out-of-bag results."""
    forest._check_available()
    n_threads = resolve_n_jobs(forest.n_jobs)
    members = forest._members_to_add(training.table.n_rows)
    key = forest._key_of_fit()
    means = forest._category_means(training, target, weights, key=key)
    table = training.table if means is None else means.table
    encoded = forest._encoded(table, n_threads)
    settings = forest._settings(
        encoded, target, weights, criterion=criterion, random_splits=forest._random_splits, means=means
    )
    plan = forest._make_plan(
        rows_with_weight(encoded.n_rows, weights),
        encoded.n_rows,
        groups=forest._read_groups(groups, training.n_rows_given, training.rows),
        strata=strata,
        key=key,
    )
    per_tree = forest.feature_sampling == "tree"
    bag = TreeBag(
        encoded=encoded,
        target=target,
        weights=weights,
        settings=replace(settings, max_features=0) if per_tree else settings,
        plan=plan,
        keys_of=lambda some: _core.member_keys(plan.key, some.start, len(some)),
        features=MemberFeatures(settings.max_features if per_tree else 0),
        min_weight_fraction=forest.min_weight_fraction_leaf,
        balance_classes=balance_classes,
        ccp_alpha=forest.ccp_alpha,
        hard_votes=forest._votes_are_hard(),
        n_threads=n_threads,
    )
    out_of_bag = OutOfBag(target) if forest._wants_out_of_bag() else None
    former = _former_trees(forest, training.table.schema, target)
    trees = tuple(forest._fill(forest._at_work(bag), members, former, out_of_bag))
    warn_of_a_lone_leaf(trees[0], encoded)
    facts = {} if out_of_bag is None else forest._out_of_bag_facts(training, target, out_of_bag)
    n_given, rows = training.n_rows_given, training.rows
    facts |= kept(forest.keep, bag, trees, out_of_bag, n_given=n_given, rows=rows)
    forest._remember_growth(training, target, settings, trees, means)
    forest._remember_draws(plan, n_given, rows, facts)


def _former_trees(
    forest: Any, schema: Schema, target: ClassTarget | RegressionTarget
) -> tuple[_core.Tree, ...]:
    """Return the trees that a warm start continues."""
    if not forest._continues():
        return ()
    labels = tuple(target.classes) if isinstance(target, ClassTarget) else ()
    same_classes = len(labels) == len(forest._class_labels()) and all(
        np.array_equal(one, other) for one, other in zip(labels, forest._class_labels(), strict=True)
    )
    if schema != forest._model.schema or target.n_outputs != forest.n_outputs_ or not same_classes:
        raise ValueError(
            "warm_start continues the previous fit, but X or y now has other columns or classes. "
            "Give the same, or set warm_start=False."
        )
    trees: tuple[_core.Tree, ...] = forest._model.trees
    return trees


def with_options_of(forest: Any, member: DecisionTree) -> DecisionTree:
    """Give a decision tree the options that a forest grows its members with."""
    shared = options_of(type(forest)).keys() & options_of(type(member)).keys() - {"random_state"}
    member.set_params(**{name: getattr(forest, name) for name in shared})
    if getattr(member, "class_weight", None) == "balanced_subsample":  # a member sees nothing but its sample
        member.set_params(class_weight="balanced")
    member.set_params(splitter="random" if forest._random_splits else "best")
    return member


def as_tree(forest: Any, member: DecisionTree, tree: _core.Tree) -> DecisionTree:
    """Give an unfitted decision tree the parameters and the tree of a member."""
    with_options_of(forest, member)
    member._model = replace(forest._model, trees=(tree,))
    member._pruning = None
    for name in ("n_features_in_", "feature_names_in_", "n_outputs_", "max_features_", "_missing_seen"):
        if hasattr(forest, name):
            setattr(member, name, getattr(forest, name))
    return member


def joint_classes(target: ClassTarget) -> npt.NDArray[np.int32]:
    """Number the combinations of classes that occur, over all outputs."""
    _, numbers = np.unique(target.codes, axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int32)
