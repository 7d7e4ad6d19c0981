"""Stacking five members with five folds and a logistic regression on top, 20,000 x 20.

Our stacking reuses one encoding of the table over all folds and members. It meets scikit-learn's stacking
over the very same members (what the stacking itself is worth), over scikit-learn's members, and over the
fastest peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import data
from benchmarks.harness import Case, Job, Setting, require
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator
from benchmarks.targets import score_near, times_faster_than

Member = tuple[str, str, dict[str, Any]]

TREES = 50
OUR_MEMBERS: tuple[Member, ...] = (
    ("tree", "hornbeam.DecisionTreeClassifier", {"max_depth": 8, "n_jobs": 1}),
    ("forest", "hornbeam.RandomForestClassifier", {"n_estimators": TREES, "n_jobs": 1}),
    ("extra", "hornbeam.ExtraTreesClassifier", {"n_estimators": TREES, "n_jobs": 1}),
    ("boosting", "hornbeam.GradientBoostingClassifier", {"n_estimators": TREES, "n_jobs": 1}),
    ("neighbours", "hornbeam.KNeighborsClassifier", {"n_neighbors": 15, "n_jobs": 1}),
)
SKLEARN_MEMBERS: tuple[Member, ...] = (
    ("tree", "sklearn.tree.DecisionTreeClassifier", {"max_depth": 8}),
    ("forest", "sklearn.ensemble.RandomForestClassifier", {"n_estimators": TREES}),
    ("extra", "sklearn.ensemble.ExtraTreesClassifier", {"n_estimators": TREES}),
    (
        "boosting",
        "sklearn.ensemble.HistGradientBoostingClassifier",
        {"max_iter": TREES, "early_stopping": False},
    ),
    ("neighbours", "sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": 15}),
)
FASTEST_MEMBERS: tuple[Member, ...] = (
    ("tree", "sklearn.tree.DecisionTreeClassifier", {"max_depth": 8}),
    ("forest", "sklearnex.ensemble.RandomForestClassifier", {"n_estimators": TREES}),
    ("extra", "sklearnex.ensemble.ExtraTreesClassifier", {"n_estimators": TREES}),
    (
        "boosting",
        "lightgbm.LGBMClassifier",
        {"n_estimators": TREES, "min_child_samples": 20, "verbosity": -1},
    ),
    ("neighbours", "sklearnex.neighbors.KNeighborsClassifier", {"n_neighbors": 15, "algorithm": "brute"}),
)


def _made(members: Sequence[Member]) -> list[tuple[str, Any]]:
    return [(name, require(path)(**parameters)) for name, path, parameters in members]


def _final_estimator() -> Any:
    return require("sklearn.linear_model.LogisticRegression")(max_iter=1000)


def _ours() -> Estimator:
    def parameters(setting: Setting) -> dict[str, Any]:
        return {"levels": [_made(OUR_MEMBERS)], "final_estimator": _final_estimator(), "cv": 5}

    return Estimator("hornbeam.StackingClassifier", parameters, also_needs=_paths(OUR_MEMBERS))


def _sklearn_over(members: Sequence[Member]) -> Estimator:
    def parameters(setting: Setting) -> dict[str, Any]:
        return {"estimators": _made(members), "final_estimator": _final_estimator(), "cv": 5}

    # Members run one after the other, each on all threads it can use: faster here than forking five of them.
    return Estimator("sklearn.ensemble.StackingClassifier", parameters, jobs=None, also_needs=_paths(members))


def _paths(members: Sequence[Member]) -> tuple[str, ...]:
    return tuple(path for _, path, _ in members)


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
                score_near("scikit-learn", 0.005),
            ),
        ),
    ),
)
