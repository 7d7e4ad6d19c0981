"""Pages of the documentation that are made while it is built: the references, pictures, stories.

A hook of mkdocs (see mkdocs.yml). The reference comes from the declarations, and the pictures from the
examples of docs/pictures.md, so neither can be out of date.
"""

import inspect
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
DRAWING = re.compile(r"!\[[^\]]*\]\(pictures/(\w+)\.svg\)|```python\n(.*?)```", re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages and pictures to the files of the site; called by mkdocs."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - only mkdocs calls this

    files.append(File.generated(config, "reference.md", content=reference()))
    files.append(File.generated(config, "api.md", content=api()))
    for name, picture in pictures():
        files.append(File.generated(config, f"pictures/{name}.svg", content=picture))
    for name, page in stories():
        files.append(File.generated(config, f"stories/{name}.html", content=page))
    return files


# --- The reference ---------------------------------------------------------------------------------------


def reference() -> str:
    """Write a table of parameters for every estimator."""
    from hornbeam.declare import estimators  # noqa: PLC0415

    parts = [
        "# Every parameter",
        "",
        "Made from the declarations in `src/hornbeam/params`: the same that check values, make flags for "
        "the command line and fill the docstrings.",
        "",
    ]
    for estimator in sorted(estimators(), key=lambda each: each.__name__):
        parts += _section(estimator)
    return "\n".join(parts)


def _section(estimator: Any) -> list[str]:
    from hornbeam.declare import options_of  # noqa: PLC0415

    summary = (estimator.__doc__ or "").strip().split("\n")[0]
    lines = [
        f"## {estimator.__name__}",
        "",
        summary,
        "",
        "| parameter | default | values | |",
        "|---|---|---|---|",
    ]
    for name, option in options_of(estimator).items():
        default = "required" if option.required else f"`{option.default!r}`"
        cells = (f"`{name}`", default, option.allowed, option.help or "")
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    return [*lines, ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


# --- Methods, attributes, functions, commands --------------------------------------------------------------


def api() -> str:
    """Describe everything public: methods and attributes of estimators and results, functions, commands."""
    import hornbeam as hb  # noqa: PLC0415
    from hornbeam.declare import estimators  # noqa: PLC0415

    public = {name: getattr(hb, name) for name in sorted(hb.__all__)}
    kinds = estimators()
    results = [each for each in public.values() if inspect.isclass(each) and each not in kinds]
    results = [each for each in results if not issubclass(each, BaseException)]
    functions = {name: each for name, each in public.items() if inspect.isfunction(each)}
    parts = ["# Methods, attributes, commands", ""]
    parts += [
        "Made from the code: what each public name is and takes. Parameters are in "
        "[their own reference](reference.md).",
        "",
        "## Estimators",
        "",
    ]
    for kind in sorted(kinds, key=lambda each: each.__name__):
        parts += _class_section(kind)
    parts += ["## Results", ""]
    for result in sorted({*results, *_returned(kinds, functions)}, key=lambda each: each.__name__):
        parts += _class_section(result)
    for title, named in (
        ("Functions", functions),
        *((f"hb.{name}", _functions_of(getattr(hb, name))) for name in ("plot", "datasets")),
    ):
        parts += [f"## {title}", ""]
        for name, function in named.items():
            parts += _function_section(name, function)
    return "\n".join([*parts, "## Commands", "", *_commands()])


def _functions_of(module: Any) -> dict[str, Any]:
    return {name: getattr(module, name) for name in sorted(module.__all__) if callable(getattr(module, name))}


def _returned(kinds: Any, functions: dict[str, Any]) -> set[Any]:
    """Find the classes of ours that methods and functions return."""
    found = set()
    for owner in (*kinds, None):
        methods = functions if owner is None else dict(inspect.getmembers(owner, inspect.isfunction))
        for name, method in methods.items():
            result = inspect.unwrap(method).__annotations__.get("return")
            is_ours = inspect.isclass(result) and result.__module__.startswith("hornbeam.")
            if is_ours and result not in kinds and not name.startswith("_") and result.__name__ != "Tree":
                found.add(result)
    return found


def _class_section(cls: Any) -> list[str]:
    lines = [f"### {cls.__name__}", "", _told(cls), ""]
    attributes = _attributes(cls)
    if attributes:
        lines += ["| attribute | |", "|---|---|"]
        lines += [f"| `{name}` | {_cell(text)} |" for name, text in attributes.items()]
        lines += [""]
    for name, method in inspect.getmembers(cls, callable):
        if not name.startswith(("_", "set_", "get_metadata")) and inspect.isroutine(method):
            lines += [f"**`{name}{_signature(method)}`** {_told(method)}", ""]
    return lines


def _attributes(cls: Any) -> dict[str, str]:
    """Read the section of the docstring, and what properties say of themselves."""
    found = {}
    section = (cls.__doc__ or "").partition("Attributes\n")[2].partition("----------\n")[2]
    for name, text in re.findall(r"^ *(\w+) : [^\n]*\n((?: {8,}[^\n]+\n?)+)", section, re.MULTILINE):
        found[name] = " ".join(text.split())
    for name, value in inspect.getmembers(cls, lambda each: isinstance(each, property)):
        if not name.startswith("_") and value.__doc__:
            found.setdefault(name, " ".join(value.__doc__.split("\n\n")[0].split()))
    for field in getattr(cls, "__dataclass_fields__", {}):
        if not field.startswith("_"):
            found.setdefault(field, "")
    return found


def _signature(function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _told(thing: Any) -> str:
    """Return the docstring up to its first section, as a paragraph each."""
    text = inspect.getdoc(thing) or ""
    text = re.split(r"\n(?:Parameters|Attributes)\n-+", text)[0]
    return text.replace("<", "&lt;").strip()


def _function_section(name: str, function: Any) -> list[str]:
    return [f"### {name}", "", f"`{name}{_signature(function)}`", "", _told(function), ""]


def _commands() -> list[str]:
    """Describe the commands of the command line and their options."""
    import typer  # noqa: PLC0415

    from hornbeam.cli.main import app  # noqa: PLC0415

    lines = []
    group: Any = typer.main.get_command(app)
    for name, command in sorted(group.commands.items()):
        lines += [f"### hornbeam {name}", "", (command.help or "").replace("<", "&lt;").strip(), ""]
        lines += ["| option | |", "|---|---|"]
        for parameter in command.params:
            spelled = ", ".join(f"`{each}`" for each in parameter.opts)
            lines += [f"| {spelled} | {_cell(getattr(parameter, 'help', None) or '')} |"]
        lines += [""]
    return lines


# --- The pictures ----------------------------------------------------------------------------------------


def pictures() -> Iterator[tuple[str, bytes]]:
    """Run the examples of the page of pictures; what each of them drew gets the names that stand above it."""
    import matplotlib as mpl  # noqa: PLC0415

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "hornbeam", "font.size": 10})
    from matplotlib import pyplot  # noqa: PLC0415

    pyplot.close("all")  # what others have left open is none of the page's
    names: list[str] = []
    scope: dict[str, Any] = {}
    for name, example in DRAWING.findall((DOCS / "pictures.md").read_text(encoding="utf-8")):
        if name:
            names.append(name)
            continue
        exec(compile(example, "docs/pictures.md", "exec"), scope)
        figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
        yield from zip(names, _joined(figures, len(names)), strict=True)
        names.clear()
        pyplot.close("all")


def _joined(figures: list[Any], n_names: int) -> list[bytes]:
    """Write figures as SVG; where an example drew more than it names, the last ones stand side by side."""
    drawn = [_svg(figure) for figure in figures[: n_names - 1 if len(figures) > n_names else n_names]]
    if len(figures) > n_names:
        drawn.append(_side_by_side([_svg(figure) for figure in figures[n_names - 1 :]]))
    return drawn


def _svg(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _side_by_side(parts: list[bytes]) -> bytes:
    """Put pictures into one, each where the one before ends."""
    width, tallest, inner = 0.0, 0.0, []
    for number, part in enumerate(parts):
        text = re.sub(rb"^.*?(?=<svg)", b"", part, count=1, flags=re.DOTALL).decode()
        _, _, w, h = map(float, re.search(r'viewBox="([^"]*)"', text)[1].split())  # type: ignore[index]
        # Identifiers are told apart, as two pictures in one may have the same.
        text = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>part{number}-", text)
        inner.append(text.replace("<svg ", f'<svg x="{width}" y="0" ', 1))
        width, tallest = width + w, max(tallest, h)
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tallest}" width="{width}pt">'
    return "\n".join([opening, *inner, "</svg>"]).encode()


# --- The stories -----------------------------------------------------------------------------------------


def stories() -> Iterator[tuple[str, str]]:
    """Write the stories that docs/story.md links to: one for each kind of model, of small public tables."""
    import pandas as pd  # noqa: PLC0415
    from sklearn.datasets import load_diabetes, load_iris, make_moons  # noqa: PLC0415

    import hornbeam as hb  # noqa: PLC0415

    iris, diabetes = load_iris(as_frame=True), load_diabetes(as_frame=True)
    species = pd.Series(iris.target_names[iris.target], name="species")
    progress = diabetes.target.rename("progress")
    points, side = make_moons(150, noise=0.3, random_state=0)
    moons = pd.DataFrame(points, columns=["east", "north"])
    moon = pd.Series(["upper" if one else "lower" for one in side], name="moon")
    members = [("knn", hb.KNeighborsClassifier(9)), ("tree", hb.DecisionTreeClassifier(max_depth=3))]
    yield "tree", _story(hb.DecisionTreeClassifier(random_state=0), iris.data, species)
    yield "forest", _story(hb.RandomForestClassifier(30, random_state=0), moons, moon)
    yield "adaboost", _story(hb.AdaBoostClassifier(n_estimators=20), moons, moon)
    yield "boosting", _story(hb.GradientBoostingRegressor(40), diabetes.data, progress)
    yield "neighbours", _story(hb.KNeighborsClassifier(15), moons, moon)
    yield "stack", _story(hb.StackingClassifier([members], random_state=0), moons, moon)


def _story(model: Any, X: Any, y: Any) -> str:
    import tempfile  # noqa: PLC0415

    import hornbeam as hb  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        place = hb.story(model.fit(X, y), X, y, Path(folder) / "story.html")
        return Path(place).read_text(encoding="utf-8")
