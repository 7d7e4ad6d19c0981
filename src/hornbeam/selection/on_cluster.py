"""Folds on a Dask cluster: workers are given the table once, and then pieces of work, each on a fold.

What is done is a function of a fold, the same as here, so it returns the same. A worker reads the table when
its first piece comes and keeps what was made of its folds, as a comparison in one process does. Pieces whose
worker dies are done again, and workers that join late get work.
"""

import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hornbeam.data.shared import SharedTable
from hornbeam.recipes.clock import Clock
from hornbeam.selection.folds import Fold, Folded

__all__ = ["FoldsOnCluster"]


@dataclass(frozen=True, eq=False)
class _Given:
    """What every worker gets once."""

    number: str
    X: Any
    y: Any
    classes: Any
    splits: Any
    groups: Any
    reader: str
    known: tuple[Any, ...]


_HERE: dict[str, Folded] = {}  # of the last comparison
_HERE_LOCK = threading.Lock()


def _done(rows: None, given: _Given, work: Callable[..., Any], fold_number: int, *arguments: Any) -> Any:
    """Do a piece of work on a worker."""
    with _HERE_LOCK:
        if given.number not in _HERE:
            _HERE.clear()
            table = SharedTable(given.X, reader=given.reader)
            _HERE[given.number] = Folded(table, given.y, given.classes, given.splits, given.groups)
        data = _HERE[given.number]
    fold: Fold = data.folds[fold_number - 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody would see them
        result = work(fold, *given.known, *arguments)
    if not data.keeps_rows:
        fold.forget()
    return result


class FoldsOnCluster:
    """The folds of a comparison on the workers of `client`, which know `known` besides."""

    def __init__(self, client: Any, data: Folded, reader: str, *known: Any) -> None:
        from hornbeam.dask.worker_pool import WorkerPool  # noqa: PLC0415 - Dask is for those who have a cluster

        given = _Given(
            uuid.uuid4().hex,
            data.table.container,
            data.y,
            data.classes,
            data.splits,
            data.groups,
            reader,
            known,
        )
        self._client = client
        self._pool = WorkerPool(client, None, given, per_thread=True)

    def results(
        self,
        work: Callable[..., Any],
        pieces: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        clock: Clock,
        *,
        n_sure: int = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Yield the number and the result of each piece as they get done.

        A piece is a fold and more; it is done by `work(fold, *known, *more)`. Those that are not done in the
        time of `clock` are left out, but for the first `n_sure`.
        """
        from hornbeam.dask.connection import one_error_if_lost  # noqa: PLC0415

        with one_error_if_lost(self._client):
            for number, future in self._pool.results(
                _done, [(work, *piece) for piece in pieces], names, clock=clock, n_sure=n_sure
            ):
                yield number, future.result()
