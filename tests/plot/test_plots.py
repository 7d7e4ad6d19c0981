"""Pictures: what is drawn says what the model says. How it looks is looked at by people."""

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot
from matplotlib.collections import PathCollection
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import hornbeam as hb
from hornbeam import plot

IRIS = load_iris(as_frame=True)
CANCER = load_breast_cancer(as_frame=True)


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    mpl.use("Agg")
    yield
    pyplot.close("all")


def texts(ax):
    return [text.get_text() for text in ax.texts]


# --- Trees -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["down", "right", None])
def test_a_tree_has_its_tests_and_answers(direction):
    model = hb.DecisionTreeClassifier(max_leaf_nodes=4).fit(IRIS.data, IRIS.target_names[IRIS.target])
    found = texts(plot.tree(model, direction=direction))
    assert "petal length (cm) <= 2.45" in found
    assert any(text.startswith("setosa") and "50 rows, 100 %" in text for text in found)
    assert sum(text in ("yes", "no") for text in found) == (0 if direction == "right" else 6)


def boxes_that_meet(ax):
    """Count pairs of boxes whose drawn outlines overlap."""
    figure = ax.figure
    figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts]
    return sum(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


@pytest.mark.parametrize("n_leaves", [2, 5, 8, 9, 31])
def test_boxes_never_meet(n_leaves):
    generator = np.random.default_rng(0)
    y = np.where(generator.random(len(CANCER.target)) < 0.2, 1 - CANCER.target, CANCER.target)
    model = hb.DecisionTreeClassifier(max_leaf_nodes=n_leaves).fit(CANCER.data, CANCER.target_names[y])
    ax = plot.tree(model)
    assert boxes_that_meet(ax) == 0
    figure = ax.figure.get_window_extent()
    for text in ax.texts:
        assert figure.x0 <= text.get_window_extent().x0
        assert text.get_window_extent().x1 <= figure.x1


def test_large_trees_are_folded():
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 5))
    model = hb.DecisionTreeRegressor().fit(X, generator.normal(size=3000))
    ax = plot.tree(model)
    assert 10 < len(ax.texts) < 130
    assert any("folded" in text for text in texts(ax))
    assert len(plot.tree(model, max_depth=2).texts) == 7 + 6


