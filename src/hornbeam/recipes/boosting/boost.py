"""Gradient boosting: round by round, trees that lower the loss of the scores so far.

Takes an encoded table, targets and settings; makes trees, `n_scores` of them per round, whose values are
steps of the score, learning rate included. The loop is `Boosting.run`; early stopping, callbacks and progress
reports are in `rounds.py`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Schema
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.units import square_of_unit
from hornbeam.model import EncodedRows, Ensemble, tree_from_arrays, tree_to_arrays
from hornbeam.recipes.bag import BagPlan, MemberFeatures
from hornbeam.recipes.boosting.losses import Loss, OwnLoss
from hornbeam.recipes.boosting.mapped_rows import MappedRows
from hornbeam.recipes.boosting.own_steps import counted_weights, shortened, weighted_derivatives
from hornbeam.recipes.boosting.rounds import Watch
from hornbeam.recipes.single import warn_of_refused_thread, warn_of_weightless_rows

__all__ = [
    "BoostSettings",
    "BoostTarget",
    "Boosting",
    "RoundDraws",
    "core_name",
    "in_units_of_y",
    "refuse_runaway_scores",
    "turns",
]

FloatArray = npt.NDArray[np.float64]

# Derivatives have 31 bits relative to the largest one: a row with less weight is rounded to 0.
_LEAST_WEIGHT = 2.0**-31
# Targets and weights go into the core as float32; beyond these exponents they are scaled first.
_USUAL_TARGETS = 60
_USUAL_WEIGHTS = 30
_SMALLEST_UNIT = 2.0**-900  # in smaller units, numbers of 53 bits are rounded


@dataclass(frozen=True)
class BoostSettings:
    """How the trees of a boosting fit grow, in the core's terms; 0 means no limit."""

    learning_rate: float
    growth: Literal["best_first", "level"]
    symmetric: bool  # one test for all nodes of a level, whatever `growth` says
    max_depth: int
    max_leaf_nodes: int
    min_samples_leaf: int
    min_hessian_leaf: float
    l1_regularization: float
    l2_regularization: float
    min_split_gain: float
    max_features: int
    monotonic: tuple[int, ...]
    interactions: tuple[tuple[int, ...], ...]
    categorical_smoothing: float
    categorical_split: Literal["subset", "one_vs_rest"]

    def in_units(self, unit: float) -> "BoostSettings":
        """Return the same settings for targets that are counted in units of `unit`."""
        return replace(
            self,
            l1_regularization=self.l1_regularization / unit,
            min_split_gain=self.min_split_gain / unit / unit,
        )


@dataclass(frozen=True, eq=False)
class RoundDraws:
    """What each round draws: some of the rows, and features for its trees."""

    rows: BagPlan
    features: MemberFeatures
    n_features: int

    @property
    def key(self) -> int:
        """The key that all draws follow from."""
        return self.rows.key

    def rows_of(self, number: int) -> npt.NDArray[np.uint32] | None:
        """List the rows of a round in ascending order; None for all."""
        if not self.rows.leaves_rows_out:
            return self.rows.rows
        return np.flatnonzero(self.rows.times(number)).astype(np.uint32)

    def features_of(self, number: int) -> npt.NDArray[np.int8] | None:
        """Mark the features of a round; None for all."""
        if not self.features.n_wanted:
            return None
        drawn = np.zeros(self.n_features, dtype=np.int8)
        drawn[self.features.of(self.rows, number, self.n_features)] = 1
        return drawn


