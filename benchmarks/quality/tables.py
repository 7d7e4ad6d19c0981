"""The tables: every one in the shared folder with a target, a task and rows enough for five folds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.data import shared_folder

__all__ = ["QualityTable", "prepared", "read_tables"]

Task = Literal["binary", "multiclass", "regression"]

_FEWEST_ROWS = 100
_FEWEST_OF_A_CLASS = 10
_MOST_COLUMNS = 500
_AS_TEXT = {"ames_housing": {"PID": str, "MS SubClass": str}}


@dataclass(frozen=True)
class QualityTable:
    """A table of at most so many rows; texts are pandas categories, classes are numbers from 0."""

    name: str
    task: Task
    X: pd.DataFrame
    y: NDArray[Any]

    @property
    def is_regression(self) -> bool:
        return self.task == "regression"


def read_tables(most_rows: int, only: str = "") -> list[QualityTable]:
    """Read all tables that fit; the README of the folder says what the targets are."""
    folder = shared_folder()
    tables = []
    for line in (folder / "README.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) < 4 or not cells[0].startswith("`"):
            continue
        target = re.match(r"`([^`]+)`", cells[2])
        name = cells[0].strip("`").split(".")[0]
        if target and cells[3] in ("binary", "multiclass", "regression") and only in name:
            frame = _read(folder / cells[0].strip("`"), name)
            table = prepared(frame, name, target.group(1), cells[3], most_rows)
            tables += [table] if table is not None else []
    return tables


def _read(path: Any, name: str) -> pd.DataFrame:
    return pd.read_csv(
        path, keep_default_na=False, na_values=[""], low_memory=False, dtype=_AS_TEXT.get(name)
    )


def prepared(frame: pd.DataFrame, name: str, target: str, task: str, most_rows: int) -> QualityTable | None:
    """Draw rows, take the target out, turn texts into categories; None for a table that is too small."""
    frame = frame[frame[target].notna()]
    if len(frame) > most_rows:
        frame = frame.sample(most_rows, random_state=0)
    y = frame.pop(target)
    if task == "regression":
        numbers = y.to_numpy(dtype=np.float64)
    else:
        frequent = y.map(y.value_counts()) >= _FEWEST_OF_A_CLASS
        frame, y = frame[frequent], y[frequent]
        numbers = pd.factorize(y, sort=True)[0]
    frame = frame.reset_index(drop=True)
    if len(frame) < _FEWEST_ROWS or frame.shape[1] > _MOST_COLUMNS or len(np.unique(numbers)) < 2:
        return None
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype("category")
    kind: Task = "regression" if task == "regression" else "binary" if numbers.max() == 1 else "multiclass"
    return QualityTable(name, kind, frame.astype({c: float for c in frame.select_dtypes("bool")}), numbers)
