"""Classes that declare options: declarations come in; constructors, checks, documentation and tables go out.

`option` marks a class attribute as a hyperparameter. `Declared` gathers the marks of a class and its bases
when the class is made, and writes the constructor. `option_group` makes a class of options a group, which
estimators take without inheriting from it. The functions below read the same declarations: `validate` for
`fit`, `documentation` for docstrings, `options_of` and `option_table` for the command line,
the manual and tests.
"""

import functools
import inspect
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeVar, cast, dataclass_transform, overload

from hornbeam.declare.hints import hint
from hornbeam.declare.kinds import Choice, Kind, joined, kinds_of, shown
from hornbeam.declare.one_step import in_one_step
from hornbeam.sklearn_bases import BaseEstimator

__all__ = [
    "Declared",
    "Option",
    "documentation",
    "estimators",
    "fitted",
    "option",
    "option_group",
    "option_table",
    "options_of",
    "removed",
    "validate",
]

T = TypeVar("T")

_REQUIRED: Any = inspect.Parameter.empty
_OF_OPTIONS = ("get_params", "get_metadata_routing")  # have nothing to do with what a fit has learned


@dataclass(frozen=True)
class Option:
    """One declared option, as signatures, checks, documentation and command line read it."""

    name: str
    annotation: Any
    kinds: tuple[Kind, ...]
    default: Any
    help: str
    kw_only: bool

    @property
    def required(self) -> bool:
        """Whether the option has no default."""
        return self.default is _REQUIRED

    @property
    def allowed(self) -> str:
        """All that is allowed, in words."""
        return joined((phrase for kind in self.kinds for phrase in kind.phrases), "or")

    @property
    def choices(self) -> tuple[str, ...]:
        """The texts that are allowed, if any."""
        return tuple(choice for kind in self.kinds if isinstance(kind, Choice) for choice in kind.choices)

    def complaint(self, value: object) -> str | None:
        """Return None for a value that is allowed, else the sentence that says what is."""
        claiming = next((kind for kind in self.kinds if kind.claims(value)), None)
        detail = None if claiming is None else claiming.fault(value)
        if claiming is not None and detail is None:
            return None
        wrong = f"{self.name} must be {self.allowed}; got {shown(value)}"
        if claiming is not None:
            return f"{wrong}. {detail}".rstrip()
        if value is None or isinstance(value, str):
            return f"{wrong}."
        return f"{wrong} ({type(value).__name__})."  # what is wrong with 3.0 or True is the type


# --- What stands in a class body -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Declaration:
    default: Any
    help: str | None
    kw_only: bool


class _Fitted:
    pass


class _Removed:
    pass


_Mark = _Declaration | _Fitted | _Removed


@overload
def option(*, default: T, help: str | None = None, kw_only: bool = True) -> T: ...
@overload
def option(*, help: str | None = None, kw_only: bool = True) -> Any: ...
def option(*, default: Any = _REQUIRED, help: str | None = None, kw_only: bool = True) -> Any:
    """Declare an option; the annotation beside it says what is allowed.

    `help` is one line; a redeclared option that leaves it out keeps the inherited line. `kw_only=False` is
    for the few options that scikit-learn's users give by position, such as `n_estimators`. `default` and
    `kw_only` are the argument names that type checkers look for.
    """
    return _Declaration(default, help, kw_only)


def fitted(*, init: Literal[False] = False) -> Any:
    """Declare an attribute that `fit` sets and that does not exist before.

    Written `tree_: Tree = fitted()`, because type checkers take a bare annotation in the body of a declared
    class for a constructor argument. They read `init`; nobody needs to give it.
    """
    return _Fitted()