def test_a_single_leaf_and_a_deep_staircase():
    assert len(plot.tree(hb.DecisionTreeRegressor(max_nodes=1).fit([[1.0], [2.0]], [1.0, 2.0])).texts) == 1
    X = np.arange(3000.0)[:, None]
    staircase = hb.DecisionTreeRegressor().fit(X, 2.0 ** (np.arange(3000) // 3))
    assert staircase.get_depth() > 100
    assert plot.tree(staircase).texts


def test_hostile_names_are_shown_as_text():
    frame = pd.DataFrame({"$x_1$ \\frac": np.arange(6.0), "b\x1b[0m\n": np.arange(6.0)[::-1]})
    model = hb.DecisionTreeClassifier().fit(frame, ["$a$"] * 3 + ["b\\"] * 3)
    ax = plot.tree(model)
    ax.figure.canvas.draw()  # a formula that is none would raise here
    assert any(r"\$x_1\$" in text for text in texts(ax))


def test_axes_that_are_given_are_used():
    _, ax = pyplot.subplots()
    model = hb.DecisionTreeClassifier(max_depth=2, prune="pessimistic").fit(IRIS.data, IRIS.target)
    assert plot.tree(model, ax=ax) is ax
    assert plot.pruning(model, ax=ax) is ax
    assert plot.importance(model, ax=ax) is ax
    assert plot.impurities(ax=ax) is ax


# --- Curves ----------------------------------------------------------------------------------------------


def test_pruning_marks_the_tree_that_was_taken():
    model = hb.DecisionTreeClassifier(prune="cost_complexity", cv=5, random_state=0)
    table = model.fit(CANCER.data, CANCER.target).pruning_table_
    marked = plot.pruning(model).lines[-1]
    assert marked.get_xdata() == table["leaves"][table["chosen"]].to_numpy()
    assert marked.get_ydata() == table["error"][table["chosen"]].to_numpy()


def test_pruning_shows_cuts_where_there_is_no_table():
    model = hb.DecisionTreeClassifier(prune="reduced_error", random_state=1).fit(CANCER.data, CANCER.target)
    course = plot.pruning(model).lines[0]
    assert len(course.get_xdata()) == len(model.pruning_log_) + 1
    assert course.get_xdata()[-1] == model.tree_.node_count
    with pytest.raises(AttributeError, match="not pruned"):
        plot.pruning(hb.DecisionTreeClassifier().fit(IRIS.data, IRIS.target))


def test_importance_is_sorted_and_named():
    model = hb.DecisionTreeClassifier().fit(CANCER.data, CANCER.target)
    ax = plot.importance(model, most=5)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(model.feature_importances_, reverse=True)[:5]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names[0] == CANCER.data.columns[np.argmax(model.feature_importances_)]
    drawn = plot.importance(model, permutation_importance(model, CANCER.data, CANCER.target, n_repeats=2))
    assert len(drawn.containers) == 2  # bars and their error bars
    with pytest.raises(ValueError, match="30 importances, but 2 names"):
        plot.importance(model, names=["a", "b"])


def test_impurities_touch_where_they_should():
    curves = {line.get_label(): line.get_ydata() for line in plot.impurities().lines}
    assert curves["entropy (bits)"].max() == 1
    assert curves["Gini index"].max() == curves["misclassification"].max() == 0.5


def test_learning_and_validation_curves():
    tree = hb.DecisionTreeClassifier(max_depth=3)
    ax = plot.learning_curve(tree, CANCER.data, CANCER.target, cv=3, train_sizes=[0.2, 1.0])
    assert len(ax.lines[0].get_xdata()) == 2
    depths = [1, 3, None]
    ax = plot.validation_curve(
        tree, CANCER.data, CANCER.target, param_name="max_depth", param_range=depths, cv=3
    )
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "3", "None"]


# --- Boundaries ------------------------------------------------------------------------------------------


BOUNDARY_MODELS = [
    hb.KNeighborsClassifier(1),
    hb.KNeighborsClassifier(7, weights="inverse_square"),
    hb.KNeighborsClassifier(n_neighbors=None, weights="gaussian", bandwidth=0.3),
    hb.DecisionTreeClassifier(max_depth=3),
    hb.RandomForestClassifier(10, random_state=0),
    hb.AdaBoostClassifier(n_estimators=5),
    hb.GradientBoostingClassifier(n_estimators=5),
    LogisticRegression(),
    LinearSVC(),
]


@pytest.mark.parametrize("model", BOUNDARY_MODELS, ids=lambda model: repr(model)[:40])
def test_a_boundary_has_the_colours_of_the_answers(model):
    X, y = IRIS.data.to_numpy()[:, 2:], IRIS.target_names[IRIS.target]
    ax = plot.boundary(model.fit(X, y), X, y, resolution=40)
    image = ax.images[0]
    picture = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    xs, ys = np.linspace(left, right, 40), np.linspace(bottom, top, 40)
    answers = model.predict(np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)).reshape(40, 40)
    from hornbeam.plot.canvas import class_colours

    nearest = np.argmin(
        [
            np.abs((1 - picture) / (1 - picture).max(axis=2, keepdims=True) - (1 - c) / (1 - c).max()).sum(
                axis=2
            )
            for c in class_colours(3)
        ],
        axis=0,
    )
    np.testing.assert_array_equal(model.classes_[nearest], answers)


def test_the_stronger_the_vote_the_stronger_the_colour():
    X, y = IRIS.data.to_numpy()[:, 2:], IRIS.target
    model = hb.KNeighborsClassifier(n_neighbors=None, weights="gaussian", bandwidth=0.5).fit(X, y)
    image = plot.boundary(model, X, resolution=30).images[0]
    left, right, bottom, top = image.get_extent()
    xs, ys = np.linspace(left, right, 30), np.linspace(bottom, top, 30)
    shares = model.predict_proba(np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2))
    paleness = np.asarray(image.get_array()).reshape(-1, 3).min(axis=1)
    for k in range(3):
        won = np.flatnonzero(shares.argmax(axis=1) == k)
        by_strength = won[np.argsort(shares[won, k])]
        assert (np.diff(paleness[by_strength]) <= 1e-9).all()
        assert paleness[by_strength[0]] > paleness[by_strength[-1]] + 0.2


