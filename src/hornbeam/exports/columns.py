"""The columns that an exported model reads: the one place where an export looks at a schema.

Whatever a schema says that is not understood here is refused by name, so that a kind of column that is added
to models cannot be left out of an export unnoticed.
"""

from dataclasses import dataclass, fields

from hornbeam.data.table import Category, Kind, Schema
from hornbeam.data.wording import shown
from hornbeam.errors import ExportError

__all__ = ["InputColumn", "columns_of"]

_KNOWN_KINDS = ("numeric", "ordinal", "categorical")
_KNOWN_FACTS = {"names", "names_given", "kinds", "categories"}


@dataclass(frozen=True)
class InputColumn:
    """A column of the table to predict; `categories` are None if it holds numbers."""

    name: str
    kind: Kind
    categories: tuple[Category, ...] | None = None

    @property
    def category_type(self) -> type:
        """What the categories are: str, int, float or bool."""
        types = {type(category) for category in self.categories or ()} or {str}
        return types.pop() if len(types) == 1 else float  # 1 and 1.5 are both numbers


def columns_of(schema: Schema) -> tuple[InputColumn, ...]:
    """List the columns of a model; raise ExportError for what an export cannot say."""
    dates = [name for name, part in zip(schema.names, schema.parts, strict=False) if part and part.is_first]
    if dates:
        raise ExportError(
            f"Column {shown(dates[0])} is a date, of which the model has made columns that an export cannot "
            "write. Fit it on numbers made of the date, such as the days since a fixed one and the weekday, "
            "or save it with hornbeam.save."
        )
    for fact in fields(schema):
        if fact.name not in _KNOWN_FACTS and getattr(schema, fact.name):
            raise ExportError(
                f"The model prepares its columns in a way that an export cannot write: {fact.name} is "
                f"{shown(getattr(schema, fact.name))}. Fit it on columns that are prepared already, or save "
                "it with hornbeam.save."
            )
    for name, kind in zip(schema.names, schema.kinds, strict=True):
        if kind not in _KNOWN_KINDS:
            raise ExportError(
                f"Column {shown(name)} is of the kind {shown(kind)}, which an export cannot write. Fit the "
                "model without it, or save it with hornbeam.save."
            )
    return tuple(
        InputColumn(name, kind, categories)
        for name, kind, categories in zip(schema.names, schema.kinds, schema.categories, strict=True)
    )
