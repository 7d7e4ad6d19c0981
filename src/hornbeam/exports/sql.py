"""A model as one SELECT: nested CASE expressions, for DuckDB, SQLite, PostgreSQL or standard SQL.

    WITH given AS (...),      the columns that are tested, as numbers or texts
         sums_1 AS (...),     the scores after some trees; further steps for further trees
    SELECT ...                the keys, the answer, the class shares

A tree is a CASE: of the two sides of a test the smaller is written first, in full, and the other goes on with
the next WHEN, so that nothing is nested deeper than the logarithm of the leaves; parsers have small stacks.
NULL is missing. Each name of a column is written quoted.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from hornbeam.data.wording import shown
from hornbeam.errors import ExportError
from hornbeam.exports.columns import GivenColumn, InputColumn
from hornbeam.exports.portable import Output, PortableModel, PortableTree, StandIn
from hornbeam.exports.sql_dates import date_part, date_type, refuse_dates_of_standard

__all__ = ["Dialect", "answer_names", "given_type", "quoted", "sql_of"]

Dialect = Literal["standard", "duckdb", "sqlite", "postgres"]

_LARGEST = 1.7976931348623157e308
_LARGEST_EXACT = 2**53  # up to here a float of 64 bits holds every whole number
_NEXT = ",\n"
_SELECT = "  SELECT\n"
# The standard has no word for a step that is to be worked out once; a count over all rows is one that cannot
# be put wherever its columns are used, by PostgreSQL for one.
_COUNTED = "    COUNT(*) OVER () AS counted,\n"
# Sets of more categories than these are looked up by position: databases take their time over long lists.
MANY_CATEGORIES = 32
Lines = list[tuple[int, str]]  # how far in, and what: names may hold line breaks, so texts are left alone
# Trees per step. SQLite allows expressions 1000 deep, and a sum of n terms is n deep.
_TREES_PER_STEP = 100
# Ours; none of them may be a column of the table.
_STEPS = ("given", "sums", "score", "tree", "prediction", "probability", "position", "key", "counted")
_MOST_NAME_BYTES = 63  # PostgreSQL cuts longer names off without a word


def quoted(name: str) -> str:
    """Write a name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _category(value: Any) -> str:
    """Write a category as it is compared with a column, see `column_type`."""
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) > _LARGEST_EXACT):
        return str(int(value))
    return _text(value) if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    """Write a number that every dialect takes for a float of 64 bits; DuckDB wants an exponent."""
    text = repr(float(value))
    return text if "e" in text else text + "e0"


def column_type(column: InputColumn) -> str:
    """Say as what a column is read."""
    if column.categories is None:
        return "DOUBLE PRECISION"
    kinds = {str: "TEXT", bool: "INTEGER", int: "DOUBLE PRECISION", float: "DOUBLE PRECISION"}
    if any(type(value) is int and abs(value) > _LARGEST_EXACT for value in column.categories):
        return "BIGINT"
    return kinds[column.category_type]


def given_type(given: GivenColumn, dialect: Dialect) -> str:
    """Say as what a column of the table is read."""
    return date_type(dialect) if given.is_date else column_type(given.column)


def answer_names(model: PortableModel) -> list[str]:
    """Name the columns that the SELECT returns beside the keys: labels first, then numbers."""
    several = len(model.outputs) > 1
    names = [f"prediction_{k}" if several else "prediction" for k in range(len(model.outputs))]
    for k, output in enumerate(model.outputs if model.has_classes else ()):
        for label in output.labels or ():
            names.append(f"probability_{k}_{label}" if several else f"probability_{label}")
    return names


def sql_of(model: PortableModel, *, dialect: Dialect, table: str, keys: Sequence[str]) -> str:
    """Write a model as a SELECT from `table`, whose columns named by `keys` are passed on."""
    _check_names(model, dialect, table, keys)
    return _Select(model, dialect, table, tuple(keys)).text()


