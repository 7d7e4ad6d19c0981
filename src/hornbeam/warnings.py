"""Warning classes, so that a filter can silence one subject and keep the others.

Each is given at most once per fit, and says what was seen and what was done about it. `warn` gives it in the
name of the user's line, however deep in the library it is noticed. A fit runs in `each_warning_once`, and so
do loops over folds: a warning about the whole table, or one part of it, is not repeated for the next part.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import Any, TypeVar

__all__ = [
    "CandidateWarning",
    "DataWarning",
    "HornbeamWarning",
    "LossWarning",
    "MembersWarning",
    "NoAnswerWarning",
    "NumberTextWarning",
    "OutOfBagWarning",
    "RenamedWarning",
    "ThreadsWarning",
    "UnseenCategoryWarning",
    "UntestedExportWarning",
    "VersionWarning",
    "WarmStartWarning",
    "WeightWarning",
    "WorkersWarning",
    "each_warning_once",
    "warn",
    "with_warnings_of_caller",
]

T = TypeVar("T")


class HornbeamWarning(UserWarning):
    """Base of every warning this library gives."""


class ThreadsWarning(HornbeamWarning):
    """The number of threads used differs from the number asked for."""


class DataWarning(HornbeamWarning):
    """The data allow a fit but little learning: constant columns, a single row, nearly unique identifiers."""


class NumberTextWarning(DataWarning):
    """Texts are taken as categories, though they are numbers."""


class CandidateWarning(HornbeamWarning):
    """Some of the settings that a search was to try could not be fitted."""


class LossWarning(HornbeamWarning):
    """The loss of the training rows is higher after a fit than before: the derivatives may be wrong."""


class MembersWarning(HornbeamWarning):
    """All members of an ensemble are the same model."""


class WarmStartWarning(HornbeamWarning):
    """A warm start has nothing to add to the existing members."""


class WeightWarning(HornbeamWarning):
    """Some sample weights are too small relative to the others to count."""


class WorkersWarning(HornbeamWarning):
    """A cluster has no workers, or all are paused, so a fit on it waits."""


class RenamedWarning(HornbeamWarning, FutureWarning):
    """Something has a new name; the old one will be gone in the next version."""


class OutOfBagWarning(HornbeamWarning):
    """Some rows have no out-of-bag prediction, because every member has seen them."""


class UnseenCategoryWarning(HornbeamWarning):
    """Rows to predict hold categories that the fit never saw."""


class NoAnswerWarning(HornbeamWarning):
    """Rows to predict lack values that every tree asks for."""


class UntestedExportWarning(HornbeamWarning):
    """An exported model was not run where it will be used, because that program is not installed."""


class VersionWarning(HornbeamWarning):
    """A pickled model was made by another version of this library."""


Places = set[tuple[CodeType, int]]  # in the code

_said_at: ContextVar[Places | None] = ContextVar(
    "said_at", default=None
)  # in the outermost call that goes on


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Let every place in the code warn once at most in the block, whatever parts of the rows it looks at."""
    if _said_at.get() is not None:
        yield
        return
    token = _said_at.set(set())
    try:
        yield
    finally:
        _said_at.reset(token)


def with_warnings_of_caller(function: Callable[..., T]) -> Callable[..., T]:
    """Return a function for other threads that warns as if in the block where this is called."""
    said_at = _said_at.get()

    def call(*args: Any, **kwargs: Any) -> T:
        token = _said_at.set(said_at)
        try:
            return function(*args, **kwargs)
        finally:
            _said_at.reset(token)

    return call


def warn(text: str, category: type[HornbeamWarning]) -> None:
    """Warn of something as coming from the line that has called the library."""
    inside = (__name__.partition(".")[0], "sklearn", "joblib", "contextlib")  # which pass calls on
    frame, level = sys._getframe(1), 2
    said_at, place = _said_at.get(), (frame.f_code, frame.f_lineno)
    if said_at is not None:
        if place in said_at:
            return
        said_at.add(place)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
