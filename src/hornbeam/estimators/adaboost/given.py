"""Reads the input of an AdaBoost fit: rows that count, their targets and weights, and a learner for them.

Members that are our trees are grown on one encoded table; others are fitted on the user's own table.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from hornbeam import _core
from hornbeam.data.content import Rows
from hornbeam.data.encode import encode
from hornbeam.data.names import feature_names_of
from hornbeam.data.sources import open_source
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.weights import rows_that_count
from hornbeam.estimators.adaboost.learners import (
    Learner,
    OtherLearner,
    StumpLearner,
    TreeGround,
    TreeLearner,
    is_plain_stump,
    refuse_without_weights,
)
from hornbeam.estimators.base import read_training
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.params import resolve_random_key, validate
from hornbeam.threads import resolve_n_jobs

__all__ = ["Given", "Target", "read_for_fit"]

FloatArray = npt.NDArray[np.float64]
Target = ClassTarget | RegressionTarget


@dataclass(frozen=True, eq=False)
class Given:
    """The input of a fit, read: the rows that count, their targets and weights, and a learner for them."""

    learner: Learner
    target: Target
    weights: FloatArray | None
    rows: Rows | None
    n_rows_given: int
    feature_names: list[str] | None
    n_features: int
    key: int
    resample: bool

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return self.n_rows_given if self.rows is None else len(self.rows)


class Boosting(Protocol):
    """AdaBoost before a fit: its options, and the input that it accepts."""

    estimator: Any
    resample: bool
    n_jobs: int | None
    random_state: Any

    def _default_estimator(self) -> Any: ...
    def _check_kind(self, estimator: Any) -> None: ...
    def _read_target(self, y: Any, n_rows: int, rows: Rows | None) -> Target: ...


def read_for_fit(model: Boosting, X: Any, y: Any, sample_weight: Any) -> Given:
    """Check the input of a fit, and choose how members are fitted."""
    if model.estimator is None:
        return _read_for_trees(model, model._default_estimator(), X, y, sample_weight)
    model._check_kind(model.estimator)
    if type(model.estimator) in (DecisionTreeClassifier, DecisionTreeRegressor):
        validate(model.estimator)
        # Rows in portions, and trees that may lack a prediction, are left to the tree's own predict.
        if model.estimator.prune is None and model.estimator.missing not in ("fractional", "available"):
            return _read_for_trees(model, clone(model.estimator), X, y, sample_weight)
    return _read_for_others(model, X, y, sample_weight)


def _read_for_trees(model: Boosting, tree: Any, X: Any, y: Any, sample_weight: Any) -> Given:
    n_threads = resolve_n_jobs(model.n_jobs)
    name = type(model).__name__
    training = read_training(tree, X, sample_weight, estimator_name=name)
    target = model._read_target(y, training.n_rows_given, training.rows)
    means = tree._category_means(training, target, training.weights, key=0)
    table = training.table if means is None else means.table
    encoded = encode(table, max_bins=tree.max_bins, n_threads=n_threads)
    missing_seen = tuple(column.first_missing_row() is not None for column in training.table.columns)
    ground = TreeGround(tree, encoded, target, missing_seen, means)
    # A fit without randomness leaves numpy's generator alone: its lock may not survive a fork.
    is_random = model.resample or tree.splitter == "random" or tree.max_features is not None
    key = resolve_random_key(model.random_state) if is_random else 0
    learner: Learner = TreeLearner(ground, key, n_threads)
    if _core.has_lanes() and isinstance(target, ClassTarget) and is_plain_stump(tree):
        codes, n_classes = target.codes.ravel(), len(target.classes[0])
        learner = StumpLearner(
            ground, _core.StumpSearch(encoded.codes, codes, n_classes, n_threads), n_threads
        )
    return Given(
        learner=learner,
        target=target,
        weights=training.weights,
        rows=training.rows,
        n_rows_given=training.n_rows_given,
        feature_names=training.table.feature_names,
        n_features=len(training.table.schema.given_names),
        key=key,
        resample=model.resample,
    )


def _read_for_others(model: Boosting, X: Any, y: Any, sample_weight: Any) -> Given:
    name = type(model).__name__
    # Regressors that take no weights are fitted to rows drawn by weight, as scikit-learn always does.
    resample = model.resample or (
        not is_classifier(model) and not has_fit_parameter(model.estimator, "sample_weight")
    )
    if not resample:
        refuse_without_weights(model.estimator, name)
    source = open_source(X, name, any_dimensions=True)
    rows, weights = rows_that_count(sample_weight, source.n_rows)
    container = source.container
    if sparse.issparse(container) and container.format not in ("csr", "csc"):
        container = container.tocsr()  # whose rows can be taken
    if rows is not None:
        container = _safe_indexing(container, rows)
    target = model._read_target(y, source.n_rows, rows)
    feature_names = feature_names_of(source.container)
    key = resolve_random_key(model.random_state)
    learner = OtherLearner(
        estimator=model.estimator,
        X=container,
        y=target.labels(0) if isinstance(target, ClassTarget) else target.values[:, 0],
        feature_names=tuple(feature_names or (f"x{j}" for j in range(source.n_columns))),
        names_given=feature_names is not None,
        predicts_numbers=isinstance(target, RegressionTarget),
        resample=resample,
        key=key,
    )
    return Given(
        learner=learner,
        target=target,
        weights=weights,
        rows=rows,
        n_rows_given=source.n_rows,
        feature_names=feature_names,
        n_features=source.n_columns,
        key=key,
        resample=resample,
    )
