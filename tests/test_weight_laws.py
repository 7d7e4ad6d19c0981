"""The weight laws of decision 2, estimator by estimator: each cell of its table that says "exactly"."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import hornbeam as hb
from hornbeam.params import estimators
from hornbeam.warnings import HornbeamWarning

Answer = Callable[..., np.ndarray]

SETTINGS: dict[str, dict[str, Any]] = {
    "AdaBoostClassifier": {"n_estimators": 6},
    "AdaBoostRegressor": {"n_estimators": 6},
    "BaggingClassifier": {"n_estimators": 5},
    "BaggingRegressor": {"n_estimators": 5},
    "BlendClassifier": {"members": [("tree", hb.DecisionTreeClassifier(max_depth=3))]},
    "BlendRegressor": {"members": [("tree", hb.DecisionTreeRegressor(max_depth=3))]},
    "DecisionTreeClassifier": {},
    "DecisionTreeRegressor": {},
    "DensityTree": {},
    "ExtraTreesClassifier": {"n_estimators": 5},
    "ExtraTreesRegressor": {"n_estimators": 5},
    "GradientBoostingClassifier": {"n_estimators": 10},
    "GradientBoostingRegressor": {"n_estimators": 10},
    "KNeighborsClassifier": {},
    "KNeighborsRegressor": {},
    "RandomForestClassifier": {"n_estimators": 5},
    "RandomForestRegressor": {"n_estimators": 5},
    "StackingClassifier": {"levels": [[("tree", hb.DecisionTreeClassifier(max_depth=3))]], "cv": 2},
    "StackingRegressor": {"levels": [[("tree", hb.DecisionTreeRegressor(max_depth=3))]]},
}
COUNT_ROWS = {"KNeighborsClassifier", "KNeighborsRegressor", "StackingClassifier", "StackingRegressor"}
REPEATABLE = [
    ("DecisionTreeClassifier", {}),
    ("DecisionTreeRegressor", {}),
    ("ExtraTreesClassifier", {}),
    ("ExtraTreesRegressor", {}),
    ("RandomForestClassifier", {"bootstrap": False}),
    ("RandomForestRegressor", {"bootstrap": False}),
    ("BaggingClassifier", {"bootstrap": False, "max_samples": None}),
    ("BaggingRegressor", {"bootstrap": False, "max_samples": None}),
    ("KNeighborsClassifier", {}),
]


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows with three classes, and numbers, of which few are equal or many."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 4)).round(1 + seed)
    return X, (X[:, 0] + rng.normal(size=120) > 0).astype(int) + (X[:, 1] > 1), X[:, 0] + rng.normal(size=120)


def asked(name: str, **options: Any) -> Answer:
    """Return a function that fits and answers for rows nobody has seen."""
    cls = getattr(hb, name)
    seeded = {} if name.startswith("KNeighbors") else {"random_state": 0}
    new = np.random.default_rng(9).normal(size=(150, 4)).round(2)

    def answer(X: np.ndarray, classes: np.ndarray, numbers: np.ndarray, **given: Any) -> np.ndarray:
        y = classes if name.endswith("Classifier") else numbers
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HornbeamWarning)
            model = cls(**{**SETTINGS[name], **seeded, **options}).fit(X, y, **given)
        asked_for = next(m for m in ("score_samples", "predict_proba", "predict") if hasattr(model, m))
        return np.asarray(getattr(model, asked_for)(new))

    return answer


def test_every_estimator_has_its_laws() -> None:
    weighted = {cls.__name__ for cls in estimators()}
    assert set(SETTINGS) == weighted


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SETTINGS)
def test_ones_are_no_weights(name: str, seed: int) -> None:
    answer, data = asked(name), problem(seed)
    assert answer(*data).tobytes() == answer(*data, sample_weight=np.ones(120)).tobytes()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SETTINGS)
def test_a_row_without_weight_is_not_there(name: str, seed: int) -> None:
    answer, data = asked(name), problem(seed)
    for weights in (
        np.random.default_rng(seed).integers(0, 4, size=120).astype(float),
        (np.arange(120) % 3 > 0).astype(float),
    ):
        kept = weights > 0
        dropped = answer(*(part[kept] for part in data), sample_weight=weights[kept])
        assert answer(*data, sample_weight=weights).tobytes() == dropped.tobytes()


@pytest.mark.parametrize("name", sorted(set(SETTINGS) - COUNT_ROWS))
def test_powers_of_two_change_nothing(name: str) -> None:
    options = {"min_hessian_leaf": 0.0} if name.startswith("GradientBoosting") else {}
    answer, data = asked(name, **options), problem(1)
    weights = np.random.default_rng(1).exponential(size=120)
    plain = answer(*data, sample_weight=weights)
    for exponent in (-7, 3, 300, 1020):
        assert answer(*data, sample_weight=np.ldexp(weights, exponent)).tobytes() == plain.tobytes()


@pytest.mark.parametrize("size", [1e-300, 0.3, 4.0, 1e6, 1.7e308])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GradientBoostingClassifier", {}),
        ("GradientBoostingClassifier", {"l2_regularization": 3.0, "class_weight": {0: 2.0, 1: 2.0, 2: 2.0}}),
        ("GradientBoostingRegressor", {"l1_regularization": 1.0, "early_stopping": True}),
        ("GradientBoostingRegressor", {"loss": "quantile", "subsample": 0.5}),
        ("GradientBoostingRegressor", {"growth": "symmetric"}),
        ("GradientBoostingRegressor", {"n_estimators": "auto", "n_members": 2, "n_iter_no_change": 2}),
        ("GradientBoostingClassifier", {"n_estimators": "auto", "n_members": 2, "n_iter_no_change": 2}),
    ],
)
def test_equal_weights_are_no_weights_in_boosting(name: str, options: dict[str, Any], size: float) -> None:
    """400 rows and 50 rounds once differed by 0.14 in a probability on one of ten such tables."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 5))
    data = (
        X,
        (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=400) > 0).astype(int) * 2,
        X[:, 0] + rng.normal(size=400),
    )
    data[1][:7] = 1
    new = asked(name, **{"n_estimators": 15, **options})
    columns = (X[:, :4], *data[1:])
    assert new(*columns).tobytes() == new(*columns, sample_weight=np.full(400, size)).tobytes()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("name", "options"), REPEATABLE)
