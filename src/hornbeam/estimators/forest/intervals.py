"""Error bars of forests: what they need is kept at fit, and asked for by `predict_interval` and its kin."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.forest.resampling import BagModel
from hornbeam.estimators.growth import GrownModel
from hornbeam.model import EncodedRows, Ensemble
from hornbeam.params import ForestOptions, fitted
from hornbeam.recipes.bag import TreeBag
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.recipes.uncertainty import (
    LeafRows,
    conformal_sets,
    jackknife_intervals,
    jackknife_std,
    leaf_quantiles,
)
from hornbeam.threads import resolve_n_jobs

__all__ = ["ClassErrorBars", "ErrorBars", "NumberErrorBars"]

FloatArray = npt.NDArray[np.float64]


class ErrorBars(BagModel, GrownModel, ForestOptions):
    """What error bars of classes and of numbers share."""

    in_bag_: npt.NDArray[np.uint32] = fitted()
    _oob_errors: FloatArray = fitted()
    _leaf_rows: LeafRows = fitted()

    def _keeps(self, what: str) -> bool:
        return self.keep is not None and (
            what == self.keep if isinstance(self.keep, str) else what in self.keep
        )

    def _wants_out_of_bag(self) -> bool:
        return super()._wants_out_of_bag() or self._keeps("oob")

    def _kept(
        self, bag: TreeBag, trees: Sequence[Any], out_of_bag: OutOfBag | None, n_given: int, rows: Any
    ) -> dict[str, Any]:
        """Gather what `keep` asks for."""
        kept: dict[str, Any] = {}
        if self._keeps("oob") and out_of_bag is not None:
            kept["_oob_errors"] = _errors(bag.target, out_of_bag)
        if self._keeps("leaf_rows"):
            kept["_leaf_rows"] = _leaf_rows(bag, trees)
        if self._keeps("in_bag"):
            in_bag = np.zeros((n_given, len(trees)), dtype=np.uint32)
            in_bag[slice(None) if rows is None else rows] = np.stack(
                [bag.plan.times(member) for member in range(len(trees))], axis=1
            )
            kept["in_bag_"] = in_bag
        return kept

    def _require(self, attribute: str, keep: str, method: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, attribute):
            raise AttributeError(
                f"{method} needs what a fit with keep={keep!r} keeps: set keep={keep!r} and fit again."
            )

    def _require_draws(self, method: str) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_plan"):
            raise AttributeError(
                f"{method} needs to know which rows each tree saw; a model saved with predict_only=True has "
                "lost that."
            )

    def _left_out(self, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Tell which members have not seen which of some training rows: members x rows."""
        return np.stack([self._plan.times(member)[rows] == 0 for member in range(self._n_members)])

    def _said(self, X: Any, output: int, value: int) -> FloatArray:
        """Return what each member says about each row: rows x members, of one output and class."""
        leaves = self._leaves(X)
        said = np.empty(leaves.shape)
        for member, tree in enumerate(self._model.trees):
            if self._votes_are_hard():
                says = (tree.value[:, output].argmax(axis=1) == value).astype(np.float64)
            else:
                says = tree.value[:, output, value]
            said[:, member] = says[leaves[:, member]]
        return said

    def _votes_are_hard(self) -> bool:
        return False

    def _std(self, X: Any, output: int, value: int) -> FloatArray:
        plan = self._plan
        if not plan.leaves_rows_out:
            raise ValueError("predict_std follows from samples that differ: it needs bootstrap=True.")
        times = np.stack([plan.unit_times(member) for member in range(self._n_members)])
        said = self._said(X, output, value)
        return jackknife_std(said, times, n_draws=plan.n_draws, with_replacement=plan.with_replacement)


