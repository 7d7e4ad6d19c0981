"""`hornbeam show`: a model file comes in; its tree, its rules, or why a row got its answer, go out."""

from typing import Annotated, Any, Literal

import typer

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.models import ModelFile, format_for, load_model, model_columns
from hornbeam.cli.outputs import AsJson, print_json
from hornbeam.cli.tables import Missing, Separator, TableFormat, read_table
from hornbeam.inside.rules import write_rules
from hornbeam.inside.words import count, named, percent, printable

__all__ = ["show"]

MOST_IMPORTANT = 10  # features listed for an ensemble

Style = Literal["text", "lines", "formula"]


def show(
    model: ModelFile,
    *,
    tree: Annotated[
        int | None, typer.Option("--tree", metavar="N", help="Which tree of an ensemble, from 0.")
    ] = None,
    rules: Annotated[
        Style, typer.Option("--rules", help="The whole tree, a line per leaf, or a formula per answer.")
    ] = "text",
    explain: Annotated[
        str | None,
        typer.Option("--explain", metavar="DATA", help="A table; say why one of its rows gets its answer."),
    ] = None,
    row: Annotated[
        int, typer.Option("--row", metavar="N", help="Which row of that table, from 1.", min=1)
    ] = 1,
    json: AsJson = False,
    separator: Separator = ",",
    na: Missing = None,
) -> None:
    """Show what a model has learned: its tree, its rules, or why a row gets its answer."""
    fitted = load_model(model)
    if explain is not None:
        form = format_for(fitted, TableFormat(separator, na or ()))
        shown = {"row": row, "explanation": _explanation(fitted, explain, row, form)}
    else:
        shown = _description(fitted, tree, rules)
    if json:
        print_json({"estimator": type(fitted).__name__, **shown})
    else:
        typer.echo(_as_text(type(fitted).__name__, shown))


def _explanation(model: Any, data: str, row: int, form: TableFormat) -> str:
    if not hasattr(model, "explain"):
        raise Mistake(f"{type(model).__name__} cannot explain a single row yet.")
    table = model_columns(model, read_table(data, form))
    if row > table.num_rows:
        raise Mistake(f"{printable(data, None)} has {count(table.num_rows, 'row')}: there is no row {row}.")
    return str(model.explain(table.slice(row - 1, 1).to_pylist()[0]))


def _description(model: Any, number: int | None, style: Style) -> dict[str, Any]:
    """Describe a single tree by itself; an ensemble by its features, or by the tree that was asked for."""
    trees = model._model.trees if hasattr(model, "_reading") else ()
    if number is None and len(trees) != 1:
        return {"trees": len(trees), "importances": _importances(model)}
    if not 0 <= (number or 0) < len(trees):
        raise Mistake(f"There is no tree {number}: {type(model).__name__} has {count(len(trees), 'tree')}.")
    return {"tree": number or 0, "rules": write_rules(model._reading(trees[number or 0]), style)}


def _importances(model: Any) -> dict[str, float]:
    shares = getattr(model, "feature_importances_", None)
    if shares is None:
        return {}
    names = getattr(model, "feature_names_in_", range(len(shares)))
    ranked = sorted(zip(names, shares, strict=True), key=lambda pair: -pair[1])
    return {str(name): float(share) for name, share in ranked[:MOST_IMPORTANT]}


def _as_text(name: str, shown: dict[str, Any]) -> str:
    if "explanation" in shown:
        return str(shown["explanation"])
    if "rules" not in shown:
        lines = [f"{name} of {count(shown['trees'], 'tree')}; give --tree N to see one."]
        lines += [f"{percent(share):>8}  {named(feature)}" for feature, share in shown["importances"].items()]
        return "\n".join(lines)
    rules = shown["rules"]
    if isinstance(rules, dict):
        return "\n".join(f"{named(answer)}: {formula}" for answer, formula in rules.items())
    return str(rules)
