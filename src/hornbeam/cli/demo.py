"""`make demo`: what hornbeam does, on data that comes with it and with scikit-learn.

Two tables are fitted: twelve evenings in a restaurant, small enough to check every number by hand, and 569
tumours, split into rows to learn from and rows to be tested on. The trees are shown in words, and their
accuracy beside that of the majority baseline.
"""

import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import train_test_split

import hornbeam as hb
from hornbeam import datasets
from hornbeam.inside.words import named

__all__ = ["main"]

# One for each of the first classes; further ones start again.
CLASS_COLOURS = ("cyan", "yellow", "magenta", "green")

Rows = tuple[Any, Any]


def main() -> None:
    """Run the demonstration."""
    console = Console(highlight=False)
    console.print(
        f"\n[bold green]hornbeam {hb.__version__}[/]  decision trees and everything built from them"
    )
    try:
        show_restaurant(console)
        show_tumours(console)
    except ModuleNotFoundError as error:  # it says what to install
        raise SystemExit(str(error)) from error
    console.print()


def show_restaurant(console: Console) -> None:
    """Grow a tree on twelve rows, and look at it from all sides."""
    table = datasets.restaurant()
    X, y = table.frame(), table.y
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(X, y)
    _title(console, "Will somebody wait for a table?", "12 evenings, 10 columns of text, taken as they are")
    _show_tree(console, tree)
    _say(console, "Why the last evening gets its answer:")
    _show(console, Text(str(tree.explain(X.iloc[[-1]]))))
    _say(console, "When the answer is Yes, as one formula:")
    _show(console, Text(tree.rules("formula")["Yes"]))
    _show_accuracy(console, {"tree": tree}, {"on these 12 rows": (X, y)})


def show_tumours(console: Console) -> None:
    """Grow a tree on some rows, test it on others."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    small = hb.DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X_train, y_train)
    grown = hb.DecisionTreeClassifier(random_state=0).fit(X_train, y_train)
    _title(
        console, "Is a tumour malignant?", f"{len(X)} rows of {X.shape[1]} measurements, from scikit-learn"
    )
    _show_tree(console, small)
    _show_accuracy(
        console,
        {
            f"tree with {small.get_n_leaves()} leaves, above": small,
            f"tree grown out to {grown.get_n_leaves()} leaves": grown,
        },
        {
            f"on {len(X_train)} training rows": (X_train, y_train),
            f"on {len(X_test)} test rows": (X_test, y_test),
        },
    )


def _title(console: Console, title: str, subtitle: str) -> None:
    console.print()
    console.print(Rule(f"[bold]{title}[/]", align="left", style="green"))
    console.print(subtitle, style="dim")


def _say(console: Console, sentence: str) -> None:
    console.print()
    console.print(sentence, style="bold")


def _show(console: Console, content: Text | Table) -> None:
    console.print(Padding(content, (0, 0, 0, 2), expand=False))


def _show_tree(console: Console, tree: hb.DecisionTreeClassifier) -> None:
    """Print a tree: answers in the colours of their classes, what surrounds them held back."""
    _say(console, f"The tree, {tree.get_n_leaves()} leaves:")
    text = Text(tree.rules())
    text.highlight_regex(r"(?m)^(\|   )+", "dim")
    text.highlight_regex(r"(?m) \([^()\n]*\)$", "dim")
    for position, label in enumerate(tree.classes_):
        colour = CLASS_COLOURS[position % len(CLASS_COLOURS)]
        text.highlight_regex(f"-> {re.escape(named(label))}(?= \\()", f"bold {colour}")
    _show(console, text)


def _show_accuracy(
    console: Console, trees: Mapping[str, hb.DecisionTreeClassifier], parts: Mapping[str, Rows]
) -> None:
    """Compare trees with the answer that needs no tree: always the majority of the first part."""
    baseline = DummyClassifier(strategy="most_frequent").fit(*next(iter(parts.values())))
    table = Table("accuracy", box=None, header_style="bold", padding=(0, 3, 0, 0))
    for part in parts:
        table.add_column(part, justify="right")
    for name, model in {"majority baseline": baseline, **trees}.items():
        scores = [f"{100 * model.score(X, y):.1f} %" for X, y in parts.values()]
        table.add_row(name, *scores, style="dim" if model is baseline else "")
    console.print()
    _show(console, table)


if __name__ == "__main__":
    main()
