"""The page of a story, put together from its chapters: one text that needs nothing beside it."""

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from hornbeam import _core
from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.forest.resampling import BagModel
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.estimators.stacking import StackingClassifier, StackingRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.words import count, named
from hornbeam.report.page import policy_of
from hornbeam.report.viewer import json_block
from hornbeam.story.growing import growing_chapter
from hornbeam.story.material import Material
from hornbeam.story.neighbours import neighbours_chapter
from hornbeam.story.pruning import pruning_chapter
from hornbeam.story.residuals import residuals_chapter
from hornbeam.story.sampling import sampling_chapter
from hornbeam.story.stacking import stacking_chapter
from hornbeam.story.weights import weights_chapter

__all__ = ["chapters_of", "page_of"]

Chapter = Callable[[Material], dict[str, Any]]

# Which chapters each kind of model has.
_CHAPTERS: tuple[tuple[tuple[type, ...], tuple[Chapter, ...]], ...] = (
    ((DecisionTreeClassifier, DecisionTreeRegressor), (growing_chapter, pruning_chapter)),
    ((BagModel,), (sampling_chapter,)),
    ((AdaBoostClassifier, AdaBoostRegressor), (weights_chapter,)),
    ((GradientBoostingClassifier, GradientBoostingRegressor), (residuals_chapter,)),
    ((KNeighborsClassifier, KNeighborsRegressor), (neighbours_chapter,)),
    ((StackingClassifier, StackingRegressor), (stacking_chapter,)),
)

# Scripts that every page has stand around those of its chapters.
_BEFORE, _AFTER = ("draw", "player"), ("start",)
_SCRIPTS = {
    "growing": ("tree_picture", "threshold", "growing"),
    "pruning": ("tree_picture", "pruning"),
}


def chapters_of(material: Material) -> list[dict[str, Any]]:
    """Lay out the chapters of a model's story; TypeError names a model that has none."""
    for kinds, chapters in _CHAPTERS:
        if isinstance(material.model, kinds):
            return [chapter(material) for chapter in chapters]
    raise TypeError(
        f"story has no chapters for {type(material.model).__name__}: it tells of hornbeam's trees, forests "
        "and bags, AdaBoost, gradient boosting, nearest neighbours and stacks. hb.report takes any model."
    )


def page_of(material: Material, *, title: str | None = None) -> str:
    """Write the page of a story."""
    chapters = chapters_of(material)
    style = _report_style() + _asset("story.css")
    script = _script([chapter["kind"] for chapter in chapters])
    n, n_shown = material.rows.n_rows, len(material.shown)
    data = {
        "rows": material.shown.tolist(),
        "classes": material.plain_labels(),
        "target": material.target(),
        "target_name": named(material.target_name),
        "is_part": n_shown < n,
        "chapters": chapters,
    }
    page: str = _template().render(
        title=title or f"How {named(material.target_name)} is learned",
        type_name=type(material.model).__name__,
        version=_core.version,
        policy=policy_of(style, script),
        style=Markup(style),
        script=Markup(script),
        chapters=chapters,
        n_rows=n,
        n_shown=n_shown,
        n_columns=material.rows.n_columns,
        plane=[material.names[column] for column in material.plane],
        story_data=json_block(data),
    )
    return page


def _script(kinds: list[str]) -> str:
    names = [*_BEFORE, *(name for kind in kinds for name in _SCRIPTS.get(kind, (kind,))), *_AFTER]
    parts = [_asset(f"{name}.js") for name in dict.fromkeys(names)]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


@cache
def _asset(name: str) -> str:
    return (resources.files("hornbeam.story") / "templates" / name).read_text(encoding="utf-8")


@cache
def _report_style() -> str:
    """Return the style of a report, which has the palette, the text and the dark side of all our pages."""
    return (resources.files("hornbeam.report") / "templates" / "page.css").read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(count=count, named=named)
    return environment.from_string(_asset("story.html"))
