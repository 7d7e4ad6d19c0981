"""Looking inside a stack, member by member: those of its first level that are made of our trees."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from hornbeam.estimators.importances import Importance
from hornbeam.inside.nodes import readings_of, way_to_members
from hornbeam.inside.rules import RuleStyle
from hornbeam.inside.shapley import Contributions

__all__ = ["InspectableMembers"]


class InspectableMembers:
    """The methods that stacks and blends pass on to their members."""

    def first_level(self) -> dict[str, Any]:
        """Return the members of the first level by name; they see the user's own columns."""
        check_is_fitted(self)
        stack: Any = self
        return dict(zip(stack.stack_method_, stack.estimators_[0], strict=False))

    def _members_of_trees(self) -> dict[str, Any]:
        found = {name: member for name, member in self.first_level().items() if readings_of(member)}
        if not found:
            raise ValueError(
                f"No member of this {type(self).__name__} is made of hornbeam's trees; "
                "named_estimators_ has the members."
            )
        return found

    def rules(self, style: RuleStyle = "text") -> dict[str, Any]:
        """Return the rules of the members that are made of trees, by name."""
        return {name: member.rules(style) for name, member in self._members_of_trees().items()}

    def importance(self, kind: Importance = "gain", **options: Any) -> dict[str, Any]:
        """Return how much each column matters to the members that are made of trees, by name."""
        return {name: member.importance(kind, **options) for name, member in self._members_of_trees().items()}

    def contributions(self, X: Any, **options: Any) -> dict[str, Contributions]:
        """Return what each column adds to the scores of the members that are made of trees, by name.

        Options are those of any model: `background`, `interactions`, `of`. The final estimator's prediction
        is not a sum over columns.
        """
        return {name: member.contributions(X, **options) for name, member in self._members_of_trees().items()}

    def to_frame(self, member: int = 0) -> dict[str, Any]:
        """Return one tree of each member that is made of trees as a pandas DataFrame, by name."""
        return {name: one.to_frame(member) for name, one in self._members_of_trees().items()}

    def apply(self, X: Any) -> dict[str, Any]:
        """Return the leaves that rows reach in the trees of each member that is made of trees, by name."""
        return {name: member.apply(X) for name, member in self._members_of_trees().items()}

    def explain(self, row: Any) -> dict[str, Any]:
        """Say why each member that is made of trees gives a row its answer, by name."""
        return {name: member.explain(row) for name, member in self._members_of_trees().items()}

    def effect(self, X: Any, column: Any, **options: Any) -> dict[str, Any]:
        """Say how the scores of the members that are made of trees depend on a column, or two, by name."""
        members = self._members_of_trees()
        return {name: member.effect(X, column, **options) for name, member in members.items()}

    def counterfactual(self, row: Any, X: Any, **options: Any) -> Any:
        """Refuse: the search needs a sum of trees; say which member to ask instead."""
        raise TypeError(
            "counterfactual searches the leaves of trees that are added up; the answer of "
            f"{type(self).__name__} is made of its members' answers.{way_to_members(self)}"
        )
