"""What each column contributes to a weighted median of trees, computed exactly over all sets of columns.

A median is not a sum, so contributions to single trees do not add up to contributions to the model, and the
algorithms of `cpp/explain` do not apply. What is left is the definition: the median is computed for every set
of known columns. These are 2 to the power of the number of tested columns, of which there may therefore be
`MOST_COLUMNS` at most. A column from which the model made several, such as a date, counts once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Column, Table
from hornbeam.inside.routes import branches_at, is_missing
from hornbeam.model import Ensemble
from hornbeam.recipes.adaboost import weighted_median
from hornbeam.sums import row_sums

__all__ = ["MOST_COLUMNS", "TreeMedian", "median_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# 16,384 sets of columns; each further column takes twice as long.
MOST_COLUMNS = 14

# How many numbers, of trees or of rows, are processed at a time.
_AT_ONCE = 1 << 21


def median_of(model: Ensemble, weights: FloatArray, table: Table, *, n_threads: int) -> FloatArray:
    """Return the weighted median of the trees' answers for each row."""
    leaves = model.leaves(table, n_threads=n_threads)
    said = [tree.value[:, 0, 0][leaves[:, number]] for number, tree in enumerate(model.trees)]
    return weighted_median(np.stack(said, axis=1), weights)


@dataclass(frozen=True, eq=False)
class TreeMedian:
    """The median of some trees; `player_of` numbers the user's columns that the tested features come from."""

    model: Ensemble
    weights: FloatArray
    player_of: Mapping[int, int]
    players: IntArray  # the user's columns

    @classmethod
    def of(
        cls,
        model: Ensemble,
        weights: FloatArray,
        columns_of_user: npt.NDArray[np.int32] | None,
        *,
        estimator_name: str,
    ) -> "TreeMedian":
        """Find the columns that the trees ask for; raise if they are too many."""
        tested = sorted(model.features_tested)
        of_user = np.array(tested if columns_of_user is None else columns_of_user[tested], dtype=np.int64)
        players = np.unique(of_user)
        if len(players) > MOST_COLUMNS:
            raise ValueError(
                f"The answer of {estimator_name} is the median of its members: no sum, so that contributions "
                f"take all sets of the columns that its trees ask for. These are {len(players)} columns, and "
                f"{MOST_COLUMNS} are the most. effect, importance('permutation'), counterfactual and rules "
                "do answer; so does a member, such as estimators_[0].contributions(X)."
            )
        numbers = np.searchsorted(players, of_user).tolist()
        return cls(model, weights, dict(zip(tested, numbers, strict=True)), players)

    def parts(
        self, table: Table, background: Table | None, *, pairs: bool, n_columns: int, n_threads: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the parts, rows x columns (x columns) x 1, and the base, rows x 1."""
        n_sets = 1 << len(self.players)
        worth = np.empty((table.n_rows, n_sets))
        if background is None:
            self._refuse_stand_ins(table)
            step = max(1, _AT_ONCE // (n_sets * len(self.model.trees)))
            for begin in range(0, len(worth), step):
                worth[begin : begin + step] = self._along_the_paths(
                    table.take(np.arange(begin, min(begin + step, len(worth))))
                )
        else:
            for row in range(len(worth)):
                worth[row] = self._against(table.take(np.array([row])), background, n_threads)
        players = self.players
        if pairs:
            parts = np.zeros((len(worth), n_columns, n_columns, 1))
            parts[:, players[:, np.newaxis], players, 0] = _pairs(worth)
        else:
            parts = np.zeros((len(worth), n_columns, 1))
            parts[:, players, 0] = _singles(worth)
        return parts, worth[:, :1].copy()

    # --- What the model says of a row of which some columns are known -------------------------------------

    def _refuse_stand_ins(self, table: Table) -> None:
        trees = self.model.trees
        if all(tree.gaps == "branch" and not len(tree.surrogate_begin) for tree in trees):
            return
        for feature in self.player_of:
            if is_missing(self.model, feature, table.columns[feature].dense()).any():
                raise ValueError(
                    "Along the paths, contributions to a median take no missing values where other columns "
                    "stand in for them or rows are divided; give a background: "
                    "contributions(X, background=...)."
                )

    def _along_the_paths(self, table: Table) -> FloatArray:
        """Return the median for every set of known columns, at others by shares of the fit: rows x sets."""
        n_sets, n_rows = 1 << len(self.players), table.n_rows
        sets = np.arange(n_sets)
        said = np.empty((n_rows, n_sets, len(self.model.trees)))
        for number, tree in enumerate(self.model.trees):
            # A tree is computed for sets of its own columns only; every set of columns contains one of these.
            own = sorted(
                {self.player_of[feature] for feature in tree.feature[tree.first_child >= 0].tolist()}
            )
            inside = np.zeros(n_sets, dtype=np.int64)
            for place, player in enumerate(own):
                inside |= (sets >> player & 1) << place
            said[:, :, number] = self._means(tree, table, own)[:, inside]
        return weighted_median(said.reshape(n_rows * n_sets, -1), self.weights).reshape(n_rows, n_sets)

    def _means(self, tree: _core.Tree, table: Table, own: list[int]) -> FloatArray:
        """Return what a tree says on average of each row for every set of its `own` columns: rows x sets."""
        sets = np.arange(1 << len(own))
        total = np.zeros((table.n_rows, len(sets)))
        waiting: list[tuple[int, FloatArray]] = [(0, np.ones(total.shape))]
        while waiting:
            node, share = waiting.pop()
            first, n_branches = int(tree.first_child[node]), int(tree.n_branches[node])
            if first < 0:
                total += share * tree.value[node, 0, 0]
                continue
            weights = tree.weighted_n_node_samples[first : first + n_branches]
            shares = weights / weights.sum() if weights.sum() > 0 else np.full(n_branches, 1 / n_branches)
            feature = int(tree.feature[node])
            taken = branches_at(self.model, tree, node, table.columns[feature].dense())
            is_known = (sets >> own.index(self.player_of[feature]) & 1).astype(np.bool_)
            for branch in range(n_branches):
                of_row = (taken == branch)[:, np.newaxis]
                child = share * np.where(is_known, of_row, shares[branch])
                if child.any():
                    waiting.append((first + branch, child))
        return total

    def _against(self, row: Table, background: Table, n_threads: int) -> FloatArray:
        """Return the mean median over a background, for every set of columns that are the row's own."""
        n_sets, n_others = 1 << len(self.players), background.n_rows
        worth = np.empty(n_sets)
        step = max(1, _AT_ONCE // (n_others * len(self.model.trees)))
        for begin in range(0, n_sets, step):
            sets = np.arange(begin, min(begin + step, n_sets))
            columns: list[Column] = []
            for feature, (own, others) in enumerate(zip(row.columns, background.columns, strict=True)):
                mixed: Any = np.broadcast_to(np.float64(0), len(sets) * n_others)  # no tree asks for it
                if feature in self.player_of:
                    is_known = (sets >> self.player_of[feature] & 1).astype(np.bool_)
                    mixed = np.where(is_known[:, np.newaxis], own.dense(), others.dense()).ravel()
                columns.append(replace(own, values=mixed))
            table = Table(len(sets) * n_others, tuple(columns), row.feature_names)
            said = median_of(self.model, self.weights, table, n_threads=n_threads)
            worth[sets] = said.reshape(len(sets), n_others).mean(axis=1)
        return worth


# --- Shapley values -----------------------------------------------------------------------------------------


def _sizes(n: int) -> IntArray:
    """Count the columns in every set of `n`."""
    sizes = np.zeros(1, dtype=np.int64)
    for _ in range(n):
        sizes = np.r_[sizes, sizes + 1]
    return sizes


def _singles(worth: FloatArray) -> FloatArray:
    """Average what a column adds over all orders: rows x columns."""
    n = (worth.shape[1] - 1).bit_length()
    weights = np.array([factorial(s) * factorial(n - s - 1) / factorial(n) for s in range(n)])
    parts = np.empty((len(worth), n))
    for i in range(n):
        halves = worth.reshape(len(worth), 1 << (n - 1 - i), 2, 1 << i)
        added = (halves[:, :, 1] - halves[:, :, 0]).reshape(len(worth), -1)
        parts[:, i] = row_sums(added * weights[_sizes(n - 1)])
    return parts


def _pairs(worth: FloatArray) -> FloatArray:
    """Halve what two columns do only together between their orders; on the diagonal is what is left."""
    n = (worth.shape[1] - 1).bit_length()
    pairs = np.zeros((len(worth), n, n))
    weights = np.array(
        [factorial(s) * factorial(n - s - 2) / (2 * factorial(n - 1)) for s in range(max(n - 1, 0))]
    )
    for j in range(n):
        for i in range(j):
            cube = worth.reshape(len(worth), 1 << (n - 1 - j), 2, 1 << (j - 1 - i), 2, 1 << i)
            both = cube[:, :, 1, :, 1] - cube[:, :, 1, :, 0] - cube[:, :, 0, :, 1] + cube[:, :, 0, :, 0]
            pairs[:, i, j] = pairs[:, j, i] = row_sums(both.reshape(len(worth), -1) * weights[_sizes(n - 2)])
    pairs[:, range(n), range(n)] = _singles(worth) - pairs.sum(axis=2)
    return pairs
