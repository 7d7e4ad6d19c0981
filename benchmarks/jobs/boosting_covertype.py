"""Gradient boosting on the public covertype table: 464,809 x 54 for training, seven classes."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.targets import score_near, times_faster_than_fastest

JOB = Job(
    name="boosting_covertype",
    title="Gradient boosting, covertype, 7 classes, 100 rounds of 63 leaves",
    rows=464_809,
    quick_rows=20_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.covertype(setting.rows),
            contestants=boosting_contestants(Plan(task="multiclass", classes=7)),
            score_name="test accuracy",
            targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.0005)),
        ),
    ),
)
