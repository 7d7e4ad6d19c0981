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
from hornbeam.declare.kinds import Choice, Flag, did_you_mean, joined
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
}
ENDINGS: Mapping[Task, str] = {"classification": "Classifier", "regression": "Regressor"}
# Options whose values are objects of Python, or that need a model from before.
NOT_FOR_A_SHELL = frozenset({"estimator", "warm_start", "metric_params"})


def known_methods() -> dict[str, str]:
    """Return the methods that this version has, by name."""
    return {name: stem for name, stem in STEMS.items() if hasattr(hb, f"{stem}Classifier")}


Method = Annotated[
    str,
    typer.Option("--method", "--model", metavar="NAME", help=f"One of: {', '.join(known_methods())}."),
]


def estimator_for(method: str, task: Task, given: Mapping[str, Any]) -> Any:
    """Make the estimator of a method, with the options that were given as flags."""
    cls = class_of(method, task)
    declared = options_of(cls)
    values = {
        name: _value(declared[name], text) if name in declared else text for name, text in given.items()
    }
    try:
        return cls(**values)
    except TypeError as error:  # an option that this method does not take; the message says which do
        raise typer.BadParameter(str(error)) from error


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
    takers: dict[str, dict[str, Option]] = {}
    for method, stem in known_methods().items():
        for ending in ENDINGS.values():
            for name, declared in options_of(getattr(hb, stem + ending)).items():
                takers.setdefault(name, {}).setdefault(method, declared)
    for name, by_method in sorted(takers.items()):
        if name not in NOT_FOR_A_SHELL and name not in taken:
            yield inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(name, by_method)
            )


def _flag(name: str, by_method: Mapping[str, Option]) -> Any:
    declared = next(iter(by_method.values()))
    flag, panel = f"--{name.replace('_', '-')}", "Options of the methods"
    text = f"{declared.help} Taken by {joined(by_method, 'and')}."
    if all(isinstance(kind, Flag) for kind in declared.kinds):
        both = f"{flag}/--no-{flag.removeprefix('--')}"
        return Annotated[bool | None, typer.Option(both, help=text, rich_help_panel=panel)]
    return Annotated[str | None, typer.Option(flag, metavar="VALUE", help=text, rich_help_panel=panel)]


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
        except ValueError:
            continue
    yield text
    if "," in text or not any(isinstance(kind, Choice) for kind in declared.kinds):
        yield text.split(",")
