"""Effects of a column: the step function that the model is, not a grid over it."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from reference import effects
from scipy import sparse
from sklearn.base import clone
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


# --- Accumulated local effects, and two columns ----------------------------------------------------------


def asking(model, frame):
    """Let the slow twin ask a model of numbers about rows."""

    def ask(rows):
        return model.predict(pd.DataFrame(rows, columns=frame.columns).astype(frame.dtypes)).tolist()

    return ask


def rows_of(frame):
    return frame.to_dict("records")


def holed(n=60, seed=3):
    """Return a table of numbers that go together, categories and holes, and a target with an interaction."""
    random = np.random.default_rng(seed)
    a = random.normal(size=n)
    frame = pd.DataFrame(
        {
            "a": a,
            "b": a + 0.5 * random.normal(size=n),
            "c": np.array(["x", "y", "z"])[random.integers(3, size=n)],
        }
    )
    y = frame["a"] * (frame["b"] > 0) + (frame["c"] == "y") * frame["b"]
    frame.loc[::9, "a"] = np.nan
    frame.loc[4::11, "c"] = None
    return frame, y


FEW = [
    hb.DecisionTreeRegressor(max_depth=3),
    hb.RandomForestRegressor(3, max_depth=3, random_state=0),
    hb.GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=4),
]


@pytest.mark.parametrize("model", FEW, ids=lambda one: type(one).__name__)
def test_accumulated_effects_are_those_of_the_definition(model):
    frame, y = holed()
    model.fit(frame, y)
    for column, is_number in (("a", True), ("b", True), ("c", False)):
        found = model.effect(frame, column, kind="ale")
        twin = effects.accumulated(
            asking(model, frame), rows_of(frame), column, found.values.tolist(), 20, is_number
        )
        np.testing.assert_allclose(found.mean, twin, atol=1e-12)
        own = frame[column].notna()
        lost = model.predict(frame[own].assign(**{column: None if column == "c" else np.nan}))
        assert found.missing == pytest.approx((lost - model.predict(frame[own])).mean())
        assert found.n_rows.sum() == own.sum()
    assert sorted(model.effect(frame, "c", kind="ale").values) == ["x", "y", "z"]


@pytest.mark.parametrize("model", FEW, ids=lambda one: type(one).__name__)
def test_two_columns_together_are_those_of_the_definition(model):
    frame, y = holed()
    model.fit(frame, y)
    ask, rows = asking(model, frame), rows_of(frame)
    found = model.effect(frame, ("b", "c"))
    for i, j in ((0, 0), (1, 2), (len(found.values[0]) - 1, 1)):
        twin = effects.partial(ask, rows, ["b", "c"], [found.values[0][i], found.values[1][j]])
        assert found.mean[i, j] == pytest.approx(twin)
    assert found.missing[0][1] == pytest.approx(effects.partial(ask, rows, ["b", "c"], [np.nan, "y"]))
    assert found.missing[2] == pytest.approx(effects.partial(ask, rows, ["b", "c"], [np.nan, None]))
    assert found.n_rows.sum() == frame["c"].notna().sum()
    assert found.is_exact
    mixed = model.effect(frame, ["a", "b"], kind="ale")
    twin = effects.accumulated_pair(ask, rows, ("a", "b"), [own.tolist() for own in mixed.values], 8)
    np.testing.assert_allclose(mixed.mean, twin, atol=1e-12)


def test_what_adds_up_has_no_effect_together():
    # Boosted stumps are a sum of functions of one column each.
    frame, y = holed()
    model = hb.GradientBoostingRegressor(n_estimators=20, max_leaf_nodes=2).fit(frame, y)
    np.testing.assert_allclose(model.effect(frame, ("a", "b"), kind="ale").mean, 0, atol=1e-12)
    # Then all lines are parallel, so both kinds agree but for where they begin.
    ale, partial = (model.effect(frame, "b", kind=kind).mean for kind in ("ale", "partial"))
    np.testing.assert_allclose(ale - ale[0], partial - partial[0], atol=1e-12)


def test_only_rows_near_a_threshold_say_what_crossing_it_does():
    # b repeats a. Partial dependence also asks rows with a = 0 and b = 9, which nobody has seen.
    a = np.repeat([0.0, 9.0], 10)
    frame = pd.DataFrame({"a": a, "b": a})
    tree = hb.DecisionTreeRegressor(max_depth=1).fit(frame[["a"]].assign(b=0.0), a)
    found = tree.effect(frame, "a", kind="ale")
    np.testing.assert_allclose(found.mean, [-4.5, 4.5])
    np.testing.assert_array_equal(found.n_rows, [10, 10])


def test_sparse_columns_and_classes_are_asked_in_any_order():
    random = np.random.default_rng(0)
    dense = random.integers(0, 4, size=(80, 5)) * random.integers(0, 2, size=(80, 5)).astype(float)
    y = (dense[:, 0] + dense[:, 1] > 3).astype(int)
    forest = hb.RandomForestClassifier(3, random_state=0).fit(dense, y)
    for column in (0, (0, 1)):
        for kind in ("partial", "ale"):
            of_sparse = forest.effect(sparse.csr_array(dense), column, kind=kind)
            np.testing.assert_array_equal(of_sparse.mean, forest.effect(dense, column, kind=kind).mean)
    assert of_sparse.mean.shape[2] == 2


@pytest.mark.parametrize(
    "model",
    [
        hb.GradientBoostingClassifier(n_estimators=5),
        hb.AdaBoostClassifier(n_estimators=5),
        hb.RandomForestClassifier(3, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_effect_on_the_answer_is_what_probabilities_say(model, n_classes):
    X, y = load_iris(return_X_y=True)
    model = clone(model).fit(X, y % n_classes)
    found = model.effect(X, 2, of="answer")
    accumulated = model.effect(X, 2, kind="ale", of="answer")
    for step in range(len(found.values) - 1):
        changed = X.copy()
        changed[:, 2] = found.values[step]
        shares = model.predict_proba(changed)
        np.testing.assert_allclose(found.lines[:, step], shares[:, 1] if found.lines.ndim == 2 else shares)
    assert (found.of, accumulated.of) == ("answer", "answer")
    assert np.abs(accumulated.mean).max() <= 1
    ax = hb.plot.effect(found, output=None if n_classes == 2 else 1)
    assert ax.get_ylabel() == ("answer" if found.lines.ndim == 2 else "answer of 1")
    both = model.effect(X, (2, 3), of="answer")
    np.testing.assert_allclose(both.mean.sum(axis=-1) if n_classes == 3 else both.mean.max() <= 1, 1)
    with pytest.raises(ValueError, match="of must be 'score' or 'answer'"):
        model.effect(X, 2, of="share")


def test_of_two_classes_the_second_is_drawn():
    X, y = load_iris(return_X_y=True)
    model = hb.DecisionTreeClassifier(max_depth=3).fit(X, np.where(y == 2, "yes", "no"))
    found = model.effect(X, 3)
    ax = hb.plot.effect(found)
    assert ax.get_ylabel() == "score of yes"
    np.testing.assert_array_equal(ax.patches[-1].get_data().values, found.mean[:, 1])
    assert hb.plot.effect(found, output="no").get_ylabel() == "score of no"


def test_maps_and_accumulated_effects_are_drawn():
    frame, y = holed()
    model = hb.GradientBoostingRegressor(n_estimators=20).fit(frame, y)
    ax = hb.plot.effect(model.effect(frame, ("a", "c")))
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y", "z", "none"]
    assert ax.get_xticklabels()[-1].get_text() == "none"
    assert ax.get_xlabel() == "a"
    ax = hb.plot.effect(model.effect(frame, ("a", "b"), kind="ale"))
    assert ax.collections[0].get_clim()[0] == -ax.collections[0].get_clim()[1]
    ax = hb.plot.effect(model.effect(frame, "a", kind="ale"))
    assert ax.get_ylabel() == "change of the score"
    forest = hb.RandomForestClassifier(5, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="output=0, 1, 2"):
        hb.plot.effect(forest.effect(X, (0, 1), n_rows=20))
    hb.plot.effect(forest.effect(X, (0, 1), n_rows=20), output=2)
    pyplot.close("all")


@pytest.mark.parametrize("n_towns", [24, 25])
def test_of_many_categories_the_outermost_are_drawn(n_towns):
    """369 names beside each other were a black strip."""
    towns = [f"t{number:02}" for number in range(n_towns)]
    frame = pd.DataFrame({"town": towns * 8})
    worth = (frame.index % n_towns) * 7 % n_towns  # 0 to 24, each once
    model = hb.DecisionTreeRegressor().fit(frame, worth)
    middle = next(town for town, value in zip(towns, worth, strict=False) if value == 12)
    for kind in ("partial", "ale"):
        found = model.effect(frame, "town", kind=kind)
        ax = hb.plot.effect(found)
        drawn = [text.get_text() for text in ax.get_xticklabels()]
        assert sorted(drawn) == [town for town in towns if n_towns == 24 or town != middle]
        points = next(line for line in ax.lines if line.get_marker() == "o")
        mean = dict(zip(found.values, found.mean, strict=True))
        assert points.get_ydata().tolist() == [mean[town] for town in drawn]
        assert ("the 12 lowest and 12 highest of 25" in ax.get_xlabel()) == (n_towns == 25)
    pyplot.close("all")


def test_wrong_pairs_are_named():
    model = hb.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(ValueError, match="two different columns; got 0 twice"):
        model.effect(X, (0, 0))
    with pytest.raises(ValueError, match="one column or two; got 3"):
        model.effect(X, (0, 1, 2))
    with pytest.raises(ValueError, match="'partial' or 'ale'; got 'pdp'"):
        model.effect(X, 0, kind="pdp")
    holes = pd.DataFrame({"a": [np.nan] * 4, "b": [1.0, 2, 3, 4]})
    tree = hb.DecisionTreeRegressor().fit(holes.assign(a=[1.0, 2, 3, 4]), [1.0, 2, 1, 2])
    with pytest.raises(ValueError, match="no row of X has a value of 'a'"):
        tree.effect(holes, "a", kind="ale")


def test_a_test_for_any_value_at_all_is_no_step():
    frame = pd.DataFrame({"a": [1.0, 2, 3, np.nan, np.nan, np.nan]})
    tree = hb.DecisionTreeRegressor().fit(frame, [1.0, 1, 1, 5, 5, 5])
    assert np.isinf(tree._model.trees[0].threshold[0])
    found = tree.effect(frame, "a")
    assert found.values.tolist() == [np.inf]
    assert found.mean.tolist() == [1] and found.missing == 5
    assert tree.effect(frame, "a", kind="ale").mean.tolist() == [0]


@pytest.mark.filterwarnings("ignore")  # of categories that a member has not seen
def test_members_that_number_categories_each_in_its_own_way():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"c": random.choice(list("abcdefgh"), 40), "x": random.normal(size=40)})
    y = frame["c"].map(ord) + 0.1 * frame["x"]
    bag = hb.BaggingRegressor(hb.DecisionTreeRegressor(max_bins=9), n_estimators=6, random_state=1)
    bag.fit(frame, y)
    assert len({one.model.schema.categories[0] for one in bag._score_sum().sums}) > 1
    found = bag.effect(frame, "c")
    assert found.values.tolist() == list("abcdefgh")
    for place, value in enumerate("abcdefgh"):
        np.testing.assert_allclose(found.lines[:, place], bag.predict(frame.assign(c=value)))
    assert found.missing == pytest.approx(bag.predict(frame.assign(c=None)).mean())
    both = bag.effect(frame, ("c", "x"))
    np.testing.assert_array_equal(both.n_rows.sum(axis=1), frame["c"].value_counts()[list("abcdefgh")])
    twin = effects.accumulated(
        asking(bag, frame), rows_of(frame), "c", bag.effect(frame, "c", kind="ale").values.tolist(), 20, False
    )
    np.testing.assert_allclose(bag.effect(frame, "c", kind="ale").mean, twin, atol=1e-12)


def test_categories_are_put_in_line_beside_a_column_of_very_many():
    """A table of categories x categories x the other column's takes 1.2 GB here; it took 4 on titanic3."""
    n = 1200
    rng = np.random.default_rng(0)
    name, ticket = rng.permutation(np.arange(n) // 2), rng.permutation(np.arange(n) // 2)
    frame = pd.DataFrame({"name": [f"name {i}" for i in name], "ticket": [f"ticket {i}" for i in ticket]})
    y = (name < 200) + (ticket < 300) + rng.normal(size=n)
    tree = hb.DecisionTreeRegressor(max_depth=4, categorical_split="subset").fit(frame, y)
    tracemalloc.start()
    try:
        tree.effect(frame, "name", kind="ale")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6


def test_neighbours_in_a_line_are_alike_in_the_other_columns():
    """Groups a to e draw the other columns from neighbouring ranges, so the line is a to e."""
    n, letters = 500, "caebd"
    rng = np.random.default_rng(1)
    group = rng.choice(list(letters), n)
    at = pd.Series(group).map({letter: place for place, letter in enumerate("abcde")}).to_numpy()
    town = [f"town {number}" for number in at * 2 + rng.integers(0, 10, n)]
    for other in (pd.Series(town), pd.Series(at + 5 * rng.random(n)), pd.Series([*town[:-1], None])):
        frame = pd.DataFrame({"group": pd.Categorical(group, categories=list(letters)), "other": other})
        tree = hb.DecisionTreeRegressor(max_depth=3).fit(frame, at % 2)
        line = "".join(tree.effect(frame, "group", kind="ale").values)
        assert line in ("abcde", "edcba")
