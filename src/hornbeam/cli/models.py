"""Model files at the command line: from a path to a model, and the format of its tables.

`fit` notes in the file what its table was like: the target, what separates cells, which texts are missing.
`predict` and the others read their tables in the same way, unless a flag says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

import typer

from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.reading.table_format import TableFormat
from hornbeam.cli.reading.tables import separator_of
from hornbeam.estimators.columns_known import schema_known
from hornbeam.inside.words import count, named
from hornbeam.io.native import load_with_notes

__all__ = [
    "LoadedModel",
    "ModelFile",
    "format_for",
    "load_model",
    "model_columns",
    "model_name",
    "notes_of",
]

ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file that fit has written.")]


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, the target that it was fitted to if the file says so, and how its tables are to be read.

    `threshold` is the probability from which on the second of two classes is predicted; None is one half.
    """

    fitted: Any
    target: str | None
    form: TableFormat
    threshold: float | None = None


def load_model(path: str, form: TableFormat | None = None) -> LoadedModel:
    """Load a model; its file may know about tables what flags leave open."""
    fitted, notes = load_with_notes(path)
    known = _checked(notes)
    form = TableFormat() if form is None else form
    read = replace(
        form,
        usual_separator=known.get("separator", ","),
        decimal=form.decimal or known.get("decimal"),
        encoding=form.encoding or known.get("encoding"),
        missing=known.get("missing", ()) if form.missing is None else form.missing,
        ids=known.get("ids") if form.ids is None else form.ids,
    )
    return LoadedModel(fitted, known.get("target"), format_for(fitted, read), known.get("threshold"))


def notes_of(data: str, target: str, form: TableFormat) -> dict[str, Any]:
    """Note what a table was like: plain values for a model file."""
    notes = {
        "target": target,
        "separator": separator_of(data, form),
        "decimal": form.decimal,
        "encoding": form.encoding,
        "missing": list(form.missing or ()) or None,
        "ids": list(form.ids or ()) or None,
    }
    return {name: value for name, value in notes.items() if value is not None}


def _checked(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Take notes of the form that `notes_of` writes; ignore others, since a file may come from anywhere."""
    found: dict[str, Any] = {}
    for name in ("target", "separator", "decimal", "encoding"):
        if isinstance(notes.get(name), str):
            found[name] = notes[name]
    for name in ("missing", "ids"):
        value = notes.get(name)
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            found[name] = value
    threshold = notes.get("threshold")
    if isinstance(threshold, float) and 0 <= threshold <= 1:
        found["threshold"] = threshold
    if len(found.get("separator", ",")) != 1 or found.get("separator") in ('"', "\r", "\n"):
        del found["separator"]
    return found


def format_for(model: Any, form: TableFormat) -> TableFormat:
    """Keep as text what was text in the fit, and require numbers where there were numbers."""
    schema = schema_known(model)
    if schema is None:
        return form
    columns = [
        (name, kind, categories, schema.part(place))
        for place, (name, kind, categories) in enumerate(
            zip(schema.names, schema.kinds, schema.categories, strict=True)
        )
    ]
    texts = {
        name
        for name, _, categories, part in columns
        if part is not None or any(isinstance(category, str) for category in categories or ())
    }
    numbers = {name for name, kind, _, part in columns if kind == "numeric" and part is None}
    return replace(form.keeping_as_text(texts | set(form.ids or ())), number_columns=frozenset(numbers))


def model_name(model: Any) -> str:
    """Name the kind of a model; for a pipeline, that of its last step."""
    return type(model.steps[-1][1] if hasattr(model, "steps") else model).__name__


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