def test_cells_of_one_nearest_neighbour():
    X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 2.0]])
    model = KNeighborsClassifier(1).fit(X, [0, 1, 2])
    without = plot.boundary(model, X, [0, 1, 2], resolution=10)
    ax = plot.boundary(model, X, [0, 1, 2], resolution=10, voronoi=True)
    borders = [line.get_xydata() for line in ax.lines]
    assert len(borders) > len(without.lines) == 0
    # Every border is equally far from two rows and from none less.
    for border in borders[:3]:
        distances = np.sort(np.linalg.norm(X - border.mean(axis=0), axis=1))
        assert distances[0] == pytest.approx(distances[1]) or distances[0] > 50


def test_cells_are_those_of_the_scaled_distance():
    X = np.random.default_rng(0).normal(size=(12, 2)) * [1.0, 1000.0]
    model = hb.KNeighborsClassifier(1, scale="standard").fit(X, np.arange(12))
    borders = [line.get_xydata() for line in plot.boundary(model, X, resolution=5, voronoi=True).lines]
    low, high = X.min(axis=0), X.max(axis=0)
    seen = [m for m in (border.mean(axis=0) for border in borders) if (m > low).all() and (m < high).all()]
    assert len(seen) > 5
    for middle in seen:  # of a border: two rows are nearest, for the model as well
        (near, second, third), _ = (found[0] for found in model.kneighbors([middle], n_neighbors=3))
        assert near == pytest.approx(second, rel=1e-9)
        assert third > second
    unscaled = plot.boundary(hb.KNeighborsClassifier(1).fit(X, np.arange(12)), X, resolution=5, voronoi=True)
    assert not np.allclose(unscaled.lines[0].get_xydata(), borders[0])


def test_cells_of_another_metric_are_refused():
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = hb.KNeighborsClassifier(1, metric="manhattan").fit(X, np.arange(12))
    with pytest.raises(ValueError, match="Euclidean distance, but the model has metric='manhattan'"):
        plot.boundary(model, X, resolution=5, voronoi=True)


def test_other_features_are_held_and_numbers_are_shaded():
    data = load_diabetes(as_frame=True)
    model = LinearRegression().fit(data.data, data.target)
    ax = plot.boundary(model, data.data, data.target, features=("bmi", "s5"), resolution=20)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("bmi", "s5")
    shades = np.asarray(ax.images[0].get_array())
    assert shades[0, 0] < shades[-1, -1]
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1.0, 5.0, 3.0], "c": ["u", "v", "v"]})
    tree = hb.DecisionTreeClassifier().fit(frame, [0, 1, 1])
    assert plot.boundary(tree, frame, [0, 1, 1], resolution=5).images


def test_what_a_boundary_refuses():
    model = hb.DecisionTreeClassifier().fit(IRIS.data, IRIS.target)
    with pytest.raises(ValueError, match="features names 'petal'"):
        plot.boundary(model, IRIS.data, features=("petal", 1))
    with pytest.raises(ValueError, match="features has 9, but X has 4 columns"):
        plot.boundary(model, IRIS.data, features=(0, 9))
    with pytest.raises(ValueError, match="at least two columns"):
        plot.boundary(model, IRIS.data[["petal length (cm)"]])


# --- Ensembles -------------------------------------------------------------------------------------------


def line_values(ax):
    return {line.get_label(): np.asarray(line.get_ydata()) for line in ax.lines}


def test_rounds_show_the_error_after_each():
    X, y = CANCER.data, CANCER.target
    model = hb.GradientBoostingClassifier(n_estimators=5).fit(X[:400], y[:400])
    drawn = line_values(plot.rounds(model, X[:400], y[:400], X_test=X[400:], y_test=y[400:]))
    assert len(drawn["training rows"]) == 5
    assert drawn["test rows"][-1] == pytest.approx(1 - model.score(X[400:], y[400:]))
    numbers = hb.GradientBoostingRegressor(n_estimators=3).fit(X, X["mean radius"])
    ax = plot.rounds(numbers, X, X["mean radius"])
    errors = [np.sqrt(np.mean((said - X["mean radius"]) ** 2)) for said in numbers.staged_predict(X)]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), errors)
    with pytest.raises(TypeError, match="DecisionTreeClassifier has none"):
        plot.rounds(hb.DecisionTreeClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="both X_test and y_test"):
        plot.rounds(numbers, X, y, X_test=X)


def test_early_stopping_is_marked():
    model = hb.GradientBoostingClassifier(early_stopping=True, random_state=0, n_estimators=200)
    ax = plot.rounds(model.fit(CANCER.data, CANCER.target), CANCER.data, CANCER.target)
    assert f"best: round {model.best_iteration_}" in line_values(ax)


