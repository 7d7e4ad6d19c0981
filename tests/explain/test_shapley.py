"""Exact explanations of the core against Shapley values by their definition, over all sets of columns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from predict.random_models import Model, models, random_rows, random_thresholds, random_tree, tree_shape
from predict.test_gaps import core_columns, grown
from reference.prediction import shares_of_leaves
from reference.shapley import shapley_pairs, shapley_values, worth_of_sets

from hornbeam import _core

# Up to 32 rows, or rows times rows of a background, are walked; more are looked up in tables. (Against a
# background it depends on words of 64 of its rows, too: tests/explain/test_background.py.)
WALKED, LOOKED_UP = 5, 40


def explained(trees, columns, *, weights=None, adds_to=None, votes=False, majority=False, background=None,
              pairs=False, n_threads=1):  # fmt: skip
    weights = np.ones(len(trees)) if weights is None else weights
    explainer = _core.Explainer(tuple(trees), weights, adds_to, votes, majority)
    n, m = len(columns[0]), len(columns)
    parts = np.full((n, m, m, explainer.n_scores) if pairs else (n, m, explainer.n_scores), np.nan)
    base = np.full((n, explainer.n_scores), np.nan)
    n_background = 0 if background is None else len(background[0])
    explainer.explain(columns, n, background, n_background, parts, base, n_threads)
    return parts, base


def rows_of(columns):
    return [[float(column[i]) for column in columns] for i in range(len(columns[0]))]


def worth(trees, row, others, categories, *, weights=None, adds_to=None, votes=False, majority=False):
    """The worth of all sets in the sum of some trees, mean over the rows of a background."""
    n_scores = trees[0].value[0].size if adds_to is None else int(adds_to.max()) + 1
    total = np.zeros((2 ** len(categories), n_scores))
    for t, tree in enumerate(trees):
        weight = 1.0 if weights is None else weights[t]

        def values(node, tree=tree, weight=weight, t=t):
            said = np.array(tree.value[node])
            if votes:
                said = np.eye(said.shape[1])[said.argmax(axis=1)]
            if adds_to is None:
                return weight * said.ravel()
            return weight * said.ravel()[0] * np.eye(n_scores)[adds_to[t]]

        for other in others:
            total += worth_of_sets(tree, values, row, other, categories, unseen_to_majority=majority) / len(
                others
            )
    return total


def assert_close(found, expected, scale):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11 * max(scale, 1.0))


@settings(max_examples=40)
@given(
    models(n_trees=2, n_thresholds=5),
    st.sampled_from([WALKED, LOOKED_UP]),
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_path_dependent_values_are_those_of_the_definition(model, n_rows, seed, majority, votes, pairs):
    columns = random_rows(model, seed, n_rows, gaps=True)
    weights = np.random.default_rng(seed).normal(size=len(model.trees))
    message = {"weights": weights, "adds_to": model.adds_to, "votes": votes, "majority": majority}
    parts, base = explained(model.trees, columns, pairs=pairs, **message)
    for i, row in list(enumerate(rows_of(columns)))[:: max(1, n_rows // 5)]:
        of_sets = worth(model.trees, row, [None], model.categories, **message)
        expected = shapley_pairs(of_sets) if pairs else shapley_values(of_sets)
        assert_close(parts[i], expected, np.abs(of_sets).max())
        assert_close(base[i], of_sets[0], np.abs(of_sets).max())


@settings(max_examples=30)
@given(
    models(n_trees=2, n_thresholds=5, value_shape=(1, 2)),
    st.sampled_from([(2, 3), (3, 12), (40, 12), (3, 300), (200, 12), (1000, 12)]),
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
)
def test_interventional_values_are_those_of_the_definition(model, sizes, seed, majority, pairs):
    n_rows, n_others = sizes
    columns = random_rows(model, seed, n_rows, gaps=True)
    background = random_rows(model, seed + 1, n_others, gaps=True)
    message = {"weights": np.array([0.5, -2.0]), "majority": majority}
    parts, base = explained(model.trees, columns, background=background, pairs=pairs, **message)
    others = rows_of(background)[:12]
    if n_others > 12:  # rows that come again count again
        background = [np.tile(column[:12], 25) for column in background]
        parts, base = explained(model.trees, columns, background=background, pairs=pairs, **message)
    for i, row in list(enumerate(rows_of(columns)))[: 2 + min(n_rows, 40) // 20]:
        of_sets = worth(model.trees, row, others, model.categories, **message)
        expected = shapley_pairs(of_sets) if pairs else shapley_values(of_sets)
        assert_close(parts[i], expected, np.abs(of_sets).max())
        assert_close(base[i], of_sets[0], np.abs(of_sets).max())


def wide_model(seed, n_columns, n_leaves, bushiness, value_shape=(1, 1), n_trees=2):
    """Trees with many columns on a path."""
    random = np.random.default_rng(seed)
    categories = [int(n) for n in random.choice([0, 0, 0, 3, 40], size=n_columns)]
    thresholds = [np.zeros(0) if n else random_thresholds(random, 4) for n in categories]
    trees = [
        random_tree(random, tree_shape(random, n_leaves, bushiness, 2), categories, thresholds, value_shape)
        for _ in range(n_trees)
    ]
    return Model(tuple(trees), tuple(categories), tuple(thresholds), None)


@pytest.mark.parametrize("pairs", [False, True], ids=["singles", "pairs"])
@pytest.mark.parametrize("with_background", [False, True], ids=["by path", "by background"])
@pytest.mark.parametrize("n_rows", [WALKED, LOOKED_UP])
@pytest.mark.parametrize("shape", [(12, 40, 0.0), (12, 200, 0.7), (11, 1030, 0.95)])
def test_long_paths(shape, n_rows, with_background, pairs):
    model = wide_model(7, *shape, value_shape=(1, 2))
    columns = random_rows(model, 1, n_rows, gaps=True)
    background = random_rows(model, 2, 9, gaps=True) if with_background else None
    parts, base = explained(model.trees, columns, background=background, pairs=pairs)
    others = rows_of(background) if with_background else [None]
    for i, row in list(enumerate(rows_of(columns)))[:2]:
        of_sets = worth(model.trees, row, others, model.categories)
        expected = shapley_pairs(of_sets) if pairs else shapley_values(of_sets)
        assert_close(parts[i], expected, np.abs(of_sets).max())
        assert_close(base[i], of_sets[0], np.abs(of_sets).max())


# Trees of 17 leaves have long paths, smaller ones tables from 32 rows on; 128 rows are followed side by side.
@pytest.mark.parametrize("n_leaves", [16, 17])
@pytest.mark.parametrize("n_rows", [1, 31, 32, 127, 128, 129, 257])
def test_either_side_of_what_decides_the_way(n_leaves, n_rows):
    model = wide_model(2, 6, n_leaves, 0.5, n_trees=1)
    columns = random_rows(model, 1, n_rows, gaps=True)
    parts, base = explained(model.trees, columns)
    rows = rows_of(columns)
    for i in {0, n_rows // 2, n_rows - 1}:
        of_sets = worth(model.trees, rows[i], [None], model.categories)
        assert_close(parts[i], shapley_values(of_sets), np.abs(of_sets).max())
        assert_close(base[i], of_sets[0], np.abs(of_sets).max())


# Tables are made for trees of up to 1,024 leaves where there are no long paths: pairs, and other rows.
@pytest.mark.parametrize("n_leaves", [1024, 1025])
@pytest.mark.parametrize("with_background", [False, True])
def test_tables_of_1024_leaves(n_leaves, with_background):
    model = wide_model(3, 7, n_leaves, 0.5, n_trees=1)
    n_rows = 600 if with_background else LOOKED_UP
    columns = random_rows(model, 1, n_rows, gaps=True)
    background = random_rows(model, 2, 5, gaps=True) if with_background else None
    pairs = not with_background
    parts, _ = explained(model.trees, columns, background=background, pairs=pairs)
    others = rows_of(background) if with_background else [None]
    for i in (0, n_rows - 1):
        of_sets = worth(model.trees, rows_of(columns)[i], others, model.categories)
        expected = shapley_pairs(of_sets) if pairs else shapley_values(of_sets)
        assert_close(parts[i], expected, np.abs(of_sets).max())


def test_on_long_paths_a_row_has_the_same_bits_in_any_company():
    model = wide_model(4, 11, 300, 0.8, value_shape=(1, 2), n_trees=3)
    columns = random_rows(model, 1, 300, gaps=True)
    parts, _ = explained(model.trees, columns)
    for first, last in ((0, 1), (131, 140), (250, 300)):
        few, _ = explained(model.trees, [column[first:last] for column in columns])
        assert few.tobytes() == parts[first:last].tobytes()


def chain(n_tests, n_columns):
    """A tree whose left branches are leaves, which halve the rows: the deepest there is."""
    random = np.random.default_rng(n_tests)
    n_branches = np.tile([2, 0], n_tests)
    n_branches = np.concatenate([n_branches[:1], np.tile([0, 2], n_tests - 1), [0, 0]])
    thresholds = [np.array([0.3, 0.5, 0.7])] * n_columns
    tree = random_tree(random, n_branches.astype(np.int32), [0] * n_columns, thresholds, (1, 1))
    return Model((tree,), (0,) * n_columns, tuple(thresholds), None)


# 128 rows are followed side by side while what they keep on the way, three numbers for each level and point,
# is at most 2^17 of them: 85 levels of four points; with one level more it is 112 rows, with thousands 16.
@pytest.mark.parametrize("n_levels", [85, 86, 1000])
def test_long_paths_that_fill_the_cache(n_levels):
    model = chain(n_levels, 8)
    columns = random_rows(model, 1, 130, gaps=True)
    parts, _ = explained(model.trees, columns)
    rows = rows_of(columns)
    for i in (0, 111, 112, 127, 128, 129):
        of_sets = worth(model.trees, rows[i], [None], model.categories)
        assert_close(parts[i], shapley_values(of_sets), np.abs(of_sets).max())
        alone, _ = explained(model.trees, [column[i : i + 1] for column in columns])
        assert alone.tobytes() == parts[i : i + 1].tobytes()


def test_a_tree_of_six_thousand_levels():
    model = chain(6000, 40)
    columns = random_rows(model, 1, 20, gaps=True)
    parts, base = explained(model.trees, columns)
    predictor = _core.Predictor(model.trees, None, False)
    scores = np.zeros((20, 1, 1))
    predictor.add(columns, 20, 0, 1, scores, None, False, 1)
    np.testing.assert_allclose(parts.sum(axis=1) + base, scores[:, 0], rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(grown(), st.booleans(), st.booleans(), st.booleans())
def test_every_policy_of_missing_values(case, majority, with_background, repeat):
    trees, _, columns, categories = case
    columns = core_columns(columns)
    if repeat:
        columns = [np.tile(column, 40) for column in columns]
    background = [column[:4][::-1] for column in columns] if with_background else None
    weights = np.full(len(trees), 1 / len(trees))
    parts, base = explained(trees, columns, weights=weights, majority=majority, background=background)
    others = rows_of(background) if with_background else [None]
    for i, row in list(enumerate(rows_of([column[:25] for column in columns])))[:4]:
        answering = [
            tree for tree in trees if shares_of_leaves(tree, row, categories, unseen_to_majority=majority)
        ]
        if not answering:
            np.testing.assert_allclose(base[i], np.mean([tree.value[0, 0] for tree in trees], axis=0))
            assert not parts[i].any()
            continue
        each = np.full(len(answering), 1 / len(answering))
        of_sets = worth(answering, row, others, categories, weights=each, majority=majority)
        assert_close(parts[i], shapley_values(of_sets), 1.0)
        assert_close(base[i], of_sets[0], 1.0)


@pytest.mark.parametrize("pairs", [False, True], ids=["singles", "pairs"])
@pytest.mark.parametrize("with_background", [False, True], ids=["by path", "by background"])
def test_parts_do_not_depend_on_threads(with_background, pairs):
    model = wide_model(3, 11, 300, 0.8, value_shape=(2, 3), n_trees=5)
    columns = random_rows(model, 1, 700, gaps=True)
    background = random_rows(model, 2, 20, gaps=True) if with_background else None
    message = {"background": background, "pairs": pairs}
    for n_rows in (100, 200) if pairs else (100, 200, 700):  # of the last, some subtrees are in tables
        few = [column[:n_rows] for column in columns]
        one, two = explained(model.trees, few, **message), explained(model.trees, few, n_threads=3, **message)
        assert one[0].tobytes() == two[0].tobytes()
        assert one[1].tobytes() == two[1].tobytes()


def test_parts_and_base_sum_to_the_score_of_deep_trees():
    model = wide_model(5, 60, 4000, 0.5, n_trees=1)
    columns = random_rows(model, 1, 50, gaps=True)
    parts, base = explained(model.trees, columns)
    predictor = _core.Predictor(model.trees, None, False)
    scores = np.zeros((50, 1, 1))
    predictor.add(columns, 50, 0, 1, scores, None, False, 1)
    np.testing.assert_allclose(parts.sum(axis=1) + base, scores[:, 0], rtol=1e-9, atol=1e-12)


def test_a_tree_of_one_leaf_has_no_parts():
    random = np.random.default_rng(0)
    tree = random_tree(random, np.array([0], dtype=np.int32), [0, 0], [np.ones(1)] * 2, (1, 3))
    parts, base = explained([tree], [np.zeros(50), np.ones(50)])
    assert not parts.any()
    np.testing.assert_array_equal(base, np.tile(tree.value[0, 0], (50, 1)))


def test_wrong_arrays_are_refused():
    model = wide_model(1, 4, 10, 0.5)
    explainer = _core.Explainer(model.trees, np.ones(2), None, False, False)
    columns = random_rows(model, 1, 5, gaps=False)
    parts, base = np.zeros((5, 4, 1)), np.zeros((5, 1))
    with pytest.raises(ValueError, match="too few columns"):
        explainer.explain(columns[:1], 5, None, 0, parts[:, :1].copy(), base, 1)
    with pytest.raises(ValueError, match="background has too few"):
        explainer.explain(columns, 5, columns[:1], 5, parts, base, 1)
    with pytest.raises(ValueError, match="background has no rows"):
        explainer.explain(columns, 5, [column[:0] for column in columns], 0, parts, base, 1)
    with pytest.raises(ValueError, match="parts must have the shape"):
        explainer.explain(columns, 5, None, 0, parts[:4].copy(), base, 1)
    with pytest.raises(ValueError, match="base must have the shape"):
        explainer.explain(columns, 5, None, 0, parts, base[:4].copy(), 1)
    with pytest.raises(ValueError, match="weights"):
        _core.Explainer(model.trees, np.ones(3), None, False, False)


SAME_BITS = """
import hashlib
import numpy as np
import hornbeam as hb

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 12))
X[rng.random(X.shape) < 0.05] = np.nan
y = np.nan_to_num(X).sum(axis=1)
boosting = hb.GradientBoostingRegressor(n_estimators=12, max_leaf_nodes=40, max_depth=None, random_state=0)
forest = hb.RandomForestRegressor(3, random_state=0)  # long paths
for model in (boosting.fit(X, y), forest.fit(X, y)):
    for more in ({}, {"background": X[:20]}):
        print(hashlib.sha256(model.contributions(X, **more).values.tobytes()).hexdigest())
print(hashlib.sha256(boosting.contributions(X[:50], interactions=True).values.tobytes()).hexdigest())
# Several values at a leaf, more than 15 columns on a path, several words of the background.
wide = rng.normal(size=(300, 60))
labels = rng.integers(3, size=300)
trees = hb.RandomForestClassifier(2, max_features=1, random_state=0).fit(wide, labels)
for model, n in ((trees, 150), (trees, 60), (hb.DecisionTreeRegressor().fit(wide, labels), 60)):
    print(hashlib.sha256(model.contributions(wide[:n], background=wide[-70:]).values.tobytes()).hexdigest())
"""


def test_every_instruction_set_gives_the_same_bits(run_with_instructions, tmp_path):
    script = tmp_path / "explain.py"
    script.write_text(SAME_BITS)
    runs = {name: run_with_instructions(name, str(script)) for name in ("baseline", "avx2", "avx512")}
    assert all(run.returncode == 0 for run in runs.values()), runs["baseline"].stderr
    assert len(runs["baseline"].stdout.split()) == 8
    assert runs["baseline"].stdout == runs["avx2"].stdout == runs["avx512"].stdout
