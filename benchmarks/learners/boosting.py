"""Gradient boosting by every peer, from one plan: equal trees, leaves, rate, least leaf, l2 and bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.data import Dataset, Task
from benchmarks.harness import Contestant, Setting
from benchmarks.learners.base import Learner, fit_contestant
from benchmarks.learners.estimators import Estimator, for_task, hornbeam


@dataclass(frozen=True)
class Plan:
    """The settings everybody gets; ``depth`` is for peers that grow by level: 2**depth is about ``leaves``.

    With ``to_depth`` those that grow best first stop at that depth, too. ``lightgbm_layout`` is LightGBM's
    documented choice: row-wise for tall tables, column-wise for wide ones.
    """

    task: Task = "binary"
    classes: int = 2
    trees: int = 100
    leaves: int = 63
    depth: int = 6
    learning_rate: float = 0.1
    least_leaf: int = 20
    l2: float = 1.0
    bins: int = 255
    lightgbm_layout: Literal["row", "col"] = "row"
    to_depth: bool = False

    @property
    def least_hessian(self) -> float:
        """XGBoost limits a leaf's hessian, not its rows: what ``least_leaf`` rows weigh at the start."""
        if self.task == "regression":
            return float(self.least_leaf)
        factor = 1.0 if self.task == "binary" else 2.0  # XGBoost doubles the hessian of its softmax
        return self.least_leaf * factor * (1 / self.classes) * (1 - 1 / self.classes)


class LightGBM(Learner):
    """LightGBM through its native interface; ``quantised`` uses its low-precision gradients."""

    needs = ("lightgbm",)

    def __init__(self, plan: Plan, *, quantised: bool = False) -> None:
        self.plan = plan
        self.quantised = quantised

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import lightgbm

        table = lightgbm.Dataset(data.X, data.y, params={"max_bin": self.plan.bins, "verbosity": -1})
        return lightgbm.train(self._settings(setting), table, self._trees(setting))

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(X)

    def _trees(self, setting: Setting) -> int:
        return setting.tree_count(self.plan.trees)

    def _settings(self, setting: Setting) -> dict[str, Any]:
        plan = self.plan
        objective = {"binary": "binary", "multiclass": "multiclass", "regression": "regression"}[plan.task]
        return {
            "objective": objective,
            "num_class": plan.classes if plan.task == "multiclass" else 1,
            "num_leaves": plan.leaves,
            "max_depth": plan.depth if plan.to_depth else -1,
            "learning_rate": plan.learning_rate,
            "min_data_in_leaf": plan.least_leaf,
            "lambda_l2": plan.l2,
            "max_bin": plan.bins,
            "num_threads": setting.threads,
            f"force_{plan.lightgbm_layout}_wise": True,
            "use_quantized_grad": self.quantised,
            "verbosity": -1,
        }


class XGBoost(Learner):
    """XGBoost's histogram method: level by level to a depth, or best first to a number of leaves."""

    needs = ("xgboost",)

    def __init__(self, plan: Plan, *, growth: Literal["depth", "leaves"]) -> None:
        self.plan = plan
        self.growth = growth

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import xgboost

        table = xgboost.QuantileDMatrix(
            data.X,
            data.y,
            max_bin=self.plan.bins,
            nthread=setting.threads,
            enable_categorical=data.is_frame,
        )
        return xgboost.train(self._settings(setting), table, setting.tree_count(self.plan.trees))

    def predict(self, model: Any, X: Any) -> Any:
        return model.inplace_predict(X, validate_features=False)

    def _settings(self, setting: Setting) -> dict[str, Any]:
        plan = self.plan
        objectives = {
            "binary": "binary:logistic",
            "multiclass": "multi:softprob",
            "regression": "reg:squarederror",
        }
        shape: dict[str, Any] = {"grow_policy": "depthwise", "max_depth": plan.depth}
        if self.growth == "leaves":
            shape = {"grow_policy": "lossguide", "max_depth": 0, "max_leaves": plan.leaves}
        return {
            "objective": objectives[plan.task],
            **({"num_class": plan.classes} if plan.task == "multiclass" else {}),
            "tree_method": "hist",
            **shape,
            "eta": plan.learning_rate,
            "min_child_weight": plan.least_hessian,
            "lambda": plan.l2,
            "max_bin": plan.bins,
            "nthread": setting.threads,
            "verbosity": 0,
        }


