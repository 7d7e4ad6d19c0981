"""Fits from files and streams that go wrong, and what they leave behind: nothing."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import hornbeam as hb
from sources.source_tables import table_of, write

# ------------------------------------------------------------------------------------------------------------
# What goes wrong


def _fit(source: Any, **options: Any) -> Any:
    return hb.GradientBoostingRegressor(n_estimators=2).fit(source, target="y", **options)


def test_errors_name_the_file_the_row_group_and_the_column(tmp_path: Path) -> None:
    good = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]})

    def with_third(table: pa.Table, **options: Any) -> Path:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        for number in range(2):
            pq.write_table(good, folder / f"{number}.parquet")
        pq.write_table(table, folder / "2.parquet", **options)
        return folder

    for table, options, message in (
        (good.append_column("b", good["a"]), {}, r"2\.parquet has a column 'b'"),
        (good.drop(["a"]), {}, r"2\.parquet has no column 'a'"),
        (good.set_column(0, "a", pa.array(["x"] * 4)), {}, r"2\.parquet, column 'a': the type is string"),
        (
            good.set_column(1, "y", pa.array([1.0, 2.0, 3.0, None])),
            {"row_group_size": 2},
            r"2\.parquet, row group 1: column 'y' \(target\) has no value in row 11",
        ),
        (
            good.set_column(1, "y", pa.array([1.0, 2.0, np.inf, 4.0])),
            {"row_group_size": 2},
            r"2\.parquet, row group 1: column 'y' \(target\) holds inf in row 10",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            _fit(with_third(table, **options))
    broken = with_third(good)
    (broken / "2.parquet").write_bytes((broken / "2.parquet").read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"2\.parquet is not a readable Parquet file"):
        _fit(broken)
    damaged = with_third(good, compression="none", use_dictionary=False, write_statistics=False)
    content = bytearray((damaged / "2.parquet").read_bytes())
    content[4:40] = b"\xff" * 36  # the head of the first page
    (damaged / "2.parquet").write_bytes(content)
    with pytest.raises(ValueError, match=r"2\.parquet, row group 0 cannot be read"):
        _fit(damaged)


def test_other_errors(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    (tmp_path / "empty").mkdir()
    for source, options, error, message in (
        (tmp_path / "empty", {}, FileNotFoundError, "no Parquet files"),
        (tmp_path / "b*.parquet", {}, FileNotFoundError, "no file"),
        (tmp_path, {"sample_weight": "w"}, ValueError, "sample_weight='w' is not a column"),
        (tmp_path, {"sample_weight": [1, 2]}, TypeError, "name of a column"),
        (tmp_path, {"max_memory": "4 bananas"}, ValueError, "4 bananas"),
        (tmp_path, {"y": [1.0, 2.0]}, TypeError, "not both"),
        (np.ones((3, 2)), {}, TypeError, "ndarray"),
        (pa.table({"y": [1.0]}), {}, ValueError, "no columns besides"),
        (
            pa.table({"a": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}),
            {},
            ValueError,
            "no rows",
        ),
        (
            pa.table({"a": [1.0], "y": pa.array([0], pa.timestamp("s"))}),
            {},
            ValueError,
            "column 'y' holds dates; as target",
        ),
        (pa.table({"a": [1.0, 2.0], "y": ["one", "two"]}), {}, ValueError, "'one'"),
        (pa.table({"a": [1.0, 2.0], "y": [1.0, 2.0]}), {"max_memory": "0GB"}, ValueError, "'0GB'|got 0"),
        (pa.table({"a": [1.0, 2.0], "y": [1.0, 2.0]}), {"max_memory": "-1"}, ValueError, "'-1'"),
        (pa.table({"a": [1.0, 2.0], "y": [1.0, 2.0]}), {"max_memory": True}, ValueError, "True"),
        (pa.table({"a": [1.0, 2.0], "y": [1.0, 2.0]}), {"max_memory": 1.5}, ValueError, "1.5"),
        (pa.table({"a": [[1], [2]], "y": [1.0, 2.0]}), {}, Exception, "'a'"),
    ):
        with pytest.raises(error, match=message):
            _fit(source, **options)
    with pytest.raises(ValueError, match="max_bins"):
        hb.RandomForestRegressor().fit(tmp_path, target="y")
    with pytest.raises(ValueError, match=r"target='z' is not a column.*'a', 'y'"):
        hb.GradientBoostingRegressor().fit(tmp_path, target="z")
    with pytest.raises(MemoryError, match="max_memory is"):
        _fit(tmp_path, max_memory="1MB")


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "data").mkdir()
    table = table_of(200).drop(["label", "weight"])
    write(table, tmp_path / "data", [], 50)
    _fit(tmp_path / "data")
    assert not any((tmp_path / "temporary").iterdir())

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _fit(tmp_path / "data", callbacks=[stop])
    with pytest.raises(ValueError, match="is not a column"):
        hb.EncodedTable.make(table, tmp_path / "codes", target="nothing")
    assert not any((tmp_path / "temporary").iterdir())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "temporary"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_ctrl_c_while_reading_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "temporary").mkdir()
    script = """
        import signal, sys
        signal.signal(signal.SIGINT, signal.default_int_handler)
        import numpy as np, pyarrow as pa, hornbeam as hb
        table = pa.table({f"x{j}": np.random.default_rng(j).random(400_000) for j in range(12)})
        print("go", flush=True)
        while True:
            hb.GradientBoostingRegressor(n_estimators=1).fit(table, target="x0")
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.readline()
    deadline = time.monotonic() + 30
    while not any((tmp_path / "temporary").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    assert not any((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize(
    ("learner", "limit", "words"),
    [
        # 8 columns of codes; 100 bytes beside them, 70 for each thread; a node takes 72, and 8 per class.
        (
            hb.RandomForestRegressor(3, max_bins=255, max_depth=4, n_jobs=2),
            3_000 * 248 + 5 * 31 * 80,
            "3 tree",
        ),
        (
            hb.RandomForestClassifier(4, max_bins=255, max_leaf_nodes=9, n_jobs=1),
            3_000 * 178 + 5 * 17 * 96,
            "9 leaves",
        ),
        (
            hb.ExtraTreesClassifier(4, max_bins=255, min_samples_leaf=30, n_jobs=1),
            3_000 * 178 + 5 * 199 * 96,
            "100 leaves",
        ),
        (hb.DecisionTreeRegressor(max_bins=255), 3_000 * 178 + 2 * 5_999 * 80, "up to 3000 leaves"),
    ],
)
def test_forests_state_their_bound(learner: Any, limit: int, words: str, tmp_path: Path) -> None:
    table = table_of(3_000).drop(["weight", "y" if "Classifier" in type(learner).__name__ else "label"])
    target = "label" if "label" in table.column_names else "y"
    base = 160 * 2**20
    with pytest.raises(MemoryError, match=rf"{words}.* may take .* while trees grow.*min_samples_leaf"):
        clone(learner).fit(table, target=target, max_memory=base + limit - 1)
    clone(learner).fit(table, target=target, max_memory=base + limit)
