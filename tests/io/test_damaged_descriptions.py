"""Files whose description of the model is not true: each is refused with `ModelFormatError`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_files import SAMPLES, edited, tensors_of, with_tensors

import hornbeam as hb
from hornbeam.errors import ModelFormatError

Load = Callable[[bytes], Any]
FileOf = Callable[..., bytes]


# ------------------------------------------------------------------------------------------------------------
# What a file says about itself must be true


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"estimator": "Pipeline"}, "does not know"),
        ({"estimator": 3}, "not a text"),
        ({"parameters": []}, "not a JSON object"),
        ({"parameters": {"max_depth": 0}}, "max_depth must be"),
        ({"parameters": {"max_depth": "3"}}, "max_depth must be"),
        ({"parameters": {"max_depth": {"callable": "os.system"}}}, "max_depth must be"),
        ({"parameters": {"class_weight": {"pairs": [[0, 1], [0, 2]]}}}, "not a value that hornbeam writes"),
        ({"parameters": {"class_weight": {"pairs": [[[], 1]]}}}, "not a value that hornbeam writes"),
        ({"parameters": {"class_weight": {"0": 1}}}, "not a value that hornbeam writes"),
        ({"parameters": {"n_jobs": 4}}, "no parameter 'n_jobs'"),
        ({"parameters": {"depth": 4}}, "no parameter 'depth'"),
        ({"facts": {}}, "is missing"),
        ({"children": {"x": {}}}, "not known"),
    ],
    ids=str,
)
def test_wrong_descriptions(change: dict[str, Any], message: str, file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    with pytest.raises(ModelFormatError, match=message):
        load_bytes(edited(data, lambda header: header["__metadata__"]["model"].update(change)))


@pytest.mark.parametrize(
    ("fact", "value"),
    [
        ("classes", []),
        ("classes", ["object"]),
        ("classes", ["U999999999"]),
        ("classes", ["U1", "U1"]),
        ("classes", [3]),
        ("classes", "number"),
        ("max_features", 0),
        ("max_features", 3),
        ("max_features", True),
        ("missing_allowed", 1),
        ("statistics", False),
        ("unseen", "anywhere"),
        ("unseen", None),
    ],
)
def test_wrong_facts(fact: str, value: Any, file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    with pytest.raises(ModelFormatError):
        load_bytes(
            edited(data, lambda header: header["__metadata__"]["model"]["facts"].update({fact: value}))
        )


@pytest.mark.parametrize("name", ["bagging", "bagging_of_forests", "adaboost", "adaboost_of_trees"])
def test_numbers_of_members_are_not_negative(name: str, file_of: FileOf, load_bytes: Load) -> None:
    with pytest.raises(ModelFormatError, match="'members' is -1"):
        load_bytes(
            edited(file_of(name), lambda header: header["__metadata__"]["model"]["facts"].update(members=-1))
        )


def test_a_signalling_nan_is_refused_as_any_other(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")
    thresholds = tensors_of(data)["trees.threshold"].astype(np.float32)
    thresholds.view(np.uint32)[0] = 0x7FA00000
    with pytest.raises(ModelFormatError, match="tree 0: node 0"):
        load_bytes(with_tensors(data, trees__threshold=thresholds))


def test_statistics_must_be_all_there(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("kinds_numbers")
    for tensor in ("trees__impurity", "trees__gain", "trees__weighted_n_node_samples"):
        with pytest.raises(ModelFormatError, match="statistics of the trees are incomplete"):
            load_bytes(with_tensors(data, **{tensor: None}))
    bare = file_of("kinds_numbers", predict_only=True)
    with pytest.raises(ModelFormatError, match="the weights are missing"):
        load_bytes(with_tensors(bare, trees__weighted_n_node_samples=None))
    with pytest.raises(ModelFormatError, match="number of rows is missing"):
        weights = tensors_of(data)["trees.weighted_n_node_samples"] + 0.5
        load_bytes(with_tensors(data, trees__weighted_n_node_samples=weights))


def test_values_must_suit_the_estimator(file_of: FileOf, load_bytes: Load) -> None:
    classes, numbers = file_of("classes"), file_of("three_numbers")

    def swap(name: str) -> Callable[[Any], None]:
        return lambda header: header["__metadata__"]["model"].update(estimator=name)

    with pytest.raises(ModelFormatError):
        load_bytes(edited(numbers, swap("DecisionTreeClassifier")))
    with pytest.raises(ModelFormatError):
        load_bytes(edited(classes, swap("DecisionTreeRegressor")))
    values = tensors_of(numbers)["trees.value"]
    with pytest.raises(ModelFormatError, match="one number per output"):
        load_bytes(with_tensors(numbers, trees__value=values.reshape(len(values), 1, 3)))
    with pytest.raises(ModelFormatError, match="one entry per output and class"):
        load_bytes(with_tensors(classes, classes__0=np.arange(4)))


def test_tensors_that_overlap_or_leave_gaps(file_of: FileOf, load_bytes: Load) -> None:
    data = file_of("classes")

    def moved(by: int) -> Callable[[Any], None]:
        def edit(header: Any) -> None:
            places = header["trees.gain"]["data_offsets"]
            places[:] = [place + by for place in places]

        return edit

    for by in (-8, -1, 1, 8, 10**6):
        with pytest.raises(ModelFormatError, match=r"starts at byte|outside the data"):
            load_bytes(edited(data, moved(by)))
    with pytest.raises(ModelFormatError, match="truth values"):
        seen = tensors_of(data)["missing_seen"].view(np.uint8) + 2
        load_bytes(with_tensors(data, missing_seen=seen.view(np.bool_)))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_tensor_is_optional_or_ignored(name: str, file_of: FileOf, load_bytes: Load) -> None:
    data = file_of(name)
    # Where weights are whole numbers, as in bootstrap samples, rows may be left out: they are the weights.
    for tensor in (name for name in tensors_of(data) if not name.endswith("trees.n_node_samples")):
        with pytest.raises(ModelFormatError):
            load_bytes(with_tensors(data, **{tensor.replace(".", "__"): None}))
    with pytest.raises(ModelFormatError, match="'more' is not known"):
        load_bytes(with_tensors(data, more=np.arange(3)))


def test_no_two_columns_of_members_have_one_name(file_of: FileOf, load_bytes: Load) -> None:
    sample = file_of("bagging_of_forests")
    n_features = len(tensors_of(sample)["features_used"])
    names = {
        "feature_names.utf8": np.frombuffer(b"a" * n_features, np.uint8),
        "feature_names.ends": np.arange(1, n_features + 1),
    }
    with pytest.raises(ModelFormatError, match="two columns have the same name"):
        load_bytes(with_tensors(sample, **names))


def test_draws_beyond_the_rows_there_are(file_of: FileOf, load_bytes: Load) -> None:
    """A sample of two billion draws would be made again by predict_std, and by nobody before."""
    data = file_of("forest")
    draws = tensors_of(data)["draws.draws_per_stratum"].astype(np.int64)
    for wrong in (2**31 - 1, 2**62, int(draws[0]) + 100):
        with pytest.raises(ModelFormatError, match="more draws than the"):
            load_bytes(with_tensors(data, draws__draws_per_stratum=np.full_like(draws, wrong)))


def test_shares_of_classes_that_an_output_does_not_have(tmp_path: Path, load_bytes: Load) -> None:
    X = np.arange(12.0).reshape(-1, 1)
    y = np.stack([np.arange(12) % 3, np.arange(12) % 2], axis=1)
    path = tmp_path / "two.hornbeam"
    hb.save(hb.DecisionTreeClassifier(max_depth=2).fit(X, y), path)
    data = path.read_bytes()
    counts = tensors_of(data)["trees.class_counts"].copy()
    assert not counts[:, 1, 2].any()
    counts[0, 1, 2] = 1
    with pytest.raises(
        ModelFormatError, match="tree 0 gives a share to a class that its output does not have"
    ):
        load_bytes(with_tensors(data, trees__class_counts=counts))


def test_a_crowd_of_trees_in_a_few_bytes(tmp_path: Path, load_bytes: Load) -> None:
    """Each would take a kilobyte of memory; both sides of the limit, at its real size."""
    path = tmp_path / "leaf.hornbeam"
    hb.save(hb.DecisionTreeRegressor(max_nodes=1).fit([[0.0], [1.0]], [1.0, 1.0]), path, predict_only=True)
    data = path.read_bytes()
    leaf = {name: array for name, array in tensors_of(data).items() if name.startswith("trees.")}
    assert sum(array.nbytes for array in leaf.values()) < 16
    for n_trees, output in (
        (100_001, r"it has 100001 trees in \d+ bytes; more than 100000 trees must have 16 bytes each"),
        (100_000, "a single decision tree has 100000 trees"),
    ):
        crowd = {name.replace(".", "__"): np.concatenate([array] * n_trees) for name, array in leaf.items()}
        with pytest.raises(ModelFormatError, match=output):
            load_bytes(with_tensors(data, **crowd))


def test_many_columns_are_not_looked_at_once_per_tree(tmp_path: Path) -> None:
    """300 trees and 20,000 columns: six million looks would show, one per column does not."""
    X = np.zeros((4, 20_000))
    X[:, 7] = [0, 1, 2, 3]
    forest = hb.ExtraTreesRegressor(300, max_features=10, random_state=0).fit(X, [0.0, 1.0, 2.0, 3.0])
    path = tmp_path / "wide.hornbeam"
    hb.save(forest, path, predict_only=True)
    assert np.array_equal(hb.load(path).predict(X), forest.predict(X))
