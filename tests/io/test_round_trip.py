"""What is saved comes back: every array bit by bit, every name, category, label and parameter."""

import copy
import dataclasses
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from model_files import (
    DECLARED_SAMPLES,
    NEIGHBOR_SAMPLES,
    SAMPLES,
    SAMPLES_OF_TREES,
    answers,
    frame_of_kinds,
    same_array,
    same_tree,
    same_trees,
    split,
    tensors_of,
    trees_of,
)
from safetensors import safe_open

import hornbeam as hb
from hornbeam.data.table import Schema
from hornbeam.model import Ensemble, tree_from_arrays
from hornbeam.neighborhood import Neighborhood
from hornbeam.params import estimators
from hornbeam.warnings import DataWarning, UnseenCategoryWarning

Samples = Callable[[str], tuple[Any, Any]]


def round_trip(model: Any, folder: Path, **options: Any) -> Any:
    hb.save(model, folder / "model.hornbeam", **options)
    return hb.load(folder / "model.hornbeam")


def saved_bytes(model: Any, folder: Path, **options: Any) -> bytes:
    path = folder / "bytes.hornbeam"
    hb.save(model, path, **options)
    return path.read_bytes()


def parameters(model: Any) -> dict[str, Any]:
    """Return the parameters; of an estimator among them, what it prints."""
    return {
        name: repr(value) if hasattr(value, "fit") or name in ("levels", "members") else value
        for name, value in model.get_params(deep=False).items()
    }


@pytest.mark.parametrize("name", DECLARED_SAMPLES)
def test_everything_comes_back(name: str, samples: Samples, tmp_path: Path) -> None:
    model, X = samples(name)
    loaded = round_trip(model, tmp_path)
    assert type(loaded) is type(model)
    if hasattr(model, "_model"):
        assert loaded._model.schema == model._model.schema
    assert same_trees(loaded, model)
    caches = {"_scikit_tree"}  # made when somebody asks for tree_
    assert vars(loaded).keys() - caches == vars(model).keys() - caches
    assert parameters(loaded) == {**parameters(model), "n_jobs": None}
    for one, other in zip(answers(loaded, X), answers(model, X), strict=True):
        assert same_array(one, other)
    for fact in ("n_features_in_", "n_outputs_", "max_features_", "n_classes_"):
        assert getattr(loaded, fact, None) == getattr(model, fact, None)


@pytest.mark.parametrize("name", DECLARED_SAMPLES)
@pytest.mark.parametrize("predict_only", [False, True])
def test_the_same_model_gives_the_same_bytes(
    name: str, predict_only: bool, samples: Samples, tmp_path: Path
) -> None:
    model, _ = samples(name)
    first = saved_bytes(model, tmp_path, predict_only=predict_only)
    other_threads = copy.deepcopy(model).set_params(n_jobs=2)
    assert saved_bytes(other_threads, tmp_path, predict_only=predict_only) == first
    loaded = round_trip(model, tmp_path, predict_only=predict_only)
    assert saved_bytes(loaded, tmp_path, predict_only=predict_only) == first


