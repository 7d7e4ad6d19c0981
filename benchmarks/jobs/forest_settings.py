"""Forests and extra trees one option away from the default: leaf sizes, classes, numbers, weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import data
from benchmarks.harness import Case, Job, Setting
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.forests import forest
from benchmarks.targets import times_faster_than

TREES = 30
Data = Callable[[Setting], data.Dataset]


def two_classes(setting: Setting) -> data.Dataset:
    return data.noisy(setting.rows)


def seven_classes(setting: Setting) -> data.Dataset:
    return data.many_classes(setting.rows, classes=7)


def numbers(setting: Setting) -> data.Dataset:
    return data.noisy_regression(setting.rows)


def case(name: str, kind: str, made: Data, score_name: str, least: float, **parameters: Any) -> Case:
    """The same estimator by three libraries; ``least`` is the target beside scikit-learn."""
    return Case(
        name=name,
        data=made,
        contestants=(
            fit_contestant("hornbeam", forest("hornbeam", kind, trees=TREES, **parameters), ours=True),
            fit_contestant("scikit-learn", forest("sklearn", kind, trees=TREES, **parameters)),
            fit_contestant(
                "sklearnex", forest("sklearnex", kind, trees=TREES, **parameters), note="256 bins"
            ),
        ),
        score_name=score_name,
        targets=(times_faster_than("scikit-learn", least), times_faster_than("sklearnex", 2)),
    )


def cases(kind: str, least: float) -> tuple[Case, ...]:
    classifier, regressor = f"{kind}Classifier", f"{kind}Regressor"
    words = "forest" if kind == "RandomForest" else "extra trees"
    leaf = {"min_samples_leaf": 5}
    return (
        case(f"{words}", classifier, two_classes, "test AUC", least),
        case(f"{words}, leaves of 5", classifier, two_classes, "test AUC", least, **leaf),
        case(f"{words}, balanced", classifier, two_classes, "test AUC", least, class_weight="balanced"),
        case(f"{words}, 7 classes", classifier, seven_classes, "test accuracy", least),
        case(f"{words}, 7 classes, leaves of 5", classifier, seven_classes, "test accuracy", least, **leaf),
        case(f"{words}, numbers", regressor, numbers, "test R2", least),
        case(f"{words}, numbers, leaves of 5", regressor, numbers, "test R2", least, **leaf),
    )


JOB = Job(
    name="forest_settings",
    title="Forests and extra trees one option away from the default, 30 trees, 50k x 20 float32",
    rows=50_000,
    quick_rows=10_000,
    cases=(*cases("RandomForest", 5), *cases("ExtraTrees", 4)),
)
