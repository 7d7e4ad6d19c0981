"""Single decision trees: `DecisionTreeClassifier` and `DecisionTreeRegressor`."""

from dataclasses import replace
from typing import Any, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils import Bunch, estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.encode import encode
from hornbeam.data.target import ClassTarget, RegressionTarget, read_groups
from hornbeam.estimators.answers import ClassVotes, classes_to_fit, numbers_of, numbers_to_fit, shares_of
from hornbeam.estimators.base import Training, paths_to
from hornbeam.estimators.from_source import fit_from_source, with_own_target
from hornbeam.estimators.growth import criterion_by_name, rows_with_weight, warn_of_a_lone_leaf
from hornbeam.estimators.tree.pruning import Prunable
from hornbeam.estimators.tree.scikit_tree import partial_dependence, scikit_tree, take_for
from hornbeam.estimators.validation import Validation, read_rows
from hornbeam.inside.explain import Explanation, explain_row, read_row
from hornbeam.inside.html import preformatted
from hornbeam.inside.importance import shares_of_gain
from hornbeam.inside.rules import Rule, RuleStyle, write_rules
from hornbeam.inside.splits import Growing, NodeRows, split_frame
from hornbeam.model import Ensemble, refuse_missing
from hornbeam.params import ClassifierTreeOptions, RegressorTreeOptions, TreeOptions, resolve_count
from hornbeam.recipes.holdout import GivenRows, GrowingData
from hornbeam.recipes.own_criterion import own_criterion
from hornbeam.recipes.single import GrowthSettings, grow_tree
from hornbeam.sklearn_bases import MultiOutputMixin, RegressorMixin
from hornbeam.threads import resolve_n_jobs

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]

_MOST_LINES_SHOWN = 40  # of a tree in a notebook


