"""Gradient boosting on a small table, 50,000 x 20, where fixed costs per node show."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.targets import score_near, times_faster_than_fastest

JOB = Job(
    name="boosting_50k",
    title="Gradient boosting, 50k x 20, 100 trees of 63 leaves, 255 bins, binning included",
    rows=50_000,
    quick_rows=10_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.noisy(setting.rows),
            contestants=boosting_contestants(Plan()),
            score_name="test AUC",
            targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.0005)),
        ),
    ),
)
