"""What is ready for estimators to come: many trees over one schema, members in members, named functions."""

import dataclasses
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_files import frame_of_kinds, same_array, same_tree, split
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.naive_bayes import GaussianNB

import hornbeam as hb
from hornbeam.errors import ModelFormatError
from hornbeam.io import codec
from hornbeam.io.codec import Codec, read_child, write_child
from hornbeam.io.container import Contents, pack, read
from hornbeam.io.ensemble import read_ensemble, write_ensemble
from hornbeam.io.parameters import NamedCallable, estimator_of, parameters_of
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.model import Ensemble, tree_from_arrays, tree_to_arrays
from hornbeam.params import Declared, fitted, option

Samples = Callable[[str], tuple[Any, Any]]


def pack_ensemble(ensemble: Ensemble, **options: Any) -> bytes:
    writer = RecordWriter(**options)
    write_ensemble(ensemble, writer)
    contents = Contents(writer.description("Forest", {}), writer.tensors, hb.__version__)
    return b"".join(bytes(piece) for piece in pack(contents))


def unpack_ensemble(data: bytes) -> Ensemble:
    contents = read(io.BytesIO(data), len(data))
    return read_ensemble(RecordReader(contents.document, contents.tensors))


def forest_of(tree: Any, X: Any, y: Any, n_trees: int) -> Ensemble:
    """Grow trees on bootstrap samples, which are whole-number weights, and put them into one ensemble."""
    generator = np.random.default_rng(0)
    members = []
    for _ in range(n_trees):
        drawn = np.bincount(generator.integers(0, len(y), len(y)), minlength=len(y))
        members.append(tree.fit(X, y, sample_weight=drawn)._own_tree())
    return dataclasses.replace(tree._model, trees=tuple(members))


# ------------------------------------------------------------------------------------------------------------
# Many trees


@pytest.mark.parametrize("predict_only", [False, True])
def test_trees_lie_end_to_end(predict_only: bool) -> None:
    frame = frame_of_kinds()
    y = frame.iloc[:, 1].cat.codes.to_numpy() % 3 + (frame["grade"] == "high").to_numpy()
    forest = forest_of(hb.DecisionTreeClassifier(random_state=0, unseen="majority"), frame, y, 7)
    data = pack_ensemble(forest, predict_only=predict_only)
    loaded = unpack_ensemble(data)
    assert len(loaded.trees) == 7
    assert loaded.schema == forest.schema
    if not predict_only:
        assert all(same_tree(one, other) for one, other in zip(loaded.trees, forest.trees, strict=True))
    table = forest.read(frame, estimator_name="Forest")
    assert same_array(loaded.leaves(table, n_threads=1), forest.leaves(table, n_threads=1))
    assert pack_ensemble(loaded) == data
    one_tree = pack_ensemble(dataclasses.replace(forest, trees=forest.trees[:1]), predict_only=predict_only)
    assert split(data)[0].keys() == split(one_tree)[0].keys()


@pytest.mark.parametrize("n_classes", [2, 10, 0])
def test_a_forest_takes_at_most_60_percent_of_a_pickle_of_scikit_learn(n_classes: int) -> None:
    generator = np.random.default_rng(1)
    X = generator.normal(size=(3000, 8))
    noisy = X[:, 0] + X[:, 1] * X[:, 2] + generator.normal(size=3000)
    if n_classes:
        y = np.searchsorted(np.quantile(noisy, np.linspace(0, 1, n_classes + 1)[1:-1]), noisy)
        ours: Any = hb.DecisionTreeClassifier(max_features="sqrt", random_state=0)
        peer: Any = RandomForestClassifier(n_estimators=5, random_state=0)
    else:
        y = noisy
        ours = hb.DecisionTreeRegressor(max_features=1 / 3, random_state=0)
        peer = RandomForestRegressor(n_estimators=5, max_features=1 / 3, random_state=0)
    forest = forest_of(ours, X, y, 5)
    n_nodes = sum(tree.node_count for tree in forest.trees)
    pickled = len(pickle.dumps(peer.fit(X, y)))
    n_peer_nodes = sum(member.tree_.node_count for member in peer.estimators_)
    assert n_nodes == pytest.approx(n_peer_nodes, rel=0.1)
    assert len(pack_ensemble(forest)) / n_nodes < 0.6 * pickled / n_peer_nodes
    assert len(pack_ensemble(forest, predict_only=True)) / n_nodes < 0.4 * pickled / n_peer_nodes


def test_tables_with_gaps_between_them_are_refused(samples: Samples) -> None:
    """Tables of categories stand in the order of their nodes, without gaps, so that none can overlap."""
    model, _ = samples("kinds_numbers")
    arrays = tree_to_arrays(model._own_tree())
    has_table = arrays["category_begin"] >= 0
    assert has_table.sum() == 2
    arrays["category_words"] = np.concatenate([[7], arrays["category_words"]]).astype(np.uint32)
    arrays["category_begin"][has_table] += 1
    with pytest.raises(ValueError, match="table of categories is out of range"):
        tree_from_arrays(arrays, model._model.schema)


def test_trees_that_a_file_could_not_give_back_are_not_written(samples: Samples) -> None:
    model, _ = samples("classes")
    for name, value in (("threshold", 3.0), ("gain", 1.0), ("missing_branch", 1)):
        arrays = tree_to_arrays(model._own_tree())
        arrays[name][-1] = value  # at a leaf
        try:
            odd = tree_from_arrays(arrays, model._model.schema)
        except ValueError:
            continue  # the core itself knows better
        with pytest.raises(ValueError, match=f"cannot be saved exactly.*'{name}'"):
            pack_ensemble(dataclasses.replace(model._model, trees=(odd,)))


