"""All rows on every worker, in codes: what forests and single trees grow on.

A value is a byte or two, so a worker often holds the codes of all rows where it could not hold the rows. The
codes go from worker to worker; members then grow as on one machine. What a worker makes of the codes is kept
in its process for the fit.
"""

import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.dask.cluster import Cluster
from hornbeam.dask.connection import PURPOSE
from hornbeam.dask.reading import no_codes
from hornbeam.dask.worker_pool import WorkerPool
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Schema
from hornbeam.memory import in_words
from hornbeam.model import tree_from_arrays, tree_to_arrays
from hornbeam.recipes.bag import TreeBag
from hornbeam.recipes.boosting.boost_part import CoreColumn
from hornbeam.recipes.listen import Listener
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.recipes.single import warn_of_weightless_rows

__all__ = ["BagOnCluster", "refuse_beyond_workers"]

# What a worker needs besides the codes themselves: pieces of them while they arrive, and per row its target,
# its weight, its place in the order of a growing tree and how often it is in a sample.
_TIMES_CODES = 2
_BYTES_PER_ROW = 40
_BASE_BYTES = 200 << 20

_HERE: dict[str, Encoded] = {}
_HERE_LOCK = threading.Lock()


@dataclass(frozen=True, eq=False)
class _Known:
    """What every worker knows of a fit."""

    fit: str
    columns: tuple[CoreColumn, ...]
    schema: Schema
    bag: TreeBag  # without rows


def refuse_beyond_workers(cluster: Cluster, n_rows: int) -> None:
    """Refuse a table whose codes do not fit the memory of a worker, before it begins."""
    widths = sum(no_codes(column).itemsize for column in cluster.columns)
    needed = _TIMES_CODES * widths * n_rows + _BYTES_PER_ROW * n_rows
    found = cluster.client.run(_memory_limit, on_error="ignore")
    limits = {home: limit for home, limit in found.items() if limit}
    if not limits:
        return
    home = min(limits, key=lambda worker: (limits[worker], worker))
    if needed + _BASE_BYTES > limits[home]:
        raise MemoryError(
            f"{n_rows} rows of {len(cluster.columns)} columns take about {in_words(needed + _BASE_BYTES)} on "
            f"every worker, since trees grow where all rows are in codes; worker {home} may take "
            f"{in_words(limits[home])}. Give workers more memory (fewer of them on each machine), or use "
            "gradient boosting, whose rows are divided among workers."
        )


# --- On a worker -----------------------------------------------------------------------------------------


def _worker() -> Any:
    return require("distributed", purpose=PURPOSE).get_worker()


def _memory_limit(dask_worker: Any) -> int | None:
    limit: int | None = dask_worker.memory_manager.memory_limit
    return limit


def _bag_here(codes: Any, known: _Known) -> TreeBag:
    """Return the bag with the rows, which the first task of a process puts together."""
    with _HERE_LOCK:
        if known.fit not in _HERE:
            columns = [own.with_codes(of) for own, of in zip(known.columns, codes, strict=True)]
            _HERE[known.fit] = Encoded(_core.dataset_of_codes(len(codes[0]), columns), known.schema)
        return replace(known.bag, encoded=_HERE[known.fit], n_threads=_worker().state.nthreads)


def _grow(codes: Any, known: _Known, members: range) -> tuple[list[Any], int]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads: nobody sees them here
        trees, n_weightless = _bag_here(codes, known).grow_batch(members)
    return [tree_to_arrays(tree) for tree in trees], n_weightless


def _answer(codes: Any, known: _Known, members: range, grown: tuple[list[Any], int]) -> list[Any]:
    bag = _bag_here(codes, known)
    return list(bag.answers(members, [tree_from_arrays(tree, known.schema) for tree in grown[0]]))


def _forget(fit: str) -> None:
    with _HERE_LOCK:
        _HERE.pop(fit, None)


# --- On the driver ---------------------------------------------------------------------------------------


class BagOnCluster:
    """A bag of trees whose members grow on the workers of a cluster, each as it would here."""

    def __init__(self, bag: TreeBag, cluster: Cluster, fit: str, *, asks_later: bool) -> None:
        n_rows = sum(cluster.lengths)
        refuse_beyond_workers(cluster, n_rows)
        self._bag = bag
        self._cluster = cluster
        self._fit = fit
        self._asks_later = asks_later
        self._grown: dict[range, Any] = {}  # futures of members that will be asked about rows
        nothing: Any = None
        known = _Known(fit, tuple(cluster.columns), bag.encoded.schema, replace(bag, encoded=nothing))
        self._pool = WorkerPool(cluster.client, cluster.put_together(0, n_rows), known)
        cluster.pieces, cluster.partitions = [], []  # which Dask keeps as long as they may be needed again

    def _batches(self, members: range) -> list[range]:
        """Cut members into batches: as many as a worker grows side by side."""
        size = max(1, min(self._cluster.workers().values(), default=1))
        return [members[begin : begin + size] for begin in range(0, len(members), size)]

    def grow(self, members: range, listener: Listener) -> list[_core.Tree]:
        """Grow the trees of some members."""
        self._bag.refuse_trees_beyond_memory()
        batches = self._batches(members)
        found: list[list[_core.Tree]] = [[] for _ in batches]
        n_weightless, n_done = 0, 0
        for number, future in self._pool.results(_grow, [(batch,) for batch in batches], _named(batches)):
            trees, weightless = future.result()
            found[number] = [tree_from_arrays(tree, self._bag.encoded.schema) for tree in trees]
            n_weightless = max(n_weightless, weightless)
            n_done += len(trees)
            listener.done(members.start + n_done)
            if self._asks_later:
                self._grown[batches[number]] = future
        warn_of_weightless_rows(n_weightless)
        return [tree for trees in found for tree in trees]

    def answer(self, members: range, made: Sequence[_core.Tree], out_of_bag: OutOfBag) -> None:
        """Ask members about the rows their samples lack; sums are made in their order."""
        pieces: list[tuple[Any, ...]] = [(batch, future) for batch, future in self._grown.items()]
        known = {member for batch in self._grown for member in batch}
        for member in members:
            if member not in known:  # of the fit that this one goes on with
                former = [tree_to_arrays(made[member - members.start])], 0
                pieces.append((range(member, member + 1), former))
        self._grown = {}
        pieces.sort(key=lambda piece: piece[0].start)
        early: dict[int, Any] = {}
        n_added = 0
        for number, future in self._pool.results(_answer, pieces, _named([piece[0] for piece in pieces])):
            early[number] = future.result()
            while n_added in early:
                for rows, values in early.pop(n_added):
                    out_of_bag.add(rows, values)
                n_added += 1

    def close(self) -> None:
        """Let the workers forget the fit."""
        if self._cluster.client.status == "running":
            self._cluster.client.run(_forget, self._fit, on_error="ignore")


def _named(batches: Sequence[range]) -> list[str]:
    return [
        f"Member {batch.start}" if len(batch) == 1 else f"Members {batch.start} to {batch.stop - 1}"
        for batch in batches
    ]
