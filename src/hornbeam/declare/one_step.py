"""What a fit has learned changes in one step, so that threads may predict while another refits the object.

`fit` works on a copy of the estimator; when it is done, the copy's attributes take the place of the
estimator's in one assignment. Every other public method and property works on a view: an object of the same
class that holds the attributes as they were when the call began. So an answer comes from one fit, whole, and
a fit that fails or is interrupted changes nothing.

Options are left as they are on the estimator, whatever happens to them during a fit.
"""

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.utils.metaestimators import available_if

from hornbeam.warnings import each_warning_once

__all__ = ["KeptFit", "in_one_step", "view_of"]

T = TypeVar("T")

_MARK = "_in_one_step"


class KeptFit(BaseException):
    """Raised by a fit that keeps what it has although the user's code has failed; the user sees `fault`."""

    def __init__(self, fault: BaseException) -> None:
        super().__init__(fault)
        self.fault = fault


def view_of(estimator: T) -> T:
    """Return an object with the attributes that `estimator` has now; a later fit does not change it."""
    view = object.__new__(type(estimator))
    view.__dict__ = estimator.__dict__
    return view


def in_one_step(name: str, member: Any) -> Any:
    """Return a method or property of an estimator, by its name, such that it deals with one fit only."""
    if isinstance(member, types.FunctionType):
        return member if hasattr(member, _MARK) else (_fitting if name == "fit" else _asking)(member)
    if isinstance(member, property) and member.fget is not None and not hasattr(member.fget, _MARK):
        return property(_asking(member.fget), member.fset, member.fdel, member.__doc__)
    if hasattr(member, "check") and isinstance(getattr(member, "fn", None), types.FunctionType):
        return available_if(member.check)(in_one_step(name, member.fn))
    return member


def _fitting(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        copy = object.__new__(type(self))
        copy.__dict__ = dict(self.__dict__)
        fault = None
        try:
            with each_warning_once():
                result = method(copy, *args, **kwargs)
        except KeptFit as kept:
            fault = kept.fault
        learned, now = copy.__dict__, self.__dict__
        learned.update((name, now[name]) for name in type(self)._options if name in now)
        self.__dict__ = learned
        if fault is not None:
            raise fault
        return self if result is copy else result

    setattr(fit, _MARK, True)
    return fit


def _asking(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        view = object.__new__(type(self))
        view.__dict__ = self.__dict__
        result = method(view, *args, **kwargs)
        return self if result is view else result

    setattr(ask, _MARK, True)
    return ask
