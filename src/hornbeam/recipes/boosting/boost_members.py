"""Boosting that finds its own length: members side by side, each judged by rows it has not seen.

Every round adds a tree to each member. Member k grows on all rows but those of part k, so each row has a
member that has not seen it. The score of a round is that of all rows, each predicted by that member:
cross-validation while the trees grow. When it no longer rises, the rounds end. The trees up to the best round
then get new values from all rows (their tests stay), and the model is the mean of the members: the sum of all
their trees, with values divided by the number of members, which is a power of two, so that nothing is
rounded.

With one member, part 0 is set aside, and everything else is the same.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.model import EncodedRows, Ensemble
from hornbeam.recipes.boosting.boost import Boosting, BoostSettings, BoostTarget, RoundDraws, turns
from hornbeam.recipes.boosting.rounds import Watch

__all__ = ["Member", "MemberBoosting"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.uint32]

# Leaves are found for several trees at once, so that rows are read once for all of them. These limits on
# trees, and on rows times trees, bound the memory.
_TREES_AT_ONCE = 32
_LEAVES_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Member:
    """The rows that a member grows on, those it is judged by, what its rounds draw, how its trees grow."""

    grown_on: RowArray
    judged_by: RowArray
    draws: RoundDraws
    settings: BoostSettings


class MemberBoosting:
    """The members of a running boosting fit; `trees` has their trees, round by round, member after member."""

    def __init__(
        self,
        encoded: Encoded,
        target: BoostTarget,
        members: Sequence[Member],
        *,
        n_threads: int,
        shares_tests: bool = False,
    ) -> None:
        self.trees: list[_core.Tree] = []
        self.target = target
        self._encoded = encoded
        self._plans = members
        self._n_threads = n_threads
        self._shares_tests = shares_tests
        self.members = [self._begun(member) for member in members]

    def _begun(self, member: Member) -> Boosting:
        """Prepare the rounds of a member."""
        return Boosting(
            self._encoded,
            self.target,
            member.settings,
            member.draws,
            n_threads=self._n_threads,
            shares_tests=self._shares_tests,
        )

    @property
    def trees_per_round(self) -> int:
        """The number of trees that a round adds."""
        return len(self.members) * self.target.loss.n_scores

    @cached_property
    def judged_rows(self) -> RowArray:
        """The rows that a member has not seen, ascending."""
        return np.sort(np.concatenate([member.judged_by for member in self._plans]))

    def unseen_scores(self) -> FloatArray:
        """Return the scores of these rows, each by the member that has not seen it: rows x scores."""
        scores = np.empty((self._encoded.n_rows, self.target.loss.n_scores))
        for member, rows in zip(self.members, self._plans, strict=True):
            scores[rows.judged_by] = member.scores(rows.judged_by)
        return scores[self.judged_rows]

    def go_on_after(self, trees: Sequence[_core.Tree]) -> None:
        """Continue after rounds that another process has run: rows get the scores that they had then."""
        self.trees = list(trees)
        n_rounds = len(trees) // self.trees_per_round
        for number, member in enumerate(self.members):
            member.go_on_after([tree for trees in self._rounds_of(number, n_rounds) for tree in trees])
            member.trees = []  # which are kept here

    def run(self, rounds: range, watch: Watch) -> None:
        """Add trees to all members, round by round, until there are enough or a callback ends the fit."""
        for number in rounds:
            if watch.before_round(number):
                break
            for member in self.members:
                self.trees += member.add_round(number)
            if watch.after_round(number, self.trees):
                break

    def unseen_scores_after(self, n_rounds: int) -> FloatArray:
        """Return what `unseen_scores` was after the first rounds, for all rows; NaN for those not judged."""
        scores = np.full((self._encoded.n_rows, 1, self.target.loss.n_scores), np.nan)
        for number, member in enumerate(self._plans):
            trees = tuple(tree for trees in self._rounds_of(number, n_rounds) for tree in trees)
            scores[member.judged_by] = self._scores_by(number, trees, self.target.start[member.judged_by])
        return scores[:, 0, :]

    def _scores_by(self, number: int, trees: Sequence[_core.Tree], start: FloatArray) -> FloatArray:
        """Add the values of a member's trees to the scores of the rows it is judged by: rows x 1 x scores."""
        model = Ensemble(
            tuple(trees), self._encoded.schema, adds_to=turns(len(trees), self.target.loss.n_scores)
        )
        rows = EncodedRows(self._encoded.codes, self._plans[number].judged_by)
        onto = np.ascontiguousarray(start[:, np.newaxis, :])
        return model.total(rows, n_threads=self._n_threads, onto=onto)

    def refitted(self, n_rounds: int) -> list[_core.Tree]:
        """Give the trees of the first rounds values from all rows, divided by the number of members."""
        share = 1.0 / len(self.members)
        by_member = [
            list(self._refitted_member(number, n_rounds, share)) for number in range(len(self.members))
        ]
        return [
            tree for round_of_all in zip(*by_member, strict=True) for trees in round_of_all for tree in trees
        ]

    def _rounds_of(self, number: int, n_rounds: int) -> list[list[_core.Tree]]:
        """List the trees of a member, round by round."""
        n_scores, step = self.target.loss.n_scores, self.trees_per_round
        begins = range(number * n_scores, n_rounds * step, step)
        return [self.trees[begin : begin + n_scores] for begin in begins]

    def _refitted_member(self, number: int, n_rounds: int, share: float) -> Iterator[list[_core.Tree]]:
        member = self._plans[number]
        whole = Boosting(self._encoded, self.target, member.settings, member.draws, n_threads=self._n_threads)
        n_scores = self.target.loss.n_scores
        rounds = self._rounds_of(number, n_rounds)
        rows = EncodedRows(self._encoded.codes, self._encoded.all_rows())
        trees_at_once = min(_TREES_AT_ONCE, _LEAVES_AT_ONCE // rows.n_rows)
        n_walked = 1 if self._shares_tests else n_scores  # rows are in the same leaves of trees that share
        rounds_at_once = max(1, trees_at_once // n_walked)
        for first in range(0, n_rounds, rounds_at_once):
            some = rounds[first : first + rounds_at_once]
            trees = tuple(tree for trees in some for tree in trees[:n_walked])
            leaves = Ensemble(trees, self._encoded.schema).leaves(rows, n_threads=self._n_threads)
            for position, of_round in enumerate(some):
                columns = leaves[:, position * n_walked : (position + 1) * n_walked]
                of_all = np.broadcast_to(columns, (rows.n_rows, n_scores))
                yield whole.refit_round(of_round, of_all, share)
