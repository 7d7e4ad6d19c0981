"""`hornbeam fit`: from a table and the name of its target to a model file."""

import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from hornbeam.baseline import baseline
from hornbeam.cli.judging import Judged, fit_and_judge
from hornbeam.cli.many_files import are_many_files, fit_to_files
from hornbeam.cli.methods import Method, estimator_for, with_option_flags
from hornbeam.cli.models import notes_of
from hornbeam.cli.outputs import STANDARD, AsJson, Force, check_output, print_json, write_output
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data
from hornbeam.cli.reading.targets import Target, TaskChoice, read_learning_rows, task_for
from hornbeam.cli.scores import baseline_scores, scores_of
from hornbeam.cli.sizes import LARGE, expected_bytes, leaf_size_for, size_words
from hornbeam.data.task import Task
from hornbeam.inside.words import count, printable
from hornbeam.io.native import packed

__all__ = ["fit"]


@with_option_flags
@reads_tables
def fit(
    data: Data,
    *,
    target: Target,
    method: Method = "forest",
    task: TaskChoice = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="The model file; DATA.hornbeam if left out."),
    ] = None,
    force: Force = False,
    judge: Annotated[
        bool,
        typer.Option(
            "--judge/--no-judge",
            help="Say how good the model is on rows it has not seen: out of bag, or by a copy fitted to four "
            "fifths of the rows.",
        ),
    ] = True,
    max_memory: Annotated[
        str | None,
        typer.Option(
            "--max-memory",
            metavar="AMOUNT",
            help="Read Parquet in blocks and refuse what needs more memory than this, such as 4GB. Folders "
            "and patterns are always read in blocks.",
        ),
    ] = None,
    json: AsJson = False,
    form: TableFormat,
    **options: Any,
) -> None:
    """Learn to predict a column from the others, and save the model."""
    place = _place(data, out)
    check_output(place, force=force, inputs=[data])
    if max_memory is not None or are_many_files(data):
        estimator, found, judged = fit_to_files(
            data, target, method, task, options, form=form, max_memory=max_memory, judge=judge
        )
    else:
        estimator, found, judged = _fit_in_memory(data, target, method, task, options, form=form, judge=judge)
    write_output(place, packed(estimator, notes=notes_of(data, target, form)))
    facts = {"model": place, **found}
    if json:
        if place != STANDARD:
            print_json(facts)
    else:
        typer.echo(_sentence(facts, judged), err=place == STANDARD)


def _fit_in_memory(
    data: str,
    target: str,
    method: Any,
    task: Task | None,
    options: dict[str, Any],
    *,
    form: TableFormat,
    judge: bool,
) -> tuple[Any, dict[str, Any], Judged | None]:
    X, y = read_learning_rows(data, target, form)
    chosen = task_for(y, target, task)
    estimator = estimator_for(method, chosen, options)
    _say_size(estimator, X, y, options)
    start = time.perf_counter()
    judged = fit_and_judge(estimator, X, y, chosen, judge=judge)
    facts = {
        "estimator": type(estimator).__name__,
        "task": chosen,
        "target": target,
        "rows": X.num_rows,
        "columns": X.num_columns,
        "seconds": round(time.perf_counter() - start, 3),
        "judged": None if judged is None else vars(judged),
        "training": scores_of(estimator, X, y),
        "baseline": baseline_scores(baseline(y, task=chosen), y),
    }
    return estimator, facts, judged


def _say_size(estimator: Any, X: Any, y: Any, given: dict[str, Any]) -> None:
    """Say how large the file of a forest on many rows will be, after choosing sensible leaf sizes."""
    if X.num_rows < LARGE:
        return
    leaf_size = leaf_size_for(estimator, X.num_rows, given)
    if leaf_size is not None:
        estimator.set_params(min_samples_leaf=leaf_size)
    n_bytes = expected_bytes(estimator, X, y)
    if n_bytes is not None:
        typer.echo(size_words(n_bytes, estimator.n_estimators, leaf_size), err=True)


def _place(data: str, out: str | None) -> str:
    if out is not None:
        return out
    if data == STANDARD:
        raise typer.BadParameter("The data come from standard input: name the model file with --out.")
    if are_many_files(data) and not os.path.isdir(data):
        raise typer.BadParameter("The data are a pattern of files: name the model file with --out.")
    if Path(data).name in ("", ".."):  # such as `.`: the model lies here, under the name of the folder
        return f"{Path(data).resolve().name or 'model'}.hornbeam"
    return str(Path(data).with_suffix(".hornbeam"))


def _sentence(facts: dict[str, Any], judged: Judged | None) -> str:
    size = f"{count(facts['rows'], 'row')} and {count(facts['columns'], 'column')}"
    fitted = f"{facts['estimator']} fitted on {size} in {facts['seconds']:.2f} s."
    return f"{fitted} {_verdict(facts, judged)} Saved as {printable(facts['model'], None)}."


def _verdict(facts: dict[str, Any], judged: Judged | None) -> str:
    """Write the first score: on rows that the model has not seen, if there are any."""
    if judged is None and facts["training"] is None:
        return "No rows were held out to judge it."
    if judged is None:
        metric, score = next(iter(facts["training"].items()))
        guess = facts["baseline"][metric]
        return f"On the rows it was fitted on: {metric} {score:.4g} (a guess {guess:.4g})."
    metric, score = next(iter(judged.model.items()))
    where = {
        "out of bag": f"Out of bag ({count(judged.rows, 'row')}, each by trees that have not seen it)",
        "held out": f"On {count(judged.rows, 'row')} held out from a copy",
    }[judged.how]
    return f"{where}: {metric} {score:.4g} (a guess {judged.baseline[metric]:.4g})."
