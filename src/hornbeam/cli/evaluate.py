"""`hornbeam evaluate`: a model and rows with known answers come in, scores beside the baseline's go out."""

from typing import Annotated, Any

import typer
from rich.console import Console
from sklearn.base import is_classifier

from hornbeam.baseline import baseline
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, format_for, load_model, model_columns, model_name
from hornbeam.cli.outputs import AsJson, print_json
from hornbeam.cli.scores import baseline_scores, scores_of
from hornbeam.cli.tables import Data, Missing, Separator, TableFormat, read_table, take_column
from hornbeam.cli.targets import Target, target_values
from hornbeam.data.task import Task
from hornbeam.inside.words import count, named, printable
from hornbeam.selection.sheets import Sheet

__all__ = ["evaluate", "rows_with_answers"]


def evaluate(
    model: ModelFile,
    data: Data,
    *,
    target: Target,
    train: Annotated[
        str | None,
        typer.Option("--train", metavar="FILE", help="The rows the model was fitted on, to set beside DATA."),
    ] = None,
    json: AsJson = False,
    separator: Separator = ",",
    na: Missing = None,
) -> None:
    """Score a model on rows with known answers, beside a guess that needs no model.

    The guess is made from the training rows where --train names them, else from DATA itself.
    """
    fitted = load_model(model)
    form = format_for(fitted, TableFormat(separator, na or ()))
    parts = {"train": train, "test": data} if train is not None else {"data": data}
    rows = {part: rows_with_answers(fitted, path, target, form) for part, path in parts.items()}
    task: Task = "classification" if is_classifier(fitted) else "regression"
    guess = baseline(next(iter(rows.values()))[1], task=task)
    scores = {
        part: {"rows": len(y), "baseline": baseline_scores(guess, y), "model": scores_of(fitted, X, y)}
        for part, (X, y) in rows.items()
    }
    if json:
        print_json({"estimator": model_name(fitted), "target": target, **scores})
    else:
        _print_scores(model_name(fitted), scores)


def rows_with_answers(model: Any, path: str, target: str, form: TableFormat) -> tuple[Any, Any]:
    """Read rows and their answers, the answers being of the type that the model gives."""
    if target in getattr(model, "feature_names_in_", ()):
        raise Mistake(
            f"--target {named(target)} is a column that the model predicts from: name what it predicts."
        )
    texts = {target} if is_classifier(model) and model.classes_.dtype.kind in "OUT" else set()
    kept = TableFormat(form.separator, form.missing, frozenset(form.text_columns) | texts)
    X, column = take_column(read_table(path, kept), target, flag="--target")
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


def _print_scores(name: str, scores: dict[str, Any]) -> None:
    titles = [name]
    for part, found in scores.items():
        titles += [f"baseline\n{part}", f"model\n{part}, {count(found['rows'], 'row')}"]
    rows = []
    for metric in next(iter(scores.values()))["model"]:
        cells = [part[who].get(metric) for part in scores.values() for who in ("baseline", "model")]
        rows.append([metric, *("" if cell is None else f"{cell:.4g}" for cell in cells)])
    guesses = frozenset(range(1, len(titles), 2))
    Console(highlight=False).print(Sheet(titles, rows, dim_columns=guesses))
