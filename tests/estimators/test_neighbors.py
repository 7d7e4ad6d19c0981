"""Nearest neighbours beside scikit-learn's, beside the formulas, and at the edges."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.neighbors
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb
from hornbeam.neighborhood import choose_structure


def table(n_rows=200, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 1), X @ rng.normal(size=n_columns)


# ------------------------------------------------------------------------------------------------------------
# Beside scikit-learn


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize(
    "metric",
    [
        {"metric": "euclidean"},
        {"metric": "manhattan"},
        {"metric": "chebyshev"},
        {"p": 3},
        {"p": 1},
        {"metric": "cosine"},
    ],
    ids=str,
)
def test_the_answers_are_scikit_learns(weights, metric):
    X, classes, numbers = table()
    rows = np.concatenate([table(seed=1)[0], X[:20]])
    for ours, theirs, y in (
        (hb.KNeighborsClassifier, sklearn.neighbors.KNeighborsClassifier, classes),
        (hb.KNeighborsRegressor, sklearn.neighbors.KNeighborsRegressor, numbers),
    ):
        one = ours(7, weights=weights, **metric).fit(X, y)
        other = theirs(7, weights=weights, **metric).fit(X, y)
        if metric.get("metric") == "cosine" and weights == "distance":
            rows = rows[:200]  # at a hit its distances are rounding errors, and so are the weights
        np.testing.assert_allclose(one.predict(rows), other.predict(rows), rtol=1e-9)
        if ours is hb.KNeighborsClassifier:
            np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(rows), rtol=1e-9)
        for found, expected in zip(one.kneighbors(rows), other.kneighbors(rows), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
        for mode in ("connectivity", "distance"):
            graph, expected = (model.kneighbors_graph(rows, 3, mode=mode) for model in (one, other))
            np.testing.assert_allclose(graph.toarray(), expected.toarray(), rtol=1e-9, atol=1e-15)
        for found, expected in zip(one.kneighbors(), other.kneighbors(), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_several_outputs():
    X, classes, numbers = table()
    labels = np.stack(
        [np.array(["a", "b", "c"])[classes], np.array(["x", "y"])[(numbers > 0).astype(int)]], 1
    )
    one, other = (library.KNeighborsClassifier(5).fit(X, labels) for library in (hb, sklearn.neighbors))
    assert (one.predict(X) == other.predict(X)).all()
    for found, expected in zip(one.predict_proba(X), other.predict_proba(X), strict=True):
        np.testing.assert_allclose(found, expected)
    targets = np.stack([numbers, -numbers, numbers**2], axis=1)
    one, other = (
        library.KNeighborsRegressor(5, weights="distance").fit(X, targets)
        for library in (hb, sklearn.neighbors)
    )
    np.testing.assert_allclose(one.predict(X[:50] + 0.1), other.predict(X[:50] + 0.1))


def test_scaling_is_that_of_a_pipeline_and_is_shown():
    X, classes, _ = table()
    X = X * [1, 1000, 1e-6, 1] + [0, 5, 0, 1e6]
    X[:, 3] = 7.0
    model = hb.KNeighborsClassifier(scale="standard").fit(X, classes)
    assert repr(model) == "KNeighborsClassifier(scale='standard')"
    pipeline = make_pipeline(StandardScaler(), sklearn.neighbors.KNeighborsClassifier()).fit(X, classes)
    rows = X[:50] + 1e-7
    np.testing.assert_array_equal(model.predict_proba(rows), pipeline.predict_proba(rows))
    unscaled = hb.KNeighborsClassifier().fit(X, classes)
    assert model.score(X, classes) > unscaled.score(X, classes)


# ------------------------------------------------------------------------------------------------------------
# Formulas


def distances_between(rows, X):
    return np.sqrt(((rows[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("bandwidth", [0.3, 2.0, "median"])
def test_all_rows_with_gaussian_weights_are_the_kernel_formula(bandwidth):
    X, classes, numbers = table(100)
    rows = table(50, seed=1)[0]
    between = distances_between(X, X)[np.triu_indices(100, k=1)]
    width = np.median(between) if bandwidth == "median" else bandwidth
    kernel = np.exp(-(distances_between(rows, X) ** 2) / (2 * width**2))
    classifier = hb.KNeighborsClassifier(None, weights="gaussian", bandwidth=bandwidth).fit(X, classes)
    assert classifier.bandwidth_ == pytest.approx(width)
    votes = np.stack([kernel[:, classes == c].sum(axis=1) for c in range(3)], axis=1)
    np.testing.assert_allclose(classifier.predict_proba(rows), votes / votes.sum(axis=1, keepdims=True))
    regressor = hb.KNeighborsRegressor(None, weights="gaussian", bandwidth=bandwidth).fit(X, numbers)
    np.testing.assert_allclose(regressor.predict(rows), kernel @ numbers / kernel.sum(axis=1))


def test_inverse_squares():
    X, _, numbers = table(60)
    rows = table(20, seed=1)[0]
    distances = distances_between(rows, X)
    nearest = np.argsort(distances, axis=1)[:, :4]
    weights = 1 / np.take_along_axis(distances, nearest, axis=1) ** 2
    expected = (weights * numbers[nearest]).sum(axis=1) / weights.sum(axis=1)
    model = hb.KNeighborsRegressor(4, weights="inverse_square").fit(X, numbers)
    np.testing.assert_allclose(model.predict(rows), expected)
    # A hit takes all the weight, and several hits share it.
    doubled = hb.KNeighborsRegressor(4, weights="inverse_square").fit([[0], [0], [1], [2]], [1, 3, 10, 20])
    assert doubled.predict([[0]]).tolist() == [2]


@pytest.mark.parametrize("weights", ["distance", "inverse_square", "gaussian"])
def test_weights_neither_overflow_nor_vanish(weights):
    """Very near and very far from all rows, only the ratio of the distances matters."""
    near = hb.KNeighborsRegressor(2, weights=weights).fit([[0.0], [1e-160]], [0.0, 1.0])
    assert 0.0 < near.predict([[2e-161]])[0] < 0.5
    far = hb.KNeighborsRegressor(None, weights=weights).fit([[0.0], [1.0]], [0.0, 1.0])
    assert 0.5 < far.predict([[1e6]])[0] <= 1.0
    assert 0.5 < far.predict([[40.0]])[0] <= 1.0


def test_a_function_of_the_distances():
    X, _, numbers = table(60)
    rows = table(20, seed=1)[0]
    ours = hb.KNeighborsRegressor(4, weights=lambda d: 1 / (1 + d)).fit(X, numbers)
    theirs = sklearn.neighbors.KNeighborsRegressor(4, weights=lambda d: 1 / (1 + d)).fit(X, numbers)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(rows))
    for function, message in (
        (lambda d: d[:, :1], "one weight per distance"),
        (lambda d: d - 1e9, "finite and >= 0"),
        (lambda d: d * np.nan, "finite and >= 0"),
        (lambda d: d * 0, "0 for all neighbours"),
    ):
        with pytest.raises(ValueError, match=message):
            hb.KNeighborsRegressor(4, weights=function).fit(X, numbers).predict(rows)


def test_gower_by_hand():
    frame = pd.DataFrame(
        {
            "size": [0.0, 10.0, 5.0, np.nan],
            "colour": pd.Categorical(["red", "blue", "red", None]),
            "grade": pd.Categorical(["low", "mid", "high", "low"], ["low", "mid", "high"], ordered=True),
        }
    )
    model = hb.KNeighborsClassifier(4, metric="gower").fit(frame, [0, 1, 1, 0])
    asked = pd.DataFrame(
        {
            "size": [5.0, np.nan, 40.0],
            "colour": ["red", "green", None],
            "grade": pd.Categorical(["mid", None, None], ["low", "mid", "high"], ordered=True),
        }
    )
    distances, rows = model.kneighbors(asked)
    # size: a quarter of its range per 2.5, at most 1; colour: same or not; grade: half its range per step.
    np.testing.assert_allclose(distances[0], [0.5 / 3, 1 / 3, 1.5 / 3, 0.5 / 1])
    assert rows[0].tolist() == [2, 0, 1, 3]
    # An unseen colour differs from all; row 3 shares nothing with the second question.
    assert distances[1].tolist() == [1, 1, 1, 1]
    assert rows[1].tolist() == [0, 1, 2, 3]
    assert distances[2].tolist() == [1, 1, 1, 1]


def test_gower_takes_constant_columns():
    model = hb.KNeighborsRegressor(1, metric="gower").fit([[1.0, 3.0], [1.0, 4.0]], [0, 1])
    distances, rows = model.kneighbors([[1.0, 3.9], [2.0, 3.0]])
    np.testing.assert_allclose(distances.ravel(), [0.05, 0.5])
    assert rows.ravel().tolist() == [1, 0]


# ------------------------------------------------------------------------------------------------------------
# Weights of rows


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    weights=st.sampled_from(["uniform", "distance", "inverse_square", "gaussian"]),
    n_neighbors=st.sampled_from([1, 3, 6, None]),
)
def test_whole_weights_are_repeated_rows(seed, weights, n_neighbors):
    rng = np.random.default_rng(seed)
    X, times = rng.integers(0, 5, size=(12, 2)).astype(float), rng.integers(0, 4, size=12)
    times[:2] = 3
    y = rng.normal(size=12)
    rows = rng.normal(size=(20, 2)) * 3
    options = {"n_neighbors": n_neighbors, "weights": weights, "scale": "standard"}
    weighted = hb.KNeighborsRegressor(**options).fit(X, y, sample_weight=times)
    repeated = hb.KNeighborsRegressor(**options).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.predict(rows), repeated.predict(rows), rtol=1e-9, atol=1e-12)


def test_the_last_neighbour_counts_in_part():
    model = hb.KNeighborsRegressor(2).fit([[0], [1], [2], [9]], [0, 1, 2, 9], sample_weight=[0.5, 1, 4, 1])
    assert model.predict([[0]]).tolist() == [(0.5 * 0 + 1 * 1 + 0.5 * 2) / 2]
    votes = hb.KNeighborsClassifier(2).fit([[0], [1], [2], [9]], list("abca"), sample_weight=[0.5, 1, 4, 1])
    assert votes.predict_proba([[0]]).tolist() == [[0.25, 0.5, 0.25]]


def test_a_large_weight_takes_what_the_small_ones_before_it_leave():
    # 3 + 5 of 1e20 are 8 neighbours; the row at 2 and the second 1e20 are beyond them.
    rows, weights = [[0], [1], [2], [3]], [3.0, 1e20, 2.0, 1e20]
    model = hb.KNeighborsRegressor(8).fit(rows, [0.0, 80, 800, 8000], sample_weight=weights)
    assert model.predict([[-1]])[0] == 80 * 5 / 8
    votes = hb.KNeighborsClassifier(8).fit(rows, list("abcd"), sample_weight=weights)
    np.testing.assert_array_equal(votes.predict_proba([[-1]]), [[3 / 8, 5 / 8, 0, 0]])


def test_rows_without_weight_are_not_there():
    X, classes, _ = table(50)
    weights = np.tile([1.0, 0.0], 25)
    X[1] = np.nan
    some = hb.KNeighborsClassifier(3, scale="standard").fit(X, classes, sample_weight=weights)
    alone = hb.KNeighborsClassifier(3, scale="standard").fit(X[::2], classes[::2])
    rows = table(20, seed=1)[0]
    np.testing.assert_array_equal(some.predict_proba(rows), alone.predict_proba(rows))
    np.testing.assert_array_equal(some.kneighbors(rows)[1], 2 * alone.kneighbors(rows)[1])
    assert some.kneighbors_graph(rows).shape == (20, 49)
    assert some.n_samples_fit_ == 25


def test_too_little_weight_is_refused():
    with pytest.raises(ValueError, match=r"sum to 1 .*average about 1"):
        hb.KNeighborsClassifier(2).fit([[0], [1], [2]], [0, 1, 1], sample_weight=[0.5, 0.25, 0.25])


# ------------------------------------------------------------------------------------------------------------
# Edges


def test_57_more_neighbours_than_rows():
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 1]
    with pytest.raises(ValueError, match=r"n_neighbors = 5, n_samples = 3.*at most 3"):
        hb.KNeighborsClassifier().fit(X, y)
    model = hb.KNeighborsClassifier(3).fit(X, y)
    with pytest.raises(ValueError, match="n_neighbors = 4, n_samples_fit = 3"):
        model.kneighbors(X, 4)
    with pytest.raises(ValueError, match="one is the row itself"):
        model.kneighbors()
    with pytest.raises(ValueError, match="n_neighbors > 0"):
        model.kneighbors(X, 0)
    with pytest.raises(TypeError, match="enter integer value"):
        model.kneighbors(X, 2.5)


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree"])
def test_57_all_points_identical_go_by_row_number(algorithm):
    X = np.full((40, 3), 0.1)
    model = hb.KNeighborsClassifier(3, algorithm=algorithm).fit(X, np.arange(40) % 2)
    distances, rows = model.kneighbors(X[:2])
    assert rows.tolist() == [[0, 1, 2]] * 2
    assert not distances.any()
    assert model.predict(X[:1]).tolist() == [0]
    # Among themselves: the nearest others, whether or not a row is among its own nearest.
    _, others = model.kneighbors()
    assert others[0].tolist() == [1, 2, 3]
    assert others[1].tolist() == [0, 2, 3]
    assert others[39].tolist() == [0, 1, 2]


def test_57_missing_and_infinite_values():
    X, classes, _ = table(20)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN: column 'x2', row 7 .*metric='gower'"):
        hb.KNeighborsClassifier().fit(X, classes)
    assert hb.KNeighborsClassifier(metric="gower").fit(X, classes).predict(X).shape == (20,)
    X[7, 2] = -np.inf
    for metric in ("minkowski", "gower"):
        with pytest.raises(ValueError, match="infinity: column 'x2', row 7 holds -inf"):
            hb.KNeighborsClassifier(metric=metric).fit(X, classes)
    X[7, 2] = 1e200
    with pytest.raises(ValueError, match=r"column 'x2', row 7 holds 1e\+200; .*overflow"):
        hb.KNeighborsClassifier().fit(X, classes)
    X[7, 2] = 0
    model = hb.KNeighborsClassifier().fit(X, classes)
    with pytest.raises(ValueError, match="NaN: column 'x1', row 0"):
        model.predict([[0, np.nan, 0, 0]])


def test_categories_need_gower():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    with pytest.raises(ValueError, match=r"column 'colour' holds categories, such as 'blue'.*gower"):
        hb.KNeighborsClassifier(1).fit(frame, [0, 1, 0])
    with pytest.raises(ValueError, match="column 'x0' holds categories"):
        hb.KNeighborsClassifier(1, categorical_features=[0]).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bandwidth": 0, "weights": "gaussian"}, "bandwidth must be 'median' or a finite number > 0; got 0"),
        ({"bandwidth": 2.0}, "bandwidth=2.0 is for weights='gaussian'"),
        ({"n_neighbors": 0}, "n_neighbors must be None or a whole number >= 1; got 0"),
        ({"n_neighbors": 2.5}, "n_neighbors must be"),
        ({"weights": "gausian"}, "Did you mean 'gaussian'?"),
        ({"weights": float}, "weights must be"),
        ({"metric": "haversine"}, "metric must be"),
        ({"p": 0.5}, r"p must be a number in \[1, 64\]; got 0.5"),
        ({"p": 3, "metric": "cosine"}, "p=3 is the power of metric='minkowski'"),
        ({"metric": "gower", "scale": "standard"}, "range already"),
        ({"metric": "gower", "algorithm": "kd_tree"}, "cannot search metric='gower'"),
        ({"scale": "minmax"}, "scale must be None or 'standard'"),
    ],
    ids=str,
)
def test_parameters_are_refused_at_fit(parameters, message):
    X, classes, _ = table(20)
    with pytest.raises(ValueError, match=message):
        hb.KNeighborsClassifier(**parameters).fit(X, classes)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, classes, _ = table(20)
    model = hb.KNeighborsClassifier().fit(X, classes)
    before = pickle.dumps(model)
    for wrong in ((X * np.nan, classes), (X, classes[:5]), (X, np.linspace(0, 1, 20))):
        with pytest.raises(ValueError):
            model.fit(*wrong)
    assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    "form",
    [
        np.asfortranarray,
        lambda X: X[::-1][::-1],
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        sparse.csr_matrix,
        sparse.csc_array,
        lambda X: X.astype(int),
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.float16),
    ],
    ids=["fortran", "strided", "swapped", "list", "csr", "csc", "integers", "single", "half"],
)
def test_forms_of_x(form):
    rng = np.random.default_rng(0)
    X, rows = (rng.integers(-8, 8, size=(n, 3)).astype(np.float64) for n in (60, 20))
    y = rng.normal(size=60)
    expected = hb.KNeighborsRegressor(4).fit(X, y).predict(rows)
    model = hb.KNeighborsRegressor(4).fit(form(X), y)
    np.testing.assert_array_equal(model.predict(rows), expected)
    np.testing.assert_array_equal(model.predict(form(rows)), expected)


def test_names_of_columns_are_checked():
    frame = pd.DataFrame(table(20)[0], columns=list("abcd"))
    model = hb.KNeighborsRegressor().fit(frame, np.arange(20))
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("dcba")])
    model.fit(frame.to_numpy(), np.arange(20))
    assert not hasattr(model, "feature_names_in_")


def test_copies_search_as_the_original():
    X, classes, _ = table()
    for parameters in ({}, {"algorithm": "kd_tree"}, {"n_neighbors": None, "weights": "gaussian"}):
        model = hb.KNeighborsClassifier(**parameters).fit(X, classes)
        expected = model.predict_proba(X)
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), clone(model).fit(X, classes)):
            np.testing.assert_array_equal(other.predict_proba(X), expected)


def test_huge_targets_stay_finite():
    model = hb.KNeighborsRegressor(3).fit([[0.0], [1.0], [2.0]], [1.7e308, 1.6e308, 1.7e308])
    assert model.predict([[0.0]])[0] == pytest.approx(5 / 3 * 1e308)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "gower"])
def test_every_structure_can_do_what_it_is_chosen_for(metric):
    for n_features in (1, 3, 8, 9, 100):
        for n_rows in (1, 10**3, 10**6):
            structure = choose_structure("auto", metric, n_rows, n_features)
            assert structure != "panels" or metric == "euclidean"
            assert structure != "tree" or metric not in ("cosine", "gower")
    if metric not in ("cosine", "gower"):
        assert choose_structure("auto", metric, 10**6, 2) == "tree"
        assert choose_structure("auto", metric, 10**6, 100) != "tree"
        assert choose_structure("auto", metric, 100, 2) != "tree"
    # Single precision compares with every row faster, so its tree needs more of them.
    assert choose_structure("auto", "euclidean", 10**4, 6) == "panels"
    assert choose_structure("auto", "manhattan", 10**4, 6) == "tree"


# ------------------------------------------------------------------------------------------------------------
# What the lectures say


def test_columns_of_noise_hurt_neighbours():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    scores = []
    for n_noise in (0, 10, 100):
        noisy = np.hstack([X, rng.normal(size=(600, n_noise))])
        scores.append(hb.KNeighborsClassifier().fit(noisy[:400], y[:400]).score(noisy[400:], y[400:]))
    assert scores[0] > 0.9
    assert scores[0] > scores[1] + 0.1 > scores[2] + 0.1 - 1e-9
    assert scores[2] < 0.65


def test_more_neighbours_less_variance_more_bias():
    rng = np.random.default_rng(0)
    rows = np.linspace(-1, 1, 50)[:, None]
    truth = np.sin(4 * rows[:, 0])
    variance, bias = [], []
    for k in (1, 5, 20, 50):
        predictions = []
        for _ in range(40):
            X = rng.uniform(-1, 1, size=(100, 1))
            y = np.sin(4 * X[:, 0]) + 0.5 * rng.normal(size=100)
            predictions.append(hb.KNeighborsRegressor(k, n_jobs=1).fit(X, y).predict(rows))
        variance.append(np.var(predictions, axis=0).mean())
        bias.append(np.mean((np.mean(predictions, axis=0) - truth) ** 2))
    assert variance == sorted(variance, reverse=True)
    assert bias[3] > bias[2] > bias[0]
