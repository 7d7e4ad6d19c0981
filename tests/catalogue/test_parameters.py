"""Rows 51 to 56: parameters that do not exist, are out of range, or change between calls."""

import threading
import tracemalloc
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import hornbeam as hb
from catalogue.models import TREES, Tree, problem, same_model
from hornbeam import DecisionTreeClassifier
from hornbeam.threads import usable_cores
from hornbeam.warnings import ThreadsWarning

X, Y = problem()
FEW = {"n_estimators": 3, "random_state": 0}
OF_EVERY_KIND = [
    hb.DecisionTreeClassifier(),
    hb.DecisionTreeRegressor(),
    hb.RandomForestClassifier(**FEW),
    hb.ExtraTreesRegressor(**FEW),
    hb.BaggingClassifier(**FEW),
    hb.AdaBoostClassifier(**FEW),
    hb.AdaBoostRegressor(**FEW),
    hb.GradientBoostingClassifier(3),
    hb.GradientBoostingRegressor(3),
    hb.KNeighborsClassifier(weights="gaussian"),
    hb.KNeighborsRegressor(),
    hb.StackingClassifier([[("tree", hb.DecisionTreeClassifier(max_depth=2))]], cv=3),
]


@pytest.mark.parametrize("tree", TREES)
def test_row_51_unknown_parameter(tree: type[Tree]) -> None:
    with pytest.raises(TypeError, match=r"max_dept.*Did you mean 'max_depth'"):
        tree(max_dept=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"max_dept.*Did you mean 'max_depth'"):
        tree().set_params(max_dept=3)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(
    ("parameter", "value", "output"),
    [
        ("max_depth", -3, "whole number >= 1"),
        ("max_depth", True, "whole number >= 1"),
        ("max_depth", 2.5, "whole number >= 1"),
        ("max_leaf_nodes", 1, "whole number >= 2"),
        ("min_samples_leaf", 0, "whole number >= 1"),
        ("min_samples_split", 1, "whole number >= 2"),
        ("min_impurity_decrease", float("nan"), "finite number >= 0"),
        ("ccp_alpha", -0.1, "finite number >= 0"),
        ("min_weight_fraction_leaf", 0.6, r"\[0(.0)?, 0.5\]"),
        ("max_bins", 10**12, r"\[2, 65535\]"),
        ("max_depth", 10**30, "64-bit"),
        ("criterion", "gin", "criterion"),
        ("random_state", -1, r"\[0, 18446744073709551615\]"),
        ("random_state", 2**64, r"\[0, 18446744073709551615\]"),
    ],
)
def test_row_52_values_out_of_range_are_refused_at_fit(
    tree: type[Tree], parameter: str, value: Any, output: str
) -> None:
    model = tree(**{parameter: value})  # the constructor stores and nothing else
    with pytest.raises(ValueError, match=output) as caught:
        model.fit(X, Y)
    assert parameter in str(caught.value)


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("parameter", ["max_depth", "max_leaf_nodes", "max_nodes"])
def test_row_52_limits_far_beyond_the_data_do_not_bind(tree: type[Tree], parameter: str) -> None:
    free = tree().fit(X, Y)
    for value in (2**31 - 1, 2**31, 10**12, 2**63 - 1):
        limited = tree(**{parameter: value}).fit(X, Y)
        assert limited.get_n_leaves() == free.get_n_leaves()
        np.testing.assert_array_equal(limited.predict(X), free.predict(X))


@pytest.mark.parametrize("tree", TREES)
def test_row_52_minima_far_beyond_the_data_give_a_single_leaf(tree: type[Tree]) -> None:
    for parameter in ("min_samples_leaf", "min_samples_split"):
        for value in (10**12, 2**62, 2**63 - 1):
            assert tree(**{parameter: value}).fit(X, Y).get_n_leaves() == 1


