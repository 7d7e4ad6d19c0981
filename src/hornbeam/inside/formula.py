"""A tree as logic: one expression per class, true for exactly the rows that the tree gives that class.

The expressions are Python. A column stands there by its name if that is an identifier, else as `row["its
name"]`. A missing number is NaN, which compares as false with everything, so `not x > 2.5` lets it pass and
`x <= 2.5` does not; a missing category is None, which a set may contain. For columns in which the fit met no
missing value, the expressions cover only what the fit has seen, so their result for missing values and new
categories means nothing.

`holds` evaluates such an expression and refuses any text that is not made of comparisons.
"""

import ast
import keyword
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf, nan
from types import CodeType
from typing import Any

from hornbeam.data.table import Category
from hornbeam.inside.conditions import LONGEST_OWN_SET, Group, Interval, is_missing
from hornbeam.inside.nodes import Passing, TreeReading

__all__ = ["formulas", "holds"]

# The name under which an expression finds columns whose names are no identifiers.
ROW = "row"


# --- Writing ---------------------------------------------------------------------------------------------


def formulas(reading: TreeReading) -> dict[Any, str] | list[dict[Any, str]]:
    """Write one expression per class, or per number predicted; a list of such tables for several outputs."""
    n_outputs = reading.tree.n_outputs
    terms: list[dict[Any, list[str]]] = [{} for _ in range(n_outputs)]
    for table, labels in zip(terms, reading.labels, strict=False):
        table.update({label: [] for label in labels})
    for node, path in reading.paths():
        term = _conjunction(reading, path)
        for table, answer in zip(terms, reading.answers(node), strict=True):
            table.setdefault(answer, []).append(term)
    tables = [{answer: _disjunction(parts) for answer, parts in table.items()} for table in terms]
    return tables[0] if n_outputs == 1 else tables


def _disjunction(terms: list[str]) -> str:
    if len(terms) < 2:
        return terms[0] if terms else "False"
    return " or ".join(f"({term})" if " and " in term else term for term in terms)


def _conjunction(reading: TreeReading, path: dict[int, Passing]) -> str:
    return " and ".join(_expression(reading, feature, passing) for feature, passing in path.items()) or "True"


def _expression(reading: TreeReading, feature: int, passing: Passing) -> str:
    name = _reference(reading.schema.names[feature])
    known = reading.schema.categories[feature]
    exact = reading.missing_seen[feature]
    if isinstance(passing, Interval) and known is None:
        return _number_expression(name, passing, lets_missing_pass=exact and passing.missing)
    inside, outside = _sides(passing, known or ())
    if not exact:
        return _plain_set_expression(name, inside, outside)
    # In ordered columns a new category is a missing value.
    unseen = passing.unseen if isinstance(passing, Group) else passing.missing
    return _exact_set_expression(name, inside, outside, missing=passing.missing, unseen=unseen)


def _sides(passing: Passing, known: tuple[Category, ...]) -> tuple[list[Category], list[Category]]:
    codes = set(passing.codes() if isinstance(passing, Group) else passing.codes(len(known)))
    inside = [category for code, category in enumerate(known) if code in codes]
    outside = [category for code, category in enumerate(known) if code not in codes]
    return inside, outside


def _reference(name: str) -> str:
    # Python normalises some letters outside ASCII, so an identifier with them may not match its column.
    if name.isidentifier() and name.isascii() and not keyword.iskeyword(name) and name != ROW:
        return name
    return f"{ROW}[{name!a}]"


def _number_expression(name: str, interval: Interval, *, lets_missing_pass: bool) -> str:
    if interval.is_empty:
        return f"{name} != {name}" if lets_missing_pass else "False"
    if interval.is_whole:
        return "True" if lets_missing_pass else f"{name} == {name}"
    lower = None if interval.above is None else _literal(interval.above)
    upper = None if interval.up_to in (None, inf) else _literal(interval.up_to)
    if lets_missing_pass:
        parts = [f"not {name} <= {lower}"] if lower else []
        return " and ".join(parts + ([f"not {name} > {upper}"] if upper else []))
    if lower and upper:
        return f"{lower} < {name} <= {upper}"
    return f"{name} > {lower}" if lower else f"{name} <= {upper}"


def _literal(value: Category | None) -> str:
    # Infinity has no literal of its own; one that is too large means the same.
    return repr(value).replace("inf", "1e999") if isinstance(value, float) else ascii(value)


def _plain_set_expression(name: str, inside: list[Category], outside: list[Category]) -> str:
    """Test membership on the side that is shorter to write, as the words for a condition do."""
    if not inside or not outside:
        return "True" if inside else "False"
    if len(inside) > LONGEST_OWN_SET and len(outside) < len(inside):
        return _membership(name, outside, negated=True)
    return _membership(name, inside)


def _exact_set_expression(
    name: str, inside: list[Category], outside: list[Category], *, missing: bool, unseen: bool
) -> str:
    """Test membership on the side that sends new categories the right way; None corrects missing ones."""
    members: list[Category | None] = [*(outside if unseen else inside)]
    if missing != unseen:
        members.append(None)
    if not members:
        return "True" if unseen else "False"
    return _membership(name, members, negated=unseen)


def _membership(name: str, members: Sequence[Category | None], *, negated: bool = False) -> str:
    if len(members) == 1 and members[0] is not None:
        return f"{name} {'!=' if negated else '=='} {_literal(members[0])}"
    return f"{name} {'not in' if negated else 'in'} {{{', '.join(map(_literal, members))}}}"


# --- Evaluating ------------------------------------------------------------------------------------------

_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ALLOWED = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub),
    *(ast.Compare, ast.cmpop),
    *(ast.Name, ast.Load, ast.Constant, ast.Set, ast.Subscript),
)


def holds(formula: str, row: Mapping[str, Any]) -> bool:
    """Evaluate an expression of `rules(style="formula")` on a row: values by column name."""
    code, numeric = _compiled(formula)
    values = {name: _value(value, numeric=name in numeric) for name, value in row.items()}
    return bool(eval(code, {"__builtins__": {}}, {**values, ROW: values}))


@lru_cache(maxsize=256)
def _compiled(formula: str) -> tuple[CodeType, frozenset[str]]:
    """Compile an expression, and name the columns that it compares as numbers."""
    parsed = ast.parse(formula, mode="eval")
    numeric = set()
    for part in ast.walk(parsed):
        if not isinstance(part, _ALLOWED):
            raise ValueError(f"A formula consists of comparisons; this one holds a {type(part).__name__}.")
        if isinstance(part, ast.Compare):
            numeric |= _columns_compared_as_numbers(part)
    return compile(parsed, "<formula>", "eval"), frozenset(numeric)


def _columns_compared_as_numbers(comparison: ast.Compare) -> set[str]:
    columns = [name for side in (comparison.left, *comparison.comparators) if (name := _column(side))]
    is_order = all(isinstance(operator, _ORDERS) for operator in comparison.ops)
    is_own_equal = len(columns) == 2  # x == x, which is false only for NaN
    return set(columns) if is_order or is_own_equal else set()


def _column(side: ast.expr) -> str | None:
    if isinstance(side, ast.Name):
        return side.id
    if isinstance(side, ast.Subscript) and isinstance(side.slice, ast.Constant):
        return str(side.slice.value)
    return None


def _value(value: Any, *, numeric: bool) -> Any:
    if is_missing(value):
        return nan if numeric else None
    return float(value) if numeric else value
