"""The columns that an exported model reads: the one place where an export looks at a schema.

Anything in a schema that is not supported here is refused by name, so that new kinds of columns cannot be
left out of an export unnoticed.
"""

from dataclasses import dataclass, fields

from hornbeam.data.dates import PartName
from hornbeam.data.table import Category, Kind, Schema
from hornbeam.data.wording import shown
from hornbeam.errors import ExportError

__all__ = ["GivenColumn", "InputColumn", "columns_of", "given_columns", "refuse_dates"]

_KNOWN_KINDS = ("numeric", "ordinal", "categorical")
_KNOWN_FACTS = {"names", "names_given", "kinds", "categories", "parts"}


@dataclass(frozen=True)
class InputColumn:
    """A column that trees look at; `categories` are None if it holds numbers.

    Some are made of a date: `made_of` is the name of the date's column, `part` what of it they hold.
    """

    name: str
    kind: Kind
    categories: tuple[Category, ...] | None = None
    made_of: str | None = None
    part: PartName | None = None

    @property
    def category_type(self) -> type:
        """What the categories are: str, int, float or bool."""
        types = {type(category) for category in self.categories or ()} or {str}
        return types.pop() if len(types) == 1 else float  # 1 and 1.5 are both numbers


@dataclass(frozen=True)
class GivenColumn:
    """A column of a table to predict; of a date, `column` is the first part.

    `places` are those of the columns of the model that it gives.
    """

    name: str
    column: InputColumn
    places: tuple[int, ...]

    @property
    def is_date(self) -> bool:
        """Whether dates are given."""
        return self.column.part is not None


def given_columns(columns: tuple[InputColumn, ...]) -> tuple[GivenColumn, ...]:
    """List the columns that a table has to have, in its order."""
    places: dict[str, list[int]] = {}
    for place, column in enumerate(columns):
        places.setdefault(column.made_of or column.name, []).append(place)
    return tuple(GivenColumn(name, columns[own[0]], tuple(own)) for name, own in places.items())


def refuse_dates(columns: tuple[InputColumn, ...], language: str) -> None:
    """Refuse a model with dates, for a language that has no form for them."""
    dates = [column.made_of for column in columns if column.made_of is not None]
    if dates:
        raise ExportError(
            f"Column {shown(dates[0])} is a date, and an export to {language} cannot compute the columns "
            "that the model derives from it. Export it to SQL, Python, PMML or JSON, or fit it on numbers "
            "made of the "
            "date, such as the days since a fixed one and the weekday."
        )


def columns_of(schema: Schema) -> tuple[InputColumn, ...]:
    """List the columns of a model; raise ExportError for what an export cannot say."""
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
    return tuple(_column(schema, place) for place in range(len(schema.names)))


def _column(schema: Schema, place: int) -> InputColumn:
    part = schema.part(place)
    return InputColumn(
        name=schema.names[place],
        kind=schema.kinds[place],
        categories=schema.categories[place],
        made_of=None if part is None else schema.given_names[schema.sources[place]],
        part=None if part is None else part.name,
    )
