"""Row 73 of the catalogue: the model files of every release load, with the same answers to the last bit."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from golden.make import as_json

import hornbeam as hb
from hornbeam.params import estimators

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
FILES = sorted(GOLDEN.glob("*/*.hornbeam"))


def expected_of(path: Path) -> dict[str, Any]:
    listing = json.loads((path.parent / "expected.json").read_text(encoding="utf-8"))
    expected: dict[str, Any] = listing[path.name]
    return expected


def rows_of(columns: list[dict[str, Any]]) -> Any:
    """Read rows: hexadecimal texts are numbers, null is missing, the rest are categories."""
    arrays = []
    for column in columns:
        values = column["values"]
        if all(value is None or value.removeprefix("-")[:2] in ("0x", "in") for value in values):
            arrays.append(np.array([np.nan if value is None else float.fromhex(value) for value in values]))
        else:
            arrays.append(np.array(values, dtype=object))
    if columns[0]["name"] is None:
        return np.stack(arrays, axis=1)
    return pd.DataFrame({column["name"]: array for column, array in zip(columns, arrays, strict=True)})


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_73_the_answers_are_the_same(path: Path) -> None:
    expected = expected_of(path)
    model = hb.load(path)
    assert type(model).__name__ == expected["estimator"]
    asked = sorted(
        expected.keys() - {"estimator", "columns"}
    )  # what the model could be asked when it was saved
    rows = rows_of(expected["columns"])
    assert {name: as_json(getattr(model, name)(rows)) for name in asked} == {
        name: expected[name] for name in asked
    }


def test_every_file_is_listed_and_the_other_way_round() -> None:
    folders = {path.parent for path in FILES}
    assert folders
    for folder in folders:
        listed = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        assert set(listed) == {path.name for path in FILES if path.parent == folder}


def test_every_estimator_has_a_golden_file() -> None:
    """Add a sample to tests/model_files.py and run tests/golden/make.py."""
    ours = {cls.__name__ for cls in estimators()}
    assert {expected_of(path)["estimator"] for path in FILES} == ours | {"Pipeline"}  # the linear model
