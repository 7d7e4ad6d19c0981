"""`from_model`: converts a model of another library, fitted or in a file, and compares the two.

Their predictions are compared on rows on both sides of every threshold and on random ones, or on given rows;
if they differ, the model is refused and the row shown. A file can be read without the library that wrote it;
then there is nothing to compare with, and a warning says so.
"""

import json
import os
import warnings
from typing import Any, Literal, get_args

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.wording import shown
from hornbeam.errors import ImportedModelError
from hornbeam.exports.reading import portable
from hornbeam.exports.test_rows import rows_for
from hornbeam.imports.catboost_json import from_catboost
from hornbeam.imports.hist_boosting import from_hist_boosting
from hornbeam.imports.lightgbm_text import from_lightgbm
from hornbeam.imports.peers import Peer, peer_of_file, peer_of_model
from hornbeam.imports.sklearn_trees import SKLEARN_TREES, from_sklearn
from hornbeam.imports.ubjson import read_ubjson
from hornbeam.imports.xgboost_model import from_xgboost
from hornbeam.io.files import open_regular, text_of_path
from hornbeam.warnings import HornbeamWarning, UntestedExportWarning, warn

__all__ = ["from_model"]

Verify = Literal["present", "required"]
# As a share of the largest answer (at least 1); XGBoost sums in single precision.
_TOLERANCES = {"lightgbm": 1e-9, "sklearn": 1e-9, "catboost": 1e-7, "xgboost": 2e-5}
_N_RANDOM = 2_000
_LARGE = 1e38


def from_model(model: Any, *, rows: Any = None, verify: Verify = "present") -> Any:
    """Turn a model of another library into one of hornbeam, which predicts the same.

    `model` is fitted, or a path: scikit-learn's trees, forests, extra trees and histogram gradient boosting;
    LightGBM (or its text file), XGBoost (or its .json or .ubj file), CatBoost (or its .json file). Files are
    read as data: nothing is unpickled. The result is a fitted estimator: it can explain itself, be saved,
    reported and exported.

    Predictions are compared on `rows`, or on rows made for every threshold of the model;
    `hornbeam.errors.ImportedModelError` shows a row that differs, or names what cannot be represented. If a
    file's library is not installed, a warning says that nothing was compared; verify="required" refuses.
    """
    if verify not in get_args(Verify):
        raise ValueError(f"verify must be 'present' or 'required'; got {shown(verify)}.")
    if isinstance(model, str | bytes | os.PathLike):
        path = text_of_path(model)
        family, made = _from_file(path)
        peer = peer_of_file(family, path)
    else:
        family, made, peer = _from_object(model)
    if peer is None:
        sentence = f"{family} is not installed, so the imported model could not be compared with the original"
        if verify == "required":
            raise ImportedModelError(f"{sentence}; verify='required' refuses that.")
        warn(f"{sentence}.", UntestedExportWarning)
    else:
        _compare(made, peer, rows, _TOLERANCES[family])
    return made


def _from_object(model: Any) -> tuple[str, Any, Peer]:
    kind = type(model)
    module = kind.__module__.partition(".")[0]
    name = kind.__name__
    peer = peer_of_model(model)
    _refuse_unfitted(model, module)
    if module == "sklearn" and name in SKLEARN_TREES:
        return "sklearn", from_sklearn(model), peer
    if module == "sklearn" and name in ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"):
        return "sklearn", from_hist_boosting(model), peer
    if module == "lightgbm" and (name == "Booster" or hasattr(model, "booster_")):
        booster = model if name == "Booster" else model.booster_
        made = from_lightgbm(booster.model_to_string(), classes=getattr(model, "classes_", None))
        return "lightgbm", made, peer
    if module == "xgboost" and (name == "Booster" or hasattr(model, "get_booster")):
        booster = model if name == "Booster" else model.get_booster()
        document = json.loads(bytes(booster.save_raw("json")))
        classes, missing = getattr(model, "classes_", None), getattr(model, "missing", None)
        made = from_xgboost(document, classes=classes, missing=missing, as_estimator=booster is not model)
        return "xgboost", made, peer
    if module == "catboost" and hasattr(model, "save_model"):
        return "catboost", from_catboost(peer.document()), peer
    if module == "hornbeam":
        raise TypeError(
            f"from_model takes models of other libraries; this {name} is one of hornbeam already."
        )
    raise TypeError(
        "from_model takes trees, forests, extra trees and histogram gradient boosting of scikit-learn, and "
        "models of LightGBM, XGBoost and CatBoost, or a path to a file of these three; got "
        f"{kind.__module__}.{name}."
    )


def _refuse_unfitted(model: Any, module: str) -> None:
    if module == "catboost" and hasattr(model, "is_fitted"):
        if not model.is_fitted():
            raise NotFittedError(f"This {type(model).__name__} is not fitted yet.")
    elif module in _TOLERANCES and hasattr(model, "fit"):
        check_is_fitted(model)


def _from_file(path: str) -> tuple[str, Any]:
    with open_regular(path) as (file, size):
        data = file.read(size)
    where = shown(path, limit=4096)
    if data.startswith(b"tree\n") or data.startswith(b"tree\r\n"):
        return "lightgbm", from_lightgbm(data.decode("utf-8").replace("\r\n", "\n"))
    if data[:2] in (b"{L", b"{i", b"{U", b"{I", b"{l"):
        return "xgboost", from_xgboost(read_ubjson(data))
    if data.lstrip()[:1] == b"{":
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise ImportedModelError(f"{where} is not JSON: {error}") from None
        if "learner" in document:
            return "xgboost", from_xgboost(document)
        if "features_info" in document:
            return "catboost", from_catboost(document)
    raise ImportedModelError(
        f"{where} is neither LightGBM's text, XGBoost's JSON or binary JSON, nor CatBoost's JSON. Save the "
        "model in one of these forms; a pickle is never opened. hornbeam.load opens hornbeam's own files."
    )


def _compare(made: Any, peer: Peer, rows: Any, tolerance: float) -> None:
    """Ask both about the same rows."""
    given = _rows_for(made) if rows is None else rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        warnings.simplefilter("ignore", UserWarning)
        said = made.predict_proba(given) if hasattr(made, "predict_proba") else made.predict(given)
    ours = np.concatenate(said, axis=1) if isinstance(said, list) else np.asarray(said)
    theirs = peer.answers(given, made)
    ours, theirs = ours.reshape(len(theirs), -1), theirs.reshape(len(theirs), -1)
    if ours.shape != theirs.shape:
        raise ImportedModelError(
            f"the model gives {theirs.shape[1]} answers per row, the imported one {ours.shape[1]}"
        )
    scale = max(1.0, float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        wrong = ~((np.abs(ours - theirs) <= tolerance * scale) | (ours == theirs))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        values = [shown(value) for value in np.asarray(given, dtype=object)[row].tolist()[:40]]
        raise ImportedModelError(
            f"the model answers {theirs[row, column]} where the imported one answers {ours[row, column]}, so "
            f"it was not kept. The row is [{', '.join(values)}]."
        )


def _rows_for(made: Any) -> Any:
    """Make rows at the edges of all tests; infinite numbers, which some refuse, become large ones."""
    given = rows_for(portable(made), n_random=_N_RANDOM).as_array()
    if given.dtype.kind == "f":
        return np.clip(given, -_LARGE, _LARGE)
    for j, kind in enumerate(made._model.schema.kinds):
        if kind == "numeric":
            given[:, j] = np.clip(given[:, j].astype(np.float64), -_LARGE, _LARGE)
    return given
