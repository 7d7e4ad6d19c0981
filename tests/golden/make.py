"""Writes model files that every later version must load with the same answers, into a folder of this version.

    python tests/golden/make.py

A file that is there already is never written again: what was released must stay readable. Beside the files
lies `expected.json` with rows and the answers of the model that was saved, numbers as hexadecimal texts, to
the last bit. `tests/io/test_golden.py` loads them all.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model_files import SAMPLES, fit_samples

import hornbeam as hb

FOLDER = Path(__file__).resolve().parent
N_ROWS = 8  # enough to reach different leaves


def as_json(array: Any) -> Any:
    """Write an array as nested lists; floats as hexadecimal texts, missing values as null."""
    if isinstance(array, list):
        return [as_json(entry) for entry in array]
    if isinstance(array, np.ndarray):
        return as_json(array.tolist())
    if isinstance(array, float):
        return None if np.isnan(array) else array.hex()
    return array


def columns_of(X: Any) -> list[dict[str, Any]]:
    """Write rows by column: a name, if there are names, and values."""
    if isinstance(X, pd.DataFrame):
        return [
            {"name": name, "values": as_json(X[name].astype(object).where(X[name].notna(), None).to_list())}
            for name in X.columns
        ]
    return [{"name": None, "values": as_json(X[:, j])} for j in range(X.shape[1])]


def answers(model: Any, X: Any) -> dict[str, Any]:
    """Ask a model everything that the golden files promise."""
    found = {}
    for method in ("apply", "predict", "score_samples"):
        if hasattr(model, method):
            found[method] = as_json(getattr(model, method)(X))
    # Of a linear model only what it decides: its sums are scikit-learn's, which may round as machines do.
    if hasattr(model, "predict_proba") and not hasattr(model, "steps"):
        found["predict_proba"] = as_json(model.predict_proba(X))
    return found


def main() -> None:
    """Write what is missing."""
    folder = FOLDER / hb.__version__
    folder.mkdir(exist_ok=True)
    listing = folder / "expected.json"
    expected = json.loads(listing.read_text(encoding="utf-8")) if listing.exists() else {}
    models = fit_samples()
    for name in SAMPLES:
        for suffix, predict_only in (("", False), ("-predict-only", True)):
            path = folder / f"{name}{suffix}.hornbeam"
            if path.exists():
                continue
            model, X = models[name]
            rows = X[:N_ROWS]
            hb.save(model, path, predict_only=predict_only)
            expected[path.name] = {"estimator": type(model).__name__, "columns": columns_of(rows)}
            expected[path.name].update(answers(model, rows))
            print("written:", path.name)
    lines = [f"{json.dumps(name)}: {json.dumps(expected[name])}" for name in sorted(expected)]
    listing.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
