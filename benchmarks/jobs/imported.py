"""Prediction of 100,000 rows x 28 by models of other libraries: by themselves, and as models of hornbeam.

Training and importing are not timed. Both give the same answers, so the scores are the same.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Job, Setting, Unit
from benchmarks.learners.base import Learner, predict_contestant
from benchmarks.learners.boosting import CatBoost, LightGBM, Plan, XGBoost
from benchmarks.learners.forests import forest
from benchmarks.learners.imported import Imported
from benchmarks.targets import score_near, times_faster_than_fastest

FOREST = "RandomForestClassifier"
PLAN = Plan(trees=300, leaves=63, depth=6)


def table(setting: Setting) -> Dataset:
    """As many rows to predict as to train on."""
    made, n = data.physics(2 * setting.rows), setting.rows
    return replace(made, X=made.X[n:], y=made.y[n:], X_test=made.X[:n], y_test=made.y[:n])


def by_both(name: str, library: str, peer: Learner, trees: int) -> Case:
    return Case(
        name=name,
        data=table,
        contestants=(
            predict_contestant("hornbeam", Imported(peer), ours=True, note=f"{library}'s model"),
            predict_contestant(library, peer),
        ),
        score_name="test AUC",
        unit=Unit(
            "ns per row and tree", 1e9, lambda made, setting: len(made.y_test) * setting.tree_count(trees)
        ),
        targets=(times_faster_than_fastest(1), score_near(library, 1e-6)),
        warm_up="full",
    )


JOB = Job(
    name="imported",
    title="Predict 100k rows by the models of other libraries",
    rows=100_000,
    quick_rows=10_000,
    cases=(
        by_both("LightGBM, 300 trees of 63 leaves", "LightGBM", LightGBM(PLAN), 300),
        by_both("XGBoost, 300 trees of depth 6", "XGBoost", XGBoost(PLAN, growth="depth"), 300),
        by_both("CatBoost, 300 symmetric trees of depth 6", "CatBoost", CatBoost(PLAN), 300),
        by_both("scikit-learn, forest of 100 trees", "scikit-learn", forest("sklearn", FOREST), 100),
    ),
)
