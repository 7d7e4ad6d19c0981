"""`hornbeam fit`: a table and the name of its target come in, a model file goes out."""

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.baseline import baseline
from hornbeam.cli.methods import Method, estimator_for, with_option_flags
from hornbeam.cli.outputs import STANDARD, AsJson, Force, check_output, print_json, write_output
from hornbeam.cli.scores import baseline_scores, scores_of
from hornbeam.cli.tables import Data, Missing, Separator, TableFormat
from hornbeam.cli.targets import Target, TaskChoice, read_learning_rows, task_for
from hornbeam.inside.words import count, printable
from hornbeam.io.native import packed

__all__ = ["fit"]


@with_option_flags
def fit(
    data: Data,
    *,
    target: Target,
    method: Method = "forest",
    task: TaskChoice = None,
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
    X, y = read_learning_rows(data, target, TableFormat(separator, na or ()))
    chosen = task_for(y, target, task)
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
        "baseline": baseline_scores(baseline(y, task=chosen), y),
    }
    if json:
        if place != STANDARD:
            print_json(facts)
    else:
        typer.echo(_sentence(facts), err=place == STANDARD)


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
