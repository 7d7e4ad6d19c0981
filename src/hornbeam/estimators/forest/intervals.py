"""Error bars of forests. In: a fitted forest and rows. Out: intervals, sets, quantiles, standard errors.

`kept` collects during fit what they need; methods of forests, such as `predict_interval`, call the rest.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.model import EncodedRows, Ensemble
from hornbeam.recipes.bag import BagPlan, TreeBag
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.recipes.uncertainty import (
    LeafRows,
    conformal_sets,
    jackknife_intervals,
    jackknife_std,
    leaf_quantiles,
)
from hornbeam.threads import resolve_n_jobs

__all__ = [
    "class_sets",
    "errors_of_numbers",
    "errors_of_shares",
    "intervals",
    "is_kept",
    "kept",
    "quantiles_of",
    "require_draws",
]

FloatArray = npt.NDArray[np.float64]


class Sampled(Protocol):
    """A fitted forest that remembers which rows each tree saw."""

    n_outputs_: int
    n_jobs: int | None
    _model: Ensemble
    _plan: BagPlan
    _oob_errors: FloatArray
    _leaf_rows: LeafRows

    @property
    def _n_members(self) -> int: ...
    def _leaves(self, X: Any) -> npt.NDArray[np.int32]: ...
    def _votes_are_hard(self) -> bool: ...


class SampledClasses(Sampled, Protocol):
    """A forest that predicts classes."""

    n_classes_: Any


def kept(
    keep: str | Sequence[str] | None,
    bag: TreeBag,
    trees: Sequence[Any],
    out_of_bag: OutOfBag | None,
    *,
    n_given: int,
    rows: Any,
) -> dict[str, Any]:
    """Collect what `keep` asks for, as attributes of the forest."""
    gathered: dict[str, Any] = {}
    if is_kept("oob", keep) and out_of_bag is not None:
        gathered["_oob_errors"] = _errors(bag.target, out_of_bag)
    if is_kept("leaf_rows", keep):
        gathered["_leaf_rows"] = _leaf_rows(bag, trees)
    if is_kept("in_bag", keep):
        in_bag = np.zeros((n_given, len(trees)), dtype=np.uint32)
        in_bag[slice(None) if rows is None else rows] = np.stack(
            [bag.plan.times(member) for member in range(len(trees))], axis=1
        )
        gathered["in_bag_"] = in_bag
    return gathered


def is_kept(what: str, keep: str | Sequence[str] | None) -> bool:
    """Whether `keep`, a word or a list of them, asks for something."""
    return keep is not None and (what == keep if isinstance(keep, str) else what in keep)


def intervals(forest: Sampled, X: Any, alpha: float) -> FloatArray:
    """Implement `predict_interval` of forests that predict numbers."""
    _require(forest, "_oob_errors", "oob", "predict_interval")
    _check_share("alpha", alpha)
    known = ~np.isnan(forest._oob_errors[:, 0])
    left_out, n_threads = _left_out(forest, known), resolve_n_jobs(forest.n_jobs)
    intervals = [
        jackknife_intervals(_said(forest, X, k, 0), left_out, forest._oob_errors[known, k], alpha, n_threads)
        for k in range(forest.n_outputs_)
    ]
    return intervals[0] if forest.n_outputs_ == 1 else np.stack(intervals, axis=1)


def class_sets(forest: SampledClasses, X: Any, alpha: float) -> Any:
    """Implement `predict_set` of forests that predict classes."""
    _require(forest, "_oob_errors", "oob", "predict_set")
    _check_share("alpha", alpha)
    known = ~np.isnan(forest._oob_errors[:, 0])
    left_out, n_threads = _left_out(forest, known), resolve_n_jobs(forest.n_jobs)
    counts = [forest.n_classes_] if forest.n_outputs_ == 1 else forest.n_classes_
    sets = [
        conformal_sets(
            [_said(forest, X, k, value) for value in range(n)],
            left_out,
            forest._oob_errors[known, k],
            alpha,
            n_threads,
        )
        for k, n in enumerate(counts)
    ]
    return sets[0] if forest.n_outputs_ == 1 else sets


def errors_of_numbers(forest: Sampled, X: Any) -> FloatArray:
    """Implement `predict_std` of forests that predict numbers."""
    require_draws(forest, "predict_std")
    deviations = [_std(forest, X, k, 0) for k in range(forest.n_outputs_)]
    return deviations[0] if forest.n_outputs_ == 1 else np.stack(deviations, axis=1)


def errors_of_shares(forest: SampledClasses, X: Any) -> Any:
    """Implement `predict_std` of forests that predict classes."""
    require_draws(forest, "predict_std")
    counts = [forest.n_classes_] if forest.n_outputs_ == 1 else forest.n_classes_
    deviations = [
        np.stack([_std(forest, X, k, value) for value in range(n)], axis=1) for k, n in enumerate(counts)
    ]
    return deviations[0] if forest.n_outputs_ == 1 else deviations


def quantiles_of(forest: Sampled, X: Any, quantiles: Any) -> FloatArray:
    """Implement `predict_quantiles` of forests that predict numbers."""
    _require(forest, "_leaf_rows", "leaf_rows", "predict_quantiles")
    wanted = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
    if wanted.ndim != 1 or not np.all((wanted >= 0) & (wanted <= 1)):
        raise ValueError(f"quantiles must be numbers in [0, 1]; got {quantiles!r}.")
    trees = forest._model.trees
    found = leaf_quantiles(
        forest._leaf_rows,
        forest._leaves(X),
        [tree.node_count for tree in trees],
        [forest._plan.times(member) for member in range(len(trees))],
        wanted,
    )
    return found[:, 0] if forest.n_outputs_ == 1 else found


def _require(forest: Sampled, attribute: str, keep: str, method: str) -> None:
    check_is_fitted(forest)
    if not hasattr(forest, attribute):
        raise AttributeError(
            f"{method} needs what a fit with keep={keep!r} keeps: set keep={keep!r} and fit again."
        )


def require_draws(forest: Sampled, method: str) -> None:
    """Raise unless the forest knows which rows each tree saw."""
    check_is_fitted(forest)
    if not hasattr(forest, "_plan"):
        raise AttributeError(
            f"{method} needs to know which rows each tree saw; a model saved with slim=True or "
            "predict_only=True has lost that."
        )


def _left_out(forest: Sampled, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Tell which members have not seen which of some training rows: members x rows."""
    return np.stack([forest._plan.times(member)[rows] == 0 for member in range(forest._n_members)])


