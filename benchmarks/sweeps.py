"""What ``scaling.py`` varies, over which sizes, with which learners.

A :class:`Sweep` turns a size into a data set and into parameters; :func:`point` makes one measurable case of
it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator

LIBRARIES = ("hornbeam", "scikit-learn")


@dataclass(frozen=True)
class Method:
    """A method as both libraries name it, and what twice the rows may cost."""

    ours: str
    theirs: str
    trees: str | None
    their_trees: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    theirs_has_jobs: bool = True
    most_per_doubling: float = 2.3  # of the rows: n log n for trees that grow out

    def learner(self, library: str, trees: int) -> Estimator:
        if library == "hornbeam":
            count = {self.trees: trees} if self.trees else {}
            return Estimator(f"hornbeam.{self.ours}", {**self.parameters, **count})
        name = self.their_trees or self.trees
        count = {name: trees} if name else {}
        jobs = "n_jobs" if self.theirs_has_jobs else None
        return Estimator(f"sklearn.{self.theirs}", {**self.parameters, **count}, jobs=jobs)


METHODS = {
    "tree": Method("DecisionTreeClassifier", "tree.DecisionTreeClassifier", None, theirs_has_jobs=False),
    "forest": Method("RandomForestClassifier", "ensemble.RandomForestClassifier", "n_estimators"),
    "extra_trees": Method("ExtraTreesClassifier", "ensemble.ExtraTreesClassifier", "n_estimators"),
    "bagging": Method("BaggingClassifier", "ensemble.BaggingClassifier", "n_estimators"),
    "adaboost": Method(
        "AdaBoostClassifier", "ensemble.AdaBoostClassifier", "n_estimators", theirs_has_jobs=False
    ),
    "boosting": Method(
        "GradientBoostingClassifier",
        "ensemble.HistGradientBoostingClassifier",
        "n_estimators",
        "max_iter",
        {"early_stopping": False},
        theirs_has_jobs=False,
        most_per_doubling=2.05,
    ),
}
ENSEMBLES = ("forest", "extra_trees", "bagging", "adaboost", "boosting")


@dataclass(frozen=True)
class Sweep:
    """One quantity to vary: the data of a size, the trees of a method, and threads where they are varied."""

    name: str
    axis: str
    sizes: tuple[int, ...]
    quick_sizes: tuple[int, ...]
    methods: tuple[str, ...]
    table: Callable[[int, bool], Dataset]
    trees: Callable[[str, int], int] = lambda method, size: 10
    threads: Callable[[int], int] | None = None


def _rows(full: int, quick: bool) -> int:
    """Rows of the sweeps that vary something else."""
    return full // 10 if quick else full


SWEEPS = {
    sweep.name: sweep
    for sweep in (
        Sweep(
            "rows",
            "rows",
            sizes=(10_000, 20_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000),
            quick_sizes=(2_000, 4_000, 8_000, 16_000),
            methods=("tree", *ENSEMBLES),
            table=lambda size, quick: data.noisy(size),
        ),
        Sweep(
            "features",
            "features",
            sizes=(10, 20, 50, 100, 200, 500, 1_000, 2_000),
            quick_sizes=(10, 20, 50, 100),
            methods=("tree", *ENSEMBLES),
            table=lambda size, quick: data.wide(_rows(20_000, quick), features=size),
        ),
        Sweep(
            "trees",
            "trees",
            sizes=(10, 30, 100, 300, 1_000),
            quick_sizes=(10, 30, 100),
            methods=ENSEMBLES,
            table=lambda size, quick: data.noisy(_rows(20_000, quick)),
            trees=lambda method, size: size,
        ),
        Sweep(
            "classes",
            "classes",
            sizes=(2, 3, 5, 10, 20),
            quick_sizes=(2, 5, 10),
            methods=("tree", *ENSEMBLES),
            table=lambda size, quick: data.many_classes(_rows(50_000, quick), classes=size),
        ),
        Sweep(
            "threads",
            "threads",
            sizes=(1, 2),
            quick_sizes=(1, 2),
            methods=("forest", "extra_trees", "bagging", "boosting"),
            table=lambda size, quick: data.noisy(_rows(1_000_000, quick)),
            # Ten rounds of boosting would be a quarter binning; trees of a forest are all alike.
            trees=lambda method, size: 100 if method == "boosting" else 10,
            threads=lambda size: size,
        ),
        Sweep(
            "staircase",
            "rows (and levels of the tree)",
            sizes=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000),
            quick_sizes=(250, 500, 1_000, 2_000),
            methods=("tree",),
            table=lambda size, quick: data.staircase(size),
        ),
    )
}


def point(sweep: str, method: str, library: str, size: int, quick: bool) -> Case:
    """One point of a curve as a case with a single contestant."""
    chosen = SWEEPS[sweep]
    learner = METHODS[method].learner(library, chosen.trees(method, size))
    return Case(
        name=f"{sweep} {method}",
        data=lambda setting: chosen.table(size, quick),
        contestants=(fit_contestant(library, learner, ours=library == "hornbeam", score="test accuracy"),),
        score_name="test accuracy",
    )
