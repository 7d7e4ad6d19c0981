"""A tree's questions, asked one by one: each answer decides which question comes next.

A column is asked for once, when a test first needs it. `next_question` finds it. The answers so far are a
dict from column names to values, with None for an unknown value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.data.date_texts import Order, days_of_texts
from hornbeam.data.table import Category, Kind
from hornbeam.inside.explain import Explanation, explain_row, read_row
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.words import listed, named

__all__ = ["Question", "next_question"]


@dataclass(frozen=True)
class Question:
    """A question of a tree: for a number, one of some categories, or a date, read in `order`."""

    feature: str
    kind: Kind
    categories: tuple[Category, ...] | None
    order: Order | None = None

    @property
    def words(self) -> str:
        """The question, worded for people."""
        wanted = "a number" if self.categories is None else f"one of {listed(self.categories)}"
        if self.order is not None:
            wanted = "a date, such as 2024-03-31"
        return f"{named(self.feature)}? ({wanted}; empty if unknown) "

    def read(self, text: str) -> Any:
        """Read an answer; ValueError says what is wrong with it. An empty text is an unknown value."""
        text = text.strip()
        if not text:
            return None
        if self.order is not None:
            if np.isnan(days_of_texts([text], self.order)[0]):
                raise ValueError(f"{named(text)} is not a date; write one such as 2024-03-31.")
            return text
        if self.categories is None:
            try:
                return float(text)
            except ValueError:
                raise ValueError(f"{named(text)} is not a number; write one such as 3.5.") from None
        exact = {str(category): category for category in self.categories}
        folded = {str(category).casefold(): category for category in self.categories}
        if text in exact:
            return exact[text]
        if len(folded) == len(exact) and text.casefold() in folded:
            return folded[text.casefold()]
        raise ValueError(f"{named(text)} is none of {listed(self.categories)}.")


def next_question(reading: TreeReading, known: Mapping[str, Any]) -> Question | Explanation:
    """Return the next question or, if there is none, the path to the answer."""
    schema = reading.schema
    row = [known.get(name) for name in schema.given_names]
    given = read_row(row, schema, unseen=reading.unseen, estimator_name="the tree")
    way = explain_row(reading, given)
    for step in way.steps:
        place = schema.names.index(step.feature)
        source, part = schema.given_names[schema.sources[place]], schema.part(place)
        if source not in known:
            order: Order | None = None if part is None else part.order
            return Question(source, schema.kinds[place], schema.categories[place], order)
    return way
