"""A model is refitted while other threads ask it: every answer belongs to one of the fits, whole."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.params import estimators

SECONDS = 0.25  # that each kind is refitted and asked

FAST: dict[str, dict[str, Any]] = {
    "AdaBoostClassifier": {"n_estimators": 3},
    "AdaBoostRegressor": {"n_estimators": 3},
    "BaggingClassifier": {"n_estimators": 3},
    "BaggingRegressor": {"n_estimators": 3},
    "DensityTree": {},
    "ExtraTreesClassifier": {"n_estimators": 3, "n_jobs": 1},
    "ExtraTreesRegressor": {"n_estimators": 3, "n_jobs": 1},
    "GradientBoostingClassifier": {"n_estimators": 3, "early_stopping": False, "n_jobs": 1},
    "GradientBoostingRegressor": {"n_estimators": 3, "early_stopping": False, "n_jobs": 1},
    "KNeighborsClassifier": {},
    "KNeighborsRegressor": {},
    "RandomForestClassifier": {"n_estimators": 3, "n_jobs": 1},
    "RandomForestRegressor": {"n_estimators": 3, "n_jobs": 1},
    "StackingClassifier": {"levels": [[("tree", hb.DecisionTreeClassifier(max_depth=2))]], "cv": 2},
    "StackingRegressor": {"levels": [[("tree", hb.DecisionTreeRegressor(max_depth=2))]], "cv": 2},
}
QUESTIONS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "apply", "score_samples")


@pytest.fixture(autouse=True)
def _threads_take_turns_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def two_fits(model: Any) -> tuple[np.ndarray, list[Callable[[], Any]]]:
    """Rows to ask about, and two ways to fit the model whose answers differ: in classes and their number."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 3))
    codes = (3 * X[:, 0]).astype(int)
    if hasattr(model, "predict_proba"):
        old, new = np.array(["a", "b", "c"])[codes], np.array(["long name", "z"])[codes % 2]
    else:
        old, new = X[:, 0] * 2, 100 + X[:, 1]
    return X, [lambda: model.fit(X, old), lambda: model.fit(X * 2, new)]


def words(answer: Any) -> tuple[Any, ...]:
    """Make answers comparable in all their bits; those of members are by name."""
    if isinstance(answer, dict):
        return tuple((name, words(one)) for name, one in answer.items())
    array = np.asarray(answer)
    return array.shape, array.tobytes() if array.dtype != object else tuple(array.ravel().tolist())


@pytest.mark.parametrize("kind", [cls.__name__ for cls in estimators() if hasattr(hb, cls.__name__)])
def test_answers_belong_to_one_fit(kind: str) -> None:
    model: Any = getattr(hb, kind)(**FAST.get(kind, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X, fits = two_fits(model)
    fits[0]()
    asked = [name for name in QUESTIONS if hasattr(model, name)]
    right: list[dict[str, Any]] = []
    for fit in fits:
        fit()
        right.append({name: words(getattr(model, name)(X)) for name in asked})
    assert any(right[0][name] != right[1][name] for name in asked)
    faults: list[str] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set() and not faults:
            for name in asked:
                try:
                    answer = words(getattr(model, name)(X))
                except Exception as error:  # a mixture of two fits often fails
                    faults.append(f"{name}: {error!r}")
                    return
                if answer not in (right[0][name], right[1][name]):
                    faults.append(f"{name}: an answer of neither fit")

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + SECONDS
    n_fits = 0
    try:
        while n_fits < 2 or time.monotonic() < end:  # on a busy machine one fit may take longer
            fits[n_fits % 2]()
            n_fits += 1
    finally:
        done.set()
    for thread in threads:
        thread.join(timeout=60)
    assert faults == []


def test_a_fit_that_fails_leaves_everything_as_it_was() -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = hb.DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 0, 1, 1, 1])
    before = dict(vars(model))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, ["a", "b", "a", "b", "a", "b"], sample_weight=[1, 2, 3, 4, 5, -6])
    assert dict(vars(model)) == before


def test_options_that_are_set_during_a_fit_stay_set() -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = hb.GradientBoostingRegressor(3, early_stopping=False, min_samples_leaf=1)
    model.fit(X, X[:, 0], callbacks=[lambda _: bool(model.set_params(verbose=0, n_estimators=7)) and None])
    assert model.n_estimators == 7
    assert model.n_iter_ == 3


def test_the_rounds_before_a_callback_fails_are_kept() -> None:
    X = np.arange(12.0).reshape(6, 2)
    model = hb.GradientBoostingRegressor(9, early_stopping=False, min_samples_leaf=1)

    def fail(after: Any) -> None:
        if after.number == 4:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X, X[:, 0], callbacks=[fail])
    assert model.n_iter_ == 4


def test_warnings_name_the_line_that_called() -> None:
    X = np.ones((30, 2))
    for model in (
        hb.DecisionTreeClassifier(),
        hb.RandomForestClassifier(2),
        hb.GradientBoostingClassifier(2),
    ):
        with pytest.warns(hb.warnings.DataWarning) as caught:
            model.fit(X, [0, 1] * 15)
        assert {each.filename for each in caught} == {__file__}
