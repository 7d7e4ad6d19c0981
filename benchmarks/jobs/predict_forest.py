"""Prediction of 25,000 rows by a forest of 100 trees grown out on 100,000 rows."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job, Unit
from benchmarks.learners.base import predict_contestant
from benchmarks.learners.forests import TreeliteForest, YDFForest, forest
from benchmarks.targets import times_faster_than

KIND = "RandomForestClassifier"

JOB = Job(
    name="predict_forest",
    title="Forest predict, 25k rows, 100 grown-out trees",
    rows=100_000,
    quick_rows=20_000,
    cases=(
        Case(
            name="predict",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                predict_contestant("hornbeam", forest("hornbeam", KIND), ours=True),
                predict_contestant("sklearnex", forest("sklearnex", KIND)),
                predict_contestant("scikit-learn", forest("sklearn", KIND)),
                predict_contestant("YDF", YDFForest()),
                predict_contestant("Treelite GTIL", TreeliteForest(), note="scikit-learn's model"),
            ),
            score_name="test AUC",
            unit=Unit(
                "ns per row and tree", 1e9, lambda made, setting: len(made.y_test) * setting.tree_count(100)
            ),
            targets=(times_faster_than("sklearnex", 3),),
            warm_up="full",
        ),
    ),
)