def _check_names(model: PortableModel, dialect: Dialect, table: str, keys: Sequence[str]) -> None:
    names = [column.name for column in model.given]
    seen: dict[str, str] = {}
    for name in [*names, *keys, table, *answer_names(model)]:
        if "\0" in name or not name:
            raise ExportError(f"SQL has no way to write the name {shown(name)}: it is empty or holds a NUL.")
        if dialect in ("postgres", "standard") and len(name.encode("utf-8", "replace")) > _MOST_NAME_BYTES:
            raise ExportError(
                f"The name {shown(name)} has more than {_MOST_NAME_BYTES} bytes, which PostgreSQL cuts off. "
                "Rename the column."
            )
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise ExportError(
                f"The name {shown(name)} is not valid Unicode, so SQL cannot hold it."
            ) from None
    # To SQLite and DuckDB, names that differ in case are the same, quoted or not.
    for name in [*names, *(key for key in keys if key not in names)]:
        folded = name.lower() if dialect != "postgres" else name
        if folded in seen:
            raise ExportError(
                f"Columns {shown(seen[folded])} and {shown(name)} are the same to a database, which does not "
                "tell upper from lower case. Rename one."
            )
        seen[folded] = name
    for column in model.columns:
        if column.made_of is not None and dialect == "standard":
            refuse_dates_of_standard(column.made_of)
        for category in column.categories or ():
            if isinstance(category, str) and "\0" in category:
                raise ExportError(
                    f"Column {shown(column.name)} has the category {shown(category)}, whose NUL no SQL text "
                    "can hold. Rename the category."
                )