class _DecisionTree(Prunable, TreeOptions):
    """What the two kinds of single tree share."""

    def _fit_tree(
        self,
        training: Training,
        target: ClassTarget | RegressionTarget,
        weights: npt.NDArray[np.float64] | None,
        *,
        criterion: Any,
        validation: Validation,
        groups: Any,
    ) -> None:
        self._check_available()
        self._check_pruning(target, validation, with_groups=groups is not None)
        n_threads = resolve_n_jobs(self.n_jobs)
        # Validation rows that the user gives have the user's columns, without category means.
        means = None if validation.is_given else self._category_means(training, target, weights, key=0)
        table = training.table if means is None else means.table
        encoded = encode(table, max_bins=self.max_bins, n_threads=n_threads)
        model = Ensemble((), encoded.schema, self.unseen, missing_allowed=self.missing != "error")
        held = self._read_validation(validation, model, target) if validation.is_given else None

        def settings_for(rows: npt.NDArray[np.uint32]) -> GrowthSettings:
            random_splits = self.splitter == "random"
            return self._settings(
                encoded,
                target,
                weights,
                criterion=criterion,
                random_splits=random_splits,
                rows=rows,
                means=means,
            )

        def grow(rows: npt.NDArray[np.uint32]) -> _core.Tree:
            settings = settings_for(rows)
            return grow_tree(encoded, target, weights, settings, rows=rows, key=key, n_threads=n_threads)

        rows = rows_with_weight(encoded.n_rows, weights)
        settings = settings_for(rows)
        key = self._random_key(settings, encoded.n_features, draws_rows=self._draws_rows)
        numbered = None if groups is None else read_groups(groups, training.n_rows_given, rows=training.rows)
        given = GivenRows(training.n_rows_given, training.rows)
        data = GrowingData(encoded, target, weights, rows, key, grow, given, numbered)
        tree, pruned = self._grow_and_prune(data, model, held, n_threads=n_threads)
        warn_of_a_lone_leaf(tree, encoded)
        self._remember_growth(training, target, settings, (tree,), means)
        if means is not None and pruned is not None:
            pruned = replace(pruned, tree=means.restored(pruned.tree))
        self._remember_pruning(pruned)

    def _repr_html_inner(self) -> str:
        """Show a notebook the parameters, as scikit-learn does, and a fitted tree as text below."""
        shown: str = estimator_html_repr(self)
        if not hasattr(self, "_model"):
            return shown
        lines = self.rules().splitlines()
        more = [f"... {len(lines) - _MOST_LINES_SHOWN} more lines: rules()"] * (
            len(lines) > _MOST_LINES_SHOWN
        )
        return shown + preformatted("\n".join([*lines[:_MOST_LINES_SHOWN], *more]))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        shown = {"text/html": self._repr_html_inner()} if get_config()["display"] == "diagram" else {}
        return {"text/plain": repr(self), **shown}

    @property
    def tree_(self) -> Any:
        """The fitted tree as one of scikit-learn's, if it tests only numeric columns of X; otherwise ours."""
        tree = self._own_tree()
        if self._model.schema.parts:  # columns made from dates are not columns of X
            return tree
        made = vars(self).get("_scikit_tree")
        if made is None or getattr(made, "_ours", made) is not tree:
            made = scikit_tree(tree, n_features=self.n_features_in_, n_classes=self._n_values())
            vars(self)["_scikit_tree"] = made
        return made

    def _own_tree(self) -> _core.Tree:
        check_is_fitted(self)
        return self._model.trees[0]

    def _n_values(self) -> list[int]:
        """Return how many numbers a node holds for each output: one per class, or one."""
        labels = self._class_labels()
        return [len(classes) for classes in labels] if labels else [1] * self.n_outputs_

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_scikit_tree"}

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of each feature in the impurity decrease of the tree."""
        return shares_of_gain([self._own_tree()], self._model.schema)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Grow the tree without pruning and return the nested sequence that `ccp_alpha` chooses from.

        `ccp_alphas` ascend from 0; `impurities` are the weighted impurities of the leaves of each tree.
        """
        whole: Any = clone(self).set_params(ccp_alpha=0.0, prune=None)
        path = _core.cost_complexity_path(whole.fit(X, y, sample_weight)._own_tree(), by_error=False)
        return Bunch(ccp_alphas=path["alpha"], impurities=path["cost"])

    def get_depth(self) -> int:
        """Return the number of tests on the longest path."""
        return self._own_tree().max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        return self._own_tree().n_leaves

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into, as an index into the arrays of `tree_`."""
        return self._leaves(X)[:, 0]

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Return, for each row, the nodes it passes: a sparse matrix of rows x nodes."""
        return paths_to(self._own_tree(), self.apply(X), self.n_jobs)

    @overload
    def rules(self, style: Literal["text", "lines", "code"] = "text", member: int | None = None) -> str: ...
    @overload
    def rules(self, style: Literal["list"], member: int | None = None) -> list[Rule]: ...
    @overload
    def rules(self, style: RuleStyle = "text", member: int | None = None) -> Any: ...
    def rules(self, style: RuleStyle = "text", member: int | None = None) -> Any:
        """Return the tree as rules.

        "text" is the whole tree, indented; "lines" has one line per leaf; "list" has one `Rule` object per
        leaf, with the tests on its path put together per feature; "code" has nested ifs. "formula" is a dict
        with a logical expression per class (or per number predicted), valid Python over the columns, which
        `hornbeam.inside.holds` evaluates; for several outputs a list of such dicts.

        The rules say where a missing value goes only for columns in which the fit met one; in any other
        column it takes the larger branch. `member` exists as in models of many trees; here it can only be 0.
        """
        return write_rules(self._reading_of(member or 0), style)

    def split_table(
        self,
        X: Any,
        y: Any,
        node: int = 0,
        *,
        sample_weight: Any = None,
        best_per_feature: bool = False,
    ) -> Any:
        """List every test that a node could have used, with its score, as a pandas DataFrame.

        X and y are the rows of the fit (a model keeps no data), or others, to see how they would be split.
        `score` is the impurity after the split, `gain` its decrease; `chosen` marks the test of the tree.
        `best_per_feature` keeps the best test of each feature, the best feature first.

        A criterion that compares features by another number shows that, too: `split_information` and
        `gain_ratio` (features that gain less than the mean of all come last); `statistic`, `tests` and,
        multiplied by the number of tests, `p_value`; or the `own_score` of a criterion of your own. Under
        every policy for missing values but "learn", rows that lack the feature of a test do not count for it;
        under "fractional" a row counts in the nodes where the largest part of it goes.
        """
        given = self._rows_in_node(X, y, sample_weight, node)
        reading, growing = self._reading(self._own_tree()), self._growing(given)
        return split_frame(reading, node, given, growing, best_per_feature=best_per_feature)

    def _growing(self, given: NodeRows) -> Growing:
        """Collect the options that limit the tests of a node; shares refer to all rows given."""
        criterion: Any = self.get_params(deep=False)["criterion"]
        if not isinstance(criterion, str):
            criterion = own_criterion(criterion, of_classes=bool(self._class_labels()))
        return Growing(
            criterion=criterion_by_name(criterion),
            categorical_split=self._split_of_categories(given.target),
            merge_level=self.merge_level,
            known_only=self.missing not in ("learn", "error"),
            min_rows=resolve_count(self.min_samples_leaf, int((given.weights > 0).sum())),
            min_weight=self.min_weight_fraction_leaf * float(given.weights.sum()),
        )

    def _rows_in_node(self, X: Any, y: Any, sample_weight: Any, node: int) -> NodeRows:
        tree = self._own_tree()
        if self.n_outputs_ > 1:
            raise ValueError("split_table takes trees with one output.")
        if self.get_params(deep=False)["criterion"] == "absolute_error":
            raise ValueError("split_table adds up the rows of branches, and medians cannot be added up.")
        if not 0 <= node < tree.node_count:
            raise ValueError(f"node must be from 0 to {tree.node_count - 1}; got {node}.")
        n_threads = resolve_n_jobs(self.n_jobs)
        given = read_rows(
            Validation(X, y, sample_weight),
            model=self._model,
            target=self._target_kind(),
            class_weight=getattr(self, "class_weight", None),
            estimator_name=type(self).__name__,
        )
        n_rows = given.table.n_rows
        weights = np.ones(n_rows) if given.weights is None else given.weights
        path = paths_to(tree, self._model.leaves(given.table, n_threads=n_threads)[:, 0], n_threads).tocsc()
        inside = np.zeros(n_rows, dtype=np.bool_)
        inside[path[:, [node]].indices] = True
        branch_of_row = np.zeros(n_rows, dtype=np.int64)
        for branch in range(int(tree.n_branches[node])):
            branch_of_row[path[:, [tree.first_child[node] + branch]].indices] = branch
        rows = np.flatnonzero(inside & (weights > 0)).astype(np.uint32)
        encoded = encode(given.table.unseen_as_missing(), max_bins=self.max_bins, n_threads=n_threads)
        return NodeRows(encoded, given.target, weights, rows, branch_of_row[rows])

    def explain(self, row: Any) -> Explanation:
        """Explain the prediction for one row: its path in words, and how the class shares change along it.

        `row` is a table of one row, a dict or Series by column name, or a sequence in the order of the
        columns.
        """
        reading = self._reading(self._own_tree())
        name = type(self).__name__
        given = read_row(row, reading.schema, unseen=reading.unseen, estimator_name=name)
        if not self._model.missing_allowed:
            refuse_missing(given.table, name)
        return explain_row(reading, given)


