"""Explanations of 10,000 rows x 28 by boosted trees: 100 of 31 leaves, 500 of depth 6, and pairs of columns.

Training is not timed; converting the table is. The score is the largest distance between a row's
score and the sum of its parts. By 500 trees, the slow peers explain a fifth of the rows, and their time
counts five times: what they do is linear in rows, and the whole job ends in minutes. Woodelf, which prepares
the trees once for all rows, always explains all.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Job, Setting, Unit
from benchmarks.learners.boosting import LightGBM, Plan, XGBoost, our_boosting
from benchmarks.learners.explaining import (
    by_hornbeam,
    by_lightgbm,
    by_shap,
    by_woodelf,
    by_xgboost,
    explain_contestant,
    shap_ready,
)
from benchmarks.targets import times_faster_than

SMALL = Plan(trees=100, leaves=31, depth=5)
DEEP = Plan(trees=500, leaves=64, depth=6, to_depth=True)


def table(setting: Setting, rows: int | None = None) -> Dataset:
    """Rows to explain beside ten times as many to train on."""
    n = setting.rows if rows is None else min(rows, setting.rows)
    made = data.physics(11 * setting.rows)
    return replace(
        made, X=made.X[n:], y=made.y[n:], X_test=made.X[:n], y_test=made.y[:n]
    )  # fmt: skip


def per_tree(plan: Plan) -> Unit:
    """Time per row and tree."""

    def size(made: Dataset, setting: Setting) -> float:
        return len(made.y_test) * setting.tree_count(plan.trees)

    return Unit("ns per row and tree", 1e9, size)


def singles(name: str, plan: Plan, *, slow_rows: int | None = None) -> Case:
    growth = "leaves" if plan is SMALL else "depth"
    return Case(
        name=name,
        data=table,
        contestants=(
            explain_contestant("hornbeam", our_boosting(plan), by_hornbeam, ours=True),
            explain_contestant("XGBoost", XGBoost(plan, growth=growth), by_xgboost, rows=slow_rows),
            explain_contestant("LightGBM", LightGBM(plan), by_lightgbm, rows=slow_rows),
            explain_contestant(
                "shap",
                XGBoost(plan, growth=growth),
                by_shap,
                needs=("shap",),
                note="XGBoost's model",
                rows=slow_rows,
                ready=shap_ready,
            ),
            explain_contestant(
                "Woodelf",
                XGBoost(plan, growth=growth),
                by_woodelf,
                needs=("woodelf",),
                note="XGBoost's model",
            ),
        ),
        score_name="distance to score",
        unit=per_tree(plan),
        targets=(
            times_faster_than("XGBoost", 10),
            times_faster_than("Woodelf", 5),
            times_faster_than("shap", 50),
        ),
        warm_up="full",
    )


JOB = Job(
    name="explain",
    title="Explain 10k rows: Shapley values of boosted trees",
    rows=10_000,
    quick_rows=1_000,
    cases=(
        singles("100 trees of 31 leaves", SMALL),
        singles("500 trees of depth 6", DEEP, slow_rows=2_000),
        Case(
            name="pairs, 100 trees of 31 leaves, 1k rows",
            data=partial(table, rows=1_000),
            contestants=(
                explain_contestant(
                    "hornbeam", our_boosting(SMALL), partial(by_hornbeam, pairs=True), ours=True
                ),
                explain_contestant(
                    "XGBoost", XGBoost(SMALL, growth="leaves"), partial(by_xgboost, pairs=True)
                ),
                explain_contestant(
                    "Woodelf",
                    XGBoost(SMALL, growth="leaves"),
                    partial(by_woodelf, pairs=True),
                    needs=("woodelf",),
                    note="XGBoost's model",
                ),
            ),
            score_name="distance to score",
            unit=per_tree(SMALL),
            targets=(times_faster_than("XGBoost", 10),),
            warm_up="full",
        ),
    ),
)
