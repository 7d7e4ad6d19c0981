"""Rows that are set aside to judge rounds by: they stay on the workers, and the driver keeps their scores.

A task is given the scores of its rows and the trees that are new, and returns the scores after them, so it
can run anywhere and again. The rows that a process has read are kept there for the fit.
"""

import threading
import uuid
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.dask import reading
from hornbeam.dask.cluster import Cluster
from hornbeam.dask.connection import gathered, submitted
from hornbeam.data.table import Schema, Table
from hornbeam.model import Ensemble, tree_from_arrays, tree_to_arrays
from hornbeam.recipes.boosting.boost import turns

__all__ = ["HeldRows"]

FloatArray = npt.NDArray[np.float64]

_HERE: dict[tuple[str, int], Table] = {}
_HERE_LOCK = threading.Lock()


def _scores_from(
    partition: Any, number: int, place: tuple[str, reading.Way, Any], news: tuple[Any, Any], onto: FloatArray
) -> FloatArray:
    """Add what trees say to the scores of some rows of a partition."""
    (fit, way, kept), (trees, unseen) = place, news
    if not len(onto):
        return onto
    with _HERE_LOCK:
        if (fit, number) not in _HERE:
            _HERE[fit, number] = reading.read(partition, number, way, kept)
        table = _HERE[fit, number]
    schema: Schema = way.schema
    there = tuple(tree_from_arrays(arrays, schema) for arrays in trees)
    model = Ensemble(there, schema, unseen, adds_to=turns(len(there), onto.shape[1]))
    found = np.array(onto[:, np.newaxis, :], order="C")
    model.total(table, n_threads=1, onto=found)
    return found[:, 0, :]


def _forget(fit: str) -> None:
    with _HERE_LOCK:
        for key in [key for key in _HERE if key[0] == fit]:
            del _HERE[key]


class HeldRows:
    """Rows of X, by their numbers, that trees do not grow on."""

    def __init__(self, cluster: Cluster, way: reading.Way, rows: npt.NDArray[np.int64], unseen: Any) -> None:
        self._client = cluster.client
        self._partitions = list(cluster.partitions)
        self._kept = cluster.among_partitions(rows)
        self._way = way
        self._unseen = unseen
        self._fit = uuid.uuid4().hex

    def scores_from(self, trees: Sequence[_core.Tree], scores: FloatArray) -> FloatArray:
        """Add what trees say to the scores of the rows: rows x scores."""
        news = ([tree_to_arrays(tree) for tree in trees], self._unseen)
        ends = np.cumsum([len(kept) for kept in self._kept])
        tasks = [
            submitted(
                self._client,
                _scores_from,
                partition,
                number,
                (self._fit, self._way, kept),
                news,
                scores[end - len(kept) : end],
            )
            for number, (partition, kept, end) in enumerate(
                zip(self._partitions, self._kept, ends.tolist(), strict=True)
            )
        ]
        return np.concatenate(gathered(self._client, tasks))

    def close(self) -> None:
        """Let the workers forget the rows."""
        if self._client.status == "running":
            self._client.run(_forget, self._fit, on_error="ignore")