@pytest.mark.parametrize("name", SAMPLES)
def test_other_tools_can_read_the_file(name: str, samples: Samples, tmp_path: Path) -> None:
    model, _ = samples(name)
    data = saved_bytes(model, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(data)
    with safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        assert file.metadata()["format"] == "hornbeam"
        ours = tensors_of(data)
        assert set(file.keys()) == ours.keys()
        assert all(same_array(file.get_tensor(tensor), ours[tensor]) for tensor in ours)


def test_classes_keep_their_type(tmp_path: Path) -> None:
    X = np.arange(4.0).reshape(-1, 1)
    labels = [
        np.array([1, 0, 1, 0], dtype=dtype)
        for dtype in (np.int8, np.uint16, np.int64, np.uint64, np.float16, np.float32, np.float64, np.bool_)
    ]
    labels += [
        np.array([2**63, 0, 0, 2**64 - 1], dtype=np.uint64),
        np.array(["a", "b", "a", "b"], dtype="U9"),
    ]
    labels += [np.array(["", "\0b", "\ud800", "\N{GRINNING FACE}"], dtype=object), np.array(list("äöüß"))]
    for y in labels:
        model = hb.DecisionTreeClassifier().fit(X, y)
        loaded = round_trip(model, tmp_path)
        assert same_array(loaded.classes_, model.classes_), y.dtype
        assert same_array(loaded.predict(X), y), y.dtype


def test_labels_that_do_not_fit_are_refused_when_saving(tmp_path: Path) -> None:
    X = np.arange(4000.0).reshape(-1, 1)
    wide = np.array([f"{i:04}" for i in range(1000)] * 4, dtype="U10000")
    with pytest.raises(ValueError, match=r"far wider.*astype\(object\)"):
        hb.save(hb.DecisionTreeClassifier(max_depth=1).fit(X, wide), tmp_path / "m")
    if np.dtype(np.longdouble).itemsize > 8:
        odd = np.array([0, 1], dtype=np.longdouble)
        with pytest.raises(ValueError, match="class labels of dtype"):
            hb.save(hb.DecisionTreeClassifier().fit(X[:2], odd), tmp_path / "m")
    assert not list(tmp_path.iterdir())


WEIRD_NAMES = [
    "",
    " ",
    "\0",
    "a\nb",
    "\N{RIGHT-TO-LEFT MARK}x",
    "\N{GRINNING FACE}",
    "\ud800",
    "x" * 2**20,
    '"\\',
]


def test_weird_column_names(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.eye(len(WEIRD_NAMES)), columns=pd.Index(WEIRD_NAMES, dtype=object))
    model = hb.DecisionTreeRegressor().fit(frame, np.arange(len(frame)))
    loaded = round_trip(model, tmp_path)
    assert loaded.feature_names_in_.tolist() == WEIRD_NAMES
    assert same_array(loaded.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    "categories",
    [
        [1, 2, 3],
        [1, 2.5, 2**70],
        [0.1, 5e-324, float("inf")],
        [True, False, True],
        ["1", "1.0", "True"],
        WEIRD_NAMES,
    ],
    ids=["integers", "mixed numbers", "floats", "booleans", "texts", "weird texts"],
)
def test_categories_keep_their_type(categories: list[Any], tmp_path: Path) -> None:
    column = np.empty(len(categories), dtype=object)
    column[:] = categories
    model = hb.DecisionTreeRegressor(categorical_features=[0]).fit(
        column.reshape(-1, 1), np.arange(len(categories))
    )
    loaded = round_trip(model, tmp_path)
    before, after = model._model.schema.categories[0], loaded._model.schema.categories[0]
    assert before is not None and after is not None
    assert [(type(c), c) for c in after] == [(type(c), c) for c in before]
    assert same_array(loaded.predict(column.reshape(-1, 1)), model.predict(column.reshape(-1, 1)))


def test_a_column_without_any_category(tmp_path: Path) -> None:
    frame = pd.DataFrame({"empty": pd.Categorical([None] * 4, categories=[]), "x": [1.0, 2, 3, 4]})
    model = hb.DecisionTreeRegressor().fit(frame, [1, 2, 3, 4])
    loaded = round_trip(model, tmp_path)
    assert loaded._model.schema.categories == ((), None)
    assert same_tree(loaded.tree_, model.tree_)


def test_a_hundred_thousand_categories(tmp_path: Path) -> None:
    texts = np.array([f"category {i}" for i in range(100_000)], dtype=object)
    codes = np.arange(len(texts)) % 7
    with pytest.warns(DataWarning):
        model = hb.DecisionTreeClassifier(max_depth=2).fit(texts.reshape(-1, 1), codes)
    loaded = round_trip(model, tmp_path)
    assert same_tree(loaded.tree_, model.tree_)
    assert loaded._model.schema == model._model.schema


@hypothesis.given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(2, 12), st.integers(1, 3)),
        elements=st.floats(allow_nan=True)
        | st.sampled_from([5e-324, 1.7e308, -1.7e308, -0.0, np.inf, -np.inf]),
    ),
    seed=st.integers(0, 2**32 - 1),
    classes=st.booleans(),
)
@hypothesis.settings(max_examples=60)
def test_any_numbers(X: Any, seed: int, classes: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    generator = np.random.default_rng(seed)
    estimator = hb.DecisionTreeClassifier if classes else hb.DecisionTreeRegressor
    y = generator.integers(0, 4, len(X)) if classes else generator.normal(size=len(X)) * 10.0 ** (seed % 150)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = estimator(random_state=0).fit(X, y)
    loaded = round_trip(model, tmp_path_factory.mktemp("any"))
    assert same_tree(loaded.tree_, model.tree_)
    assert same_array(loaded.predict(X), model.predict(X))


def chain(n_tests: int) -> Any:
    """Make a regressor whose tree asks `x <= 0, x <= 1, ...` one after the other."""
    model = hb.DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    n_nodes = 2 * n_tests + 1
    branches = np.zeros(n_nodes, dtype=np.int32)
    branches[0], branches[2:-1:2] = 2, 2
    inner = branches > 0
    first = np.where(inner, np.cumsum(branches) - branches + 1, -1).astype(np.int32)
    nothing = np.zeros(n_nodes)
    arrays = {
        "first_child": first,
        "n_branches": branches,
        "feature": np.where(inner, 0, -2).astype(np.int32),
        "threshold": np.where(inner, np.cumsum(inner) - 1.0, -2.0),
        "category_begin": np.full(n_nodes, -1),
        "missing_branch": np.zeros(n_nodes, dtype=np.int32),
        "n_node_samples": np.arange(n_nodes, 0, -1),
        "weighted_n_node_samples": np.arange(n_nodes, 0, -1.0),
        "impurity": nothing,
        "gain": nothing,
        "value": np.cumsum(inner).reshape(-1, 1, 1).astype(np.float64),
        "category_words": np.zeros(0, dtype=np.uint32),
    }
    schema = model._model.schema
    model._model = dataclasses.replace(model._model, trees=(tree_from_arrays(arrays, schema),))
    return model


def test_a_tree_of_100_000_levels(tmp_path: Path) -> None:
    model = chain(100_000)
    loaded = round_trip(model, tmp_path)
    assert same_tree(loaded.tree_, model.tree_)
    assert loaded.get_depth() == 100_000
    assert loaded.predict([[-1.0], [98_999.5], [1e9]]).tolist() == [1, 99_001, 100_000]


# ------------------------------------------------------------------------------------------------------------
# Parameters


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"class_weight": {0: 1.5, 1: 2}}, {"class_weight": {0: 1.5, 1: 2}}),
        ({"class_weight": "balanced"}, {"class_weight": "balanced"}),
        ({"categorical_features": np.array([True, False])}, {"categorical_features": [True, False]}),
        ({"categorical_features": {1, 0}}, {"categorical_features": [0, 1]}),
        ({"monotonic_cst": np.array([1, 0], dtype=np.int8)}, {"monotonic_cst": [1, 0]}),
        ({"min_samples_leaf": np.float32(0.25)}, {"min_samples_leaf": 0.25}),
        ({"max_depth": np.int64(3)}, {"max_depth": 3}),
        ({"random_state": np.random.RandomState(0)}, {"random_state": None}),
        ({"random_state": 7, "n_jobs": 2}, {"random_state": 7, "n_jobs": None}),
    ],
    ids=lambda value: next(iter(value)),
)
def test_parameters(given: dict[str, Any], stored: dict[str, Any], tmp_path: Path) -> None:
    X = np.tile([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], (4, 1))
    model = hb.DecisionTreeClassifier(**given).fit(X, np.tile([0, 0, 1, 1], 4))
    loaded = round_trip(model, tmp_path)
    found = loaded.get_params()
    assert {name: found[name] for name in stored} == stored
    assert {name: type(found[name]) for name in stored} == {name: type(stored[name]) for name in stored}
    assert same_tree(loaded.tree_, model.tree_)


