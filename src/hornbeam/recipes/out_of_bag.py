"""Out-of-bag predictions: those of the members of a bag for the rows that their samples lack.

An `OutOfBag` is given, member by member, the rows that the member has not seen and its predictions for them.
It keeps sums and counts per row, never a table of rows x members, and after each member the error over all
rows predicted so far. Rows that a member has seen keep their error, so a step costs only as much as the
member's rows.
"""

import numpy as np
import numpy.typing as npt

from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.units import square_of_unit, unit_of
from hornbeam.pseudo_votes import PseudoVotes
from hornbeam.warnings import OutOfBagWarning, warn

__all__ = ["OutOfBag"]

FloatArray = npt.NDArray[np.float64]


class OutOfBag:
    """Sums of members' predictions for rows they have not seen.

    `curve[t]` is the error after t + 1 members, over the rows that some member has predicted: the share of
    wrong classes, or the mean squared error, averaged over the outputs.
    """

    def __init__(self, target: ClassTarget | RegressionTarget) -> None:
        self._target = target
        n_rows = len(target.codes if isinstance(target, ClassTarget) else target.values)
        n_values = max(map(len, target.classes)) if isinstance(target, ClassTarget) else 1
        self.sums = np.zeros((n_rows, target.n_outputs, n_values))
        self.counts = np.zeros(n_rows, dtype=np.int64)
        self.curve: list[float] = []
        self._unit = 1.0 if isinstance(target, ClassTarget) else unit_of(target.values)
        self._errors = np.zeros(n_rows)
        self._total_error = 0.0
        self._n_answered = 0

    def add(self, rows: npt.NDArray[np.uint32], values: FloatArray) -> None:
        """Add the next member's predictions for the rows it has not seen: rows x outputs x values."""
        self._n_answered += int(np.count_nonzero(self.counts[rows] == 0))
        self.sums[rows] += values if self._unit == 1.0 else values / self._unit
        self.counts[rows] += 1
        errors = self._errors_of(rows)
        self._total_error += float((errors - self._errors[rows]).sum())
        self._errors[rows] = errors
        mean = self._total_error / self._n_answered if self._n_answered else float("nan")
        self.curve.append(mean * square_of_unit(self._unit))

    def _errors_of(self, rows: npt.NDArray[np.uint32]) -> FloatArray:
        if isinstance(self._target, ClassTarget):
            wrong: FloatArray = (self.sums[rows].argmax(axis=2) != self._target.codes[rows]).mean(axis=1)
            return wrong
        means = self.sums[rows, :, 0] / self.counts[rows, np.newaxis]
        distances = means - self._target.values[rows] / self._unit
        squares: FloatArray = (distances**2).mean(axis=1)
        return squares

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """The rows that some member has predicted."""
        return self.counts > 0

    def answers(self, pseudo_votes: PseudoVotes | None = None) -> FloatArray:
        """Return the mean prediction per row, NaN where there is none: rows x outputs x values.

        `pseudo_votes` are added to those of the members.
        """
        counts = self.counts[:, np.newaxis, np.newaxis]
        if pseudo_votes is not None:
            shares = (self.sums + pseudo_votes.per_class) / (counts + pseudo_votes.number)
            return np.where(counts > 0, shares, np.nan)
        with np.errstate(invalid="ignore"):
            return self.sums / counts * self._unit

    def warn_of_unanswered_rows(self) -> None:
        """Warn, once, if rows were in the sample of every member."""
        n_unanswered = int(np.count_nonzero(~self.answered))
        if n_unanswered:
            warn(
                "Some inputs do not have OOB scores. This probably means too few estimators were used to "
                f"compute any reliable oob estimates: {n_unanswered} of {len(self.counts)} row(s) were in "
                "the sample of every member and are NaN. More members leave fewer such rows.",
                OutOfBagWarning,
            )
