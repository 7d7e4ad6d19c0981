"""The predictor against the slow walk in Python, bit for bit, whatever path it takes."""

import numpy as np
import pytest
from core.growing import encode, grow
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import prediction

from hornbeam import _core
from predict.random_models import Model, models, random_model, random_rows, random_tree, tree_shape

ROW_COUNTS = [0, 1, 2, 7, 16, 63, 64, 65, 130]


def scores_of(
    predictor: _core.Predictor, columns: list[np.ndarray], weights=None, hard_votes=False, n_threads=1
) -> np.ndarray:
    scores = np.zeros((len(columns[0]), predictor.n_outputs, predictor.n_values))
    everything = (0, predictor.n_trees)
    predictor.add(columns, len(columns[0]), *everything, scores, weights, hard_votes, n_threads)
    return scores


def assert_as_slow_walk(
    predictor: _core.Predictor, model: Model, columns: list[np.ndarray], *, majority: bool, seed: int
) -> None:
    found = predictor.leaves(columns, len(columns[0]), 0, len(model.trees), 1)
    slow = prediction.leaves(model.trees, columns, model.categories, unseen_to_majority=majority)
    np.testing.assert_array_equal(found, slow)
    weights = np.random.default_rng(seed).normal(size=len(model.trees))
    for given_weights in (None, weights):
        for hard_votes in (False, True):
            expected = prediction.total(
                model.trees, slow, weights=given_weights, hard_votes=hard_votes, adds_to=model.adds_to
            )
            scores = scores_of(predictor, columns, given_weights, hard_votes)
            assert scores.tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "path",
    [
        ("fastest", "avx512"),
        ("plain", "baseline"),
        ("compact", "baseline"),
        ("sliced", "baseline"),
        ("sliced", "avx2"),
        ("sliced", "avx512"),
        ("one_row", "baseline"),
        ("one_row", "avx512"),
    ],
    ids="-".join,
)
@given(
    models(),
    st.sampled_from(ROW_COUNTS),
    st.integers(0, 2**32),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["float64", "float32"]),
)
@settings(max_examples=200, deadline=None)
def test_every_answer_is_that_of_the_slow_walk(path, model, n_rows, seed, gaps, majority, dtype):
    columns = random_rows(model, seed, n_rows, gaps=gaps, dtype=dtype)
    predictor = _core.Predictor(model.trees, model.adds_to, majority, *path)
    assert_as_slow_walk(predictor, model, columns, majority=majority, seed=seed)


@pytest.mark.parametrize("path", ["fastest", "compact", "plain"])
def test_stages_and_threads_give_the_bits_of_one_sum(path):
    model = random_model(1, n_trees=7, most_leaves=40, value_shape=(1, 3), n_thresholds=50, kinds="mixed")
    columns = random_rows(model, 2, 3000, gaps=True)
    predictor = _core.Predictor(model.trees, None, False, path)
    whole = scores_of(predictor, columns)
    stages = np.zeros_like(whole)
    for begin, end in ((0, 1), (1, 4), (4, 4), (4, 7)):
        predictor.add(columns, 3000, begin, end, stages, None, False, 2)
    assert stages.tobytes() == whole.tobytes() == scores_of(predictor, columns, n_threads=2).tobytes()
    on_the_way = np.empty((7, *whole.shape))
    again = np.zeros_like(whole)
    predictor.add(columns, 3000, 0, 7, again, None, False, 2, on_the_way)
    one_by_one = np.zeros_like(whole)
    for tree in range(7):
        predictor.add(columns, 3000, tree, tree + 1, one_by_one, None, False, 1)
        assert on_the_way[tree].tobytes() == one_by_one.tobytes()
    assert again.tobytes() == whole.tobytes()
    leaves = predictor.leaves(columns, 3000, 0, 7, 2)
    np.testing.assert_array_equal(predictor.leaves(columns, 3000, 3, 5, 1), leaves[:, 3:5])


@pytest.mark.parametrize("path", ["plain", "compact"])
def test_chains_of_thousands_of_tests(path):
    random = np.random.default_rng(0)
    values = np.arange(3000.0)
    tree = random_tree(random, tree_shape(random, 3001, 0.0, 2), [0], [values], (1, 1))
    columns = [np.append(random.permutation(values), [np.nan, -np.inf, np.inf])]
    found = _core.Predictor((tree,), None, False, path).leaves(columns, 3003, 0, 1, 1)
    np.testing.assert_array_equal(found, prediction.leaves((tree,), columns, [0]))


