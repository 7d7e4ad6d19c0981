"""Explanations by every peer that has them: Shapley values of a boosted model's scores, singly or in pairs.

Each library explains a model that it has trained itself, with the same plan; shap takes XGBoost's. A slow
peer whose cost is by the row may explain some of the rows; its time is then multiplied, as the table says.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.data import Dataset
from benchmarks.harness import Contestant, Setting, Timed
from benchmarks.learners.base import Learner


def explain_contestant(
    name: str,
    learner: Learner,
    explain: Any,
    *,
    needs: tuple[str, ...] = (),
    ours: bool = False,
    note: str = "",
    rows: int | None = None,
    ready: Any = None,
) -> Contestant:
    """Times ``explain(model, X)`` on the test part; the score is how far parts and score are apart.

    With ``rows``, so many are explained, and their time counts for all of the test part. ``ready`` makes of
    the model, before the clock starts, what ``explain`` takes.
    """

    def prepare(data: Dataset, setting: Setting) -> Any:
        model = learner.fit(data, setting)
        return model if ready is None else ready(model)

    def run(model: Any, data: Dataset) -> Any:
        X = data.X_test
        if rows is None or rows >= len(X):
            return explain(model, X)
        start = time.perf_counter()
        message = explain(model, X[:rows])
        return Timed((time.perf_counter() - start) * len(X) / rows, message)

    def score(model: Any, message: Any, data: Dataset) -> float:
        parts, margins = message
        total = np.asarray(parts, dtype=np.float64).reshape(len(margins), -1).sum(axis=1)
        return float(np.abs(total - margins).max())

    return Contestant(
        name=name,
        needs=(*learner.needs, *needs),
        prepare=prepare,
        run=run,
        score=score,
        ours=ours,
        note="; ".join(filter(None, (note, "" if rows is None else f"by {rows:,} of the rows"))),
    )


def by_hornbeam(model: Any, X: Any, *, pairs: bool = False) -> tuple[Any, Any]:
    """Contributions, and the scores that they should sum to, without the base."""
    found = model.contributions(X, interactions=pairs)
    return found.values, model.decision_function(X) - found.base_values


def by_xgboost(model: Any, X: Any, *, pairs: bool = False) -> tuple[Any, Any]:
    """XGBoost's own: ``pred_contribs`` or ``pred_interactions``, whose last column is the base."""
    import xgboost

    table = xgboost.DMatrix(X)
    found = model.predict(table, pred_contribs=not pairs, pred_interactions=pairs)
    return found, model.predict(table, output_margin=True)


def by_lightgbm(model: Any, X: Any) -> tuple[Any, Any]:
    """LightGBM's ``pred_contrib``, whose last column is the base."""
    return model.predict(X, pred_contrib=True), model.predict(X, raw_score=True)


def shap_ready(model: Any) -> tuple[Any, Any]:
    """XGBoost's model and the shap package's TreeExplainer of it, whose making is not timed."""
    import shap

    return model, shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")


def by_shap(state: tuple[Any, Any], X: Any) -> tuple[Any, Any]:
    """The shap package's TreeExplainer on XGBoost's model, by its own C code."""
    import xgboost

    model, explainer = state
    found = explainer.shap_values(np.asarray(X), check_additivity=False)
    margins = model.predict(xgboost.DMatrix(X), output_margin=True)
    return found, margins - float(np.ravel(explainer.expected_value)[0])


def by_woodelf(model: Any, X: Any, *, pairs: bool = False) -> tuple[Any, Any]:
    """Woodelf on XGBoost's model; its progress bars are not shown."""
    import contextlib
    import io

    import pandas
    import woodelf
    import xgboost

    names = [f"f{column}" for column in range(X.shape[1])]
    table = pandas.DataFrame(np.asarray(X), columns=names)
    margins = model.predict(xgboost.DMatrix(np.asarray(X)), output_margin=True)
    model = model.copy()
    model.feature_names = names
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        explainer = woodelf.WoodelfExplainer(model, feature_perturbation="tree_path_dependent")
        found = explainer.shap_interaction_values(table) if pairs else explainer.shap_values(table)
    base = float(np.mean(margins - np.asarray(found).reshape(len(margins), -1).sum(axis=1)))
    return found, margins - base
