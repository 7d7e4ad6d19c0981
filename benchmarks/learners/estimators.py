"""Learners with scikit-learn's interface: scikit-learn itself, scikit-learn-intelex, hornbeam."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.data import Dataset
from benchmarks.harness import Setting, require
from benchmarks.learners.base import Learner

Parameters = Mapping[str, Any]


class Estimator(Learner):
    """An estimator class by import path.

    ``parameters`` is a mapping, or a function of the setting where the number of trees may be overridden or
    members are estimators themselves. ``jobs`` is the parameter that takes the number of threads, None when
    there is none.
    """

    def __init__(
        self,
        path: str,
        parameters: Parameters | Callable[[Setting], Parameters],
        *,
        jobs: str | None = "n_jobs",
        also_needs: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.needs = (path, *also_needs)
        self.parameters = parameters
        self.jobs = jobs

    def fit(self, data: Dataset, setting: Setting) -> Any:
        return self.make(setting).fit(data.X, data.y)

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)

    def predict_one(self, model: Any, row: Any) -> Any:
        if hasattr(model, "decision_function"):
            return model.decision_function(row)
        return self.predict(model, row)

    def make(self, setting: Setting) -> Any:
        """The unfitted estimator."""
        given = self.parameters(setting) if callable(self.parameters) else self.parameters
        threads = {self.jobs: setting.threads} if self.jobs else {}
        return require(self.path)(**given, **threads)


def hornbeam(name: str, parameters: Parameters | Callable[[Setting], Parameters]) -> Estimator:
    """One of our own classes, by its public name."""
    return Estimator(f"hornbeam.{name}", parameters)


def for_task(task: str, name: str) -> str:
    """``for_task("regression", "RandomForest")`` is ``"RandomForestRegressor"``."""
    return name + ("Regressor" if task == "regression" else "Classifier")
