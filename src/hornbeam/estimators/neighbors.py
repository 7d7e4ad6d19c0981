"""Nearest neighbours: `KNeighborsClassifier` and `KNeighborsRegressor`; with all rows, kernel methods."""

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.content import Rows
from hornbeam.data.matrix import FloatMatrix, read_matrix
from hornbeam.data.sources import open_source
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers
from hornbeam.data.weights import rows_that_count
from hornbeam.declare.kinds import shown
from hornbeam.estimators.answers import ClassVotes
from hornbeam.neighborhood import Neighborhood, make_neighborhood
from hornbeam.params import NeighborOptions, fitted, validate
from hornbeam.recipes.weigh import median_distance, neighbor_weights, portions, suffice, weight_of_nearest
from hornbeam.sklearn_bases import MultiOutputMixin, RegressorMixin
from hornbeam.sums import row_sums
from hornbeam.threads import resolve_n_jobs

__all__ = ["KNeighborsClassifier", "KNeighborsRegressor"]

FloatArray = npt.NDArray[np.float64]

_MOST_DISTANCES = 2**22  # at once: 32 MiB


class _KNeighbors(NeighborOptions):
    """What the classifier and the regressor share: everything but the target."""

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    n_samples_fit_: int = fitted()
    n_outputs_: int = fitted()
    bandwidth_: float | None = fitted()
    _model: Neighborhood = fitted()

    def _begin_fit(self, X: Any, sample_weight: Any) -> tuple[Neighborhood, int, float | None]:
        """Check everything but y; return the rows that count, how many were given, and the bandwidth."""
        name = type(self).__name__
        validate(self)
        self._refuse_idle_options()
        source = open_source(X, name)
        rows, weights = rows_that_count(sample_weight, source.n_rows)
        self._refuse_too_few(source.n_rows if rows is None else len(rows), weights)
        n_threads = resolve_n_jobs(self.n_jobs)
        neighborhood = make_neighborhood(
            read_matrix(source, categorical_features=self.categorical_features, rows=rows),
            weights,
            metric=self.metric,
            power=self.p,
            scale=self.scale,
            algorithm=self.algorithm,
            all_rows=self.n_neighbors is None,
            row_numbers=rows,
            n_threads=n_threads,
            estimator_name=name,
        )
        bandwidth = None
        if self.weights == "gaussian":
            bandwidth = self.bandwidth if self.bandwidth != "median" else _median(neighborhood, n_threads)
        return neighborhood, source.n_rows, bandwidth

    def _refuse_idle_options(self) -> None:
        """Refuse options that would have no effect, since the user expects one."""
        idle = None
        if self.metric != "minkowski" and self.p != 2:
            idle = f"p={self.p!r} is the power of metric='minkowski', but metric={self.metric!r}"
        elif self.weights != "gaussian" and self.bandwidth != "median":
            idle = f"bandwidth={self.bandwidth!r} is for weights='gaussian', not for {shown(self.weights)}"
        elif self.metric == "gower" and self.scale is not None:
            idle = f"scale={self.scale!r}, but metric='gower' divides every column by its range already"
        elif self.metric in ("cosine", "gower") and self.algorithm == "kd_tree":
            idle = f"algorithm='kd_tree' cannot search metric={self.metric!r}; leave algorithm='auto'"
        if idle is not None:
            raise ValueError(f"{type(self).__name__}: {idle}.")

    def _refuse_too_few(self, n_rows: int, weights: FloatArray | None) -> None:
        """Refuse to search more neighbours than there are."""
        wanted = self.n_neighbors
        if wanted is None:
            return
        way_out = f"Set n_neighbors to at most {n_rows}, or to None for all rows."
        if weights is None and wanted > n_rows:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {wanted}, n_samples = {n_rows}. "
                + way_out
            )
        if weights is not None and wanted > (total := float(weights.sum())):
            raise ValueError(
                f"Neighbours are taken until their weights sum to n_neighbors = {wanted}, but all "
                f"sample_weight together sum to {total:g} (n_samples = {n_rows}). Multiply the weights so "
                "that they average about 1, or set n_neighbors to None for all rows."
            )

    def _finish_fit(
        self, neighborhood: Neighborhood, target: ClassTarget | RegressionTarget, bandwidth: float | None
    ) -> None:
        self.bandwidth_ = bandwidth
        self.n_features_in_ = len(neighborhood.schema.given_names)
        if neighborhood.schema.names_given:
            self.feature_names_in_ = np.array(neighborhood.schema.given_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_samples_fit_ = neighborhood.n_rows
        self.n_outputs_ = target.n_outputs
        self._model = neighborhood

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest rows of the fit: distances and row numbers, nearest first, ties by row number.

        Without X, the neighbours of the rows of the fit are found; no row is then its own neighbour. Rows
        that had no weight are not found; other weights do not matter here.
        """
        check_is_fitted(self)
        n_threads = resolve_n_jobs(self.n_jobs)
        k = self._checked_count(n_neighbors, among_themselves=X is None)
        if X is None:
            positions, distances = self._model.search(self._model.points, k + 1, n_threads=n_threads)
            positions, distances = _without_themselves(positions, distances)
        else:
            positions, distances = self._model.search(self._read(X, n_threads), k, n_threads=n_threads)
        rows = self._model.original_rows(positions)
        return (distances, rows) if return_distance else rows

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the neighbour graph: queries x rows, with ones or distances, as a sparse matrix."""
        if mode not in ("connectivity", "distance"):
            raise ValueError(f"mode must be 'connectivity' or 'distance'; got {shown(mode)}.")
        distances, rows = self.kneighbors(X, n_neighbors)
        model = self._model
        n_columns = model.n_rows if model.row_numbers is None else int(model.row_numbers[-1]) + 1
        values = np.ones(rows.size) if mode == "connectivity" else distances.ravel()
        ends = np.arange(0, rows.size + 1, rows.shape[1])
        return sparse.csr_matrix((values, rows.ravel(), ends), shape=(len(rows), n_columns))

    def _checked_count(self, n_neighbors: int | None, *, among_themselves: bool) -> int:
        """Return how many neighbours are wanted, and how many there can be."""
        there_are = self._model.n_rows - among_themselves
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        if wanted is None:
            wanted = there_are
        if isinstance(wanted, bool) or not isinstance(wanted, int | np.integer):
            raise TypeError(f"n_neighbors does not take {type(wanted)} value, enter integer value.")
        if wanted <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {wanted}.")
        if wanted > there_are:
            raise ValueError(
                f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {wanted}, n_samples_fit = "
                f"{self._model.n_rows}" + (", of which one is the row itself." if among_themselves else ".")
            )
        return int(wanted)

    def _read(self, X: Any, n_threads: int) -> FloatMatrix:
        return self._model.read(X, n_threads=n_threads, estimator_name=type(self).__name__)

    def _neighbors_of(
        self, X: Any, *, whole: bool = False
    ) -> Iterator[tuple[slice, Rows | None, FloatArray]]:
        """Yield the weighted neighbours of batches of queries: which queries, neighbours, weights.

        The neighbours are positions among the rows of the model; None stands for all of them, in order.
        Weights are relative to the nearest neighbour's, or absolute if `whole`.
        """
        check_is_fitted(self)
        n_threads = resolve_n_jobs(self.n_jobs)
        queries = self._read(X, n_threads)
        k = self.n_neighbors
        n_each = self._model.n_rows if k is None else k
        step = max(1, _MOST_DISTANCES // n_each)
        for begin in range(0, len(queries), step):
            some = slice(begin, min(begin + step, len(queries)))
            positions: Rows | None = None
            if k is None:
                distances = self._model.all_distances(queries[some], n_threads=n_threads)
                counted = self._model.weights
            elif self._model.weights is None:
                positions, distances = self._model.search(queries[some], k, n_threads=n_threads)
                counted = None
            else:
                positions, distances, counted = self._search_by_weight(queries[some], k, n_threads)
            weights = neighbor_weights(self.weights, distances, self.bandwidth_)
            if whole:
                weights = weights * weight_of_nearest(self.weights, distances, self.bandwidth_)
            yield some, positions, weights if counted is None else weights * counted

    def _search_by_weight(
        self, queries: FloatMatrix, n_neighbors: int, n_threads: int
    ) -> tuple[Rows, FloatArray, FloatArray]:
        """Find neighbours until their weights sum to `n_neighbors`; return how much of each counts."""
        row_weights = self._model.weights
        assert row_weights is not None
        k = min(n_neighbors, self._model.n_rows)
        while True:
            positions, distances = self._model.search(queries, k, n_threads=n_threads)
            found = row_weights[positions]
            if k == self._model.n_rows or suffice(found, n_neighbors):
                return positions, distances, portions(found, n_neighbors)
            k = min(2 * k, self._model.n_rows)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold."""
        tags = super().__sklearn_tags__()
        mixed = self.metric == "gower"
        tags.input_tags.allow_nan = mixed
        tags.input_tags.categorical = mixed
        tags.input_tags.string = mixed
        tags.input_tags.sparse = True
        return tags


def _median(neighborhood: Neighborhood, n_threads: int) -> float:
    def between(rows: Rows) -> FloatArray:
        return neighborhood.distances_between(neighborhood.points[rows], n_threads=n_threads)

    return median_distance(between, neighborhood.points, neighborhood.weights)


def _without_themselves(positions: Rows, distances: FloatArray) -> tuple[Rows, FloatArray]:
    """Leave each row's own number out; where it is not among its neighbours, leave out the last one."""
    own = positions == np.arange(len(positions))[:, None]
    own[~own.any(axis=1), -1] = True
    shape = (len(positions), positions.shape[1] - 1)
    return positions[~own].reshape(shape), distances[~own].reshape(shape)


class KNeighborsClassifier(ClassVotes, _KNeighbors):
    """Predicts the most frequent class among the nearest rows.

    With `weights="gaussian"` and `n_neighbors=None` this is the kernel classifier: all rows vote, near ones
    with more weight. Distances treat all columns alike, so a column with large numbers dominates the others;
    `scale="standard"` helps. With `sample_weight`, neighbours are taken until their weights sum to
    `n_neighbors`, the last counted in part.

    {parameters}

    Attributes
    ----------
    classes_ : array, or list of arrays
        The classes, sorted; one array per output if there are several.
    n_classes_ : int, or list of int
        The number of classes.
    bandwidth_ : float or None
        The width of the gaussian weights, if the weights are gaussian.
    n_samples_fit_ : int
        How many rows can be neighbours.
    """

    _codes: npt.NDArray[np.int32] = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows X and their labels y."""
        neighborhood, n_rows, bandwidth = self._begin_fit(X, sample_weight)
        target = read_classes(y, n_rows, rows=neighborhood.row_numbers, estimator_name=type(self).__name__)
        self._finish_fit(neighborhood, target, bandwidth)
        self._remember_classes(target)
        self._codes = target.codes
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return each class's share of the neighbours' weight: rows x classes; a list for several outputs."""
        check_is_fitted(self)
        counts = self.n_classes_ if self.n_outputs_ > 1 else [self.n_classes_]
        parts: list[list[FloatArray]] = [[] for _ in counts]
        for _, positions, weights in self._neighbors_of(X):
            for output, n_classes in enumerate(counts):
                parts[output].append(_shares(self._codes[:, output], n_classes, positions, weights))
        shares = [np.concatenate(some) for some in parts]
        return shares if self.n_outputs_ > 1 else shares[0]

    def discriminant(self, X: Any) -> FloatArray:
        """Return the sum of the neighbours' weights for each class: rows x classes.

        For two classes one number, the sum of y s(x, x') with y = 1 for the second class and y = -1 for the
        first: the `decision_function` of a support vector machine, but without its coefficients. It is not a
        decision_function in scikit-learn's sense, since it ranks rows differently from `predict_proba`: far
        from all rows it is near 0. If neighbours have infinite weight, only these count, as 1 each.
        """
        check_is_fitted(self)
        if self.n_outputs_ > 1:
            raise ValueError("discriminant takes one output; ask predict_proba for several.")
        codes, n_classes = self._codes[:, 0], int(self.n_classes_)
        votes = np.concatenate(
            [
                _votes(codes, n_classes, positions, weights)
                for _, positions, weights in self._neighbors_of(X, whole=True)
            ]
        )
        return votes[:, 1] - votes[:, 0] if n_classes == 2 else votes


def _shares(
    codes: npt.NDArray[np.int32], n_classes: int, positions: Rows | None, weights: FloatArray
) -> FloatArray:
    """Return each class's part of the neighbours' weight."""
    votes = _votes(codes, n_classes, positions, weights)
    shares: FloatArray = votes / row_sums(votes)[:, np.newaxis]
    return shares


def _votes(
    codes: npt.NDArray[np.int32], n_classes: int, positions: Rows | None, weights: FloatArray
) -> FloatArray:
    """Add up the weights of each class, neighbour by neighbour."""
    n_queries = len(weights)
    voted = np.broadcast_to(codes, weights.shape) if positions is None else codes[positions]
    ballot = voted + np.arange(n_queries)[:, None] * n_classes
    votes = np.bincount(ballot.ravel(), weights=weights.ravel(), minlength=n_queries * n_classes)
    return votes.astype(np.float64, copy=False).reshape(n_queries, n_classes)


class KNeighborsRegressor(RegressorMixin, MultiOutputMixin, _KNeighbors):
    """Predicts the mean target of the nearest rows.

    With `weights="gaussian"` and `n_neighbors=None` this is kernel regression: the mean of all targets, near
    ones with more weight. Distances treat all columns alike, so a column with large numbers dominates the
    others; `scale="standard"` helps. With `sample_weight`, neighbours are taken until their weights sum to
    `n_neighbors`, the last counted in part.

    {parameters}

    Attributes
    ----------
    bandwidth_ : float or None
        The width of the gaussian weights, if the weights are gaussian.
    n_samples_fit_ : int
        How many rows can be neighbours.
    """

    _values: FloatArray = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the rows X and their targets y."""
        neighborhood, n_rows, bandwidth = self._begin_fit(X, sample_weight)
        target = read_numbers(y, n_rows, rows=neighborhood.row_numbers, estimator_name=type(self).__name__)
        self._finish_fit(neighborhood, target, bandwidth)
        self._values = target.values
        return self

    def predict(self, X: Any) -> FloatArray:
        """Return the weighted mean target of each row's neighbours."""
        check_is_fitted(self)
        # How many neighbours are searched until their weights suffice depends on the other rows of the query.
        padded = self._model.weights is not None and self.n_neighbors is not None
        means = np.concatenate(
            [
                _means(self._values, positions, weights, padded=padded)
                for _, positions, weights in self._neighbors_of(X)
            ]
        )
        return means[:, 0] if self.n_outputs_ == 1 else means


def _means(values: FloatArray, positions: Rows | None, weights: FloatArray, *, padded: bool) -> FloatArray:
    totals = row_sums(weights, padded=padded)
    shift = 64 if np.abs(values).max() > 1e280 else 0  # sums of targets that large would overflow
    values = np.ldexp(values, -shift)
    means = np.empty((len(weights), values.shape[1]))
    for output in range(values.shape[1]):
        targets = values[:, output] if positions is None else values[positions, output]
        means[:, output] = row_sums(weights * targets, padded=padded) / totals
    return np.ldexp(means, shift)
