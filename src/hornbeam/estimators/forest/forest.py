"""Forests: `RandomForestClassifier/Regressor` and `ExtraTreesClassifier/Regressor`.

The two kinds differ in defaults and in one setting of growth: random forests look for the best threshold of
each feature they try, extra trees draw one.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.encode import Encoded, encode
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget, read_classes, read_numbers
from hornbeam.estimators.answers import ClassVotes, classes_to_fit, numbers_of, numbers_to_fit, shares_of
from hornbeam.estimators.base import Training, paths_through
from hornbeam.estimators.explained import mean_of_trees
from hornbeam.estimators.first_members import members_to_keep
from hornbeam.estimators.forest.growing import as_tree, grow_forest, joint_classes, with_options_of
from hornbeam.estimators.forest.insight import mean_share_of_gain, out_of_bag_importance
from hornbeam.estimators.forest.intervals import (
    class_sets,
    errors_of_numbers,
    errors_of_shares,
    intervals,
    is_kept,
    quantiles_of,
)
from hornbeam.estimators.forest.oob_scores import score_of_classes, score_of_numbers
from hornbeam.estimators.forest.resampling import BagModel
from hornbeam.estimators.from_source import fit_from_source, with_own_target
from hornbeam.estimators.growth import GrownModel
from hornbeam.estimators.importances import Importance, WhichGroups
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.estimators.tree.scikit_tree import partial_dependence, take_for
from hornbeam.inside.shapley import ScoreSum
from hornbeam.model import RowsToPredict
from hornbeam.params import (
    ClassifierForestOptions,
    ForestOptions,
    RegressorForestOptions,
    fitted,
    option,
)
from hornbeam.pseudo_votes import PseudoVotes
from hornbeam.recipes.bag import Bag, TreeBag
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.recipes.uncertainty import LeafRows
from hornbeam.sklearn_bases import MultiOutputMixin, RegressorMixin

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]


class _Forest(BagModel, GrownModel, ForestOptions):
    """What the four kinds of forest share."""

    in_bag_: npt.NDArray[np.uint32] = fitted()
    _oob_errors: npt.NDArray[np.float64] = fitted()
    _leaf_rows: LeafRows = fitted()

    _tree: ClassVar[type[Any]]
    _random_splits: ClassVar[bool] = False

    def _encoded(self, table: Table, n_threads: int) -> Encoded:
        """Turn the columns into codes."""
        return encode(table, max_bins=self.max_bins, n_threads=n_threads)

    def _at_work(self, bag: TreeBag) -> Bag[_core.Tree]:
        """Return the object that grows the members: the bag itself, if the rows are in this process."""
        return bag

    def _wants_out_of_bag(self) -> bool:
        return super()._wants_out_of_bag() or is_kept("oob", self.keep)

    def _out_of_bag_facts(self, training: Training, target: Any, out_of_bag: OutOfBag) -> dict[str, Any]:
        """Turn out-of-bag sums into attributes."""
        out_of_bag.warn_of_unanswered_rows()
        return {"oob_curve_": np.array(out_of_bag.curve)}

    # --- Members -----------------------------------------------------------------------------------------

    @property
    def _n_members(self) -> int:
        return len(self._model.trees)

    @property
    def estimator(self) -> Any:
        """The template of the members: an unfitted decision tree with the options of the forest."""
        return with_options_of(self, self._tree())

    @property
    def estimator_(self) -> Any:
        """The same for a fitted forest, by scikit-learn's name."""
        check_is_fitted(self)
        return self.estimator

    @property
    def estimators_(self) -> list[Any]:
        """The members, each a fitted decision tree; made anew each time.

        Fitted again on its sample, a member is the same tree: its `random_state` repeats its draws.
        """
        check_is_fitted(self)
        members = [self._member(tree) for tree in self._model.trees]
        if hasattr(self, "_plan"):  # which a model saved with predict_only=True has lost
            keys = _core.member_keys(self._plan.key, 0, len(members)).tolist()
            for member, key in zip(members, keys, strict=True):
                member.random_state = key
        return members

    def first(self, m: int) -> Self:
        """Return the forest of the first `m` trees, as a fit with n_estimators=m would have made it."""
        check_is_fitted(self)
        m = members_to_keep(m, self._n_members, what="trees")
        return self._with_members(m, _model=replace(self._model, trees=self._model.trees[:m]))

    def _member(self, tree: _core.Tree) -> Any:
        raise NotImplementedError

    # --- Answers -----------------------------------------------------------------------------------------

    def _votes_are_hard(self) -> bool:
        return False

    def _values(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the mean of the trees' predictions for each row: rows x outputs x classes."""
        rows, n_threads = self._rows(X)
        return self._mean(rows, n_threads)

    def _mean(self, rows: RowsToPredict, n_threads: int) -> npt.NDArray[np.float64]:
        return self._model.mean(
            rows,
            n_threads=n_threads,
            hard_votes=self._votes_are_hard(),
            pseudo_votes=self._pseudo_votes(),
        )

    # --- A look inside -----------------------------------------------------------------------------------

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of each feature in the impurity decrease of a tree, averaged over trees that split."""
        check_is_fitted(self)
        return mean_share_of_gain(self._model, self.n_features_in_)

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into in each tree: rows x trees."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes each row passes, rows x nodes of all trees, sparse; and where each tree begins."""
        return paths_through(self._model.trees, self.apply(X), self.n_jobs)

    def _score_sum(self) -> ScoreSum:
        return mean_of_trees(
            self._model,
            self._class_labels(),
            votes=self._votes_are_hard(),
            pseudo_votes=self._pseudo_votes(),
        )

    def _exact_score(self, table: Table) -> npt.NDArray[np.float64]:
        return np.asarray(self._mean(table, 1)[0, 0])

    def importance(
        self,
        kind: Importance = "gain",
        *,
        X: Any = None,
        y: Any = None,
        groups: WhichGroups = None,
        noise: bool = False,
        n_repeats: int | None = None,
        **more: Any,
    ) -> Any:
        """Say how much each column matters.

        "gain" is `feature_importances_`: quick, but biased towards columns with many values. "count" is the
        share of all tests that use the column. "contributions" is the mean size of the column's contributions
        for the rows X. "permutation" is how much the error of the trees grows on rows they have not seen if
        the column is shuffled there. It needs the X and y of the fit; `importances` are columns x trees,
        `importances_std` the standard error of their mean. For rows that no tree has seen, `unseen=True`
        (with `scoring`, `sample_weight`, `random_state` if you like) shuffles columns of X instead. "drop" is
        how much the score falls if forests are fitted without the column, in `cv` folds.

        `groups` and `noise` are as for every model: similar columns taken together, and the level that
        shuffled copies of columns reach.
        """
        unseen = more.pop("unseen", False)
        if kind != "permutation" or unseen:
            repeats = 5 if n_repeats is None else n_repeats
            return super().importance(kind, X=X, y=y, groups=groups, noise=noise, n_repeats=repeats, **more)
        seed = more.pop("random_state", 0)
        if more:
            raise TypeError(f"{next(iter(more))} is for rows that no tree has seen: unseen=True.")
        repeats = 1 if n_repeats is None else n_repeats
        return out_of_bag_importance(self, X, y, groups=groups, noise=noise, n_repeats=repeats, seed=seed)

    def _target_of(self, y: Any, n_rows: int) -> ClassTarget | RegressionTarget:
        """Read targets as the fit has read them."""
        raise NotImplementedError


class _ForestClassifier(ClassVotes, _Forest, ClassifierForestOptions):
    """What the two forests that predict classes share."""

    _tree: ClassVar[type[Any]] = DecisionTreeClassifier

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        max_memory: str | int | None = None,
        groups: Any = None,
    ) -> Self:
        """Grow the trees on rows X with labels y; rows of equal `groups` are drawn together.

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
            )
        y, sample_weight, groups = with_own_target(X, y, sample_weight=sample_weight, groups=groups)
        training = self._begin_fit(X, sample_weight)
        class_weight = self.class_weight
        per_sample = class_weight == "balanced_subsample"
        labels, weights = classes_to_fit(
            training,
            y,
            None if class_weight == "balanced_subsample" else class_weight,
            estimator_name=type(self).__name__,
        )
        strata = joint_classes(labels) if self.stratify else None
        grow_forest(
            self,
            training,
            labels,
            weights,
            criterion=self.criterion,
            groups=groups,
            strata=strata,
            balance_classes=per_sample,
        )
        self._remember_classes(labels)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class: rows x classes; a list of such arrays for several outputs."""
        return shares_of(self._values(X), self.n_classes_)

    def predict_set(self, X: Any, alpha: float = 0.1) -> Any:
        """Return a prediction set for each row, which should contain its class: truth values, rows x classes.

        As with `predict_interval` of regressors, the coverage is at least 1 - 2 alpha in theory and about 1 -
        alpha in practice. A set may be empty if no class looks like the training rows. A list of such arrays
        for several outputs. Needs keep="oob".
        """
        return class_sets(self, X, alpha)

    def predict_std(self, X: Any) -> Any:
        """Return the standard error of each probability, by the infinitesimal jackknife: rows x classes."""
        return errors_of_shares(self, X)

    def _votes_are_hard(self) -> bool:
        return self.voting == "hard"

    def _pseudo_votes(self) -> PseudoVotes | None:
        n_classes = (self.n_classes_,) if self.n_outputs_ == 1 else tuple(self.n_classes_)
        return self._votes_shared_out(n_classes)

    def _votes_shared_out(self, n_classes: Sequence[int]) -> PseudoVotes | None:
        return PseudoVotes.shared_out(0.0 if self._votes_are_hard() else self.smoothing, n_classes)

    def _out_of_bag_facts(
        self, training: Training, target: ClassTarget, out_of_bag: OutOfBag
    ) -> dict[str, Any]:
        facts = super()._out_of_bag_facts(training, target, out_of_bag)
        if self.oob_score is not False:
            pseudo_votes = self._votes_shared_out([len(classes) for classes in target.classes])
            shares = out_of_bag.answers(pseudo_votes)
            facts["oob_score_"] = score_of_classes(self.oob_score, target, shares)
            answers = self._among_rows_given(shares, training.n_rows_given, training.rows)
            by_output = [answers[:, k, : len(classes)] for k, classes in enumerate(target.classes)]
            facts["oob_decision_function_"] = by_output if target.is_multi_output else by_output[0]
        return facts

    def _target_of(self, y: Any, n_rows: int) -> ClassTarget:
        target = read_classes(y, n_rows, estimator_name=type(self).__name__)
        if not all(np.array_equal(*pair) for pair in zip(target.classes, self._class_labels(), strict=True)):
            raise ValueError("y has other classes than the y of the fit.")
        return target

    def _member(self, tree: _core.Tree) -> DecisionTreeClassifier:
        member = as_tree(self, DecisionTreeClassifier(), tree)
        member.classes_, member.n_classes_ = self.classes_, self.n_classes_
        return member


