"""Importances with what is needed to judge them: error bars, columns that are alike, a level of noise."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from scipy import sparse
from scipy.stats import spearmanr

import hornbeam as hb
from hornbeam.data.likeness import alike, likeness
from hornbeam.data.rows import Rows
from hornbeam.data.table import read_table


def twins(n=300, seed=0):
    """Return columns of which the first two say the same, the third matters a little, the last not at all."""
    random = np.random.default_rng(seed)
    a, c = random.normal(size=(2, n))
    frame = pd.DataFrame({"a": a, "copy": 3 * a + 1, "c": c, "none": random.normal(size=n)})
    return frame, 3 * a + c


MODELS = [
    hb.DecisionTreeRegressor(max_depth=4),
    hb.RandomForestRegressor(10, max_features=0.5, random_state=0),
    hb.BaggingRegressor(hb.DecisionTreeRegressor(max_depth=4), n_estimators=4, random_state=0),
    hb.AdaBoostRegressor(n_estimators=4, random_state=0),
    hb.GradientBoostingRegressor(n_estimators=20, max_leaf_nodes=8),
]


@pytest.mark.parametrize("kind", ["permutation", "drop"])
@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_columns_that_are_alike_are_named_and_judged_together(model, kind):
    X, y = twins()
    model.fit(X, y)
    options = {"cv": 2} if kind == "drop" else {"n_repeats": 2}
    one_by_one = model.importance(kind, X=X, y=y, **options)
    assert one_by_one.alike == (("a", "copy"),)
    assert "much alike, so each hides the others: a, copy" in str(one_by_one)
    together = model.importance(kind, X=X, y=y, groups="alike", **options)
    assert together.columns == (("a", "copy"), ("c",), ("none",))
    assert together.names[0] == "a + copy"
    # Each hides the other, and left out alone it seems not to matter at all.
    assert together.mean[0] >= max(one_by_one.mean[:2])
    assert kind != "drop" or max(one_by_one.mean[:2]) < 0.1 * together.mean[0]
    assert together.mean[0] > together.mean[1] > together.mean[2] - 0.01
    assert "hides" not in str(together)


def test_shuffling_by_hand():
    # x = 0 0 1 1, y = x: shuffled, R2 falls by the mean of 4 (x - x')^2 / 1, whatever the order.
    X, y = np.array([[0.0], [0], [1], [1]]), np.array([0.0, 0, 1, 1])
    tree = hb.DecisionTreeRegressor().fit(X, y)
    found = tree.importance("permutation", X=X, y=y, n_repeats=3)
    random = np.random.default_rng(0)
    wrong = [np.mean(y[random.permutation(4)] != y) for _ in range(3)]
    np.testing.assert_allclose(found.importances[0], [4 * share for share in wrong])
    assert found.error[0] == pytest.approx(np.std([4 * share for share in wrong], ddof=1) / np.sqrt(3))
    assert found["importances_mean"][0] == found.mean[0]


def test_leaving_out_by_hand():
    # Without the only column of use the folds know nothing: R2 falls from 1 to at most 0.
    X = pd.DataFrame({"x": [0.0, 1] * 10, "other": np.repeat([0.0, 1], 10)})
    found = hb.DecisionTreeRegressor().fit(X, X["x"]).importance("drop", X=X, y=X["x"], cv=4)
    assert found.importances.shape == (2, 4)
    assert (found.importances[0] >= 1).all()
    assert (found.importances[1] == 0).all()  # which x does not need


@pytest.mark.parametrize("kind", ["gain", "count", "contributions", "permutation", "drop"])
@pytest.mark.parametrize(
    "model",
    [hb.RandomForestRegressor(10, random_state=0), hb.GradientBoostingRegressor(n_estimators=10)],
    ids=lambda one: type(one).__name__,
)
def test_noise_is_shown_for_scale(model, kind):
    X, y = twins()
    found = model.fit(X, y).importance(kind, X=X, y=y, noise=True)
    assert found.noise.shape == (4,)  # of five columns at most
    assert found.noise_level == found.noise.max(initial=0)
    frame = found.to_frame()
    assert frame["above_noise"].tolist() == (frame["importance"] > found.noise_level).tolist()
    if kind in ("gain", "contributions", "permutation"):
        assert found.mean[2] > found.noise_level  # c matters
        assert found.mean[3] < 3 * max(found.noise_level, 0.01)  # none does not
    ax = hb.plot.importance(model, found)
    assert "what noise reaches" in [text.get_text() for text in ax.get_legend().get_texts()]
    pyplot.close("all")


def test_groups_add_up_and_wrong_ones_are_named():
    X, y = twins()
    model = hb.RandomForestRegressor(5, random_state=0).fit(X, y)
    found = model.importance("gain", groups=[["a", "none"]])
    shares = model.feature_importances_
    assert found.columns == (("a", "none"), ("copy",), ("c",))
    np.testing.assert_allclose(found.mean, [shares[0] + shares[3], shares[1], shares[2]])
    values = model.contributions(X).values
    both = model.importance("contributions", X=X, groups=[[0, 1]])
    np.testing.assert_allclose(both.mean[0], np.abs(values[:, 0] + values[:, 1]).mean())
    assert model.importance("gain", X=X, groups=1.0).columns[0] == ("a", "copy")
    with pytest.raises(ValueError, match="Column 'a' is in two groups"):
        model.importance(groups=[["a"], ["a", "c"]])
    with pytest.raises(ValueError, match="no column 'nowhere'"):
        model.importance(groups=[["nowhere"]])
    with pytest.raises(ValueError, match=r"at most 1; got 2\.0"):
        model.importance(X=X, groups=2.0)
    with pytest.raises(ValueError, match="'alike', a number or lists of columns; got 'like'"):
        model.importance(X=X, groups="like")
    with pytest.raises(ValueError, match="noise=True needs rows to look at: give X and y"):
        model.importance(noise=True)
    with pytest.raises(ValueError, match="groups='alike' needs rows to look at: give X"):
        model.importance(groups="alike")


# --- Likeness --------------------------------------------------------------------------------------------


def test_likeness_of_numbers_is_the_correlation_of_ranks():
    random = np.random.default_rng(0)
    X = random.normal(size=(50, 3)) @ random.normal(size=(3, 3))
    np.testing.assert_allclose(likeness(read_table(X)), np.abs(spearmanr(X).statistic), atol=1e-12)


def test_likeness_of_categories_and_numbers():
    random = np.random.default_rng(0)
    kinds = random.integers(4, size=400)
    X = pd.DataFrame(
        {
            "code": np.array(list("wxyz"))[kinds],
            "again": np.array(["one", "two", "three", "four"])[kinds],
            "number": kinds + 0.01 * random.normal(size=400),
            "other": np.array(list("pq"))[random.integers(2, size=400)],
        }
    )
    found = likeness(read_table(X))
    assert found[0, 1] == pytest.approx(1)
    assert 0.95 < found[0, 2] <= 1
    assert found[0, 3] < 0.1 and found[2, 3] < 0.2
    assert alike(read_table(X)) == ((0, 1, 2),)
    np.testing.assert_array_equal(found, found.T)


@given(st.integers(2, 40), st.integers(0, 99))
def test_likeness_of_anything_is_between_0_and_1(n_rows, seed):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": np.where(random.random(n_rows) < 0.3, np.nan, random.normal(size=n_rows)),
            "b": pd.Categorical(random.choice(["x", "y", None], n_rows)),
            "c": random.integers(3, size=n_rows),
        }
    )
    found = likeness(read_table(X, categorical_features=["c"]))
    assert ((found >= 0) & (found <= 1 + 1e-12)).all()


@pytest.mark.parametrize("make", [np.asarray, pd.DataFrame, pl.DataFrame, sparse.csr_array])
def test_copies_and_gaps_in_tables_of_every_kind(make):
    X = np.array([[1.0, 2], [3, 4], [5, 6]])
    rows = Rows(make(X))
    order = np.array([2, 0, 1])
    wider = rows.with_copies([1], [order])
    assert [wider.cells(row)[2] for row in range(3)] == [6, 2, 4]
    assert rows.without_columns([0]).cells(1) == (4,)
    both = rows.dense().with_columns_from([0, 1], order)
    assert both.cells(0) == (5, 6)