def test_a_chain_of_100_000_tests():
    """Node 2k asks for x <= k: yes is a leaf, no the next test. No path recurses, and none gives up."""
    n_tests = 100_000
    inner = np.arange(2 * n_tests + 1) % 2 == 0
    inner[-1] = False
    node = np.arange(len(inner), dtype=np.int32)
    tree = _core.make_tree(
        n_outputs=1,
        n_values=1,
        categories=np.zeros(1, dtype=np.uint32),
        first_child=np.where(inner, node + 1, -1).astype(np.int32),
        n_branches=np.where(inner, 2, 0).astype(np.int32),
        feature=np.where(inner, 0, -2).astype(np.int32),
        threshold=np.where(inner, node / 2, -2.0),
        category_begin=np.full(len(inner), -1),
        missing_branch=inner.astype(np.int32),
        n_node_samples=np.ones(len(inner), dtype=np.int64),
        weighted_n_node_samples=np.ones(len(inner)),
        impurity=np.zeros(len(inner)),
        gain=np.zeros(len(inner)),
        value=node.astype(np.float64),
        category_words=np.zeros(0, dtype=np.uint32),
    )
    columns = [np.array([-np.inf, 0.0, 7.5, 49_999.0, 99_998.5, 99_999.0, 99_999.5, np.inf, np.nan] * 2)]
    slow = prediction.leaves((tree,), columns, [0])
    assert slow[:9, 0].tolist() == [1, 1, 17, 99_999, 199_999, 199_999, 200_000, 200_000, 200_000]
    for path in ("plain", "compact", "fastest"):
        predictor = _core.Predictor((tree,), None, False, path)
        np.testing.assert_array_equal(predictor.leaves(columns, 18, 0, 1, 1), slow)
        np.testing.assert_array_equal(predictor.leaves([columns[0][4:5]], 1, 0, 1, 1), slow[4:5])
        assert scores_of(predictor, columns).ravel().tolist() == slow.ravel().tolist()


@given(st.integers(0, 2**32), st.sampled_from([0, 4, 20]))
@settings(max_examples=50, deadline=None)
def test_rows_of_the_data_set_need_no_values(seed, max_bins):
    """Trees find leaves by codes alone: of rows they were grown on and of others of the data set."""
    random = np.random.default_rng(seed)
    columns = [random.normal(size=90).round(1), random.choice([-np.inf, 0.0, 1.0, np.inf, np.nan], size=90)]
    columns[0][random.random(90) < 0.1] = np.nan
    columns.append(random.integers(-1, 4, size=90))
    data = encode(columns, max_bins=max_bins)
    y = random.normal(size=90)
    trees = tuple(
        grow(data, y, rows=random.permutation(90)[:50], criterion="squared_error") for _ in range(3)
    )
    predictor = _core.Predictor(trees, None, False)
    columns[2] = columns[2].astype(np.int32)
    rows = random.integers(0, 90, size=130).astype(np.uint32)
    by_codes = predictor.leaves_of_encoded(data, rows, 0, 3, 1)
    by_values = predictor.leaves(columns, 90, 0, 3, 1)
    np.testing.assert_array_equal(by_codes, by_values[rows])
    scores = np.zeros((130, 1, 1))
    predictor.add_encoded(data, rows, 0, 3, scores, None, False, 1)
    assert scores.tobytes() == scores_of(predictor, columns)[rows].tobytes()


