"""From a fitted estimator to a `PortableModel`; what cannot be said in one is refused by name.

Members of a bag or of AdaBoost that were fitted one by one have columns, categories and classes of their own:
here they are put into those of the whole model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.dates import PART_NAMES, PartName
from hornbeam.data.wording import shown
from hornbeam.errors import ExportError
from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.adaboost.members import TreeMembers
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.forest.bagging import BaggingClassifier, BaggingRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.exports.columns import InputColumn, columns_of
from hornbeam.exports.portable import Output, PortableModel, PortableTree, StandIn
from hornbeam.inside.nodes import way_to_members
from hornbeam.model import Ensemble
from hornbeam.pseudo_votes import PseudoVotes
from hornbeam.recipes.adaboost import votes_of
from hornbeam.recipes.boosting.losses import OwnLoss

__all__ = ["portable"]

FloatArray = npt.NDArray[np.float64]

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
_FORESTS = (
    *(RandomForestClassifier, RandomForestRegressor),
    *(ExtraTreesClassifier, ExtraTreesRegressor),
)


@dataclass(frozen=True, eq=False)
class _Member:
    """A tree, the columns it was grown on, and which columns of the whole model these are."""

    tree: _core.Tree
    ensemble: Ensemble
    features: Sequence[int]


def portable(model: Any) -> PortableModel:
    """Read a fitted estimator made of our trees; TypeError or ExportError for what cannot be read."""
    kind = type(model)
    if kind in _TREES + _FORESTS:
        check_is_fitted(model)
        pseudo_votes = model._pseudo_votes() if kind in _FORESTS else None
        return _mean_of_trees(model, _members_of(model._model), _labels(model), _is_hard(model), pseudo_votes)
    if kind in (BaggingClassifier, BaggingRegressor):
        check_is_fitted(model)
        labels = (model.classes_,) if kind is BaggingClassifier else ()
        return _mean_of_trees(model, _members_of_bag(model), labels, _is_hard(model))
    if kind in (AdaBoostClassifier, AdaBoostRegressor):
        check_is_fitted(model)
        return _adaboost(model)
    if kind in (GradientBoostingClassifier, GradientBoostingRegressor):
        check_is_fitted(model)
        return _boosting(model)
    raise TypeError(
        "export takes models made of hornbeam's trees: single trees, forests, bagging, AdaBoost and gradient "
        f"boosting of them; got {kind.__name__}.{way_to_members(model)}"
    )


# ------------------------------------------------------------------------------------------------------------
# Kinds of models


def _labels(model: Any) -> tuple[npt.NDArray[Any], ...]:
    return tuple(model._class_labels())


def _is_hard(model: Any) -> bool:
    return getattr(model, "voting", "soft") == "hard"


def _mean_of_trees(
    model: Any,
    members: Sequence[_Member],
    labels: tuple[npt.NDArray[Any], ...],
    hard: bool,
    pseudo_votes: PseudoVotes | None = None,
) -> PortableModel:
    """Read a single tree, a forest or a bag: the mean of what the trees say."""
    outputs = _outputs(labels, members[0].tree.n_outputs)
    columns, members = _columns_of_all(model, members)
    ensemble = members[0].ensemble
    own_labels = _labels_of_members(model, members, labels)
    trees = [
        _tree(member, columns, _values(member.tree, outputs, own, hard))
        for member, own in zip(members, own_labels, strict=True)
    ]
    divisor = float(len(trees))
    if pseudo_votes is not None:
        divisor += pseudo_votes.number
        trees.append(_leaf_of(pseudo_votes, outputs))
    return PortableModel(
        estimator=type(model).__name__,
        columns=columns,
        trees=tuple(trees),
        start=(0.0,) * outputs[-1].end,
        divisor=divisor,
        median_weights=None,
        link="identity",
        scale=1.0,
        outputs=outputs,
        refuses_missing=not ensemble.missing_allowed,
        refuses_unseen=ensemble.unseen == "error",
        has_pseudo_votes=pseudo_votes is not None,
    )


def _outputs(labels: tuple[npt.NDArray[Any], ...], n_outputs: int) -> tuple[Output, ...]:
    if not labels:
        return tuple(Output(k, k + 1, None) for k in range(n_outputs))
    ends = np.cumsum([len(classes) for classes in labels]).tolist()
    return tuple(
        Output(end - len(classes), end, tuple(classes.tolist()))
        for classes, end in zip(labels, ends, strict=True)
    )


def _values(tree: _core.Tree, outputs: Sequence[Output], own: Sequence[Any], hard: bool) -> FloatArray:
    """Lay the values of all outputs of a tree side by side; votes are 1 for the largest, the first of equals.

    `own` says, per output, which of the labels the tree itself knows; None if it knows all.
    """
    parts = []
    for k, output in enumerate(outputs):
        width = output.end - output.begin
        places = np.arange(width) if own[k] is None else own[k]
        known = tree.value[:, k, : len(places)]
        if hard:
            known = (np.arange(len(places)) == np.argmax(known, axis=1)[:, np.newaxis]).astype(np.float64)
        part = np.zeros((tree.node_count, width))
        part[:, places] = known
        parts.append(part)
    return np.concatenate(parts, axis=1)


def _adaboost(model: Any) -> PortableModel:
    members = _members_of_adaboost(model)
    columns, placed = _columns_of_all(model, members)
    ensemble = members[0].ensemble
    weights = votes_of(model.estimator_weights_)
    of_classes = isinstance(model, AdaBoostClassifier)
    labels = (model.classes_,) if of_classes else ()
    outputs = _outputs(labels, 1)
    own_labels = _labels_of_members(model, members, labels)
    trees = []
    for member, own, weight in zip(placed, own_labels, weights.tolist(), strict=True):
        values = _values(member.tree, outputs, own, of_classes)
        trees.append(_tree(member, columns, weight * values if of_classes else values))
    is_certain = bool(np.isinf(model.estimator_weights_[-1]))
    return PortableModel(
        estimator=type(model).__name__,
        columns=columns,
        trees=tuple(trees),
        start=(0.0,) * outputs[-1].end,
        divisor=1.0,
        median_weights=None if of_classes else tuple(weights.tolist()),
        link="softmax" if of_classes and not is_certain else "identity",
        scale=2.0 if of_classes and not is_certain else 1.0,
        outputs=outputs,
        refuses_missing=not ensemble.missing_allowed,
        refuses_unseen=ensemble.unseen == "error",
    )


def _boosting(model: Any) -> PortableModel:
    loss = model._loss
    if isinstance(loss, OwnLoss):
        raise ExportError(
            f"{type(model).__name__} was fitted with a loss of your own ({type(model.loss).__name__}); an "
            "export cannot know what its scores stand for. Use one of hornbeam's losses."
        )
    ensemble = model._model
    columns = columns_of(ensemble.schema)
    turns = [0] * len(ensemble.trees) if ensemble.adds_to is None else ensemble.adds_to.tolist()
    n_scores = loss.n_scores
    only_class = loss.name == "only_class"
    trees = [
        _tree(
            member,
            columns,
            np.zeros_like(member.tree.value[:, 0]) if only_class else member.tree.value[:, 0],
            turn,
        )
        for member, turn in zip(_members_of(ensemble), turns, strict=True)
    ]
    labels = (model.classes_,) if isinstance(model, GradientBoostingClassifier) else ()
    outputs = _outputs(labels, 1)
    if loss.link == "logistic":
        outputs = (Output(0, 1, outputs[0].labels),)
    return PortableModel(
        estimator=type(model).__name__,
        columns=columns,
        trees=tuple(trees),
        start=(1.0,) if only_class else tuple(np.broadcast_to(model._baseline, n_scores).tolist()),
        divisor=1.0,
        median_weights=None,
        link=loss.link,
        scale=loss.factor,
        outputs=outputs,
        refuses_missing=not ensemble.missing_allowed,
        refuses_unseen=ensemble.unseen == "error",
    )


# ------------------------------------------------------------------------------------------------------------
# Members


def _members_of(ensemble: Ensemble) -> list[_Member]:
    features = range(len(ensemble.schema.names))
    return [_Member(tree, ensemble, features) for tree in ensemble.trees]


def _members_of_bag(bag: Any) -> list[_Member]:
    if bag._grown is not None:
        return _members_of(bag._grown._model)
    return [
        _member_of(bag, member, bag._features_of(number).tolist())
        for number, member in enumerate(bag._fitted_members)
    ]


def _members_of_adaboost(model: Any) -> list[_Member]:
    if isinstance(model._members, TreeMembers):
        return _members_of(model._members.model)
    return [_member_of(model, member, range(model.n_features_in_)) for member in model._members.fitted]


def _member_of(model: Any, member: Any, features: Sequence[int]) -> _Member:
    if type(member) not in _TREES:
        raise ExportError(
            f"This {type(model).__name__} is made of {type(member).__name__}; an export can hold members "
            "that are single decision trees of hornbeam."
        )
    return _Member(member._model.trees[0], member._model, features)


def _labels_of_members(
    model: Any, members: Sequence[_Member], labels: tuple[npt.NDArray[Any], ...]
) -> list[list[Any]]:
    """Say of each member, per output, which of the labels of the model it knows; None if all."""
    n_outputs = max(len(labels), members[0].tree.n_outputs)
    everything: list[Any] = [None] * n_outputs
    fitted = getattr(model, "_fitted_members", ()) or getattr(getattr(model, "_members", None), "fitted", ())
    if not labels or not fitted:
        return [everything] * len(members)
    return [[np.searchsorted(labels[0], one.classes_)] for one in fitted]


def _columns_of_all(
    model: Any, members: Sequence[_Member]
) -> tuple[tuple[InputColumn, ...], Sequence[_Member]]:
    """Put the columns of all members together; categories that any of them knows are known."""
    if all(member.ensemble is members[0].ensemble for member in members):
        return columns_of(members[0].ensemble.schema), members
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(model.n_features_in_)])
    # By the column that is given and, of a date, the part of it: members may differ in what a date is worth.
    found: dict[tuple[int, PartName | None], InputColumn] = {}
    keys = []
    for member in members:
        schema, own = member.ensemble.schema, columns_of(member.ensemble.schema)
        keys.append([(member.features[g], one.part) for g, one in zip(schema.sources, own, strict=True)])
        for key, column in zip(keys[-1], own, strict=True):
            name = str(names[key[0]])
            made_of = None if column.made_of is None else name
            given = replace(column, name=name, made_of=made_of)
            found[key] = _merged(found.get(key), given)
    dates = {place for place, part in found if part is not None}
    if any((place, None) in found for place in dates):
        raise ExportError(
            f"The members take column {shown(str(names[min(dates)]))} for different things: one "
            "for a date and one not."
        )
    for place, name in enumerate(names):
        if place not in dates:
            found.setdefault((place, None), InputColumn(str(name), "numeric"))
    order = sorted(found, key=lambda key: (key[0], -1 if key[1] is None else PART_NAMES.index(key[1])))
    taken = {str(name) for name in names}
    columns: list[InputColumn] = []
    for key in order:
        column = found[key]
        is_date_itself = column.part in ("date", "time") and column.name not in {one.name for one in columns}
        if column.part is not None and not is_date_itself:
            column = replace(column, name=_unlike(f"{column.name}.{column.part}", taken))
        columns.append(column)
    places = {key: place for place, key in enumerate(order)}
    placed = [
        replace(member, features=[places[key] for key in own])
        for member, own in zip(members, keys, strict=True)
    ]
    return tuple(columns), placed


def _unlike(name: str, taken: set[str]) -> str:
    """Make a name that no other column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _merged(one: InputColumn | None, other: InputColumn) -> InputColumn:
    if one is None or one == other:
        return other
    if one.kind != other.kind or one.kind != "categorical":
        raise ExportError(
            f"The members take column {shown(one.name)} for different things: {one.kind} and {other.kind}."
        )
    together: set[Any] = {*(one.categories or ()), *(other.categories or ())}
    return InputColumn(one.name, "categorical", tuple(sorted(together)))


