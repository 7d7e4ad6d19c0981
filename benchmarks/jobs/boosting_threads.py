"""What a second thread gains in gradient boosting: the same fits on one thread and on two, by turns."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.base import OnThreads, fit_contestant
from benchmarks.learners.boosting import LightGBM, Plan, XGBoost, our_boosting
from benchmarks.targets import times_faster_than

PLAN = Plan()
LEARNERS = {
    "hornbeam": our_boosting(PLAN),
    "LightGBM": LightGBM(PLAN),
    "XGBoost depth 6": XGBoost(PLAN, growth="depth"),
}

JOB = Job(
    name="boosting_threads",
    title="Gradient boosting, 1M x 28, 100 trees of 63 leaves: one thread and two",
    rows=1_000_000,
    quick_rows=50_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.physics(setting.rows),
            contestants=tuple(
                fit_contestant(f"{name}, {words}", OnThreads(learner, threads), ours=name == "hornbeam")
                for name, learner in LEARNERS.items()
                for threads, words in ((2, "two threads"), (1, "one thread"))
            ),
            score_name="test AUC",
            targets=(times_faster_than("hornbeam, one thread", 1.8),),
        ),
    ),
)
