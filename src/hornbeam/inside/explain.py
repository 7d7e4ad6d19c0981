"""Why a tree gave a row its answer: the path of the row, test by test, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, nan
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from hornbeam._optional import require
from hornbeam.data.dates import DatePart, bound_words, text_of_days
from hornbeam.data.table import (
    MISSING,
    UNSEEN,
    Column,
    Schema,
    Table,
    Unseen,
    read_table_as,
    shown,
)
from hornbeam.inside import words
from hornbeam.inside.conditions import Interval, threshold_words
from hornbeam.inside.html import preformatted
from hornbeam.inside.nodes import Passing, StandIn, TreeReading

__all__ = ["Explanation", "GivenRow", "Step", "explain_row", "read_row", "row_as_table"]


@dataclass(frozen=True)
class Step:
    """One test on the path of a row.

    `node` tests `feature`; the row's `value` there (None if missing) sent it down `branch` to `child`, or if
    it was missing the value of `surrogate`, the name of another column, if that is not None. `child` is a
    node with `rows` training rows that would answer `prediction`. `shares` are the class shares there, None
    if the tree predicts numbers. `str` gives the step in words.
    """

    node: int
    feature: str
    value: Any
    branch: int
    child: int
    rows: int
    prediction: Any
    shares: Any
    words: str = field(repr=False, compare=False)
    surrogate: str | None = None

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Explanation:
    """The path of one row through a tree: where it starts, its steps, and the answer of its leaf."""

    start: str
    steps: tuple[Step, ...]
    prediction: Any
    shares: Any
    leaf: int
    outcome: str

    @property
    def text(self) -> str:
        """The explanation in two sentences: the answer, and the tests that lead to it."""
        reasons = [step.words.partition(", so ")[0] for step in self.steps]
        answer = f"The tree answers {self.outcome}."
        if not reasons:
            return f"{answer} It asks for nothing."
        listed = reasons[0] if len(reasons) == 1 else f"{', '.join(reasons[:-1])} and {reasons[-1]}"
        return f"{answer} The reason: {listed}."

    def __str__(self) -> str:
        steps = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        return "\n".join([f"start: {self.start}", *steps, f"answer: {self.outcome}"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Show the path in a notebook."""
        return preformatted(str(self))


# --- One row in, whatever it came in ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GivenRow:
    """A single row: as a table, which decides, and as the values that were given, which are shown."""

    table: Table
    values: tuple[Any, ...]

    def shown_value(self, feature: int) -> Any:
        """Return the value of a column of the table: as it was given, or derived from a date."""
        column = self.table.columns[feature]
        if column.part is None or column.part.is_first or _code(column) is None:
            return self.values[self.table.schema.sources[feature]]
        return float(np.asarray(column.values)[0])

    @property
    def shown_values(self) -> tuple[Any, ...]:
        """The values of the user's columns, dates as texts."""
        values = list(self.values)
        for source, column in zip(self.table.schema.sources, self.table.columns, strict=True):
            if column.part is not None and column.part.is_first and (days := _code(column)) is not None:
                values[source] = text_of_days(days)
        return tuple(values)


def read_row(row: Any, schema: Schema, *, unseen: Unseen, estimator_name: str) -> GivenRow:
    """Read one row: a table of one row, a dict or Series by name, or the values in the order of the fit."""
    if _is_table(row):
        table = read_table_as(row, schema, unseen=unseen, estimator_name=estimator_name)
        if table.n_rows != 1:
            raise ValueError(
                f"explain takes one row; this table has {table.n_rows:,}. Pick one, for example X.iloc[[0]]."
            )
        return GivenRow(table, _only_row(row))
    values = _values_of(row, schema.given_names, schema.names_given)
    # Names were matched above, and an array has none that could be matched again.
    unnamed = replace(schema, names_given=False)
    table = read_table_as(_as_cells(values), unnamed, unseen=unseen, estimator_name=estimator_name)
    return GivenRow(table, values)


