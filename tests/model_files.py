"""Model files for tests: small models of every kind, and tools to take their files apart.

The tools know the format from docs/model-format.md, not from the code that writes it: the places of size and
digest are spelled out here, so that a change of the format shows.
"""

import hashlib
import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb
from hornbeam.estimators.linear import linear_model
from hornbeam.model import TREE_ARRAYS

SIZE = slice(53, 69)
DIGEST = slice(81, 145)

Header = dict[str, Any]


# ------------------------------------------------------------------------------------------------------------
# Files, taken apart


def repaired(data: bytes) -> bytes:
    """Give a file the size and the checksum that its contents ask for, if it has room for them."""
    if len(data) < DIGEST.stop:
        return data
    data = data[: SIZE.start] + b"%016d" % len(data) + data[SIZE.stop :]
    blank = data[: DIGEST.start] + b"0" * 64 + data[DIGEST.stop :]
    return data[: DIGEST.start] + hashlib.sha256(blank).hexdigest().encode() + data[DIGEST.stop :]


def split(data: bytes) -> tuple[Header, bytes]:
    """Return the parsed header, with the model's description parsed, too, and the bytes of the tensors."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"]["model"] = json.loads(header["__metadata__"]["model"])
    return header, data[8 + length :]


def join(header: Header, body: bytes) -> bytes:
    """Write a file from its parts, with the right size and checksum."""
    header = dict(header)
    if "__metadata__" in header:
        metadata = header["__metadata__"] = dict(header["__metadata__"])
        if not isinstance(metadata.get("model", ""), str):
            metadata["model"] = json.dumps(metadata["model"])
    text = json.dumps(header, separators=(",", ":")).encode()
    return repaired(struct.pack("<Q", len(text)) + text + body)


def edited(data: bytes, edit: Callable[[Header], None]) -> bytes:
    """Return a file whose header was changed by hand."""
    header, body = split(data)
    edit(header)
    return join(header, body)


NUMPY_TYPES = {
    "BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4", "U64": "<u8",
    "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8",
}  # fmt: skip
TYPE_NAMES = {np.dtype(code): name for name, code in NUMPY_TYPES.items()}


def tensors_of(data: bytes) -> dict[str, np.ndarray]:
    """Return copies of the tensors."""
    header, body = split(data)
    return {
        name: np.frombuffer(body[slice(*entry["data_offsets"])], NUMPY_TYPES[entry["dtype"]])
        .reshape(entry["shape"])
        .copy()
        for name, entry in header.items()
        if name != "__metadata__"
    }


def with_tensors(data: bytes, **changed: np.ndarray | None) -> bytes:
    """Return a file with other tensors; dots in names are given as two underscores, None removes a tensor."""
    header, _ = split(data)
    tensors = tensors_of(data)
    for key, array in changed.items():
        name = key.replace("__", ".")
        if array is None:
            del tensors[name]
        else:
            tensors[name] = np.asarray(array)
    header = {"__metadata__": header["__metadata__"]}
    body = b""
    for name, array in tensors.items():
        place = [len(body), len(body) + array.nbytes]
        header[name] = {"dtype": TYPE_NAMES[array.dtype], "shape": list(array.shape), "data_offsets": place}
        body += array.tobytes()
    return join(header, body)


# ------------------------------------------------------------------------------------------------------------
# Models


def frame_of_kinds() -> pd.DataFrame:
    """Return a table with a numeric, a categorical and an ordinal column, with gaps, and weird names."""
    return pd.DataFrame(
        {
            "size": [1.0, 2.5, np.nan, 5e-324, -np.inf, 1.7e308, np.inf, 0.1] * 3,
            "colour\0 \N{GRINNING FACE}": pd.Categorical(
                ["red", "blue", None, "grün", "red", "", "blue", "red"] * 3
            ),
            "grade": pd.Categorical(
                ["low", "high", "mid", None, "low", "mid", "high", "low"] * 3,
                categories=["low", "mid", "high"],
                ordered=True,
            ),
        }
    )


TREE_SAMPLES = (
    "classes",
    "texts",
    "object_texts",
    "booleans",
    "entropy",
    "kinds",
    "two_outputs",
    "numbers",
    "kinds_numbers",
    "three_numbers",
    "one_leaf",
    "pruned",
    "multiway",
    "density",
    "surrogates",
    "fractions",
)
FOREST_SAMPLES = (
    "forest",
    "forest_of_kinds",
    "forest_of_groups",
    "forest_of_numbers",
    "extra_trees",
    "extra_trees_of_numbers",
)
BAGGING_SAMPLES = ("bagging", "bagging_of_columns", "bagging_of_forests", "bagging_of_numbers")
BOOSTING_SAMPLES = (
    "boosting",
    "boosting_of_three",
    "boosting_of_one",
    "boosting_of_kinds",
    "boosting_of_numbers",
    "boosting_of_counts",
)
NEIGHBOR_SAMPLES = ("neighbors", "neighbors_mixed", "neighbors_numbers")
ADABOOST_SAMPLES = ("adaboost", "adaboost_of_kinds", "adaboost_of_trees", "adaboost_of_numbers")
SAMPLES_OF_TREES = TREE_SAMPLES + FOREST_SAMPLES + BAGGING_SAMPLES + BOOSTING_SAMPLES + ADABOOST_SAMPLES
STACKING_SAMPLES = ("stacking", "stacking_of_numbers")
BLEND_SAMPLES = ("blend", "blend_of_numbers")
DECLARED_SAMPLES = SAMPLES_OF_TREES + NEIGHBOR_SAMPLES + STACKING_SAMPLES + BLEND_SAMPLES
LINEAR_SAMPLES = ("linear",)  # a pipeline of scikit-learn, which is no class of ours
SAMPLES = DECLARED_SAMPLES + LINEAR_SAMPLES


def fit_samples() -> dict[str, tuple[Any, Any]]:
    """Fit one small model of every kind, by the names in SAMPLES; return each with rows to predict."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(24, 2)).round(2)
    frame = frame_of_kinds()
    noise = generator.integers(0, 3, size=24)
    # Hidden in the colours, so that trees on the frame ask for them.
    shades = frame.iloc[:, 1].cat.codes.to_numpy() * 2 + (frame["grade"] == "low").to_numpy()
    hidden = (noise > 0) ^ (shades % 4 > 1)
    colours = np.array(["red", "green", "blue"])[noise]
    holed = np.where(np.arange(48).reshape(24, 2) % 5 == 0, np.nan, X)
    tree, regression = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
    limit = {"max_leaf_nodes": 6, "random_state": 0, "n_jobs": 1}
    return {
        "classes": (tree(**limit).fit(X, noise), X),
        "texts": (tree(**limit).fit(X, colours), X),
        "object_texts": (tree(**limit).fit(X, colours.astype(object)), X),
        "booleans": (tree(**limit).fit(X, noise > 0), X),
        "entropy": (tree(criterion="entropy", **limit).fit(X, noise, sample_weight=noise + 0.3), X),
        "kinds": (tree(unseen="majority", **limit).fit(frame, hidden), frame),
        "two_outputs": (tree(**limit).fit(X, np.stack([colours, colours[::-1]], axis=1)), X),
        "numbers": (regression(**limit).fit(X, generator.normal(size=24)), X),
        "kinds_numbers": (regression(unseen="majority", **limit).fit(frame, shades * 0.7), frame),
        "three_numbers": (regression(**limit).fit(X, generator.normal(size=(24, 3))), X),
        "one_leaf": (regression(max_nodes=1).fit(X, X[:, 0]), X),
        "pruned": (
            tree(prune="cost_complexity", prune_select="cv_1se", cv=3, **limit).fit(X, X[:, 0] > 0),
            X,
        ),
        "surrogates": (tree(missing="surrogate", **limit).fit(frame, hidden), frame),
        "fractions": (tree(missing="fractional", **limit).fit(holed, noise), holed),
        "multiway": (tree(categorical_split="multiway", max_depth=3).fit(frame, shades % 3), frame),
        "density": (hb.DensityTree(cv=3, random_state=0, min_samples_leaf=2).fit(X), X),
        **fit_forests(X, noise, frame, hidden),
        **fit_bagging(X, colours),
        **fit_boosting(X, noise, frame, hidden),
        **fit_neighbors(X, frame, colours, shades),
        **fit_adaboost(X, noise, frame, hidden),
        **fit_stacking(X, colours),
        **fit_blends(X, colours),
        **fit_linear(frame, colours),
    }


