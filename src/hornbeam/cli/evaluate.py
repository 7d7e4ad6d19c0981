"""`hornbeam evaluate`: from a model and rows with known targets to scores, next to the baseline's."""

from typing import Annotated, Any

import typer
from rich.console import Console
from sklearn.base import is_classifier

from hornbeam.baseline import baseline
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import LoadedModel, ModelFile, load_model, model_columns, model_name
from hornbeam.cli.outputs import AsJson, print_json
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.tables import Data, read_table, take_column
from hornbeam.cli.reading.targets import KnownTarget, target_values
from hornbeam.cli.scores import baseline_scores, scores_of
from hornbeam.data.task import Task
from hornbeam.inside.words import count, named, printable
from hornbeam.selection.sheets import Sheet

__all__ = ["evaluate", "known_target", "rows_with_answers"]


@reads_tables
def evaluate(
    model: ModelFile,
    data: Data,
    *,
    target: KnownTarget = None,
    train: Annotated[
        str | None,
        typer.Option(
            "--train", metavar="FILE", help="The rows the model was fitted on, to compare with DATA."
        ),
    ] = None,
    json: AsJson = False,
    form: TableFormat,
) -> None:
    """Score a model on rows with known targets, and a guess that needs no model.

    The guess is made from the training rows if --train names them, otherwise from DATA itself.
    """
    loaded = load_model(model, form)
    asked = known_target(loaded, target)
    parts = {"train": train, "test": data} if train is not None else {"data": data}
    rows = {part: rows_with_answers(loaded, path, asked) for part, path in parts.items()}
    task: Task = "classification" if is_classifier(loaded.fitted) else "regression"
    guess = baseline(next(iter(rows.values()))[1], task=task)
    scores = {
        part: {"rows": len(y), "baseline": baseline_scores(guess, y), "model": scores_of(loaded.fitted, X, y)}
        for part, (X, y) in rows.items()
    }
    if json:
        print_json({"estimator": model_name(loaded.fitted), "target": asked, **scores})
    else:
        _print_scores(model_name(loaded.fitted), asked, scores)


def known_target(loaded: LoadedModel, given: str | None) -> str:
    """Return the target that a flag names, or else the model file."""
    target = given if given is not None else loaded.target
    if target is None:
        raise typer.BadParameter(
            "The model file does not say which column holds the right answers: name it with --target."
        )
    return target


def rows_with_answers(loaded: LoadedModel, path: str, target: str) -> tuple[Any, Any]:
    """Read rows and their answers, the answers being of the type that the model gives."""
    model = loaded.fitted
    if target in getattr(model, "feature_names_in_", ()):
        raise Mistake(
            f"--target {named(target)} is a column that the model predicts from: name what it predicts."
        )
    texts = {target} if is_classifier(model) and model.classes_.dtype.kind in "OUT" else set()
    X, column = take_column(read_table(path, loaded.form.keeping_as_text(texts)), target, flag="--target")
    if X.num_rows == 0:
        raise Mistake(f"{printable(path, None)} has no rows: there is nothing to score.")
    y = target_values(column, target)
    if not is_classifier(model) and y.dtype.kind not in "iuf":
        raise Mistake(f"The model predicts numbers, but {named(target)} holds text, such as {named(y[0])}.")
    if is_classifier(model) and (y.dtype.kind in "iuf") != (model.classes_.dtype.kind in "iuf"):
        raise Mistake(
            f"The model predicts classes such as {named(model.classes_[0])}, but {named(target)} holds "
            f"values such as {named(y[0])}."
        )
    return model_columns(model, X), y


def _print_scores(name: str, target: str, scores: dict[str, Any]) -> None:
    """Print one table: a line per metric; the guess, the model and, if they are given, the training rows."""
    *seen, judged = scores.values()
    columns = [judged["baseline"], judged["model"], *(part["model"] for part in seen)]
    titles = ["", "guess", "model", *(["model on its training rows"] if seen else [])]
    rows = [
        [metric, *("" if (cell := column.get(metric)) is None else f"{cell:.4g}" for column in columns)]
        for metric in judged["model"]
    ]
    console = Console(highlight=False)
    console.print(f"{name}, predicting {named(target)}, on {count(judged['rows'], 'row')}", markup=False)
    console.print(Sheet(titles, rows, dim_columns=frozenset({1})))
