"""Bagging: 50 full trees on bootstrap samples, all features at every node, 50,000 x 20.

A random forest that may use all features is the same thing, so the peers' forests take part under that
setting: it is the fastest way to bagged trees that they offer.
"""

from __future__ import annotations

from typing import Any

from benchmarks import data
from benchmarks.harness import Case, Job, Setting, require
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator
from benchmarks.learners.forests import forest
from benchmarks.targets import score_near, times_faster_than

MEMBERS = 50


def _bagging(library: str, tree: str) -> Estimator:
    """``BaggingClassifier`` of a library over its own tree."""

    def parameters(setting: Setting) -> dict[str, Any]:
        return {
            "estimator": require(tree)(),
            "n_estimators": setting.tree_count(MEMBERS),
            "random_state": 0,
        }

    return Estimator(f"{library}.BaggingClassifier", parameters, also_needs=(tree,))


JOB = Job(
    name="bagging",
    title="Bagging of full trees, 50 members, 50k x 20",
    rows=50_000,
    quick_rows=5_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                fit_contestant(
                    "hornbeam", _bagging("hornbeam", "hornbeam.DecisionTreeClassifier"), ours=True
                ),
                fit_contestant(
                    "scikit-learn", _bagging("sklearn.ensemble", "sklearn.tree.DecisionTreeClassifier")
                ),
                fit_contestant(
                    "scikit-learn forest, all features",
                    forest("sklearn", "RandomForestClassifier", trees=MEMBERS, max_features=None),
                ),
                fit_contestant(
                    "sklearnex forest, all features",
                    forest("sklearnex", "RandomForestClassifier", trees=MEMBERS, max_features=None),
                    note="256 bins",
                ),
            ),
            score_name="test AUC",
            targets=(times_faster_than("scikit-learn", 10), score_near("scikit-learn", 0.005)),
        ),
    ),
)