def removed(*, init: Literal[False] = False) -> Any:
    """Take an inherited option away.

    Written `splitter: Never = removed()`.
    """
    return _Removed()


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(option, fitted, removed))
class Declared(BaseEstimator):
    """Base of groups of options and of estimators: writes the constructor that the declarations describe.

    Options of several bases and groups join in the order that Python resolves methods in. A subclass may
    redeclare an option to change its default, its help, or to allow less, and may take one away with
    `removed`. The constructor stores values
    as they come; `fit` calls `validate`. A class that writes its own `__init__` keeps it.

    A line `{parameters}` in the docstring of a subclass is replaced by the documentation of its options.
    """

    _own_options: ClassVar[Mapping[str, Option | None]] = {}  # None: removed here
    _options: ClassVar[Mapping[str, Option]] = {}
    _lineage: ClassVar[Any] = type("Declared", (), {"declares": {}})

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        init: Any = cls.__init__
        writes_init = init is object.__init__ or hasattr(init, "_written_by_declared")
        if writes_init:
            _refuse_undeclared_fields(cls)
        cls._lineage = _lineage_of(cls)
        cls._own_options = types.MappingProxyType(_take_marks(cls))
        cls._lineage.declares = cls._own_options
        cls._options = types.MappingProxyType(_join_options(cls))
        if writes_init:
            cls.__init__ = _constructor(cls)  # type: ignore[method-assign]
        if cls.__doc__:
            cls.__doc__ = _with_parameters(cls.__doc__, cls)
        if not cls.__name__.startswith("_") and _is_ours(cls) and hasattr(cls, "fit"):
            _take_over_methods(cls)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `inner__name=value` sets one of an inner estimator.

        An unknown name raises ValueError, with a hint, before anything is set.
        """
        known = self.get_params(deep=True) if params else {}
        for name in params:
            outer, nested, _ = name.partition("__")
            if outer not in known:
                own = [other for other in known if "__" not in other]
                raise ValueError(_unknown_name(type(self), outer, own))
            inner = params.get(outer, known[outer])
            if nested and not hasattr(inner, "set_params"):
                raise ValueError(
                    f"{type(self).__name__}: {name!r} asks for a parameter of {outer!r}, but {outer!r} is "
                    f"{shown(inner)}, which has no parameters."
                )
        return super().set_params(**params)


class OptionGroup:
    """Options that estimators take together.

    To type checkers a group is the class that it is written as, so they see its options in every constructor.
    At run time it is no class: it hands its options on to the estimators that name it among their bases, and
    is not one of their base classes.
    """

    def __init__(self, written: type[Declared]) -> None:
        self.__name__, self.__doc__ = written.__name__, written.__doc__
        self._options, self._lineage = written._options, written._lineage

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Leave the bases of a class; if none of the others is declared, `Declared` takes the place."""
        declared = any(isinstance(base, type) and issubclass(base, Declared) for base in bases)
        first = next(base for base in bases if isinstance(base, OptionGroup))
        return (Declared,) if first is self and not declared else ()


def option_group(cls: type[T]) -> type[T]:
    """Make a class of options a group."""
    group: Any = OptionGroup(cast("type[Declared]", cls))
    return cast("type[T]", group)


# --- What reads the declarations -------------------------------------------------------------------------


def options_of(cls: type[Declared]) -> Mapping[str, Option]:
    """Return the options a class takes, by name, in the order of its documentation."""
    return cls._options


def validate(estimator: Declared) -> None:
    """Raise ValueError for the first parameter of `estimator` whose value its declaration does not allow."""
    cls = type(estimator)
    for declared in options_of(cls).values():
        value = getattr(estimator, declared.name)
        complaint = declared.complaint(value)
        if complaint is not None:
            elsewhere = [other.__name__ for other in estimators() if _has_choice(other, declared.name, value)]
            only = f" {shown(value)} is a choice of {joined(elsewhere, 'and')} only." if elsewhere else ""
            raise ValueError(f"{cls.__name__}: {complaint}{only}")


def documentation(cls: type[Declared]) -> str:
    """Write the "Parameters" section of the class docstring, in numpydoc's form."""
    lines = ["Parameters", "----------"]
    for declared in options_of(cls).values():
        default = "required" if declared.required else f"default={declared.default!r}"
        lines += [f"{declared.name} : {declared.allowed}, {default}", f"    {declared.help}"]
    return "\n".join(lines)


def estimators() -> list[type[Declared]]:
    """List this library's estimators: the declared classes with a `fit` and a public name, by name.

    One that derives from another of the same name is that estimator on other rows (those of a cluster), and
    is not listed: names in model files mean the first.
    """
    found = {
        cls
        for cls in _subclasses(Declared)
        if hasattr(cls, "fit")
        and _is_ours(cls)
        and not cls.__name__.startswith("_")
        and cls.__name__ not in {base.__name__ for base in cls.__mro__[1:]}
    }
    return sorted(found, key=lambda cls: cls.__name__)


