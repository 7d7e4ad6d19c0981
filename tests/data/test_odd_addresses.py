"""Arrays that lie where numbers may not be read, as `np.frombuffer(..., offset=1)` makes them.

On this kind of processor a wrong read gives the right number, slowly; `make sanitize` sees it. Here answers
must be those of the same numbers at good addresses, and what the core writes to must be refused.
"""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hostile.tables import odd
from scipy import sparse
from sklearn.exceptions import NotFittedError

import hornbeam as hb
from hornbeam import _core
from hornbeam.params import estimators, options_of
from hornbeam.warnings import HornbeamWarning

Array = npt.NDArray[Any]
ASKED = (
    "predict", "predict_proba", "decision_function", "score_samples", "apply", "predict_std", "contributions",
    "kneighbors", "transform", "predict_interval",
)  # fmt: skip


def moved(given: dict[str, Any]) -> dict[str, Any]:
    return {name: odd(value) if isinstance(value, np.ndarray) else value for name, value in given.items()}


def model_of(cls: Any) -> Any:
    kind = "Classifier" if "Classifier" in cls.__name__ else "Regressor"
    options: dict[str, Any] = {"random_state": 0, "n_estimators": 4, "n_neighbors": 5}
    if "Stacking" in cls.__name__ or "Blend" in cls.__name__:
        tree, near = getattr(hb, f"DecisionTree{kind}"), getattr(hb, f"KNeighbors{kind}")
        members: Any = [("tree", tree(max_depth=3)), ("near", near())]
        options |= {"levels": [members], "members": members}
    if cls is hb.RandomForestRegressor:
        options["keep"] = ["oob", "leaf_rows"]
    return cls(**{name: value for name, value in options.items() if name in options_of(cls)})


def table_of(dtype: str) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    X = (rng.normal(size=(120, 3)) * 9).astype(dtype)
    score = X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=120)
    return {"X": X, "score": score, "weights": rng.random(120) + 0.5, "groups": np.arange(120) % 10}


def answers_of(model: Any, X: Array) -> dict[str, Any]:
    found = {}
    for name in ASKED:
        try:
            said = getattr(model, name)(X)
        except (AttributeError, ValueError, NotFittedError):
            continue  # not of this kind, or not with these options
        found[name] = said if isinstance(said, dict) else getattr(said, "values", said)
    return found


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, list | tuple):
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "int32", "uint16"])
@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_answers_are_those_of_good_addresses(cls: Any, dtype: str) -> None:
    table = table_of(dtype)
    X, given = table["X"], {}
    if "Classifier" in cls.__name__:
        given["y"] = np.digitize(table["score"], [-4, 4])
    elif cls is not hb.DensityTree:
        given["y"] = table["score"]
    given["sample_weight"] = table["weights"]
    if cls.__name__.startswith(("RandomForest", "Bagging")):  # which draw groups as they are
        given["groups"] = table["groups"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        expected = answers_of(model_of(cls).fit(X, **given), X)
        found = answers_of(model_of(cls).fit(odd(X), **moved(given)), odd(X))
    assert list(found) == list(expected) and expected
    assert_same(found, expected)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_what_a_loss_of_ones_own_returns_and_offsets(n_classes: int) -> None:
    table = table_of("float64")
    labels = np.digitize(table["score"], np.linspace(-3, 3, max(1, n_classes - 1)))
    y = labels if n_classes else table["score"]
    n_scores = n_classes if n_classes > 2 else 1
    offset = np.random.default_rng(0).normal(size=(120, n_scores) if n_scores > 1 else 120)

    class Squares:
        def __init__(self, place: Any) -> None:
            self.place = place

        def gradient_hessian(self, y: Array, score: Array) -> tuple[Array, Array]:
            target = np.eye(3)[y.astype(int)] if score.ndim == 2 else y
            return self.place(score - target), self.place(np.ones_like(score))

        def baseline(self, y: Array, sample_weight: Array) -> Array:
            return self.place(np.full(n_scores, 0.25))

    cls: Any = hb.GradientBoostingClassifier if n_classes else hb.GradientBoostingRegressor
    X, rows = (
        table["X"],
        {"X_val": table["X"][:30], "y_val": y[:30], "sample_weight_val": table["weights"][:30]},
    )
    for loss in (None, Squares):
        for start in ({}, {"offset": offset}):
            if start:
                start |= {"offset_val": offset[:30]}
            given = {"y": y, "sample_weight": table["weights"], **rows, **start}
            judged = {} if loss is None else {"scoring": "accuracy" if n_classes else "r2"}
            options = [{} if loss is None else {"loss": loss(place)} for place in (np.asarray, odd)]
            near = cls(4, **options[0], **judged).fit(X, **given)
            far = cls(4, **options[1], **judged).fit(odd(X), **moved(given))
            more = {"offset": offset} if start else {}
            assert_same(far.predict(odd(X), **moved(more)), near.predict(X, **more))
            assert_same(far.validation_score_, near.validation_score_)


def test_scores_of_a_criterion_of_ones_own() -> None:
    class Counts:
        def __init__(self, place: Any) -> None:
            self.place = place

        def score(self, cells: Array) -> Array:
            return self.place(-np.prod(cells.sum(axis=2), axis=1))

    table = table_of("float64")
    near, far = (
        hb.DecisionTreeClassifier(criterion=Counts(place)).fit(table["X"], table["score"] > 0)
        for place in (np.asarray, odd)
    )
    assert near.rules() == far.rules()


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_parts_of_a_sparse_table(layout: str) -> None:
    table = table_of("float64")
    X = sparse.random_array((120, 5), density=0.3, rng=np.random.default_rng(0), format=layout)
    other = X.copy()
    names = ("data", "row", "col") if layout == "coo" else ("data", "indices", "indptr")
    if layout == "coo":
        other.coords = tuple(odd(one) for one in X.coords)
        other.data = odd(X.data)
    else:
        for name in names:
            setattr(other, name, odd(getattr(X, name)))
    y = table["score"]
    for model in (
        hb.RandomForestRegressor(3, random_state=0),
        hb.GradientBoostingRegressor(3),
        hb.KNeighborsRegressor(),
        hb.BaggingRegressor(hb.KNeighborsRegressor(), n_estimators=3, random_state=0),
    ):
        assert_same(model.fit(other, y).predict(other), model.fit(X, y).predict(X))


def test_a_field_of_a_packed_record() -> None:
    table = table_of("float64")
    record = np.zeros(120, dtype=[("mark", "u1"), ("y", "f8"), ("w", "f8")])  # 17 bytes a row
    record["y"], record["w"] = table["score"], table["weights"]
    near = hb.RandomForestRegressor(3, random_state=0).fit(table["X"], table["score"], table["weights"])
    far = hb.RandomForestRegressor(3, random_state=0).fit(table["X"], record["y"], record["w"])
    assert_same(far.predict(table["X"]), near.predict(table["X"]))


def test_an_array_to_be_written_to_is_refused() -> None:
    X = table_of("float64")["X"]
    model = hb.RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    predictor = _core.Predictor(tuple(model._model.trees), None, False)
    for place, fits in ((np.asarray, True), (odd, False)):
        scores = place(np.zeros((120, 1, 1)))
        if fits:
            predictor.add_array(X, 0, 3, scores, None, False, 1)
            assert scores.any()
            continue
        with pytest.raises(TypeError, match="incompatible function arguments"):
            predictor.add_array(X, 0, 3, scores, None, False, 1)
        predictor.add_array(odd(X), 0, 3, np.zeros((120, 1, 1)), odd(np.ones(3)), False, 1)
