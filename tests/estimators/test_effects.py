"""Effects of a column: the step function that the model is, not a grid over it."""

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_iris

import hornbeam as hb

X, Y = load_iris(return_X_y=True, as_frame=True)
MODELS = [
    hb.DecisionTreeRegressor(max_depth=4),
    hb.RandomForestRegressor(4, random_state=0),
    hb.BaggingRegressor(hb.DecisionTreeRegressor(max_bins=9), n_estimators=4, max_features=2, random_state=0),
    hb.GradientBoostingRegressor(n_estimators=5),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_the_effect_is_what_predictions_say_anywhere(model):
    model.fit(X, Y)
    found = model.effect(X, "petal length (cm)")
    assert found.is_exact and found.values[-1] == np.inf
    for value in (0.0, 1.05, 2.6, 4.9, 100.0, *found.values[:3]):
        changed = X.assign(**{"petal length (cm)": value})
        step = int(np.searchsorted(found.values, value))  # the first end that is not below
        np.testing.assert_allclose(found.lines[:, step], model.predict(changed), rtol=1e-12)
    np.testing.assert_allclose(found.mean, found.lines.mean(axis=0))


def test_categories_and_missing_values():
    frame = pd.DataFrame({"c": ["x", "y", "z", None] * 20, "n": np.arange(80.0)})
    y = (frame["c"] == "x") + frame["n"] / 80
    model = hb.DecisionTreeRegressor(max_depth=5).fit(frame, y)
    found = model.effect(frame, "c")
    assert found.values.tolist() == ["x", "y", "z"]
    for place, value in enumerate("xyz"):
        np.testing.assert_allclose(found.lines[:, place], model.predict(frame.assign(c=value)))
    assert found.missing == pytest.approx(model.predict(frame.assign(c=None)).mean())
    ax = hb.plot.effect(found)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "y", "z"]
    pyplot.close("all")


def test_classes_are_drawn_one_at_a_time_and_many_steps_are_thinned():
    model = hb.RandomForestClassifier(5, random_state=0).fit(X, Y)
    found = model.effect(X, 2, n_rows=20, n_steps=4)
    assert found.lines.shape == (20, 4, 3) and not found.is_exact
    np.testing.assert_allclose(found.lines.sum(axis=2), 1)
    ax = hb.plot.effect(found, output=1)
    assert ax.get_xlabel() == "petal length (cm)"
    with pytest.raises(ValueError, match="output=0, 1, 2"):
        hb.plot.effect(found)
    with pytest.raises(TypeError, match=r"model\.effect"):
        hb.plot.effect(model)
    pyplot.close("all")


def test_wrong_columns_are_named():
    model = hb.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(ValueError, match="no column 'nowhere'; columns are 'sepal length"):
        model.effect(X, "nowhere")
    with pytest.raises(ValueError, match="no column 4"):
        model.effect(X, 4)
    with pytest.raises(ValueError, match="n_steps at least 2"):
        model.effect(X, 0, n_steps=1)