def row_as_table(row: Any, names: Sequence[str], *, names_given: bool) -> tuple[Any, tuple[Any, ...]]:
    """Return one row, given in any of these forms, as a table to be read, and its values."""
    if _is_table(row):
        n_rows = len(row) if hasattr(row, "__len__") else row.shape[0]
        if n_rows != 1:
            raise ValueError(
                f"explain takes one row; this table has {n_rows:,}. Pick one, for example X.iloc[[0]]."
            )
        return row, _only_row(row)
    values = _values_of(row, names, names_given)
    if not names_given:
        return _as_cells(values), values
    pandas = require("pandas", purpose="Explaining a row that is no table")
    return pandas.DataFrame([values], columns=list(names)), values


def _values_of(row: Any, names: Sequence[str], names_given: bool) -> tuple[Any, ...]:
    return _values_by_name(row, names) if _has_names(row, names_given) else _values_in_order(row, names)


def _as_cells(values: tuple[Any, ...]) -> Any:
    cells = np.empty((1, len(values)), dtype=object)
    cells[0, :] = values
    return cells


def _is_table(row: Any) -> bool:
    return getattr(row, "ndim", 0) == 2 or isinstance(_as_frame(row), nw.DataFrame) or sparse.issparse(row)


def _as_frame(row: Any) -> Any:
    return nw.from_native(row, eager_only=True, pass_through=True)


def _only_row(table: Any) -> tuple[Any, ...]:
    frame = _as_frame(table)
    if isinstance(frame, nw.DataFrame):
        return tuple(frame.row(0))
    return tuple((table.toarray() if sparse.issparse(table) else np.asarray(table))[0])


def _has_names(row: Any, names_given: bool) -> bool:
    """Whether a row says which value belongs to which column; a Series only if the fit had names."""
    return isinstance(row, Mapping) or (hasattr(row, "index") and hasattr(row, "to_dict") and names_given)


def _values_by_name(row: Any, names: Sequence[str]) -> tuple[Any, ...]:
    values = dict(row.items())
    unknown = [name for name in values if name not in names]
    if unknown:
        raise ValueError(
            f"The row has a value for {shown(unknown[0])}, which is not a column of the fit; columns are "
            f"{', '.join(shown(name) for name in names[:10])}."
        )
    absent = [name for name in names if name not in values]
    if absent:
        raise ValueError(
            f"The row has no value for column {shown(absent[0])}. Give one for every column of the fit, "
            "None where it is missing."
        )
    return tuple(values[name] for name in names)


def _values_in_order(row: Any, names: Sequence[str]) -> tuple[Any, ...]:
    if isinstance(row, str | bytes) or not hasattr(row, "__iter__"):
        raise TypeError(
            f"explain takes one row: a table of one row, a dict, a Series or a sequence; got {shown(row)}."
        )
    values = tuple(row)
    if len(values) != len(names):
        raise ValueError(f"The row has {len(values)} values, but the fit had {len(names)} columns.")
    return values


# --- Its way down ----------------------------------------------------------------------------------------


def explain_row(reading: TreeReading, row: GivenRow) -> Explanation:
    """Follow a row down a tree."""
    steps = []
    node = 0
    while reading.branches(node):
        steps.append(_step(reading, row, node))
        node = steps[-1].child
    return Explanation(
        start=f"{reading.row_words(0)}, {reading.share_words(0)}",
        steps=tuple(steps),
        prediction=reading.prediction(node),
        shares=_shares(reading, node),
        leaf=node,
        outcome=reading.answer_words(node),
    )


def _step(reading: TreeReading, row: GivenRow, node: int) -> Step:
    feature = reading.feature(node)
    column, value = row.table.columns[feature], row.shown_value(feature)
    code = _code(column)
    stand_in = _stand_in(reading, row, node) if code is None else None
    branch = _branch_taken(reading, node, code) if stand_in is None else stand_in[1]
    child = reading.child(node, branch)
    side = ("left", "right")[branch] if len(reading.branches(node)) == 2 else f"branch {branch}"
    reason = _reason(reading, node, branch, code, value)
    if stand_in is not None:
        other = stand_in[0]
        reason += f", but {_known_reason(reading, other.feature, other.passing[branch], row)}"
    return Step(
        node=node,
        feature=column.name,
        value=None if code is None else value,
        branch=branch,
        child=child,
        rows=reading.rows(child),
        prediction=reading.prediction(child),
        shares=_shares(reading, child),
        words=f"{reason}, so {side}: {reading.row_words(child)}, {reading.share_words(child)}",
        surrogate=None if stand_in is None else reading.schema.names[stand_in[0].feature],
    )


