"""Single decision trees: `DecisionTreeClassifier` and `DecisionTreeRegressor`."""

import warnings
from typing import Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.encode import Encoded, encode
from hornbeam.data.target import (
    ClassTarget,
    RegressionTarget,
    class_weights,
    read_classes,
    read_numbers,
)
from hornbeam.estimators.base import Training, TreeModel, importances_of, paths_to
from hornbeam.inside.explain import Explanation, explain_row, read_row
from hornbeam.inside.frame import tree_frame
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.rules import Rule, RuleStyle, write_rules
from hornbeam.model import Ensemble, refuse_missing
from hornbeam.params import (
    ClassifierTreeOptions,
    RegressorTreeOptions,
    TreeOptions,
    fitted,
    resolve_count,
    resolve_max_features,
    resolve_random_key,
)
from hornbeam.recipes.single import GrowthSettings, grow_tree
from hornbeam.sklearn_bases import ClassifierMixin, MultiOutputMixin, RegressorMixin
from hornbeam.threads import resolve_n_jobs
from hornbeam.warnings import DataWarning

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]


class _DecisionTree(TreeModel, TreeOptions):
    """What the two kinds of single tree share."""

    n_outputs_: int = fitted()
    max_features_: int = fitted()
    _missing_seen: tuple[bool, ...] = fitted()

    def _fit_tree(
        self,
        training: Training,
        target: ClassTarget | RegressionTarget,
        weights: npt.NDArray[np.float64] | None,
        criterion: str,
    ) -> None:
        n_threads = resolve_n_jobs(self.n_jobs)
        encoded = encode(training.table, max_bins=self.max_bins, n_threads=n_threads)
        settings = self._settings(encoded, target, weights, criterion)
        tree = grow_tree(
            encoded,
            target,
            weights,
            settings,
            rows=_rows_with_weight(encoded, weights),
            key=self._random_key(settings, encoded.n_features),
            n_threads=n_threads,
        )
        if self.ccp_alpha > 0:
            tree = _core.prune_cost_complexity(tree, self.ccp_alpha)
        _warn_of_a_lone_leaf(tree, encoded)
        self._remember_columns(training.table)
        self.n_outputs_ = target.n_outputs
        self.max_features_ = settings.max_features
        self._missing_seen = tuple(
            column.first_missing_row() is not None for column in training.table.columns
        )
        self._model = Ensemble(
            trees=(tree,),
            schema=encoded.schema,
            unseen=self.unseen,
            missing_allowed=self.missing != "error",
        )

    def _random_key(self, settings: GrowthSettings, n_features: int) -> int:
        """Draw the key of the fit, if anything is random in it: else numpy's generator is left alone.

        Its global generator has a lock, which a process forked at the wrong moment would never get.
        """
        nothing_is_random = not settings.random_splits and settings.max_features >= n_features
        return 0 if nothing_is_random else resolve_random_key(self.random_state)

    def _settings(
        self,
        encoded: Encoded,
        target: ClassTarget | RegressionTarget,
        weights: npt.NDArray[np.float64] | None,
        criterion: str,
    ) -> GrowthSettings:
        """Turn the parameters into numbers, now that the data are known."""
        n_rows = encoded.n_rows
        total_weight = float(n_rows if weights is None else weights.sum())
        # Limits far beyond the rows say no more than these; the core counts with fewer bits than Python.
        min_samples_leaf = min(resolve_count(self.min_samples_leaf, n_rows), n_rows + 1)
        min_samples_split = min(resolve_count(self.min_samples_split, n_rows, at_least=2), n_rows + 1)
        return GrowthSettings(
            criterion=criterion,
            random_splits=self.splitter == "random",
            max_depth=min(self.max_depth or 0, n_rows),
            min_samples_split=max(min_samples_split, 2 * min_samples_leaf),
            min_samples_leaf=min_samples_leaf,
            min_weight_leaf=self.min_weight_fraction_leaf * total_weight,
            max_leaf_nodes=self.max_leaf_nodes or 0,
            max_nodes=self.max_nodes or 0,
            max_features=resolve_max_features(self.max_features, encoded.n_features),
            min_impurity_decrease=self.min_impurity_decrease,
            monotonic=self._checked_directions(encoded, target),
        )

    def _checked_directions(
        self, encoded: Encoded, target: ClassTarget | RegressionTarget
    ) -> tuple[int, ...]:
        if target.n_outputs > 1 and "categorical" in encoded.schema.kinds:
            name = encoded.schema.names[encoded.schema.kinds.index("categorical")]
            raise ValueError(
                f"Several outputs take numeric columns only, but {name!r} is categorical: its categories "
                "have no order that is best for all outputs. Fit one tree per output, or encode the column."
            )
        directions = self._monotonic_directions(encoded.schema.names)
        if not directions:
            return ()
        if isinstance(target, ClassTarget) and any(len(classes) > 2 for classes in target.classes):
            raise ValueError("Monotonicity constraints are not supported with multiclass classification.")
        if target.n_outputs > 1:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        for name, kind, direction in zip(encoded.schema.names, encoded.schema.kinds, directions, strict=True):
            if direction and kind == "categorical":
                raise ValueError(
                    f"monotonic_cst constrains {name!r}, a categorical column: its categories have no order. "
                    "Use an ordered category, or direction 0."
                )
        return directions

    @property
    def tree_(self) -> _core.Tree:
        """The fitted tree, as flat arrays."""
        check_is_fitted(self)
        return self._model.trees[0]

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of each feature in the impurity decrease of the tree."""
        return importances_of(self.tree_, self.n_features_in_)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Grow the tree without pruning and return the nested sequence that `ccp_alpha` chooses from.

        `ccp_alphas` ascend from 0; `impurities` are the weighted impurities of the leaves of each tree.
        """
        whole: Any = clone(self).set_params(ccp_alpha=0.0)
        path = _core.cost_complexity_path(whole.fit(X, y, sample_weight).tree_, by_error=False)
        return Bunch(ccp_alphas=path["alpha"], impurities=path["cost"])

    def get_depth(self) -> int:
        """Return the number of tests on the longest path."""
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self.tree_.n_leaves

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into, as an index into the arrays of `tree_`."""
        return self._leaves(X)[:, 0]

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return, for each row, the nodes it passes: a sparse matrix of rows x nodes."""
        return paths_to(self.tree_, self.apply(X))

    @overload
    def rules(self, style: Literal["text", "lines"] = "text") -> str: ...
    @overload
    def rules(self, style: Literal["list"]) -> list[Rule]: ...
    @overload
    def rules(self, style: Literal["formula"]) -> Any: ...
    def rules(self, style: RuleStyle = "text") -> Any:
        """Return the tree as rules.

        "text" is the whole tree, indented; "lines" has one line per leaf; "list" has one `Rule` object per
        leaf, with the tests on its path put together per feature. "formula" is a dict with a logical
        expression per class (or per number predicted), valid Python over the columns, which
        `hornbeam.inside.holds` evaluates; for several outputs a list of such dicts.

        Where a missing value goes is told for the columns in which the fit met one; in any other column it
        takes the larger branch.
        """
        return write_rules(self._reading(), style)

    def to_frame(self) -> Any:
        """Return the tree as a pandas DataFrame, a row per node: tests, rows, impurity, gain, answers."""
        return tree_frame(self._reading())

    def explain(self, row: Any) -> Explanation:
        """Say why one row gets its answer: its path in words, and how the class shares change along it.

        `row` is a table of one row, a dict or Series by column name, or a sequence in the order of the
        columns.
        """
        reading = self._reading()
        name = type(self).__name__
        given = read_row(row, reading.schema, unseen=reading.unseen, estimator_name=name)
        if not self._model.missing_allowed:
            refuse_missing(given.table, name)
        return explain_row(reading, given)

    def _reading(self) -> TreeReading:
        """Give the tree the names that make it readable."""
        return TreeReading(
            tree=self.tree_,
            schema=self._model.schema,
            classes=self._class_labels(),
            unseen=self._model.unseen,
            missing_seen=self._missing_seen,
        )

    def _class_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes of each output; nothing if the tree predicts numbers."""
        return ()

    def _values(self, X: Any) -> npt.NDArray[np.float64]:
        """Return what the leaf of each row says: rows x outputs x classes."""
        check_is_fitted(self)
        table = self._model.read(X, estimator_name=type(self).__name__)
        return self._model.total(table, n_threads=resolve_n_jobs(self.n_jobs))


def _rows_with_weight(encoded: Encoded, weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.uint32]:
    """Leave out the rows of classes whose `class_weight` is 0; rows of weight 0 are gone already."""
    if weights is None or weights.all():
        return encoded.all_rows()
    if not weights.any():
        raise ValueError("class_weight leaves no row with a weight above 0.")
    return np.flatnonzero(weights).astype(np.uint32)


def _warn_of_a_lone_leaf(tree: _core.Tree, encoded: Encoded) -> None:
    if tree.node_count > 1 or tree.impurity[0] == 0 or encoded.n_rows == 1:
        return
    if all(encoded.codes.is_constant(j) for j in range(encoded.n_features)):
        warnings.warn(
            "Every column of X is constant: the model is a single leaf that predicts the same for all rows.",
            DataWarning,
            stacklevel=5,
        )


class DecisionTreeClassifier(ClassifierMixin, MultiOutputMixin, _DecisionTree, ClassifierTreeOptions):
    """A decision tree that predicts classes.

    {parameters}

    Attributes
    ----------
    classes_ : array, or list of arrays
        The classes, sorted; one array per output if there are several.
    n_classes_ : int, or list of int
        How many there are.
    tree_ : Tree
        The tree as flat arrays, with scikit-learn's names for them.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the tree.
    """

    classes_: Any = fitted()
    n_classes_: Any = fitted()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on rows X with labels y."""
        training = self._begin_fit(X, sample_weight)
        target = read_classes(
            y, training.n_rows_given, rows=training.rows, estimator_name=type(self).__name__
        )
        weights = training.weights
        factors = class_weights(self.class_weight, target, weights)
        if factors is not None:
            weights = factors if weights is None else weights * factors
        self._fit_tree(training, target, weights, self.criterion)
        self.classes_ = target.classes if target.is_multi_output else target.classes[0]
        counts = [len(classes) for classes in target.classes]
        self.n_classes_ = counts if target.is_multi_output else counts[0]
        return self

    def _class_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes of each output."""
        return (self.classes_,) if self.n_outputs_ == 1 else tuple(self.classes_)

    def predict_proba(self, X: Any) -> Any:
        """Return the class shares of each row's leaf: rows x classes; a list of them for several outputs."""
        values = self._values(X)
        if self.n_outputs_ == 1:
            return values[:, 0, : self.n_classes_]
        return [values[:, k, :n] for k, n in enumerate(self.n_classes_)]

    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of `predict_proba`."""
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(shares) if self.n_outputs_ == 1 else [np.log(share) for share in shares]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class with the largest share in each row's leaf; the first of equals."""
        shares = self.predict_proba(X)
        if self.n_outputs_ == 1:
            labels: npt.NDArray[Any] = self.classes_[np.argmax(shares, axis=1)]
            return labels
        by_output = [
            classes[np.argmax(share, axis=1)] for classes, share in zip(self.classes_, shares, strict=True)
        ]
        return np.stack(by_output, axis=1)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that several outputs are welcome."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


