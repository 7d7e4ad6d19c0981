"""Dates on a real cluster of processes: the columns that they are on one machine."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.warnings import DataWarning

pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")

from dask import delayed  # noqa: E402

import hornbeam.dask as on_cluster  # noqa: E402
from dask_cluster.rows import assert_same  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(280)]

CUTS = [0, 700, 700, 1_900, 3_000]  # the second partition is empty


def dated(n_rows=3_000):
    """Make dates of every kind; the first partition has no days, and no text that tells an order."""
    rng = np.random.default_rng(3)
    day = np.datetime64("2021-03-01") + rng.integers(0, 500, n_rows).astype("timedelta64[D]")
    moment = day.astype("datetime64[s]") + rng.integers(0, 86_400, n_rows).astype("timedelta64[s]")
    early = np.arange(n_rows) < CUTS[1]
    unclear = np.where(early, np.datetime64("2021-04-05"), day)
    month = day.astype("datetime64[M]").astype(np.int64) % 12
    frame = pd.DataFrame(
        {
            "day": pd.Series(day).mask(early | (rng.random(n_rows) < 0.1)),
            "number": rng.normal(size=n_rows),
            "moment": pd.Series(moment).dt.tz_localize("Europe/Berlin", ambiguous=True, nonexistent="NaT"),
            "written": pd.Series(unclear).dt.strftime("%m/%d/%Y"),
            "long": pd.Series(day).dt.strftime("%Y-%m-%d"),
            "never": pd.Series(np.full(n_rows, np.datetime64("NaT"), dtype="datetime64[ns]")),
            "nearly": pd.Series(day).dt.strftime("%d.%m.%Y").mask(np.arange(n_rows) == n_rows - 1, "none"),
        }
    )
    return frame, rng.normal(size=n_rows) + 2.0 * month


@pytest.mark.parametrize(
    ("name", "options", "weighted"),
    [
        ("GradientBoostingRegressor", {"n_estimators": 3}, True),
        ("GradientBoostingRegressor", {"n_estimators": 3, "early_stopping": True}, False),
        ("RandomForestRegressor", {"n_estimators": 3, "max_bins": 100}, False),
        ("DecisionTreeRegressor", {"max_bins": 255, "max_leaf_nodes": 40}, True),
    ],
)
def test_dates_are_the_columns_of_one_machine(client, name, options, weighted):
    frame, y = dated()
    weights = None
    if weighted:
        weights = np.ones(len(frame))
        weights[2_500:] = 0.0  # whose last text is no date
    parts = [delayed(frame[begin:end]) for begin, end in pairwise(CUTS)]
    model = getattr(on_cluster, name)(random_state=0, **options).fit(parts, y, sample_weight=weights)
    expected = getattr(hb, name)(random_state=0, **options).fit(frame, y, weights)
    names = set(expected._model.schema.names)
    assert {"day.month", "moment.hour", "written.day", "long.weekday", "never"} <= names
    assert ("nearly.month" in names) == weighted
    assert_same(model, expected)
    assert model.n_features_in_ == expected.n_features_in_ == frame.shape[1]
    assert np.array_equal(model.feature_names_in_, expected.feature_names_in_)
    lazy = model.predict(parts[:3])
    assert np.array_equal(
        np.concatenate([answers.compute() for answers in lazy]), expected.predict(frame[: CUTS[3]])
    )


def test_texts_that_are_dates_are_said_and_may_stay_categories(client):
    texts = pd.DataFrame({"t": ["2024-01-02", "2024-05-06"] * 40, "z": np.arange(80.0)})
    rows = dd.from_pandas(texts, npartitions=3)
    model = on_cluster.DecisionTreeRegressor(max_bins=32)
    with pytest.warns(DataWarning, match="Every text is a date in column 't'"):
        model.fit(rows, np.arange(80.0))
    assert model._model.schema.parts
    plain = on_cluster.DecisionTreeRegressor(max_bins=32, categorical_features=["t"])
    assert plain.fit(rows, np.arange(80.0))._model.schema.categories[0] == ("2024-01-02", "2024-05-06")


def test_dates_in_one_partition_and_something_else_in_another_are_refused(client):
    day = pd.DataFrame({"t": np.array(["2024-01-02"] * 5, dtype="datetime64[s]")})
    model = on_cluster.GradientBoostingRegressor(n_estimators=1)
    for other, words in ((1.0, "numeric in partition 1"), ("2024-05-06", "categorical in partition 1")):
        parts = [delayed(day), delayed(pd.DataFrame({"t": [other] * 5}))]
        with pytest.raises(ValueError, match=rf"'t' is {words} and one of dates in partition 0.*same dtypes"):
            model.fit(parts, np.arange(10.0))
