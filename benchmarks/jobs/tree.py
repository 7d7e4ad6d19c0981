"""One exact decision tree on 100,000 x 8 rounded values, grown out and to depth 8, on one thread."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator, hornbeam
from benchmarks.targets import score_near, times_faster_than


def _case(name: str, max_depth: int | None) -> Case:
    parameters = {"max_depth": max_depth, "random_state": 0}
    ours = hornbeam("DecisionTreeClassifier", parameters)
    theirs = Estimator("sklearn.tree.DecisionTreeClassifier", parameters, jobs=None)
    return Case(
        name=name,
        data=lambda setting: data.rounded(setting.rows),
        contestants=(
            fit_contestant("hornbeam", ours, ours=True, score="test accuracy"),
            fit_contestant("scikit-learn", theirs, score="test accuracy"),
        ),
        score_name="test accuracy",
        targets=(times_faster_than("scikit-learn", 8), score_near("scikit-learn", 0.005)),
    )


JOB = Job(
    name="tree",
    title="One exact tree, 100k x 8 rounded values, one thread",
    rows=100_000,
    quick_rows=20_000,
    threads=1,
    cases=(_case("grown out", None), _case("depth 8", 8)),
)
