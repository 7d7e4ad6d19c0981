"""`hornbeam fit`: a table and the name of its target come in, a model file goes out."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.cli.methods import Method, estimator_for, with_option_flags
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.outputs import STANDARD, AsJson, Force, check_output, print_json, write_output
from hornbeam.cli.scores import baseline_for, scores_of
from hornbeam.cli.tables import Data, Missing, Separator, TableFormat, read_table, take_column
from hornbeam.data.task import Task, task_of
from hornbeam.inside.words import count, named, printable
from hornbeam.io.native import packed

__all__ = ["Target", "fit", "target_values"]

Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="The column to predict.")]


@with_option_flags
def fit(
    data: Data,
    *,
    target: Target,
    method: Method = "forest",
    task: Annotated[
        Task | None,
        typer.Option("--task", help="Classes or numbers; the target decides if left out."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="The model file; DATA.hornbeam if left out."),
    ] = None,
    force: Force = False,
    json: AsJson = False,
    separator: Separator = ",",
    na: Missing = None,
    **options: Any,
) -> None:
    """Learn to predict a column from the others, and save the model."""
    place = _place(data, out)
    check_output(place, force=force, inputs=[data])
    table = read_table(data, TableFormat(separator, na or ()))
    X, column = take_column(table, target, flag="--target")
    if X.num_rows == 0 or X.num_columns == 0:
        lacking = "rows" if X.num_rows == 0 else f"columns beside {named(target)}"
        raise Mistake(f"{printable(data, None)} has no {lacking}: there is nothing to learn from.")
    y = target_values(column, target)
    chosen = task or task_of(y)
    estimator = estimator_for(method, chosen, options)
    start = time.perf_counter()
    estimator.fit(X, y)
    seconds = time.perf_counter() - start
    write_output(place, packed(estimator))
    facts = {
        "model": place,
        "estimator": type(estimator).__name__,
        "task": chosen,
        "target": target,
        "rows": X.num_rows,
        "columns": X.num_columns,
        "seconds": round(seconds, 3),
        "training": scores_of(estimator, X, y),
        "baseline": scores_of(baseline_for(estimator, y), X, y),
    }
    if json:
        if place != STANDARD:
            print_json(facts)
    else:
        typer.echo(_sentence(facts), err=place == STANDARD)


def target_values(column: Any, name: str) -> Any:
    """Return a target as an array; every row must have one."""
    if column.null_count:
        row = next(i for i, value in enumerate(column.to_pylist()) if value is None)
        others = count(column.null_count - 1, "other row")
        raise Mistake(
            f"The target {named(name)} is empty in data row {row + 1} and {others}: leave such rows out."
        )
    values = column.to_numpy(zero_copy_only=False)
    return values.astype(str) if values.dtype == object else values


def _place(data: str, out: str | None) -> str:
    if out is not None:
        return out
    if data == STANDARD:
        raise typer.BadParameter("The data come from standard input: name the model file with --out.")
    return str(Path(data).with_suffix(".hornbeam"))


def _sentence(facts: dict[str, Any]) -> str:
    metric, trained = next(iter(facts["training"].items()))
    always = facts["baseline"][metric]
    size = f"{count(facts['rows'], 'row')} and {count(facts['columns'], 'column')}"
    return (
        f"{facts['estimator']} fitted on {size} in {facts['seconds']:.2f} s; {metric} on these rows "
        f"{trained:.4g} (baseline {always:.4g}). Saved as {printable(facts['model'], None)}."
    )
