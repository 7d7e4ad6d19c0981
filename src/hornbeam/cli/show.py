"""`hornbeam show`: from a model file to its tree, its rules, or the reasons for a prediction."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import typer

from hornbeam.cli.explain import explained_row, words_of
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import LoadedModel, ModelFile, load_model, model_columns, model_name
from hornbeam.cli.outputs import AsJson, print_json
from hornbeam.cli.reading.table_format import TableFormat, reads_tables
from hornbeam.cli.reading.targets import read_learning_rows
from hornbeam.inside.ask import Question, next_question
from hornbeam.inside.nodes import readings_of
from hornbeam.inside.rules import write_rules
from hornbeam.inside.words import count, named, percent, printable

__all__ = ["show"]

MOST_IMPORTANT = 10  # features listed for an ensemble

Style = Literal["text", "lines", "formula", "code"]


@reads_tables
def show(
    model: ModelFile,
    *,
    tree: Annotated[
        int | None, typer.Option("--tree", metavar="N", help="Which tree of an ensemble, from 0.")
    ] = None,
    rules: Annotated[
        Style,
        typer.Option(
            "--rules",
            metavar="text|lines|formula|code",
            help="The whole tree, a line per leaf, a formula per answer, or nested ifs.",
        ),
    ] = "text",
    explain: Annotated[
        str | None,
        typer.Option(
            "--explain", metavar="DATA", help="A table: explain the prediction for one of its rows."
        ),
    ] = None,
    row: Annotated[
        int, typer.Option("--row", metavar="N", help="Which row of that table, from 1.", min=1)
    ] = 1,
    ask: Annotated[
        bool, typer.Option("--ask", help="Ask the tree's questions one by one, until there is an answer.")
    ] = False,
    splits: Annotated[
        str | None,
        typer.Option("--splits", metavar="DATA", help="A table: list the tests that a node could have used."),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="The target in that table.")
    ] = None,
    node: Annotated[
        int, typer.Option("--node", metavar="N", min=0, help="Which node, as export numbers them.")
    ] = 0,
    json: AsJson = False,
    form: TableFormat,
) -> None:
    """Show what a model has learned: its tree, its rules, why it predicts what, a node's candidate tests."""
    loaded = load_model(model, form)
    fitted = loaded.fitted
    if ask:
        shown = _ask(fitted, tree)
    elif splits is not None:
        shown = _splits(loaded, splits, target, node)
    elif explain is not None:
        explanation = explained_row(fitted, explain, row, loaded.form)
        text = (
            words_of(explanation) if isinstance(explanation, dict) else str(explanation)
        )  # a stack tells member by member
        shown = {"row": row, "explanation": text}
    else:
        shown = _description(fitted, tree, rules)
    if json:
        print_json({"estimator": model_name(fitted), **shown})
    else:
        typer.echo(_as_text(model_name(fitted), shown))


def _ask(model: Any, number: int | None) -> dict[str, Any]:
    """Ask for values at the terminal, and say where they lead; questions go to standard error."""
    trees = readings_of(model)
    if number is None and len(trees) != 1:
        raise Mistake(
            f"{model_name(model)} has {count(len(trees), 'tree')}, and --ask goes through one: "
            "say which with --tree N."
        )
    reading = _tree(model, trees, number or 0)
    known: dict[str, Any] = {}
    while isinstance(question := next_question(reading, known), Question):
        typer.echo(question.words, nl=False, err=True)
        line = sys.stdin.readline()
        if not line:
            raise Mistake(
                f"The input ended before the tree could answer: it asked for {named(question.feature)}."
            )
        try:
            known[question.feature] = question.read(line)
        except ValueError as error:
            typer.echo(str(error), err=True)
    return {"asked": known, "answer": question.outcome, "explanation": str(question)}


def _splits(loaded: LoadedModel, data: str, target: str | None, node: int) -> dict[str, Any]:
    """List the tests that a node could have used on some rows, the best first."""
    model, target = loaded.fitted, target or loaded.target
    if not hasattr(model, "split_table"):
        raise Mistake(
            f"{model_name(model)} is not a single tree: only single trees can list the tests of a node."
        )
    if target is None:
        raise typer.BadParameter("--splits needs --target: the column that holds the right answers.")
    if node >= model.tree_.node_count:
        raise Mistake(f"There is no node {node}: the tree has {count(model.tree_.node_count, 'node')}.")
    X, y = read_learning_rows(data, target, replace(loaded.form, ids=None))
    table = model.split_table(model_columns(model, X), y, node)
    return {"node": node, "splits": sorted(table.to_dict("records"), key=lambda split: split["score"])}


def _tree(model: Any, trees: Sequence[Any], number: int) -> Any:
    if not 0 <= number < len(trees):
        raise Mistake(f"There is no tree {number}: {model_name(model)} has {count(len(trees), 'tree')}.")
    return trees[number]