def test_reweighting_draws_points_by_their_weights():
    points = hb.datasets.ten_points()
    model = hb.AdaBoostClassifier(n_estimators=3, keep_weights=True).fit(points.X, points.y)
    axes = plot.reweighting(model, points.X, points.y, resolution=20)
    assert len(axes) == 4
    assert axes[0].get_title().startswith("round 1: error 0.300, weight 0.42")
    points_drawn = [each for each in axes[1].collections if isinstance(each, PathCollection)]
    areas = np.concatenate([each.get_sizes() for each in points_drawn])
    weights = model.sample_weights_[1]
    np.testing.assert_allclose(np.sort(areas) / areas.sum(), np.sort(weights), rtol=1e-6)
    with pytest.raises(ValueError, match="keep_weights=True"):
        plot.reweighting(hb.AdaBoostClassifier().fit(points.X, points.y), points.X, points.y)
    with pytest.raises(ValueError, match="from 1 to 3"):
        plot.reweighting(model, points.X, points.y, shown=[7])
    with pytest.raises(ValueError, match="axes must be 4"):
        plot.reweighting(model, points.X, points.y, axes=axes[:2])


@pytest.mark.parametrize("forest", [hb.RandomForestClassifier, hb.RandomForestRegressor])
def test_forest_sizes_end_with_the_error_of_the_forest(forest):
    X, y = CANCER.data, CANCER.target
    model = forest(n_estimators=6, random_state=0)
    ax = plot.forest_size(model, X[:400], y[:400], X_test=X[400:], y_test=y[400:], max_features=["sqrt", 1.0])
    drawn = line_values(ax)
    assert list(drawn) == ["max_features = sqrt", "max_features = 1.0"]
    fitted = forest(n_estimators=6, random_state=0, max_features=1.0).fit(X[:400], y[:400])
    said = fitted.predict(X[400:])
    expected = (
        np.mean(said != y[400:])
        if "Classifier" in forest.__name__
        else np.sqrt(np.mean((said - y[400:]) ** 2))
    )
    assert drawn["max_features = 1.0"][-1] == pytest.approx(expected)


def test_forest_sizes_without_test_rows_are_out_of_bag():
    model = hb.RandomForestClassifier(n_estimators=40, random_state=0)
    ax = plot.forest_size(model, CANCER.data, CANCER.target)
    oob = hb.RandomForestClassifier(n_estimators=40, random_state=0, oob_score=True)
    assert ax.lines[0].get_ydata()[-1] == pytest.approx(1 - oob.fit(CANCER.data, CANCER.target).oob_score_)


def test_bias_and_variance_by_parameter_and_by_model():
    X, y = CANCER.data.to_numpy(), CANCER.data["mean radius"].to_numpy()
    options = {"n": 4, "random_state": 0}
    tree = hb.DecisionTreeRegressor()
    drawn = line_values(
        plot.bias_variance(tree, X, y, param_name="max_leaf_nodes", param_range=[2, 8], **options)
    )
    np.testing.assert_allclose(drawn["error"], drawn["bias"] + drawn["variance"])
    assert drawn["bias"][0] > drawn["bias"][1]
    models = {"small": hb.DecisionTreeRegressor(max_leaf_nodes=2), "large": tree}
    ax = plot.bias_variance(models, X, y, **options)
    heights = [patch.get_height() for patch in ax.patches]
    assert heights[:2] == [hb.bias_variance(each, X, y, **options).bias for each in models.values()]
    with pytest.raises(ValueError, match="a dict of estimators"):
        plot.bias_variance(tree, X, y)


def test_a_bootstrap_beside_independent_samples():
    generator = np.random.default_rng(0)
    result = hb.bootstrap(np.mean, generator.normal(size=50), n=200, random_state=0)
    ax = plot.bootstrap(result, independent=generator.normal(size=(300, 50)).mean(axis=1), name="mean")
    assert ax.get_xlabel() == "mean"
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"bootstrap samples", "independent samples", "95% interval"} <= set(names)
    pairs = hb.bootstrap(lambda rows: rows[:2], generator.normal(size=9), n=20)
    with pytest.raises(ValueError, match="one number"):
        plot.bootstrap(pairs)