# ------------------------------------------------------------------------------------------------------------
# Trees


def _tree(
    member: _Member, columns: Sequence[InputColumn], values: FloatArray, first_score: int = 0
) -> PortableTree:
    tree, ensemble = member.tree, member.ensemble
    if tree.gaps != "branch":
        raise ExportError(
            f"missing={tree.gaps!r} sends a row without a value down no single branch, which an export "
            "cannot do. Fit the model with missing='learn'."
        )
    tables = np.flatnonzero((tree.n_branches > 0) & (tree.category_begin >= 0)).tolist()
    own_columns = columns_of(ensemble.schema)
    places = list(member.features)
    branch_of = {}
    for node in tables:
        feature = int(tree.feature[node])
        own = own_columns[feature].categories or ()
        branch_of[node] = _spread(tree.branches_of_categories(node, len(own)), own, columns[places[feature]])
    unseen = {node: _largest_branch(tree, node) for node in tables} if ensemble.unseen == "majority" else {}
    return PortableTree(
        first_child=tree.first_child.tolist(),
        n_branches=tree.n_branches.tolist(),
        column=[places[feature] if feature >= 0 else feature for feature in tree.feature.tolist()],
        threshold=tree.threshold.tolist(),
        missing_branch=tree.missing_branch.tolist(),
        branch_of=branch_of,
        unseen_branch=unseen,
        stand_ins=_stand_ins(tree, own_columns, columns, places),
        values=np.ascontiguousarray(values, dtype=np.float64),
        first_score=first_score,
    )


