"""Every split criterion of a single tree against gini, and against scikit-learn where it has the same.

Trees of depth 12 and trees that are grown out, most of whose nodes have a handful of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import AbsentError, Case, Contestant, Job, Setting
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator
from benchmarks.scores import Score
from benchmarks.targets import at_most_times_slower, at_most_times_slower_per_score


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
# Grown out by accuracy, a tree is a staircase of hundreds of levels with several times the leaves, for no
# other reason than its ties: it has a case of its own, where leaves are counted.
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


def _leaves_of(criterion: str) -> Contestant:
    name = f"hornbeam {criterion}"
    fitted = fit_contestant(name, OurTree("DecisionTreeClassifier", criterion, None), ours=True)
    return replace(fitted, score=lambda setting, model, data: float(model.get_n_leaves()))


def _accuracy_case(classes: int, words: str) -> Case:
    return Case(
        name=f"{words} classes, grown out by accuracy",
        data=lambda setting: data.rounded(setting.rows, classes=classes),
        contestants=(_leaves_of("accuracy"), _leaves_of("gini")),
        score_name="leaves",
        targets=(
            at_most_times_slower("hornbeam accuracy", "hornbeam gini", 1.5),
            at_most_times_slower_per_score("hornbeam accuracy", "hornbeam gini", 1.5, "leaf"),
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
        _accuracy_case(2, "two"),
        _accuracy_case(3, "three"),
    ),
    notes=(
        "Tests that leave the number of errors as it is are ties, and ties go to the lowest threshold: a "
        "tree grown out by accuracy cuts off one value after the other, and has about three times the leaves."
    ),
)
