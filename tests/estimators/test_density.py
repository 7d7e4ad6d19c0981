"""Density trees: the slow twin, the laws of a density, and what they are for."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import density as reference
from scipy import sparse, stats
from sklearn.neighbors import KernelDensity

import hornbeam as hb


def drawn_rows(seed, n=200, d=2):
    generator = np.random.default_rng(seed)
    return np.concatenate([generator.normal(size=(n, d)), generator.normal(4, 0.5, size=(n // 2, d))])


@st.composite
def small_cases(draw):
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.integers(3, 25)), draw(st.integers(1, 3))
    X = generator.integers(0, 9, size=(n, d)).astype(float)
    X[0], X[1] = 0, 9  # an extent in every column
    weights = generator.integers(1, 4, n).astype(float) if draw(st.booleans()) else np.ones(n)
    limits = {
        "max_depth": draw(st.sampled_from([None, 1, 3])),
        "min_samples_split": draw(st.integers(2, 6)),
        "min_samples_leaf": draw(st.integers(1, 4)),
    }
    return X, weights, limits


@settings(max_examples=100, deadline=None)
@given(small_cases())
def test_the_grown_tree_is_the_twins(case):
    X, weights, limits = case
    model = hb.DensityTree(prune=None, **limits).fit(X, sample_weight=weights)
    leaves = reference.leaves_of(
        X,
        weights,
        tuple(X.min(axis=0)),
        tuple(X.max(axis=0)),
        {**limits, "max_depth": limits["max_depth"] or 0},
    )
    order = [rule.node for rule in model.rules("list")]
    tree = model.tree_
    assert tree.weighted_n_node_samples[order].tolist() == [leaf.weight for leaf in leaves]
    assert tree.n_node_samples[order].tolist() == [leaf.rows for leaf in leaves]
    middles = np.array([(np.array(leaf.low) + leaf.high) / 2 for leaf in leaves])
    expected = [np.log(leaf.weight / weights.sum() / leaf.volume) for leaf in leaves]
    np.testing.assert_allclose(model.score_samples(middles), expected, rtol=1e-9, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_a_density_integrates_to_one_and_is_zero_outside(seed, d):
    X = drawn_rows(seed, n=60, d=d)
    model = hb.DensityTree(cv=4, random_state=0).fit(X)
    from hornbeam.recipes.density import leaf_boxes

    leaves, low, high = leaf_boxes(model.tree_, model.low_, model.high_)
    volumes = (high - low).prod(axis=1)
    assert volumes.sum() == pytest.approx((model.high_ - model.low_).prod())
    density = np.exp(model.score_samples((low + high) / 2))
    assert (density * volumes).sum() == pytest.approx(1)
    assert model.apply((low + high) / 2).tolist() == leaves.tolist()
    far = np.concatenate([model.high_ + 1, model.low_ - 1]).reshape(2, -1)
    assert model.score_samples(far).tolist() == [-np.inf, -np.inf]
    assert np.isfinite(model.score_samples(X)).all()


def test_it_finds_steps_that_a_kernel_blurs():
    generator = np.random.default_rng(0)
    steps = np.concatenate([generator.uniform(0, 1, 3000), generator.uniform(1, 10, 1000)])[:, None]
    model = hb.DensityTree(random_state=0).fit(steps[::2])
    kernel = KernelDensity(bandwidth=0.5).fit(steps[::2])
    assert model.get_n_leaves() < 12
    others = steps[1::2]
    others = others[(others >= model.low_).all(axis=1) & (others <= model.high_).all(axis=1)]
    assert model.score(others) > kernel.score(others)
    near, far = np.exp(model.score_samples([[0.5], [5.0]]))
    assert near == pytest.approx(0.75, rel=0.1)
    assert far == pytest.approx(0.25 / 9, rel=0.15)


def test_pruning_is_by_cross_validated_error():
    X = drawn_rows(3)
    whole = hb.DensityTree(prune=None).fit(X)
    model = hb.DensityTree(random_state=0).fit(X)
    table = model.pruning_table_
    assert 1 < model.get_n_leaves() < whole.get_n_leaves() == table["leaves"][0]
    best = table["error"].to_numpy()
    assert table["leaves"][table["chosen"]].item() == model.get_n_leaves()
    assert table["error"][table["chosen"]].item() == pytest.approx(best.min())
    with pytest.raises(AttributeError, match="not pruned"):
        _ = whole.pruning_table_
    uniform = np.random.default_rng(0).uniform(size=(500, 2))
    assert hb.DensityTree(random_state=0).fit(uniform).get_n_leaves() <= 4


def test_samples_come_from_the_density():
    X = drawn_rows(1)
    model = hb.DensityTree(random_state=0).fit(X)
    rows = model.sample(4000, random_state=1)
    assert (rows >= model.low_).all()
    assert (rows <= model.high_).all()
    shares = model.tree_.weighted_n_node_samples / len(X)
    leaves, counts = np.unique(model.apply(rows), return_counts=True)
    assert stats.chisquare(counts, shares[leaves] / shares[leaves].sum() * 4000).pvalue > 0.001
    np.testing.assert_array_equal(rows, model.sample(4000, random_state=1))
    assert model.sample().shape == (1, 2)


def test_weights_are_repeated_rows_and_zeros_are_dropped():
    X = drawn_rows(2, n=60)
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = hb.DensityTree(prune=None, min_samples_leaf=1, min_samples_split=2, max_depth=4)
    repeated = hb.DensityTree(prune=None, min_samples_leaf=1, min_samples_split=2, max_depth=4)
    one = weighted.fit(X, sample_weight=weights)
    other = repeated.fit(np.repeat(X, weights, axis=0))
    assert one.tree_.threshold.tolist() == other.tree_.threshold.tolist()
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X))


def test_tables_files_pictures(tmp_path):
    frame = pd.DataFrame(drawn_rows(4), columns=["east", "north"])
    model = hb.DensityTree(random_state=0).fit(frame)
    assert "east" in model.rules()
    hb.save(model, tmp_path / "density")
    for other in (hb.load(tmp_path / "density"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.score_samples(frame), model.score_samples(frame))
        assert other.pruning_table_.equals(model.pruning_table_)
    dense = hb.DensityTree(random_state=0).fit(np.abs(frame.to_numpy().round()))
    thin = hb.DensityTree(random_state=0).fit(sparse.csr_matrix(np.abs(frame.to_numpy().round())))
    assert dense.rules() == thin.rules()
    assert len(model.to_frame()) == model.tree_.node_count
    assert "digraph" in hb.export(model, "dot")


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0]], "n_samples=1"),
        ([[1.0, 2.0], [1.0, 3.0]], "column 'x0' holds 1.0 in every row"),
        ([[1.0], [np.nan]], "contains NaN: column 'x0', row 1"),
        ([[1.0], [np.inf]], "contains infinity: column 'x0', row 1"),
        ([["a"], ["b"]], "'x0' is categorical"),
        ([[-1e308], [1e308]], "spans more than a float64 holds"),
    ],
)
def test_what_is_refused(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        hb.DensityTree().fit(X)


def test_positions_of_folds_are_those_of_x_whatever_the_weights():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(150, 2)), 4 + rng.normal(size=(150, 2))])
    pairs = [
        (np.flatnonzero(np.arange(300) % 3 != k), np.flatnonzero(np.arange(300) % 3 == k)) for k in range(3)
    ]
    weights = np.where(rng.random(300) < 0.3, 0.0, 1.0)
    weights[-2:] = 0.0
    new = np.cumsum(weights > 0) - 1
    renumbered = [tuple(new[part[weights[part] > 0]] for part in pair) for pair in pairs]
    weighted = hb.DensityTree(cv=pairs).fit(X, sample_weight=weights)
    dropped = hb.DensityTree(cv=renumbered).fit(X[weights > 0])
    assert weighted.pruning_table_.equals(dropped.pruning_table_)
    assert weighted.get_n_leaves() == dropped.get_n_leaves() > 1