@pytest.mark.parametrize("path", ["fastest", "plain", "compact", "sliced", "one_row"])
def test_no_row_and_no_tree_are_nothing_to_do(path):
    """Before and after a form of the trees was made, by values and by codes."""
    random = np.random.default_rng(0)
    columns = [random.normal(size=90), random.normal(size=90)]
    data = encode(columns)
    trees = tuple(grow(data, random.normal(size=90), criterion="squared_error") for _ in range(6))
    predictor = _core.Predictor(trees, None, False, path)
    none, some = np.zeros(0, dtype=np.uint32), np.arange(90, dtype=np.uint32)
    for _ in range(2):
        for rows, (begin, end) in ((none, (0, 6)), (none, (3, 3)), (some, (3, 3))):
            taken = [column[rows] for column in columns]
            shape = (len(rows), end - begin)
            assert predictor.leaves(taken, len(rows), begin, end, 2).shape == shape
            assert predictor.leaves_of_array(np.array(taken).T, begin, end, 2).shape == shape
            assert predictor.leaves_of_encoded(data, rows, begin, end, 2).shape == shape
            scores = np.full((len(rows), 1, 1), 7.0)
            predictor.add(taken, len(rows), begin, end, scores, None, False, 2)
            predictor.add_encoded(data, rows, begin, end, scores, None, True, 2)
            assert np.all(scores == 7.0)
        predictor.add_encoded(data, some, 0, 6, np.zeros((90, 1, 1)), None, False, 2)


def test_a_sum_on_top_of_scores_that_are_not_in_order_is_not_lost():
    model = random_model(5, n_trees=3, most_leaves=9, value_shape=(1, 2), n_thresholds=5, kinds="numeric")
    columns = random_rows(model, 6, 10, gaps=False)
    predictor = _core.Predictor(model.trees, None, False)
    for scattered in (np.zeros((20, 1, 2))[::2], np.zeros((2, 1, 10)).T, np.zeros((10, 1, 2), np.float32)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            predictor.add(columns, 10, 0, 3, scattered, None, False, 1)


@pytest.mark.parametrize(
    ("kinds", "most_leaves", "n_thresholds", "paths"),
    [
        ("mixed", 20, 5, {"plain", "compact", "sliced"}),
        ("numeric", 32, 5, {"plain", "compact", "sliced", "one_row"}),
        ("numeric", 60, 5, {"plain", "compact", "sliced"}),
        ("numeric", 2000, 5, {"plain", "compact"}),
        ("numeric", 60, 2000, {"plain", "compact"}),
        ("multiway", 20, 5, {"plain"}),
    ],
)
def test_paths_are_open_to_the_trees_that_they_understand(kinds, most_leaves, n_thresholds, paths):
    """Trees with other tests than the fast paths know take the plain walk, whatever was asked for."""
    random = np.random.default_rng(0)
    categories = [0, 0] if kinds == "numeric" else [4, 0]
    thresholds = [random.normal(size=n_thresholds) for _ in categories]
    shape = tree_shape(random, most_leaves, 1.0, 4 if kinds == "multiway" else 2)
    n_trees = 1 if n_thresholds < most_leaves else 40
    trees = tuple(random_tree(random, shape, categories, thresholds, (1, 1)) for _ in range(n_trees))
    predictor = _core.Predictor(trees, None, False)
    every_path = ("plain", "compact", "sliced", "one_row")
    assert {path for path in every_path if predictor.can_take(path)} == paths
    model = Model(trees, tuple(categories), tuple(thresholds), None)
    columns = random_rows(model, 1, 70, gaps=True)
    plain = scores_of(_core.Predictor(trees, None, False, "plain"), columns)
    for path in (*every_path, "fastest"):
        assert scores_of(_core.Predictor(trees, None, False, path), columns).tobytes() == plain.tobytes()


def test_what_does_not_fit_is_refused():
    model = random_model(3, n_trees=2, most_leaves=9, value_shape=(1, 2), n_thresholds=5, kinds="numeric")
    predictor = _core.Predictor(model.trees, None, False)
    columns = random_rows(model, 4, 5, gaps=False)
    needed = int(predictor.features[-1])
    with pytest.raises(ValueError, match="too few columns"):
        predictor.leaves(columns[:needed], 5, 0, 2, 1)
    with pytest.raises(IndexError, match="range of trees"):
        predictor.leaves(columns, 5, 0, 3, 1)
    with pytest.raises(ValueError, match=r"shape \(rows, outputs, values\)"):
        predictor.add(columns, 5, 0, 2, np.zeros((5, 1, 3)), None, False, 1)
    with pytest.raises(ValueError, match="an entry per tree"):
        predictor.add(columns, 5, 0, 2, np.zeros((5, 1, 2)), np.ones(1), False, 1)
    with pytest.raises(ValueError, match="trees of one value"):
        _core.Predictor(model.trees, np.array([0, 1], dtype=np.int32), False)
    with pytest.raises(ValueError, match="needs a tree"):
        _core.Predictor((), None, False)
