"""From the parameters of an estimator to the settings of its trees: what single trees and forests share."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.base import Training, TreeModel
from hornbeam.model import Ensemble
from hornbeam.params import (
    GrowthOptions,
    fitted,
    resolve_count,
    resolve_max_features,
    resolve_random_key,
)
from hornbeam.recipes.category_means import CategoryMeans, columns_of_many
from hornbeam.recipes.own_criterion import OwnCriterion, own_criterion
from hornbeam.recipes.single import GrowthSettings
from hornbeam.warnings import DataWarning, warn

__all__ = [
    "GrownModel",
    "criterion_by_name",
    "rows_with_weight",
    "warn_of_a_lone_leaf",
    "warn_of_constant_columns",
]


_FOR_ONE_OUTPUT = frozenset(name for name, _, second_step, *_ in _core.criteria() if second_step)
_WITH_P_VALUES = frozenset(name for name, _, step, *_ in _core.criteria() if step in ("chi2", "f_test"))


_SPLITS_BY_MEDIAN = ("auto", "subset", "one_vs_rest")

# scikit-learn's names, and the older ones of the same criteria.
_OTHER_NAMES = {other: name for name, *_, others in _core.criteria() for other in others}


def criterion_by_name(given: Any) -> Any:
    """Return the main name of a criterion, which may have others."""
    return _OTHER_NAMES.get(given, given) if isinstance(given, str) else given


class GrownModel(GrowthOptions, TreeModel):
    """Base of the estimators that grow their trees on the target itself: single trees and forests."""

    n_outputs_: int = fitted()
    max_features_: int = fitted()

    def _settings(
        self,
        encoded: Encoded,
        target: ClassTarget | RegressionTarget,
        weights: npt.NDArray[np.float64] | None,
        *,
        criterion: Any,
        random_splits: bool,
        rows: npt.NDArray[np.uint32] | None = None,
        means: CategoryMeans | None = None,
    ) -> GrowthSettings:
        """Turn parameters into numbers, now that the data are known; fractions refer to `rows`."""
        if not isinstance(criterion, str):
            criterion = own_criterion(criterion, of_classes=isinstance(target, ClassTarget))
        criterion = criterion_by_name(criterion)
        self._check_criterion(criterion, target.n_outputs)
        if isinstance(criterion, OwnCriterion):
            self._refuse_gaps(encoded, "A criterion of your own")
        elif criterion == "absolute_error":
            self._check_medians(encoded)
        n_rows = encoded.n_rows if rows is None else len(rows)
        some_weights = weights if weights is None or rows is None else weights[rows]
        total_weight = float(n_rows if some_weights is None else some_weights.sum())
        no_categories = "categorical" not in encoded.schema.kinds  # then categorical_split does not matter
        # Limits far above the number of rows are cut: the core has fewer bits than Python.
        min_samples_leaf = min(resolve_count(self.min_samples_leaf, n_rows), n_rows + 1)
        min_samples_split = min(resolve_count(self.min_samples_split, n_rows, at_least=2), n_rows + 1)
        return GrowthSettings(
            criterion=criterion,
            leaf_value="median" if criterion == "absolute_error" else self._leaf_value(),
            missing="learn" if self.missing == "error" else self.missing,
            max_surrogates=self.max_surrogates,
            random_splits=random_splits,
            categorical_split="subset" if no_categories else self._split_of_categories(target),
            merge_level=self.merge_level,
            max_depth=min(self.max_depth or 0, n_rows),
            min_samples_split=max(min_samples_split, 2 * min_samples_leaf),
            min_samples_leaf=min_samples_leaf,
            min_weight_leaf=self.min_weight_fraction_leaf * total_weight,
            max_leaf_nodes=self.max_leaf_nodes or 0,
            max_nodes=self.max_nodes or 0,
            max_features=resolve_max_features(self.max_features, encoded.n_features),
            min_impurity_decrease=self.min_impurity_decrease,
            min_significance=1.0 if self.min_significance is None else self.min_significance,
            monotonic=self._checked_directions(encoded, target, means),
        )

    def _leaf_value(self) -> Literal["mean", "median"]:
        """Return what nodes of numbers predict; medians could violate monotonic constraints."""
        leaf_value: Literal["mean", "median"] = getattr(self, "leaf_value", "mean")
        if leaf_value == "median" and self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst compares the means of branches, which leaf_value='median' does not predict. "
                "Set leaf_value='mean', or leave monotonic_cst out."
            )
        return leaf_value

    def _check_criterion(self, given: str | OwnCriterion, n_outputs: int) -> None:
        """Refuse options that the criterion does not support."""
        is_own = isinstance(given, OwnCriterion)
        criterion = type(given.given).__name__ if isinstance(given, OwnCriterion) else given
        if self.min_significance is not None and criterion not in _WITH_P_VALUES:
            raise ValueError(
                f"min_significance is {self.min_significance}, but criterion={criterion!r} has no p-values. "
                "Use criterion='chi2' for classes or 'f_test' for numbers, or min_impurity_decrease."
            )
        if n_outputs > 1 and (is_own or criterion in _FOR_ONE_OUTPUT):
            raise ValueError(
                f"criterion={criterion!r} takes one output, but y has {n_outputs}. Use 'gini' or 'entropy' "
                "for several outputs of classes, 'squared_error' for several numbers."
            )

    def _category_means(
        self, training: Training, target: ClassTarget | RegressionTarget, weights: Any, *, key: int
    ) -> CategoryMeans | None:
        """Turn columns of many categories into means of the target, if categorical_split is "auto".

        Rows that lack such a column have a mean of their own, so only one policy for missing values is
        supported. Several outputs have no single mean, and trees added by a warm start use sets like the
        first ones.
        """
        many = self._columns_of_many(training.table, target)
        return CategoryMeans.of(training.table, target, weights, many, key=key) if many else None

    def _columns_of_many(self, table: Table, target: ClassTarget | RegressionTarget) -> list[int]:
        """Find the columns that are replaced by means."""
        goes_on = bool(getattr(self, "warm_start", False))
        by_name = self.categorical_split != "auto" or self.missing not in ("learn", "error")
        return [] if by_name or goes_on or target.n_outputs > 1 else columns_of_many(table)

    def _columns_with_gaps(self, table: Table) -> tuple[bool, ...]:
        """Tell for each column whether some row has no value in it."""
        return tuple(column.first_missing_row() is not None for column in table.columns)

    def _split_of_categories(self, target: ClassTarget | RegressionTarget) -> str:
        """Settle categorical_split; for sets, no order is best for several outputs."""
        if self.categorical_split != "auto":
            return self.categorical_split
        return "subset" if target.n_outputs == 1 else "one_vs_rest"

    def _checked_directions(
        self, encoded: Encoded, target: ClassTarget | RegressionTarget, means: CategoryMeans | None
    ) -> tuple[int, ...]:
        by_target = self.categorical_split in ("subset", "merge", "target_mean")
        if target.n_outputs > 1 and by_target and "categorical" in encoded.schema.kinds:
            name = encoded.schema.names[encoded.schema.kinds.index("categorical")]
            raise ValueError(
                f"With several outputs, categorical_split={self.categorical_split!r} has no order of the "
                f"categories of {name!r} that is best for all of them. Choose 'one_vs_rest', 'multiway', "
                "'ordinal' or 'binary', or fit one tree per output."
            )
        if means is None:
            return self._checked_monotonic(encoded.schema, target)
        return means.of_features(self._checked_monotonic(means.given, target))

    def _check_available(self) -> None:
        """Refuse options that need every row to reach a leaf, if rows may leave a tree earlier."""
        if self.missing != "available":
            return
        for name, nothing in (("keep", None), ("prune", None), ("ccp_alpha", 0)):
            if getattr(self, name, nothing) != nothing:
                raise ValueError(
                    f"{name} does not go with missing='available', under which rows may leave a tree before "
                    "they reach a leaf. Choose another way to treat missing values."
                )

    def _check_medians(self, encoded: Encoded) -> None:
        """Refuse options that do not work with medians, which are not sums."""
        self._refuse_gaps(encoded, "criterion='absolute_error'")
        if self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst compares the means of branches, which criterion='absolute_error' does not "
                "predict. Use criterion='squared_error', or leave monotonic_cst out."
            )
        if "categorical" in encoded.schema.kinds and self.categorical_split not in _SPLITS_BY_MEDIAN:
            raise ValueError(
                f"criterion='absolute_error' does not go with categorical_split={self.categorical_split!r}: "
                "categories are put in the order of their medians ('auto', 'subset') or taken one by one "
                "('one_vs_rest')."
            )

    def _refuse_gaps(self, encoded: Encoded, who: str) -> None:
        """Refuse a criterion that cannot compare splits which are scored on different rows."""
        gaps = encoded.columns_with_gaps()
        if self.missing not in ("learn", "error") and any(gaps):
            name = encoded.schema.names[gaps.index(True)]
            raise ValueError(
                f"{who} does not go with missing={self.missing!r} where values are missing,"
                f" as in {name!r}: each split would be scored on the rows that have its feature, and "
                "scores on different rows cannot be compared. Use missing='learn', under which every "
                "row is scored, or fill the gaps."
            )

    def _random_key(self, settings: GrowthSettings, n_features: int, *, draws_rows: bool = False) -> int:
        """Draw the key of the fit if anything in it is random; otherwise numpy's generator is left alone.

        Its global generator has a lock, which a process forked at the wrong moment would never get.
        """
        draws_features = settings.random_splits or settings.max_features < n_features
        nothing_is_random = not draws_features and not draws_rows
        return 0 if nothing_is_random else resolve_random_key(self.random_state)

    def _remember_growth(
        self,
        training: Training,
        target: ClassTarget | RegressionTarget,
        settings: GrowthSettings,
        trees: tuple[_core.Tree, ...],
        means: CategoryMeans | None = None,
    ) -> None:
        """Store the result of a fit; called when nothing can fail any more."""
        self._remember_columns(training.table, self._columns_with_gaps(training.table))
        self.n_outputs_ = target.n_outputs
        # Columns derived from those of X do not count as features.
        self.max_features_ = min(settings.max_features, self.n_features_in_)
        self._model = Ensemble(
            trees=trees if means is None else tuple(means.restored(tree) for tree in trees),
            schema=training.table.schema,
            unseen=self.unseen,
            missing_allowed=self.missing != "error",
        )


def rows_with_weight(n_rows: int, weights: npt.NDArray[np.float64] | None) -> npt.NDArray[np.uint32]:
    """Leave out the rows of classes whose `class_weight` is 0; rows of weight 0 are already gone."""
    if weights is None or weights.all():
        return np.arange(n_rows, dtype=np.uint32)
    if not weights.any():
        raise ValueError("class_weight leaves no row with a weight above 0.")
    return np.flatnonzero(weights).astype(np.uint32)


def warn_of_a_lone_leaf(tree: _core.Tree, encoded: Encoded) -> None:
    """Warn if the first tree has no test because no column of X distinguishes two rows."""
    if tree.node_count == 1 and tree.impurity[0] > 0 and encoded.n_rows > 1:
        warn_of_constant_columns(encoded)


def warn_of_constant_columns(encoded: Encoded) -> None:
    """Warn if no column of X distinguishes two rows."""
    if all(encoded.codes.is_constant(j) for j in range(encoded.n_features)):
        warn(
            "Every column of X is constant: the model is a single leaf that predicts the same for all rows.",
            DataWarning,
        )
