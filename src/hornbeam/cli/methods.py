"""Methods by name, and their options as flags: both follow from the estimators and their declarations.

`estimator_for` makes an estimator from the name of a method, the kind of target and the flags that were
given. `with_option_flags` gives a verb one flag for every option that some method takes.
"""

import functools
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer

import hornbeam as hb
from hornbeam.data.task import Task
from hornbeam.declare import Declared, Option, options_of
from hornbeam.declare.kinds import Choice, Flag, NoneKind, did_you_mean, joined
from hornbeam.inside.words import printable

__all__ = ["Method", "class_of", "estimator_for", "known_methods", "option_value", "with_option_flags"]

# Name at the command line -> what the names of its two estimators begin with.
STEMS = {
    "tree": "DecisionTree",
    "forest": "RandomForest",
    "extra-trees": "ExtraTrees",
    "bagging": "Bagging",
    "boosting": "GradientBoosting",
    "adaboost": "AdaBoost",
    "neighbors": "KNeighbors",
    "stacking": "Stacking",
}
ENDINGS: Mapping[Task, str] = {"classification": "Classifier", "regression": "Regressor"}
# Options whose values are objects of Python, or that need a model from before.
NOT_FOR_A_SHELL = frozenset({"estimator", "final_estimator", "levels", "warm_start", "metric_params"})
# The default members of a stack.
MEMBERS = "forest,extra-trees,boosting"
# Words in the description of values that cannot be written in a shell.
_NO_TEXT = re.compile(
    r"object|splitter|function|callable|pairs|instance|generator|RandomState", re.IGNORECASE
)


def known_methods() -> dict[str, str]:
    """Return the methods that this version has, by name."""
    return {name: stem for name, stem in STEMS.items() if hasattr(hb, f"{stem}Classifier")}


Method = Annotated[
    str,
    typer.Option("--method", "--model", metavar="NAME", help=f"One of: {', '.join(known_methods())}."),
]


def estimator_for(method: str, task: Task, given: Mapping[str, Any]) -> Any:
    """Make the estimator of a method, with the options given as flags."""
    cls = class_of(method, task)
    declared = options_of(cls)
    texts = dict(given)
    members = texts.pop("members", None)
    values = {
        name: _value(declared[name], text) if name in declared else text for name, text in texts.items()
    }
    if "levels" in declared:
        values["levels"] = [_members(members or MEMBERS, task)]
    elif members is not None:
        raise typer.BadParameter("--members is an option of --method stacking.")
    try:
        return cls(**values)
    except TypeError as error:  # an option that this method does not take; the message says which methods do
        raise typer.BadParameter(str(error)) from error


def _members(names: str, task: Task) -> list[tuple[str, Any]]:
    """Make the members of a stack, with their usual settings."""
    members = []
    for name in filter(None, map(str.strip, names.split(","))):
        cls = class_of(name, task)
        if "levels" in options_of(cls):
            raise typer.BadParameter("--members: a stack of stacks needs Python.")
        members.append((name, cls()))
    if not members:
        raise typer.BadParameter(f"--members: name some methods, as in {MEMBERS}.")
    return members


def option_value(method: str, task: Task, name: str, text: str) -> Any:
    """Read a text as a value of an option of a method."""
    declared = options_of(class_of(method, task))
    if name not in declared:
        nearest = did_you_mean(name, declared) or f"It has {joined(sorted(declared), 'and')}."
        raise typer.BadParameter(f"{printable(method)} has no option {printable(name)!r}. {nearest}")
    return _value(declared[name], text)


def class_of(method: str, task: Task) -> type[Declared]:
    """Find an estimator by the name of its method or, for those who know it, of its class."""
    methods = known_methods()
    by_class = {stem.casefold(): stem for stem in methods.values()}
    folded = re.sub("[-_ ]", "", method).casefold().removesuffix("classifier").removesuffix("regressor")
    by_name = {re.sub("-", "", name): stem for name, stem in methods.items()}
    stem = by_name.get(folded) or by_class.get(folded)
    if stem is None:
        nearest = did_you_mean(method, methods) or f"It must be {joined(methods, 'or')}."
        raise typer.BadParameter(f"There is no method {printable(method)!r}. {nearest}")
    cls: type[Declared] = getattr(hb, stem + ENDINGS[task])
    return cls


# --- Flags -------------------------------------------------------------------------------------------------

# By method, the declarations of an option: for classes and for numbers, or for one of them.
Takers = dict[str, list[Option]]


