"""Calls that go straight to workers, as Dask's scheduler would make them, over Dask's own connections.

Through the scheduler (`Client.run`) answers would travel twice, and in a cluster on one machine the scheduler
shares a process with the driver. Where workers cannot be reached from the driver, that is the way they go.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from hornbeam._optional import require
from hornbeam.dask.connection import PURPOSE

__all__ = ["DirectCalls"]

_SECONDS_TO_CONNECT = 5.0


class DirectCalls:
    """Connections to workers, kept for as long as a fit takes."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._connections: dict[str, Any] = {}  # by the worker's address
        self._are_reached = client.direct_to_workers is not False

    def call(
        self, function: Callable[..., Any], arguments: dict[str, tuple[Any, ...]]
    ) -> dict[str, list[Any]]:
        """Call a function on workers, each with arguments of its own; those that are lost are missing."""
        # One that is gone is not called: Dask tries to connect for half a minute.
        if any(home not in self._connections or self._connections[home].closed() for home in arguments):
            alive = self._client.nthreads()
            arguments = {home: own for home, own in arguments.items() if home in alive}
        if self._are_reached and arguments:
            found: dict[str, list[Any]] = self._client.sync(self._call_directly, function, arguments)
            if self._are_reached:
                return found
        return self._by_scheduler(function, arguments)

    async def _call_directly(
        self, function: Callable[..., Any], arguments: dict[str, tuple[Any, ...]]
    ) -> dict[str, list[Any]]:
        arguments = {home: own for home, own in arguments.items() if await self._is_connected(home)}
        dumps = require("distributed.protocol.pickle", purpose=PURPOSE).dumps
        send = require("distributed.core", purpose=PURPOSE).send_recv
        code, nothing = dumps(function), dumps({})

        async def call(home: str, own: tuple[Any, ...]) -> Any:
            try:
                return await send(
                    self._connections[home],
                    op="run",
                    function=code,
                    args=dumps(own),
                    kwargs=nothing,
                    wait=True,
                )
            except OSError:  # the connection has been broken off
                return {}

        replies = await asyncio.gather(*(call(home, own) for home, own in arguments.items()))
        return {
            home: reply["result"]
            for home, reply in zip(arguments, replies, strict=True)
            if reply.get("status") == "OK"
        }

    async def _is_connected(self, home: str) -> bool:
        """Connect to a worker; if the first one cannot be reached, though it lives, none is tried again."""
        if home in self._connections and not self._connections[home].closed():
            return True
        if not self._are_reached:
            return False
        try:
            connection = await asyncio.wait_for(self._client.rpc.connect(home), _SECONDS_TO_CONNECT)
        except (OSError, TimeoutError):
            self._are_reached = bool(self._connections)
            return False
        self._give_back(home)
        self._connections[home] = connection
        return True

    def _give_back(self, home: str) -> None:
        """Break a connection off, and tell Dask, which counts them."""
        connection = self._connections.pop(home, None)
        if connection is not None:
            connection.abort()
            self._client.rpc.reuse(home, connection)

    def _by_scheduler(
        self, function: Callable[..., Any], arguments: dict[str, tuple[Any, ...]]
    ) -> dict[str, list[Any]]:
        async def own(dask_worker: Any) -> Any:
            return await function(*arguments[dask_worker.address], dask_worker=dask_worker)

        if not arguments:
            return {}
        found: dict[str, list[Any]] = self._client.run(own, workers=list(arguments), on_error="ignore")
        return found

    def close(self) -> None:
        """Close the connections."""
        if self._connections and self._client.status == "running":
            self._client.sync(self._give_all_back)
        self._connections = {}

    async def _give_all_back(self) -> None:
        for home in list(self._connections):
            self._give_back(home)
