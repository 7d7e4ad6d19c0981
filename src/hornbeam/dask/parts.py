"""The parts of a fit on the workers of a cluster: calls go out as tasks; a part that is lost is made anew.

A part lives in the process of a worker, beside the codes of its rows, which are a result that Dask holds and
makes again if it gets lost. What a part remembers follows from its rows, the trees so far and the calls of
the round.

A call goes straight to the workers that have the parts, which takes a millisecond or two (`direct.py`). Where
no answer comes back, it is a task that needs the codes, so it runs where they are or where Dask makes them
anew. If a task finds no part that has made all calls before it, because the worker is new, it says so, and is
sent again with all that is needed.
"""

import uuid
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import astuple, dataclass, replace
from typing import Any, NoReturn

import numpy as np

from hornbeam._optional import require
from hornbeam.dask.connection import PURPOSE, is_lost, require_scheduler, submitted, try_again
from hornbeam.dask.direct import Answers, DirectCalls
from hornbeam.dask.working_parts import (
    CALLS_AT_ONCE,
    Behind,
    Request,
    added_by_task,
    answer_by_task,
    forget,
)
from hornbeam.recipes.boosting.boost_part import News, PartSpec

__all__ = ["DaskParts", "Traffic"]

_AT_ONCE = 8  # answers that are added up in one place, the driver being one
_MOST_ATTEMPTS = 20  # at one call, each of which has cost several workers
# A part that is lost within so many calls after it was made, so often in a row, is what its workers die of.
# Workers that are killed at random, one in each round, hardly ever lose the same part a dozen times so soon.
_SOON = 10
_MOST_SHORT_LIVES = 12


@dataclass
class Traffic:
    """What has gone to the parts and come back: calls, and bytes of all parts together."""

    n_calls: int = 0
    sent: int = 0
    received: int = 0
    n_rebuilt: int = 0

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class _Sent:
    """A call that is on its way to all parts; `coming` waits for the answers that come straight back."""

    call: str
    arguments: list[tuple[Any, ...]]
    there: dict[str, list[int]]  # the parts that a worker is asked for
    coming: Callable[[], Answers] | None


