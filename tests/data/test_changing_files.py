"""Files that somebody writes to while a fit reads them: an error says which, and nothing is left behind."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hornbeam as hb


def table_of(seed: int, n_rows: int = 300) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "number": rng.normal(size=n_rows),
            "few": rng.integers(0, 5, n_rows) + 10 * (seed > 9),
            "kind": rng.choice(["a", "b"] if seed < 9 else ["c", "d"], n_rows),
            "y": rng.normal(size=n_rows),
        }
    )


def encode_while(change: Any, folder: Path, **options: Any) -> Any:
    """Encode the files of a folder; `change` is called between the two passes."""

    def tell(what: str, done: int, in_all: int) -> None:
        if (what, done) == ("Finding bins", in_all):
            change()

    return hb.EncodedTable.make(folder, folder.parent / "codes", target="y", progress=tell, **options)


OTHER_KIND = table_of(9).set_column(1, "few", table_of(1)["few"])
OTHER_NUMBERS = table_of(10).set_column(2, "kind", table_of(1)["kind"])
FEWER_ROWS = "1.parquet, row group . (has .* rows, but its file states|cannot be read)"


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (OTHER_KIND, "1.parquet, row group 0: column 'kind' has changed"),
        (OTHER_NUMBERS, "1.parquet, row group 0: column 'few' has changed"),
        (table_of(1, 200), FEWER_ROWS),
        (table_of(1).drop(["number"]), "1.parquet, row group 0 cannot be read"),
        (None, "1.parquet, row group 0 cannot be read"),
    ],
)
def test_a_file_that_changes_between_the_passes(second: pa.Table | None, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    for number in range(2):
        pq.write_table(table_of(number), folder / f"{number}.parquet", row_group_size=128)

    def change() -> None:
        if second is None:
            (folder / "1.parquet").unlink()
        else:
            pq.write_table(second, folder / "1.parquet", row_group_size=128)

    with pytest.raises(ValueError, match=words):
        encode_while(change, folder)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_numbers_that_still_go_into_the_bins(tmp_path: Path) -> None:
    # Nothing but the time of writing tells.
    folder = tmp_path / "data"
    folder.mkdir()
    plain = {"compression": "none", "use_dictionary": False}  # files of the same length
    pq.write_table(table_of(0), folder / "0.parquet", **plain)
    later = os.stat(folder / "0.parquet").st_mtime_ns + 10**9

    def change() -> None:
        pq.write_table(table_of(1), folder / "0.parquet", **plain)
        os.utime(folder / "0.parquet", ns=(later, later))

    with pytest.raises(ValueError, match=r"files have changed while they were read\. Fit again"):
        encode_while(change, folder, max_bins=16)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