def _description(model: Any, number: int | None, style: Style) -> dict[str, Any]:
    """Describe a single tree by itself; an ensemble by its features, or by the tree that was asked for."""
    if hasattr(model, "first_level"):
        return _members(model, number, style)
    trees = readings_of(model)
    if number is None and hasattr(model, "steps"):
        return {"coefficients": _coefficients(model)}
    if number is None and len(trees) != 1:
        return {"trees": len(trees), "importances": _importances(model)}
    chosen = _tree(model, trees, number or 0)
    return {"tree": number or 0, "rules": write_rules(chosen, style)}


def _members(model: Any, number: int | None, style: Style) -> dict[str, Any]:
    """Describe a stack or a blend member by member."""
    weights = getattr(model, "weights_", {})
    return {
        "members": {
            name: {
                "estimator": model_name(member),
                **({"weight": weights[name]} if name in weights else {}),
                **_description(member, number if readings_of(member) else None, style),
            }
            for name, member in model.first_level().items()
        },
        **({"verdict": model.verdict_} if hasattr(model, "verdict_") else {}),
    }


def _importances(model: Any) -> dict[str, float]:
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return {}
    names = getattr(model, "feature_names_in_", range(len(shares)))
    ranked = sorted(zip(names, shares, strict=True), key=lambda pair: -pair[1])
    return {str(name): float(share) for name, share in ranked[:MOST_IMPORTANT]}


def _coefficients(pipeline: Any) -> dict[str, dict[str, float]]:
    """The largest coefficients of a linear model, by class; a regression has one list."""
    columns = pipeline.steps[0][1].columns_out()
    model = pipeline.steps[-1][1]
    rows = np.atleast_2d(model.coef_)
    answers = getattr(model, "classes_", ["the number"])[-len(rows) :]  # of two classes, the second
    found = {}
    for answer, row in zip(answers, rows, strict=True):
        ranked = np.argsort(-np.abs(row), kind="stable")[:MOST_IMPORTANT]
        found[str(answer)] = {columns[place]: float(row[place]) for place in ranked}
    return found


def _as_text(name: str, shown: dict[str, Any]) -> str:
    for what, write in _WRITERS.items():
        if what in shown:
            return write(name, shown)
    rules = shown["rules"]
    if isinstance(rules, dict):
        return "\n".join(f"{named(answer)}: {formula}" for answer, formula in rules.items())
    return str(rules)


def _member_lines(name: str, shown: dict[str, Any]) -> str:
    lines = [f"{name} of {count(len(shown['members']), 'member')}. {shown.get('verdict', '')}".rstrip()]
    for member, facts in shown["members"].items():
        weight = f", weight {percent(facts['weight'])}" if "weight" in facts else ""
        lines += ["", f"{named(member)}{weight}:", _as_text(facts["estimator"], facts)]
    return "\n".join(lines)


def _importance_lines(name: str, n_trees: int, importances: dict[str, float]) -> str:
    if not n_trees:
        return f"{name} has no trees to show; `hornbeam report` describes it by its predictions."
    lines = [f"{name} of {count(n_trees, 'tree')}; give --tree N to see one."]
    lines += [f"{percent(share):>8}  {named(feature)}" for feature, share in importances.items()]
    return "\n".join(lines)


def _coefficient_lines(name: str, coefficients: dict[str, dict[str, float]]) -> str:
    lines = [
        f"{name}: what moves the answer most, and how far.",
        "Numeric columns are measured in standard deviations.",
    ]
    for answer, columns in coefficients.items():
        lines.append(f"towards {named(answer)}:")
        lines += [f"{weight:>+12.4g}  {named(column)}" for column, weight in columns.items()]
    return "\n".join(lines)


def _split_lines(splits: Sequence[dict[str, Any]]) -> str:
    """Write a line per test: what it scores, what it gains, and a mark at the one the tree asks."""
    lines = [f"{'score':>12}  {'gain':>12}  test"]
    for split in splits:
        mark = "  <- asked" if split["chosen"] else ""
        lines.append(
            f"{split['score']:>12.6g}  {split['gain']:>12.6g}  {printable(split['test'], None)}{mark}"
        )
    return "\n".join(lines)


# What is shown, and how it is written; rules are left for the last.
_WRITERS: Mapping[str, Callable[[str, dict[str, Any]], str]] = {
    "explanation": lambda _, shown: str(shown["explanation"]),
    "splits": lambda _, shown: _split_lines(shown["splits"]),
    "members": _member_lines,
    "coefficients": lambda name, shown: _coefficient_lines(name, shown["coefficients"]),
    "importances": lambda name, shown: _importance_lines(name, shown["trees"], shown["importances"]),
}
