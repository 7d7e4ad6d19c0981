"""The connection to the scheduler of a cluster: what a fit says when it is lost.

Dask then cancels what was asked for, and tries to connect again for as long as it is set to. A fit cannot go
on: its rows and parts were known to that scheduler. So it ends, at once and with one error.
"""

import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

__all__ = ["PURPOSE", "SchedulerLostError", "is_lost", "one_error_if_lost", "require_scheduler", "submitted"]

PURPOSE = "Fitting on a cluster"
_CANCELLED = ("cancelled", "lost")


class SchedulerLostError(ConnectionError):
    """The scheduler of the Dask cluster does not answer any more."""


def is_lost(client: Any, held: Any = None) -> bool:
    """Tell whether the scheduler is gone, or one that knows nothing of `held`, a result that it must hold."""
    return client.status != "running" or (held is not None and held.status in _CANCELLED)


@contextmanager
def one_error_if_lost(client: Any) -> Iterator[None]:
    """Turn whatever Dask says of a lost scheduler into one error."""
    try:
        yield
    except SchedulerLostError:
        raise
    except Exception as error:
        if not (is_lost(client) or isinstance(error, CancelledError)):
            raise
        raise SchedulerLostError(
            "The scheduler of the Dask cluster is gone, and with it the fit. Start a cluster and fit again; "
            "gradient boosting with checkpoint= goes on after the last round that was kept."
        ) from error


def require_scheduler(client: Any) -> None:
    """Raise if the scheduler is gone: whoever asks it something now waits until Dask gives up on it."""
    if is_lost(client):
        raise ConnectionError("the client has lost its scheduler")


def submitted(client: Any, function: Callable[..., Any], *arguments: Any, **how: Any) -> Any:
    """Submit a task that is made anew each time; targets of many rows may go with it."""
    require_scheduler(client)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(function, *arguments, pure=False, **how)
