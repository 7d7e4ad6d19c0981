"""The course: the lectures of docs/course, and the same as notebooks.

The pages are part of the package, so that an installed library has them; docs/course points here. A page is
Markdown with blocks of Python; in a notebook each block becomes a cell that can be run, except those in
folded answers, which stay folded.
"""

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

__all__ = ["lectures", "notebook_of", "write_notebooks"]

_BLOCK = re.compile(r"^```python\n(.*?)^```\n?", re.DOTALL | re.MULTILINE)
_ANSWER = re.compile(r"<details.*?</details>", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def lectures() -> dict[str, str]:
    """Return the text of every page by its name, the list of contents first."""
    folder = resources.files("hornbeam.course") / "pages"
    found = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in folder.iterdir()
        if page.name.endswith(".md")
    }
    return {name: found[name] for name in sorted(found, key=lambda name: (name != "README", name))}


def notebook_of(page: str) -> dict[str, Any]:
    """Turn a page into a notebook (nbformat 4.5): text and code in turns."""
    folded = [match.span() for match in _ANSWER.finditer(page)]
    cells: list[dict[str, Any]] = []
    at = 0
    for block in _BLOCK.finditer(page):
        if any(begin < block.start() < end for begin, end in folded):
            continue  # an answer stays folded, its code with it
        _add_text(cells, page[at : block.start()])
        _add_cell(cells, "code", block[1])
        at = block.end()
    _add_text(cells, page[at:])
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _add_text(cells: list[dict[str, Any]], text: str) -> None:
    if text.strip():
        _add_cell(cells, "markdown", _LINK.sub(_link_of_notebook, text))


def _link_of_notebook(link: re.Match[str]) -> str:
    """Lead from notebook to notebook; pages that are not among them become plain words."""
    if link[2].endswith(".md") and "/" not in link[2]:
        return f"[{link[1]}]({link[2].removesuffix('.md')}.ipynb)"
    return link[0] if link[2].startswith("http") else link[1]


def _add_cell(cells: list[dict[str, Any]], kind: str, text: str) -> None:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "id": f"cell-{len(cells)}",
        "metadata": {},
        "source": text.strip("\n").splitlines(keepends=True),
    }
    if kind == "code":
        cell.update(execution_count=None, outputs=[])
    cells.append(cell)


def write_notebooks(folder: Path, *, replace: bool = False) -> list[Path]:
    """Write every page as a notebook into a folder; FileExistsError if a changed one is there already."""
    texts = {
        folder / f"{name}.ipynb": json.dumps(notebook_of(page), indent=1, ensure_ascii=False) + "\n"
        for name, page in lectures().items()
    }
    changed = [path for path, text in texts.items() if path.exists() and path.read_text("utf-8") != text]
    if changed and not replace:
        raise FileExistsError(
            f"{changed[0]} is there already and may hold your answers: name another folder, or force it."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)
