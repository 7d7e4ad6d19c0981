"""pickle, joblib and deepcopy: models come back exactly, broken trees do not come back at all (row 75)."""

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from model_files import SAMPLES, answers, same_array, same_trees

import hornbeam as hb
from hornbeam import _core
from hornbeam.model import Ensemble
from hornbeam.warnings import VersionWarning

Samples = Callable[[str], tuple[Any, Any]]


@pytest.mark.parametrize("name", SAMPLES)
def test_every_way_gives_the_same_model(name: str, samples: Samples, tmp_path: Path) -> None:
    model, X = samples(name)
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [copy.deepcopy(model), joblib.load(tmp_path / "model.joblib")]
    copies += [pickle.loads(pickle.dumps(model, protocol)) for protocol in (2, pickle.HIGHEST_PROTOCOL)]
    for other in copies:
        assert same_trees(other, model)
        for one, two in zip(answers(other, X), answers(model, X), strict=True):
            assert same_array(one, two)


@pytest.mark.parametrize("made_by", ["0.0.1", None])
def test_75_another_version_is_told(
    made_by: str | None, samples: Samples, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, X = samples("kinds")
    usual = Ensemble.__getstate__

    def state_of_another_version(self: Ensemble) -> dict[str, Any]:
        state = {**usual(self), "library_version": made_by}
        return (
            state if made_by else {name: value for name, value in state.items() if name != "library_version"}
        )

    monkeypatch.setattr(Ensemble, "__getstate__", state_of_another_version)
    pickled = pickle.dumps(model)
    monkeypatch.undo()
    output = made_by or "an unknown version"
    with pytest.warns(VersionWarning, match=rf"made by hornbeam {output}; this is {_core.version}"):
        other = pickle.loads(pickled)
    assert same_array(other.predict(X), model.predict(X))


def broken(name: str, place: int, value: float) -> Callable[[dict[str, Any]], None]:
    def change(arrays: dict[str, Any]) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].reshape(-1)[place] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (broken("first_child", 0, -5), "node 0: its children are not the next nodes"),
        (broken("first_child", 0, 0), "node 0: its children are not the next nodes"),  # a cycle
        (broken("first_child", 0, 2), "node 0: its children are not the next nodes"),  # an orphan
        (broken("first_child", 0, 10**6), "node 0: its children are not the next nodes"),
        (broken("n_branches", 0, 10**6), "node 0: its children lie outside the tree"),
        (broken("first_child", 0, -1), "node 0: it is a leaf in one array and not in another"),
        (broken("feature", 0, -2), "node 0: it is a leaf in one array and not in another"),
        (broken("feature", 0, 1), "node 0: its feature is out of range"),
        (broken("missing_branch", 0, 2), "node 0: its branch for missing values"),
        (broken("category_begin", 0, 10**6), "node 0: its table of categories is out of range"),
        (broken("category_begin", 0, -7), "node 0: its table of categories is out of range"),
        (broken("value", 0, np.nan), "node 0: its value is not finite"),
        (lambda arrays: arrays.update(gain=arrays["gain"][:-1]), "its arrays differ in length"),
    ],
)
def test_65_to_67_broken_trees_are_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    model = hb.DecisionTreeRegressor().fit(np.array([["a"], ["b"], ["c"]], dtype=object), [1, 2, 3])
    assert model.tree_.category_begin[0] == 0, "the first test is one of categories"
    state = model._model.__getstate__()
    change(state["trees"][0])
    with pytest.raises(ValueError, match=message):
        Ensemble.__new__(Ensemble).__setstate__(state)


def test_pickles_of_threads_in_flight_are_whole(samples: Samples) -> None:
    """Pickling reads; predicting at the same time does, too."""
    from concurrent.futures import ThreadPoolExecutor

    model, X = samples("kinds")
    expected = model.predict(X)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            pickled = [pool.submit(pickle.dumps, model) for _ in range(40)]
            predicted = [pool.submit(model.predict, X) for _ in range(40)]
            assert all(same_array(future.result(), expected) for future in predicted)
            assert len({future.result() for future in pickled}) == 1
    finally:
        sys.setswitchinterval(interval)
