"""Independent pieces of work for the workers of a cluster, handed out as workers get free.

Each piece is a task that needs the rows, a result that Dask holds, copies to whoever needs it and makes again
if it gets lost; so is a task whose worker dies. Workers that join late get work with the next piece.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hornbeam._optional import require
from hornbeam.dask.connection import PURPOSE, is_lost, require_scheduler, submitted, try_again
from hornbeam.recipes.clock import Clock

__all__ = ["WorkerPool"]

_MOST_ATTEMPTS = 5  # at one piece, each of which has cost several workers


class WorkerPool:
    """The workers that are there, and what each gets once: `known`, which every piece of work needs.

    A piece takes a whole worker, or with `per_thread` one of its threads.
    """

    def __init__(self, client: Any, rows: Any, known: Any, *, per_thread: bool = False) -> None:
        self._client = client
        self._rows = rows
        self._known = known
        self._per_thread = per_thread
        self._sent: Any = None
        self._is_limited = False
        self._late: dict[Any, str | None] = {}  # tasks that nobody waits for any more, and where they are

    def results(
        self,
        work: Callable[..., Any],
        pieces: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        *,
        clock: Clock | None = None,
        n_sure: int = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the future of each piece of work, in the order in which they get done.

        A piece is done by `work(rows, known, *piece)` on some worker; `names` is what errors call them. When
        the time of `clock` is up, only the first `n_sure` pieces are waited for: the others are left, though
        workers end what they are at.
        """
        distributed = require("distributed", purpose=PURPOSE)
        self._is_limited = clock is not None and math.isfinite(clock.budget)
        left = math.inf if clock is None else max(0.0, clock.left)
        done = distributed.as_completed(
            list(self._late), loop=self._client.loop, timeout=None if math.isinf(left) else left
        )
        waiting = list(range(len(pieces)))[::-1]
        at_work: dict[Any, tuple[int, str | None]] = {}
        attempts: Counter[int] = Counter()
        while waiting or at_work:
            self._hand_out(work, pieces, waiting, at_work, done)
            try:
                future = next(done)
            except TimeoutError:
                waiting = [number for number in waiting if number < n_sure]
                late = [future for future, (number, _) in at_work.items() if number >= n_sure]
                self._late |= {future: at_work.pop(future)[1] for future in late}
                done = distributed.as_completed([*at_work, *self._late], loop=self._client.loop)
                continue
            if future in self._late:  # its worker has room now
                del self._late[future]
                continue
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
        threads = dict(sorted(self._client.nthreads().items()))
        # One more waits for each worker; not where time is short, for the one before it may take long.
        ahead = 0 if self._is_limited else 1
        room = {worker: (n if self._per_thread else 1) + ahead for worker, n in threads.items()}
        busy = Counter([*(home for _, home in at_work.values()), *self._late.values()])
        places = range(max(room.values(), default=0))
        free = [worker for k in places for worker in room if busy[worker] <= k < room[worker]]
        homes: list[str | None] = [*free] if room else [None]  # somebody will come
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
        """Return what all workers know; sent again if it was lost with the last worker that had it."""
        if self._sent is None or self._sent.status in ("lost", "cancelled", "error"):
            self._sent = self._client.scatter([self._known], broadcast=True, hash=False)[0]
        return self._sent

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
            try_again(self._client, [self._rows])
        return True