def _leaf_of(pseudo_votes: PseudoVotes, outputs: Sequence[Output]) -> PortableTree:
    """Make a tree without a test that says what votes are counted beside those of the trees."""
    shape = (len(outputs), max(output.end - output.begin for output in outputs))
    per_class = np.broadcast_to(pseudo_votes.per_class, shape)
    parts = [per_class[k, : output.end - output.begin] for k, output in enumerate(outputs)]
    return PortableTree(
        first_child=[-1],
        n_branches=[0],
        column=[-1],
        threshold=[0.0],
        missing_branch=[0],
        branch_of={},
        unseen_branch={},
        stand_ins={},
        values=np.concatenate(parts)[np.newaxis],
        first_score=0,
    )


def _spread(branches: Any, own: Sequence[Any], column: InputColumn) -> tuple[int | None, ...]:
    """Number branches by the categories of the whole model; those that the tree does not know have none."""
    by_category = dict(zip(own, branches.tolist(), strict=True))
    return tuple(by_category.get(category) for category in column.categories or ())


def _largest_branch(tree: _core.Tree, node: int) -> int:
    first = int(tree.first_child[node])
    return int(np.argmax(tree.weighted_n_node_samples[first : first + int(tree.n_branches[node])]))


def _stand_ins(
    tree: _core.Tree, own: Sequence[InputColumn], columns: Sequence[InputColumn], places: Sequence[int]
) -> dict[int, tuple[StandIn, ...]]:
    if not len(tree.surrogate_begin):
        return {}
    found = {}
    for node, (begin, end) in enumerate(pairwise(tree.surrogate_begin.tolist())):
        if begin == end:
            continue
        several = []
        for s in range(begin, end):
            feature = int(tree.surrogate_feature[s])
            categories = own[feature].categories or ()
            is_group = own[feature].kind == "categorical"
            branches = (
                _spread(tree.surrogate_branches(s, len(categories)), categories, columns[places[feature]])
                if is_group
                else None
            )
            several.append(
                StandIn(
                    column=places[feature],
                    threshold=None if is_group else float(tree.surrogate_threshold[s]),
                    low_branch=int(tree.surrogate_low_branch[s]),
                    branch_of=branches,
                )
            )
        found[node] = tuple(several)
    return found