@dataclass(frozen=True, eq=False)
class BoostTarget:
    """Targets of a boosting fit, and the scores that it starts from.

    The score of a row is `unit` times the score in the core, plus `shift`. For losses of differences, the
    constant and the offset are subtracted from the targets, so that float32 keeps all of their digits.
    """

    loss: Loss
    given: ClassTarget | RegressionTarget
    weights: FloatArray | None
    baseline: FloatArray
    offset: FloatArray | None
    unit: float = 1.0

    @classmethod
    def of(
        cls,
        loss: Loss,
        given: ClassTarget | RegressionTarget,
        weights: FloatArray | None,
        offset: FloatArray | None,
        baseline: FloatArray | None = None,
    ) -> "BoostTarget":
        """Find the constant that scores start from, unless there is one already, and the unit."""
        y = given.numbers()
        loss.check_offset(offset)
        largest = max(np.abs(y).max(), 0.0 if offset is None else np.abs(offset).max())
        unit = _power_of_two(largest, _USUAL_TARGETS) if loss.is_of_differences else 1.0
        if baseline is None:
            scaled = None if offset is None else offset / unit
            baseline = loss.baseline(y if unit == 1.0 else y / unit, weights, scaled) * unit
        return cls(loss, given, weights, baseline, offset, unit)

    def refuse_rounding(self) -> None:
        """Raise if the values of trees lose digits in the units of y, so that scores are not sums of them."""
        if self.unit < _SMALLEST_UNIT:
            raise ValueError(
                f"y is too small for a checkpoint: its largest number is {np.abs(self.y).max():.3g}, so the "
                "values of the trees lack the digits to continue exactly. Count in other units, or "
                "leave checkpoint out."
            )

    @property
    def y(self) -> FloatArray:
        """The targets as losses take them: numbers, or the codes of classes. Not stored, to save memory."""
        return self.given.numbers()

    @property
    def start(self) -> FloatArray:
        """The scores before the first round: rows x scores."""
        constant: FloatArray = np.broadcast_to(self.baseline, (self.given.n_rows, len(self.baseline)))
        return constant if self.offset is None else constant + self.offset

    @property
    def shift(self) -> FloatArray | float:
        """The part of the scores that the core does not have."""
        return self.start if self.loss.is_of_differences else 0.0

    def core_y(self) -> npt.NDArray[np.float32]:
        """Return the targets as the core takes them; zeros for a user-defined loss, which has its own."""
        if isinstance(self.loss, OwnLoss):
            return np.zeros(self.given.n_rows, dtype=np.float32)
        if not self.loss.is_of_differences:
            return self.y.astype(np.float32)
        return (self.y / self.unit - self.start[:, 0] / self.unit).astype(np.float32)

    def core_weights(self) -> npt.NDArray[np.float32] | None:
        """Return the weights as the core takes them; one warning if some are too small to count."""
        if self.weights is None:
            return None
        largest = self.weights.max()
        warn_of_weightless_rows(int(np.count_nonzero(self.weights < _LEAST_WEIGHT * largest)))
        return (self.weights / _power_of_two(largest, _USUAL_WEIGHTS)).astype(np.float32)


def _power_of_two(largest: float, usual: int) -> float:
    """Return 1, or if the exponent of `largest` is beyond the usual ones the power of two just above it."""
    exponent = int(np.frexp(largest)[1])
    return 1.0 if largest == 0 or abs(exponent) <= usual else float(np.ldexp(1.0, min(exponent, 1023)))


