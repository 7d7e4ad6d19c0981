"""Prediction of single rows by 500 boosted trees of 31 leaves, through the public method, one thread."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job, Unit
from benchmarks.learners.base import one_row_contestant, single_rows
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
from benchmarks.targets import times_faster_than_fastest, unit_at_most

PLAN = Plan(trees=500, leaves=31, depth=5)

JOB = Job(
    name="predict_one_row",
    title="Predict one row, 500 trees of 31 leaves, through the public method",
    rows=100_000,
    quick_rows=20_000,
    threads=1,
    cases=(
        Case(
            name="predict",
            data=lambda setting: data.physics(setting.rows),
            contestants=(
                one_row_contestant("hornbeam", our_boosting(PLAN), ours=True),
                one_row_contestant("LightGBM", LightGBM(PLAN)),
                one_row_contestant("CatBoost", CatBoost(PLAN), note="symmetric trees of depth 5"),
                one_row_contestant("TL2cgen", TL2cgen(PLAN), note="LightGBM's model"),
                one_row_contestant("Treelite GTIL", TreeliteInterpreter(PLAN), note="LightGBM's model"),
                one_row_contestant("oneDAL", OneDAL(PLAN), note="LightGBM's model"),
                one_row_contestant("XGBoost", XGBoost(PLAN, growth="leaves")),
                one_row_contestant("YDF", YDF(PLAN)),
                one_row_contestant("scikit-learn HGB", hist_gradient_boosting(PLAN)),
            ),
            score_name="test AUC",
            unit=Unit("us per row", 1e6, lambda made, setting: single_rows(made)),
            targets=(unit_at_most(15, "us per row"), times_faster_than_fastest(1)),
            warm_up="full",
        ),
    ),
)
