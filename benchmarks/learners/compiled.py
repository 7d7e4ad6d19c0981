"""Engines that only predict: they take LightGBM's model and compile or convert it before the race."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Dataset
from benchmarks.harness import Setting
from benchmarks.learners.base import Learner
from benchmarks.learners.boosting import LightGBM, Plan


class TL2cgen(Learner):
    """LightGBM's model as C code by TL2cgen, compiled by the system's compiler with full optimisation."""

    needs = ("tl2cgen", "treelite", "lightgbm")

    def __init__(self, plan: Plan) -> None:
        self.source = LightGBM(plan)

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import tl2cgen
        import treelite

        model = treelite.frontend.from_lightgbm(self.source.fit(data, setting))
        folder = tempfile.TemporaryDirectory()
        library = Path(folder.name) / "model.so"
        tl2cgen.export_lib(
            model,
            toolchain="gcc",
            libpath=library,
            params={"parallel_comp": 8},
            options=["-O3", "-march=native"],
        )
        return _Compiled(tl2cgen.Predictor(library, nthread=setting.threads), folder)

    def predict(self, model: Any, X: Any) -> Any:
        import tl2cgen

        # LightGBM's thresholds are float64, so must be the table; under numpy 2 TL2cgen cannot convert it.
        table = tl2cgen.DMatrix(np.ascontiguousarray(X, dtype=np.float64))
        return model.predictor.predict(table).reshape(len(X), -1)


@dataclass
class _Compiled:
    """The predictor and the folder that its library lives in."""

    predictor: Any
    folder: Any


class TreeliteInterpreter(Learner):
    """LightGBM's model walked by Treelite's interpreter (GTIL)."""

    needs = ("treelite", "lightgbm")

    def __init__(self, plan: Plan) -> None:
        self.source = LightGBM(plan)

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import treelite

        return treelite.frontend.from_lightgbm(self.source.fit(data, setting)), setting.threads

    def predict(self, model: Any, X: Any) -> Any:
        import treelite

        converted, threads = model
        return treelite.gtil.predict(converted, X, nthread=threads).reshape(len(X), -1)


class OneDAL(Learner):
    """LightGBM's model converted to oneDAL."""

    needs = ("daal4py.mb", "lightgbm")

    def __init__(self, plan: Plan) -> None:
        self.source = LightGBM(plan)

    def fit(self, data: Dataset, setting: Setting) -> Any:
        import daal4py.mb

        return daal4py.mb.convert_model(self.source.fit(data, setting))

    def predict(self, model: Any, X: Any) -> Any:
        return model.predict_proba(X)
