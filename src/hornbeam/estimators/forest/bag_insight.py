"""What the members of a bag say about the columns: importances, tests, and contributions."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.estimators.explained import mean_of_trees
from hornbeam.estimators.together import GrownApart, put_together
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.shapley import TreeSum

__all__ = ["mean_importances", "on_one_table", "share_of_tests", "sum_of_member"]

FloatArray = npt.NDArray[np.float64]


def mean_importances(bag: Any) -> FloatArray:
    """Return the mean of the members' feature importances."""
    total = np.zeros(bag.n_features_in_)
    for number, member in enumerate(bag.estimators_):
        if not hasattr(type(member), "feature_importances_"):
            raise AttributeError(f"member {number}, a {type(member).__name__}, has no feature_importances_")
        own = member.feature_importances_  # which says why, if it has none any more
        # Members on one table know all columns; a column that was drawn twice has two entries.
        features = bag._features_of(number) if bag._grown is None else range(bag.n_features_in_)
        np.add.at(total, np.asarray(features), own)
    return total / total.sum() if total.sum() > 0 else total


def share_of_tests(bag: Any) -> FloatArray:
    """Return the share of each column in all tests of the members."""
    bag._reading_of(0)
    total = np.zeros(bag.n_features_in_)
    for number, reading in enumerate(bag._readings()):
        tests = np.array(reading.schema.sources)[reading.tree.feature[reading.tree.feature >= 0]]
        features = tests if bag._grown is not None else bag._features_of(number)[tests]
        np.add.at(total, features, 1.0)
    return total / total.sum() if total.sum() > 0 else total


def sum_of_member(bag: Any, number: int, *, votes: bool) -> TreeSum:
    """Return what a member that was fitted by itself adds to the mean."""
    member: Any = bag._fitted_members[number]
    if not isinstance(member, DecisionTreeClassifier | DecisionTreeRegressor):
        raise ValueError(
            f"contributions take bags of {bag._tree.__name__}; member {number} is a {type(member).__name__}."
        )
    features = bag._features_of(number) if bag._features.n_wanted else None
    (own,) = mean_of_trees(member._model, member._class_labels(), votes=votes).sums
    labels = bag._class_labels()
    onto = None
    if isinstance(member, DecisionTreeClassifier) and len(member.classes_) < len(
        labels[0]
    ):  # a class that the sample lacks has probability 0
        onto = (member.classes_[:, np.newaxis] == labels[0]).astype(np.float64)
    return replace(own, weights=own.weights / bag._n_members, columns=features, picked=features, onto=onto)


def on_one_table(bag: Any) -> Any:
    """Return a bag whose members were fitted one by one as if its trees had grown on one table."""
    if not bag._readings():
        return bag
    labels = bag._class_labels()
    apart = []
    for number, member in enumerate(bag._fitted_members):
        known = np.searchsorted(labels[0], member.classes_) if labels else None
        n_classes = len(labels[0]) if labels else 1
        apart.append(GrownApart(member._model, bag._features_of(number), known, n_classes))
    names_given = hasattr(bag, "feature_names_in_")
    grown = copy.copy(bag._fitted_members[0])
    grown._model = put_together(apart, bag._column_names(), names_given=names_given)
    grown._missing_seen = _missing_seen(bag, len(grown._model.schema.names))
    grown.n_features_in_ = bag.n_features_in_
    if labels:
        grown.classes_, grown.n_classes_ = labels[0], len(labels[0])
    whole = copy.copy(bag)
    whole._grown = grown
    return whole


def _missing_seen(bag: Any, n_columns: int) -> tuple[bool, ...]:
    seen = np.zeros(n_columns, dtype=np.bool_)
    for number, member in enumerate(bag._fitted_members):
        own = np.array(member._missing_seen, dtype=np.bool_)
        if len(own) == n_columns:  # a date has more columns than one
            seen |= own
        else:
            np.logical_or.at(seen, bag._features_of(number), own)
    return tuple(seen.tolist())
