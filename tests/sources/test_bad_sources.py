"""Sources that cannot be learned from, as users bring them: each is refused in words that help."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hornbeam as hb

TABLE = pa.table({"a": [1.0, 2.0, 3.0], "w": [1.0, 2.0, 1.0], "y": [1.0, 2.0, 3.0]})


def broken() -> Iterator[pa.RecordBatch]:
    yield TABLE.to_batches()[0]
    raise RuntimeError("the line went dead")


def read_before() -> pa.RecordBatchReader:
    reader = TABLE.to_reader()
    reader.read_all()
    return reader


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (pd.DataFrame({"a": [1.0, "x", 2.0], "y": [1.0, 2.0, 3.0]}), "'a' mixes .*row 1"),
        (
            pa.RecordBatchReader.from_batches(TABLE.schema, broken()),
            "stream cannot be read to its end .*dead",
        ),
        (read_before(), "stream has no rows.*read before, make it anew"),
        (TABLE.set_column(2, "y", pa.array(["one", "two", "one"])), "target='y' .* texts, such as 'one'"),
    ],
)
def test_streams_and_frames(source: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        hb.GradientBoostingRegressor(n_estimators=1).fit(source, target="y", checkpoint=tmp_path / "kept")


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, -2.0, 1.0], r"1\.parquet, row group 0: column 'w' \(sample_weight\) holds -2.0 in row 4"),
        ([1.0, np.inf, 1.0], r"1\.parquet, row group 0: column 'w' \(sample_weight\) holds inf in row 4"),
        ([1.0, 2.0, None], r"1\.parquet, row group 0: column 'w' \(sample_weight\) has no value in row 5"),
    ],
)
def test_weights_of_files(weights: list[float], words: str, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "0.parquet")
    pq.write_table(TABLE.set_column(1, "w", pa.array(weights)), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=words):
        hb.DecisionTreeRegressor(max_bins=255).fit(tmp_path, target="y", sample_weight="w")


def test_no_row_with_a_weight() -> None:
    table = TABLE.set_column(1, "w", pa.array([0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match="sample_weight='w': all rows have weight 0"):
        hb.DecisionTreeRegressor(max_bins=255).fit(table, target="y", sample_weight="w")
