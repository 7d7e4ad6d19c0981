"""Every split criterion of a single tree against gini, and against scikit-learn where it has the same.

Trees of depth 12 and trees that are grown out, most of whose nodes have a handful of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import AbsentError, Case, Contestant, Job, Setting
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator
from benchmarks.scores import Score
from benchmarks.targets import at_most_times_slower


class OurTree(Estimator):
    """Our tree under one criterion; one that it refuses by name is not built yet, which is no failure."""

    def __init__(self, kind: str, criterion: str, depth: int | None) -> None:
        super().__init__(f"hornbeam.{kind}", _parameters(criterion, depth))
        self.criterion = criterion

    def fit(self, data: Dataset, setting: Setting) -> Any:
        try:
            return super().fit(data, setting)
        except ValueError as error:
            if "criterion" in str(error) and self.criterion in str(error):
                raise AbsentError("not built yet") from error
            raise


def _parameters(criterion: str, depth: int | None) -> dict[str, object]:
    return {"criterion": criterion, "max_depth": depth, "random_state": 0}


CLASS_CRITERIA = ("gini", "entropy", "gain_ratio", "chi2", "accuracy")
# Grown out by accuracy, a tree is a staircase of thousands of levels, for no other reason than its ties.
GROWN_OUT = CLASS_CRITERIA[:-1]
REAL_CRITERIA = ("squared_error", "poisson", "f_test")


def _contestants(
    kind: str, ours: tuple[str, ...], theirs: tuple[str, ...], score: Score, depth: int | None
) -> tuple[Contestant, ...]:
    mine = [
        fit_contestant(f"hornbeam {criterion}", OurTree(kind, criterion, depth), ours=True, score=score)
        for criterion in ours
    ]
    peers = [
        fit_contestant(
            f"scikit-learn {criterion}",
            Estimator(f"sklearn.tree.{kind}", _parameters(criterion, depth), jobs=None),
            score=score,
        )
        for criterion in theirs
    ]
    return (*mine, *peers)


def _case(
    name: str, kind: str, table: Callable[[Setting], Dataset], ours: tuple[str, ...], theirs: tuple[str, ...],
    score: Score, depth: int | None = 12,
) -> Case:  # fmt: skip
    reference, *others = ours
    return Case(
        name=name,
        data=table,
        contestants=_contestants(kind, ours, theirs, score, depth),
        score_name=score,
        targets=tuple(
            at_most_times_slower(f"hornbeam {other}", f"hornbeam {reference}", 1.5) for other in others
        ),
    )


JOB = Job(
    name="tree_criteria",
    title="Criteria of a single tree, of depth 12 and grown out, 100k rows, one thread",
    rows=100_000,
    quick_rows=20_000,
    threads=1,
    cases=(
        _case(
            "two classes",
            "DecisionTreeClassifier",
            lambda setting: data.rounded(setting.rows, classes=2),
            ours=CLASS_CRITERIA,
            theirs=("gini", "entropy"),
            score="test accuracy",
        ),
        _case(
            "two classes, grown out",
            "DecisionTreeClassifier",
            lambda setting: data.rounded(setting.rows, classes=2),
            ours=GROWN_OUT,
            theirs=("gini", "entropy"),
            score="test accuracy",
            depth=None,
        ),
        _case(
            "three classes",
            "DecisionTreeClassifier",
            lambda setting: data.rounded(setting.rows, classes=3),
            ours=CLASS_CRITERIA,
            theirs=("gini", "entropy"),
            score="test accuracy",
        ),
        _case(
            "three classes, grown out",
            "DecisionTreeClassifier",
            lambda setting: data.rounded(setting.rows, classes=3),
            ours=GROWN_OUT,
            theirs=("gini", "entropy"),
            score="test accuracy",
            depth=None,
        ),
        _case(
            "regression",
            "DecisionTreeRegressor",
            lambda setting: data.noisy_regression(setting.rows, features=8),
            ours=REAL_CRITERIA,
            theirs=("squared_error", "poisson"),
            score="test R2",
        ),
        _case(
            "regression, grown out",
            "DecisionTreeRegressor",
            lambda setting: data.noisy_regression(setting.rows, features=8),
            ours=REAL_CRITERIA,
            theirs=("squared_error", "poisson"),
            score="test R2",
            depth=None,
        ),
    ),
)
