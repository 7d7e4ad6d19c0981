"""Independent pieces of work for the workers of a cluster, handed out as workers get free.

Each piece is a task that needs the rows, a result that Dask holds, copies to whoever needs it and makes again
if it gets lost; so is a task whose worker dies. Workers that join late get work with the next piece.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hornbeam._optional import require
from hornbeam.dask.connection import PURPOSE, is_lost, require_scheduler, submitted

__all__ = ["Crew"]

_AT_ONCE = 2  # tasks per worker: one at work, one that waits for it
_MOST_ATTEMPTS = 5  # at one piece, each of which has cost several workers


class Crew:
    """The workers that are there, and what they are told once: `known`, which every piece of work needs."""

    def __init__(self, client: Any, rows: Any, known: Any) -> None:
        self._client = client
        self._rows = rows
        self._known = known
        self._told: Any = None

    def results(
        self, work: Callable[..., Any], pieces: Sequence[tuple[Any, ...]], names: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the future of each piece of work, in the order in which they get done.

        A piece is done by `work(rows, known, *piece)` on some worker; `names` is what errors call them.
        """
        distributed = require("distributed", purpose=PURPOSE)
        done = distributed.as_completed()
        waiting = list(range(len(pieces)))[::-1]
        at_work: dict[Any, tuple[int, str | None]] = {}
        attempts: Counter[int] = Counter()
        while waiting or at_work:
            self._hand_out(work, pieces, waiting, at_work, done)
            future = next(done)
            number, _ = at_work.pop(future)
            if self._failed(future, names[number], attempts, number):
                waiting.append(number)
                continue
            yield number, future

    def _hand_out(
        self,
        work: Callable[..., Any],
        pieces: Sequence[tuple[Any, ...]],
        waiting: list[int],
        at_work: dict[Any, tuple[int, str | None]],
        done: Any,
    ) -> None:
        """Give every worker something to do."""
        require_scheduler(self._client)
        workers = sorted(self._client.nthreads())
        busy = Counter(home for _, home in at_work.values())
        free = [worker for k in range(_AT_ONCE) for worker in workers if busy[worker] <= k]
        homes: list[str | None] = [*free] if workers else [None]  # somebody will come
        for home in homes:
            if not waiting or (home is None and at_work):
                return
            number = waiting.pop()
            future = submitted(
                self._client,
                work,
                self._rows,
                self._what_is_known(),
                *pieces[number],
                workers=None if home is None else [home],
                allow_other_workers=home is not None,
            )
            at_work[future] = (number, home)
            done.add(future)

    def _what_is_known(self) -> Any:
        """Return what all workers know; told anew if it got lost with the last that knew it."""
        if self._told is None or self._told.status in ("lost", "cancelled", "error"):
            self._told = self._client.scatter([self._known], broadcast=True, hash=False)[0]
        return self._told

    def _failed(self, future: Any, name: str, attempts: Counter[int], number: int) -> bool:
        """Tell whether a piece must be done again; raise if there is no point."""
        if future.status == "finished":
            return False
        error = future.exception() if future.status == "error" else None
        if error is not None and not isinstance(
            error, require("distributed.scheduler", purpose=PURPOSE).KilledWorker
        ):
            future.result()
        if is_lost(self._client, self._rows):
            future.result()
        attempts[number] += 1
        if attempts[number] >= _MOST_ATTEMPTS:
            raise MemoryError(
                f"{name} has cost one worker after another: most likely it needs more memory than a worker "
                "may take. Give workers more memory or fewer threads."
            )
        if self._rows is not None and self._rows.status == "error":
            self._client.retry([self._rows])
        return True
