"""What trees ask of dates, as fields of PMML: of the clock as it is written, in whole seconds."""

from collections.abc import Iterator, Sequence

from hornbeam.exports.columns import InputColumn
from hornbeam.exports.pmml_tests import attribute

__all__ = ["date_fields"]

_MARKS = {"month": "%m", "day": "%d", "day_of_year": "%j"}


def date_fields(fields: Sequence[InputColumn]) -> Iterator[str]:
    """Define the fields that are made of dates; others are given."""
    for field in fields:
        if field.part is None or field.made_of is None:
            continue
        # A text that holds a number becomes one by the type of the field.
        dtype = "integer" if field.part in _MARKS else "double"
        yield f'  <DerivedField name={attribute(field.name)} optype="continuous" dataType="{dtype}">'
        date = f"<FieldRef field={attribute(field.made_of)}/>"
        # Functions of dates refuse a missing one; without a third argument, `if` gives nothing of it.
        yield "   " + _apply("if", _apply("isNotMissing", date), _computed(date, field.part))
        yield "  </DerivedField>"


def _computed(date: str, part: str) -> str:
    if part in _MARKS:
        mark = f'<Constant dataType="string">{_MARKS[part]}</Constant>'
        return _apply("formatDatetime", date, mark)
    days = _apply("dateDaysSinceYear", date, '<Constant dataType="integer">1970</Constant>')
    if part == "date":
        return days
    if part == "weekday":  # 1970-01-01 was a Thursday
        return _apply("modulo", _apply("+", days, _number(3)), _number(7))
    seconds = _apply("dateSecondsSinceYear", date, '<Constant dataType="integer">1970</Constant>')
    passed = _apply("-", seconds, _apply("*", days, _number(86_400)))
    if part == "hour":
        return _apply("/", passed, _number(3600))
    return _apply("+", days, _apply("/", passed, _number(86_400)))


def _apply(function: str, *arguments: str) -> str:
    return f'<Apply function="{function}">{"".join(arguments)}</Apply>'


def _number(value: int) -> str:
    return f'<Constant dataType="double">{value}.0</Constant>'
