"""The number that a criterion compares tests by, if that is not the impurity decrease.

From the cells of a candidate's branches, its gain and the number of tests of its feature, this makes further
columns of the table of candidates, and the order in which the criterion prefers them. The formulas are those
of the engine (docs/decisions/05), written for one test at a time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.recipes.own_criterion import OwnCriterion

__all__ = ["Measured", "Test", "best_of_features", "measure"]

FloatArray = npt.NDArray[np.float64]

# An unexplained share of the variance below this is noise.
LEAST_UNEXPLAINED = 2.0**-40


@dataclass(frozen=True, eq=False)
class Test:
    """One candidate: the cells of its branches, and its context.

    `left_out` is the weight of rows that lack the feature and do not count, `gain` the impurity decrease of
    those that count, per weight of the node. `n_tests` counts the tests that the best one was chosen from,
    which only some criteria need.
    """

    cells: FloatArray
    of_classes: bool
    gain: float
    left_out: float
    n_tests: Callable[[], float]

    @property
    def weights(self) -> FloatArray:
        """The weight of every branch."""
        weights: FloatArray = self.cells.sum(axis=1) if self.of_classes else self.cells[:, 0]
        return weights


@dataclass(frozen=True)
class Measured:
    """What a table shows of a test besides its gain, and the numbers that tests are compared by.

    `within` compares the tests of one feature, `between` the best tests of all features.
    """

    shown: Mapping[str, float]
    within: float
    between: float


def measure(criterion: str | OwnCriterion, test: Test) -> Measured:
    """Return the numbers that a criterion compares a test by."""
    if isinstance(criterion, OwnCriterion):
        n_elements = test.cells.shape[1] if test.of_classes else 3
        cells = np.ascontiguousarray(test.cells[None, :, :n_elements])
        score = float(criterion(cells)[0])
        return Measured({"own_score": score}, score, score)
    return _MEASURES.get(criterion, _by_gain)(test)


def best_of_features(
    criterion: str | OwnCriterion,
    features: Sequence[int],
    measured: Sequence[Measured],
    gains: Sequence[float],
) -> list[int]:
    """Return the best test of each feature, as positions, in the order in which the criterion takes them.

    Of equals the first comes first. Under gain_ratio, features that gain less than the mean of all are taken
    after the others.
    """
    best: dict[int, int] = {}
    for at, feature in enumerate(features):
        if feature not in best or _settled(measured[at].within) > _settled(measured[best[feature]].within):
            best[feature] = at
    found = list(best.values())
    mean = math.fsum(gains[at] for at in found) / max(len(found), 1)
    guarded = criterion == "gain_ratio"
    return sorted(
        found, key=lambda at: (guarded and gains[at] < mean - 1e-12, -_settled(measured[at].between))
    )


def _settled(number: float) -> float:
    """Round to fewer digits, so that values that differ only by the order of their sums are equal."""
    return float(f"{number:.11e}")


def _by_gain(test: Test) -> Measured:
    return Measured({}, test.gain, test.gain)


def _gain_ratio(test: Test) -> Measured:
    """Gain per bit of split information; rows that do not count form one more branch (Quinlan 1993)."""
    sizes = np.append(test.weights, test.left_out)
    shares = sizes[sizes > 0] / sizes.sum()
    information = float(-(shares * np.log2(shares)).sum())
    ratio = max(test.gain, 0.0) / information
    return Measured({"split_information": information, "gain_ratio": ratio}, test.gain, ratio)


def _chi2(test: Test) -> Measured:
    """Pearson's test on the table of branches by classes."""
    table = test.cells[:, test.cells.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    log_p = _core.chi2_log_sf(statistic, freedom) if freedom else 0.0
    return _significance(test, statistic, log_p)


def _f_test(test: Test) -> Measured:
    """The F test of equal means in all branches; weights are counts."""
    weight, total, squares = (float(test.cells[:, i].sum()) for i in range(3))
    spread = squares - total * total / weight
    between = len(test.cells) - 1
    within = weight - len(test.cells)
    explained = test.gain * (weight + test.left_out)
    if within <= 0 or spread <= 0:
        return _significance(test, 0.0, 0.0)
    unexplained = min(max(1 - explained / spread, LEAST_UNEXPLAINED), 1.0)
    statistic = (1 - unexplained) / unexplained * within / between
    return _significance(test, statistic, _core.f_log_sf(statistic, between, within))


def _significance(test: Test, statistic: float, log_p: float) -> Measured:
    adjusted = log_p + math.log(max(test.n_tests(), 1.0))
    shown = {"statistic": statistic, "tests": test.n_tests(), "p_value": math.exp(min(adjusted, 0.0))}
    return Measured(shown, statistic, -adjusted)


_MEASURES: dict[str, Callable[[Test], Measured]] = {
    "gain_ratio": _gain_ratio,
    "chi2": _chi2,
    "f_test": _f_test,
}
