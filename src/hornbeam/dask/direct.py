"""Calls to parts that go straight to the workers, over connections that Dask opens and secures.

Through the scheduler (`Client.run`) answers would travel twice, and in a cluster on one machine the scheduler
shares a process with the driver. Where workers cannot be reached from the driver, that is the way they go.
"""

import asyncio
import pickle
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from hornbeam.dask.working_parts import HANDLER, Request, answers_of

__all__ = ["DirectCalls"]

_SECONDS_TO_CONNECT = 5.0

Asked = dict[
    str, tuple[list[Request], bool]
]  # by a worker's address: its calls, and whether answers are added
Answers = dict[str, list[Any]]


@dataclass
class _Connection:
    comm: Any
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)


class DirectCalls:
    """Connections to workers, kept for as long as a fit takes."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._connections: dict[str, _Connection] = {}  # by the worker's address
        self._are_reached = client.direct_to_workers is not False

    @property
    def are_open(self) -> bool:
        """Whether workers have been reached."""
        return bool(self._connections)

    def begin(self, asked: Asked) -> Callable[[], Answers]:
        """Send calls to workers; return what waits for their answers. Those of lost workers are missing.

        Calls to a worker are made and answered in the order in which they were begun.
        """
        # One that is gone is not called: Dask tries to connect for half a minute.
        if not all(self._is_open(home) for home in asked):
            alive = self._client.nthreads()
            asked = {home: own for home, own in asked.items() if home in alive}
        if not self._are_reached or not asked:
            return lambda: self._by_scheduler(asked)
        calls = {home: pickle.dumps(own, pickle.HIGHEST_PROTOCOL) for home, own in asked.items()}
        coming: Future[Answers] = asyncio.run_coroutine_threadsafe(
            self._call_directly(calls), self._client.loop.asyncio_loop
        )

        def answers() -> Answers:
            found = coming.result()
            return found if self._are_reached else self._by_scheduler(asked)

        return answers

    def _is_open(self, home: str) -> bool:
        return home in self._connections and not self._connections[home].comm.closed()

    async def _call_directly(self, calls: dict[str, bytes]) -> Answers:
        if not all(self._is_open(home) for home in calls):
            calls = {home: own for home, own in calls.items() if await self._is_connected(home)}
        found = await asyncio.gather(*(self._call_one(home, own) for home, own in calls.items()))
        return {home: own for home, own in zip(calls, found, strict=True) if own is not None}

    async def _call_one(self, home: str, calls: bytes) -> list[Any] | None:
        connection = self._connections[home]
        try:
            async with connection.sending:
                await connection.comm.write({"op": HANDLER, "calls": calls})
            async with connection.reading:  # in the order of sending: whoever waits longest gets the lock
                reply = await connection.comm.read()
        except OSError:  # the connection has been broken off
            return None
        # A process that has taken the place of a lost worker knows no such handler, and says nothing.
        return reply.get("answers") if isinstance(reply, dict) else None

    async def _is_connected(self, home: str) -> bool:
        """Connect to a worker; if the first one cannot be reached, though it lives, none is tried again."""
        if self._is_open(home):
            return True
        if not self._are_reached:
            return False
        try:
            comm = await asyncio.wait_for(self._client.rpc.connect(home), _SECONDS_TO_CONNECT)
        except (OSError, TimeoutError):
            self._are_reached = bool(self._connections)
            return False
        self._give_back(home)
        self._connections[home] = _Connection(comm)
        return True

    def _give_back(self, home: str) -> None:
        """Break a connection off, and tell Dask, which counts them."""
        connection = self._connections.pop(home, None)
        if connection is not None:
            connection.comm.abort()
            self._client.rpc.reuse(home, connection.comm)

    def _by_scheduler(self, asked: Asked) -> Answers:
        async def own(dask_worker: Any) -> Any:
            return await answers_of(*asked[dask_worker.address], dask_worker=dask_worker)

        if not asked:
            return {}
        found: Answers = self._client.run(own, workers=list(asked), on_error="ignore")
        return found

    def close(self) -> None:
        """Close the connections."""
        if self._connections and self._client.status == "running":
            self._client.sync(self._give_all_back)
        self._connections = {}

    async def _give_all_back(self) -> None:
        for home in list(self._connections):
            self._give_back(home)