def test_a_whole_weight_is_a_number_of_copies(name: str, options: dict[str, Any], seed: int) -> None:
    answer, data = asked(name, **options), problem(seed)
    times = np.random.default_rng(seed).integers(0, 4, size=120)
    copies = answer(*(np.repeat(part, times, axis=0) for part in data))
    assert answer(*data, sample_weight=times.astype(float)).tobytes() == copies.tobytes()


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("AdaBoostClassifier", {}, 1e-13),
        ("AdaBoostRegressor", {}, 1e-13),
        ("KNeighborsRegressor", {}, 1e-13),
        ("GradientBoostingRegressor", {"min_samples_leaf": 1, "min_hessian_leaf": 0.0}, 1e-6),
        ("GradientBoostingRegressor", {"min_samples_leaf": 1, "l2_regularization": 1.0}, 1e-6),
    ],
)
def test_copies_to_rounding(name: str, options: dict[str, Any], tolerance: float) -> None:
    answer, data = asked(name, **options), problem(1)
    times = np.random.default_rng(1).integers(1, 4, size=120)
    copies = answer(*(np.repeat(part, times, axis=0) for part in data))
    np.testing.assert_allclose(answer(*data, sample_weight=times.astype(float)), copies, atol=tolerance)


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.HornbeamWarning")
@pytest.mark.parametrize("name", sorted(set(SETTINGS) - {"StackingClassifier", "StackingRegressor"}))
def test_the_largest_weights_there_are(name: str) -> None:
    """Sums of such weights are no numbers any more; the answers are those of weights a fraction as large."""
    answer, data = asked(name), problem(0)
    weights = np.where(np.arange(120) % 3 == 0, 0.85e308, 1.7e308)
    said = answer(*data, sample_weight=weights)
    assert not np.isnan(said).any()
    if name not in COUNT_ROWS:
        assert said.tobytes() == answer(*data, sample_weight=np.ldexp(weights, -500)).tobytes()


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.HornbeamWarning")
def test_small_weights_beside_the_largest_are_not_dropped() -> None:
    X, classes, _ = problem(0)
    weights = np.full(120, 1.7e308)
    weights[5] = 1e-300
    classes[5] = 7  # a class of its own, which the model knows
    for cls in (hb.DecisionTreeClassifier, hb.GradientBoostingClassifier):
        assert 7 in cls(random_state=0).fit(X, classes, weights).classes_
    bag = hb.BaggingClassifier(LogisticRegression(), random_state=0).fit(X, classes, weights)
    assert 7 in bag.classes_