class DecisionTreeRegressor(RegressorMixin, MultiOutputMixin, _DecisionTree, RegressorTreeOptions):
    """A decision tree that predicts numbers.

    {parameters}

    Attributes
    ----------
    tree_ : Tree
        The tree as flat arrays, with scikit-learn's names for them.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the tree.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the tree on rows X with targets y."""
        training = self._begin_fit(X, sample_weight)
        target = read_numbers(
            y, training.n_rows_given, rows=training.rows, estimator_name=type(self).__name__
        )
        if self.criterion == "poisson":
            _check_counts(target.values, training.weights)
        self._fit_tree(training, target, training.weights, self.criterion)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the mean target of each row's leaf."""
        values = self._values(X)[:, :, 0]
        return values[:, 0] if self.n_outputs_ == 1 else values


def _check_counts(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None) -> None:
    if values.shape[1] > 1:
        raise ValueError("criterion='poisson' takes one output; use 'squared_error' for several.")
    negative = values[:, 0] < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise ValueError(
            f"Some value(s) of y are negative which is not allowed for Poisson regression: row {row} holds "
            f"{values[row, 0]}. Use criterion='squared_error'."
        )
    if values.sum() <= 0:
        raise ValueError(
            "Sum of y is not positive which is necessary for Poisson regression: every target is 0."
        )