@dataclass(frozen=True, eq=False)
class _Select:
    model: PortableModel
    dialect: Dialect
    table: str
    keys: tuple[str, ...]

    def text(self) -> str:
        steps = [("given", self._given()), *self._sums()]
        if self.dialect == "standard":
            steps = [(name, body.replace(_SELECT, f"{_SELECT}{_COUNTED}", 1)) for name, body in steps]
        with_ = _NEXT.join(f"{name} AS {self._hint}(\n{body}\n)" for name, body in steps)
        return f"WITH {with_}\n{self._answers(steps[-1][0])};\n"

    @property
    def _hint(self) -> str:
        # Else the database may put a step's expressions wherever they are used, and work them out each time.
        return "" if self.dialect == "standard" else "MATERIALIZED "

    # --- Columns -----------------------------------------------------------------------------------------

    @property
    def _used(self) -> tuple[int, ...]:
        if self.model.refuses_missing or self.model.refuses_unseen:
            return tuple(range(len(self.model.columns)))
        return self.model.columns_tested

    def _column(self, number: int) -> str:
        """Name a column in the steps: its own name, unless ours could be meant."""
        name = self.model.columns[number].name
        if any(name.lower().startswith(own) for own in _STEPS) or name in self.keys:
            return quoted(f"column {number}: {name}"[:60])
        return quoted(name)

    def _key(self, number: int) -> str:
        return quoted(f"key {number}")

    def _given(self) -> str:
        lines = [
            f"    {quoted(self.table)}.{quoted(key)} AS {self._key(k)}" for k, key in enumerate(self.keys)
        ]
        lines += [
            f"    {self._read(self.model.columns[number])} AS {self._column(number)}" for number in self._used
        ]
        lines += [f"    {self._find_position(number)}" for number in self._of_many]
        return f"  SELECT\n{_NEXT.join(lines or ['    1 AS nothing'])}\n  FROM {quoted(self.table)}"

    def _read(self, column: InputColumn) -> str:
        # With its table's name, SQLite does not take a name that is not there for a text.
        if column.part is not None and self.dialect != "standard":
            return date_part(
                f"{quoted(self.table)}.{quoted(column.made_of or '')}", column.part, self.dialect
            )
        cast = f"CAST({quoted(self.table)}.{quoted(column.name)} AS {column_type(column)})"
        has_nan = self.dialect in ("duckdb", "postgres") and column_type(column) == "DOUBLE PRECISION"
        return f"NULLIF({cast}, CAST('NaN' AS DOUBLE PRECISION))" if has_nan else cast

    def _passed_on(self) -> list[str]:
        return [
            *(self._key(k) for k in range(len(self.keys))),
            *(self._column(number) for number in self._used),
            *(self._position(number) for number in self._of_many),
        ]

    @cached_property
    def _of_many(self) -> tuple[int, ...]:
        """The columns whose categories are looked up by position, from 1; 0 is one that was not seen."""
        columns = self.model.columns
        return tuple(j for j in self._used if len(columns[j].categories or ()) > MANY_CATEGORIES)

    def _position(self, number: int) -> str:
        return quoted(f"position {number}")

    def _find_position(self, number: int) -> str:
        column = self.model.columns[number]
        whens = "\n".join(
            f"      WHEN {_category(one)} THEN {place}"
            for place, one in enumerate(column.categories or (), 1)
        )
        read = self._read(column)
        return f"CASE {read}\n{whens}\n      ELSE 0\n    END AS {self._position(number)}"

    # --- Sums --------------------------------------------------------------------------------------------

    def _sums(self) -> Iterator[tuple[str, str]]:
        if self.model.median_weights is not None:
            yield from self._members()
            return
        before, trees = "given", self.model.trees
        for number, begin in enumerate(range(0, len(trees), _TREES_PER_STEP), start=1):
            some = trees[begin : begin + _TREES_PER_STEP]
            lines = [f"    {name}" for name in self._passed_on()]
            for score in range(self.model.n_scores):
                start = _number(self.model.start[score]) if number == 1 else f"score_{score}"
                terms = [f"CAST({start} AS DOUBLE PRECISION)" if number == 1 else start]  # then all is
                terms += [
                    self._tree(tree, score - tree.first_score)
                    for tree in some
                    if 0 <= score - tree.first_score < tree.values.shape[1]
                ]
                lines.append("    " + "\n      + ".join(terms) + f" AS score_{score}")
            yield f"sums_{number}", f"  SELECT\n{_NEXT.join(lines)}\n  FROM {before}"
            before = f"sums_{number}"

    def _members(self) -> Iterator[tuple[str, str]]:
        """Give each tree a column, and pick the least that half of the weight is up to."""
        weights = self.model.median_weights or ()
        trees = [
            f"    CAST({self._tree(tree, 0)} AS DOUBLE PRECISION) AS tree_{k}"
            for k, tree in enumerate(self.model.trees)
        ]
        lines = [*(f"    {name}" for name in self._passed_on()), *trees]
        yield "trees", f"  SELECT\n{_NEXT.join(lines)}\n  FROM given"
        half = _number(0.5 * math.fsum(weights))
        candidates = []
        for k in range(len(weights)):
            terms = ["CAST(0 AS DOUBLE PRECISION)"]
            terms += [
                f"CASE WHEN tree_{j} <= tree_{k} THEN {_number(weight)} ELSE 0.0e0 END"
                for j, weight in enumerate(weights)
                if weight > 0
            ]
            below = "\n        + ".join(terms)
            candidates.append(f"CASE WHEN {below} >= {half} THEN tree_{k} ELSE {_number(_LARGEST)} END")
        lines = [*(f"    {name}" for name in self._passed_on()), f"    {self._least(candidates)} AS score_0"]
        yield "sums_1", f"  SELECT\n{_NEXT.join(lines)}\n  FROM trees"

    def _least(self, candidates: list[str]) -> str:
        if len(candidates) == 1:
            return candidates[0]
        function = "MIN" if self.dialect == "sqlite" else "LEAST"
        groups = [candidates[k : k + 50] for k in range(0, len(candidates), 50)]  # arguments are limited, too
        parts = [f"{function}({', '.join(some)})" if len(some) > 1 else some[0] for some in groups]
        return self._least(parts) if len(parts) > 1 else parts[0]

    # --- Trees -------------------------------------------------------------------------------------------

    def _tree(self, tree: PortableTree, position: int) -> str:
        """Write the value of the leaf that a row comes to."""
        values = tree.values[:, position].tolist()
        # The innermost cases first: what is written of a node is made of what is written of others.
        written: dict[int, Lines] = {}
        for node in range(tree.n_nodes - 1, -1, -1):
            if not tree.n_branches[node]:
                written[node] = [(0, _number(values[node]))]
            elif node == 0 or self._largest(tree, tree.parents[node]) != node:
                written[node] = self._case(tree, node, written)
        return "\n".join("  " * (depth + 3) + text for depth, text in written[0]).lstrip()

    @staticmethod
    def _largest(tree: PortableTree, node: int) -> int:
        """Return the child that is written last, in the same CASE."""
        return max(tree.children(node), key=lambda child: tree.sizes[child])

    def _case(self, tree: PortableTree, node: int, written: dict[int, Lines]) -> Lines:
        lines: Lines = [(0, "CASE")]
        while tree.n_branches[node]:
            last = self._largest(tree, node)
            for branch, child in enumerate(tree.children(node)):
                if child != last:
                    (_, first), *rest = written.pop(child)
                    lines.append((1, f"WHEN {self._condition(tree, node, branch)} THEN {first}"))
                    lines += [(depth + 1, text) for depth, text in rest]
            node = last
        return [*lines, (1, f"ELSE {written.pop(node)[0][1]}"), (0, "END")]

    def _condition(self, tree: PortableTree, node: int, branch: int) -> str:
        """Write what sends a row down a branch; never NULL where that matters: NULL is not true."""
        column = self._column(tree.column[node])
        if node in tree.stand_ins:
            tests = [self._own_test(tree, node, branch)]
            tests += [self._stand_in(one, branch) for one in tree.stand_ins[node]]
            otherwise = "1 = 1" if tree.missing_branch[node] == branch else "1 = 0"
            return f"COALESCE({', '.join([*tests, otherwise])})"
        missing = tree.missing_branch[node] == branch
        ranks = self.model.columns[tree.column[node]].categories
        if node not in tree.branch_of and ranks is not None:
            here = [c for place, c in enumerate(ranks) if (place <= tree.threshold[node]) == (branch == 0)]
            if not missing:  # an unseen one is missing
                return self._one_of(column, here)
            there = [c for c in ranks if c not in here]
            return f"{self._none_of(column, there)} OR {column} IS NULL" if there else "1 = 1"
        if node not in tree.branch_of:
            test = self._compared(tree.column[node], tree.threshold[node], branch == 0)
            return _or_null(test, column, missing)
        return self._group(tree, node, branch, column, missing)

    def _own_test(self, tree: PortableTree, node: int, branch: int) -> str:
        """Write a test that is NULL where the value is missing, or not known."""
        if node not in tree.branch_of:
            return self._compared(tree.column[node], tree.threshold[node], branch == 0)
        branches = [tree.branch_of[node][k] for k in range(len(tree.branch_of[node]))]
        test = self._known_group(tree.column[node], branches, branch)
        unseen = tree.unseen_branch.get(node)
        if unseen is None:
            return test
        column = self._column(tree.column[node])
        return f"COALESCE({test}, CASE WHEN {column} IS NOT NULL THEN {_truth(unseen == branch)} END)"

    def _stand_in(self, one: StandIn, branch: int) -> str:
        if one.branch_of is None:
            return self._compared(one.column, one.threshold or 0.0, branch == one.low_branch)
        return self._known_group(one.column, list(one.branch_of), branch)

    def _known_group(self, number: int, branches: list[int | None], branch: int) -> str:
        column, categories = self._column(number), self.model.columns[number].categories or ()
        here = [c for c, b in zip(categories, branches, strict=True) if b == branch]
        there = [c for c, b in zip(categories, branches, strict=True) if b not in (branch, None)]
        return self._known(column, here, there)

    def _compared(self, number: int, threshold: float, up_to: bool) -> str:
        """Write a comparison with a threshold; of ordered categories, which ones are up to it."""
        column = self._column(number)
        ranks = self.model.columns[number].categories
        if ranks is not None:
            here = [c for place, c in enumerate(ranks) if (place <= threshold) == up_to]
            there = [c for place, c in enumerate(ranks) if (place <= threshold) != up_to]
            return self._known(column, here, there)
        if math.isinf(threshold):  # which not every dialect can write
            if threshold > 0:
                return f"{column} = {column}" if up_to else f"{column} <> {column}"
            return f"{column} {'<' if up_to else '>='} {_number(-_LARGEST)}"
        return f"{column} {'<=' if up_to else '>'} {_number(threshold)}"

    def _group(self, tree: PortableTree, node: int, branch: int, column: str, missing: bool) -> str:
        categories = self.model.columns[tree.column[node]].categories or ()
        unseen = tree.unseen(node) == branch
        goes = [
            category
            for place, category in enumerate(categories)
            if (tree.branch_of_category(node, place) == branch) != unseen
        ]
        if not unseen:
            return _or_null(self._one_of(column, goes), column, missing)
        return _or_null(self._none_of(column, goes), column, missing)

    def _one_of(self, column: str, categories: Sequence[Any]) -> str:
        """Write whether a column has one of some categories; not true where it has none."""
        if not categories:
            return f"{column} <> {column}"
        number = next((j for j in self._of_many if self._column(j) == column), None)
        if number is None:
            return f"{column} IN ({', '.join(map(_category, categories))})"
        wanted = set(categories)
        flags = "".join("1" if one in wanted else "0" for one in self.model.columns[number].categories or ())
        return f"SUBSTR('{flags}', {self._position(number)}, 1) = '1'"

    def _known(self, column: str, here: Sequence[Any], there: Sequence[Any]) -> str:
        """Write a test that is NULL unless a column has one of two sets of categories."""
        yes, no = self._one_of(column, here), self._one_of(column, there)
        return f"CASE WHEN {yes} THEN 1 = 1 WHEN {no} THEN 1 = 0 END"

    def _none_of(self, column: str, categories: Sequence[Any]) -> str:
        """Write whether a column has a category, and none of some."""
        known = f"{column} IS NOT NULL"
        return f"{known} AND NOT {self._one_of(column, categories)}" if categories else known

    # --- Answers -----------------------------------------------------------------------------------------

    def _answers(self, last: str) -> str:
        model, names = self.model, iter(answer_names(self.model))
        lines = [f"  {self._key(k)} AS {quoted(key)}" for k, key in enumerate(self.keys)]
        numbers: list[str] = []
        for output in model.outputs:
            scores = [f"score_{k}" for k in range(output.begin, output.end)]
            if output.labels is None:
                lines.append(f"  {self._unless_refused(self._linked(scores[0]))} AS {quoted(next(names))}")
                continue
            lines.append(f"  {self._unless_refused(self._label(output, scores))} AS {quoted(next(names))}")
            numbers += self._shares(output, scores)
        for number, name in zip(numbers, names, strict=True):
            lines.append(f"  {self._unless_refused(number)} AS {quoted(name)}")
        return f"SELECT\n{_NEXT.join(lines)}\nFROM {last}"

    def _unless_refused(self, text: str) -> str:
        """Answer nothing where the model would refuse the row."""
        tests = []
        for number, column in enumerate(self.model.columns):
            name = self._column(number)
            if self.model.refuses_missing:
                tests.append(f"{name} IS NULL")
            if self.model.refuses_unseen and column.categories is not None:
                tests.append(self._none_of(name, list(column.categories)))
        return f"CASE WHEN {' OR '.join(tests)} THEN NULL ELSE {text} END" if tests else text

    def _linked(self, score: str) -> str:
        mean = score if self.model.divisor == 1.0 else f"{score} / {_number(self.model.divisor)}"
        return f"EXP({mean})" if self.model.link == "exp" else mean

    def _label(self, output: Output, scores: list[str]) -> str:
        labels = [self._written_label(label) for label in output.labels or ()]
        if self.model.link == "logistic":
            return f"CASE WHEN {scores[0]} > 0 THEN {labels[1]} ELSE {labels[0]} END"
        whens = []
        for k in range(len(labels) - 1):
            rest = " AND ".join(f"{scores[k]} >= {other}" for other in scores[k + 1 :])
            whens.append(f"WHEN {rest} THEN {labels[k]}")
        return f"CASE {' '.join(whens)} ELSE {labels[-1]} END" if whens else labels[0]

    def _written_label(self, label: Any) -> str:
        if isinstance(label, bool):
            return str(int(label)) if self.dialect == "sqlite" else str(label).upper()
        return str(label) if isinstance(label, int) else _category(label)

    def _shares(self, output: Output, scores: list[str]) -> list[str]:
        model = self.model
        factor = "" if model.scale == 1.0 else f"{_number(model.scale)} * "
        if model.link == "logistic":
            second = f"1.0e0 / (1.0e0 + {self._bounded_exp(f'-{factor}{scores[0]}')})"
            return [f"1.0e0 - {second}", second]
        if model.link == "softmax":
            # e^own / sum of e^other, divided by e^own: nothing is lost, however large the scores are.
            return [
                "1.0e0 / ("
                + " + ".join(self._bounded_exp(f"{factor}({other} - {own})") for other in scores)
                + ")"
                for own in scores
            ]
        return [self._linked(score) for score in scores]

    @staticmethod
    def _bounded_exp(text: str) -> str:
        # PostgreSQL refuses what over- or underflows.
        return f"CASE WHEN {text} > 700 THEN 1.0e304 WHEN {text} < -700 THEN 0.0e0 ELSE EXP({text}) END"


def _truth(value: bool) -> str:
    return "1 = 1" if value else "1 = 0"


def _or_null(test: str, column: str, missing: bool) -> str:
    return f"{test} OR {column} IS NULL" if missing else test


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")
