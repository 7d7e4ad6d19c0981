"""Exact nearest neighbours in 128 dimensions, where brute force wins: k = 5, 100,000 rows, 5,000 queries."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.neighbours import SCORE_NAME, neighbours_contestants
from benchmarks.targets import score_at_least, times_faster_than_fastest

JOB = Job(
    name="knn_128d",
    title="k-NN, 100k x 128 float32, 5k queries, k = 5, exact",
    rows=100_000,
    quick_rows=20_000,
    cases=(
        Case(
            name="build and query",
            data=lambda setting: data.clusters(setting.rows, features=128, queries=min(5_000, setting.rows)),
            contestants=neighbours_contestants(k=5),
            score_name=SCORE_NAME,
            targets=(times_faster_than_fastest(1.3), score_at_least(1.0)),
        ),
    ),
)
