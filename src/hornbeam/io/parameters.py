"""Parameters as JSON and back.

Texts, numbers, truth values and None are themselves, lists and arrays are lists. What JSON cannot hold
becomes an object with one key that says what it is: {"pairs": [[key, value], ...]} is a dict, {"estimator":
name, "parameters": {...}} an estimator that is not fitted, {"callable": name} a function of the user, or an
object that is a criterion or a loss, of which only the name is kept.
"""

import numbers
from collections.abc import Callable, Mapping, Set
from typing import Any, NoReturn

import numpy as np

from hornbeam.declare.kinds import shown
from hornbeam.errors import ModelFormatError
from hornbeam.io.foreign import foreign_name, foreign_parameters, make_foreign
from hornbeam.params import Declared, options_of, validate

__all__ = ["NamedCallable", "estimator_of", "parameters_as_json", "parameters_of"]

# They change how a model is computed, never the model, so they are left out: the same model gives the same
# bytes.
_NOT_STORED = frozenset({"n_jobs", "verbose"})

# The value of an option in files older than the option: what models did then.
_BEFORE_IT_WAS_THERE = {"smoothing": 0.0}

Estimators = Mapping[str, type[Declared]]


class NamedCallable:
    """Stands for a function that was a parameter: a file keeps its name but, on purpose, no code."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the function itself is not in the file."""
        raise TypeError(
            f"The model was saved with the function {self.name}, of which the file keeps only the name. "
            "Set the parameter to the function itself, or save with a choice of this library."
        )

    # An object that was a criterion or a loss is recognised by these.
    score = __call__
    gradient_hessian = __call__

    def __repr__(self) -> str:
        return f"NamedCallable({self.name!r})"


def parameters_of(estimator: Declared, known: Estimators) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON values; ValueError names one that has no such form."""
    validate(estimator)
    values = estimator.get_params(deep=False)
    return {
        name: _to_json(values[name], known, f"{type(estimator).__name__}: {name}")
        for name in options_of(type(estimator))
        if name not in _NOT_STORED
    }


def parameters_as_json(parameters: Mapping[str, Any], known: Estimators, what: str) -> dict[str, Any]:
    """Return parameters of an estimator that is not ours as JSON values."""
    return {name: _to_json(value, known, f"{what}: {name}") for name, value in parameters.items()}


def _to_json(value: Any, known: Estimators, what: str) -> Any:
    if isinstance(value, Mapping):
        return {"pairs": [[_to_json(k, known, what), _to_json(v, known, what)] for k, v in value.items()]}
    if hasattr(value, "get_params"):
        return _estimator_to_json(value, known, what)
    if hasattr(value, "__len__") and hasattr(value, "__iter__") and not isinstance(value, str):
        entries = sorted(value) if isinstance(value, Set) else value  # a set has no order
        return [_to_json(entry, known, what) for entry in entries]
    if callable(value) or hasattr(value, "score"):
        return {"callable": _name_of(value)}
    return _scalar_to_json(value, what)


def _scalar_to_json(value: Any, what: str) -> str | bool | int | float | None:
    if value is None or isinstance(value, np.random.RandomState):
        return None  # a generator has advanced since the fit; only a seed is kept
    forms: tuple[tuple[Any, Callable[[Any], str | bool | int | float]], ...] = (
        (str, str.__str__),
        (bool | np.bool_, bool),
        (numbers.Integral, int),
        (numbers.Real, float),
    )
    for kind, plain in forms:
        if isinstance(value, kind):
            return plain(value)
    raise ValueError(f"{what} is {shown(value)}, which a model file cannot hold.")


def _estimator_to_json(estimator: Any, known: Estimators, what: str) -> dict[str, Any]:
    name = type(estimator).__name__
    foreign = foreign_name(estimator)
    if foreign is not None:
        given = foreign_parameters(estimator, what)
        return {"estimator": foreign, "parameters": parameters_as_json(given, known, what)}
    if known.get(name) is not type(estimator):
        raise ValueError(
            f"{what} is a {name}: a model file holds estimators of hornbeam, linear models of scikit-learn, "
            "and pipelines of StandardScaler with these. skops can save such models."
        )
    return {"estimator": name, "parameters": parameters_of(estimator, known)}


def _name_of(function: Callable[..., Any]) -> str:
    if isinstance(function, NamedCallable):
        return function.name
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def estimator_of(name: str, parameters: Mapping[str, Any], known: Estimators) -> Any:
    """Make an estimator that is not fitted; its parameters must be ones that its declaration allows."""
    cls = known.get(name)
    if cls is None:
        plain = {key: _from_json(value, known, f"{name}: {key}") for key, value in parameters.items()}
        foreign = make_foreign(name, plain)
        if foreign is not None:
            return foreign
        raise ModelFormatError(
            f"it holds a {name[:80]!r}, an estimator that this version of hornbeam does not know"
        )
    options = options_of(cls)
    for parameter in parameters:
        if parameter not in options or parameter in _NOT_STORED:
            raise ModelFormatError(f"{name} has no parameter {parameter[:80]!r} in this version of hornbeam")
    values = {
        parameter: _from_json(value, known, f"{name}: {parameter}") for parameter, value in parameters.items()
    }
    for parameter, value in _BEFORE_IT_WAS_THERE.items():
        if parameter in options:
            values.setdefault(parameter, value)
    for option in options.values():
        if option.required and option.name not in values:
            raise ModelFormatError(f"{name} lacks the parameter {option.name!r}")
    estimator = cls(**values)
    try:
        validate(estimator)
    except ValueError as error:
        raise ModelFormatError(str(error)) from None
    return estimator


def _from_json(value: Any, known: Estimators, what: str) -> Any:
    if isinstance(value, list):
        return [_from_json(entry, known, what) for entry in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"pairs": list(pairs), **rest} if not rest and all(_is_pair(pair) for pair in pairs):
            result = {key: _from_json(entry, known, what) for key, entry in pairs}
            if len(result) == len(pairs):
                return result
        case {"estimator": str(name), "parameters": dict(parameters), **rest} if not rest:
            return estimator_of(name, parameters, known)
        case {"callable": str(name), **rest} if not rest:
            return NamedCallable(name)
    raise ModelFormatError(f"{what} is not a value that hornbeam writes")


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], list | dict)