def fit_forests(
    X: np.ndarray, classes: np.ndarray, frame: pd.DataFrame, hidden: np.ndarray
) -> dict[str, tuple[Any, Any]]:
    """Fit a forest of every kind, by the names in FOREST_SAMPLES."""
    limit: dict[str, Any] = {"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0, "n_jobs": 1}
    judged = {**limit, "n_estimators": 20, "max_leaf_nodes": 2, "oob_score": True}
    forest, regression = hb.RandomForestClassifier, hb.RandomForestRegressor
    two = np.stack([classes, classes > 0], axis=1)
    some = np.arange(24) % 5 > 0
    groups = np.arange(24) // 3
    return {
        "forest": (forest(**judged, stratify=True, voting="hard").fit(X, classes), X),
        "forest_of_kinds": (forest(unseen="majority", **limit).fit(frame, hidden), frame),
        "forest_of_groups": (regression(**judged).fit(X, X[:, 0], groups=groups, sample_weight=some), X),
        "forest_of_numbers": (
            regression(**judged, keep=["oob", "leaf_rows", "in_bag"]).fit(X, X, sample_weight=some + 0.5),
            X,
        ),
        "extra_trees": (hb.ExtraTreesClassifier(**{**judged, "bootstrap": True}).fit(X, two), X),
        "extra_trees_of_numbers": (hb.ExtraTreesRegressor(**limit).fit(X, X[:, 1]), X),
    }


def fit_bagging(X: np.ndarray, labels: np.ndarray) -> dict[str, tuple[Any, Any]]:
    """Fit bags of members that share an encoding and of others, by the names in BAGGING_SAMPLES."""
    limit: dict[str, Any] = {"n_estimators": 3, "random_state": 0, "n_jobs": 1}
    judged = {**limit, "n_estimators": 20, "oob_score": True}
    tree, regression = hb.DecisionTreeClassifier(max_depth=2), hb.DecisionTreeRegressor(max_depth=2)
    binned = hb.DecisionTreeClassifier(max_depth=2, max_bins=4)
    forest = hb.RandomForestRegressor(2, max_depth=2)
    few = {"max_features": 1}
    return {
        "bagging": (hb.BaggingClassifier(tree, **judged).fit(X, labels), X),
        "bagging_of_columns": (hb.BaggingClassifier(binned, **few, **limit).fit(X, labels), X),
        "bagging_of_forests": (hb.BaggingRegressor(forest, **limit).fit(X, X[:, 0]), X),
        "bagging_of_numbers": (hb.BaggingRegressor(regression, **few, **limit).fit(X, X[:, 0]), X),
    }


def fit_boosting(
    X: np.ndarray, classes: np.ndarray, frame: pd.DataFrame, hidden: np.ndarray
) -> dict[str, tuple[Any, Any]]:
    """Fit gradient boosting of every kind, by the names in BOOSTING_SAMPLES."""
    limit: dict[str, Any] = {"n_estimators": 3, "max_leaf_nodes": 4, "random_state": 0, "n_jobs": 1}
    limit["min_samples_leaf"] = 2
    boosting, regression = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
    stops = {"early_stopping": True, "validation_fraction": 0.5, "n_iter_no_change": 1}
    tweedie = {"loss": "tweedie", "tweedie_power": 1.3, "subsample": 0.5}
    return {
        "boosting": (boosting(**limit, loss="exponential").fit(X, classes > 0), X),
        "boosting_of_three": (boosting(**limit, **stops).fit(X, np.array(["a", "b", "c"])[classes]), X),
        "boosting_of_one": (boosting(**limit).fit(X, np.zeros(24, dtype=int)), X),
        "boosting_of_kinds": (
            boosting(unseen="majority", categorical_smoothing=0.0, **limit).fit(frame, hidden),
            frame,
        ),
        "boosting_of_numbers": (regression(**limit, loss="huber", alpha=0.7).fit(X, X[:, 0] * 1e200), X),
        "boosting_of_counts": (regression(**limit, **tweedie).fit(X, classes), X),
    }


def fit_neighbors(X: Any, frame: pd.DataFrame, colours: Any, shades: Any) -> dict[str, tuple[Any, Any]]:
    """Fit nearest neighbours: scaled, mixed columns, weights; nothing whose bits depend on `exp` or `pow`."""
    classifier, regression = hb.KNeighborsClassifier, hb.KNeighborsRegressor
    finite = frame.assign(size=frame["size"].where(frame["size"].abs() < 100))
    two = np.stack([shades, shades[::-1]], axis=1) * 0.7
    weights = np.arange(len(X)) % 3
    return {
        "neighbors": (
            classifier(3, weights="inverse_square", scale="standard").fit(X.astype(np.float32), colours),
            X,
        ),
        "neighbors_mixed": (classifier(4, metric="gower").fit(finite, shades), finite),
        "neighbors_numbers": (regression(None, weights="distance").fit(X, two, sample_weight=weights), X),
    }


def fit_adaboost(
    X: np.ndarray, classes: np.ndarray, frame: pd.DataFrame, hidden: np.ndarray
) -> dict[str, tuple[Any, Any]]:
    """Fit AdaBoost of every kind, by the names in ADABOOST_SAMPLES."""
    tree = hb.DecisionTreeClassifier(max_leaf_nodes=3, unseen="majority")
    few: dict[str, Any] = {"n_estimators": 3, "n_jobs": 1}
    labels = np.array(["red", "green", "blue"])[classes]
    return {
        "adaboost": (hb.AdaBoostClassifier(**few, keep_weights=True).fit(X, labels), X),
        "adaboost_of_kinds": (hb.AdaBoostClassifier(**few).fit(frame, hidden), frame),
        "adaboost_of_trees": (
            hb.AdaBoostClassifier(tree, **few, resample=True, random_state=0).fit(frame, hidden),
            frame,
        ),
        "adaboost_of_numbers": (hb.AdaBoostRegressor(**few, loss="square").fit(X, X[:, 0] * X[:, 1]), X),
    }


def fit_stacking(X: np.ndarray, labels: np.ndarray) -> dict[str, tuple[Any, Any]]:
    """Fit stacks with members of scikit-learn; a tree has the last word, so that rounding in them is lost."""
    scaled = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
    members = [
        ("tree", hb.DecisionTreeClassifier(max_depth=2)),
        ("knn", hb.KNeighborsClassifier(3)),
        ("line", LogisticRegression()),
        ("scaled", scaled),
        ("unused", "drop"),
    ]
    classes = hb.StackingClassifier(
        [members, [("forest", hb.RandomForestClassifier(3, max_depth=2))]],
        cv=3,
        stack_method="predict",
        final_estimator=hb.DecisionTreeClassifier(max_depth=3),
        passthrough=True,
        random_state=0,
        n_jobs=1,
    )
    lines = [("line", LinearRegression()), ("ridge", RidgeCV())]
    numbers = hb.StackingRegressor(
        [[("tree", hb.DecisionTreeRegressor(max_depth=2)), *lines], [("last", Ridge(alpha=0.5))]],
        cv="holdout",
        final_estimator=hb.DecisionTreeRegressor(max_depth=2),
        random_state=0,
        n_jobs=1,
    )
    frame = pd.DataFrame(X, columns=["a", "b"])
    return {
        "stacking": (classes.fit(X, labels), X),
        "stacking_of_numbers": (numbers.fit(frame, X[:, 0] * X[:, 1]), frame),
    }


def fit_blends(X: np.ndarray, labels: np.ndarray) -> dict[str, tuple[Any, Any]]:
    """Fit blends, by the names in BLEND_SAMPLES; of trees and neighbours alone, so that no bit may differ."""
    classes = hb.BlendClassifier(
        [("forest", hb.RandomForestClassifier(5, max_depth=3)), ("near", hb.KNeighborsClassifier(3))],
        random_state=0,
        n_jobs=1,
    )
    numbers = hb.BlendRegressor(
        [("tree", hb.DecisionTreeRegressor(max_depth=2)), ("near", hb.KNeighborsRegressor(3))],
        random_state=0,
        n_jobs=1,
    )
    frame = pd.DataFrame(X, columns=["a", "b"])
    return {
        "blend": (classes.fit(X, labels), X),
        "blend_of_numbers": (numbers.fit(frame, X[:, 0] * X[:, 1]), frame),
    }


def fit_linear(frame: pd.DataFrame, labels: np.ndarray) -> dict[str, tuple[Any, Any]]:
    """Fit the linear model of a comparison, by the names in LINEAR_SAMPLES."""
    finite = frame.assign(size=frame["size"].where(frame["size"].abs() < 100))
    return {"linear": (linear_model("classification").fit(finite, labels), finite)}


def trees_of(model: Any) -> tuple[Any, ...]:
    """Return the trees of a model, those of its members one after the other; none if it is made of others."""
    if hasattr(model, "_model"):
        trees: tuple[Any, ...] = getattr(model._model, "trees", ())
        return trees
    if isinstance(model, list):
        return tuple(tree for member in model for tree in trees_of(member))
    return trees_of(model.estimators_) if hasattr(model, "estimators_") else ()


def answers(model: Any, X: Any) -> list[np.ndarray]:
    """Return everything a model says about rows: leaves, predictions, probabilities."""
    methods = ("apply", "predict", "score_samples")
    found = []
    for method in methods:
        has_answer = hasattr(model, method) and (method != "apply" or trees_of(model))
        said = getattr(model, method)(X) if has_answer else {}
        found += [np.asarray(one) for one in (said.values() if isinstance(said, dict) else [said])]
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        found += shares if isinstance(shares, list) else [shares]
    return found


def same_array(one: np.ndarray, other: np.ndarray) -> bool:
    """Compare type, shape and every bit."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype.kind == "O" else one.tobytes() == other.tobytes()


def same_trees(one: Any, other: Any) -> bool:
    """Compare all trees of two models bit by bit."""
    return all(same_tree(*pair) for pair in zip(trees_of(one), trees_of(other), strict=True))


def same_tree(one: Any, other: Any) -> bool:
    """Compare all arrays of two trees bit by bit."""
    return all(same_array(getattr(one, name), getattr(other, name)) for name in TREE_ARRAYS)