def with_option_flags(verb: Callable[..., None]) -> Callable[..., None]:
    """Replace a verb's `**options` by one flag per option; only those that the user gave arrive in it."""
    own = inspect.signature(verb)
    fixed = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    flags = list(_flags(taken={parameter.name for parameter in fixed}))

    @functools.wraps(verb)
    def with_flags(**arguments: Any) -> None:
        verb(**{name: value for name, value in arguments.items() if name in own_names or value is not None})

    own_names = {parameter.name for parameter in fixed}
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*fixed, *flags)]
    with_flags.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_flags.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_flags


def _flags(*, taken: set[str]) -> Iterator[inspect.Parameter]:
    """Make a flag of every option, those of most methods first, then method by method."""
    takers: dict[str, Takers] = {}
    for method, stem in known_methods().items():
        for ending in ENDINGS.values():
            for name, declared in options_of(getattr(hb, stem + ending)).items():
                takers.setdefault(name, {}).setdefault(method, []).append(declared)
    wanted = [name for name in takers if name not in NOT_FOR_A_SHELL and name not in taken]
    order = list(known_methods())

    def place(name: str) -> tuple[int, list[int], str]:
        return -len(takers[name]), [order.index(method) for method in takers[name]], name

    flags = [(name, _flag(name, takers[name])) for name in sorted(wanted, key=place)]
    members = f"The methods that are stacked, in one level. Default: {MEMBERS}."
    flags.append(("members", _option("--members", "NAME,...", members, "stacking")))
    for name, annotation in flags:
        yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _flag(name: str, by_method: Takers) -> Any:
    declared = next(iter(by_method.values()))[0]
    flag = f"--{name.replace('_', '-')}"
    text = " ".join(filter(None, [declared.help, _allowed(by_method), _defaults(by_method)]))
    everybody = len(by_method) == len(known_methods())
    panel = "all methods" if everybody else joined(by_method, "and")
    if all(isinstance(kind, Flag) for kind in declared.kinds):
        both = f"{flag}/--no-{flag.removeprefix('--')}"
        return Annotated[bool | None, typer.Option(both, help=text, rich_help_panel=_panel(panel))]
    return _option(flag, "VALUE", text, panel)


def _option(flag: str, metavar: str, text: str, panel: str) -> Any:
    return Annotated[
        str | None, typer.Option(flag, metavar=metavar, help=text, rich_help_panel=_panel(panel))
    ]


def _panel(methods: str) -> str:
    return f"Options of {methods}"


def _allowed(by_method: Takers) -> str:
    """Say what can be written after a flag, without values that only Python can give."""
    phrases: dict[str, None] = {}
    for declared in (one for each in by_method.values() for one in each):
        for kind in declared.kinds:
            if isinstance(kind, Flag):
                continue
            words = kind.choices if isinstance(kind, Choice) else kind.phrases
            if isinstance(kind, NoneKind):
                words = ("none",)
            phrases |= dict.fromkeys(word for word in words if not _NO_TEXT.search(word))
    return f"Takes {joined(phrases, 'or')}." if phrases else ""


def _defaults(by_method: Takers) -> str:
    """Say what the default is, by method if it differs."""
    by_default: dict[str, list[str]] = {}
    for method, declared in by_method.items():
        words = dict.fromkeys(_shown_default(one.default) for one in declared)
        by_default.setdefault(" for classes, ".join(words) + " for numbers" * (len(words) > 1), []).append(
            method
        )
    if len(by_default) == 1:
        return f"Default: {next(iter(by_default))}."
    parts = [f"{default} ({', '.join(methods)})" for default, methods in by_default.items()]
    return f"Default: {'; '.join(parts)}."


def _shown_default(value: Any) -> str:
    words = {None: "none", True: "yes", False: "no"}
    return words[value] if value is None or isinstance(value, bool) else str(value)


# --- Values ------------------------------------------------------------------------------------------------


def _value(declared: Option, given: str | bool) -> Any:
    """Read the text after a flag: the first reading of it that the declaration allows."""
    readings = [given] if isinstance(given, bool) else list(_readings(given, declared))
    for value in readings:
        if declared.complaint(value) is None:
            return value
    complaint = str(declared.complaint(readings[0]))
    raise typer.BadParameter(f"--{declared.name.replace('_', '-')}: {complaint}")


def _readings(text: str, declared: Option) -> Iterator[Any]:
    """Read a text as a word of Python, a number, JSON, a text, a list of texts: whichever applies."""
    words = {"none": None, "true": True, "false": False}
    if text.casefold() in words and text not in declared.choices:
        yield words[text.casefold()]
    for read in (int, float, json.loads):
        try:
            yield read(text)
        except (ValueError, RecursionError):
            continue
    yield text
    parts = [part.strip() for part in text.split(",")]
    try:
        yield [int(part) for part in parts]
    except ValueError:
        yield parts
