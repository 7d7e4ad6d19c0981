"""Gradient boosting on a Dask cluster: `GradientBoostingClassifier` and `GradientBoostingRegressor`.

They are the estimators of the same names, and share everything with them but two things: rows are read and
encoded where they are (`reading.py`), and rounds grow their trees from the sums of parts (`parts.py`,
`recipes/boost_parts.py`). Once fitted they also take tables in memory.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.dask import reading
from hornbeam.dask.partitions import brought, futures_of, is_lazy, lazily_answered, partitions_of
from hornbeam.dask.parts import DaskParts
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.data.weights import rows_that_count
from hornbeam.data.wording import shown
from hornbeam.estimators import boosting as local
from hornbeam.estimators.base import Training
from hornbeam.estimators.boosting.begun import BoostingData
from hornbeam.estimators.boosting.rounds import BoostingRounds
from hornbeam.estimators.boosting.rows import BoostingRows
from hornbeam.estimators.boosting.settings import BoostingPlan
from hornbeam.params import validate
from hornbeam.recipes.boost import BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boost_part import CoreColumn, specs_of_parts
from hornbeam.recipes.boost_parts import PartsBoosting

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

_PURPOSE = "Fitting on a cluster"
_USUAL_LEAVES = 31  # of trees whose number of leaves is not limited: for the cut between parts, nothing else


class _Cluster:
    """The rows of one fit on a cluster: partitions, then codes, then parts."""

    def __init__(self, client: Any, X: Any) -> None:
        self.client = client
        self.partitions = futures_of(partitions_of(X), client)
        self.rows: npt.NDArray[np.int64] | None = None  # of X, that count
        self.lengths: list[int] = []
        self.columns: list[CoreColumn] = []
        self.codes: list[Any] = []
        self.parts: DaskParts | None = None

    def _on_each(self, function: Any, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [
            self.client.submit(function, partition, number, *own, pure=False)
            for number, (partition, own) in enumerate(zip(self.partitions, arguments, strict=True))
        ]

    def look(self, categorical_features: Any, estimator_name: str) -> reading.TableElsewhere:
        """Find out what the columns are."""
        own = (categorical_features, estimator_name)
        looks = self.client.gather(self._on_each(reading.look, [own] * len(self.partitions)))
        self.lengths = [found.n_rows for found in looks]
        return reading.header_of(looks)

    def _kept(self, rows: npt.NDArray[np.int64] | None) -> list[Any]:
        """Tell each partition which of its rows count; None for all."""
        if rows is None:
            return [None] * len(self.lengths)
        ends = np.cumsum(self.lengths)
        begins = ends - self.lengths
        places = np.searchsorted(rows, [*begins, ends[-1]])
        return [
            rows[first:last] - begin
            for begin, first, last in zip(begins, places[:-1], places[1:], strict=True)
        ]

    def encode(self, way: reading.Way) -> None:
        """Make bins, and have every partition encoded."""
        kept = self._kept(self.rows)
        sizes = [n if own is None else len(own) for n, own in zip(self.lengths, kept, strict=True)]
        ends = np.cumsum(sizes)
        sampled = _core.sampled_rows(int(ends[-1])).astype(np.int64)
        places = np.searchsorted(sampled, [0, *ends])
        chosen = [
            sampled[first:last] - (end - size)
            for first, last, end, size in zip(places[:-1], places[1:], ends, sizes, strict=True)
        ]
        samples = self.client.gather(
            self._on_each(reading.sample, [(way, *own) for own in zip(kept, chosen, strict=True)])
        )
        self.columns = reading.core_columns(way.schema, samples, way.max_bins)
        self.codes = self._on_each(reading.encode, [(way, own, self.columns) for own in kept])
        self.lengths = sizes

    def n_workers(self) -> int:
        """Count the workers that are there now."""
        return max(1, len(self.client.nthreads()))

    def n_threads(self) -> int:
        """Tell how many threads a worker has: the fewest that any has."""
        return min(self.client.nthreads().values(), default=1)

    def cut(self, n_rows: int, n_leaves: int) -> list[int]:
        """Divide the rows among the workers, where leaves are summed anew: no block lies in two parts."""
        step = _core.rows_per_leaf_block(n_rows, n_leaves)
        n_blocks = -(-n_rows // step)
        n_parts = min(self.n_workers(), n_blocks)
        return sorted({n_blocks * k // n_parts * step for k in range(n_parts)})

    def place(self, specs: Sequence[Any]) -> DaskParts:
        """Put the codes of parts together, on different workers."""
        ends = np.cumsum(self.lengths)
        codes = []
        for number, spec in enumerate(specs):
            first, last = spec.first_row, spec.first_row + spec.n_rows
            stretches, pieces = [], []
            for piece, end, length in zip(self.codes, ends.tolist(), self.lengths, strict=True):
                begin = end - length
                if length and begin < last and end > first:
                    stretches.append((max(first - begin, 0), min(last, end) - begin))
                    pieces.append(piece)
            workers = sorted(self.client.nthreads())
            home = (
                {"workers": [workers[number % len(workers)]], "allow_other_workers": True} if workers else {}
            )
            codes.append(self.client.submit(reading.put_together, stretches, pieces, pure=False, **home))
        require("distributed", purpose=_PURPOSE).wait(codes)
        self.parts = DaskParts(self.client, specs, codes)
        self.codes, self.partitions = [], []  # which Dask keeps as long as parts may need them again
        return self.parts


class _OnCluster(BoostingRounds):
    """What fits on a cluster do in their own way."""

    def _fit_on(self, client: Any, X: Any, y: Any, sample_weight: Any, offset: Any, **more: Any) -> Self:
        distributed = require("distributed", purpose=_PURPOSE)
        client = distributed.get_client() if client is None else client
        validate(self)
        self._refuse_what_needs_all_rows(more)
        self._cluster = _Cluster(client, X)
        try:
            y, sample_weight, offset = (brought(given, client) for given in (y, sample_weight, offset))
            super().fit(self._cluster, y, sample_weight, offset=offset, **more)  # type: ignore[misc]
            self._say_traffic()
        finally:
            if self._cluster.parts is not None:
                self._cluster.parts.close()
            del self._cluster
        return self

    def _refuse_what_needs_all_rows(self, more: dict[str, Any]) -> None:
        name = type(self).__name__
        for option in ("target", "max_memory", "checkpoint"):
            if more.get(option) is not None:
                raise ValueError(f"{name}: a fit on a cluster does not take {option} yet.")
        if self.n_estimators == "auto" and more.get("X_val") is None:
            raise ValueError(
                f"{name}: n_estimators='auto' is judged by rows that are set aside, which a fit on a cluster "
                "does not do yet. Give a number, for example n_estimators=100, or rows to judge by: X_val "
                "and y_val, tables in memory."
            )
        if self.early_stopping is True and more.get("X_val") is None:
            raise ValueError(
                f"{name}: early_stopping=True sets rows aside, which a fit on a cluster does not do yet. "
                "Give rows to judge by: X_val and y_val, tables in memory."
            )
        if self.warm_start:
            raise ValueError(
                f"{name}: a fit on a cluster cannot go on with another one; set warm_start=False."
            )
        if not isinstance(getattr(self, "loss", ""), str):
            raise ValueError(
                f"{name}: a fit on a cluster takes the losses of hornbeam, by name, not one of your own."
            )

    def _begin_fit(self, X: Any, sample_weight: Any) -> Training:
        name = type(self).__name__
        header = self._cluster.look(self.categorical_features, name)
        rows, weights = rows_that_count(sample_weight, header.n_rows)
        self._cluster.rows = rows
        table = header if rows is None else header.take(rows)
        return Training(table, weights, header.n_rows, rows)

    def _rows_to_grow_on(
        self, data: BoostingData, plan: BoostingPlan, key: int
    ) -> tuple[BoostingRows, BoostingRows | None]:
        rows, judged = super()._rows_to_grow_on(data, plan, key)
        numbers = rows.table.row_numbers
        self._cluster.rows = None if numbers is None else numbers.astype(np.int64)
        return rows, judged

    def _columns_of_many(self, table: Table) -> list[int]:
        many = super()._columns_of_many(table)
        if many and hasattr(self, "_cluster"):
            column = table.columns[many[0]]
            raise ValueError(
                f"Column {shown(column.name)} has {len(column.categories or ())} categories. On one machine "
                "it would become means of the target, which a fit on a cluster does not do yet. Set "
                "categorical_split='subset' or 'one_vs_rest', which are the same on both."
            )
        return many

    def _encoded(self, table: Table, n_threads: int) -> Encoded:
        cluster = self._cluster
        missing_allowed = self.missing != "error"
        cluster.encode(reading.Way(table.schema, self.max_bins, missing_allowed, type(self).__name__))
        empty = [column.with_codes(_no_codes(column)) for column in cluster.columns]
        return reading.EncodedElsewhere(_core.dataset_of_codes(0, empty), table.schema, table.n_rows)

    def _boosting(
        self,
        encoded: Encoded,
        target: BoostTarget,
        settings: BoostSettings,
        draws: RoundDraws,
        *,
        n_threads: int,
        former: Sequence[_core.Tree],
        shares_tests: bool,
    ) -> Any:
        if shares_tests and target.loss.n_scores > 1:
            raise ValueError(
                f"{type(self).__name__}: trees of classes do not share their tests on a cluster yet. Set "
                "class_trees='separate', which is the same on both."
            )
        cluster = self._cluster
        first_rows = cluster.cut(encoded.n_rows, settings.max_leaf_nodes or _USUAL_LEAVES)
        specs = specs_of_parts(
            cluster.columns, encoded.schema, target, settings, first_rows, n_threads=cluster.n_threads()
        )
        parts = cluster.place(specs)
        return PartsBoosting(parts, cluster.columns, target, settings, draws, schema=encoded.schema)

    def _say_traffic(self) -> None:
        parts = self._cluster.parts
        if not self.verbose or parts is None:
            return
        traffic, n_trees = parts.traffic, max(1, len(self._model.trees))
        print(
            f"{n_trees} trees from {len(parts.first_rows)} parts; per tree {traffic.n_calls / n_trees:.1f} "
            f"calls, {traffic.sent / n_trees / 1e6:.3f} MB to the parts, "
            f"{traffic.received / n_trees / 1e6:.3f} MB back; {traffic.n_rebuilt} parts made anew"
        )

    def to_local(self) -> Any:
        """Return the same model as an estimator that knows nothing of clusters."""
        model = self._local_class(**self.get_params())  # type: ignore[attr-defined]
        vars(model).update(vars(self))
        return model


def _no_codes(column: CoreColumn) -> npt.NDArray[Any]:
    n = column.n_categories if column.values is None else len(column.values) + int(column.binned)
    return np.empty(0, dtype=np.uint8 if n <= 0xFF else np.uint16 if n <= 0xFFFF else np.uint32)


class _Answer:
    """A method of a fitted model, for tables of a partition."""

    def __init__(self, model: Any, method: str, example: npt.NDArray[Any]) -> None:
        self._model, self._method = model, method
        self.example = example

    def __call__(self, table: Any) -> npt.NDArray[Any]:
        """Answer the rows of a table."""
        if not len(table):
            return self.example
        answers: npt.NDArray[Any] = getattr(self._model, self._method)(table)
        return answers


class GradientBoostingClassifier(_OnCluster, local.GradientBoostingClassifier):
    """Gradient boosting that predicts classes, fitted on a Dask cluster.

    The options are those of `hornbeam.GradientBoostingClassifier`, and so is the model.
    """

    _local_class = local.GradientBoostingClassifier

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        client: Any = None,
        **more: Any,
    ) -> Self:
        """Boost on rows X with labels y: Dask frames, arrays, or lists of delayed parts of them.

        `client` is the client of the cluster, by default the one there is. Rows to judge by, X_val and y_val,
        are tables in memory. The other arguments are those of `hornbeam.GradientBoostingClassifier.fit`.
        """
        return self._fit_on(client, X, y, sample_weight, offset, **more)

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Return the most probable class; lazily, if X is a Dask collection."""
        if not is_lazy(X):
            return super().predict(X, offset=offset)
        return lazily_answered(X, _Answer(self.to_local(), "predict", self.classes_[:0]))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Return the probability of each class; lazily, if X is a Dask collection."""
        if not is_lazy(X):
            return super().predict_proba(X, offset=offset)
        example = np.empty((0, self.n_classes_))
        return lazily_answered(X, _Answer(self.to_local(), "predict_proba", example), columns=self.classes_)


class GradientBoostingRegressor(_OnCluster, local.GradientBoostingRegressor):
    """Gradient boosting that predicts numbers, fitted on a Dask cluster.

    The options are those of `hornbeam.GradientBoostingRegressor`, and so is the model.
    """

    _local_class = local.GradientBoostingRegressor

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        client: Any = None,
        **more: Any,
    ) -> Self:
        """Boost on rows X with targets y: Dask frames, arrays, or lists of delayed parts of them.

        `client` is the client of the cluster, by default the one there is. Rows to judge by, X_val and y_val,
        are tables in memory. The other arguments are those of `hornbeam.GradientBoostingRegressor.fit`.
        """
        return self._fit_on(client, X, y, sample_weight, offset, **more)

    def predict(self, X: Any, *, offset: Any = None) -> Any:
        """Return the predicted number of each row; lazily, if X is a Dask collection."""
        if not is_lazy(X):
            return super().predict(X, offset=offset)
        return lazily_answered(X, _Answer(self.to_local(), "predict", np.empty(0)))