def test_a_wrong_parameter_set_after_the_fit_is_refused_when_saving(samples: Samples, tmp_path: Path) -> None:
    model, _ = samples("classes")
    with pytest.raises(ValueError, match="max_depth must be"):
        hb.save(copy.deepcopy(model).set_params(max_depth=-3), tmp_path / "m")
    long_list = copy.deepcopy(model).set_params(categorical_features=["x" * 3_000_000])
    with pytest.raises(ValueError, match="header of the model file would have"):
        hb.save(long_list, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_saved(samples: Samples, tmp_path: Path) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.linear_model import LogisticRegression

    class Grown(hb.DecisionTreeClassifier):
        """A class of one's own."""

    Own = type("DecisionTreeClassifier", (hb.DecisionTreeClassifier,), {})
    model, X = samples("classes")
    with pytest.raises(NotFittedError):
        hb.save(hb.DecisionTreeClassifier(), tmp_path / "m")
    with pytest.raises(TypeError, match=r"LogisticRegression.*skops"):
        hb.save(LogisticRegression(), tmp_path / "m")
    with pytest.raises(TypeError, match="Grown"):
        hb.save(Grown().fit(X, model.predict(X)), tmp_path / "m")
    with pytest.raises(TypeError, match="would be lost"):
        hb.save(Own().fit(X, model.predict(X)), tmp_path / "m")
    with pytest.raises(TypeError, match="PathLike"):
        hb.save(model, 3)
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------------------------
# Without statistics


@pytest.mark.parametrize("name", SAMPLES_OF_TREES)
def test_predict_only_predicts_and_says_what_is_gone(name: str, samples: Samples, tmp_path: Path) -> None:
    model, X = samples(name)
    loaded = round_trip(model, tmp_path, predict_only=True)
    for one, other in zip(answers(loaded, X), answers(model, X), strict=True):
        assert same_array(one, other)
    assert len(saved_bytes(model, tmp_path, predict_only=True)) < len(saved_bytes(model, tmp_path))
    for statistic in ("n_node_samples", "impurity", "gain"):
        with pytest.raises(AttributeError, match=f"{statistic}.*predict_only=True"):
            getattr(trees_of(loaded)[0], statistic)
    if hasattr(type(model), "feature_importances_"):
        with pytest.raises(AttributeError, match="predict_only=True"):
            _ = loaded.feature_importances_
    assert [t.max_depth for t in trees_of(loaded)] == [t.max_depth for t in trees_of(model)]
    # A model that has lost its statistics cannot be saved with them; it is saved without, as it is.
    assert saved_bytes(loaded, tmp_path) == saved_bytes(model, tmp_path, predict_only=True)
    for other_way in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert all(map(same_array, answers(other_way, X), answers(model, X)))
        with pytest.raises(AttributeError, match="predict_only=True"):
            _ = trees_of(other_way)[0].impurity


@pytest.mark.parametrize("name", NEIGHBOR_SAMPLES)
def test_predict_only_leaves_out_nothing_that_predicts(name: str, samples: Samples, tmp_path: Path) -> None:
    """Neighbours are the training rows themselves: without them there is no answer."""
    model, X = samples(name)
    assert saved_bytes(model, tmp_path, predict_only=True) == saved_bytes(model, tmp_path)
    loaded = round_trip(model, tmp_path, predict_only=True)
    for one, other in zip(answers(loaded, X), answers(model, X), strict=True):
        assert same_array(one, other)


@pytest.mark.parametrize("name", ["kinds", "kinds_numbers"])
def test_predict_only_keeps_the_weights_that_unseen_categories_need(
    name: str, samples: Samples, tmp_path: Path
) -> None:
    model, _ = samples(name)
    loaded = round_trip(model, tmp_path, predict_only=True)
    frame = frame_of_kinds().astype({"colour\0 \N{GRINNING FACE}": object}).iloc[:4]
    frame.iloc[:, 1] = ["never seen", "red", "nor this", "blue"]
    with pytest.warns(UnseenCategoryWarning):
        expected = model.predict(frame)
    with pytest.warns(UnseenCategoryWarning):
        assert same_array(loaded.predict(frame), expected)


# ------------------------------------------------------------------------------------------------------------
# What the file holds, and that nothing is forgotten


def test_every_estimator_of_the_library_has_a_sample_here(samples: Samples) -> None:
    assert {type(samples(name)[0]) for name in DECLARED_SAMPLES} == set(estimators())


def test_the_codec_knows_every_field() -> None:
    """A field added to the model must be added to the file, its reader and docs/model-format.md."""
    assert [field.name for field in dataclasses.fields(Ensemble)] == [
        "trees",
        "schema",
        "unseen",
        "missing_allowed",
        "adds_to",
    ]
    assert [field.name for field in dataclasses.fields(Neighborhood)] == [
        "points",
        "schema",
        "metric",
        "parameters",
        "scaling",
        "structure",
        "weights",
        "row_numbers",
    ]
    assert [field.name for field in dataclasses.fields(Schema)] == [
        "names",
        "names_given",
        "kinds",
        "categories",
        "parts",
    ]


def test_no_clock_thread_count_or_folder_is_in_the_file(samples: Samples, tmp_path: Path) -> None:
    model, _ = samples("kinds")
    header, _ = split(saved_bytes(model, tmp_path))
    metadata = header["__metadata__"]
    assert list(metadata) == ["format", "size", "sha256", "format_version", "library_version", "model"]
    assert metadata["library_version"] == hb.__version__
    assert "n_jobs" not in metadata["model"]["parameters"]
    assert list(metadata["model"]) == ["estimator", "parameters", "facts", "children"]
    assert set(metadata["model"]["facts"]) == {
        "classes",
        "max_features",
        "missing_allowed",
        "statistics",
        "unseen",
    }
