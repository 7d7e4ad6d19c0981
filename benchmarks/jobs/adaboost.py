"""AdaBoost: 100 stumps on 100,000 x 20.

scikit-learn's stump minimises gini; ours by default minimises the weighted error, as the algorithm says. Both
of ours take part. The target speaks of the default, so it comes first; the other, with scikit-learn's
criterion, stands beside it.
"""

from __future__ import annotations

from typing import Any

from benchmarks import data
from benchmarks.harness import Case, Job, Setting, require
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator, hornbeam
from benchmarks.targets import score_near, times_faster_than

STUMPS = 100
OUR_TREE = "hornbeam.DecisionTreeClassifier"


def _default(setting: Setting) -> dict[str, Any]:
    return {"n_estimators": setting.tree_count(STUMPS), "random_state": 0}


def _with_gini(setting: Setting) -> dict[str, Any]:
    return {**_default(setting), "estimator": require(OUR_TREE)(max_depth=1, criterion="gini")}


JOB = Job(
    name="adaboost",
    title="AdaBoost, 100 stumps, 100k x 20",
    rows=100_000,
    quick_rows=10_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                fit_contestant(
                    "hornbeam least error",
                    hornbeam("AdaBoostClassifier", _default),
                    ours=True,
                    note="our default",
                ),
                fit_contestant(
                    "hornbeam gini",
                    hornbeam("AdaBoostClassifier", _with_gini),
                    ours=True,
                    note="scikit-learn's criterion",
                ),
                fit_contestant(
                    "scikit-learn", Estimator("sklearn.ensemble.AdaBoostClassifier", _default, jobs=None)
                ),
            ),
            score_name="test AUC",
            targets=(times_faster_than("scikit-learn", 50), score_near("scikit-learn", 0.002)),
        ),
    ),
)
