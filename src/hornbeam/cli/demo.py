"""`make demo`: what hornbeam does, on data that comes with it and with scikit-learn, or on the user's own.

It uses three tables: twelve evenings in a restaurant, small enough to check every number by hand; 569
tumours, with classes to predict; 442 patients, with numbers to predict. The first is shown as a tree in
words, the others as comparisons of the whole family, with error bars and a verdict. A report about the best
model of the second goes into an HTML file, whose path is printed.
"""

import re
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

import hornbeam as hb
from hornbeam import datasets
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.targets import read_learning_rows
from hornbeam.data.shared import rows_of
from hornbeam.inside.words import count, named, printable

__all__ = ["main"]

# One for each of the first classes; further ones start again.
CLASS_COLOURS = ("cyan", "yellow", "magenta", "green")

REPORT = "hornbeam-demo.html"
FEWEST_LEAVES = 4  # of a tree that is worth looking at


@reads_tables
def main(
    *,
    data: Annotated[
        str | None, typer.Option("--data", metavar="FILE", help="A CSV or Parquet file of your own.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="The column of it to predict.")
    ] = None,
    time_budget: Annotated[
        float, typer.Option("--time-budget", metavar="SECONDS", min=1, help="For each comparison.")
    ] = 12.0,
    form: TableFormat,
) -> None:
    """See what hornbeam does: a tree in words, comparisons of the whole family, and a report."""
    if (data is None) != (target is None):
        raise typer.BadParameter("--data and --target go together: a table, and the column to predict.")
    console = Console(highlight=False)
    greeting = f"\n[bold green]hornbeam {hb.__version__}[/]  decision trees and everything built from them"
    if data is not None and target is not None:
        X, y = read_learning_rows(data, target, form)
        console.print(greeting)
        about = f"{count(X.num_rows, 'row')} and {count(X.num_columns, 'column')} of {printable(data, None)}"
        _title(console, f"What tells {named(target)}?", about)
        show_report(console, show_comparison(console, X, y, time_budget), X, y, target)
    else:
        console.print(greeting)
        show_restaurant(console)
        show_tumours(console, time_budget)
        show_patients(console, time_budget)
    console.print()


def show_restaurant(console: Console) -> None:
    """Grow a tree on twelve rows, and show it from all sides."""
    table = datasets.restaurant()
    X, y = table.frame(), table.y
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(X, y)
    _title(console, "Will somebody wait for a table?", "12 evenings, 10 columns of text, taken as they are")
    _show_tree(console, tree)
    _say(console, "Why the last evening gets its answer:")
    _show(console, Text(str(tree.explain(X.iloc[[-1]]))))
    _say(console, "When the answer is Yes, as one formula:")
    _show(console, Text(tree.rules("formula")["Yes"]))


def show_tumours(console: Console, seconds: float) -> None:
    """Grow a small tree, then compare the family; a report about the winner is written."""
    from sklearn.datasets import load_breast_cancer  # noqa: PLC0415 - data that only the demonstration needs

    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    _title(
        console, "Is a tumour malignant?", f"{len(X)} rows of {X.shape[1]} measurements, from scikit-learn"
    )
    _show_tree(console, hb.DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y))
    show_report(console, show_comparison(console, X, y, seconds), X, y, "diagnosis")


def show_patients(console: Console, seconds: float) -> None:
    """Compare the family on a regression problem."""
    from sklearn.datasets import load_diabetes  # noqa: PLC0415

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    _title(
        console,
        "How will diabetes progress?",
        f"{len(X)} rows of {X.shape[1]} measurements, from scikit-learn",
    )
    show_comparison(console, X, y, seconds)


def show_comparison(console: Console, X: Any, y: Any, seconds: float) -> hb.Comparison:
    """Compare the whole family on one table."""
    _say(console, "The whole family and a linear model, on the same five folds (* with a search):")
    found = hb.compare(X, y, time_budget=seconds, random_state=0, verbose=sys.stderr.isatty())
    _show(console, found)
    return found


def show_report(console: Console, found: hb.Comparison, X: Any, y: Any, target: str) -> None:
    """Write a report about the best model made of trees, judged on a quarter of the rows."""
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    parts = train_test_split(range(len(y)), test_size=0.25, random_state=0)
    (X_fit, y_fit), (X_judge, y_judge) = ((rows_of(X, rows), rows_of(y, rows)) for rows in parts)
    for name in found.names:
        if hasattr(found.estimator(name), "_reading"):
            model = found.estimator(name).fit(X_fit, y_fit)
            if model._model.trees[0].n_leaves >= FEWEST_LEAVES:
                break
    else:
        return
    path = Path(tempfile.mkdtemp(prefix="hornbeam-")) / REPORT
    hb.report(model, X_judge, y_judge, path, X_train=X_fit, y_train=y_fit, target_name=target)
    _say(console, f"A report about {name}: {path.as_uri()}")


def _title(console: Console, title: str, subtitle: str) -> None:
    console.print()
    console.print(Rule(Text(title, style="bold"), align="left", style="green"))
    console.print(Text(subtitle, style="dim"))


def _say(console: Console, sentence: str) -> None:
    console.print()
    console.print(Text(sentence, style="bold"), soft_wrap=True)


def _show(console: Console, content: Any) -> None:
    console.print(Padding(content, (0, 0, 0, 2), expand=False))


def _show_tree(console: Console, tree: hb.DecisionTreeClassifier) -> None:
    """Print a tree: predictions in the colours of their classes, everything else dimmed."""
    _say(console, f"The tree, {tree.get_n_leaves()} leaves:")
    text = Text(_folded(tree.rules(), console.width - 2))
    text.highlight_regex(r"(?m)^(\|   )+", "dim")
    text.highlight_regex(r"(?m)\s\([^()]*\)$", "dim")
    for position, label in enumerate(tree.classes_):
        colour = CLASS_COLOURS[position % len(CLASS_COLOURS)]
        text.highlight_regex(f"-> {re.escape(named(label))}(?=\\s\\()", f"bold {colour}")
    _show(console, text)


def _folded(tree: str, width: int) -> str:
    """Fold the long lines of a tree so that what goes on below stays in its place in the tree."""
    lines = []
    for line in tree.splitlines():
        lead = "|   " * line.count("|   ") + " " * 6
        lines += textwrap.wrap(line, width, subsequent_indent=lead, break_long_words=False)
    return "\n".join(lines)
