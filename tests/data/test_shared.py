"""Shared rows: a fit on them is a fit on a copy of them, whatever the table and whichever the learner."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import hornbeam as hb
from hornbeam.data.shared import SharedTable, rows_of

ROWS = np.array([*range(0, 60, 2), *range(1, 40, 3)])


def mixed_table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "number": rng.normal(size=80).round(1),
            "gaps": np.where(rng.random(80) < 0.2, np.nan, rng.integers(0, 300, 80)),
            "colour": rng.choice(["red", "green", "blue"], 80),
            "rare": [
                "once" if row == 79 else "usual" for row in range(80)
            ],  # a category only other rows have
            "size": pd.Categorical(rng.choice(["s", "m"], 80), categories=["s", "m", "l"], ordered=True),
        }
    )


def containers():
    numbers = np.random.default_rng(1).normal(size=(80, 4)).round(1)
    wide = np.random.default_rng(2).normal(size=(80, 5))
    return {
        "pandas": mixed_table(),
        "polars": pl.from_pandas(mixed_table().drop(columns="size")),
        "float64": numbers,
        "float32 by columns": np.asfortranarray(numbers, dtype=np.float32),
        "objects": mixed_table()[["number", "colour"]].to_numpy(dtype=object),
        "sparse": sparse.coo_array(np.where(np.abs(wide) > 1, wide, 0.0)),
    }


LEARNERS = [
    hb.DecisionTreeClassifier(random_state=0),
    hb.DecisionTreeClassifier(max_bins=8, max_features=2, random_state=0),
    hb.DecisionTreeClassifier(prune="cost_complexity", random_state=0),
    hb.RandomForestClassifier(n_estimators=5, random_state=0),
    hb.BaggingClassifier(n_estimators=4, random_state=0),
    hb.AdaBoostClassifier(n_estimators=4),
    hb.GradientBoostingClassifier(n_estimators=4, min_samples_leaf=2),
    hb.GradientBoostingClassifier(n_estimators=4, early_stopping=True, scoring="accuracy", random_state=0),
    hb.KNeighborsClassifier(metric="gower"),
]


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("kind", list(containers()))
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_a_fit_on_shared_rows_equals_a_fit_on_a_copy(kind, learner, tmp_path):
    X = containers()[kind]
    y = np.random.default_rng(3).choice(["a", "b", "c"], 80)
    shared = SharedTable(X, reader="test")
    on_copy = learner.__class__(**learner.get_params()).fit(rows_of(X, ROWS), y[ROWS])
    first = learner.__class__(**learner.get_params()).fit(shared.rows(ROWS), y[ROWS])
    for name, model in (("copy", on_copy), ("first", first)):
        hb.save(model, tmp_path / name)
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "first").read_bytes()
    everything = np.arange(80)[::-1]
    np.testing.assert_array_equal(
        first.predict_proba(shared.rows(everything)), on_copy.predict_proba(rows_of(X, everything))
    )


def test_what_a_fit_has_made_of_rows_serves_the_next_one(monkeypatch):
    X, y = containers()["pandas"], np.arange(80) % 2
    rows = SharedTable(X, reader="test").rows(ROWS)
    hb.DecisionTreeClassifier().fit(rows, y[ROWS])
    monkeypatch.setattr("hornbeam._core.encode_table", None)  # whoever encodes again fails
    expected = hb.RandomForestClassifier(n_estimators=2, random_state=0).fit(rows, y[ROWS])
    monkeypatch.undo()
    again = hb.RandomForestClassifier(n_estimators=2, random_state=0).fit(rows_of(X, ROWS), y[ROWS])
    np.testing.assert_array_equal(expected.predict_proba(X[:79]), again.predict_proba(X[:79]))


def test_rows_without_weight_are_not_taken_from_what_is_shared():
    X, y = containers()["pandas"], np.arange(80) % 2
    rows = SharedTable(X, reader="test").rows(ROWS)
    weights = (np.arange(len(ROWS)) % 3 > 0).astype(float)
    hb.DecisionTreeClassifier().fit(rows, y[ROWS])
    weighted = hb.DecisionTreeClassifier().fit(rows, y[ROWS], weights)
    kept = ROWS[weights > 0]
    assert weighted.rules() == hb.DecisionTreeClassifier().fit(rows_of(X, kept), y[kept]).rules()
