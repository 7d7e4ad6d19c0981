"""Forests on a Dask cluster: `RandomForestClassifier/Regressor` and `ExtraTreesClassifier/Regressor`.

They are the estimators of the same names. Rows become codes where they are, every worker gets the codes of
all rows (`whole.py`), and members grow there. A member depends on `random_state` and its number only, so the
forest is that of one machine. Once fitted they also take tables in memory.
"""

import uuid
from dataclasses import replace
from typing import Any, Self

from hornbeam import _core
from hornbeam.dask.answers import GrownOnCluster, GrownOnClusterOfClasses
from hornbeam.dask.cluster import client_of
from hornbeam.dask.whole import BagOnCluster
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.estimators import forest as local
from hornbeam.estimators.base import Training
from hornbeam.estimators.forest.intervals import is_kept
from hornbeam.params import validate
from hornbeam.recipes.bag import Bag, TreeBag
from hornbeam.recipes.category_means import CategoryMeans

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]


class _Forest(GrownOnCluster):
    """What forests on a cluster do in their own way."""

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, client: Any = None
    ) -> Self:
        """Grow the trees on rows X with targets y: Dask frames, arrays, or lists of delayed parts of them.

        `client` is the client of the cluster, by default the one there is. Rows of equal `groups` are drawn
        together.
        """
        forest: Any = self
        client = client_of(client)
        validate(forest)
        self._refuse_exact_splits()
        if is_kept("leaf_rows", forest.keep):
            raise ValueError(
                f"{type(self).__name__}: keep='leaf_rows' needs all rows on the driver, which a fit on a "
                "cluster does not have. Leave it out."
            )
        with self._rows_on(client, X) as rows:
            self._bag_at_work: BagOnCluster | None = None
            try:
                y, sample_weight, groups = self._brought(y, sample_weight, groups)
                super().fit(rows, y, sample_weight, groups=groups)  # type: ignore[misc]
            finally:
                if self._bag_at_work is not None:
                    self._bag_at_work.close()
                del self._bag_at_work
        return self

    def _category_means(
        self, training: Training, target: Any, weights: Any, *, key: int
    ) -> CategoryMeans | None:
        many = self._columns_of_many(training.table, target)  # type: ignore[attr-defined]
        table = self._cluster.bring(training.table, self._way(), many)
        found: CategoryMeans | None = super()._category_means(  # type: ignore[misc]
            replace(training, table=table), target, weights, key=key
        )
        return found

    def _encoded(self, table: Table, n_threads: int) -> Encoded:
        return self._cluster.encode(self._way(), table)

    def _columns_with_gaps(self, table: Table) -> tuple[bool, ...]:
        return tuple(self._cluster.has_gaps(column.name) for column in table.columns)

    def _at_work(self, bag: TreeBag) -> Bag[_core.Tree]:
        asks_later: bool = self._wants_out_of_bag()  # type: ignore[attr-defined]
        self._bag_at_work = BagOnCluster(bag, self._cluster, uuid.uuid4().hex, asks_later=asks_later)
        return self._bag_at_work


class RandomForestClassifier(_Forest, GrownOnClusterOfClasses, local.RandomForestClassifier):  # type: ignore[misc]
    """A random forest that predicts classes, grown on a Dask cluster.

    The options are those of `hornbeam.RandomForestClassifier`, and so is the model.
    """

    _local_class = local.RandomForestClassifier


class RandomForestRegressor(_Forest, local.RandomForestRegressor):  # type: ignore[misc]
    """A random forest that predicts numbers, grown on a Dask cluster.

    The options are those of `hornbeam.RandomForestRegressor`, and so is the model.
    """

    _local_class = local.RandomForestRegressor


class ExtraTreesClassifier(_Forest, GrownOnClusterOfClasses, local.ExtraTreesClassifier):  # type: ignore[misc]
    """Extremely randomised trees that predict classes, grown on a Dask cluster.

    The options are those of `hornbeam.ExtraTreesClassifier`, and so is the model.
    """

    _local_class = local.ExtraTreesClassifier


class ExtraTreesRegressor(_Forest, local.ExtraTreesRegressor):  # type: ignore[misc]
    """Extremely randomised trees that predict numbers, grown on a Dask cluster.

    The options are those of `hornbeam.ExtraTreesRegressor`, and so is the model.
    """

    _local_class = local.ExtraTreesRegressor
