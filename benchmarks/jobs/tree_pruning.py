"""Growing one tree out to more than 10,000 leaves against pruning it, each way; on one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Contestant, Job
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator, hornbeam
from benchmarks.scores import score_predictions
from benchmarks.targets import at_most_times_slower

GROWN: Estimator = hornbeam("DecisionTreeClassifier", {"random_state": 0})


def _prune(name: str, prune: Callable[[Any, Dataset], Any]) -> Contestant:
    """Times the pruning of a tree that was grown beforehand; the test part is what it is judged by."""
    return Contestant(
        name=name,
        needs=GROWN.needs,
        prepare=GROWN.fit,
        run=prune,
        score=lambda grown, pruned, data: score_predictions(
            data, GROWN.predict(pruned, data.X_test), "test accuracy"
        ),
        ours=True,
    )


PRUNINGS = (
    _prune(
        "reduced error",
        lambda grown, data: grown.pruned("reduced_error", X_val=data.X_test, y_val=data.y_test),
    ),
    _prune(
        "cost complexity",
        lambda grown, data: grown.pruned("cost_complexity", X_val=data.X_test, y_val=data.y_test),
    ),
    _prune("pessimistic", lambda grown, data: grown.pruned("pessimistic")),
)

JOB = Job(
    name="tree_pruning",
    title="Pruning a tree of more than 10,000 leaves against growing it, 100k x 20, one thread",
    rows=100_000,
    quick_rows=20_000,
    threads=1,
    cases=(
        Case(
            name="prune",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(fit_contestant("grow", GROWN, ours=True, score="test accuracy"), *PRUNINGS),
            score_name="accuracy on the rows that pruning sees",
            targets=tuple(at_most_times_slower(pruning.name, "grow", 1) for pruning in PRUNINGS),
        ),
    ),
)
