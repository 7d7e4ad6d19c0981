"""A tree's questions, asked one by one: each answer decides which question comes next.

A column is asked about once, when the way down first needs it. `next_question` finds it; what is known so far
is a dict from column names to values, with None for what nobody knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hornbeam.data.table import Category, Kind
from hornbeam.inside.explain import Explanation, explain_row, read_row
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.words import listed, named

__all__ = ["Question", "next_question"]


@dataclass(frozen=True)
class Question:
    """What a tree wants to know: a number, or one of some categories."""

    feature: str
    kind: Kind
    categories: tuple[Category, ...] | None

    @property
    def words(self) -> str:
        """The question as people are asked it."""
        wanted = "a number" if self.categories is None else f"one of {listed(self.categories)}"
        return f"{named(self.feature)}? ({wanted}; empty if unknown) "

    def read(self, text: str) -> Any:
        """Read an answer; ValueError says what is wrong with it. Nothing at all is an unknown value."""
        text = text.strip()
        if not text:
            return None
        if self.categories is None:
            try:
                return float(text)
            except ValueError:
                raise ValueError(f"{named(text)} is no number; write one such as 3.5.") from None
        exact = {str(category): category for category in self.categories}
        folded = {str(category).casefold(): category for category in self.categories}
        if text in exact:
            return exact[text]
        if len(folded) == len(exact) and text.casefold() in folded:
            return folded[text.casefold()]
        raise ValueError(f"{named(text)} is none of {listed(self.categories)}.")


def next_question(reading: TreeReading, known: Mapping[str, Any]) -> Question | Explanation:
    """Return what has to be asked next or, when nothing has, the way to the answer."""
    schema = reading.schema
    row = [known.get(name) for name in schema.names]
    given = read_row(row, schema, unseen=reading.unseen, estimator_name="the tree")
    way = explain_row(reading, given)
    for step in way.steps:
        if step.feature not in known:
            place = schema.names.index(step.feature)
            return Question(step.feature, schema.kinds[place], schema.categories[place])
    return way