class DaskParts:
    """Parts on the workers of a cluster."""

    # Calls that begin with the trees that are new: what came before them need not be made again.
    _TELLING = ("begin_round", "refit", "sizes", "scores")

    def __init__(self, client: Any, specs: Sequence[PartSpec], codes: Sequence[Any]) -> None:
        self.first_rows = [spec.first_row for spec in specs]
        self.n_rows = specs[0].n_rows_of_all
        self.adds_on_the_way = len(specs) > _AT_ONCE
        self.traffic = Traffic()
        self._client = client
        self._direct = DirectCalls(client)
        self._specs = specs
        self._codes = codes
        self._fit = uuid.uuid4().hex
        self._trees: list[Any] = []
        self._calls: list[list[tuple[str, tuple[Any, ...]]]] = [[] for _ in specs]
        self._n_calls = [0] * len(specs)
        self._n_calls_since_made = [0] * len(specs)
        self._short_lives = [0] * len(specs)  # in a row
        self._sent: deque[_Sent] = deque()  # calls for sums without an answer, oldest first
        self._homes: list[str | None] = [None] * len(specs)  # the worker that has answered last

    def ask(self, call: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Make a call to every part; workers that are lost on the way are replaced."""
        if call in self._TELLING:
            news: News = arguments[0][0]
            self._trees = [*self._trees[: news.first], *news.trees]
            self._calls = [[] for _ in self._specs]
        return self._ask(list(range(len(self._specs))), call, arguments)

    def ask_one(self, part: int, call: str, arguments: tuple[Any, ...]) -> Any:
        """Make a call to one part."""
        return self._ask([part], call, [arguments])[0]

    @property
    def calls_at_once(self) -> int:
        """How many calls for sums may be on their way: more than one, once workers are called directly."""
        return CALLS_AT_ONCE if self._direct.are_open and not self.adds_on_the_way else 1

    def send_for_sums(self, call: str, arguments: tuple[Any, ...]) -> None:
        """Send one call to all parts, whose answers `next_sums` returns."""
        own = [arguments] * len(self._specs)
        self._sent.append(
            self._begin(range(len(self._specs)), call, own, adds_up=True, n_ahead=len(self._sent))
        )

    def next_sums(self) -> list[Any]:
        """Return what all parts answer to the oldest call that was sent, or sums of what some of them do.

        Of more parts than a few, workers add the answers up, group by group, until a few sums are left.
        Where a part is lost, nothing is added up on the way: those that have made the call answer it again.
        """
        sent = self._sent.popleft()
        call, own = sent.call, sent.arguments
        sums = self._straight_sums(sent)
        if sums is None and not self.adds_on_the_way:
            return self.ask(call, own)
        if sums is None:
            sums = self._added_up(call, own)
        if sums is None:
            return self.ask(call, own)
        self._note(range(len(self._specs)), call, own, sums)
        return sums

    def _begin(
        self,
        parts: Sequence[int],
        call: str,
        arguments: Sequence[tuple[Any, ...]],
        *,
        adds_up: bool = False,
        n_ahead: int = 0,
    ) -> _Sent:
        """Send a call straight to the workers, after `n_ahead` others that they have not answered yet.

        Nobody is asked if a part has still to be made, or if so many would answer that sums are better taken
        on the way.
        """
        asked: dict[str, list[Request]] = {}
        sent = _Sent(call, list(arguments), {}, None)
        for part, own in zip(parts, arguments, strict=True):
            home = self._homes[part]
            if home is None or self._n_calls[part] == 0:
                return sent
            request = Request((self._fit, part), self._n_calls[part] + n_ahead, call, own)
            asked.setdefault(home, []).append(request)
            sent.there.setdefault(home, []).append(part)
        if len(asked) <= _AT_ONCE:
            require_scheduler(self._client)
            sent.coming = self._direct.begin({home: (own, adds_up) for home, own in asked.items()})
        return sent

    def _straight(self, sent: _Sent) -> dict[str, tuple[list[int], list[Any]]]:
        """Return by worker the parts it has, and its answers to a call; lost workers are missing."""
        if sent.coming is None:
            return {}
        return {home: (sent.there[home], own) for home, own in sent.coming().items()}

    def _straight_sums(self, sent: _Sent) -> list[Any] | None:
        """Return what workers have added up of what their parts answer; None if some part could not."""
        answers = self._straight(sent)
        if sum(len(there) for there, _ in answers.values()) < len(self._specs):
            return None
        sums = [answer for _, own in answers.values() for answer in own]
        return None if any(isinstance(answer, Behind) for answer in sums) else sums

    def _added_up(self, call: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any] | None:
        """Have answers added up on the way; None if some part could not answer."""
        errors = require("distributed.scheduler", purpose=PURPOSE).KilledWorker, CancelledError
        in_order = sorted(range(len(self._specs)), key=lambda part: self._homes[part] or "")
        level = [
            (self._homes[part], self._submit(part, call, arguments[part], anew=self._n_calls[part] == 0))
            for part in in_order
        ]
        while len(level) > _AT_ONCE:
            level = [self._adding(level[k : k + _AT_ONCE]) for k in range(0, len(level), _AT_ONCE)]
        try:
            answers = [answer for _, answer in self._client.gather([task for _, task in level])]
        except MemoryError:  # whose is seen when each is asked
            return None
        except errors:
            if is_lost(self._client):
                raise
            return None
        return None if any(isinstance(answer, Behind) for answer in answers) else answers

    def _adding(self, group: Sequence[tuple[str | None, Any]]) -> tuple[str | None, Any]:
        """Have the answers of a group added up where the first of them is."""
        home = group[0][0]
        task = submitted(
            self._client,
            added_by_task,
            *(task for _, task in group),
            priority=10,
            workers=None if home is None else [home],
            allow_other_workers=home is not None,
        )
        return home, task

    def _ask(self, parts: Sequence[int], call: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        found = {
            part: answer
            for there, own in self._straight(self._begin(parts, call, arguments)).values()
            for part, answer in zip(there, own, strict=True)
            if not isinstance(answer, Behind)
        }
        tasks = {
            part: self._submit(part, call, own, anew=self._n_calls[part] == 0)
            for part, own in zip(parts, arguments, strict=True)
            if part not in found
        }
        for part, own in zip(parts, arguments, strict=True):
            if part not in found:
                found[part] = self._answer(part, call, own, tasks[part])
        answers = [found[part] for part in parts]
        self._note(parts, call, arguments, answers)
        return answers

    def _note(
        self,
        parts: Sequence[int],
        call: str,
        arguments: Sequence[tuple[Any, ...]],
        answers: Sequence[Any],
    ) -> None:
        """Remember a call that parts have made."""
        self.traffic.n_calls += 1
        self.traffic.received += _n_bytes(answers)
        for part, own in zip(parts, arguments, strict=True):
            self._calls[part].append((call, own))
            self._n_calls[part] += 1
            self._n_calls_since_made[part] += 1
            self.traffic.sent += _n_bytes(own)

    def _submit(self, part: int, call: str, arguments: tuple[Any, ...], *, anew: bool) -> Any:
        request = Request((self._fit, part), self._n_calls[part], call, arguments)
        if anew:
            request = replace(
                request, spec=self._specs[part], trees=self._trees, calls=tuple(self._calls[part])
            )
            self.traffic.n_rebuilt += self._n_calls[part] > 0
        home = self._homes[part]
        return submitted(
            self._client,
            answer_by_task,
            self._codes[part],
            request,
            priority=10,
            workers=None if home is None else [home],
            allow_other_workers=home is not None,
        )

    def _answer(self, part: int, call: str, arguments: tuple[Any, ...], task: Any) -> Any:
        """Wait for the answer to a call; make it again where the part has been lost."""
        scheduler = require("distributed.scheduler", purpose=PURPOSE)
        core = require("distributed.client", purpose=PURPOSE)
        for _ in range(_MOST_ATTEMPTS):
            try:
                self._homes[part], answer = self._client.gather(task)
                if not isinstance(answer, Behind):
                    return answer
            except scheduler.KilledWorker:  # workers die of other things than this task too
                try_again(self._client, [future for future in self._codes if future.status == "error"])
            except core.FutureCancelledError:
                if is_lost(self._client, self._codes[part]):
                    raise
            except MemoryError as error:  # of a worker that lives on
                raise MemoryError(f"{self._named(part)} has no room on its worker: {error}") from error
            self._note_loss(part)
            self._homes[part] = self._new_home(part)
            task = self._submit(part, call, arguments, anew=True)
        self._refuse(part)

    def _note_loss(self, part: int) -> None:
        """Give up on a part that is lost soon after it was made, time and again."""
        is_short = self._n_calls_since_made[part] < _SOON
        self._short_lives[part] = self._short_lives[part] + 1 if is_short else 0
        self._n_calls_since_made[part] = 0
        if self._short_lives[part] >= _MOST_SHORT_LIVES:
            self._refuse(part)

    def _refuse(self, part: int) -> NoReturn:
        raise MemoryError(
            f"{self._named(part)} has cost one worker after another: most likely it needs more memory than a "
            "worker may take. Give workers more memory, or more workers, so that each has fewer rows."
        )

    def _named(self, part: int) -> str:
        first = self.first_rows[part]
        return f"Part {part} (rows {first} to {first + self._specs[part].n_rows - 1})"

    def _new_home(self, part: int) -> str | None:
        """Choose the worker that has the fewest of the other parts; None if there is none at present."""
        require_scheduler(self._client)
        others = Counter(home for number, home in enumerate(self._homes) if number != part)
        return min(sorted(self._client.nthreads()), key=lambda worker: others[worker], default=None)

    def close(self) -> None:
        """Let the workers forget the fit."""
        self._direct.close()
        if self._client.status == "running":
            self._client.run(forget, self._fit, on_error="ignore")


def _n_bytes(given: Any) -> int:
    """Tell the size of what goes over the network, all but the few bytes around arrays."""
    if isinstance(given, np.ndarray):
        return given.nbytes
    if isinstance(given, dict):
        return sum(map(_n_bytes, given.values()))
    if isinstance(given, list | tuple):
        return sum(map(_n_bytes, given))
    return 8
