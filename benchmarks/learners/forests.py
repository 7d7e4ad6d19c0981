"""Random forests, extra trees and bagged trees: all grown out, sqrt(d) features per node unless said."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.data import Dataset
from benchmarks.harness import Setting
from benchmarks.learners.base import Learner
from benchmarks.learners.boosting import ydf_table
from benchmarks.learners.estimators import Estimator, hornbeam


def forest(library: str, kind: str, *, trees: int = 100, **parameters: Any) -> Estimator:
    """A forest with scikit-learn's arguments, by ``"sklearn"``, ``"sklearnex"`` or ``"hornbeam"``."""

    def settings(setting: Setting) -> dict[str, Any]:
        return {"n_estimators": setting.tree_count(trees), "random_state": 0, **parameters}

    if library == "hornbeam":
        return hornbeam(kind, settings)
    return Estimator(f"{library}.ensemble.{kind}", settings)


class YDFForest(Learner):
    """YDF's random forest: exact splits, or binned columns (faster on tall tables)."""

    needs = ("ydf",)

    def __init__(self, *, trees: int = 100, binned: bool = False) -> None:
        self.trees = trees
        self.binned = binned

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import ydf

        ydf.verbose(0)
        learner = ydf.RandomForestLearner(
            label="y",
            num_trees=setting.tree_count(self.trees),
            max_depth=-1,
            min_examples=1,
            num_candidate_attributes=max(1, math.isqrt(data.features)),  # its own sqrt(d) rounds up
            winner_take_all=False,
            compute_oob_performances=False,
            discretize_numerical_columns=self.binned,
            num_threads=setting.threads,
        )
        return learner.train(ydf_table(data.X, data.y))

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict(ydf_table(X))


class TreeliteForest(Learner):
    """scikit-learn's forest walked by Treelite's interpreter (GTIL)."""

    needs = ("treelite.sklearn", "sklearn")

    def __init__(self, *, trees: int = 100) -> None:
        self.source = forest("sklearn", "RandomForestClassifier", trees=trees)

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import treelite

        return treelite.sklearn.import_model(self.source.fit(data, setting)), setting.threads

    def predict(self, model: Any, X: Any) -> Any:
        import treelite

        converted, threads = model
        return treelite.gtil.predict(converted, X, nthread=threads).reshape(len(X), -1)
