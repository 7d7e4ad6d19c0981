"""`hornbeam compare`: from a table and the name of its target to a leaderboard of the family."""

import sys
import warnings
from typing import Annotated, Any

import typer

import hornbeam as hb
from hornbeam.cli.models import notes_of
from hornbeam.cli.outputs import AsJson, Force, check_output, print_result, write_output
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data
from hornbeam.cli.reading.targets import Target, TaskChoice, read_learning_rows, task_for
from hornbeam.inside.words import named, printable
from hornbeam.io.native import packed
from hornbeam.selection.compare import DEFAULT_SECONDS
from hornbeam.selection.family import NAMES
from hornbeam.warnings import DataWarning

__all__ = ["Folds", "RandomSeed", "Scoring", "compare"]

Folds = Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Folds of cross-validation.")]
Scoring = Annotated[
    str | None,
    typer.Option("--scoring", metavar="NAME", help="The metric that decides; accuracy or RMSE if left out."),
]
RandomSeed = Annotated[
    int, typer.Option("--random-state", metavar="N", min=0, max=2**32 - 1, help="Seed of all draws.")
]


@reads_tables
def compare(
    data: Data,
    *,
    target: Target,
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method", metavar="NAME", help=f"May be repeated; all if left out: {', '.join(NAMES)}."
        ),
    ] = None,
    task: TaskChoice = None,
    folds: Folds = 5,
    scoring: Scoring = None,
    time_budget: Annotated[
        float,
        typer.Option(
            "--time-budget",
            metavar="SECONDS",
            help="Methods not finished by then are named but not ranked; inf for no limit.",
        ),
    ] = DEFAULT_SECONDS,
    search: Annotated[
        bool, typer.Option("--search/--no-search", help="Search the few parameters that matter.")
    ] = True,
    threshold: Annotated[
        str | None,
        typer.Option(
            "--threshold",
            metavar="HOW",
            help="With two classes, when to predict the second: from a probability on; to maximise "
            "accuracy, f1 or balanced-accuracy; or by the cost of missing a row of each class, yes=10,no=1.",
        ),
    ] = None,
    random_state: RandomSeed = 0,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the winner, fitted on all rows.")
    ] = None,
    force: Force = False,
    json: AsJson = False,
    form: TableFormat,
) -> None:
    """Compare the whole family, a linear model and a guess on the same folds; error bars and a verdict."""
    if out is not None:
        check_output(out, force=force, inputs=[data])
    X, y = read_learning_rows(data, target, form)
    found = hb.compare(
        X,
        y,
        task=task_for(y, target, task),
        methods=method,
        cv=folds,
        scoring=scoring,
        time_budget=time_budget,
        search=search,
        threshold=None if threshold is None else _threshold_of(threshold),
        random_state=random_state,
        verbose=sys.stderr.isatty(),
    )
    notes = notes_of(data, target, form)
    if found.threshold is not None:
        notes["threshold"] = min(found.threshold.share, 1.0)
    saved = None if out is None else _save_best(found, X, y, out, notes)
    facts = {
        "verdict": found.verdict,
        "cut_short": found.cut_short,
        "failures": dict(found.failures),
        "saved": saved,
    }
    print_result(found, {"methods": found.records, **facts}, as_json=json, out=out)


def _threshold_of(text: str) -> Any:
    """Read a probability, a name, or costs by class."""
    try:
        return float(text)
    except ValueError:
        pass
    if "=" not in text:
        return text.replace("-", " ")
    try:
        pairs = [pair.rsplit("=", 1) for pair in text.split(",")]
        return {label.strip(): float(price) for label, price in pairs}
    except ValueError:
        raise typer.BadParameter(
            f"--threshold {text}: give prices as yes=10,no=1, a number for each class."
        ) from None


def _save_best(found: hb.Comparison, X: Any, y: Any, out: str, notes: dict[str, Any]) -> str:
    """Save the best model that a file can hold, which is any but the baseline; return its method's name."""
    for name in found.names:
        model = found.best_ if name == found.best_name else found.estimator(name).fit(X, y)
        try:
            pieces = packed(model, notes=notes)
        except (TypeError, ValueError):  # the baseline; what the user adds cannot come from a command line
            continue
        write_output(out, pieces)
        if name != found.best_name:
            warnings.warn(
                f"{named(found.best_name)} is best, but a model file cannot hold it: {named(name)} was saved "
                f"as {printable(out, None)}. In Python, `hb.compare(...).best_` can be pickled.",
                DataWarning,
                stacklevel=2,
            )
        return name
    raise typer.BadParameter("--out: none of these methods can be saved; add one of hornbeam's trees.")
