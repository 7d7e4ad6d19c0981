"""Exact explanations against a background, by every way that the sizes of tables and trees decide.

Trees are walked, with 64 rows of the background at a time, a word. Where rows times words times the share of
the leaves that tables can hold is 192 or more, tables are made for these.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predict.random_models import Model, models, random_rows
from reference.shapley import shapley_values

from explain.test_shapley import assert_close, chain, explained, rows_of, wide_model, worth
from hornbeam import _core

# Of the rows of a word, and of a block of the background, and a few.
SIZES = [1, 2, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300]


def mean_worth(model, row, others, counts, **message):
    """The worth of all sets, where each of the other rows comes so many times."""
    each = [worth(model.trees, row, [other], model.categories, **message) for other in others]
    return np.tensordot(counts / counts.sum(), np.array(each), axes=1)


def assert_as_defined(model, columns, background, counts, which, **message):
    """Explain all rows against a background whose rows come some times, in any order; compare some."""
    order = np.random.default_rng(len(counts)).permutation(np.repeat(np.arange(len(counts)), counts))
    parts, base = explained(
        model.trees, columns, background=[column[order] for column in background], **message
    )
    for i in which:
        of_sets = mean_worth(model, rows_of(columns)[i], rows_of(background), counts, **message)
        assert_close(parts[i], shapley_values(of_sets), np.abs(of_sets).max())
        assert_close(base[i], of_sets[0], np.abs(of_sets).max())


@settings(max_examples=60)
@given(
    models(n_trees=2, n_thresholds=5),
    st.sampled_from([32, 65, 130]),
    st.sampled_from(SIZES),
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
)
def test_backgrounds_of_any_size(model, n_rows, n_others, seed, majority, votes):
    random = np.random.default_rng(seed)
    columns = random_rows(model, seed, n_rows, gaps=True)
    distinct = min(n_others, 6)
    background = random_rows(model, seed + 1, distinct, gaps=True)
    counts = 1 + random.multinomial(n_others - distinct, np.full(distinct, 1 / distinct))
    message = {"weights": random.normal(size=2), "majority": majority, "votes": votes}
    assert_as_defined(model, columns, background, counts, (0, n_rows - 1), **message)


@pytest.mark.parametrize("n_others", SIZES)
def test_rows_that_all_differ(n_others):
    model = wide_model(11, 9, 60, 0.6, value_shape=(1, 2))
    columns = random_rows(model, 1, 33, gaps=True)
    background = random_rows(model, 2, n_others, gaps=True)
    which = (0, 32) if n_others < 200 else (32,)
    assert_as_defined(model, columns, background, np.ones(n_others, dtype=int), which)


# Rows times words of the background: 191 and 192. Of the small tree all leaves are in tables, of the other
# some.
@pytest.mark.parametrize("n_leaves", [6, 80])
@pytest.mark.parametrize(
    ("n_rows", "n_others"), [(191, 3), (192, 3), (191, 64), (96, 65), (96, 128), (64, 129), (1600, 3)]
)
def test_either_side_of_what_pays_for_tables(n_leaves, n_rows, n_others):
    model = wide_model(5, 8, n_leaves, 0.7, n_trees=2, value_shape=(1, 2))
    columns = random_rows(model, 1, n_rows, gaps=True)
    background = random_rows(model, 2, 3, gaps=True)
    counts = np.array([n_others - 2, 1, 1])
    assert_as_defined(model, columns, background, counts, (0, n_rows // 2, n_rows - 1))


# Beside more than 512 rows, patterns are kept for 256 rows and more, in trees of up to 256 leaves.
@pytest.mark.parametrize("n_others", [512, 513])
@pytest.mark.parametrize("n_rows", [255, 256])
@pytest.mark.parametrize("n_leaves", [256, 257])
def test_either_side_of_what_pays_for_patterns(n_leaves, n_rows, n_others):
    model = wide_model(6, 11, n_leaves, 0.8, n_trees=1, value_shape=(1, 2))
    columns = random_rows(model, 1, n_rows, gaps=True)
    background = random_rows(model, 2, 5, gaps=True)
    counts = np.array([n_others - 100, 50, 30, 15, 5])
    assert_as_defined(model, columns, background, counts, (0, n_rows - 1))


def chain_of_columns(n_columns):
    """A chain with so many columns on its longest path, some of them more than once."""
    for n_tests in range(n_columns, 20 * n_columns):
        model = chain(n_tests, n_columns + 5)
        if len(set(model.trees[0].feature[model.trees[0].feature >= 0])) == n_columns:
            return model
    raise AssertionError("no such chain")


# Numbers up to 15 are looked up in another way than larger ones; more than 255 columns on a path are walked.
@pytest.mark.parametrize("n_columns", [2, 15, 16, 40, 65, 255, 256])
def test_many_columns_on_a_path(n_columns):
    model = chain_of_columns(n_columns)
    columns = random_rows(model, 1, 40, gaps=True)
    background = random_rows(model, 2, 70, gaps=True)
    parts, base = explained(model.trees, columns, background=background)
    for i in (0, 39):
        row = [column[i : i + 1] for column in columns]
        walked = [  # one row against another
            explained(model.trees, row, background=[column[j : j + 1] for column in background])
            for j in range(70)
        ]
        assert_close(parts[i], np.mean([one[0][0] for one in walked], axis=0), 1.0)
        assert_close(base[i], np.mean([one[1][0] for one in walked], axis=0), 1.0)


def all_right(n_columns):
    """A tree that says 1 where every column is above 0, and 0 elsewhere.

    Each column is asked once, and beside the leaf that says 1 the first is asked again.
    """
    n = 2 * n_columns + 3
    inner = np.arange(n) % 2 == 0  # nodes 0, 2, 4, ..., each with a leaf to its left
    inner[2 * n_columns :] = False
    inner[2 * n_columns - 1] = True
    first_child = np.arange(n) + 1
    first_child[2 * n_columns - 1] = n - 2
    feature = np.arange(n) // 2
    feature[2 * n_columns - 1] = 0
    return _core.make_tree(
        n_outputs=1,
        n_values=1,
        categories=np.zeros(n_columns, dtype=np.uint32),
        first_child=np.where(inner, first_child, -1).astype(np.int32),
        n_branches=np.where(inner, 2, 0).astype(np.int32),
        feature=np.where(inner, feature, -2).astype(np.int32),
        threshold=np.where(inner, 0.0, -2.0),
        category_begin=np.full(n, -1, dtype=np.int64),
        missing_branch=np.zeros(n, dtype=np.int32),
        n_node_samples=np.ones(n, dtype=np.int64),
        weighted_n_node_samples=np.ones(n),
        impurity=np.zeros(n),
        gain=np.zeros(n),
        value=(np.arange(n) == 2 * n_columns).astype(float),
        category_words=np.zeros(0, dtype=np.uint32),
    )


# A row with all columns above 0, beside another that lacks k of them: each of these k gets 1/k, for all must
# be known. The other way round it loses 1/k. So the largest numbers are looked up, too.
@pytest.mark.parametrize("n_columns", [1, 2, 15, 16, 17, 64, 65, 255, 256])
def test_columns_that_only_one_row_passes(n_columns):
    full = [np.ones(32)] * n_columns
    lacking = [np.where(np.arange(n_columns) >= n_columns - k, -1.0, 1.0) for k in range(n_columns + 1)]
    columns = list(np.array(lacking).T.copy())
    of_each = np.array([(row < 0) / max((row < 0).sum(), 1) for row in lacking])
    tree = all_right(n_columns)
    for k in {0, 1, n_columns // 2, n_columns - 1, n_columns}:
        parts, _ = explained([tree], full, background=[column[k : k + 1] for column in columns])
        np.testing.assert_allclose(parts[0, :, 0], of_each[k], rtol=1e-9, atol=1e-15)
        parts, _ = explained([tree], [column[k : k + 1] for column in columns], background=full)
        np.testing.assert_allclose(parts[0, :, 0], -of_each[k], rtol=1e-9, atol=1e-15)


# What is kept on the way down decides how many rows go together: 2^17 numbers, 72 of a row at a test, 8 of it
# and a column.
@pytest.mark.parametrize("n_levels", [27, 28, 909, 910, 1820])
def test_deep_chains(n_levels):
    model = chain(n_levels, 8)
    columns = random_rows(model, 1, 66, gaps=True)
    background = random_rows(model, 2, 5, gaps=True)
    assert_as_defined(model, columns, background, np.array([3, 1, 1, 60, 1]), (0, 63, 64, 65))


def test_a_chain_of_six_thousand_levels():
    model = chain(6000, 40)
    columns = random_rows(model, 1, 20, gaps=True)
    parts, base = explained(model.trees, columns, background=random_rows(model, 2, 70, gaps=True))
    np.testing.assert_allclose(parts.sum(axis=1) + base, said_by(model, columns), rtol=1e-9, atol=1e-12)


# 2^22 rows at tests are visited in one go: 64 rows at 65,536 tests, 63 if there are some more.
@pytest.mark.parametrize("n_leaves", [65_537, 66_600])
def test_a_tree_of_many_leaves(n_leaves):
    model = wide_model(8, 6, n_leaves, 0.9, n_trees=1)
    columns = random_rows(model, 1, 65, gaps=True)
    background = random_rows(model, 2, 3, gaps=True)
    parts, base = explained(model.trees, columns, background=background)
    np.testing.assert_allclose(parts.sum(axis=1) + base, said_by(model, columns), rtol=1e-9, atol=1e-12)
    for i in (62, 63, 64):
        others = [np.tile(column, 11) for column in background]  # enough for a walk beside words
        alone, _ = explained(model.trees, [column[i : i + 1] for column in columns], background=others)
        assert_close(alone[0], parts[i], 1.0)


def said_by(model: Model, columns):
    scores = np.zeros((len(columns[0]), 1, model.trees[0].value[0].size))
    _core.Predictor(model.trees, None, False).add(columns, len(scores), 0, 1, scores, None, False, 1)
    return scores[:, 0]


@pytest.mark.parametrize("n_values", [1, 7, 8, 9, 17])
def test_many_values_of_a_leaf(n_values):
    model = wide_model(12, 8, 50, 0.6, value_shape=(1, n_values))
    columns = random_rows(model, 1, 35, gaps=True)
    background = random_rows(model, 2, 4, gaps=True)
    assert_as_defined(model, columns, background, np.array([1, 66, 2, 1]), (0, 34))


@pytest.mark.parametrize("value_shape", [(1, 1), (1, 3)])
def test_a_walked_row_has_the_same_bits_in_any_company(value_shape):
    model = wide_model(4, 11, 300, 0.8, value_shape=value_shape, n_trees=3)
    columns = random_rows(model, 1, 63, gaps=True)
    background = random_rows(model, 2, 70, gaps=True)
    parts, _ = explained(model.trees, columns, background=background)
    for first, last in ((0, 1), (31, 40), (50, 63)):
        few, _ = explained(model.trees, [column[first:last] for column in columns], background=background)
        assert few.tobytes() == parts[first:last].tobytes()
