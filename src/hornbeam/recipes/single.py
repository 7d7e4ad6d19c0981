"""One tree: the smallest recipe, and the settings of growth that every other recipe shares.

Takes an encoded table, a target and settings; returns a tree.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.recipes.footprint import refuse_tree_beyond_memory
from hornbeam.recipes.own_criterion import OwnCriterion
from hornbeam.warnings import ThreadsWarning, WeightWarning, warn

__all__ = ["GrowthSettings", "grow_tree", "warn_of_refused_thread", "warn_of_weightless_rows"]


@dataclass(frozen=True)
class GrowthSettings:
    """How a tree grows, in the core's terms: numbers of rows and features; 0 means no limit.

    There are no defaults here: those of users are stated in `hornbeam.params`.
    """

    criterion: str | OwnCriterion
    leaf_value: Literal["mean", "median"]
    missing: Literal["learn", "surrogate", "fractional", "majority", "available"]
    max_surrogates: int
    random_splits: bool
    categorical_split: str
    merge_level: float
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    max_leaf_nodes: int
    max_nodes: int
    max_features: int
    min_impurity_decrease: float
    min_significance: float
    monotonic: tuple[int, ...]

    @property
    def has_many_branches(self) -> bool:
        """Whether tests may have more than two branches; then only two of them must satisfy the limits."""
        return self.categorical_split in ("multiway", "merge")

    def most_leaves(self, n_rows: int) -> int:
        """Return the most leaves that the limits allow for this many rows."""
        limits = [2 * n_rows if self.has_many_branches else max(1, n_rows // self.min_samples_leaf)]
        if self.max_leaf_nodes:
            limits.append(self.max_leaf_nodes)
        if self.max_nodes:
            limits.append(self.max_nodes if self.has_many_branches else (self.max_nodes + 1) // 2)
        if self.max_depth and not self.has_many_branches:
            limits.append(2 ** min(self.max_depth, 62))
        return min(limits)


def grow_tree(
    encoded: Encoded,
    target: ClassTarget | RegressionTarget,
    weights: npt.NDArray[np.float64] | None,
    settings: GrowthSettings,
    *,
    rows: npt.NDArray[np.uint32],
    key: int,
    n_threads: int,
    warn_of_weightless: bool = True,
) -> _core.Tree:
    """Grow one tree on some rows; weights must be positive there.

    `warn_of_weightless` is for users' weights; a recipe that computes weights may let rows fade away.
    """
    # Under these two limits only growing can tell how many leaves there will be.
    if settings.min_impurity_decrease == 0 and settings.min_significance == 1:
        refuse_tree_beyond_memory(encoded, target, most_leaves=settings.most_leaves(len(rows)))
    tree: _core.Tree
    tree, n_weightless = _core.grow_tree(
        encoded.codes,
        n_classes=[len(classes) for classes in target.classes] if isinstance(target, ClassTarget) else [],
        n_outputs=target.n_outputs,
        classes=target.codes.ravel() if isinstance(target, ClassTarget) else None,
        reals=target.values.ravel() if isinstance(target, RegressionTarget) else None,
        weights=weights,
        rows=rows,
        multiplicity=None,
        key=key,
        n_threads=1
        if isinstance(settings.criterion, OwnCriterion)
        else n_threads,  # Python runs one thread at a time
        **vars(settings),
    )
    if warn_of_weightless:
        warn_of_weightless_rows(n_weightless)
    warn_of_refused_thread("the tree was grown")
    return tree


def warn_of_weightless_rows(n_rows: int) -> None:
    """Warn of rows whose positive weight is too small to count."""
    if n_rows:
        warn(
            f"{n_rows} row(s) have a positive weight so small relative to the total that they do not count.",
            WeightWarning,
        )


def warn_of_refused_thread(what_was_done: str) -> None:
    """Warn if the system has refused a thread since the last call."""
    if _core.thread_was_refused():
        warn(
            f"The system refused a thread; {what_was_done} with fewer. Raise the limit, or set n_jobs.",
            ThreadsWarning,
        )
