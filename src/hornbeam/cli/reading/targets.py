"""Rows to learn from: from a table and the name of its target to X and y."""

from typing import Annotated, Any

import typer

from hornbeam._optional import require
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.reading.table_format import TableFormat
from hornbeam.cli.reading.tables import read_table, take_column
from hornbeam.data.task import Task, task_of
from hornbeam.inside.words import count, named, printable

__all__ = [
    "KnownTarget",
    "Target",
    "TaskChoice",
    "read_learning_rows",
    "target_values",
    "task_for",
    "without_ids",
]

Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="The column to predict.")]
KnownTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="The column with the true values; the model file usually names it.",
    ),
]
TaskChoice = Annotated[
    Task | None,
    typer.Option(
        "--task",
        metavar="classification|regression",
        help="Whether to predict classes or numbers; the target decides if left out.",
    ),
]


def read_learning_rows(data: str, target: str, form: TableFormat) -> tuple[Any, Any]:
    """Read a table and split it into the columns to learn from and the target."""
    X, column = take_column(without_ids(read_table(data, form), form), target, flag="--target")
    if X.num_rows == 0 or X.num_columns == 0:
        lacking = "rows" if X.num_rows == 0 else f"columns beside {named(target)}"
        raise Mistake(f"{printable(data, None)} has no {lacking}: there is nothing to learn from.")
    return X, target_values(column, target)


def without_ids(table: Any, form: TableFormat) -> Any:
    """Leave out columns that only identify a row."""
    for name in form.ids or ():
        table, _ = take_column(table, name, flag="--id")
    return table


def task_for(y: Any, target: str, wanted: Task | None) -> Task:
    """Decide between classes and numbers; numbers cannot be learned from texts."""
    if wanted == "regression" and y.dtype.kind not in "iufb":
        raise Mistake(
            f"--task regression needs numbers, but {named(target)} holds texts, such as {named(y[0])}."
        )
    return wanted or task_of(y)


def target_values(column: Any, name: str) -> Any:
    """Return a target as an array; every row must have one."""
    if column.null_count:
        row = next(i for i, value in enumerate(column.to_pylist()) if value is None)
        others = count(column.null_count - 1, "other row")
        raise Mistake(
            f"The target {named(name)} is empty in data row {row + 1} and {others}: leave such rows out."
        )
    if _is_text(column):
        # A million texts are a few classes, most often: each becomes one of Python's only once.
        coded = column.dictionary_encode()
        return coded.dictionary.to_numpy(zero_copy_only=False).astype(str)[coded.indices.to_numpy()]
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values


def _is_text(column: Any) -> bool:
    arrow = require("pyarrow", purpose="Reading tables")
    return bool(arrow.types.is_string(column.type) or arrow.types.is_large_string(column.type))
