"""The other libraries, asked for answers to compare with; imported here only, and only if installed."""

import importlib
import importlib.util
import json
import os
import tempfile
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Peer", "peer_of_file", "peer_of_model"]


class Peer:
    """A fitted model of another library."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.library = type(model).__module__.partition(".")[0]

    def answers(self, rows: Any, made: Any) -> npt.NDArray[np.float64]:
        """Ask it for class shares or numbers, as the model that was made of it gives them."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ask = {
                "sklearn": self._sklearn,
                "lightgbm": self._lightgbm,
                "xgboost": self._xgboost,
                "catboost": self._catboost,
            }[self.library]
            found = np.asarray(ask(self._table(rows, made), made), dtype=np.float64)
        if hasattr(made, "predict_proba") and found.ndim == 1:
            return np.stack([1 - found, found], axis=1)
        return found

    def _table(self, rows: Any, made: Any) -> Any:
        """Give rows the form that the library takes: numbers, or a frame where there are categories."""
        schema = made._model.schema
        if not isinstance(rows, np.ndarray) or all(kind == "numeric" for kind in schema.kinds):
            return rows
        are_numbers = all(c is None or not isinstance(c[0], str) for c in schema.categories if c != ())
        if are_numbers and self.library != "xgboost":  # which takes categories in frames only
            return rows.astype(np.float64)
        pandas = importlib.import_module("pandas")
        columns = {}
        for j, (name, categories) in enumerate(zip(schema.names, schema.categories, strict=True)):
            values = rows[:, j]
            if categories is None:
                columns[name] = values.astype(np.float64)
            else:
                columns[name] = pandas.Categorical(values.tolist(), categories=list(categories))
        return pandas.DataFrame(columns)

    def _sklearn(self, rows: Any, made: Any) -> Any:
        if not hasattr(made, "predict_proba"):
            return self.model.predict(rows)
        shares = self.model.predict_proba(rows)
        return np.concatenate(shares, axis=1) if isinstance(shares, list) else shares

    def _lightgbm(self, rows: Any, made: Any) -> Any:
        if hasattr(self.model, "booster_"):
            return self._estimator(rows, made)
        return self.model.predict(rows, num_threads=1)

    def _estimator(self, rows: Any, made: Any) -> Any:
        """Ask an estimator as users do: which of its rounds count, and what is missing, it knows itself."""
        if hasattr(made, "predict_proba") and hasattr(self.model, "predict_proba"):
            return self.model.predict_proba(rows)
        return self.model.predict(rows)

    def _xgboost(self, rows: Any, made: Any) -> Any:
        if hasattr(self.model, "get_booster"):
            return self._estimator(rows, made)
        xgboost = importlib.import_module("xgboost")
        booster = self.model
        names = booster.feature_names
        with np.errstate(over="ignore"):
            if any(kind != "numeric" for kind in made._model.schema.kinds):
                matrix = xgboost.DMatrix(rows, enable_categorical=True)
            else:
                matrix = xgboost.DMatrix(np.asarray(rows, dtype=np.float32), feature_names=names)
        if "softmax" in str(booster.save_config()).partition("multi:")[2][:10]:
            booster = booster.copy()
            booster.set_param({"objective": "multi:softprob"})
        return booster.predict(matrix)

    def _catboost(self, rows: Any, made: Any) -> Any:
        rows = np.asarray(rows, dtype=np.float64)
        kind = "Probability" if hasattr(made, "predict_proba") else "RawFormulaVal"
        found = np.asarray(self.model.predict(rows, prediction_type=kind, thread_count=1))
        return np.exp(found) if made._loss.name in ("poisson", "tweedie") else found

    def document(self) -> Any:
        """Return CatBoost's JSON, which it writes into files only."""
        with tempfile.TemporaryDirectory(prefix="hornbeam-catboost-") as folder:
            path = os.path.join(folder, "model.json")
            self.model.save_model(path, format="json")
            with open(path, encoding="utf-8") as file:
                return json.load(file)


def peer_of_model(model: Any) -> Peer:
    """Wrap a fitted model."""
    return Peer(model)


def _of_xgboost(library: Any, path: str) -> Any:
    """Load a file as what has written it: an estimator leaves a mark."""
    booster = library.Booster(model_file=path)
    mark = booster.attr("scikit_learn")
    if mark is None:
        return booster
    is_classifier = json.loads(mark).get("_estimator_type") == "classifier"
    model = library.XGBClassifier() if is_classifier else library.XGBRegressor()
    model.load_model(path)
    return model


def peer_of_file(family: str, path: str) -> Peer | None:
    """Load a file with the library that wrote it; None if that is not installed."""
    if importlib.util.find_spec(family) is None:
        return None
    library = importlib.import_module(family)
    if family == "lightgbm":
        return Peer(library.Booster(model_file=path))
    if family == "xgboost":
        return Peer(_of_xgboost(library, path))
    model = library.CatBoost()
    model.load_model(path, format="json")
    return Peer(model)
