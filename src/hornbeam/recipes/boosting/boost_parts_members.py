"""Boosting that finds its own length, on rows in several parts: the members of `boost_members.py`, same bits.

A member leaves rows out, which a round on parts can do anyway: its parts have all rows, and grow on some.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.recipes.boosting.boost import BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boosting.boost_members import Member, MemberBoosting
from hornbeam.recipes.boosting.boost_parts import PartsBoosting

__all__ = ["MemberPartsBoosting"]

FloatArray = npt.NDArray[np.float64]


class MemberPartsBoosting(MemberBoosting):
    """The members of a fit on parts at work; `begin` gets the parts of one of them ready."""

    def __init__(
        self,
        begin: Callable[[RoundDraws, BoostSettings], PartsBoosting],
        encoded: Encoded,
        target: BoostTarget,
        members: Sequence[Member],
        *,
        shares_tests: bool,
    ) -> None:
        self._begin = begin
        super().__init__(encoded, target, members, n_threads=1, shares_tests=shares_tests)

    def _begun(self, member: Member) -> Any:
        return self._begin(member.draws, member.settings)

    def _scores_by(self, number: int, trees: Sequence[_core.Tree], start: FloatArray) -> FloatArray:
        member: Any = self.members[number]
        found: FloatArray = member.scores_from(trees, self._plans[number].judged_by, start)
        return found[:, np.newaxis, :]

    def _refitted_member(self, number: int, n_rounds: int, share: float) -> Iterator[list[_core.Tree]]:
        whole = self._begun(self._plans[number])
        for trees in self._rounds_of(number, n_rounds):
            yield whole.refit_round(trees, share)
