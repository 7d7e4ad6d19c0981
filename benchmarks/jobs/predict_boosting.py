"""Prediction of 100,000 rows by 500 boosted trees of 31 leaves, from the user's table to probabilities.

Every library predicts with a model it trained itself; TL2cgen, Treelite and oneDAL take LightGBM's. Training
and compiling are not timed, converting the table is.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Job, Setting, Unit
from benchmarks.learners.base import predict_contestant
from benchmarks.learners.boosting import (
    YDF,
    CatBoost,
    LightGBM,
    Plan,
    XGBoost,
    hist_gradient_boosting,
    our_boosting,
)
from benchmarks.learners.compiled import OneDAL, TL2cgen, TreeliteInterpreter
from benchmarks.targets import times_faster_than, times_faster_than_fastest, unit_at_most

PLAN = Plan(trees=500, leaves=31, depth=5)
ORDINARY_TREES = ("YDF", "XGBoost", "oneDAL", "TL2cgen", "LightGBM", "scikit-learn HGB", "Treelite GTIL")


def table(setting: Setting) -> Dataset:
    """As many rows to predict as to train on."""
    made = data.physics(2 * setting.rows)
    return replace(
        made, X=made.X[: setting.rows], y=made.y[: setting.rows],
        X_test=made.X[setting.rows :], y_test=made.y[setting.rows :],
    )  # fmt: skip


def rows_times_trees(made: Dataset, setting: Setting) -> float:
    return len(made.y_test) * setting.tree_count(PLAN.trees)


JOB = Job(
    name="predict_boosting",
    title="Predict 100k rows, 500 trees of 31 leaves",
    rows=100_000,
    quick_rows=20_000,
    cases=(
        Case(
            name="predict",
            data=table,
            contestants=(
                predict_contestant("hornbeam", our_boosting(PLAN), ours=True),
                predict_contestant("CatBoost", CatBoost(PLAN), note="symmetric trees of depth 5"),
                predict_contestant("YDF", YDF(PLAN)),
                predict_contestant("XGBoost", XGBoost(PLAN, growth="leaves")),
                predict_contestant("oneDAL", OneDAL(PLAN), note="LightGBM's model"),
                predict_contestant("TL2cgen", TL2cgen(PLAN), note="LightGBM's model"),
                predict_contestant("Treelite GTIL", TreeliteInterpreter(PLAN), note="LightGBM's model"),
                predict_contestant("LightGBM", LightGBM(PLAN)),
                predict_contestant("scikit-learn HGB", hist_gradient_boosting(PLAN)),
            ),
            score_name="test AUC",
            unit=Unit("ns per row and tree", 1e9, rows_times_trees),
            targets=(
                unit_at_most(0.45, "ns per row and tree"),
                times_faster_than_fastest(1),
                *(times_faster_than(peer, 8) for peer in ORDINARY_TREES),
            ),
            warm_up="full",
        ),
    ),
)
