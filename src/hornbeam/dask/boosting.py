"""Gradient boosting on a Dask cluster: `GradientBoostingClassifier` and `GradientBoostingRegressor`.

They are the estimators of the same names, and share everything with them but two things: rows are read and
encoded where they are (`reading.py`), and rounds grow their trees from the sums of parts (`parts.py`,
`recipes/boost_parts.py`). Once fitted they also take tables in memory.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.dask.cluster import Cluster, OnCluster, client_of
from hornbeam.dask.connection import PURPOSE
from hornbeam.dask.partitions import Answer, is_lazy, lazily_answered
from hornbeam.dask.parts import DaskParts
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.estimators import boosting as local
from hornbeam.estimators.boosting.begun import BoostingData
from hornbeam.estimators.boosting.rounds import BoostingRounds
from hornbeam.estimators.boosting.rows import BoostingRows
from hornbeam.estimators.boosting.settings import BoostingPlan
from hornbeam.params import validate
from hornbeam.recipes.boost import BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boost_part import specs_of_parts
from hornbeam.recipes.boost_parts import PartsBoosting

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

_USUAL_LEAVES = 31  # of trees whose number of leaves is not limited: for the cut between parts, nothing else


class _Boosting(OnCluster, BoostingRounds):
    """What boosting on a cluster does in its own way."""

    def _fit_on(self, client: Any, X: Any, y: Any, sample_weight: Any, offset: Any, **more: Any) -> Self:
        client = client_of(client)
        validate(self)
        self._refuse_what_needs_all_rows(more)
        with self._rows_on(client, X) as rows:
            self._parts: DaskParts | None = None
            try:
                y, sample_weight, offset = self._brought(y, sample_weight, offset)
                super().fit(rows, y, sample_weight, offset=offset, **more)  # type: ignore[misc]
                self._say_traffic()
            finally:
                if self._parts is not None:
                    self._parts.close()
                del self._parts
        return self

    def _refuse_what_needs_all_rows(self, more: dict[str, Any]) -> None:
        name = type(self).__name__
        for option in ("target", "max_memory"):
            if more.get(option) is not None:
                raise ValueError(f"{name}: a fit on a cluster does not take {option}: it is for files.")
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

    def _rows_to_grow_on(
        self, data: BoostingData, plan: BoostingPlan, key: int
    ) -> tuple[BoostingRows, BoostingRows | None]:
        rows, judged = super()._rows_to_grow_on(data, plan, key)
        numbers = rows.table.row_numbers
        self._cluster.rows = None if numbers is None else numbers.astype(np.int64)
        table = self._cluster.bring(rows.table, self._way(), self._columns_of_many(rows.table))
        return replace(rows, table=table), judged

    def _encoded(self, table: Table, n_threads: int) -> Encoded:
        return self._cluster.encode(self._way(), table)

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
        workers = cluster.workers()
        first_rows = _cuts(encoded.n_rows, settings.max_leaf_nodes or _USUAL_LEAVES, len(workers))
        specs = specs_of_parts(
            cluster.columns,
            encoded.schema,
            target,
            settings,
            first_rows,
            n_threads=min(workers.values(), default=1),
        )
        self._parts = parts = _placed(cluster, specs)
        return PartsBoosting(parts, cluster.columns, target, settings, draws, schema=encoded.schema)

    def _say_traffic(self) -> None:
        parts = self._parts
        if not self.verbose or parts is None:
            return
        traffic, n_trees = parts.traffic, max(1, len(self._model.trees))
        print(
            f"{n_trees} trees from {len(parts.first_rows)} parts; per tree {traffic.n_calls / n_trees:.1f} "
            f"calls, {traffic.sent / n_trees / 1e6:.3f} MB to the parts, "
            f"{traffic.received / n_trees / 1e6:.3f} MB back; {traffic.n_rebuilt} parts made anew"
        )


def _cuts(n_rows: int, n_leaves: int, n_workers: int) -> list[int]:
    """Divide the rows among the workers, where leaves are summed anew: no block lies in two parts."""
    step = _core.rows_per_leaf_block(n_rows, n_leaves)
    n_blocks = -(-n_rows // step)
    n_parts = min(max(1, n_workers), n_blocks)
    return sorted({n_blocks * k // n_parts * step for k in range(n_parts)})


def _placed(cluster: Cluster, specs: Sequence[Any]) -> DaskParts:
    """Put the codes of parts together, on different workers."""
    workers = list(cluster.workers())
    codes = []
    for number, spec in enumerate(specs):
        home = {"workers": [workers[number % len(workers)]], "allow_other_workers": True} if workers else {}
        codes.append(cluster.put_together(spec.first_row, spec.first_row + spec.n_rows, **home))
    require("distributed", purpose=PURPOSE).wait(codes)
    cluster.pieces, cluster.partitions = [], []  # which Dask keeps as long as parts may need them again
    return DaskParts(cluster.client, specs, codes)


class GradientBoostingClassifier(_Boosting, local.GradientBoostingClassifier):
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
        return lazily_answered(X, Answer(self.to_local(), "predict", self.classes_[:0]))

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Return the probability of each class; lazily, if X is a Dask collection."""
        if not is_lazy(X):
            return super().predict_proba(X, offset=offset)
        example = np.empty((0, self.n_classes_))
        return lazily_answered(X, Answer(self.to_local(), "predict_proba", example), columns=self.classes_)


class GradientBoostingRegressor(_Boosting, local.GradientBoostingRegressor):
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
        return lazily_answered(X, Answer(self.to_local(), "predict", np.empty(0)))
