"""Trees of the boosting engine against a naive twin in float64: splits, gains, leaf values, limits."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.boosting import Precision, Terms, allowed_splits

from hornbeam import _core
from hornbeam.data.encode import encode
from hornbeam.data.table import read_table
from hornbeam.estimators.base import paths_to
from hornbeam.model import Ensemble

# Tables are drawn, and some have a category in nearly every row.
pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")

PACKED_BITS, WIDE_BITS = 15, 30
RATE = 0.3


@dataclasses.dataclass
class Problem:
    """A table of numbers and categories with gaps, and derivatives."""

    frame: pd.DataFrame
    gradients: np.ndarray
    hessians: np.ndarray
    terms: Terms

    @property
    def kinds(self):
        """How many categories each column has, None for numbers."""
        return [column.nunique() if name.startswith("kind") else None for name, column in self.frame.items()]

    @property
    def columns(self):
        return [
            (column if n_kinds is None else column.cat.codes).to_numpy(np.float64)
            for (_, column), n_kinds in zip(self.frame.items(), self.kinds, strict=True)
        ]


GAPS = st.booleans()
SPREADS = st.sampled_from([0.0, 1.0])


@st.composite
def problems(draw, gaps=GAPS, spread=SPREADS):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_rows = draw(st.integers(2, 120))
    frame = {}
    for j in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):
            values = rng.integers(0, draw(st.integers(1, 12)), n_rows).astype(np.float64)
            frame[f"number{j}"] = np.where(rng.random(n_rows) < 0.2, np.nan, values) if draw(gaps) else values
        else:
            # A hundred categories are put in order in another way than a few.
            n_kinds = draw(st.integers(1, 12) | st.just(110))
            texts = np.array([f"kind {k:03}" for k in range(n_kinds)])[rng.integers(0, n_kinds, n_rows)]
            absent = (rng.random(n_rows) < 0.2) & draw(gaps)
            frame[f"kind{j}"] = pd.Categorical(np.where(absent, None, texts))
    gradients = rng.normal(size=n_rows) * np.exp(draw(spread) * rng.normal(size=n_rows))
    hessians = rng.uniform(0.05, 1.0, n_rows)
    certain = (rng.random(n_rows) < 0.3) & draw(st.booleans())  # rows whose derivatives are next to nothing
    certain[0] = False
    gradients[certain] *= 1e-9
    hessians[certain] *= 1e-9
    terms = Terms(
        l1=draw(st.sampled_from([0.0, 0.5])),
        l2=draw(st.sampled_from([0.0, 1.0])),
        min_samples_leaf=draw(st.sampled_from([1, 2, 5])),
        smoothing=draw(st.sampled_from([0.0, 10.0])),
        one_vs_rest=draw(st.booleans()),
    )
    as_float32 = (derivative.astype(np.float32).astype(np.float64) for derivative in (gradients, hessians))
    return Problem(pd.DataFrame(frame), *as_float32, terms)


def grown(problem, *, wide=False, rows=None, n_threads=1, **limits):
    """Grow one tree on given derivatives; weights, even of 1, make its cells wide."""
    encoded = encode(read_table(problem.frame), max_bins=255, n_threads=1)
    n_rows = len(problem.frame)
    options = {"growth": "best_first", "max_depth": 0, "max_leaf_nodes": 0, "monotonic": []} | limits
    booster = _core.Booster(
        encoded.codes,
        y=np.zeros(n_rows, dtype=np.float32),
        weights=np.ones(n_rows, dtype=np.float32) if wide else None,
        n_scores=1,
        loss="",
        loss_parameter=0.0,
        learning_rate=RATE,
        min_samples_leaf=problem.terms.min_samples_leaf,
        min_hessian_leaf=problem.terms.min_hessian_leaf,
        l1_regularization=problem.terms.l1,
        l2_regularization=problem.terms.l2,
        min_split_gain=0.0,
        max_features=0,
        categorical_smoothing=problem.terms.smoothing,
        categorical_split="one_vs_rest" if problem.terms.one_vs_rest else "subset",
        n_threads=n_threads,
        **options,
    )
    booster.scores()[:] = 0
    booster.gradients()[0] = problem.gradients
    booster.hessians()[0] = problem.hessians
    (tree,) = booster.grow(rows, None, np.zeros(1, dtype=np.uint64))
    leaves = Ensemble((tree,), encoded.schema).leaves(read_table(problem.frame), n_threads=1)[:, 0]
    np.testing.assert_array_equal(booster.scores()[0], tree.value[leaves, 0, 0])
    return tree, leaves


def check(problem, tree, leaves, *, bits, may_stop=False):
    """Demand of every node what the naive twin finds, up to the precision of fixed point."""
    g, h, terms = problem.gradients, problem.hessians, problem.terms
    precision = Precision.of(g, h, bits)
    paths = paths_to(tree, leaves, 1).toarray().astype(bool)
    for node in range(tree.node_count):
        rows = paths[:, node]
        assert tree.n_node_samples[node] == np.count_nonzero(rows)
        splits = allowed_splits(
            [c[rows] for c in problem.columns], problem.kinds, g[rows], h[rows], terms, precision
        )
        gains = [
            (its.gain(g[rows], h[rows], left), precision.bound(g[rows], h[rows], left, its))
            for left, its in splits
        ]
        if tree.first_child[node] < 0 or tree.n_branches[node] == 0:
            step = terms.value(g[rows], h[rows])
            size = np.abs(g[rows]).sum() / (h[rows].sum() + terms.l2)
            assert abs(tree.value[node, 0, 0] - RATE * step) <= RATE * 1e-6 * size
            if not may_stop:
                assert all(gain <= bound for gain, bound in gains)
            continue
        left = paths[rows, tree.first_child[node]]
        assert min(np.count_nonzero(left), np.count_nonzero(~left)) >= terms.min_samples_leaf
        n_kinds = problem.kinds[tree.feature[node]]
        its = (
            terms if n_kinds is None else terms.of_sets(n_kinds, precision.rounded(g[rows], h[rows])[1].sum())
        )
        own = its.gain(g[rows], h[rows], left)
        slack = precision.bound(g[rows], h[rows], left, its)
        assert abs(tree.gain[node] - own) <= slack
        assert all(own >= gain - (slack + bound) for gain, bound in gains)


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")  # columns may be near unique
@settings(max_examples=60)
@given(problems(), st.booleans(), st.sampled_from(["best_first", "level"]))
def test_every_split_is_the_best_there_is(problem, wide, growth):
    tree, leaves = grown(problem, wide=wide, growth=growth)
    check(problem, tree, leaves, bits=WIDE_BITS if wide else PACKED_BITS)


@settings(max_examples=30)
@given(problems(), st.integers(2, 6), st.integers(1, 3), st.sampled_from(["best_first", "level"]))
def test_limits_are_never_exceeded(problem, max_leaf_nodes, max_depth, growth):
    tree, leaves = grown(
        problem, wide=True, max_leaf_nodes=max_leaf_nodes, max_depth=max_depth, growth=growth
    )
    assert tree.n_leaves <= max_leaf_nodes
    assert tree.max_depth <= max_depth
    check(problem, tree, leaves, bits=WIDE_BITS, may_stop=True)


@settings(max_examples=30)
@given(problems(spread=st.just(8.0)))
def test_gradients_of_very_different_size_get_wide_cells(problem):
    sizes = np.abs(problem.gradients)
    tree, leaves = grown(problem)
    bits = PACKED_BITS if sizes.max() <= 128 * sizes.mean() else WIDE_BITS
    check(problem, tree, leaves, bits=bits)


@settings(max_examples=20)
@given(problems())
def test_the_best_node_is_split_first(problem):
    def gains_by_rows(tree, leaves):
        """The gain of each node by the rows that reach it; 0 for a leaf."""
        paths = paths_to(tree, leaves, 1).toarray().astype(bool)
        return {paths[:, node].tobytes(): tree.gain[node] for node in range(tree.node_count)}

    whole, leaves = grown(problem, wide=True)
    final = gains_by_rows(whole, leaves)
    before = gains_by_rows(*grown(problem, wide=True, max_leaf_nodes=2)) if whole.n_leaves > 1 else {}
    for n_leaves in range(3, whole.n_leaves + 1):
        tree, leaves = grown(problem, wide=True, max_leaf_nodes=n_leaves)
        assert tree.n_leaves == n_leaves
        after = gains_by_rows(tree, leaves)
        could_be_split = [final[rows] for rows, gain in before.items() if gain == 0]
        (has_been_split,) = (after[rows] for rows, gain in before.items() if gain == 0 and after[rows] > 0)
        assert has_been_split == max(could_be_split)
        before = after


@settings(max_examples=25)
@given(problems(), st.data())
def test_a_sample_of_rows_gives_the_tree_of_those_rows(problem, data):
    n_rows = len(problem.frame)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n_rows - 1), min_size=1))), dtype=np.uint32)
    tree, leaves = grown(problem, wide=True, rows=rows)
    for node in np.unique(leaves[rows]):
        inside = rows[leaves[rows] == node]
        step = problem.terms.value(problem.gradients[inside], problem.hessians[inside])
        size = np.abs(problem.gradients[inside]).sum() / (problem.hessians[inside].sum() + problem.terms.l2)
        assert abs(tree.value[node, 0, 0] - RATE * step) <= RATE * 1e-6 * size
    assert tree.n_node_samples[0] == len(rows)


@settings(max_examples=40)
@given(problems(), st.data())
def test_constrained_trees_never_go_the_wrong_way(problem, data):
    names = list(problem.frame.columns)
    directions = [0 if name.startswith("kind") else data.draw(st.sampled_from([-1, 0, 1])) for name in names]
    tree, _ = grown(problem, wide=True, monotonic=directions)
    encoded_model = Ensemble((tree,), read_table(problem.frame).schema)
    for name, direction in zip(names, directions, strict=True):
        if not direction:
            continue
        values = np.sort(problem.frame[name].dropna().unique())
        answers = []
        for value in values:
            moved = problem.frame.assign(**{name: value})
            table = encoded_model.read(moved, estimator_name="test")
            answers.append(tree.value[encoded_model.leaves(table, n_threads=1)[:, 0], 0, 0])
        steps = np.diff(np.array(answers), axis=0) * direction
        assert (steps >= -1e-7).all()


def assert_equal_trees(one, other):
    for name in ("feature", "threshold", "value", "gain", "n_node_samples", "first_child", "missing_branch"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


@given(problems(), st.booleans())
def test_rows_divided_as_sets_and_as_lists_give_the_same_tree(problem, wide):
    """All rows of a table are a set while they are many; rows that are given are listed from the start."""
    rows = np.arange(len(problem.frame), dtype=np.uint32)
    as_sets, leaves = grown(problem, wide=wide)
    as_lists, same_leaves = grown(problem, wide=wide, rows=rows)
    assert_equal_trees(as_sets, as_lists)
    np.testing.assert_array_equal(leaves, same_leaves)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_large_nodes_divided_as_sets_and_as_lists_are_the_same(n_threads):
    rng = np.random.default_rng(1)
    n_rows = 50_021  # a set whose last word is not full
    frame = pd.DataFrame(
        {
            "number0": np.where(rng.random(n_rows) < 0.1, np.nan, rng.normal(size=n_rows)),
            "kind1": pd.Categorical(rng.integers(0, 9, n_rows).astype(str)),
            "kind2": pd.Categorical(rng.integers(0, 900, n_rows).astype(str)),  # codes of two bytes
            "number3": (rng.random(n_rows) < 0.02).astype(np.float64),  # most rows go to one branch
        }
    )
    gradients = rng.normal(size=n_rows) + frame["kind1"].cat.codes % 3 + frame["kind2"].cat.codes % 7
    gradients -= 2 * frame["number3"]
    problem = Problem(frame, gradients.to_numpy(), rng.uniform(0.1, 1, n_rows), Terms(min_samples_leaf=20))
    rows = np.arange(n_rows, dtype=np.uint32)
    trees = [grown(problem, max_leaf_nodes=63, n_threads=n_threads, rows=r)[0] for r in (None, rows)]
    assert {0, 1, 2, 3} <= set(trees[0].feature)
    assert_equal_trees(*trees)


@pytest.mark.parametrize("n_leaves", [255, 256, 2_000])  # leaves are numbered by a byte, or by more
@pytest.mark.parametrize("share", [1.0, 0.7])
def test_each_of_many_leaves_answers_for_its_rows(n_leaves, share):
    rng = np.random.default_rng(2)
    n_rows = 9_001
    frame = pd.DataFrame({f"number{j}": rng.normal(size=n_rows) for j in range(3)})
    gradients, hessians = (
        rng.normal(size=n_rows).astype(np.float32),
        rng.uniform(0.1, 1, n_rows).astype(np.float32),
    )
    problem = Problem(
        frame, gradients.astype(np.float64), hessians.astype(np.float64), Terms(min_samples_leaf=1)
    )
    rows = None if share == 1 else np.flatnonzero(rng.random(n_rows) < share).astype(np.uint32)
    tree, leaves = grown(problem, rows=rows, max_leaf_nodes=n_leaves, n_threads=2)
    inside = np.arange(n_rows) if rows is None else rows
    sums = (
        pd.DataFrame({"g": problem.gradients[inside], "h": problem.hessians[inside]})
        .groupby(leaves[inside])
        .sum()
    )
    assert len(sums) == n_leaves
    np.testing.assert_allclose(
        tree.value[sums.index, 0, 0], -RATE * sums["g"] / sums["h"], rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(200_000, 20), (12_000, 150)])
def test_large_nodes_are_the_same_with_any_number_of_threads(n_rows, n_columns, wide):
    """Threads share the rows of a node, or its columns where there are many, as they happen to be free."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"number{j}": rng.normal(size=n_rows).round(2) for j in range(n_columns)})
    problem = Problem(
        frame,
        rng.normal(size=n_rows) + (frame["number0"] > 1).to_numpy(),
        rng.uniform(0.1, 1, n_rows),
        Terms(min_samples_leaf=20),
    )
    alone = grown(problem, max_leaf_nodes=31, wide=wide)[0]
    for n_threads in (2, 3, 8, 8, 8):
        assert_equal_trees(alone, grown(problem, max_leaf_nodes=31, n_threads=n_threads, wide=wide)[0])


def test_bad_arguments_are_refused():
    encoded = encode(read_table(np.arange(6.0).reshape(3, 2)), max_bins=255, n_threads=1)
    known = dict.fromkeys(
        ("loss_parameter", "min_hessian_leaf", "l1_regularization", "l2_regularization", "min_split_gain"),
        0.0,
    )
    options = {
        "n_scores": 1, "learning_rate": 0.1, "growth": "best_first", "max_depth": 0, "max_leaf_nodes": 31,
        "min_samples_leaf": 1, "max_features": 0, "monotonic": [], "categorical_smoothing": 10.0,
        "n_threads": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match="one element per row"):
        _core.Booster(
            encoded.codes, y=np.zeros(2, dtype=np.float32), weights=None, loss="", **known, **options
        )
    with pytest.raises(TypeError, match="no setting of boosting called shrinkage"):
        _core.Booster(
            encoded.codes,
            y=np.zeros(3, dtype=np.float32),
            weights=None,
            loss="",
            shrinkage=1,
            **known,
            **options,
        )
    with pytest.raises(ValueError, match="does not know hinge"):
        _core.Booster(
            encoded.codes, y=np.zeros(3, dtype=np.float32), weights=None, loss="hinge", **known, **options
        )
