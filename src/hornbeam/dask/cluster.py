"""The rows of one fit on a cluster: partitions come in, codes of them on workers go out.

What all estimators on a cluster share: how rows are looked at, which of them count, how columns become codes
where they are. Columns of many categories are brought to the driver, which makes means of the target of them
(`recipes/category_means.py`) and sends these out as codes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.dask import reading
from hornbeam.dask.connection import PURPOSE, gathered, one_error_if_lost, submitted
from hornbeam.dask.partition_summaries import TableElsewhere, header_of, summarize
from hornbeam.dask.partitions import brought, futures_of, partitions_of
from hornbeam.data.column import Column
from hornbeam.data.dates import FoundDates
from hornbeam.data.encode import Encoded, own_codes
from hornbeam.data.table import Table
from hornbeam.data.weights import rows_that_count
from hornbeam.estimators.base import Training
from hornbeam.recipes.boosting.boost_part import CoreColumn

__all__ = ["Cluster", "OnCluster", "client_of"]


def client_of(given: Any) -> Any:
    """Return the client that the user has given, or the one there is."""
    return require("distributed", purpose=PURPOSE).get_client() if given is None else given


class Cluster:
    """The rows of one fit on a cluster: partitions, then codes."""

    def __init__(self, client: Any, X: Any) -> None:
        self.client = client
        self.partitions = futures_of(partitions_of(X), client)
        self.rows: npt.NDArray[np.int64] | None = None  # of X, that count
        self.columns: list[CoreColumn] = []  # that trees grow on
        self.pieces: list[Any] = []  # the codes of each partition
        self.lengths: list[int] = []  # and how many rows they have
        self.made_here: list[npt.NDArray[Any]] = []  # codes of the columns that the driver makes
        self._lengths_given: list[int] = []
        self._with_gaps: dict[str, bool] = {}
        self.schema: Any = None  # of the user's columns

    def _on_each(self, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [
            submitted(self.client, function, partition, number, *own)
            for number, (partition, own) in enumerate(zip(self.partitions, arguments, strict=True))
        ]

    def find_columns(
        self, categorical_features: Any, estimator_name: str, found: FoundDates
    ) -> TableElsewhere:
        """Find out what the columns are, of the rows that count; texts that are dates are `found`."""
        kept = self._kept() if self._lengths_given else [None] * len(self.partitions)
        own = [(rows, categorical_features, estimator_name) for rows in kept]
        summaries = gathered(self.client, self._on_each(summarize, own))
        self._lengths_given = [found.n_rows for found in summaries]
        header = header_of(summaries, found)
        self.schema = header.schema
        return header

    def _kept(self) -> list[Any]:
        """Tell each partition which of its rows count; None for all."""
        if self.rows is None:
            return [None] * len(self._lengths_given)
        return self.among_partitions(self.rows)

    def among_partitions(self, rows: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
        """Number rows of X within their partitions."""
        ends = np.cumsum(self._lengths_given)
        begins = ends - self._lengths_given
        places = np.searchsorted(rows, [*begins, ends[-1]])
        return [
            rows[first:last] - begin
            for begin, first, last in zip(begins, places[:-1], places[1:], strict=True)
        ]

    def bring(self, table: Table, way: reading.Way, columns: Sequence[int]) -> Table:
        """Bring some categorical columns of the rows that count to the driver."""
        if not columns:
            return table
        kept, asking = self._kept(), replace(way, wanted=tuple(columns))
        asked = [(asking, own) for own in kept]
        pieces = gathered(self.client, self._on_each(reading.categories_of, asked))
        there = list(table.columns)
        for place, j in enumerate(columns):
            values = np.concatenate([piece[place] for piece in pieces])
            column = table.columns[j]
            there[j] = Column(column.name, column.kind, values, column.categories)
            self._with_gaps[column.name] = there[j].first_missing_row() is not None
        return replace(table, columns=tuple(there))

    def encode(self, way: reading.Way, table: Table, *, all_rows: bool = False) -> Encoded:
        """Make bins, and have every partition encoded; columns of the driver's own are encoded there.

        Bins are those of the rows that count; with `all_rows` the others are given codes, too.
        """
        here = {c.name for c in table.columns if isinstance(c.values, np.ndarray) and c.values.size}
        elsewhere = [column.name for column in table.columns if column.name not in here]
        way = replace(way, wanted=tuple(map(way.schema.names.index, elsewhere)))
        kept = self._kept()
        sizes = [n if own is None else len(own) for n, own in zip(self._lengths_given, kept, strict=True)]
        ends = np.cumsum(sizes)
        sampled = _core.sampled_rows(int(ends[-1])).astype(np.int64)
        places = np.searchsorted(sampled, [0, *ends])
        chosen = [
            sampled[first:last] - (end - size)
            for first, last, end, size in zip(places[:-1], places[1:], ends, sizes, strict=True)
        ]
        asked = [(way, *own) for own in zip(kept, chosen, strict=True)]
        samples = gathered(self.client, self._on_each(reading.sample, asked))
        self.columns = reading.core_columns(way, samples)
        way = replace(way, all_rows=all_rows)
        self.pieces = self._on_each(reading.encode, [(way, own, self.columns) for own in kept])
        self.lengths = self._lengths_given if all_rows else sizes
        for name, column in zip(elsewhere, self.columns, strict=True):
            self._with_gaps[name] = column.has_missing
        self._encode_here([c for c in table.columns if c.name in here], table.n_rows, way.max_bins)
        empty = [column.with_codes(reading.no_codes(column)) for column in self.columns]
        return reading.EncodedElsewhere(_core.dataset_of_codes(0, empty), table.schema, table.n_rows)

    def _encode_here(self, columns: Sequence[Column], n_rows: int, max_bins: int) -> None:
        """Encode what the driver has made: numbers, which come after the columns of partitions."""
        self.made_here = []
        for column in columns:
            codes, values, binned, has_missing = own_codes(column, n_rows, max_bins, 1)
            self.columns.append(CoreColumn(has_missing, np.array(values), binned))
            self.made_here.append(codes)

    def has_gaps(self, name: str) -> bool:
        """Tell whether some row that counts has no value in a column of the user's."""
        return self._with_gaps[name]

    def cut_out(self, first: int, last: int) -> tuple[list[tuple[int, int]], list[Any], list[Any]]:
        """Say what makes the codes of rows [first, last): stretches of pieces, these, and the driver's."""
        stretches, pieces = [], []
        for piece, end, length in zip(
            self.pieces, np.cumsum(self.lengths).tolist(), self.lengths, strict=True
        ):
            begin = end - length
            if length and begin < last and end > first:
                stretches.append((max(first - begin, 0), min(last, end) - begin))
                pieces.append(piece)
        return stretches, pieces, [codes[first:last] for codes in self.made_here]

    def put_together(self, first: int, last: int, **home: Any) -> Any:
        """Have the codes of rows [first, last) put together on a worker."""
        return submitted(self.client, reading.put_together, *self.cut_out(first, last), **home)

    def workers(self) -> dict[str, int]:
        """Return how many threads each worker has that is there now."""
        return dict(sorted(self.client.nthreads().items()))


