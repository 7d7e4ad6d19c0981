"""Trees as other libraries have them, and models of ours from them.

A `ForeignTree` has a left and a right child per node, in any order. Our nodes are numbered level by level,
with the children of a node side by side; `arranged` gives the order. `boosting_model` makes a fitted gradient
boosting of trees that add up, `grown_model` a tree or a forest of trees that are averaged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Kind, Schema, Unseen
from hornbeam.errors import ImportedModelError
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.boosting.settings import plan_boosting
from hornbeam.model import Ensemble, tree_from_arrays
from hornbeam.recipes.boosting.losses import named_loss

__all__ = ["ForeignTree", "boosting_model", "grown_model", "plain_schema", "tree_of"]

AnyArray = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class ForeignTree:
    """Arrays over nodes, the root first; `left` is negative at leaves.

    Values up to the threshold go left, missing ones where `missing_left` says. `goes_left` has, for a test on
    categories, which positions go left. `value` is nodes x outputs x values.
    """

    left: AnyArray
    right: AnyArray
    feature: AnyArray
    threshold: AnyArray
    missing_left: AnyArray
    value: AnyArray
    rows: AnyArray
    weight: AnyArray
    impurity: AnyArray | None = None
    gain: AnyArray | None = None
    goes_left: Mapping[int, AnyArray] = field(default_factory=dict)


def plain_schema(names: Sequence[str], *, names_given: bool) -> Schema:
    """Describe columns of numbers."""
    kinds = tuple[Kind, ...]("numeric" for _ in names)
    return Schema(tuple(names), names_given, kinds, (None,) * len(names))


def arranged(left: AnyArray, right: AnyArray) -> AnyArray:
    """Return the nodes level by level, the children of a node side by side."""
    order, level = [], np.zeros(1, dtype=np.int64)
    seen = 0
    while len(level):
        order.append(level)
        seen += len(level)
        if seen > len(left):
            raise ImportedModelError("the nodes of a tree of the model form a cycle")
        inner = level[left[level] >= 0]
        level = np.stack([left[inner], right[inner]], axis=1).ravel().astype(np.int64)
        if level.size and (level.min() < 0 or level.max() >= len(left)):
            raise ImportedModelError("a tree of the model has children outside of it")
    return np.concatenate(order)


def tree_of(foreign: ForeignTree, schema: Schema) -> _core.Tree:
    """Make our tree; ImportedModelError if it is none."""
    order = arranged(foreign.left, foreign.right)
    n = len(order)
    is_inner = foreign.left[order] >= 0
    first_child = np.full(n, -1, dtype=np.int32)
    first_child[is_inner] = 1 + 2 * np.arange(np.count_nonzero(is_inner), dtype=np.int32)
    feature = np.where(is_inner, foreign.feature[order], -2).astype(np.int32)
    begins, words = _tables(foreign, order, feature, schema)
    has_table = begins >= 0
    zeros = np.zeros(len(foreign.left))
    gain = zeros if foreign.gain is None else foreign.gain
    arrays = {
        "first_child": first_child,
        "n_branches": np.where(is_inner, 2, 0).astype(np.int32),
        "feature": feature,
        "threshold": np.where(is_inner & ~has_table, foreign.threshold[order], -2.0),
        "category_begin": begins,
        "missing_branch": np.where(is_inner & ~foreign.missing_left[order], 1, 0).astype(np.int32),
        "n_node_samples": foreign.rows[order].astype(np.int64),
        "weighted_n_node_samples": foreign.weight[order].astype(np.float64),
        "impurity": (zeros if foreign.impurity is None else foreign.impurity)[order].astype(np.float64),
        "gain": np.where(is_inner, gain[order], 0.0).astype(np.float64),
        "value": foreign.value[order].astype(np.float64),
        "category_words": words,
    }
    try:
        return tree_from_arrays(arrays, schema)
    except ValueError as error:
        raise ImportedModelError(f"a tree of the model cannot be used: {error}") from None


def _tables(
    foreign: ForeignTree, order: AnyArray, feature: AnyArray, schema: Schema
) -> tuple[AnyArray, npt.NDArray[np.uint32]]:
    """Pack the tests on categories: a bit per category, set for those that go right."""
    begins = np.full(len(order), -1, dtype=np.int64)
    words: list[AnyArray] = []
    n_words = 0
    if foreign.goes_left:
        for place, node in enumerate(order.tolist()):
            if node in foreign.goes_left:
                n = len(schema.categories[feature[place]] or ())
                bits = np.zeros(-(-n // 32) * 32, dtype=np.uint8)
                bits[:n] = ~foreign.goes_left[node][:n]
                begins[place] = n_words
                words.append(np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32))
                n_words += len(words[-1])
    return begins, np.concatenate([np.zeros(0, dtype=np.uint32), *words])


def sums_over_leaves(left: AnyArray, right: AnyArray, at_leaves: AnyArray) -> AnyArray:
    """Fill inner nodes with the sums of their leaves; numbers at leaves are given."""
    sums = at_leaves.astype(np.float64).copy()
    for node in reversed(arranged(left, right).tolist()):
        if left[node] >= 0:
            sums[node] = sums[left[node]] + sums[right[node]]
    return sums


def mean_over_leaves(left: AnyArray, right: AnyArray, at_leaves: AnyArray, weight: AnyArray) -> AnyArray:
    """Fill inner nodes with the weighted means of their leaves; explanations start from them."""
    totals = sums_over_leaves(left, right, at_leaves * weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(weight > 0, totals / weight, 0.0)
    return np.where(left < 0, at_leaves, means)


# ------------------------------------------------------------------------------------------------------------
# Models


def _remember_columns(model: Any, schema: Schema) -> None:
    model.n_features_in_ = len(schema.names)
    model._missing_seen = (False,) * len(schema.names)
    if schema.names_given:
        model.feature_names_in_ = np.array(schema.names, dtype=object)


def boosting_model(
    trees: Sequence[ForeignTree],
    schema: Schema,
    *,
    loss: str,
    start: Sequence[float],
    classes: Any = None,
    parameter: float = 0.0,
    unseen: Unseen = "missing",
) -> Any:
    """Make a fitted gradient boosting of trees that take turns at the scores, one round after the other."""
    n_scores = len(start)
    if not trees or len(trees) % n_scores:
        raise ImportedModelError(f"the model has {len(trees)} trees for {n_scores} scores")
    model: Any = GradientBoostingRegressor() if classes is None else GradientBoostingClassifier()
    turns = np.arange(len(trees), dtype=np.int32) % n_scores
    model._model = Ensemble(
        trees=tuple(tree_of(tree, schema) for tree in trees),
        schema=schema,
        unseen=unseen,
        adds_to=None if n_scores == 1 else turns,
    )
    model.set_params(unseen=unseen, n_estimators=len(trees) // n_scores)
    model._baseline = np.array(start, dtype=np.float64)
    model._loss = named_loss(loss, parameter=parameter, n_scores=n_scores)
    if classes is None:
        model.set_params(loss=loss)
    plan = plan_boosting(model, n_rows=0, n_columns=1, n_scores=1, given_validation=False, can_judge=False)
    model.settings_ = {**plan.public, "n_members": 1}
    model._key = 0
    model.n_iter_ = model.best_iteration_ = len(trees) // n_scores
    model.train_score_ = model.validation_score_ = np.zeros(0)
    _remember_columns(model, schema)
    if classes is not None:
        model.classes_ = np.asarray(classes)
        model.n_classes_ = len(model.classes_)
    return model


def grown_model(model: Any, trees: Sequence[ForeignTree], schema: Schema, *, classes: Any = None) -> Any:
    """Give an unfitted tree or forest of ours the trees of another library."""
    model._model = Ensemble(trees=tuple(tree_of(tree, schema) for tree in trees), schema=schema)
    model.n_outputs_ = model._model.trees[0].n_outputs
    model.max_features_ = len(schema.names)
    _remember_columns(model, schema)
    if classes is not None:
        several = isinstance(classes, list)
        model.classes_ = classes
        model.n_classes_ = [len(one) for one in classes] if several else len(classes)
    return model
