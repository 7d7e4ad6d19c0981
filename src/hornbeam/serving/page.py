"""What a browser sees at the root: the report of the model, if there is one, or what can be asked."""

import html
import json
from typing import Any

from hornbeam._core import version
from hornbeam.data.table import Schema
from hornbeam.inside.words import printable

__all__ = ["document_of_schema", "page_of"]

_EXAMPLES: dict[str, Any] = {"numeric": 0, "date": "2024-03-31"}


def document_of_schema(model: Any, schema: Schema) -> dict[str, Any]:
    """Describe the model and its columns as plain values."""
    columns = [
        {"name": name, "kind": kind} | ({} if categories is None else {"categories": list(categories)})
        for name, kind, categories in _columns(schema)
    ]
    classes = getattr(model, "classes_", None)
    labels = {}
    if classes is not None:
        several = isinstance(classes, list)
        labels = {"classes": [one.tolist() for one in classes] if several else classes.tolist()}
    return {"model": type(model).__name__, "made_by": f"hornbeam {version}", "columns": columns, **labels}


def page_of(model: Any, schema: Schema) -> str:
    """Write a page that says what the model is and how to ask it."""
    shown = [
        f"<tr><td>{html.escape(printable(name))}</td><td>{kind}</td><td>{html.escape(_categories(some))}</td></tr>"
        for name, kind, some in _columns(schema)
    ]
    example: dict[str, Any] = {
        name: _EXAMPLES[kind] if categories is None else (categories or (None,))[0]
        for name, kind, categories in _columns(schema)
    }
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>hornbeam</title>"
        "<style>body{font-family:sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "td,th{padding:.2em .8em .2em 0;text-align:left}"
        "pre{background:#f4f4f4;padding:1em;overflow:auto}</style>"
        f"<h1>{html.escape(type(model).__name__)}</h1>"
        "<p>POST a row to <code>/predict</code>, or a list of rows; null is missing.</p>"
        f"<pre>{html.escape(json.dumps(example, indent=1, ensure_ascii=True))}</pre>"
        "<p><a href=schema>schema</a>, <a href=health>health</a>, <a href=metrics>metrics</a></p>"
        f"<table><tr><th>column</th><th>kind</th><th>categories</th></tr>{''.join(shown)}</table></html>"
    )


def _columns(schema: Schema) -> list[tuple[str, str, Any]]:
    """List the columns that a request has: their names, what they hold, their categories."""
    given = set(schema.given_names)
    return [
        (name, kind if schema.part(place) is None else "date", categories)
        for place, (name, kind, categories) in enumerate(
            zip(schema.names, schema.kinds, schema.categories, strict=True)
        )
        if name in given
    ]


def _categories(categories: Any) -> str:
    if categories is None:
        return ""
    few = ", ".join(printable(value) for value in categories[:12])
    return f"{few}, ..." if len(categories) > 12 else few
