"""Stacking five members with five folds and a logistic regression on top, 20,000 x 20.

Our stacking reads and ranks the table once for all folds and members. It meets scikit-learn's stacking over
the very same members (what the stacking itself is worth), over scikit-learn's own members of the same kinds,
and over the fastest peers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import data
from benchmarks.harness import Case, Job, Setting, require
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator
from benchmarks.targets import score_near, times_faster_than

TREES = 50
ALL_THREADS = {"n_jobs": -1}  # of the process, which is confined to the threads of the setting


@dataclass(frozen=True)
class Member:
    """A member of the stack; ``trees`` is the parameter that takes the number of trees, if there is one."""

    name: str
    path: str
    trees: str | None
    parameters: Mapping[str, Any]

    def make(self, setting: Setting) -> Any:
        count = {self.trees: setting.tree_count(TREES)} if self.trees else {}
        return require(self.path)(**count, **self.parameters)


OUR_MEMBERS = (
    Member("tree", "hornbeam.DecisionTreeClassifier", None, {"max_depth": 8}),
    Member("forest", "hornbeam.RandomForestClassifier", "n_estimators", {}),
    Member("extra", "hornbeam.ExtraTreesClassifier", "n_estimators", {}),
    Member("boosting", "hornbeam.GradientBoostingClassifier", "n_estimators", {}),
    Member("neighbours", "hornbeam.KNeighborsClassifier", None, {"n_neighbors": 15}),
)
SKLEARN_MEMBERS = (
    Member("tree", "sklearn.tree.DecisionTreeClassifier", None, {"max_depth": 8}),
    Member("forest", "sklearn.ensemble.RandomForestClassifier", "n_estimators", ALL_THREADS),
    Member("extra", "sklearn.ensemble.ExtraTreesClassifier", "n_estimators", ALL_THREADS),
    Member(
        "boosting", "sklearn.ensemble.HistGradientBoostingClassifier", "max_iter", {"early_stopping": False}
    ),
    Member("neighbours", "sklearn.neighbors.KNeighborsClassifier", None, {"n_neighbors": 15, **ALL_THREADS}),
)
FASTEST_MEMBERS = (
    Member("tree", "sklearn.tree.DecisionTreeClassifier", None, {"max_depth": 8}),
    Member("forest", "sklearnex.ensemble.RandomForestClassifier", "n_estimators", ALL_THREADS),
    Member("extra", "sklearnex.ensemble.ExtraTreesClassifier", "n_estimators", ALL_THREADS),
    Member("boosting", "lightgbm.LGBMClassifier", "n_estimators", {"verbosity": -1, **ALL_THREADS}),
    Member(
        "neighbours",
        "sklearnex.neighbors.KNeighborsClassifier",
        None,
        {"n_neighbors": 15, "algorithm": "brute", **ALL_THREADS},
    ),
)


def _made(members: Sequence[Member], setting: Setting) -> list[tuple[str, Any]]:
    return [(member.name, member.make(setting)) for member in members]


def _final_estimator() -> Any:
    return require("sklearn.linear_model.LogisticRegression")(max_iter=1000)


def _ours() -> Estimator:
    def parameters(setting: Setting) -> dict[str, Any]:
        return {"levels": [_made(OUR_MEMBERS, setting)], "final_estimator": _final_estimator(), "cv": 5}

    return Estimator("hornbeam.StackingClassifier", parameters, also_needs=_paths(OUR_MEMBERS))


def _sklearn_over(members: Sequence[Member]) -> Estimator:
    def parameters(setting: Setting) -> dict[str, Any]:
        return {"estimators": _made(members, setting), "final_estimator": _final_estimator(), "cv": 5}

    # Members run one after the other, each on all threads it can use: faster here than forking five of them.
    return Estimator("sklearn.ensemble.StackingClassifier", parameters, jobs=None, also_needs=_paths(members))


def _paths(members: Sequence[Member]) -> tuple[str, ...]:
    return tuple(member.path for member in members)


JOB = Job(
    name="stacking",
    title="Stacking, five members, five folds, 20k x 20",
    rows=20_000,
    quick_rows=2_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                fit_contestant("hornbeam", _ours(), ours=True),
                fit_contestant("scikit-learn over hornbeam's members", _sklearn_over(OUR_MEMBERS)),
                fit_contestant("scikit-learn", _sklearn_over(SKLEARN_MEMBERS)),
                fit_contestant("scikit-learn over sklearnex and LightGBM", _sklearn_over(FASTEST_MEMBERS)),
            ),
            score_name="test AUC",
            targets=(
                times_faster_than("scikit-learn over hornbeam's members", 3),
                times_faster_than("scikit-learn", 3),
                score_near("scikit-learn", 0.005),
            ),
        ),
    ),
)
