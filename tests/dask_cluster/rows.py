"""Rows for a cluster, and what it means that two models are the same."""

import numpy as np
import pandas as pd

from hornbeam.model import tree_to_arrays

N_ROWS = 20_000  # four blocks of leaves and more, of which each part has one at least


def table(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n_rows),
            "few": rng.integers(0, 5, n_rows),
            "kind": rng.choice(list("xyz"), n_rows),
            "gaps": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
        }
    )
    frame.loc[0, "kind"] = "only in the first partition"
    score = frame.number + (frame.kind == "x") + 0.3 * frame.few + rng.normal(size=n_rows)
    return frame, score


def assert_same(found, expected):
    assert found._model.schema == expected._model.schema
    assert np.array_equal(getattr(found, "_baseline", 0), getattr(expected, "_baseline", 0))
    assert found._missing_seen == expected._missing_seen
    assert len(found._model.trees) == len(expected._model.trees)
    for number, (a, b) in enumerate(zip(found._model.trees, expected._model.trees, strict=True)):
        ours, theirs = tree_to_arrays(a), tree_to_arrays(b)
        for name, array in ours.items():
            assert np.array_equal(array, theirs[name], equal_nan=array.dtype.kind == "f"), (number, name)