class NumberErrorBars(ErrorBars):
    """Error bars of forests that predict numbers."""

    n_outputs_: int = fitted()

    def predict_interval(self, X: Any, alpha: float = 0.1) -> FloatArray:
        """Return an interval for the target of each row: rows x 2, or rows x outputs x 2.

        Jackknife+-after-bootstrap. If rows are exchangeable, the intervals hold the target with probability
        1 - 2 alpha at least; in practice the share is about 1 - alpha. Needs keep="oob".
        """
        self._require("_oob_errors", "oob", "predict_interval")
        _check_share("alpha", alpha)
        known = ~np.isnan(self._oob_errors[:, 0])
        left_out, n_threads = self._left_out(known), resolve_n_jobs(self.n_jobs)
        intervals = [
            jackknife_intervals(self._said(X, k, 0), left_out, self._oob_errors[known, k], alpha, n_threads)
            for k in range(self.n_outputs_)
        ]
        return intervals[0] if self.n_outputs_ == 1 else np.stack(intervals, axis=1)

    def predict_std(self, X: Any) -> FloatArray:
        """Return the standard error of each prediction, by the infinitesimal jackknife: rows, or x outputs.

        It says how much the prediction would vary with other training rows, not how far targets scatter.
        """
        self._require_draws("predict_std")
        deviations = [self._std(X, k, 0) for k in range(self.n_outputs_)]
        return deviations[0] if self.n_outputs_ == 1 else np.stack(deviations, axis=1)

    def predict_quantiles(self, X: Any, quantiles: Any = (0.05, 0.5, 0.95)) -> FloatArray:
        """Return quantiles of the target given each row: rows x quantiles, or rows x outputs x quantiles.

        From the training targets that share a leaf with the row, weighted by how often. Needs
        keep="leaf_rows".
        """
        self._require("_leaf_rows", "leaf_rows", "predict_quantiles")
        wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if wanted.ndim != 1 or not np.all((wanted >= 0) & (wanted <= 1)):
            raise ValueError(f"quantiles must be numbers in [0, 1]; got {quantiles!r}.")
        trees = self._model.trees
        found = leaf_quantiles(
            self._leaf_rows,
            self._leaves(X),
            [tree.node_count for tree in trees],
            [self._plan.times(member) for member in range(len(trees))],
            wanted,
        )
        return found[:, 0] if self.n_outputs_ == 1 else found


class ClassErrorBars(ErrorBars):
    """Error bars of forests that predict classes."""

    n_outputs_: int = fitted()
    n_classes_: Any = fitted()

    def predict_set(self, X: Any, alpha: float = 0.1) -> Any:
        """Tell which classes belong to a set that holds each row's class: truth values, rows x classes.

        As `predict_interval` of regressors: 1 - 2 alpha in theory, about 1 - alpha in practice. A set may be
        empty where no class looks like the training rows. A list of such arrays for several outputs. Needs
        keep="oob".
        """
        self._require("_oob_errors", "oob", "predict_set")
        _check_share("alpha", alpha)
        known = ~np.isnan(self._oob_errors[:, 0])
        left_out, n_threads = self._left_out(known), resolve_n_jobs(self.n_jobs)
        counts = [self.n_classes_] if self.n_outputs_ == 1 else self.n_classes_
        sets = [
            conformal_sets(
                [self._said(X, k, value) for value in range(n)],
                left_out,
                self._oob_errors[known, k],
                alpha,
                n_threads,
            )
            for k, n in enumerate(counts)
        ]
        return sets[0] if self.n_outputs_ == 1 else sets

    def predict_std(self, X: Any) -> Any:
        """Return the standard error of each class share, by the infinitesimal jackknife: rows x classes."""
        self._require_draws("predict_std")
        counts = [self.n_classes_] if self.n_outputs_ == 1 else self.n_classes_
        deviations = [
            np.stack([self._std(X, k, value) for value in range(n)], axis=1) for k, n in enumerate(counts)
        ]
        return deviations[0] if self.n_outputs_ == 1 else deviations


def _check_share(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number in (0, 1); got {value!r}.")


def _errors(target: ClassTarget | RegressionTarget, out_of_bag: OutOfBag) -> FloatArray:
    """Return how wrong the out-of-bag answer to each row is: rows x outputs; NaN where there is none."""
    answers = out_of_bag.answers()
    if isinstance(target, RegressionTarget):
        return np.abs(target.values - answers[:, :, 0])
    own = np.take_along_axis(answers, target.codes[:, :, np.newaxis], axis=2)[:, :, 0]
    return 1 - own


def _leaf_rows(bag: TreeBag, trees: Sequence[Any]) -> LeafRows:
    target = bag.target
    if not isinstance(target, RegressionTarget):
        raise ValueError("keep='leaf_rows' is for predict_quantiles, which classifiers do not have.")
    members = []
    for member, tree in enumerate(trees):
        rows = np.flatnonzero(bag.plan.times(member)).astype(np.uint32)
        model = Ensemble((tree,), bag.encoded.schema)
        leaves = model.leaves(EncodedRows(bag.encoded.codes, rows), n_threads=bag.n_threads)
        members.append((tree, rows, leaves[:, 0]))
    return LeafRows.gathered(members, target.values, bag.weights)