def _stand_in(reading: TreeReading, row: GivenRow, node: int) -> tuple[StandIn, int] | None:
    """Find the first surrogate whose feature the row has, and the branch that it chooses."""
    for one in reading.surrogates(node):
        code = _code(row.table.columns[one.feature])
        if code is None or _is_new(reading, one.feature, code):
            continue
        return one, 0 if _passes(one.passing[0], code) else 1
    return None


def _shares(reading: TreeReading, node: int) -> Any:
    shares = reading.shares(node)
    return (shares[0] if len(shares) == 1 else shares) if shares else None


def _code(column: Column) -> float | None:
    """Return the number that a test compares: a value, a category's code, or UNSEEN; None if missing."""
    values = column.dense()
    code = float(values[0])
    is_missing = isnan(code) if column.kind == "numeric" else code == MISSING
    return None if is_missing else code


def _is_new(reading: TreeReading, feature: int, code: float) -> bool:
    return code == UNSEEN and reading.schema.kinds[feature] != "numeric"


def _branch_taken(reading: TreeReading, node: int, code: float | None) -> int:
    if code is None:
        return reading.missing_branch(node)
    if _is_new(reading, reading.feature(node), code):
        return reading.unseen_branch(node)
    return next(b for b in reading.branches(node) if _passes(reading.passing(node, b), code))


def _passes(passing: Passing, code: float) -> bool:
    return passing.holds(code) if isinstance(passing, Interval) else bool(passing.allowed[int(code)])


def _reason(reading: TreeReading, node: int, branch: int, code: float | None, value: Any) -> str:
    feature = reading.feature(node)
    name = reading.name_words[feature]
    if code is None:
        return f"{name} is missing"
    if _is_new(reading, feature, code):
        return f"{name} = {words.named(value)} is new to the tree"
    return _meets(reading, feature, reading.passing(node, branch), code, value)


def _known_reason(reading: TreeReading, feature: int, passing: Passing, row: GivenRow) -> str:
    code = _code(row.table.columns[feature])
    assert code is not None
    return _meets(reading, feature, passing, code, row.shown_value(feature))


def _meets(reading: TreeReading, feature: int, passing: Passing, code: float, value: Any) -> str:
    """Write that a known value meets a condition."""
    name = reading.name_words[feature]
    if reading.schema.kinds[feature] == "numeric" and isinstance(passing, Interval):
        return f"{name} = {_comparison(code, value, passing, reading.schema.part(feature))}"
    # What is left of "colour in {blue, red}" without the name follows the row's own category.
    rest = reading.condition_words(feature, passing).removeprefix(name).removesuffix(" or missing")
    if rest.startswith(" ="):
        rest = ""
    elif rest.startswith((" in", " not in")):
        rest = f" is{rest}"
    return f"{name} = {words.named(value)}{rest}"


def _comparison(number: float, value: Any, passing: Interval, part: DatePart | None) -> str:
    """Write a number beside its threshold, with all digits where fewer would look wrong."""
    is_above = passing.above is not None
    threshold = passing.above if passing.above is not None else passing.up_to
    sign = ">" if is_above else "<="
    if part is not None and threshold not in (None, inf):
        shown_value = bound_words(part.name, number) or words.number(number)
        return f"{shown_value} {sign} {threshold_words(threshold, part=part)}"
    if threshold is None or threshold == inf:
        return f"{words.printable(value)} is known"
    short, bound = words.printable(value), words.number(threshold)
    if isinstance(value, bool | np.bool_) or (_float(short) > float(bound)) == is_above:
        return f"{short} {sign} {bound}"
    return f"{words.number(number, all_digits=True)} {sign} {words.number(threshold, all_digits=True)}"


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # cut, or a number that prints as something else
        return nan
