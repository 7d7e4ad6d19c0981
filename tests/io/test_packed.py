"""Large ensembles in the packed form: the same bits in fewer bytes, on both sides of where it begins."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from model_files import tensors_of, with_tensors

import hornbeam as hb
from hornbeam import _core
from hornbeam.errors import ModelFormatError
from hornbeam.io import packed_numbers, tree_writing
from hornbeam.io.packed_numbers import open_numbers, put_numbers, steps, walked
from hornbeam.io.packed_trees import PACKED_FROM, gini_gain, gini_impurity, sums_of_leaves
from hornbeam.io.record import RecordWriter
from hornbeam.model import TREE_ARRAYS

N = 3000


def data(seed=0):
    draw = np.random.default_rng(seed)
    X = draw.normal(size=(N, 5)).round(3)
    X[::9, 1] = np.nan
    return X, (X[:, 0] * X[:, 2] + draw.normal(size=N) > 0).astype(int), draw


def fitted(kind):
    X, y, draw = data()
    fixed = {"random_state": 0, "n_jobs": 1}
    return {
        "forest": lambda: hb.RandomForestClassifier(12, **fixed).fit(X, y),
        "extra trees of three": lambda: hb.ExtraTreesClassifier(8, **fixed).fit(X, y + (X[:, 3] > 0)),
        "entropy": lambda: hb.RandomForestClassifier(12, criterion="entropy", **fixed).fit(X, y),
        "weighted": lambda: hb.RandomForestClassifier(12, **fixed).fit(X, y, draw.random(N) + 0.5),
        "two outputs": lambda: hb.RandomForestClassifier(8, **fixed).fit(
            X, np.stack([y, X[:, 3] > 0], axis=1)
        ),
        "numbers": lambda: hb.RandomForestRegressor(5, **fixed).fit(X, X[:, 0] + draw.normal(size=N)),
        "counts": lambda: hb.RandomForestRegressor(5, criterion="poisson", **fixed).fit(
            X, draw.poisson(3, N)
        ),
        "medians": lambda: hb.RandomForestRegressor(5, criterion="absolute_error", **fixed).fit(
            X[:1500], X[:1500, 0] + draw.normal(size=1500)
        ),
        "weighted numbers": lambda: hb.RandomForestRegressor(5, **fixed).fit(
            X, X[:, 0] + draw.normal(size=N), draw.random(N)
        ),
        "few numbers": lambda: hb.RandomForestRegressor(5, **fixed).fit(
            X.round(1), draw.integers(-9, 9, N) / 7
        ),
        "boosting": lambda: hb.GradientBoostingClassifier(n_estimators=100, random_state=0).fit(X, y),
    }[kind]()


KINDS = (
    "forest",
    "extra trees of three",
    "entropy",
    "weighted",
    "two outputs",
    "numbers",
    "counts",
    "medians",
)
KINDS += ("weighted numbers", "few numbers", "boosting")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slim", [False, True])
def test_every_array_comes_back(kind, slim, tmp_path):
    model = fitted(kind)
    assert sum(tree.node_count for tree in model._model.trees) >= PACKED_FROM
    hb.save(model, tmp_path / "m", slim=slim)
    written = (tmp_path / "m").read_bytes()
    assert "trees.inner" in tensors_of(written)
    again = hb.load(tmp_path / "m")
    needed = {"n_node_samples", "impurity", "gain", "weighted_n_node_samples"}
    for one, other in zip(model._model.trees, again._model.trees, strict=True):
        for name in TREE_ARRAYS:
            if not slim or name not in needed:
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name), strict=True)
    X = data(1)[0]
    np.testing.assert_array_equal(model.predict(X), again.predict(X))
    hb.save(again, tmp_path / "again", slim=slim)
    assert (tmp_path / "again").read_bytes() == written


def test_small_models_keep_the_plain_form(tmp_path, monkeypatch):
    X, y, _ = data()
    tree = hb.DecisionTreeClassifier(random_state=0).fit(X[:400], y[:400])
    n_nodes = tree.tree_.node_count
    for limit, name in ((n_nodes + 1, "trees.branches"), (n_nodes, "trees.inner")):
        monkeypatch.setattr(tree_writing, "PACKED_FROM", limit)
        hb.save(tree, tmp_path / "m")
        assert name in tensors_of((tmp_path / "m").read_bytes())
        np.testing.assert_array_equal(hb.load(tmp_path / "m").tree_.gain, tree.tree_.gain)


def test_many_small_trees_keep_the_plain_form(tmp_path):
    X, y, _ = data()
    for leaves, name in ((8, "trees.branches"), (9, "trees.inner")):  # 15 and 17 nodes each
        forest = hb.RandomForestClassifier(300, max_leaf_nodes=leaves, random_state=0, n_jobs=1).fit(X, y)
        assert {tree.node_count for tree in forest._model.trees} == {2 * leaves - 1}
        hb.save(forest, tmp_path / "m")
        assert name in tensors_of((tmp_path / "m").read_bytes())


def test_the_budget_of_bytes_per_node(tmp_path):
    budgets = {
        "forest": (7.0, 6.0),
        "extra trees of three": (7.5, 7.0),
        "numbers": (10.0, 8.0),
        "few numbers": (5.0, 3.0),
    }
    for kind, most in budgets.items():
        model = fitted(kind)
        n_nodes = sum(tree.node_count for tree in model._model.trees)
        for slim in (False, True):
            hb.save(model, tmp_path / "m", slim=slim)
            head = struct.unpack("<Q", (tmp_path / "m").read_bytes()[:8])[0] + 8
            assert ((tmp_path / "m").stat().st_size - head) / n_nodes < most[slim]


def test_slim_is_predict_only(tmp_path):
    model = fitted("forest")
    hb.save(model, tmp_path / "a", slim=True)
    hb.save(model, tmp_path / "b", predict_only=True)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


# Two trees: a root with two leaves; and a root, an inner left child with two leaves, a leaf on the right.
INNER = np.array([0, 3, 4])
COUNTS = np.array([3, 5])


def test_sums_of_leaves_by_hand():
    at_leaves = np.array([[1.0, 2.0, 10.0, 3.0, 4.0], [0.0, 1.0, 0.0, 2.0, 2.0]])
    sums = sums_of_leaves(at_leaves, INNER, COUNTS)
    assert sums.tolist() == [[3, 1, 2, 17, 7, 10, 3, 4], [1, 0, 1, 4, 4, 0, 2, 2]]
    shares = (sums / sums.sum(axis=0)).T[:, np.newaxis]
    assert gini_impurity(shares)[0] == pytest.approx(2 * 0.75 * 0.25)
    # 9/4 + 1/4 of the root, 1 and 4/3 + 1/3 of its children.
    gain = gini_gain(sums, sums.sum(axis=0), INNER, COUNTS)
    assert gain[0] == pytest.approx(1 + 5 / 3 - 10 / 4)


@pytest.mark.parametrize(
    ("leaves", "inner", "counts"),
    [
        ([1.0], [0], [3]),
        ([1.0, 2.0, 3.0], [0], [3]),
        ([1.0, 2.0], [0], [4]),
        ([1.0, 1.0], [2], [3]),
        ([1.0, 1.0], [0, 1], [4]),
        ([1.0, 2.0], [0], [2, 1]),
    ],
)
def test_leaves_that_do_not_fit_are_refused(leaves, inner, counts):
    with pytest.raises(ModelFormatError, match="do not fit the trees"):
        sums_of_leaves(np.array([leaves]), np.array(inner), np.array(counts))


def neighbour(number, steps):
    for _ in range(abs(steps)):
        number = math.nextafter(number, math.inf if steps > 0 else -math.inf)
    return number


def test_steps_by_hand():
    # The root of the second tree: 10 rows of mean 3, and an inner node of 7 rows, 3 of mean 1 and 4 of 2.
    is_inner = np.isin(np.arange(8), INNER)
    weights = np.array([3.0, 1, 2, 17, 7, 10, 3, 4])
    at_leaves = np.array([0.1, 0.2, 3, 1, 2])
    inside = [(1 * 0.1 + 2 * 0.2) / 3, 0.0, (3 * 1 + 4 * 2) / 7]
    inside[1] = (7 * neighbour(inside[2], 4) + 10 * 3) / 17
    means = _core.means_by_steps(at_leaves, np.array([-2, 0, 4]), weights, is_inner, COUNTS)
    assert means[INNER].tolist() == [neighbour(inside[0], -2), inside[1], neighbour(inside[2], 4)]
    assert means[~is_inner].tolist() == at_leaves.tolist()
    assert _core.steps_to_means(means, weights, is_inner, COUNTS).tolist() == [-2, 0, 4]
    none = np.zeros(3, dtype=np.int64)
    impurities = _core.impurities_by_steps(np.zeros(5), none, means, weights, is_inner, COUNTS)
    m = means[4]
    assert impurities[4] == (3 * (1 - m) * (1 - m) + 4 * (2 - m) * (2 - m)) / 7
    assert _core.steps_to_impurities(impurities, means, weights, is_inner, COUNTS).tolist() == [0, 0, 0]


ANY = st.floats(allow_nan=False, width=64)


@given(st.lists(st.tuples(ANY, ANY), max_size=20))
@example([(0.0, -0.0), (-5e-324, 5e-324), (-math.inf, math.inf), (1.0, 1.0)])
def test_steps_lead_from_any_number_to_any(pairs):
    one, other = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    ways = steps(one, other)
    assert walked(one, ways).tobytes() == np.ascontiguousarray(other).tobytes()
    for a, b, way in zip(one, other, ways.tolist(), strict=True):
        if abs(way) < 50 and np.sign(a) == np.sign(b) != 0:  # zero has two signs
            assert neighbour(a, way) == b


@pytest.mark.parametrize("different", [1, 2, 255, 256, 65_535, 65_536])
def test_numbers_in_a_list(different):
    numbers = np.resize(np.sqrt(np.arange(different) + 2.0), 200_000)
    numbers[0] = -0.0 if different > 1 else numbers[0]
    writer = RecordWriter()
    put_numbers(writer, "t", numbers)
    n_different = different + (different > 1)  # -0.0 is one more, and takes the place of one that comes again
    n_bytes = next(n for n in range(4) if 256**n >= n_different)
    assert writer.tensors["t.at"].shape == (n_bytes, 200_000)
    stream = open_numbers(writer.reader(), "t")
    again = np.concatenate([stream.next(150_000), stream.next(50_000)])
    stream.finish()
    assert again.tobytes() == numbers.tobytes()


def test_different_numbers_need_no_list(monkeypatch):
    draw = np.random.default_rng(0)
    for n in (1000, 400_000):  # below and beyond what is sorted without a guess
        writer = RecordWriter()
        put_numbers(writer, "t", draw.normal(size=n))
        assert set(writer.tensors) == {"t"}
    monkeypatch.setattr(packed_numbers, "_SAMPLE", 64)
    writer = RecordWriter()
    put_numbers(writer, "t", np.resize(draw.normal(size=100), 100_000))
    assert set(writer.tensors) == {"t.of", "t.at"}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "m"
    hb.save(fitted("forest"), path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def written_numbers(tmp_path_factory):
    path = tmp_path_factory.mktemp("packed") / "m"
    hb.save(fitted("few numbers"), path)
    return path.read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        {"trees__inner": lambda a: a[:-1]},
        {"trees__inner": lambda a: a ^ 1},
        {"trees__inner": lambda a: a | 255},
        {"trees__inner": lambda a: a & 0},
        {"trees__missing_second": lambda a: a[:-1]},
        {"trees__leaf_class_counts": lambda a: a[:-1]},
        {"trees__leaf_class_counts": lambda a: a & 0},
        {"trees__leaf_class_counts": lambda a: a | 255},
        {"trees__leaf_class_counts": None},
        {"trees__leaf_samples": None},
        {"trees__leaf_samples__large": lambda a: np.append(a.astype(np.uint16), np.uint16(300))},
        {"trees__gini__at": lambda a: np.append(a, np.uint32(2**31)).astype(np.uint32)},
        {"trees__gini__is": None},
        {"trees__gini_gain__is": lambda a: np.append(a, 1.0)},
        {"trees__node_counts": lambda a: a[:-1]},
        {"trees__node_counts": lambda a: a + 2},
    ],
)
def test_damage_is_refused(written, damage, tmp_path):
    ((name, change),) = damage.items()
    tensor = tensors_of(written).get(name.replace("__", "."))
    assert tensor is not None
    hostile = with_tensors(written, **{name: None if change is None else change(tensor)})
    (tmp_path / "m").write_bytes(hostile)
    with pytest.raises(ModelFormatError):
        hb.load(tmp_path / "m")


@pytest.mark.parametrize(
    "damage",
    [
        {"trees__threshold__at": lambda a: a[:, :-1]},
        {"trees__threshold__at": lambda a: a | 255},
        {"trees__threshold__at": lambda a: np.concatenate([a, a])},
        {"trees__threshold__at": None},
        {"trees__threshold__of": lambda a: a[:0]},
        {"trees__leaf_means__at": lambda a: a[:, 1:]},
        {"trees__leaf_means__of": lambda a: a * np.nan},
        {"trees__mean_steps": lambda a: a[:-1]},
        {"trees__mean_steps": lambda a: a.astype(np.float32)},
        {"trees__mean_steps": lambda a: np.full_like(a, -128)},
        {"trees__impurity_steps": None},
        {"trees__impurity_steps__large": lambda a: np.append(a, 1).astype(np.int16)},
        {"trees__leaf_impurities__at": lambda a: a[:, 1:]},
        {"trees__gain_steps": lambda a: np.append(a, a[:1])},
        {"trees__leaf_weights": None},
        {"trees__leaf_weights": lambda a: a * 0},
    ],
)
def test_damage_of_numbers_is_refused(written_numbers, damage, tmp_path):
    test_damage_is_refused(written_numbers, damage, tmp_path)