class OnCluster:
    """What fits on a cluster do in their own way, whatever they grow."""

    _cluster: Cluster
    _local_class: Any

    @contextmanager
    def _rows_on(self, client: Any, X: Any) -> Iterator[Cluster]:
        """Have the rows of a fit ready for as long as it takes."""
        with one_error_if_lost(client):
            self._cluster = Cluster(client, X)
            try:
                yield self._cluster
            finally:
                del self._cluster

    def _brought(self, *given: Any) -> list[Any]:
        """Bring what goes with the rows to the driver."""
        return [brought(each, self._cluster.client) for each in given]

    def _begin_fit(self, X: Any, sample_weight: Any) -> Training:
        estimator: Any = self
        how, found = (estimator.categorical_features, type(self).__name__), FoundDates()
        table: Table = self._cluster.find_columns(*how, found)
        n_rows_given = table.n_rows
        rows, weights = rows_that_count(sample_weight, n_rows_given)
        if rows is not None:  # categories and dates are those of the rows that count
            self._cluster.rows, found = rows, FoundDates()
            table = self._cluster.find_columns(*how, found).take(rows)
        found.say()
        return Training(table, weights, n_rows_given, rows)

    def _way(self) -> reading.Way:
        """Say how partitions are read."""
        estimator: Any = self
        missing_allowed = estimator.missing != "error"
        return reading.Way(self._cluster.schema, estimator.max_bins, missing_allowed, type(self).__name__)

    def _refuse_exact_splits(self) -> None:
        estimator: Any = self
        if estimator.max_bins is None:
            raise ValueError(
                f"{type(self).__name__}: a fit on a cluster takes bins; max_bins=None would keep all "
                "distinct values. Set max_bins, for example to 255, and the same on one machine to compare."
            )

    def to_local(self) -> Any:
        """Return the same model as an estimator that knows nothing of clusters."""
        model = self._local_class(**self.get_params())  # type: ignore[attr-defined]
        vars(model).update(vars(self))
        return model