class CatBoost(Learner):
    """CatBoost with the settings its manual names for speed, and its own tree (one test per level).

    With ``growth="leaves"`` its trees are everybody's: best first to a number of leaves, tests chosen by the
    usual gain, without the noise that CatBoost adds to it otherwise.
    """

    needs = ("catboost",)

    def __init__(self, plan: Plan, *, growth: Literal["levels", "leaves"] = "levels") -> None:
        self.plan = plan
        self.growth = growth

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import catboost

        plan = self.plan
        table = self._pool(data.X, data.y)
        kind = catboost.CatBoostRegressor if plan.task == "regression" else catboost.CatBoostClassifier
        shape: dict[str, Any] = {"depth": plan.depth}
        if self.growth == "leaves":
            shape = {
                "grow_policy": "Lossguide",
                "max_leaves": plan.leaves,
                "depth": 16,
                "min_data_in_leaf": plan.least_leaf,
                "score_function": "L2",
                "random_strength": 0,
            }
        model = kind(
            iterations=setting.tree_count(plan.trees),
            **shape,
            learning_rate=plan.learning_rate,
            l2_leaf_reg=plan.l2,
            border_count=plan.bins - 1,
            boosting_type="Plain",
            bootstrap_type="No",
            leaf_estimation_iterations=1,
            thread_count=setting.threads,
            random_seed=0,
            allow_writing_files=False,
            verbose=False,
        )
        return model.fit(table)

    def predict(self, model: Any, X: Any) -> Any:
        if self.plan.task == "regression":
            return model.predict(self._accepted(X))
        return model.predict(self._accepted(X), prediction_type="Probability")

    def predict_one(self, model: Any, row: Any) -> Any:
        return model.predict(row, prediction_type="RawFormulaVal", thread_count=1)

    def _pool(self, X: Any, y: Any) -> Any:
        import catboost

        categories = [name for name in X.columns if _is_category(X[name])] if hasattr(X, "columns") else None
        return catboost.Pool(self._accepted(X), y, cat_features=categories)

    @staticmethod
    def _accepted(X: Any) -> Any:
        """CatBoost refuses missing categories: they become a level of their own."""
        if not hasattr(X, "columns"):
            return X
        changed = {
            name: X[name].cat.add_categories("(missing)").fillna("(missing)")
            for name in X.columns
            if _is_category(X[name]) and X[name].isna().any()
        }
        return X.assign(**changed)


class YDF(Learner):
    """YDF, growing best first, on binned columns."""

    needs = ("ydf",)

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import ydf

        ydf.verbose(0)
        plan = self.plan
        learner = ydf.GradientBoostedTreesLearner(
            label="y",
            task=ydf.Task.REGRESSION if plan.task == "regression" else ydf.Task.CLASSIFICATION,
            num_trees=setting.tree_count(plan.trees),
            growing_strategy="BEST_FIRST_GLOBAL",
            max_num_nodes=plan.leaves,
            max_depth=-1,
            shrinkage=plan.learning_rate,
            min_examples=plan.least_leaf,
            l2_regularization=plan.l2,
            use_hessian_gain=True,
            discretize_numerical_columns=True,
            num_discretized_numerical_bins=plan.bins,
            validation_ratio=0.0,
            early_stopping="NONE",
            num_threads=setting.threads,
        )
        return learner.train(ydf_table(data.X, data.y))

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(ydf_table(X))


def hist_gradient_boosting(plan: Plan) -> Estimator:
    """scikit-learn's histogram boosting; it takes its threads from the environment."""
    return Estimator(
        "sklearn.ensemble." + for_task(plan.task, "HistGradientBoosting"),
        lambda setting: {
            "max_iter": setting.tree_count(plan.trees),
            "max_leaf_nodes": plan.leaves,
            "learning_rate": plan.learning_rate,
            "min_samples_leaf": plan.least_leaf,
            "l2_regularization": plan.l2,
            "max_bins": plan.bins,
            "early_stopping": False,
            "random_state": 0,
        },
        jobs=None,
    )


def our_boosting(plan: Plan) -> Estimator:
    return hornbeam(
        for_task(plan.task, "GradientBoosting"),
        lambda setting: {
            "n_estimators": setting.tree_count(plan.trees),
            "max_leaf_nodes": plan.leaves,
            "max_depth": plan.depth if plan.to_depth else None,
            "learning_rate": plan.learning_rate,
            "min_samples_leaf": plan.least_leaf,
            "l2_regularization": plan.l2,
            "max_bins": plan.bins,
            "early_stopping": False,
            "random_state": 0,
        },
    )


def boosting_contestants(plan: Plan) -> tuple[Contestant, ...]:
    """Everybody who boosts."""
    return (
        fit_contestant("hornbeam", our_boosting(plan), ours=True),
        fit_contestant("LightGBM", LightGBM(plan)),
        fit_contestant("LightGBM quantised", LightGBM(plan, quantised=True), note="2-bit gradients"),
        fit_contestant(f"XGBoost depth {plan.depth}", XGBoost(plan, growth="depth"), note="level by level"),
        fit_contestant(f"XGBoost {plan.leaves} leaves", XGBoost(plan, growth="leaves")),
        fit_contestant("CatBoost", CatBoost(plan), note=f"symmetric trees of depth {plan.depth}"),
        fit_contestant("scikit-learn HGB", hist_gradient_boosting(plan)),
        fit_contestant("YDF", YDF(plan)),
    )


def ydf_table(X: Any, y: Any = None) -> dict[str, Any]:
    """YDF reads a dictionary of columns; an array may stand in it whole, categories must be text."""
    is_frame = hasattr(X, "columns")
    table = {name: _ydf_column(X[name]) for name in X.columns} if is_frame else {"x": X}
    return table if y is None else {**table, "y": y}


def _ydf_column(column: Any) -> Any:
    if _is_category(column):
        return column.astype(object).where(column.notna(), "").to_numpy(str)
    return column.to_numpy(np.float32)


def _is_category(column: Any) -> bool:
    return str(column.dtype) == "category"