def option_table(classes: Iterable[type[Declared]] | None = None) -> dict[str, tuple[str, ...]]:
    """Tell for every option which estimators take it; by default for all estimators of the library."""
    table: dict[str, tuple[str, ...]] = {}
    for cls in estimators() if classes is None else classes:
        for name in options_of(cls):
            table[name] = (*table.get(name, ()), cls.__name__)
    return dict(sorted(table.items()))


def _has_choice(cls: type[Declared], name: str, value: object) -> bool:
    declared = options_of(cls).get(name)
    return isinstance(value, str) and declared is not None and value in declared.choices


def _subclasses(cls: type[Declared]) -> Iterator[type[Declared]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


# --- How a class is made ---------------------------------------------------------------------------------


def _refuse_undeclared_fields(cls: type[Declared]) -> None:
    """Refuse annotations that type checkers take for constructor arguments although they are none."""
    for name, annotation in inspect.get_annotations(cls).items():
        if not isinstance(vars(cls).get(name), _Mark) and "ClassVar" not in str(annotation):
            raise TypeError(
                f"{cls.__name__}.{name} is annotated but not declared: write `= option(...)` for a parameter "
                "or `= fitted()` for what fit sets, or annotate it as ClassVar"
            )


def _take_over_methods(cls: type[Declared]) -> None:
    """Give an estimator its own copies of what its bases define: errors name the class, fits are one step."""
    for name in dir(cls):
        owner = next((base for base in cls.__mro__ if name in vars(base)), cls)
        if name.startswith(("_", "set_")) or name in _OF_OPTIONS or not _is_ours(owner):
            continue
        member = vars(owner)[name]
        if isinstance(member, types.FunctionType) and owner.__name__.startswith("_"):
            member = _named_after(cls, name, member)
        setattr(cls, name, in_one_step(name, member))


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == __name__.partition(".")[0]


def _named_after(cls: type[Declared], name: str, method: types.FunctionType) -> types.FunctionType:
    """Copy a method of a private base: Python's errors name the class of a method."""
    own = types.FunctionType(
        method.__code__, method.__globals__, name, method.__defaults__, method.__closure__
    )
    functools.update_wrapper(own, method)
    vars(own).pop("__wrapped__", None)
    if hasattr(method, "__wrapped__"):
        own.__wrapped__ = method.__wrapped__  # type: ignore[attr-defined]
    own.__kwdefaults__ = method.__kwdefaults__
    own.__qualname__ = f"{cls.__qualname__}.{name}"
    return own


def _take_marks(cls: type[Declared]) -> dict[str, Option | None]:
    """Read the declarations in the body of `cls`, and take their marks out of it."""
    annotations = inspect.get_annotations(cls)
    own: dict[str, Option | None] = {}
    for name, mark in [(name, value) for name, value in vars(cls).items() if isinstance(value, _Mark)]:
        if name not in annotations:
            raise TypeError(f"{cls.__name__}.{name} needs a type annotation")
        delattr(cls, name)
        if isinstance(mark, _Declaration):
            own[name] = _declared_option(cls, name, annotations[name], mark)
        elif isinstance(mark, _Removed):
            if _inherited(cls, name) is None:
                raise TypeError(f"{cls.__name__}.{name} cannot be removed: no base class declares it")
            own[name] = None
    return own


def _declared_option(cls: type[Declared], name: str, annotation: Any, declaration: _Declaration) -> Option:
    if isinstance(annotation, str):  # the module postpones the evaluation of its annotations
        annotation = eval(annotation, vars(sys.modules[cls.__module__]))
    inherited = _inherited(cls, name)
    help_line = declaration.help or (inherited.help if inherited else "")
    if not help_line or "\n" in help_line:
        raise TypeError(f"{cls.__name__}.{name} needs one line of help")
    declared = Option(
        name, annotation, kinds_of(annotation), declaration.default, help_line, declaration.kw_only
    )
    if not declared.required and (complaint := declared.complaint(declared.default)):
        raise TypeError(f"the default of {cls.__name__}.{name} is not allowed: {complaint}")
    return declared


def _lineage_of(cls: type[Declared]) -> Any:
    """Order what a class, its bases and its groups declare.

    The order is that of the method resolution of empty classes which inherit as the declarations are written.
    """
    written = vars(cls).get("__orig_bases__", cls.__bases__)
    bases = tuple(base._lineage for base in written if hasattr(base, "_lineage"))
    return type(cls.__name__, bases, {})


def _declarations(cls: type[Declared]) -> list[Mapping[str, Option | None]]:
    """List what a class, its bases and its groups declare, nearest first."""
    return [vars(one)["declares"] for one in cls._lineage.__mro__ if "declares" in vars(one)]


def _inherited(cls: type[Declared], name: str) -> Option | None:
    found = (declared.get(name) for declared in _declarations(cls))
    return next((declared for declared in found if declared is not None), None)


def _join_options(cls: type[Declared]) -> dict[str, Option]:
    """Join the options of `cls` and its bases: what stands nearer in the resolution order wins."""
    joint: dict[str, Option | None] = {}
    for declarations in _declarations(cls):
        for name, declared in declarations.items():
            joint.setdefault(name, declared)
    return {name: declared for name, declared in joint.items() if declared is not None}


def _constructor(cls: type[Declared]) -> Callable[..., None]:
    """Write `__init__`: it stores each value, given or default, under its name, and does nothing else."""
    options = cls._options
    positional = _positional_names(cls)

    def __init__(self: Declared, /, *args: Any, **kwargs: Any) -> None:  # noqa: N807 - it becomes the method
        given = _bind(type(self), options, positional, args, kwargs)
        for name, declared in options.items():
            setattr(self, name, given.get(name, declared.default))

    constructor: Any = __init__
    constructor.__signature__ = _signature(options, positional)
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    constructor.__module__ = cls.__module__
    constructor._written_by_declared = True
    return __init__


def _positional_names(cls: type[Declared]) -> list[str]:
    """Order the options given by position as dataclasses do, base classes first: type checkers assume so."""
    base_first = (name for declarations in reversed(_declarations(cls)) for name in declarations)
    return [
        name for name in dict.fromkeys(base_first) if name in cls._options and not cls._options[name].kw_only
    ]


def _signature(options: Mapping[str, Option], positional: Sequence[str]) -> inspect.Signature:
    """Write the signature, without annotations: what is allowed stands, better readable, in the docstring."""
    either, named = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    order = [(name, either) for name in positional] + [(n, named) for n in options if n not in positional]
    parameters = [inspect.Parameter(name, kind, default=options[name].default) for name, kind in order]
    return inspect.Signature([inspect.Parameter("self", either), *parameters])


def _bind(
    cls: type[Declared],
    options: Mapping[str, Option],
    positional: Sequence[str],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> dict[str, Any]:
    """Match arguments with options as Python does, but with errors that help."""
    if len(args) > len(positional):
        allowed = f"only {joined(positional, 'and')}" if positional else "no parameter"
        raise TypeError(
            f"{cls.__name__} takes {allowed} by position; got {shown(args[len(positional)])} too. "
            f"Name the parameter it is meant for: {cls.__name__}(name=value)."
        )
    given = dict(zip(positional, args, strict=False))
    for name in kwargs:
        if name not in options:
            raise TypeError(_unknown_name(cls, name, list(options)))
        if name in given:
            raise TypeError(f"{cls.__name__} got {name!r} twice: by position and by name.")
    given.update(kwargs)
    for name, declared in options.items():
        if declared.required and name not in given:
            raise TypeError(f"{cls.__name__} needs {name!r}: {declared.help}")
    return given


def _unknown_name(cls: type[Declared], name: str, known: Sequence[str]) -> str:
    return f"{cls.__name__} has no parameter {name!r}. {hint(name, known=known, takers=option_table())}"


def _with_parameters(docstring: str, cls: type[Declared]) -> str:
    """Put the documentation of the options in place of the line `{parameters}`, at its indentation."""
    lines = []
    for line in docstring.split("\n"):
        if line.strip() == "{parameters}":
            indent = line[: -len(line.lstrip())]
            lines.append(textwrap.indent(documentation(cls), indent))
        else:
            lines.append(line)
    return "\n".join(lines)