# --- Contributions ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def contributed():
    model = hb.GradientBoostingClassifier(n_estimators=10).fit(CANCER.data, CANCER.target)
    return model.contributions(CANCER.data)


def test_swarms_have_a_dot_per_row_at_its_contribution(contributed):
    ax = plot.contributions(contributed, most=3)
    order = np.argsort(-np.abs(contributed.values).mean(axis=0))[:3]
    assert [text.get_text() for text in ax.get_yticklabels()] == [contributed.names[j] for j in order]
    dots = [one for one in ax.collections if isinstance(one, PathCollection)]
    for line, j in enumerate(order):
        places = dots[line].get_offsets()
        np.testing.assert_array_equal(places[:, 0], contributed.values[:, j])
        assert np.abs(places[:, 1] - line).max() <= 0.4


def test_bars_are_mean_sizes(contributed):
    ax = plot.contributions(contributed, "bar", most=4)
    sizes = np.sort(np.abs(contributed.values).mean(axis=0))[::-1][:4]
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], sizes)


def test_a_waterfall_leads_from_the_base_to_the_score(contributed):
    ax = plot.contributions(contributed, "waterfall", row=5, most=6)
    assert len(ax.patches) == 7  # six columns and all others
    last = ax.patches[-1]
    assert ax.patches[0].get_x() == pytest.approx(contributed.base_values)
    assert last.get_x() + last.get_width() == pytest.approx(contributed.scores[5])
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(contributed.values[5].sum())


def test_dependence_over_numbers_and_categories():
    frame = pd.DataFrame({"n": np.arange(60.0), "c": ["x", "y", "z"] * 20})
    model = hb.DecisionTreeRegressor(max_depth=3).fit(frame, frame["n"] + (frame["c"] == "x"))
    found = model.contributions(frame)
    dots = plot.contributions(found, "dependence", column="n").collections[-1].get_offsets()
    np.testing.assert_array_equal(dots, np.stack([frame["n"], found.values[:, 0]], axis=1))
    ax = plot.contributions(found, "dependence", column="c")
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "y", "z"]


def test_contributions_that_cannot_be_drawn(contributed):
    tree = hb.DecisionTreeClassifier(max_depth=2).fit(IRIS.data, IRIS.target)
    found = tree.contributions(IRIS.data)
    with pytest.raises(ValueError, match="choose one: output=0, 1, 2"):
        plot.contributions(found)
    assert plot.contributions(found, output=1).get_xlabel() == "contribution"
    with pytest.raises(ValueError, match="give row="):
        plot.contributions(contributed, "waterfall")
    with pytest.raises(ValueError, match="give column="):
        plot.contributions(contributed, "dependence", column="nowhere")
    with pytest.raises(ValueError, match="kind must be one of"):
        plot.contributions(contributed, "pie")
    with pytest.raises(ValueError, match="without interactions"):
        plot.contributions(tree.contributions(IRIS.data, interactions=True))
    with pytest.raises(TypeError, match="must come from contributions"):
        plot.contributions(found.values)


def test_boxes_of_categories_are_few_and_their_names_do_not_collide():
    rng = np.random.default_rng(0)
    towns = [f"a town of number {k}" for k in np.minimum(rng.integers(0, 40, 600), rng.integers(0, 40, 600))]
    X = pd.DataFrame({"town": towns, "size": rng.normal(size=600)})
    model = hb.RandomForestRegressor(5, random_state=0).fit(X, rng.normal(size=600))
    ax = plot.contributions(model.contributions(X), "dependence", column="town")
    assert len(ax.get_xticklabels()) == 20
    assert ax.get_title(loc="right") == "the 20 most frequent of 39 values"
    assert ax.get_xticklabels()[0].get_rotation() == 40
    assert "a town of number 38" not in [tick.get_text() for tick in ax.get_xticklabels()]


@pytest.mark.parametrize("n_kinds", [20, 21])
def test_twenty_boxes_are_drawn(n_kinds):
    X = pd.DataFrame({"kind": [f"k{k:02}" for k in np.arange(210) % n_kinds]})
    model = hb.DecisionTreeRegressor().fit(X, np.arange(210) % n_kinds)
    ax = plot.contributions(model.contributions(X), "dependence", column="kind")
    assert len(ax.get_xticklabels()) == 20
    assert ax.get_title(loc="right") == ("" if n_kinds == 20 else "the 20 most frequent of 21 values")
