"""One option away from the default: forests by leaf sizes, classes, numbers, weights; AdaBoost; quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks import data
from benchmarks.harness import Case, Job, Setting, require
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.estimators import Estimator, hornbeam
from benchmarks.learners.forests import forest
from benchmarks.targets import times_faster_than, times_faster_than_fastest

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


def adaboost(tree: str) -> Callable[[Setting], dict[str, Any]]:
    """AdaBoost of trees of depth 3."""
    return lambda setting: {
        "estimator": require(tree)(max_depth=3),
        "n_estimators": setting.tree_count(TREES),
        "random_state": 0,
    }


def boosted(trees: str, **parameters: Any) -> Callable[[Setting], dict[str, Any]]:
    """As many trees of 31 leaves; ``trees`` is what the library calls their number."""
    return lambda setting: {trees: setting.tree_count(TREES), "learning_rate": 0.1, **parameters}


ADABOOST = Case(
    name="AdaBoost, depth 3",
    data=two_classes,
    contestants=(
        fit_contestant(
            "hornbeam",
            hornbeam("AdaBoostClassifier", adaboost("hornbeam.DecisionTreeClassifier")),
            ours=True,
        ),
        fit_contestant(
            "scikit-learn",
            Estimator(
                "sklearn.ensemble.AdaBoostClassifier",
                adaboost("sklearn.tree.DecisionTreeClassifier"),
                jobs=None,
            ),
        ),
    ),
    score_name="test AUC",
    targets=(times_faster_than("scikit-learn", 5),),
)
QUANTILES = Case(
    name="boosting, quantile 0.5",
    data=numbers,
    contestants=(
        fit_contestant(
            "hornbeam",
            hornbeam(
                "GradientBoostingRegressor",
                boosted("n_estimators", loss="quantile", alpha=0.5, max_leaf_nodes=31, early_stopping=False),
            ),
            ours=True,
        ),
        fit_contestant(
            "scikit-learn HGB",
            Estimator(
                "sklearn.ensemble.HistGradientBoostingRegressor",
                boosted("max_iter", loss="quantile", quantile=0.5, max_leaf_nodes=31, early_stopping=False),
                jobs=None,
            ),
        ),
        fit_contestant(
            "LightGBM",
            Estimator(
                "lightgbm.LGBMRegressor",
                boosted("n_estimators", objective="quantile", alpha=0.5, num_leaves=31, verbosity=-1),
            ),
        ),
        fit_contestant(
            "XGBoost",
            Estimator(
                "xgboost.XGBRegressor",
                boosted(
                    "n_estimators",
                    objective="reg:quantileerror",
                    quantile_alpha=0.5,
                    grow_policy="lossguide",
                    max_depth=0,
                    max_leaves=31,
                ),
            ),
        ),
    ),
    score_name="test R2",
    targets=(times_faster_than_fastest(2),),
)

JOB = Job(
    name="forest_settings",
    title="Forests, extra trees, AdaBoost and boosting one option away from the default, 30 trees, 50k x 20",
    rows=50_000,
    quick_rows=10_000,
    cases=(*cases("RandomForest", 5), *cases("ExtraTrees", 4), ADABOOST, QUANTILES),
)
