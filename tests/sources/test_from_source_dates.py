"""Dates in files and streams, against the same fit on the same rows in memory: bit for bit."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import hornbeam as hb
from hornbeam.warnings import DataWarning
from sources.source_tables import assert_same, write

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
