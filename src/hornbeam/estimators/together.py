"""Trees that were fitted one by one, combined in one `Ensemble` over the columns of the whole model.

Members of a bag or of AdaBoost may have columns, categories and classes of their own. In: such members. Out:
the same trees over all columns, with all categories and all classes, which predict the same and can be used
like trees that grew on one table. A category that a member does not know goes where the member sends unseen
categories.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Category, Kind, Schema
from hornbeam.data.wording import shown
from hornbeam.model import Ensemble, tree_from_arrays, tree_to_arrays

__all__ = ["GrownApart", "put_together"]

AnyArray = npt.NDArray[Any]

# How many bits of a table say a branch, by the number of branches (cpp/tree/tree.cpp).
_BITS = ((1, 2), (8, 256), (16, 65_536), (32, 2**31))


@dataclass(frozen=True, eq=False)
class GrownApart:
    """A tree with the model it came in, the user's columns it was given, and where its classes are.

    `classes` numbers its own classes among those of the whole model; None where these are the same.
    """

    model: Ensemble
    columns: AnyArray
    classes: AnyArray | None = None
    n_classes: int = 1

    @property
    def tree(self) -> _core.Tree:
        """The only tree."""
        (tree,) = self.model.trees
        return tree


def put_together(members: Sequence[GrownApart], names: Sequence[str], *, names_given: bool) -> Ensemble:
    """Return all trees over one schema; ValueError names a column that members read differently."""
    first = members[0].model
    all_columns = np.arange(len(names))
    if all(one.model.schema == first.schema and np.array_equal(one.columns, all_columns) for one in members):
        schema, own_columns = first.schema, [np.arange(len(first.schema.names))] * len(members)
    else:
        schema = _schema_of_all(members, names, names_given=names_given)
        own_columns = [one.columns for one in members]
    trees = tuple(_moved(one, columns, schema) for one, columns in zip(members, own_columns, strict=True))
    return Ensemble(trees, schema, first.unseen, first.missing_allowed)


# --- Columns ----------------------------------------------------------------------------------------------


def _schema_of_all(members: Sequence[GrownApart], names: Sequence[str], *, names_given: bool) -> Schema:
    """Describe the user's columns; categories that any member knows are known."""
    kinds: list[Kind | None] = [None] * len(names)
    categories: list[tuple[Category, ...] | None] = [None] * len(names)
    for one in members:
        schema = one.model.schema
        if schema.parts:
            raise ValueError(
                "Members that have made different columns of a date cannot be put together; ask one of them, "
                "such as estimators_[0]."
            )
        for place, kind, own in zip(one.columns.tolist(), schema.kinds, schema.categories, strict=True):
            known = kinds[place]
            if known is not None and (known != kind or (kind == "ordinal" and own != categories[place])):
                raise ValueError(f"The members take column {shown(names[place])} for different things.")
            kinds[place] = kind
            if own is not None:
                before = categories[place]
                categories[place] = own if before in (None, own) else _sorted({*(before or ()), *own})
    return Schema(tuple(names), names_given, tuple(kind or "numeric" for kind in kinds), tuple(categories))


def _sorted(categories: set[Any]) -> tuple[Any, ...]:
    return tuple(sorted(categories))


# --- Trees ------------------------------------------------------------------------------------------------


def _moved(one: GrownApart, columns: AnyArray, schema: Schema) -> _core.Tree:
    """Return the tree of a member over the columns, the categories and the classes of all."""
    arrays = tree_to_arrays(one.tree)
    if one.classes is not None:
        value = arrays["value"]
        arrays["value"] = np.zeros((*value.shape[:2], one.n_classes))
        arrays["value"][:, :, one.classes] = value[:, :, : len(one.classes)]
    if one.model.schema is not schema:
        for name in ("feature", "surrogate_feature"):
            if name in arrays:
                own = arrays[name]
                arrays[name] = np.where(own >= 0, columns[np.maximum(own, 0)], own).astype(own.dtype)
        _tables(one, columns, schema, arrays)
        if "surrogate_begin" in arrays:
            _surrogate_tables(one, columns, schema, arrays)
    return tree_from_arrays(arrays, schema)


def _tables(one: GrownApart, columns: AnyArray, schema: Schema, arrays: dict[str, AnyArray]) -> None:
    """Rewrite the tests on categories for the categories of all members."""
    tree, words = one.tree, _Words()
    for node in np.flatnonzero(arrays["category_begin"] >= 0).tolist():
        feature, n_branches = int(tree.feature[node]), int(tree.n_branches[node])
        own, known = _categories(one, feature, columns, schema)
        branch_of = dict(zip(own, tree.branches_of_categories(node, len(own)).tolist(), strict=True))
        lacking = [category for category in known if category not in branch_of]
        if lacking and len(tree.surrogate_begin):
            _refuse(one, feature, lacking[0])
        new = int(tree.missing_branch[node])
        if one.model.unseen == "majority":
            first_child = int(tree.first_child[node])
            new = int(np.argmax(tree.weighted_n_node_samples[first_child : first_child + n_branches]))
        table = [branch_of.get(category, new) for category in known]
        arrays["category_begin"][node] = words.add(table, n_branches)
    arrays["category_words"] = words.all()


def _surrogate_tables(
    one: GrownApart, columns: AnyArray, schema: Schema, arrays: dict[str, AnyArray]
) -> None:
    tree, words = one.tree, _Words()
    for number in np.flatnonzero(arrays["surrogate_category_begin"] >= 0).tolist():
        feature = int(tree.surrogate_feature[number])
        own, known = _categories(one, feature, columns, schema)
        branch_of = dict(zip(own, tree.surrogate_branches(number, len(own)).tolist(), strict=True))
        for category in known:
            if category not in branch_of:
                _refuse(one, feature, category)
        arrays["surrogate_category_begin"][number] = words.add([branch_of[one] for one in known], 2)
    arrays["surrogate_category_words"] = words.all()


def _categories(
    one: GrownApart, feature: int, columns: AnyArray, schema: Schema
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return one.model.schema.categories[feature] or (), schema.categories[int(columns[feature])] or ()


def _refuse(one: GrownApart, feature: int, category: Any) -> None:
    raise ValueError(
        f"A member with missing='surrogate' has not seen the category {shown(category)} of column "
        f"{shown(one.model.schema.names[feature])}, which others have, so they cannot be put together; ask "
        "one of them, such as estimators_[0]."
    )


class _Words:
    """Packs tables: a few bits per category, which hold the number of its branch."""

    def __init__(self) -> None:
        self.parts: list[AnyArray] = []
        self.size = 0

    def add(self, branches: Sequence[int], n_branches: int) -> int:
        """Pack a table; return where it begins."""
        bits = next(bits for bits, most in _BITS if n_branches <= most)
        per_word = 32 // bits
        padded = np.zeros(-(-len(branches) // per_word) * per_word, dtype=np.uint64)
        padded[: len(branches)] = branches
        shifts = (np.arange(per_word) * bits).astype(np.uint64)
        words = (padded.reshape(-1, per_word) << shifts).sum(axis=1).astype(np.uint32)
        begin, self.size = self.size, self.size + len(words)
        self.parts.append(words)
        return begin

    def all(self) -> AnyArray:
        """Return all tables, one after the other."""
        return np.concatenate([np.zeros(0, dtype=np.uint32), *self.parts])
