"""Parts of a fit in the process of a worker, and the calls that they answer.

A call arrives in one of three ways: as a message to a handler of the worker, as a function that the scheduler
has it run, or as a task, which also makes parts that are missing. Each call has a number. A part that has not
made the calls before it says that it is behind. The last answers are kept, because a driver that has lost one
worker asks the others again.
"""

import asyncio
import pickle
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from hornbeam._optional import require
from hornbeam.dask.connection import PURPOSE
from hornbeam.recipes.boosting.boost_part import News, Part, PartSpec
from hornbeam.recipes.boosting.boost_sums import added

__all__ = [
    "CALLS_AT_ONCE",
    "HANDLER",
    "Behind",
    "Request",
    "added_by_task",
    "answer_by_task",
    "answers_of",
    "forget",
]

CALLS_AT_ONCE = 2  # that a driver has on their way: a worker makes one while the other one's answer travels
HANDLER = "hornbeam_parts"  # the name of the worker's handler


@dataclass(frozen=True)
class Behind:
    """The answer of a worker that does not have the part, or whose part has missed calls."""


@dataclass(frozen=True)
class Request:
    """A call to a part, the one after `n_before` others; with a spec, the part is made first."""

    key: tuple[str, int]
    n_before: int
    call: str
    arguments: tuple[Any, ...]
    spec: PartSpec | None = None
    trees: Sequence[Any] = ()
    calls: Sequence[tuple[str, tuple[Any, ...]]] = ()


@dataclass
class _Working:
    part: Part
    n_calls: int = 0
    last_answers: dict[int, Any] = field(default_factory=dict)  # by the number of calls before
    lock: threading.Lock = field(default_factory=threading.Lock)


_WORKING: dict[tuple[str, int], _Working] = {}


def answer_by_task(codes: Any, request: Request) -> tuple[str, Any]:
    """Make a call to a part as a task; return the address of the worker, and the answer."""
    worker = require("distributed", purpose=PURPOSE).get_worker()
    worker.handlers.setdefault(HANDLER, _listener_of(worker).hear)
    key, n_before = request.key, request.n_before
    if request.spec is not None:
        part = Part(replace(request.spec, codes=codes))
        part.add_trees(News(0, request.trees))
        for name, own in request.calls:
            getattr(part, name)(*own)
        _WORKING[key] = _Working(part, n_before)
    return worker.address, _answer_of(request)


def added_by_task(*answers: tuple[str, Any]) -> tuple[str, Any]:
    """Add up answers of some parts in a task; those of a part that is lost cannot be."""
    here = answers[0][0]
    if any(isinstance(one, Behind) for _, one in answers):
        return here, Behind()
    return here, added([one for _, one in answers])


async def answers_of(requests: list[Request], adds_up: bool, dask_worker: Any) -> list[Any]:
    """Make calls to parts that are here; return the answers, or their sum."""
    return await _listener_of(dask_worker).begin(requests, adds_up)


def forget(fit: str) -> None:
    """Drop the parts of a fit."""
    for key in [key for key in _WORKING if key[0] == fit]:
        del _WORKING[key]


def _answer_of(request: Request) -> Any:
    working = _WORKING.get(request.key)
    if working is None:
        return Behind()
    with working.lock:
        if working.n_calls == request.n_before:
            found = getattr(working.part, request.call)(*request.arguments)
            working.last_answers[request.n_before] = found
            working.last_answers.pop(request.n_before - CALLS_AT_ONCE, None)
            working.n_calls += 1
        return working.last_answers.get(request.n_before, Behind())


def _answer_or_leave(request: Request) -> Any:
    """Make a call; a part that fails may have made half of it, so it is dropped, and a task makes it anew."""
    try:
        return _answer_of(request)
    except Exception:
        _WORKING.pop(request.key, None)
        return Behind()


def _answers_here(requests: list[Request], adds_up: bool) -> list[Any]:
    answers = [_answer_or_leave(one) for one in requests]
    if not adds_up or len(answers) == 1 or any(isinstance(one, Behind) for one in answers):
        return answers
    return [added(answers)]


class _Listener:
    """The handler of a worker: it goes on listening while calls are made, so that the next ones can arrive.

    Calls are made in the order in which they arrive, by a thread of their own, which begins the next one when
    one is made. (A part that may use several threads does so in the core.)
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hornbeam-parts")
        self._last: WeakKeyDictionary[Any, asyncio.Task[None]] = WeakKeyDictionary()  # by connection

    def begin(self, requests: list[Request], adds_up: bool) -> "asyncio.Future[list[Any]]":
        """Begin to make calls; return their answers to come."""
        return asyncio.wrap_future(self._thread.submit(_answers_here, requests, adds_up))

    async def hear(self, comm: Any, calls: bytes) -> Any:
        """Begin to make the calls of a message, which are answered after those of the messages before."""
        coming = self.begin(*pickle.loads(calls))
        reply = self._reply(comm, coming, self._last.get(comm))
        self._last[comm] = asyncio.get_running_loop().create_task(reply)
        return require("distributed.core", purpose=PURPOSE).Status.dont_reply

    async def _reply(
        self, comm: Any, coming: "asyncio.Future[list[Any]]", before: asyncio.Task[None] | None
    ) -> None:
        to_serialize = require("distributed.protocol", purpose=PURPOSE).to_serialize
        try:
            message = {"answers": to_serialize(await coming)}
        except Exception:  # whatever it is, the task that asks again says it
            message = {}
        if before is not None:
            await before
        try:
            await comm.write(message, serializers=("pickle",))  # whose frames are the arrays themselves
        except Exception:  # the driver has gone, or asks again over another connection
            comm.abort()


_LISTENERS: WeakKeyDictionary[Any, _Listener] = WeakKeyDictionary()  # by worker; a process may hold several


def _listener_of(worker: Any) -> _Listener:
    return _LISTENERS.setdefault(worker, _Listener())
