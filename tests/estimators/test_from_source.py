"""Fits from files and streams, against the same fit on the same rows in memory: bit for bit."""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
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
from sklearn.base import clone

import hornbeam as hb
from hornbeam.model import tree_to_arrays
from hornbeam.warnings import DataWarning


def table_of(n_rows: int, seed: int = 0) -> pa.Table:
    """Numbers with few and many values, gaps, infinities, texts, few and many categories."""
    rng = np.random.default_rng(seed)
    gaps = np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows))
    extremes = np.where(rng.random(n_rows) < 0.1, np.inf, rng.normal(size=n_rows).round(1))
    whole = pa.array(rng.integers(-5, 6, n_rows), mask=rng.random(n_rows) < 0.1)
    texts = rng.choice(["b", "a", "C", "\u00e9"], n_rows)
    y = rng.normal(size=n_rows) + (texts == "a") + np.nan_to_num(gaps)
    return pa.table(
        {
            "float": rng.normal(size=n_rows).astype(np.float32),
            "gaps": pa.array(gaps, from_pandas=True),
            "extremes": extremes,
            "whole": whole,
            "flag": rng.random(n_rows) < 0.5,
            "text": pa.array(texts, mask=rng.random(n_rows) < 0.1),
            "many": pa.array([f"k{k}" for k in rng.integers(0, 45, n_rows)]),
            "coded": pa.array(rng.choice(["q", "r", "p"], n_rows)).dictionary_encode(),
            "weight": rng.integers(0, 4, n_rows),
            "label": np.where(y > 0.5, "yes", np.where(y > -0.5, "maybe", "no")),
            "y": y,
        }
    )


def write(table: pa.Table, folder: Path, cuts: list[int], group_rows: int) -> None:
    bounds = [0, *sorted(min(cut, len(table)) for cut in cuts), len(table)]
    for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
        part = table.slice(begin, end - begin)
        pq.write_table(part, folder / f"part-{number:03}.parquet", row_group_size=group_rows)


def assert_same(found: Any, wanted: Any) -> None:
    assert found._model.schema == wanted._model.schema
    assert len(found._model.trees) == len(wanted._model.trees)
    for ours, theirs in zip(found._model.trees, wanted._model.trees, strict=True):
        arrays = tree_to_arrays(theirs)
        for name, values in tree_to_arrays(ours).items():
            np.testing.assert_array_equal(values, arrays[name])
    if hasattr(wanted, "classes_"):
        np.testing.assert_array_equal(found.classes_, wanted.classes_)
        assert found.classes_.dtype == wanted.classes_.dtype
    assert found.n_features_in_ == wanted.n_features_in_
    np.testing.assert_array_equal(found.feature_names_in_, wanted.feature_names_in_)
    assert found._missing_seen == wanted._missing_seen


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


# ------------------------------------------------------------------------------------------------------------
# Dates


def dated(n_rows: int, seed: int) -> pa.Table:
    """Dates of every kind: days, moments, with a zone, as texts in two orders; gaps at the beginning."""
    rng = np.random.default_rng(seed)
    days = np.datetime64("2020-01-01") + rng.integers(0, 900, n_rows).astype("timedelta64[D]")
    moments = days.astype("datetime64[s]") + rng.integers(0, 86_400, n_rows).astype("timedelta64[s]")
    written = [day.astype(object).strftime("%m/%d/%Y") for day in days]
    early = np.arange(n_rows) < n_rows // 3
    month = days.astype("datetime64[M]").astype(np.int64) % 12
    return pa.table(
        {
            "day": pa.array(days, mask=rng.random(n_rows) < 0.1),
            "number": rng.normal(size=n_rows),
            "moment": moments,
            "zone": pa.array(moments.astype("datetime64[us]"), pa.timestamp("us", tz="Europe/Berlin")),
            "text": pa.array([str(day) for day in days], mask=early),
            "written": written,
            "never": pa.nulls(n_rows, pa.timestamp("ms")),
            "one": np.full(n_rows, days[0]),
            "nearly": pa.array([*written[:-1], "none"]),
            "y": rng.normal(size=n_rows) + 2.0 * month,
        }
    )


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
@pytest.mark.parametrize(
    "learner",
    [
        hb.GradientBoostingRegressor(n_estimators=3, random_state=0),
        hb.RandomForestRegressor(3, max_bins=100, random_state=0),
        hb.DecisionTreeRegressor(max_bins=255, random_state=0),
    ],
)
def test_dates_are_the_columns_that_they_are_in_memory(learner: Any, tmp_path: Path) -> None:
    table = dated(1_500, seed=0)
    write(table, tmp_path, [400, 410], 150)
    features = table.drop(["y"])
    wanted = clone(learner).fit(features, table["y"])
    assert {"day.month", "moment.hour", "text.weekday", "written.day"} <= set(wanted._model.schema.names)
    found = clone(learner).fit(tmp_path, target="y")
    assert_same(found, wanted)
    np.testing.assert_array_equal(found.predict(features), wanted.predict(features))


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
@settings(max_examples=10, deadline=None)
@given(
    n_rows=st.integers(2, 40),
    step=st.sampled_from([0.01, 0.4, 1.0, 6.0, 8.0, 27.0, 29.0, 364.0, 366.0]),
    offset=st.sampled_from([0.0, 0.5]),
    cuts=st.lists(st.integers(0, 40), max_size=3),
)
def test_parts_of_dates_are_chosen_alike(n_rows: int, step: float, offset: float, cuts: list[int]) -> None:
    moments = (np.arange(n_rows) * step + offset) * 86_400
    table = pa.table(
        {"t": pa.array(moments.astype(np.int64), pa.timestamp("s")), "y": np.arange(n_rows, dtype=np.float64)}
    )
    with tempfile.TemporaryDirectory() as folder:
        write(table, Path(folder), cuts, 7)
        found = hb.DecisionTreeRegressor(max_bins=255).fit(folder, target="y")
    assert_same(found, hb.DecisionTreeRegressor(max_bins=255).fit(table.drop(["y"]), table["y"]))


def test_texts_that_are_dates_are_said(tmp_path: Path) -> None:
    table = pa.table({"t": ["2024-01-02", "2024-05-06"], "y": [1.0, 2.0]})
    with pytest.warns(DataWarning, match="Every text is a date in column 't'"):
        hb.EncodedTable.make(table, tmp_path / "codes", target="y")
    plain = hb.EncodedTable.make(table, tmp_path / "plain", target="y", categorical_features=["t"])
    assert plain.n_columns == plain.n_code_columns == 1


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
def test_an_encoded_table_remembers_its_dates(tmp_path: Path) -> None:
    table = dated(300, seed=1)
    hb.EncodedTable.make(table, tmp_path / "codes", target="y")
    encoded = hb.EncodedTable.open(tmp_path / "codes")
    assert encoded.feature_names == table.drop(["y"]).column_names
    assert encoded.shape == (300, 9) and encoded.n_code_columns > 20
    learner = hb.GradientBoostingRegressor(n_estimators=2, random_state=0)
    assert_same(clone(learner).fit(encoded), learner.fit(table.drop(["y"]), table["y"]))


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
    with pytest.raises(ValueError, match=r"2\.parquet is no Parquet file"):
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
        (tmp_path, {"sample_weight": "w"}, ValueError, "sample_weight='w' is no column"),
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
    with pytest.raises(ValueError, match=r"target='z' is no column.*'a', 'y'"):
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
    with pytest.raises(ValueError, match="no column"):
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
