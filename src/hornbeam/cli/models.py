"""Model files at the command line: a path comes in, a model goes out, and the columns it needs of a table."""

from dataclasses import replace
from typing import Annotated, Any

import typer

import hornbeam as hb
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.tables import TableFormat
from hornbeam.inside.words import count, named

__all__ = ["ModelFile", "format_for", "load_model", "model_columns", "model_name"]

ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that fit has written.")]


def load_model(path: str) -> Any:
    """Load a model; what is wrong with a file is said by the errors of `load`."""
    return hb.load(path)


def format_for(model: Any, form: TableFormat) -> TableFormat:
    """Keep as text what was text in the fit, even where all cells happen to look like numbers."""
    schema = _schema_of(model)
    if schema is None:
        return form
    texts = {
        name
        for name, categories in zip(schema.names, schema.categories, strict=True)
        if categories and any(isinstance(category, str) for category in categories)
    }
    return replace(form, text_columns=frozenset(texts))


def model_name(model: Any) -> str:
    """Name the kind of a model; a pipeline is what its last step is."""
    return type(model.steps[-1][1] if hasattr(model, "steps") else model).__name__


def _schema_of(model: Any) -> Any:
    """Return what a model knows about its columns; of a pipeline, its first step knows."""
    if hasattr(model, "steps"):
        return getattr(model.steps[0][1], "schema_", None)
    return getattr(getattr(model, "_model", None), "schema", None)


def model_columns(model: Any, table: Any) -> Any:
    """Pick the columns that a model was fitted on, in its order; others are left alone."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return table
    there = set(table.column_names)
    lacking = [name for name in names if name not in there]
    if lacking:
        more = f" and {count(len(lacking) - 1, 'other column')}" if len(lacking) > 1 else ""
        raise Mistake(f"The data lack the column {named(lacking[0])}{more}, which the model was fitted on.")
    return table.select(list(names))