class Boosting:
    """A running boosting fit: the trees so far, and the scores of the fit's rows."""

    def __init__(
        self,
        encoded: Encoded,
        target: BoostTarget,
        settings: BoostSettings,
        draws: RoundDraws,
        *,
        n_threads: int,
        former: Sequence[_core.Tree] = (),
        shares_tests: bool = False,
    ) -> None:
        self.trees = list(former)
        self._shares_tests = shares_tests and target.loss.n_scores > 1
        self.target = target
        self._encoded = encoded
        self._draws = draws
        self._settings = settings
        self._n_threads = n_threads
        self._weights = target.core_weights()
        if encoded.scratch is None:
            rows: dict[str, Any] = {"y": target.core_y(), "weights": self._weights}
        else:
            rows = rows_in_file(encoded.scratch, target, self._weights)
            self._weights = rows["weights"]
        self._booster = _core.Booster(
            encoded.codes,
            **rows,
            n_scores=target.loss.n_scores,
            loss=core_name(target.loss),
            loss_parameter=target.loss.parameter,
            n_threads=n_threads,
            **asdict(settings.in_units(target.unit)),
        )
        self._start_scores()

    def run(self, rounds: range, watch: Watch) -> None:
        """Add trees, round by round, until there are enough or the watch stops the fit."""
        for number in rounds:
            if watch.before_round(number):
                break
            self.trees += self.add_round(number)
            if watch.after_round(number, self.trees):
                break
        warn_of_refused_thread("the trees were grown")

    def go_on_after(self, trees: Sequence[_core.Tree]) -> None:
        """Continue after rounds that another process has run: rows get the scores that they had then."""
        self.trees = list(trees)
        self._start_scores()

    def add_round(self, number: int) -> list[_core.Tree]:
        """Grow the trees of a round and add them to the scores; they are returned, not kept."""
        self._find_derivatives()
        return self._grow(number)

    def refit_round(
        self, trees: Sequence[_core.Tree], leaves: npt.NDArray[np.int32], share: float
    ) -> list[_core.Tree]:
        """Recompute the values of a round's trees from all rows, which are in `leaves`, times `share`."""
        self._find_derivatives()
        before = self._scores_to_come_back_to()
        refitted = [
            self._booster.refit(tree, np.ascontiguousarray(leaves[:, score]), score, share)
            for score, tree in enumerate(trees)
        ]
        if before is not None:
            refitted = self._shortened(refitted, leaves, before, rows=None)
        return self._checked(refitted, gains_are_new=False)

    def _find_derivatives(self) -> None:
        loss = self.target.loss
        if not isinstance(loss, OwnLoss):
            self._booster.compute_derivatives()
            if loss.is_steep and not np.isfinite(self._booster.gradients()).all():
                refuse_runaway_scores()
            return
        derivatives = weighted_derivatives(loss, self.target.y, self.scores(), self._weights)
        if not all(np.isfinite(own).all() for own in derivatives):
            refuse_runaway_scores()
        self._booster.gradients()[:], self._booster.hessians()[:] = derivatives

    def _grow(self, number: int) -> list[_core.Tree]:
        """Grow the trees of a round on the same rows and features, one per score or one with shared tests."""
        rows, features = self._draws.rows_of(number), self._draws.features_of(number)
        n_scores = self.target.loss.n_scores
        keys = _core.member_keys(self._draws.key, number * n_scores, n_scores)
        before = self._scores_to_come_back_to()
        trees = self._booster.grow(rows, features, keys, self._shares_tests)
        if before is not None:
            all_rows = EncodedRows(self._encoded.codes, self._encoded.all_rows())
            leaves = Ensemble(tuple(trees), self._encoded.schema).leaves(all_rows, n_threads=self._n_threads)
            trees = self._shortened(trees, leaves, before, rows)
        return self._checked(trees)

    def _scores_to_come_back_to(self) -> FloatArray | None:
        """Copy the scores before a round of a user-defined loss, since its steps may turn out too long."""
        return self._booster.scores().T.copy() if isinstance(self.target.loss, OwnLoss) else None

    def _shortened(
        self,
        trees: list[_core.Tree],
        leaves: npt.NDArray[np.int32],
        before: FloatArray,
        rows: npt.NDArray[np.uint32] | None,
    ) -> list[_core.Tree]:
        """Shorten steps that go more than twice as far as the minimum, in trees and scores."""
        loss, scores = self.target.loss, self._booster.scores()
        assert isinstance(loss, OwnLoss)
        trees, after = shortened(
            trees,
            loss,
            self.target.y,
            before=before,
            after=scores.T,
            slopes=self._booster.gradients().T.astype(np.float64),
            leaves=leaves,
            weights=counted_weights(len(before), rows, self._weights),
            learning_rate=self._settings.learning_rate,
            is_monotonic=bool(self._settings.monotonic),
            schema=self._encoded.schema,
        )
        scores[:] = after.T
        return trees

    def _checked(self, trees: list[_core.Tree], *, gains_are_new: bool = True) -> list[_core.Tree]:
        """Convert trees of the core to units of the target; raise if values are not finite."""
        if not all(np.isfinite(tree.value).all() for tree in trees):
            refuse_runaway_scores()
        unit = self.target.unit
        if unit == 1.0:
            return trees
        unit_of_gain = square_of_unit(unit) if gains_are_new else 1.0
        return [in_units_of_y(tree, unit, unit_of_gain, self._encoded.schema) for tree in trees]

    def scores(self, rows: slice | npt.NDArray[np.uint32] = slice(None)) -> FloatArray:
        """Return the scores of rows of the fit: rows x scores."""
        shift = self.target.shift
        counted = self._booster.scores().T[rows] * self.target.unit
        return counted + (shift if isinstance(shift, float) else shift[rows])

    def _start_scores(self) -> None:
        """Give every row its score before the next round; in place, since there may be many classes."""
        target, scores = self.target, self._booster.scores()
        if self.trees:
            scores[:] = self._scores_of_former().T
        elif target.loss.is_of_differences:
            scores[:] = 0.0
        else:
            np.divide(target.start.T, target.unit, out=scores)

    def _scores_of_former(self) -> FloatArray:
        """Compute every row's score from the trees of an earlier fit, added in the same order as then."""
        target = self.target
        start = np.array(target.start, order="C")
        if target.loss.is_of_differences:
            start[:] = 0.0
        model = Ensemble(
            tuple(self.trees), self._encoded.schema, adds_to=turns(len(self.trees), target.loss.n_scores)
        )
        rows = EncodedRows(self._encoded.codes, self._encoded.all_rows())
        model.total(rows, n_threads=self._n_threads, onto=start[:, np.newaxis, :])
        return start / target.unit


