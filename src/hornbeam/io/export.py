"""`export`: a model written for other programs and for people, as text, JSON or DOT.

In comes a fitted estimator made of our trees; out goes a text, or a file that holds it. These are one-way: a
model that is to come back is saved with `hornbeam.save`.
"""

from typing import Any, Literal, get_args

from sklearn.utils.validation import check_is_fitted

from hornbeam.data.wording import shown
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.rules import rule_text
from hornbeam.io.export_dot import dot_of
from hornbeam.io.export_json import json_of
from hornbeam.io.files import text_of_path, write_whole
from hornbeam.io.native import Path

__all__ = ["export"]

ExportFormat = Literal["json", "dot", "text"]


def export(model: Any, form: ExportFormat, path: Path | None = None) -> str:
    """Write a fitted model as "json", "dot" (for graphviz) or "text", all of its trees.

    Returns the text and, if there is a path, puts it into that file, whole or not at all. Names, labels and
    categories are escaped, so that none of them can become a part of the language around it.
    """
    if form not in get_args(ExportFormat):
        raise ValueError(f"form must be 'json', 'dot' or 'text'; got {shown(form)}.")
    check_is_fitted(model)
    if not hasattr(model, "_reading"):
        raise TypeError(f"export takes models made of hornbeam's trees; got {type(model).__name__}.")
    name, readings = type(model).__name__, [model._reading(tree) for tree in model._model.trees]
    if form == "json":
        text = json_of(name, readings, getattr(model, "_facts_beside_trees", dict)())
    else:
        text = dot_of(name, readings) if form == "dot" else _text_of(name, readings)
    if path is not None:
        write_whole(text_of_path(path), [text.encode("utf-8")])
    return text


def _text_of(estimator: str, readings: list[TreeReading]) -> str:
    if len(readings) == 1:
        return rule_text(readings[0]) + "\n"
    parts = [f"tree {number}\n{rule_text(reading)}\n" for number, reading in enumerate(readings)]
    return f"{estimator} of {len(readings)} trees\n\n" + "\n".join(parts)
