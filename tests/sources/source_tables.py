"""A table with columns of every kind, written in parts, and what two equal models have in common."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hornbeam.model import tree_to_arrays


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
