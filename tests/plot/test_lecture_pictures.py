"""Pictures of lectures: what is drawn says what the model says. How it looks is looked at by people."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import hornbeam as hb
from hornbeam import plot

MOONS, SIDES = make_moons(120, noise=0.3, random_state=0)


@pytest.fixture(autouse=True)
def closed_figures():
    mpl.use("Agg")
    yield
    pyplot.close("all")


def line(ax, number=0):
    return ax.get_lines()[number].get_ydata()


# --- Boundaries ------------------------------------------------------------------------------------------


def test_a_boundary_over_words_has_their_values_on_its_axes():
    table = hb.datasets.courses()
    tree = hb.DecisionTreeClassifier().fit(table.frame(), table.y)
    ax = plot.boundary(tree, table.frame(), table.y, features=("systems", "AI"), resolution=40)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["n", "y"]
    picture = ax.images[0].get_array()
    asked = table.frame().mode().iloc[[0]].assign(systems="y", AI="n")
    left_below, right_below = picture[5, 5], picture[5, -5]
    assert not tree.predict(asked)[0] and not np.allclose(left_below, right_below)
    # Categories as pandas knows them, one axis of words and one of numbers, and arrays of objects.
    cars = hb.datasets.cars()
    frame = cars.frame().astype({"maker": "category"})
    model = hb.DecisionTreeClassifier().fit(frame, cars.y)
    ax = plot.boundary(model, frame, cars.y, features=("weight", "maker"), resolution=30)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["america", "asia", "europa"]
    objects = hb.DecisionTreeClassifier().fit(cars.X, cars.y)
    assert plot.boundary(objects, cars.X, cars.y, features=(3, 6), resolution=30).images


# --- Forest sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        hb.RandomForestClassifier(n_estimators=9, voting="hard", max_depth=2, random_state=0),
        hb.RandomForestClassifier(n_estimators=9, random_state=0),
        hb.BaggingClassifier(LogisticRegression(), n_estimators=9, max_features=1, random_state=0),
        hb.BaggingClassifier(LinearSVC(), n_estimators=9, voting="hard", random_state=0),
        hb.BaggingClassifier(hb.DecisionTreeClassifier(max_depth=1), n_estimators=9, voting="hard"),
        hb.RandomForestRegressor(n_estimators=9, random_state=0),
    ],
)
def test_the_last_size_has_the_error_of_the_model(model):
    X, y, new, truth = MOONS[:80], SIDES[:80], MOONS[80:], SIDES[80:]
    model.set_params(random_state=3)
    ax = plot.forest_size(model, X, y, X_test=new, y_test=truth)
    answers = model.fit(X, y).predict(new)
    is_class = hasattr(model, "classes_")
    error = np.mean(answers != truth) if is_class else np.sqrt(np.mean((answers - truth) ** 2))
    assert len(line(ax)) == 9 and line(ax)[-1] == pytest.approx(error)


# --- AdaBoost --------------------------------------------------------------------------------------------


def test_the_vote_after_some_rounds():
    model = hb.AdaBoostClassifier(n_estimators=30).fit(MOONS, SIDES)
    axes = plot.vote_by_round(model, MOONS, SIDES, shown=(1, 3, 120), resolution=30)
    assert [ax.get_title() for ax in axes] == ["after 1 round", "after 3 rounds"]
    pictures = [ax.images[0].get_array() for ax in axes]
    assert not np.allclose(*pictures)
    with pytest.raises(ValueError, match="from 1 to 30"):
        plot.vote_by_round(model, MOONS, SIDES, shown=(31,))


def test_weights_losses_and_margins():
    model = hb.AdaBoostClassifier(n_estimators=30).fit(MOONS, SIDES)
    left, right = plot.adaboost(model, MOONS, SIDES)
    points = np.asarray(left.collections[0].get_offsets())
    np.testing.assert_allclose(points[:, 0], model.estimator_errors_)
    np.testing.assert_allclose(points[:, 1], model.estimator_weights_)
    bound, loss, error = (line(right, k) for k in range(3))
    assert np.all(loss <= bound + 1e-9) and np.all(error <= loss)
    ax = plot.margins(model, MOONS, SIDES, shown=(1,))
    first = ax.get_lines()[0]
    wrong = 1 - model.first(1).score(MOONS, SIDES)
    below_zero = np.asarray(first.get_ydata())[np.asarray(first.get_xdata()) < 0].max()
    assert below_zero == pytest.approx(wrong)


def test_how_each_stump_voted():
    model = hb.AdaBoostClassifier(n_estimators=6).fit(MOONS, SIDES)
    ax = plot.row_votes(model, MOONS, row=7)
    total = sum(bar.get_width() for bar in ax.patches)
    assert total == pytest.approx(model.decision_function(MOONS[[7]])[0])
    assert "<=" in ax.get_yticklabels()[0].get_text()
    three = hb.AdaBoostClassifier(n_estimators=2).fit(MOONS, np.arange(120) % 3)
    with pytest.raises(ValueError, match="3 classes"):
        plot.row_votes(three, MOONS)


# --- Others ----------------------------------------------------------------------------------------------


def test_a_stack_has_its_levels():
    model = hb.StackingClassifier(
        [[("tree", hb.DecisionTreeClassifier()), ("knn", hb.KNeighborsClassifier())]],
        final_estimator=LogisticRegression(),
    )
    texts = [text.get_text() for text in plot.stack(model).texts]
    assert "tree\nDecisionTreeClassifier" in texts and "final estimator\nLogisticRegression" in texts
    assert "level 1" in texts
    with pytest.raises(TypeError, match="stack draws"):
        plot.stack(hb.DecisionTreeClassifier())


def test_steps_and_what_they_leave():
    x = np.linspace(0, 10, 80)[:, None]
    y = np.sin(x[:, 0])
    tree = hb.DecisionTreeRegressor(max_leaf_nodes=4).fit(x, y)
    assert len(np.unique(line(plot.steps(tree, x, y)))) == 4
    frame = pd.DataFrame({"time": x[:, 0]})
    model = hb.GradientBoostingRegressor(5, max_leaf_nodes=3, min_samples_leaf=5).fit(frame, y)
    axes = plot.residuals(model, frame, y, shown=(1, 5, 50))
    assert axes.shape == (2, 2)
    left = axes[1, 1].collections[0].get_segments()
    np.testing.assert_allclose([part[1][1] for part in left], y - model.predict(frame), atol=1e-12)
    with pytest.raises(ValueError, match="one column"):
        plot.steps(tree, MOONS)


def test_densities_of_one_column_and_of_two():
    one = MOONS[:, :1]
    model = hb.DensityTree(random_state=0).fit(one)
    ax = plot.density(model, one)
    places, found = (np.asarray(part) for part in ax.get_lines()[0].get_data())
    assert np.sum(found[:-1] * np.diff(places)) == pytest.approx(1.0, abs=0.02)
    two = plot.density(hb.DensityTree(random_state=0).fit(MOONS), MOONS, resolution=40)
    assert two.images[0].get_array().shape == (40, 40)


def test_labels_behind_every_value():
    table = hb.datasets.restaurant()
    ax = plot.distributions(table.frame(), table.y)
    texts = [text.get_text() for text in ax.texts]
    assert f"{hb.information_gain(labels=table.y, by=table.frame()['Patrons']):.4f}" in texts
    assert sum(bar.get_width() for bar in ax.patches) == 12 * 10
    cars = hb.datasets.cars()
    names = [tick.get_text() for tick in plot.distributions(cars.frame(), cars.y).get_yticklabels()]
    assert "horsepower  < 88" in names and "maker  asia" in names


def test_members_targets_and_neighbours():
    bag = hb.BaggingClassifier(n_estimators=5, random_state=0).fit(MOONS, SIDES)
    assert [ax.get_title() for ax in plot.members(bag, 3)] == ["tree 1", "tree 2", "tree 3"]
    with pytest.raises(TypeError, match="not trees"):
        plot.members(hb.BaggingClassifier(LogisticRegression(), n_estimators=2).fit(MOONS, SIDES))
    generator = np.random.default_rng(0)
    tables = [(X, X[:, 0] + generator.normal(size=40)) for X in generator.uniform(size=(12, 40, 1))]
    rows = np.array([[0.2], [0.8]])
    (ax,) = plot.targets({"tree": hb.DecisionTreeRegressor()}, tables, rows, rows[:, 0])
    hits = np.asarray(ax.collections[0].get_offsets())
    expected = [hb.DecisionTreeRegressor().fit(*table).predict(rows) - rows[:, 0] for table in tables]
    np.testing.assert_allclose(hits, expected)
    nearest = line(plot.nearest_distance((1, 10, 100), n_rows=200))
    assert nearest[0] < 0.1 and np.all(np.diff(nearest) > 0) and nearest[-1] < 1
    scores = line(plot.irrelevant_columns(MOONS, SIDES, added=(0, 30)))
    assert scores[1] < scores[0]


def test_a_tree_as_nested_ifs():
    table = hb.datasets.cars()
    tree = hb.DecisionTreeClassifier(max_depth=2).fit(table.frame(), table.y)
    code = tree.rules(style="code")
    assert code.splitlines()[0] == "if horsepower <= 88:" and "else:  # horsepower > 88" in code
    assert code.count("return") == tree.get_n_leaves()
