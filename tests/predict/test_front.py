"""Arrays that need no reading answer as any other container would, with the same errors and warnings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import hornbeam as hb
from hornbeam.model import ArrayRows


@pytest.fixture(scope="module")
def data():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4)).round(2)
    X[random.random(X.shape) < 0.1] = np.nan
    return X, (np.nan_to_num(X[:, 0]) + random.normal(size=300) > 0).astype(int)


@pytest.fixture(scope="module")
def models(data):
    X, y = data
    return [
        hb.DecisionTreeClassifier(random_state=0).fit(X, y),
        hb.RandomForestClassifier(n_estimators=7, random_state=0).fit(X, y),
        hb.GradientBoostingClassifier(n_estimators=12, max_leaf_nodes=8).fit(X, y),
    ]


def unaligned(X):
    """Return the same numbers at addresses that no float64 should have."""
    room = np.zeros(X.nbytes + 1, dtype=np.uint8)[1:]
    room[:] = np.frombuffer(np.ascontiguousarray(X).tobytes(), dtype=np.uint8)
    return room.view(X.dtype).reshape(X.shape)


LAYOUTS = {
    "as it is": (lambda X: X, True),
    "one row": (lambda X: X[5:6], True),
    "columns first": (np.asfortranarray, True),
    "every third row backwards": (lambda X: X[::-3], True),
    "a window": (lambda X: np.hstack([X, X])[:, 2:6][:, [2, 3, 0, 1]], True),
    "read-only": (lambda X: np.broadcast_to(X[3], (9, 4)), True),
    "float32": (lambda X: X.astype(np.float32), True),
    "other byte order": (lambda X: X.astype(">f8"), False),
    "unaligned": (unaligned, False),
    "float16": (lambda X: np.nan_to_num(X).astype(np.float16), False),
    "whole numbers": (lambda X: np.nan_to_num(X).astype(int), False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_answer_as_lists_of_rows_do(layout, data, models):
    arrange, needs_no_reading = LAYOUTS[layout]
    X = arrange(data[0])
    for model in models:
        rows = model._model.rows_of(X, estimator_name="Model")
        assert isinstance(rows, ArrayRows) == needs_no_reading
        other = X.astype(float).tolist()
        assert model.predict_proba(X).tobytes() == model.predict_proba(other).tobytes()
        np.testing.assert_array_equal(model.apply(X), model.apply(other))


def same_error(model, X, container):
    with pytest.raises(ValueError) as fast:
        model.predict(X)
    with pytest.raises(ValueError) as general:
        model.predict(container)
    return str(fast.value) == str(general.value)


def test_what_is_wrong_is_said_as_ever(data, models):
    X, y = data
    for model in models:
        assert same_error(model, X[:, :3], X[:, :3].tolist())
        assert same_error(model, X[:0], np.zeros((0, 4)).astype(object))
        with pytest.raises(ValueError, match="Reshape your data"):
            model.predict(X[0])
    strict = hb.DecisionTreeClassifier(missing="error").fit(np.nan_to_num(X), y)
    assert same_error(strict, X, X.tolist())
    strict.predict(np.nan_to_num(X))
    with pytest.raises(NotFittedError):
        hb.DecisionTreeClassifier().predict(X)


def test_names_and_kinds_of_the_fit_still_count(data):
    X, y = data
    named = hb.DecisionTreeClassifier().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.predict(X)
    coded = hb.DecisionTreeClassifier(categorical_features=[1]).fit(np.nan_to_num(X).round(), y)
    table = coded._model.rows_of(np.nan_to_num(X).round(), estimator_name="Model")
    assert not isinstance(table, ArrayRows)


@pytest.mark.parametrize("order", [np.s_[::2], np.s_[::-1]])
def test_sums_may_go_onto_scores_that_lie_in_any_order(data, models, order):
    ensemble = models[1]._model
    rows = ensemble.rows_of(data[0], estimator_name="Model")
    expected = ensemble.total(rows, n_threads=1)
    onto = np.zeros((600, 1, 2))[order][:300]
    assert ensemble.total(rows, n_threads=1, onto=onto) is onto
    np.testing.assert_array_equal(onto, expected)


def test_stages_end_where_the_whole_sum_is(data, models):
    X, _ = data
    boosting = models[2]
    *_, last = boosting.staged_decision_function(X)
    assert last.tobytes() == boosting.decision_function(X).tobytes()
    rows = [boosting.decision_function(X[i : i + 1]) for i in range(len(X))]
    assert np.concatenate(rows).tobytes() == boosting.decision_function(X).tobytes()
