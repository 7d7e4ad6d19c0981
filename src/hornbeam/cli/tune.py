"""`hornbeam tune`: from a table, a method and values to try to their scores and the best model."""

import sys
from typing import Annotated, Any, Literal

import typer

import hornbeam as hb
from hornbeam.cli.compare import Folds
from hornbeam.cli.methods import Method, class_of, estimator_for, option_value, with_option_flags
from hornbeam.cli.models import notes_of
from hornbeam.cli.outputs import AsJson, Force, check_output, print_result, write_output
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data
from hornbeam.cli.reading.targets import Target, TaskChoice, read_learning_rows, task_for
from hornbeam.data.task import Task
from hornbeam.declare import options_of
from hornbeam.inside.words import printable
from hornbeam.io.native import packed

__all__ = ["tune"]


@with_option_flags
@reads_tables
def tune(
    data: Data,
    *,
    target: Target,
    method: Method = "forest",
    grid: Annotated[
        list[str] | None,
        typer.Option(
            "--grid",
            metavar="NAME=V1,V2,...",
            help="Values to try for an option; may be repeated. The usual ones if left out.",
        ),
    ] = None,
    task: TaskChoice = None,
    folds: Folds = 5,
    scoring: Annotated[
        str | None, typer.Option("--scoring", metavar="NAME", help="A scorer of scikit-learn.")
    ] = None,
    choose: Annotated[
        Literal["best", "one-standard-error"],
        typer.Option(
            "--choose",
            metavar="best|one-standard-error",
            help="Which setting to save: the best, or the simplest close to it.",
        ),
    ] = "best",
    time_budget: Annotated[
        float | None,
        typer.Option(
            "--time-budget", metavar="SECONDS", help="Settings that are not judged by then are left out."
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="Save the chosen model, fitted on all rows."),
    ] = None,
    force: Force = False,
    json: AsJson = False,
    form: TableFormat,
    **options: Any,
) -> None:
    """Try values of a method's options by cross-validation; options given as flags stay fixed."""
    if out is not None:
        check_output(out, force=force, inputs=[data])
    X, y = read_learning_rows(data, target, form)
    chosen = task_for(y, target, task)
    if "random_state" in options_of(class_of(method, chosen)):
        options.setdefault("random_state", "0")  # or all settings would differ by chance, too
    found = hb.tune(
        X,
        y,
        estimator_for(method, chosen, options),
        _grid(grid, method, chosen),
        cv=folds,
        scoring=scoring,
        choose="best" if choose == "best" else "one_standard_error",
        time_budget=time_budget,
        verbose=sys.stderr.isatty(),
    )
    if out is not None:
        write_output(out, packed(found.best_estimator_, notes=notes_of(data, target, form)))
    facts = {
        "settings": found.records,
        "best": _plain(found.best_params_),
        "one standard error": _plain(found.one_standard_error_params_),
        "errors": {str(place): why for place, why in found.errors.items()},
    }
    print_result(found, facts, as_json=json, out=out)


def _grid(given: list[str] | None, method: str, task: Task) -> dict[str, list[Any]] | None:
    if not given:
        return None
    grid = {}
    for entry in given:
        name, equals, values = entry.partition("=")
        if not (equals and name.strip() and values.strip()):
            raise typer.BadParameter(
                f"--grid {printable(entry)!r}: write an option and its values, as in max-depth=2,4,8."
            )
        name = name.strip().removeprefix("--").replace("-", "_")
        grid[name] = [option_value(method, task, name, text.strip()) for text in values.split(",")]
    return grid


def _plain(params: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value if value is None or isinstance(value, bool | int | float | str) else printable(value)
        for name, value in params.items()
    }