@pytest.mark.parametrize("model", OF_EVERY_KIND, ids=lambda model: type(model).__name__)
def test_row_53_threads(model: BaseEstimator) -> None:
    def answers(n_jobs: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = clone(model).set_params(n_jobs=n_jobs).fit(X, Y)
        said.extend(str(warning.message) for warning in caught)
        return fitted.set_params(n_jobs=1).predict(X)

    said: list[str] = []
    expected = answers(131072)
    assert len(said) == 1
    assert "n_jobs=131072 is more than the" in said[0]
    for n_jobs in (-1, -2, -1000, 1):
        np.testing.assert_array_equal(answers(n_jobs), expected)
    assert len(said) == 1
    for bad in (0, "auto", 1.5, True):
        with pytest.raises(ValueError, match="n_jobs must be"):
            answers(bad)


def test_row_53_threads_at_predict() -> None:
    model = DecisionTreeClassifier(n_jobs=1).fit(X, Y).set_params(n_jobs=usable_cores() + 1)
    times = -(-10_000 // len(Y))  # a few rows stay on the calling thread, whatever n_jobs says
    with pytest.warns(ThreadsWarning, match=f"n_jobs={usable_cores() + 1}") as caught:
        np.testing.assert_array_equal(model.predict(np.tile(X, (times, 1))), np.tile(Y, times))
    assert len(caught) == 1


@pytest.mark.parametrize("tree", TREES)
def test_row_54_memory_follows_the_data_not_the_limit(tree: type[Tree]) -> None:
    small, answers = X[:100], Y[:100]
    tracemalloc.start()
    free = tree().fit(small, answers)
    model = tree(max_leaf_nodes=2_000_000).fit(small, answers)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5_000_000
    assert model.get_n_leaves() == free.get_n_leaves()


@pytest.mark.parametrize("tree", TREES)
def test_row_55_fit_again_set_params_and_predict_before_fit(tree: type[Tree]) -> None:
    model = tree(max_depth=2)
    for ask in (model.predict, model.apply, model.decision_path):
        with pytest.raises(NotFittedError):
            ask(X)
    model.fit(X, Y)
    answers = model.predict(X)
    model.set_params(max_depth=1, criterion="nonsense")
    np.testing.assert_array_equal(model.predict(X), answers)
    # Other data, other width, other classes: nothing of the first fit is left.
    model.set_params(max_depth=None, criterion=tree().criterion).fit(X[:50, :2], Y[:50] % 2)
    assert model.n_features_in_ == 2
    assert same_model(model, tree().fit(X[:50, :2], Y[:50] % 2))


@pytest.mark.parametrize("tree", TREES)
def test_row_55_a_refused_fit_leaves_the_old_model(tree: type[Tree]) -> None:
    model = tree().fit(X, Y)
    answers = model.predict(X)
    for bad in ({"X": X[:, :2], "y": np.full(len(X), np.nan)}, {"X": [[1.0, "a"], ["b", 2.0]], "y": [0, 1]}):
        with pytest.raises((ValueError, TypeError)):
            model.fit(**bad)
        np.testing.assert_array_equal(model.predict(X), answers)
        assert model.n_features_in_ == len(model.feature_importances_) == X.shape[1]
    new = tree()
    with pytest.raises(ValueError, match="contains NaN"):
        new.fit(X, np.full(len(X), np.nan))
    with pytest.raises(NotFittedError):
        new.predict(X)


@pytest.mark.parametrize("tree", TREES)
def test_row_56_fits_at_the_same_time_are_reproducible(tree: type[Tree]) -> None:
    def forest(seed: int) -> list[Tree]:
        state = np.random.RandomState(seed)
        return [tree(max_features=1, splitter="random", random_state=state).fit(X, Y) for _ in range(20)]

    alone = {seed: forest(seed) for seed in (0, 1)}
    together: dict[int, list[Tree]] = {}
    threads = [threading.Thread(target=lambda s=seed: together.update({s: forest(s)})) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    for seed in (0, 1):
        assert all(same_model(a, b) for a, b in zip(alone[seed], together[seed], strict=True))
    assert not same_model(alone[0][0], alone[1][0])


@pytest.mark.parametrize("tree", TREES)
def test_row_56_a_number_as_seed_gives_the_same_tree_every_time(tree: type[Tree]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        models = [tree(max_features=1, splitter="random", random_state=7).fit(X, Y) for _ in range(3)]
    assert same_model(models[0], models[1])
    assert same_model(models[0], models[2])