class _ForestRegressor(RegressorMixin, MultiOutputMixin, _Forest, RegressorForestOptions):
    """What the two forests that predict numbers share."""

    _tree: ClassVar[type[Any]] = DecisionTreeRegressor

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        target: str | None = None,
        max_memory: str | int | None = None,
        groups: Any = None,
    ) -> Self:
        """Grow the trees on rows X with targets y; rows of equal `groups` are drawn together.

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
            )
        y, sample_weight, groups = with_own_target(X, y, sample_weight=sample_weight, groups=groups)
        training = self._begin_fit(X, sample_weight)
        numbers = numbers_to_fit(training, y, criterion=self.criterion, estimator_name=type(self).__name__)
        grow_forest(self, training, numbers, training.weights, criterion=self.criterion, groups=groups)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the predicted number of each row: rows, or rows x outputs."""
        return numbers_of(self._values(X))

    def predict_interval(self, X: Any, alpha: float = 0.1) -> npt.NDArray[np.float64]:
        """Return an interval for the target of each row: rows x 2, or rows x outputs x 2.

        Jackknife+-after-bootstrap. If rows are exchangeable, an interval contains the target with probability
        at least 1 - 2 alpha; in practice about 1 - alpha. Needs keep="oob".
        """
        return intervals(self, X, alpha)

    def predict_std(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the standard error of each prediction, by the infinitesimal jackknife: rows, or x outputs.

        It says how much the prediction would vary with other training rows, not how much targets scatter.
        """
        return errors_of_numbers(self, X)

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> npt.NDArray[np.float64]:
        """Return quantiles of the target given each row: rows x quantiles, or rows x outputs x quantiles.

        Computed from the training targets that share a leaf with the row, weighted by how often they do.
        Needs keep="leaf_rows".
        """
        return quantiles_of(self, X, quantiles)

    def _compute_partial_dependence_recursion(self, grid: Any, target_features: Any) -> Any:
        """Answer scikit-learn, which takes this for a forest of its own."""
        return partial_dependence(self.estimators_, grid, target_features)

    def _out_of_bag_facts(
        self, training: Training, target: RegressionTarget, out_of_bag: OutOfBag
    ) -> dict[str, Any]:
        facts = super()._out_of_bag_facts(training, target, out_of_bag)
        if self.oob_score is not False:
            facts["oob_score_"] = score_of_numbers(self.oob_score, target, out_of_bag)
            answers = self._among_rows_given(out_of_bag.answers(), training.n_rows_given, training.rows)
            facts["oob_prediction_"] = answers[:, :, 0] if target.is_multi_output else answers[:, 0, 0]
        return facts

    def _target_of(self, y: Any, n_rows: int) -> RegressionTarget:
        return read_numbers(y, n_rows, estimator_name=type(self).__name__)

    def _member(self, tree: _core.Tree) -> DecisionTreeRegressor:
        return as_tree(self, DecisionTreeRegressor(), tree)


# --- The four forests ------------------------------------------------------------------------------------


class RandomForestClassifier(_ForestClassifier):
    """A random forest that predicts classes: deep trees on bootstrap samples, few features at each split.

    {parameters}

    Attributes
    ----------
    classes_ : array, or list of arrays
        The classes, sorted; one array per output if there are several.
    n_classes_ : int, or list of int
        The number of classes.
    estimators_ : list of DecisionTreeClassifier
        The members.
    estimators_samples_ : list of arrays
        The rows of X that each member was grown on.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the trees.
    oob_score_ : float
        Accuracy, or the chosen metric, of predictions by trees that have not seen the row.
    oob_decision_function_ : array
        The class probabilities of these predictions; NaN for rows that every tree has seen.
    oob_curve_ : array
        The share of wrong predictions after each tree.
    """


class RandomForestRegressor(_ForestRegressor):
    """A random forest that predicts numbers: deep trees on bootstrap samples.

    {parameters}

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The members.
    estimators_samples_ : list of arrays
        The rows of X that each member was grown on.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the trees.
    oob_score_ : float
        R^2, or the chosen metric, of predictions by trees that have not seen the row.
    oob_prediction_ : array
        These predictions; NaN for rows that every tree has seen.
    oob_curve_ : array
        The mean squared error of these predictions after each tree.
    """


class ExtraTreesClassifier(_ForestClassifier):
    """Extremely randomised trees that predict classes: thresholds are drawn, uniform in value.

    {parameters}

    Attributes
    ----------
    classes_ : array, or list of arrays
        The classes, sorted; one array per output if there are several.
    n_classes_ : int, or list of int
        The number of classes.
    estimators_ : list of DecisionTreeClassifier
        The members.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the trees.
    """

    _random_splits: ClassVar[bool] = True
    bootstrap: bool = option(default=False)


class ExtraTreesRegressor(_ForestRegressor):
    """Extremely randomised trees that predict numbers: thresholds are drawn, uniform in value.

    {parameters}

    Attributes
    ----------
    estimators_ : list of DecisionTreeRegressor
        The members.
    feature_importances_ : array
        The share of each feature in the impurity decrease of the trees.
    """

    _random_splits: ClassVar[bool] = True
    bootstrap: bool = option(default=False)


for _cls in (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor):
    take_for("sklearn.ensemble._forest", _cls)
