"""The tests of trees as predicates of PMML: what is said of each child of a node.

A predicate is true, false or, where a value is missing, unknown. The children of a node are asked in turn: a
true one is taken, an unknown one sends the row to the default child. So predicates have to be unknown where
the model would look for a stand-in or go the way of missing values, and nowhere else.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from hornbeam.exports.columns import InputColumn
from hornbeam.exports.portable import PortableModel, PortableTree, StandIn

__all__ = ["NOTHING", "Tests", "attribute", "escaped", "text_of_category"]

NOTHING = "nothing"
_LARGEST = repr(1.7976931348623157e308)


def attribute(text: str) -> str:
    """Write an attribute, in quotes."""
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def escaped(text: str) -> str:
    """Write a text between tags."""
    return escape(text, {"\r": "&#13;"})


def text_of_category(category: Any) -> str:
    """Write a category as its field holds it."""
    if isinstance(category, bool):
        return "true" if category else "false"
    return category if isinstance(category, str) else repr(float(category))


class Tests:
    """Writes the tests of a model; `nothing` is the name of a field that is always missing.

    The columns of the model are to be called as the fields of the document are.
    """

    def __init__(self, model: PortableModel, nothing: str) -> None:
        self.model = model
        self.nothing = nothing

    @cached_property
    def needs_nothing(self) -> bool:
        """Whether the field that is always missing is needed: with stand-ins only."""
        return self.model.has_stand_ins

    @cached_property
    def _unseen_are_told(self) -> bool:
        """Whether a category that was not seen is something else than a missing value."""
        return self.model.refuses_missing or any(tree.unseen_branch for tree in self.model.trees)

    def unseen_treatment(self, column: InputColumn) -> str:
        """Say what becomes of a category that was not seen."""
        if self.model.refuses_unseen:
            return "returnInvalid"
        return "asIs" if self._unseen_are_told else "asMissing"

    @cached_property
    def of_root(self) -> str:
        """Write the test of the first root: true, but it looks at every column that may refuse a row."""
        if not (self.model.refuses_missing or self.model.refuses_unseen):
            return "<True/>"
        looks = [
            _compound("or", _simple(column.name, "isNotMissing"), _simple(column.name, "isMissing"))
            for column in self.model.columns
            if self.model.refuses_missing or column.categories is not None
        ]
        return _compound("and", *looks) if len(looks) > 1 else (looks or ["<True/>"])[0]

    def of_branches(self, tree: PortableTree, node: int) -> list[tuple[int, str]]:
        """Write the tests of the children, in the order in which they are to be asked."""
        branches = range(tree.n_branches[node])
        if node in tree.stand_ins:
            return [(branch, self._with_stand_ins(tree, node, branch)) for branch in branches]
        if node not in tree.branch_of and self.model.columns[tree.column[node]].categories is None:
            return self._numbers(tree, node)
        return self._categories(tree, node)

    # --- Without stand-ins -------------------------------------------------------------------------------

    def _numbers(self, tree: PortableTree, node: int) -> list[tuple[int, str]]:
        name, threshold = self.model.columns[tree.column[node]].name, tree.threshold[node]
        if threshold == math.inf:  # every number goes to the first child
            return [(0, _simple(name, "isNotMissing")), (1, _simple(name, "isMissing"))]
        return [(branch, self._compared(name, threshold, branch == 0)) for branch in (0, 1)]

    def _categories(self, tree: PortableTree, node: int) -> list[tuple[int, str]]:
        column = self.model.columns[tree.column[node]]
        goes = self._groups(tree, node)
        missing = tree.missing_branch[node]
        if not any(goes):
            return [(missing, "<True/>")]
        unseen = self._branch_of_unseen(tree, node)
        written = []
        for branch, group in enumerate(goes):
            if branch == unseen and self._unseen_are_told:
                elsewhere = [one for other, some in enumerate(goes) if other != branch for one in some]
                said = self._set(column, elsewhere, inside=False)
                written.append((branch, said if elsewhere else _simple(column.name, "isNotMissing")))
            elif group:
                written.append((branch, self._set(column, group, inside=True)))
        there = {branch for branch, _ in written}
        if missing not in there:  # no category goes the way of missing values
            written.append((missing, _simple(column.name, "isMissing")))
        return written

    def _groups(self, tree: PortableTree, node: int) -> list[list[Any]]:
        """List the categories that go to each branch."""
        categories = self.model.columns[tree.column[node]].categories or ()
        goes: list[list[Any]] = [[] for _ in range(tree.n_branches[node])]
        for place, category in enumerate(categories):
            if node in tree.branch_of:
                goes[tree.branch_of_category(node, place)].append(category)
            else:
                goes[0 if place <= tree.threshold[node] else 1].append(category)
        return goes

    @staticmethod
    def _branch_of_unseen(tree: PortableTree, node: int) -> int:
        return tree.unseen(node) if node in tree.branch_of else tree.missing_branch[node]

    @staticmethod
    def _compared(name: str, threshold: float, up_to: bool) -> str:
        """Write a comparison, unknown where the number is missing."""
        if threshold == math.inf:
            low, high = _simple(name, "lessOrEqual", _LARGEST), _simple(name, "greaterThan", _LARGEST)
            return _compound("or" if up_to else "and", low, high)
        if threshold == -math.inf:
            return _simple(name, "lessThan" if up_to else "greaterOrEqual", f"-{_LARGEST}")
        return _simple(name, "lessOrEqual" if up_to else "greaterThan", repr(threshold))

    # --- With stand-ins ----------------------------------------------------------------------------------

    def _with_stand_ins(self, tree: PortableTree, node: int, branch: int) -> str:
        tests = [self._own_test(tree, node, branch)]
        tests += [self._stand_in(one, branch) for one in tree.stand_ins[node]]
        return _compound("surrogate", *tests)

    def _own_test(self, tree: PortableTree, node: int, branch: int) -> str:
        column = self.model.columns[tree.column[node]]
        if node not in tree.branch_of:
            return self._of_thresholds(column, tree.threshold[node], branch == 0)
        if node in tree.unseen_branch:  # every category has a branch
            goes = self._groups(tree, node)
            if tree.unseen_branch[node] != branch:
                return self._always_known(column, goes[branch], inside=True)
            elsewhere = [one for other, some in enumerate(goes) if other != branch for one in some]
            return self._always_known(column, elsewhere, inside=False)
        return self._known_group(column, list(tree.branch_of[node]), branch)

    def _stand_in(self, one: StandIn, branch: int) -> str:
        column = self.model.columns[one.column]
        if one.branch_of is None:
            return self._of_thresholds(column, one.threshold or 0.0, branch == one.low_branch)
        return self._known_group(column, list(one.branch_of), branch)

    def _of_thresholds(self, column: InputColumn, threshold: float, up_to: bool) -> str:
        if column.categories is None:
            return self._compared(column.name, threshold, up_to)
        places = range(len(column.categories))
        return self._known_group(column, [int((place <= threshold) != up_to) for place in places], 0)

    def _known_group(self, column: InputColumn, branches: Sequence[int | None], branch: int) -> str:
        """Write whether a category goes to a branch; unknown of those that no branch is known of."""
        categories = column.categories or ()
        here = [one for one, b in zip(categories, branches, strict=True) if b == branch]
        known = [one for one, b in zip(categories, branches, strict=True) if b is not None]
        if len(known) == len(categories) and not self._unseen_are_told:
            return self._always_known(column, here, inside=True)
        unknown = _simple(self.nothing, "equal", "0.0")
        if not known:
            return unknown
        other = _compound("and", self._set(column, known, inside=False), unknown)
        return _compound("or", self._set(column, here, inside=True), other) if here else other

    def _always_known(self, column: InputColumn, group: Sequence[Any], *, inside: bool) -> str:
        """Write a test on a set that may be empty; unknown where the value is missing only."""
        if group:
            return self._set(column, group, inside=inside)
        some = (column.categories or ("",))[:1]
        parts = (self._set(column, some, inside=True), self._set(column, some, inside=False))
        return _compound("and" if inside else "or", *parts)

    # --- Sets --------------------------------------------------------------------------------------------

    @staticmethod
    def _set(column: InputColumn, group: Sequence[Any], *, inside: bool) -> str:
        """Write whether a category is one of some, or none of them."""
        texts = [text_of_category(one) for one in group]
        if len(texts) == 1 or any("\\" in text for text in texts):  # of which readers make different things
            tests = [_simple(column.name, "equal" if inside else "notEqual", text) for text in texts]
            return _compound("or" if inside else "and", *tests) if len(tests) > 1 else tests[0]
        operator = "isIn" if inside else "isNotIn"
        kind = "real" if column.category_type not in (str, bool) else "string"
        if kind == "string":
            texts = ['"' + text.replace('"', '\\"') + '"' for text in texts]
        array = f'<Array n="{len(texts)}" type="{kind}">{escaped(" ".join(texts))}</Array>'
        return (
            f'<SimpleSetPredicate field={attribute(column.name)} booleanOperator="{operator}">{array}'
            "</SimpleSetPredicate>"
        )


def _simple(name: str, operator: str, value: str | None = None) -> str:
    given = "" if value is None else f" value={attribute(value)}"
    return f'<SimplePredicate field={attribute(name)} operator="{operator}"{given}/>'


def _compound(operator: str, *parts: str) -> str:
    return f'<CompoundPredicate booleanOperator="{operator}">{"".join(parts)}</CompoundPredicate>'
