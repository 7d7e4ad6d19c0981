"""`DensityTree`: the density of rows, as boxes of constant density."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.encode import core_column
from hornbeam.data.sources import open_source
from hornbeam.data.table import Column, Table, read_columns
from hornbeam.data.weights import rows_that_count
from hornbeam.data.wording import shown
from hornbeam.inside.frame import tree_frame
from hornbeam.inside.importance import shares_of_gain
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.pruning import pruning_log_frame, pruning_table_frame
from hornbeam.inside.rules import RuleStyle, write_rules
from hornbeam.model import Ensemble
from hornbeam.params import DensityOptions, fitted, resolve_count, resolve_random_key, validate
from hornbeam.recipes.density import BoxedRows, grow_density, leaf_boxes, prune_density
from hornbeam.recipes.holdout import GivenRows
from hornbeam.recipes.prune import PruningRecord
from hornbeam.sklearn_bases import DensityMixin
from hornbeam.threads import resolve_n_jobs

__all__ = ["DensityTree"]

FloatArray = npt.NDArray[np.float64]


class DensityTree(DensityMixin, DensityOptions):
    """A density-estimation tree: learns a piecewise-constant density from rows without a target.

    The density is 0 outside the bounding box of the training rows and integrates to 1 over it. Columns must
    be numeric and complete.

    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays. Values are densities relative to the uniform one over the bounding box.
    low_, high_ : array
        The bounding box, a lower and an upper bound per column.
    pruning_table_ : DataFrame
        The nested trees that pruning chose from: alpha, leaves, error, standard error.
    """

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    low_: FloatArray = fitted()
    high_: FloatArray = fitted()
    _model: Ensemble = fitted()
    _pruning: PruningRecord | None = fitted()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the tree on rows X and prune it; y is not used."""
        validate(self)
        name = type(self).__name__
        source = open_source(X, name)
        rows, weights = rows_that_count(sample_weight, source.n_rows)
        table = read_columns(source, categorical_features=None, rows=rows)
        data = _boxed(table, weights, name)
        n_threads = resolve_n_jobs(self.n_jobs)
        limits = self._limits(table.n_rows)
        all_rows = np.arange(table.n_rows, dtype=np.uint32)
        tree = grow_density(data, all_rows, **limits)
        pruned = None
        if self.prune is not None and tree.node_count > 1:
            key = resolve_random_key(self.random_state)
            cv = min(self.cv, table.n_rows) if isinstance(self.cv, int) else self.cv
            given = GivenRows(source.n_rows, rows)
            pruned = prune_density(
                tree, data, all_rows, cv=cv, given=given, key=key, n_threads=n_threads, **limits
            )
        self._remember(data, tree)
        if pruned is not None:
            reading = self._reading(tree)
            tests = tuple(reading.test_words(int(node)) for node in pruned.log.node)
            self._model = Ensemble((pruned.tree,), table.schema, missing_allowed=False)
            self._pruning = PruningRecord(pruned.log, tests, pruned.table)
        return self

    def _limits(self, n_rows: int) -> dict[str, int]:
        leaf = min(resolve_count(self.min_samples_leaf, n_rows), n_rows + 1)
        split = min(resolve_count(self.min_samples_split, n_rows, at_least=2), n_rows + 1)
        return {
            "max_depth": min(self.max_depth or 0, n_rows),
            "min_samples_split": split,
            "min_samples_leaf": leaf,
        }

    def _remember(self, data: BoxedRows, tree: _core.Tree) -> None:
        table = data.table
        self.n_features_in_ = len(table.schema.given_names)
        if table.feature_names is not None:
            self.feature_names_in_ = np.array(table.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.low_, self.high_ = data.low, data.high
        self._model = Ensemble((tree,), table.schema, missing_allowed=False)
        self._pruning = None

    # --- The density -------------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> FloatArray:
        """Return the logarithm of the density at each row; -inf outside the bounding box."""
        check_is_fitted(self)
        table = self._model.read(X, estimator_name=type(self).__name__)
        relative = self._model.total(table, n_threads=resolve_n_jobs(self.n_jobs))[:, 0, 0]
        inside = np.ones(table.n_rows, dtype=np.bool_)
        for column, low, high in zip(table.columns, self.low_, self.high_, strict=True):
            values = _numbers(column)
            inside &= (values >= low) & (values <= high)
        with np.errstate(divide="ignore"):
            logarithms = np.log(relative) - self._log_volume
        return np.where(inside, logarithms, -np.inf)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the total log-likelihood of the rows, as scikit-learn's KernelDensity does."""
        return float(self.score_samples(X).sum())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> FloatArray:
        """Draw rows from the density: rows x columns."""
        check_is_fitted(self)
        generator = check_random_state(self.random_state if random_state is None else random_state)
        leaves, low, high = leaf_boxes(self.tree_, self.low_, self.high_)
        weights = self.tree_.weighted_n_node_samples[leaves]
        drawn = generator.choice(len(leaves), size=n_samples, p=weights / weights.sum())
        rows: FloatArray = generator.uniform(low[drawn], high[drawn])
        return rows

    @property
    def _log_volume(self) -> float:
        """The logarithm of the volume of the bounding box."""
        return float(np.log(self.high_ - self.low_).sum())

    # --- Looking inside ----------------------------------------------------------------------------------

    @property
    def tree_(self) -> _core.Tree:
        """The fitted tree, as flat arrays."""
        check_is_fitted(self)
        return self._model.trees[0]

    @property
    def feature_importances_(self) -> FloatArray:
        """The share of each feature in the decrease of the error."""
        return shares_of_gain([self.tree_], self._model.schema)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into."""
        check_is_fitted(self)
        table = self._model.read(X, estimator_name=type(self).__name__)
        return self._model.leaves(table, n_threads=resolve_n_jobs(self.n_jobs))[:, 0]

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves

    def get_depth(self) -> int:
        """Return the number of tests on the longest path."""
        return self.tree_.max_depth

    def rules(self, style: RuleStyle = "text") -> Any:
        """Return the tree as rules; values are densities relative to the uniform one over the box."""
        return write_rules(self._reading(self.tree_), style)

    def to_frame(self) -> Any:
        """Return the tree as a pandas DataFrame, a row per node."""
        return tree_frame(self._reading(self.tree_))

    def _reading(self, tree: _core.Tree) -> TreeReading:
        schema = self._model.schema
        return TreeReading(tree, schema, (), "missing", (False,) * len(schema.names))

    @property
    def pruning_log_(self) -> Any:
        """What pruning cut, in order, as a pandas DataFrame."""
        return pruning_log_frame(self._pruning_record())

    @property
    def pruning_table_(self) -> Any:
        """The nested trees that pruning chose from, as a pandas DataFrame."""
        return pruning_table_frame(self._pruning_record())

    def _pruning_record(self) -> PruningRecord:
        check_is_fitted(self)
        if self._pruning is None:
            raise AttributeError("The tree was not pruned: prune is None, or the tree is a single leaf.")
        return self._pruning

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _boxed(table: Table, weights: FloatArray | None, estimator_name: str) -> BoxedRows:
    """Check that rows have an extent in every column, and find it."""
    if table.n_rows < 2:
        raise ValueError(
            f"{estimator_name}: n_samples={table.n_rows}; a density needs at least 2 rows to have an extent."
        )
    columns = [_checked_numbers(column, estimator_name) for column in table.columns]
    low = np.array([column.min() for column in columns])
    high = np.array([column.max() for column in columns])
    flat = low == high
    if flat.any():
        name = table.columns[int(np.argmax(flat))].name
        raise ValueError(
            f"{estimator_name}: column {shown(name)} holds {low[flat][0]} in every row: no density can be "
            "spread over it. Drop the column."
        )
    with np.errstate(over="ignore"):
        too_wide = ~np.isfinite(high - low)
    if too_wide.any():
        name = table.columns[int(np.argmax(too_wide))].name
        raise ValueError(
            f"{estimator_name}: column {shown(name)} spans more than a float64 holds. Rescale it."
        )
    return BoxedRows(table, columns, weights, low, high)


def _checked_numbers(column: Column, estimator_name: str) -> FloatArray:
    if column.kind == "categorical":
        raise TypeError(
            f"{estimator_name} takes numeric columns; {shown(column.name)} is categorical. Drop or encode it."
        )
    values = _numbers(column)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        what = "contains NaN" if np.isnan(values[row]) else "contains infinity"
        raise ValueError(
            f"{estimator_name}: X {what}: column {shown(column.name)}, row {row}. Densities need finite "
            "numbers: drop such rows or fill them in."
        )
    return values


def _numbers(column: Column) -> FloatArray:
    """Return a column as one block of numbers; -0.0 is 0.0."""
    dense = core_column(column.kind, column.dense())
    return np.ascontiguousarray(dense, dtype=np.float64) + 0.0