# ------------------------------------------------------------------------------------------------------------
# Estimators inside estimators


class Pair(Declared):
    """Two trees, each an estimator of its own: the smallest ensemble of estimators."""

    estimator: hb.DecisionTreeRegressor | None = option(default=None, help="What the members are made like.")
    members_: list[Any] = fitted()

    def fit(self, X: Any, y: Any) -> "Pair":
        self.members_ = [hb.DecisionTreeRegressor(max_depth=depth).fit(X, y) for depth in (1, 3)]
        return self


def write_pair(pair: Pair, writer: RecordWriter) -> None:
    writer.facts["n_members"] = len(pair.members_)
    for number, member in enumerate(pair.members_):
        write_child(f"members.{number}", member, writer)


def read_pair(pair: Pair, reader: RecordReader) -> None:
    n_members = reader.fact("n_members", int)
    pair.members_ = [read_child(f"members.{number}", reader) for number in range(n_members)]


@pytest.fixture
def with_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let model files hold a Pair: one line in the table."""
    monkeypatch.setattr(codec, "_CODECS", {**codec._CODECS, "Pair": Codec(Pair, write_pair, read_pair)})


@pytest.mark.usefixtures("with_pair")
def test_an_estimator_of_estimators(tmp_path: Path) -> None:
    X = np.arange(12.0).reshape(-1, 1)
    pair = Pair(estimator=hb.DecisionTreeRegressor(max_depth=5, min_samples_leaf=0.25)).fit(X, X[:, 0] ** 2)
    hb.save(pair, tmp_path / "pair")
    loaded = hb.load(tmp_path / "pair")
    assert isinstance(loaded, Pair)
    assert loaded.estimator.get_params() == pair.estimator.get_params()
    assert not hasattr(loaded.estimator, "_model")
    for one, other in zip(loaded.members_, pair.members_, strict=True):
        assert same_tree(one.tree_, other.tree_)
        assert one.get_params() == other.get_params()
    data = (tmp_path / "pair").read_bytes()
    assert "members.1.trees.value" in split(data)[0]
    hb.save(loaded, tmp_path / "pair")
    assert (tmp_path / "pair").read_bytes() == data


@pytest.mark.usefixtures("with_pair")
@pytest.mark.parametrize("n_members", [0, 1, 3, -1])
def test_members_that_are_missing_or_too_many(n_members: int, tmp_path: Path) -> None:
    from model_files import edited

    X = np.arange(12.0).reshape(-1, 1)
    hb.save(Pair().fit(X, X[:, 0]), tmp_path / "pair")
    data = (tmp_path / "pair").read_bytes()

    def edit(header: Any) -> None:
        header["__metadata__"]["model"]["facts"]["n_members"] = n_members

    (tmp_path / "pair").write_bytes(edited(data, edit))
    with pytest.raises(ModelFormatError, match=r"'members\.\d'.* is (missing|not known)"):
        hb.load(tmp_path / "pair")


def test_members_of_other_libraries_are_refused_by_name() -> None:
    class Loose(Declared):
        """Takes any estimator."""

        estimator: object = option(default=None, help="Anything.")

    with pytest.raises(ValueError, match=r"Loose: estimator is a GaussianNB.*skops"):
        parameters_of(Loose(estimator=GaussianNB()), {})


# ------------------------------------------------------------------------------------------------------------
# Functions of the user


class Bent(Declared):
    """Takes a function."""

    bend: object = option(default=None, help="A function of the distance.")


def test_functions_are_kept_by_name_and_never_called() -> None:
    stored = parameters_of(Bent(bend=np.linalg.norm), {})
    assert stored == {"bend": {"callable": "numpy.linalg.norm"}}
    bent = estimator_of("Bent", stored, {"Bent": Bent})
    assert isinstance(bent, Bent)
    assert isinstance(bent.bend, NamedCallable)
    with pytest.raises(TypeError, match=r"numpy\.linalg\.norm, of which the file keeps only the name"):
        bent.bend(3)
    assert parameters_of(bent, {}) == stored
    assert repr(bent.bend) == "NamedCallable('numpy.linalg.norm')"


def test_objects_without_a_form_are_refused() -> None:
    with pytest.raises(ValueError, match="Bent: bend is <object object"):
        parameters_of(Bent(bend=object()), {})


def test_the_columns_that_trees_add_to(samples: Samples) -> None:
    model, _ = samples("numbers")
    turns = np.array([0, 1, 2, 0, 1, 2], dtype=np.int32)
    boosted = dataclasses.replace(model._model, trees=model._model.trees * 6, adds_to=turns)
    for again in (unpack_ensemble(pack_ensemble(boosted)), pickle.loads(pickle.dumps(boosted))):
        assert again.adds_to is not None
        assert same_array(again.adds_to, turns)
    assert unpack_ensemble(pack_ensemble(model._model)).adds_to is None
    for wrong, message in (([0, 1, 3, 0, 1, 3], "without gap"), ([-1, 0, 1] * 2, "without gap")):
        other = dataclasses.replace(boosted, adds_to=np.array(wrong, dtype=np.int32))
        with pytest.raises(ModelFormatError, match=message):
            unpack_ensemble(pack_ensemble(other))


def test_a_pickle_holds_no_plan_of_prediction(samples: Samples) -> None:
    model, X = samples("classes")
    before = pickle.dumps(model._model)
    model.predict(X)
    assert pickle.dumps(model._model) == before
