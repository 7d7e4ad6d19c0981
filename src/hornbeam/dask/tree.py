"""Single trees on a Dask cluster: `DecisionTreeClassifier` and `DecisionTreeRegressor`.

They are the estimators of the same names. Rows become codes where they are; one worker gets the codes of all
rows and grows the tree there, pruning included. Once fitted they also take tables in memory.
"""

import copy
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from hornbeam._optional import require
from hornbeam.dask.answers import GrownOnCluster, GrownOnClusterOfClasses
from hornbeam.dask.cluster import client_of
from hornbeam.dask.connection import PURPOSE
from hornbeam.dask.whole import refuse_beyond_workers
from hornbeam.dask.worker_pool import WorkerPool
from hornbeam.data.coded import CodedColumn
from hornbeam.data.column import Column
from hornbeam.data.content import Content
from hornbeam.data.sources import CodedSource
from hornbeam.data.table import Schema, Table
from hornbeam.estimators import tree as local
from hornbeam.params import validate
from hornbeam.recipes.boosting.boost_part import CoreColumn
from hornbeam.warnings import warn

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]


class _CodesHere(CodedSource):
    """A table in codes, as estimators take it."""

    def __init__(self, schema: Schema, columns: tuple[CoreColumn, ...], codes: Any, max_bins: int) -> None:
        self.n_rows = len(codes[0])
        self.n_columns = len(schema.given_names)
        self.shape = (self.n_rows, self.n_columns)
        there = []
        parts = map(schema.part, range(len(columns)))
        for name, kind, categories, part, column, own in zip(
            schema.names, schema.kinds, schema.categories, parts, columns, codes, strict=True
        ):
            n_codes = (
                column.n_categories if column.values is None else len(column.values) + int(column.binned)
            )
            coded = CodedColumn(own, n_codes, column.has_missing, max_bins, column.values, column.binned)
            there.append(Column(name, kind, coded, categories, part))
        names = list(schema.given_names) if schema.names_given else None
        self._table = Table(self.n_rows, tuple(there), names, encodings={})

    def table_for(self, categorical_features: Any) -> Table:
        """Return the table: its columns were read as the estimator says."""
        return self._table

    def read(self, j: int, name: str) -> Content:
        """Refuse: the values are not here."""
        raise TypeError("The rows of a fit on a cluster are known by their codes only.")


@dataclass(frozen=True, eq=False)
class _Known:
    estimator: Any
    schema: Schema
    columns: tuple[CoreColumn, ...]
    arguments: dict[str, Any]


def _fit(codes: Any, known: _Known) -> tuple[Any, list[tuple[type[Warning], str]]]:
    """Fit on a worker; return the model, and what was warned of."""
    estimator = copy.deepcopy(known.estimator)
    worker = require("distributed", purpose=PURPOSE).get_worker()
    n_jobs = estimator.n_jobs
    estimator.set_params(n_jobs=worker.state.nthreads)
    source = _CodesHere(known.schema, known.columns, codes, estimator.max_bins)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(source, **known.arguments)
    return estimator.set_params(n_jobs=n_jobs), [(one.category, str(one.message)) for one in caught]


class _Tree(GrownOnCluster):
    """What trees on a cluster do in their own way."""

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        client: Any = None,
        **validation: Any,
    ) -> Self:
        """Grow the tree on rows X with targets y: Dask frames, arrays, or lists of delayed parts of them.

        `client` is the client of the cluster, by default the one there is. Rows to prune by (X_val, y_val,
        sample_weight_val) are tables in memory. `groups` are those of hornbeam's own trees.
        """
        tree: Any = self
        client = client_of(client)
        validate(tree)
        self._refuse_exact_splits()
        with self._rows_on(client, X) as rows:
            y, sample_weight, groups = self._brought(y, sample_weight, groups)
            training = self._begin_fit(rows, sample_weight)
            rows.encode(self._way(), training.table, all_rows=True)
            refuse_beyond_workers(rows, training.n_rows_given)
            known = _Known(
                self._unfitted(),
                training.table.schema,
                tuple(rows.columns),
                {"y": y, "sample_weight": sample_weight, "groups": groups, **validation},
            )
            pool = WorkerPool(client, rows.put_together(0, training.n_rows_given), known)
            rows.pieces, rows.partitions = [], []
            [(_, future)] = pool.results(_fit, [()], ["The tree"])
            fitted, said = future.result()
        self._take_over(fitted)
        for category, message in said:
            warn(message, category)
        return self

    def _unfitted(self) -> Any:
        """Return the estimator that a worker fits; it draws what this one would draw here."""
        estimator: Any = self
        unfitted = self._local_class(**estimator.get_params())
        if not isinstance(estimator.random_state, int | np.integer):
            unfitted.set_params(random_state=check_random_state(estimator.random_state))
        return unfitted

    def _take_over(self, fitted: Any) -> None:
        """Take what was fitted, and move the generator on from which keys were drawn."""
        tree: Any = self
        if not isinstance(tree.random_state, int | np.integer):
            check_random_state(tree.random_state).set_state(fitted.random_state.get_state())
        options = tree.get_params(deep=False)
        vars(tree).update({name: value for name, value in vars(fitted).items() if name not in options})


class DecisionTreeClassifier(_Tree, GrownOnClusterOfClasses, local.DecisionTreeClassifier):  # type: ignore[misc]
    """A decision tree that predicts classes, grown on a Dask cluster.

    The options are those of `hornbeam.DecisionTreeClassifier`, and so is the model.
    """

    _local_class = local.DecisionTreeClassifier


class DecisionTreeRegressor(_Tree, local.DecisionTreeRegressor):  # type: ignore[misc]
    """A decision tree that predicts numbers, grown on a Dask cluster.

    The options are those of `hornbeam.DecisionTreeRegressor`, and so is the model.
    """

    _local_class = local.DecisionTreeRegressor
