"""Fits from files and streams, against the same fit on the same rows in memory: bit for bit."""

import tempfile
import warnings
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornbeam as hb
from sources.source_tables import assert_same, table_of, write

LEARNERS = [
    hb.GradientBoostingClassifier(n_estimators=4, random_state=0),
    hb.GradientBoostingClassifier(random_state=0, n_members=2, max_leaf_nodes=5),  # finds its own length
    hb.GradientBoostingClassifier(n_estimators=4, random_state=0, growth="symmetric"),
    hb.DecisionTreeClassifier(max_bins=255, random_state=0),
    hb.RandomForestClassifier(30, max_bins=20, random_state=0, max_depth=4, oob_score=True),
    hb.ExtraTreesClassifier(3, max_bins=255, random_state=0),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("weighted", [False, True])
def test_classes(learner: Any, weighted: bool, tmp_path: Path) -> None:
    table = table_of(600)
    write(table, tmp_path, [150, 151, 400], 64)
    X = table.drop(["label", "weight"] if weighted else ["label"])
    weights = table["weight"].to_numpy() if weighted else None
    wanted = _clone(learner).fit(X, table["label"], weights)
    found = _clone(learner).fit(
        tmp_path, target="label", sample_weight="weight" if weighted else None, max_memory="2GB"
    )
    assert_same(found, wanted)
    np.testing.assert_array_equal(found.predict_proba(X), wanted.predict_proba(X))


def _clone(learner: Any) -> Any:
    return type(learner)(**learner.get_params())


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")  # of a single row, of empty columns
@settings(max_examples=15)
@given(
    n_rows=st.integers(1, 300),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    group_rows=st.integers(1, 300),
    max_bins=st.integers(2, 255),
    seed=st.integers(0, 5),
)
def test_any_cut_of_the_rows(n_rows: int, cuts: list[int], group_rows: int, max_bins: int, seed: int) -> None:
    table = table_of(n_rows, seed).drop(["label", "weight"])
    options = {"n_estimators": 2, "max_bins": max_bins, "random_state": 0, "min_samples_leaf": 2}
    wanted = hb.GradientBoostingRegressor(**options).fit(table.drop(["y"]), table["y"])
    with tempfile.TemporaryDirectory() as folder:
        write(table, Path(folder), cuts, group_rows)
        found = hb.GradientBoostingRegressor(**options).fit(f"{folder}/*.parquet", target="y")
    assert_same(found, wanted)


def test_more_rows_than_bins_are_made_from(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    n_rows = 230_000
    table = pa.table(
        {"a": rng.normal(size=n_rows), "b": rng.integers(0, 300, n_rows), "y": rng.random(n_rows)}
    )
    write(table, tmp_path, [100_000], 50_000)
    wanted = hb.GradientBoostingRegressor(n_estimators=2).fit(table.drop(["y"]), table["y"])
    assert_same(hb.GradientBoostingRegressor(n_estimators=2).fit(tmp_path, target="y"), wanted)
    # So little memory for samples that every column needs a pass of its own.
    little = hb.EncodedTable.make(tmp_path, tmp_path / "codes", target="y", max_memory="2MB")
    assert_same(hb.GradientBoostingRegressor(n_estimators=2).fit(little), wanted)


@pytest.mark.parametrize(
    "learner",
    [
        hb.ExtraTreesRegressor(2, max_bins=1000, random_state=0, categorical_split="subset"),
        hb.DecisionTreeRegressor(max_bins=256, missing="surrogate", max_depth=4),
        hb.GradientBoostingRegressor(n_estimators=2, loss="absolute_error", categorical_split="subset"),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_codes_of_two_bytes(learner: Any) -> None:
    rng = np.random.default_rng(0)
    gaps = pa.array(rng.normal(size=3_000), mask=rng.random(3_000) < 0.1)
    texts = [f"k{k}" for k in rng.integers(0, 700, 3_000)]
    table = pa.table({"a": rng.normal(size=3_000), "gaps": gaps, "text": texts, "y": rng.normal(size=3_000)})
    wanted = _clone(learner).fit(table.drop(["y"]), table["y"])
    assert_same(_clone(learner).fit(table.to_reader(max_chunksize=999), target="y"), wanted)


def _sources(table: pa.Table, folder: Path) -> dict[str, Any]:
    write(table, folder, [100], 50)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return {
        "folder": folder,
        "pattern": str(folder / "*.parquet"),
        "dataset": ds.dataset(folder),
        "table": table,
        "reader": table.to_reader(max_chunksize=37),
        "polars": frame,
        "lazy polars": frame.lazy(),
        "pandas": table.to_pandas(),
        "duckdb": duckdb.from_arrow(table),
    }


def test_all_kinds_of_sources(tmp_path: Path) -> None:
    table = table_of(300).drop(["label", "weight"])
    wanted = hb.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(table.drop(["y"]), table["y"])
    for name, source in _sources(table, tmp_path).items():
        found = hb.GradientBoostingRegressor(n_estimators=3, random_state=0).fit(source, target="y")
        try:
            assert_same(found, wanted)
        except AssertionError as error:
            raise AssertionError(name) from error


def test_all_kinds_of_columns() -> None:
    """Whatever Arrow type a column has, a stream reads it as a table in memory is read, or refuses it."""
    rng = np.random.default_rng(0)
    n_rows = 120
    gaps, whole = rng.random(n_rows) < 0.2, rng.integers(0, 5, n_rows)
    columns = {
        "half": pa.array(rng.normal(size=n_rows).astype(np.float16), mask=gaps),
        "unsigned": pa.array(rng.integers(0, 2**63, n_rows, dtype=np.uint64) * 2),
        "decimal": pa.array(whole, mask=gaps).cast(pa.decimal128(22, 2)),
        "truth": pa.array(whole > 2, mask=gaps),
        "nothing": pa.nulls(n_rows),
        "no text": pa.nulls(n_rows, pa.string()),
        "no number": pa.array([np.nan] * n_rows),
        "large": pa.array(whole.astype(str), pa.large_string()),
        "view": pa.array(whole.astype(str)).cast(pa.string_view()),
        "coded numbers": pa.array(whole).dictionary_encode(),
        "ordered": pa.DictionaryArray.from_arrays(pa.array(whole), list("zebra"), ordered=True),
        "unused": pa.DictionaryArray.from_arrays(pa.array(whole % 2), ["z", "y", "never"]),
        "bytes": pa.array([b"a"] * n_rows),
        "lists": pa.array([[1]] * n_rows),
        "durations": pa.array([0] * n_rows, pa.duration("s")),
    }
    y = rng.normal(size=n_rows) + whole
    for name, column in columns.items():
        table = pa.table({"c": column, "other": rng.normal(size=n_rows), "y": y})
        for forced in ("from_dtype", ["c"]):
            options = {"n_estimators": 2, "random_state": 0, "min_samples_leaf": 2, "max_bins": 16}
            _compare_readings(name, table, {**options, "categorical_features": forced})


def _compare_readings(name: str, table: pa.Table, options: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns without values, of integers that float64 merges
        try:
            wanted = hb.GradientBoostingRegressor(**options).fit(table.drop(["y"]), table["y"])
        except (TypeError, ValueError) as error:
            for source in (table, table.to_reader(max_chunksize=50)):
                with pytest.raises(type(error)):
                    hb.GradientBoostingRegressor(**options).fit(source, target="y")
            return
        for source in (table, table.to_reader(max_chunksize=50)):
            found = hb.GradientBoostingRegressor(**options).fit(source, target="y")
            try:
                assert_same(found, wanted)
            except AssertionError as error:
                raise AssertionError(f"{name}, {options['categorical_features']}") from error


def test_the_index_of_pandas_is_no_feature() -> None:
    frame = table_of(50).select(["float", "y"]).to_pandas().iloc[::2]
    wanted = hb.GradientBoostingRegressor(n_estimators=2).fit(frame[["float"]], frame["y"])
    assert_same(hb.GradientBoostingRegressor(n_estimators=2).fit(frame, target="y"), wanted)


def test_progress_says_how_fast_rows_are_read(capfd: pytest.CaptureFixture[str]) -> None:
    table = table_of(200).select(["float", "y"])
    hb.GradientBoostingRegressor(n_estimators=2, verbose=1).fit(table, target="y")
    assert "rows/s" in capfd.readouterr().err


def test_offsets_groups_and_given_validation_rows(tmp_path: Path) -> None:
    table = table_of(400)
    offset, groups = table["float"].to_numpy().astype(float), table["whole"].fill_null(9)
    table = table.append_column("group", groups).append_column("offset", pa.array(offset))
    write(table, tmp_path, [], 99)
    X = table.drop(["y", "label", "weight", "group", "offset"])
    path = tmp_path / "less.parquet"
    pq.write_table(table.drop(["label", "weight"]), path)
    options = {"random_state": 0, "n_members": 1}
    wanted = hb.GradientBoostingRegressor(**options).fit(X, table["y"], offset=offset, groups=groups)
    found = hb.GradientBoostingRegressor(**options).fit(path, target="y", offset="offset", groups="group")
    assert_same(found, wanted)
    encoded = hb.EncodedTable.make(
        path, tmp_path / "codes", target="y", offset="offset", groups="group", drop=["flag"]
    )
    wanted = hb.GradientBoostingRegressor(**options).fit(
        X.drop(["flag"]), table["y"], offset=offset, groups=groups
    )
    assert_same(hb.GradientBoostingRegressor(**options).fit(encoded), wanted)
    with pytest.raises(ValueError, match="encoded with offset"):
        hb.DecisionTreeRegressor(max_bins=255).fit(encoded)
    judged = {"X_val": X.slice(0, 90), "y_val": table["y"].slice(0, 90)}
    pq.write_table(table.drop(["label", "weight", "group", "offset"]), path)
    options = {"n_estimators": 30, "early_stopping": True, "random_state": 0}
    wanted = hb.GradientBoostingRegressor(**options).fit(X, table["y"], **judged)
    assert_same(hb.GradientBoostingRegressor(**options).fit(path, target="y", **judged), wanted)


def test_rows_that_are_set_aside_keep_the_bins_of_all(tmp_path: Path) -> None:
    table = table_of(400).drop(["label", "weight"])
    write(table, tmp_path, [], 99)
    options = {"n_estimators": 20, "early_stopping": True, "random_state": 0}
    model = hb.GradientBoostingRegressor(**options).fit(tmp_path, target="y")
    twin = hb.GradientBoostingRegressor(**options).fit(table.drop(["y"]), table["y"])
    assert len(model.validation_score_) > 0
    assert model.score(table.drop(["y"]), table["y"]) == pytest.approx(
        twin.score(table.drop(["y"]), table["y"]), abs=0.1
    )


def test_an_encoded_table_serves_several_fits(tmp_path: Path) -> None:
    table = table_of(500).drop(["y"])
    write(table, tmp_path, [200], 100)
    path = tmp_path / "table.codes"
    encoded = hb.EncodedTable.make(tmp_path, path, target="label", sample_weight="weight")
    assert (encoded.n_rows, encoded.n_columns) == (int((table["weight"].to_numpy() > 0).sum()), 8)
    again = hb.EncodedTable.open(path, source=tmp_path)
    X, weights = table.drop(["label", "weight"]), table["weight"].to_numpy()
    for learner in (LEARNERS[0], _clone(LEARNERS[2])):
        wanted = _clone(learner).fit(X, table["label"], weights)
        assert_same(_clone(learner).fit(again), wanted)
        assert_same(_clone(learner).fit(encoded, encoded.y, encoded.sample_weight), wanted)
    with pytest.raises(ValueError, match="max_bins=255"):
        hb.GradientBoostingClassifier(n_estimators=2, max_bins=100).fit(encoded)
    with pytest.raises(TypeError, match="codes of bins"):
        hb.KNeighborsClassifier().fit(encoded, encoded.y)
    write(table.slice(3), tmp_path, [], 100)
    with pytest.raises(ValueError, match="have changed"):
        hb.EncodedTable.open(path, source=tmp_path)
