"""Small random tables of mixed kinds, with gaps and ties, and trees grown on them."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import hornbeam as hb
from hornbeam.warnings import DataWarning

COLOURS = ["red", "blue", "green", "dark red", "a, b"]
SPLITS = ["subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"]
SIZES = ["small", "medium", "large", "huge"]


@dataclass
class Grown:
    """A fitted tree, the rows it was grown on, and the same rows as dicts."""

    tree: Any
    X: pd.DataFrame

    @property
    def rows(self):
        return self.X.to_dict(orient="records")


def column(draw, name, n_rows):
    gaps = draw(st.booleans())

    def cells(values):
        return draw(st.lists(st.none() | values if gaps else values, min_size=n_rows, max_size=n_rows))

    if name == "colour":
        # Without a single text the column would be read as numbers.
        return pd.Series([draw(st.sampled_from(COLOURS)), *cells(st.sampled_from(COLOURS))[1:]], dtype=object)
    if name == "size":
        return pd.Series(pd.Categorical(cells(st.sampled_from(SIZES)), categories=SIZES, ordered=True))
    values = st.sampled_from(
        [-1.5, -0.0, 0.0, 0.1, 0.2, 0.30000000000000004, 0.3, 7.0, 1e300, -np.inf, np.inf]
    )
    return pd.Series([np.nan if cell is None else cell for cell in cells(values)], dtype=float)


@st.composite
def grown_trees(draw, kind="classifier"):
    n_rows = draw(st.integers(2, 30))
    names = draw(st.lists(st.sampled_from(["colour", "size", "x", "the y"]), min_size=1, unique=True))
    X = pd.DataFrame({name: column(draw, name, n_rows) for name in names})
    if kind == "classifier":
        y = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=n_rows, max_size=n_rows))
        model = hb.DecisionTreeClassifier(unseen=draw(st.sampled_from(["missing", "majority"])))
    else:
        y = draw(st.lists(st.sampled_from([0.0, 1.0, 2.5]), min_size=n_rows, max_size=n_rows))
        model = hb.DecisionTreeRegressor()
    model.set_params(
        max_depth=draw(st.none() | st.integers(1, 4)),
        categorical_split=draw(st.sampled_from(SPLITS)),
        merge_level=draw(st.sampled_from([0.05, 0.9])),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # constant columns, unique categories
        return Grown(model.fit(X, y), X)


def other_rows(X, seed):
    """Return new rows for the same columns: mixed, with gaps everywhere and now and then a new category."""
    random = np.random.default_rng(seed)
    columns = {}
    for name, values in X.items():
        cells = values.astype(object).to_numpy()[random.permutation(len(X))]
        if name in ("colour", "size"):
            cells[random.random(len(X)) < 0.2] = "never seen"
        cells[random.random(len(X)) < 0.3] = None
        known = [cell for cell in cells if not pd.isna(cell)]
        columns[name] = pd.Series(cells, dtype=object if known else X[name].dtype)
    return pd.DataFrame(columns)