class DecisionTreeClassifier(ClassVotes, _DecisionTree, ClassifierTreeOptions):
    """A decision tree that predicts classes.

    {parameters}

    Attributes
    ----------
    classes_ : array, or list of arrays
        The classes, sorted; one array per output if there are several.
    n_classes_ : int, or list of int
        The number of classes.
    tree_ : Tree
        The tree as flat arrays, with scikit-learn's names for them.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the tree.
    """

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        max_memory: str | int | None = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
    ) -> Self:
        """Grow the tree on rows X with labels y, and prune it if `prune` is set.

        Pruning that needs validation rows takes `X_val` and `y_val` or, without them, holds out a share of
        the rows of X (`validation_fraction`). Rows of equal `groups` stay together there and in the folds of
        `cv`.

        With `target`, X is the path of Parquet files, an Arrow data set or stream; `target`, `sample_weight`
        and `groups` are names of its columns, and `max_memory` ("4GB") limits the memory of the fit. This
        needs `max_bins`.
        """
        if target is not None:
            return fit_from_source(
                self,
                X,
                target=target,
                max_memory=max_memory,
                y=y,
                sample_weight=sample_weight,
                groups=groups,
                X_val=X_val,
                y_val=y_val,
                sample_weight_val=sample_weight_val,
            )
        y, sample_weight, groups = with_own_target(X, y, sample_weight=sample_weight, groups=groups)
        training = self._begin_fit(X, sample_weight)
        labels, weights = classes_to_fit(training, y, self.class_weight, estimator_name=type(self).__name__)
        validation = Validation(X_val, y_val, sample_weight_val)
        self._fit_tree(
            training, labels, weights, criterion=self.criterion, validation=validation, groups=groups
        )
        self._remember_classes(labels)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class: rows x classes; a list of such arrays for several outputs."""
        return shares_of(self._values(X), self.n_classes_)


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

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        max_memory: str | int | None = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        groups: Any = None,
    ) -> Self:
        """Grow the tree on rows X with targets y, and prune it if `prune` is set.

        Pruning that needs validation rows takes `X_val` and `y_val` or, without them, holds out a share of
        the rows of X (`validation_fraction`). Rows of equal `groups` stay together there and in the folds of
        `cv`.

        With `target`, X is the path of Parquet files, an Arrow data set or stream; `target`, `sample_weight`
        and `groups` are names of its columns, and `max_memory` ("4GB") limits the memory of the fit. This
        needs `max_bins`.
        """
        if target is not None:
            return fit_from_source(
                self,
                X,
                target=target,
                max_memory=max_memory,
                y=y,
                sample_weight=sample_weight,
                groups=groups,
                X_val=X_val,
                y_val=y_val,
                sample_weight_val=sample_weight_val,
            )
        y, sample_weight, groups = with_own_target(X, y, sample_weight=sample_weight, groups=groups)
        training = self._begin_fit(X, sample_weight)
        numbers = numbers_to_fit(training, y, criterion=self.criterion, estimator_name=type(self).__name__)
        validation = Validation(X_val, y_val, sample_weight_val)
        self._fit_tree(
            training,
            numbers,
            training.weights,
            criterion=self.criterion,
            validation=validation,
            groups=groups,
        )
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predicted number of each row: rows, or rows x outputs."""
        return numbers_of(self._values(X))

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Any:
        """Answer scikit-learn, which takes this for a tree of its own."""
        return partial_dependence([self], grid, target_features)


for _cls in (DecisionTreeClassifier, DecisionTreeRegressor):
    take_for("sklearn.tree._classes", _cls)