def _said(forest: Sampled, X: Any, output: int, value: int) -> FloatArray:
    """Return each member's prediction for each row: rows x members, for one output and class."""
    leaves = forest._leaves(X)
    said = np.empty(leaves.shape)
    for member, tree in enumerate(forest._model.trees):
        if forest._votes_are_hard():
            says = (tree.value[:, output].argmax(axis=1) == value).astype(np.float64)
        else:
            says = tree.value[:, output, value]
        said[:, member] = says[leaves[:, member]]
    return said


def _std(forest: Sampled, X: Any, output: int, value: int) -> FloatArray:
    plan = forest._plan
    if not plan.leaves_rows_out:
        raise ValueError("predict_std is computed from samples that differ: it needs bootstrap=True.")
    times = np.stack([plan.unit_times(member) for member in range(forest._n_members)])
    said = _said(forest, X, output, value)
    return jackknife_std(said, times, n_draws=plan.n_draws, with_replacement=plan.with_replacement)


def _check_share(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < 1:
        raise ValueError(f"{name} must be a number in (0, 1); got {value!r}.")


def _errors(target: ClassTarget | RegressionTarget, out_of_bag: OutOfBag) -> FloatArray:
    """Return the error of each row's out-of-bag prediction: rows x outputs; NaN where there is none."""
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