def rows_in_file(
    folder: Path, target: BoostTarget, weights: npt.NDArray[np.float32] | None
) -> dict[str, Any]:
    """Return the core's arguments where memory is short: space in a file, with the targets and weights in it.

    Derivatives are recomputed where the core can do that; targets of two classes stay bytes.
    """
    loss, n_rows = target.loss, target.given.n_rows
    keeps = loss.n_scores > 1 or loss.is_steep or isinstance(loss, OwnLoss)
    y_codes = None
    if isinstance(target.given, ClassTarget) and not (keeps or loss.is_of_differences):
        y_codes = np.ascontiguousarray(target.given.codes[:, 0], dtype=np.uint8)
    y = target.core_y() if y_codes is None else np.empty(0, np.float32)
    n_bytes = _core.Booster.row_buffer_bytes(n_rows, loss.n_scores, keeps)
    mapped = MappedRows(folder, n_bytes + MappedRows.bytes_for(y, weights))
    return {
        "row_memory": mapped.take(n_bytes),
        "keeps_derivatives": keeps,
        "y": mapped.copy(y),
        "y_codes": y_codes,
        "weights": None if weights is None else mapped.copy(weights),
    }


def in_units_of_y(tree: _core.Tree, unit: float, unit_of_gain: float, schema: Schema) -> _core.Tree:
    """Convert a tree of the core, whose targets are multiples of `unit`, to the target's own units."""
    arrays = tree_to_arrays(tree)
    with np.errstate(over="ignore"):  # gains are squares
        arrays["value"] = arrays["value"] * unit
        arrays["gain"] = arrays["gain"] * unit_of_gain
    if not np.isfinite(arrays["value"]).all():
        refuse_runaway_scores()
    return tree_from_arrays(arrays, schema)


def refuse_runaway_scores() -> NoReturn:
    """Raise because scores are not finite any more."""
    raise ValueError(
        "The scores or their derivatives have left the range of floating-point numbers. Rescale y, give "
        "smaller offsets, lower learning_rate, or raise l2_regularization or min_hessian_leaf."
    )


def turns(n_trees: int, n_scores: int) -> npt.NDArray[np.int32] | None:
    """Return the score that each tree adds to; None if there is only one."""
    return None if n_scores == 1 else (np.arange(n_trees) % n_scores).astype(np.int32)


def core_name(loss: Loss) -> str:
    """Return the core's name of a loss; one of the user's own, which the core does not know, has none."""
    if isinstance(loss, OwnLoss):
        return ""
    return "squared_error" if loss.name == "only_class" else loss.name
