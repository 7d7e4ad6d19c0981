"""The connection to the scheduler of a cluster: what a fit says when it is lost.

Dask then cancels what was asked for, and tries to connect again for as long as it is set to. A fit cannot go
on: its rows and parts were known to that scheduler. So it ends, at once and with one error.
"""

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from typing import Any

from hornbeam._optional import require
from hornbeam.warnings import WorkersWarning, warn

__all__ = [
    "PURPOSE",
    "SchedulerLostError",
    "gathered",
    "is_lost",
    "one_error_if_lost",
    "require_scheduler",
    "submitted",
    "try_again",
]

PURPOSE = "Fitting on a cluster"
_CANCELLED = ("cancelled", "lost")

_SECONDS_BETWEEN_LOOKS = 10.0
_LOOKS = 3  # in vain, until it is said that nobody works


class SchedulerLostError(ConnectionError):
    """The scheduler of the Dask cluster does not answer any more."""


def is_lost(client: Any, held: Any = None) -> bool:
    """Tell whether the scheduler is gone, or one that knows nothing of `held`, a result that it must hold."""
    return client.status != "running" or (held is not None and held.status in _CANCELLED)


@contextmanager
def one_error_if_lost(client: Any) -> Iterator[None]:
    """Ask this client, not the usual one; turn whatever Dask says of a lost scheduler into one error."""
    try:
        with client.as_current(), _saying_if_nobody_works(client):
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


@contextmanager
def _saying_if_nobody_works(client: Any) -> Iterator[None]:
    """Warn once if nobody works for a while: Dask waits without a word."""
    ended = threading.Event()

    def watch() -> None:
        n_looks, why = 0, ""
        while n_looks < _LOOKS and not ended.wait(_SECONDS_BETWEEN_LOOKS):
            why = "" if is_lost(client) else _why_nobody_works(client)
            n_looks = n_looks + 1 if why else 0
        if not ended.is_set():
            warn(why, WorkersWarning)

    threading.Thread(target=_until_lost, args=(watch,), daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _why_nobody_works(client: Any) -> str:
    workers = client.scheduler_info()["workers"].values()
    if not workers:
        return (
            "The cluster has no workers, and the fit waits until some come. (A LocalCluster gives up workers "
            "that are not back in time: distributed.deploy.lost-worker-timeout.)"
        )
    if all(worker.get("status") == "paused" for worker in workers):
        return (
            "Dask has paused all workers of the cluster, since their memory is nearly used up, and the fit "
            "waits until some go on. Give workers more memory, or take more of them for as many rows."
        )
    return ""


def _until_lost(watch: Callable[[], None]) -> None:
    with suppress(OSError, CancelledError, RuntimeError):  # of a scheduler that is gone, which others say
        watch()


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


def try_again(client: Any, futures: Sequence[Any]) -> None:
    """Have tasks run again that Dask has given up on, and what they are made from.

    `Client.retry` does that, too, but ends with a KeyError where the client holds no future of the latter.
    """

    async def retry() -> None:
        for key in await client.scheduler.retry(keys=[future.key for future in futures], client=client.id):
            state = client.futures.get(key)
            if state is not None:
                state.retry()

    if futures:
        client.sync(retry)


def gathered(client: Any, tasks: Sequence[Any]) -> list[Any]:
    """Gather the results of tasks, one for each partition; name the partition that no worker survives.

    Dask gives up on all tasks that were with a worker when it died a few times. So each is tried once more,
    alone, which tells the one that workers die of.
    """
    killed = require("distributed.scheduler", purpose=PURPOSE).KilledWorker
    try:
        results: list[Any] = client.gather(list(tasks))
        return results
    except killed:
        require("distributed", purpose=PURPOSE).wait(list(tasks))
    results = []
    for number, task in enumerate(tasks):
        if task.status == "error" and isinstance(task.exception(), killed):
            try_again(client, [task])
        try:
            results.append(client.gather(task))
        except killed as error:
            raise MemoryError(
                f"Partition {number} has cost one worker after another: most likely it needs more memory "
                "than a worker may take. Cut the rows into smaller partitions, or give workers more memory."
            ) from error
    return results
