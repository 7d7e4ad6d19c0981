"""The form of a table and the order of its rows change nothing in a tree."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from core.growing import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tables import WEIGHT_KINDS, Table, tables
from scipy import sparse

import hornbeam as hb
from trees.tree_tables import STRUCTURE, frame_of, reordered

# Tables of one row or of constant columns come up; they are fitted with a warning.
pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")


# ------------------------------------------------------------------------------------------------------------
# The form of a table and the order of its rows


def numeric_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(15)
    X = np.column_stack(
        [rng.normal(size=150), rng.integers(0, 4, 150), rng.poisson(0.5, 150), rng.random(150)]
    )
    X[:, 3] *= rng.random(150) < 0.4
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=150) > 1.5).astype(int)


def with_none(X: np.ndarray) -> list[list[float | None]]:
    return [[None if math.isnan(value) else value for value in row] for row in X.tolist()]


NUMERIC_FORMS = {
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas, one type per column": lambda X: pd.DataFrame(X).astype({2: "float32", 3: "float64"}),
    "pandas, nullable": lambda X: pd.DataFrame(X).convert_dtypes(),
    "pandas, Arrow": lambda X: pd.DataFrame(X).astype("float64[pyarrow]"),
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "Arrow": lambda X: pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}),
}
SPARSE_FORMS = {
    name: getattr(sparse, name)
    for name in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array")
}


@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
@pytest.mark.parametrize("name", [*NUMERIC_FORMS, *SPARSE_FORMS])
def test_every_form_of_a_table_gives_the_same_tree(name, kind):
    X, y = numeric_rows()
    form = {**NUMERIC_FORMS, **SPARSE_FORMS}[name](X)
    plain, other = kind().fit(X, y), kind().fit(form, y)
    assert same_bits(plain.tree_, other.tree_)
    assert plain.predict(X).tobytes() == other.predict(form).tobytes()


@pytest.mark.parametrize("name", [*NUMERIC_FORMS, "lists with None"])
def test_gaps_in_every_form_give_the_same_tree(name):
    X, y = numeric_rows()
    X[np.random.default_rng(16).random(X.shape) < 0.2] = math.nan
    form = {**NUMERIC_FORMS, "lists with None": with_none}[name](X)
    plain, other = (hb.DecisionTreeClassifier().fit(table, y) for table in (X, form))
    assert same_bits(plain.tree_, other.tree_)
    assert plain.predict_proba(X).tobytes() == other.predict_proba(form).tobytes()


def test_categories_in_every_kind_of_frame_give_the_same_tree():
    rng = np.random.default_rng(17)
    colours = np.array(["red", "green", "blue", None], dtype=object)[rng.integers(0, 4, 200)]
    columns = {"colour": colours, "size": rng.normal(size=200), "known": rng.random(200) < 0.5}
    y = (columns["size"] + (colours == "red") > 0.3).astype(int)
    texts = pd.DataFrame(columns)
    frames = [
        texts,
        texts.astype({"colour": "category"}),
        texts.astype({"colour": "string"}),
        pl.DataFrame({**columns, "colour": colours.tolist()}),
        pl.DataFrame({**columns, "colour": pl.Series(colours.tolist(), dtype=pl.Categorical)}),
        pa.table({**columns, "colour": pa.array(colours.tolist())}),
        pa.table({**columns, "colour": pa.array(colours.tolist()).dictionary_encode()}),
    ]
    models = [hb.DecisionTreeClassifier().fit(frame, y) for frame in frames]
    assert any(models[0].tree_.category_begin >= 0)
    for model, frame in itertools.product(models, frames):
        assert same_bits(model.tree_, models[0].tree_)
        assert (model.apply(frame) == models[0].apply(texts)).all()


@settings(max_examples=60)
@given(tables("classes", weights=["none", "integers", "powers_of_two"]), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_to_a_classifier(table, random):
    order = list(range(len(table.y)))
    random.shuffle(order)
    assert same_bits(fit_tree(table, "gini"), fit_tree(reordered(table, order), "gini"))


@settings(max_examples=60)
@given(tables("counts", weights=WEIGHT_KINDS[:4]), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_to_a_regressor(table, random):
    """Whole-number targets: their sum, and with it the point they are centred on, is exact in any order."""
    order = list(range(len(table.y)))
    random.shuffle(order)
    one, other = fit_tree(table, "squared_error"), fit_tree(reordered(table, order), "squared_error")
    assert same_bits(one, other, (*STRUCTURE, "n_node_samples"))
    for fact in ("weighted_n_node_samples", "impurity", "value"):
        np.testing.assert_allclose(getattr(one, fact), getattr(other, fact), rtol=1e-12, atol=1e-12)


def fit_tree(table: Table, criterion: str) -> Any:
    kind = hb.DecisionTreeClassifier if criterion == "gini" else hb.DecisionTreeRegressor
    model = kind(criterion=criterion).fit(frame_of(table.columns), table.y, sample_weight=table.weights)
    return model.tree_


def test_an_outlier_does_not_blind_the_rest():
    """Squares of sums around the mean of all rows would drown the gains of every other node."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = (X[:, 1] > 0) * 1.0
    y[0] = 1e10
    tree = hb.DecisionTreeRegressor(max_depth=14).fit(X, y)
    assert np.abs(tree.predict(X) - y)[1:].max() < 1e-9
