"""Gradient boosting on a Dask cluster: `GradientBoostingClassifier` and `GradientBoostingRegressor`.

They are the estimators of the same names, and share everything with them but two things: rows are read and
encoded where they are (`reading.py`), and rounds grow their trees from the sums of parts (`parts.py`,
`recipes/boosting/boost_parts.py`). Once fitted they also take tables in memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.dask.cluster import Cluster, OnCluster, client_of
from hornbeam.dask.connection import PURPOSE
from hornbeam.dask.held import HeldRows
from hornbeam.dask.partition_summaries import TableElsewhere
from hornbeam.dask.partitions import Answer, is_lazy, lazily_answered
from hornbeam.dask.parts import DaskParts, Traffic
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.estimators import boosting as local
from hornbeam.estimators.boosting.begun import BoostingData
from hornbeam.estimators.boosting.rounds import BoostingRounds
from hornbeam.estimators.boosting.rows import BoostingRows
from hornbeam.estimators.boosting.settings import BoostingPlan
from hornbeam.params import validate
from hornbeam.recipes.boosting.boost import BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boosting.boost_members import Member, MemberBoosting
from hornbeam.recipes.boosting.boost_part import specs_of_parts
from hornbeam.recipes.boosting.boost_parts import PartsBoosting
from hornbeam.recipes.boosting.boost_parts_members import MemberPartsBoosting
from hornbeam.recipes.boosting.boost_parts_own import OwnLossPartsBoosting
from hornbeam.recipes.boosting.losses import OwnLoss

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]

_USUAL_LEAVES = 31  # of trees whose number of leaves is not limited: for the cut between parts, nothing else


class _Boosting(OnCluster, BoostingRounds):
    """What boosting on a cluster does in its own way."""

    def _fit_on(self, client: Any, X: Any, y: Any, sample_weight: Any, offset: Any, **more: Any) -> Self:
        client = client_of(client)
        validate(self)
        self._refuse_what_needs_all_rows(more)
        with self._rows_on(client, X) as rows:
            self._parts: list[DaskParts] = []
            self._held: HeldRows | None = None
            try:
                y, sample_weight, offset, groups = self._brought(
                    y, sample_weight, offset, more.pop("groups", None)
                )
                super().fit(rows, y, sample_weight, offset=offset, groups=groups, **more)  # type: ignore[misc]
                self._say_traffic()
            finally:
                for parts in [*self._parts, *([] if self._held is None else [self._held])]:
                    parts.close()
                del self._parts, self._held
        return self

    def _refuse_what_needs_all_rows(self, more: dict[str, Any]) -> None:
        name = type(self).__name__
        for option in ("target", "max_memory"):
            if more.get(option) is not None:
                raise ValueError(f"{name}: a fit on a cluster does not take {option}: it is for files.")
        sets_aside = self.n_estimators == "auto" or self.early_stopping is True
        if callable(self.scoring) and sets_aside and more.get("X_val") is None:
            raise ValueError(
                f"{name}: scoring is a function of rows, and those that a fit on a cluster sets aside are on "
                "the workers. Give a scorer by name, or rows to judge by: X_val and y_val, tables in memory."
            )

    def _rows_to_grow_on(
        self, data: BoostingData, plan: BoostingPlan, key: int
    ) -> tuple[BoostingRows, BoostingRows | None]:
        rows, judged = super()._rows_to_grow_on(data, plan, key)
        cluster, numbers = self._cluster, rows.table.row_numbers
        if judged is not None and isinstance(judged.table, TableElsewhere):
            held = judged.table.row_numbers
            assert held is not None  # they are some of the rows
            self._held = HeldRows(cluster, self._way(), held.astype(np.int64), self.unseen)
        cluster.rows = None if numbers is None else numbers.astype(np.int64)
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
        begin = self._placed(encoded, target, settings, n_threads=n_threads, shares_tests=shares_tests)
        boosting = begin(draws, settings)
        if former:
            boosting.go_on_after(former)
        return boosting

    def _member_boosting(
        self,
        encoded: Encoded,
        target: BoostTarget,
        members: Sequence[Member],
        *,
        n_threads: int,
        shares_tests: bool,
    ) -> MemberBoosting:
        begin = self._placed(
            encoded, target, members[0].settings, n_threads=n_threads, shares_tests=shares_tests
        )
        return MemberPartsBoosting(begin, encoded, target, members, shares_tests=shares_tests)

    def _placed(
        self,
        encoded: Encoded,
        target: BoostTarget,
        settings: BoostSettings,
        *,
        n_threads: int,
        shares_tests: bool,
    ) -> Callable[[RoundDraws, BoostSettings], PartsBoosting]:
        """Put the codes of parts on workers, cut for trees of so many leaves; return what begins a fit."""
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
        codes = _put_together(cluster, specs)

        def begin(draws: RoundDraws, settings: BoostSettings) -> PartsBoosting:
            own = [spec.with_settings(settings, target) for spec in specs]
            parts = DaskParts(cluster.client, own, codes)
            self._parts.append(parts)
            kind = OwnLossPartsBoosting if isinstance(target.loss, OwnLoss) else PartsBoosting
            return kind(
                parts,
                cluster.columns,
                target,
                settings,
                draws,
                schema=encoded.schema,
                shares_tests=shares_tests,
                n_threads=n_threads,
            )

        return begin

    def _judge_validation(
        self, rows: BoostingRows, target: BoostTarget, restored: Any, n_threads: int
    ) -> Callable[[Sequence[_core.Tree]], float]:
        if self._held is None:
            return super()._judge_validation(rows, target, restored, n_threads)
        judge, held = self._judge(target, rows), self._held
        scores = np.array(BoostTarget(target.loss, rows.target, None, target.baseline, rows.offset).start)

        def judge_with(new: Sequence[_core.Tree]) -> float:
            scores[:] = held.scores_from(restored(new), scores)
            return judge(scores)

        return judge_with

    def _say_traffic(self) -> None:
        if not self.verbose or not self._parts:
            return
        n_trees = max(1, len(self._model.trees))
        traffic = sum((parts.traffic for parts in self._parts), start=Traffic())
        print(
            f"{n_trees} trees from {len(self._parts[0].first_rows)} parts; per tree "
            f"{traffic.n_calls / n_trees:.1f} calls, {traffic.sent / n_trees / 1e6:.3f} MB to the parts, "
            f"{traffic.received / n_trees / 1e6:.3f} MB back; {traffic.n_rebuilt} parts made anew"
        )


def _cuts(n_rows: int, n_leaves: int, n_workers: int) -> list[int]:
    """Divide the rows among the workers, where leaves are summed anew: no block lies in two parts."""
    step = _core.rows_per_leaf_block(n_rows, n_leaves)
    n_blocks = -(-n_rows // step)
    n_parts = min(max(1, n_workers), n_blocks)
    return sorted({n_blocks * k // n_parts * step for k in range(n_parts)})


def _put_together(cluster: Cluster, specs: Sequence[Any]) -> list[Any]:
    """Put the codes of parts together, on different workers."""
    workers = list(cluster.workers())
    codes = []
    for number, spec in enumerate(specs):
        home = {"workers": [workers[number % len(workers)]], "allow_other_workers": True} if workers else {}
        codes.append(cluster.put_together(spec.first_row, spec.first_row + spec.n_rows, **home))
    require("distributed", purpose=PURPOSE).wait(codes)
    cluster.pieces, cluster.partitions = [], []  # which Dask keeps as long as parts may need them again
    return codes


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
