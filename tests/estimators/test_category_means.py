"""Columns of many categories: means of the target while trees grow, sets of categories afterwards."""

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.data.table import read_table
from hornbeam.data.target import RegressionTarget
from hornbeam.recipes.category_means import CategoryMeans, _of_others, columns_of_many
from hornbeam.warnings import UnseenCategoryWarning

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")


def test_the_own_part_is_left_out():
    rng = np.random.default_rng(0)
    codes, parts, values = rng.integers(0, 7, 200), rng.integers(0, 5, 200), rng.normal(size=200)
    expected = [
        sum(values[j] for j in range(200) if codes[j] == codes[i] and parts[j] != parts[i])
        for i in range(200)
    ]
    assert _of_others(codes, values, parts) == pytest.approx(expected)


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 3, 100)])
def test_an_id_is_no_column_to_grow_on(weights):
    X = pd.DataFrame({"id": [f"row {i}" for i in range(100)], "x": np.arange(100.0)})
    table = read_table(X)
    target = RegressionTarget(np.random.default_rng(0).normal(size=(100, 1)), is_multi_output=False)
    means = CategoryMeans.of(table, target, weights, columns_of_many(table), key=5)
    assert [column.name for column in means.table.columns] == ["x"]
    assert means.of_groups(((0,), (1,))) == ((0,),)
    assert means.with_gaps(table, (True,)) == (False, True)
    alone = read_table(X[["id"]])  # a table has a column, and this one has the same number in every row
    (column,) = CategoryMeans.of(alone, target, weights, [0], key=5).table.columns
    assert len(np.unique(column.values)) == 1


def test_rows_are_counted_without_their_weights():
    rng = np.random.default_rng(0)
    names = pd.DataFrame({"name": [f"n{i}" for i in range(50)] * 2 + ["n0"] * 20})
    target = RegressionTarget(rng.normal(size=(120, 1)), is_multi_output=False)
    means = CategoryMeans.of(read_table(names), target, rng.random(120), [0], key=5)
    assert sorted(set(means.table.columns[-1].values)) == [2, 22]


@pytest.mark.parametrize("estimator", ["DecisionTree", "RandomForest", "ExtraTrees", "GradientBoosting"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_a_model_is_the_same_with_a_column_of_ids(estimator, class_weight):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 4)), columns=list("abcd"))
    y = (X["a"] + rng.normal(size=300) > 0.8).astype(int)
    options = {"random_state": 0, "class_weight": class_weight}
    options |= {} if estimator == "DecisionTree" else {"n_estimators": 20}
    model = getattr(hb, f"{estimator}Classifier")(**options)
    ids = [f"row {i}" for i in range(300)]
    with_ids = model.fit(X[:200].assign(id=ids[:200]), y[:200]).predict_proba(X[200:].assign(id=ids[200:]))
    assert np.array_equal(with_ids, model.fit(X[:200], y[:200]).predict_proba(X[200:]))


@pytest.mark.parametrize("seed", range(20))
def test_thresholds_on_means_become_sets_of_categories(seed):
    """Leaves found by the statistics of the categories are those that the restored trees find."""
    rng = np.random.default_rng(seed)
    n, n_levels = 300, int(rng.integers(31, 80))
    levels = rng.integers(0, n_levels, n)
    city = np.where(rng.random(n) < 0.1, None, np.char.add("c", levels.astype(str)).astype(object))
    X = pd.DataFrame({"a": rng.normal(size=n), "city": city, "few": rng.choice(["p", "q", "r"], n)})
    y = rng.normal(size=n_levels)[levels] + X["a"] + (X["few"] == "q")
    table = read_table(X)
    means = CategoryMeans.of(
        table,
        RegressionTarget(y.to_numpy()[:, None], is_multi_output=False),
        None,
        columns_of_many(table),
        key=seed,
    )
    grown = pd.DataFrame({c.name: c.values for c in means.table.columns if c.kind == "numeric"})
    grown.insert(1, "few", X["few"])
    member = hb.DecisionTreeRegressor(max_leaf_nodes=12, categorical_split="subset").fit(grown, y)
    restored = means.restored(member._model.trees[0])
    codes = np.where(table.columns[1].values < 0, len(table.columns[1].categories), table.columns[1].values)
    numbers = grown.copy()
    for name, statistic in zip(grown.columns[2:], means.statistics, strict=True):
        numbers[name] = statistic.of_categories[codes]
    model = hb.DecisionTreeRegressor().fit(X.assign(city="x"), y)  # any model of these columns
    model._model = type(model._model)((restored,), table.schema)
    assert np.array_equal(model.apply(X), member.apply(numbers))


def scores(X, y, n_training, **options):
    model = hb.GradientBoostingRegressor(random_state=0, **options).fit(X[:n_training], y[:n_training])
    return np.mean((model.predict(X[n_training:]) - y[n_training:]) ** 2) / np.var(y[n_training:])


@pytest.mark.parametrize("n_estimators", ["auto", 100])
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_ids_do_no_harm(n_estimators):
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.normal(size=(1000, 4)), columns=list("abcd"))
        y = X["a"] + np.sin(2 * X["b"]) + 0.5 * rng.normal(size=1000)
        with_ids = X.assign(
            id=[f"row {i}" for i in range(1000)], name=[f"n{i % 400}" for i in rng.permutation(1000)]
        )
        ratios.append(
            scores(with_ids, y, 500, n_estimators=n_estimators) / scores(X, y, 500, n_estimators=n_estimators)
        )
    assert np.mean(ratios) < 1.05


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_ten_thousand_categories_help():
    rng = np.random.default_rng(0)
    n, n_levels = 60_000, 10_000
    levels = rng.integers(0, n_levels, n)
    X = pd.DataFrame({"a": rng.normal(size=n), "city": np.char.add("c", levels.astype(str)).astype(object)})
    y = X["a"] + rng.normal(size=n_levels)[levels] + 0.5 * rng.normal(size=n)
    options = {"n_estimators": 60}
    error = scores(X, y, 50_000, **options)
    # Without the column 1.25 of the variance of 2.25 stay; the best that means of five rows can do is 0.33.
    assert scores(X[["a"]], y, 50_000, **options) == pytest.approx(1.25 / 2.25, abs=0.03)
    assert error < 0.55 / 2.25


@pytest.mark.parametrize(("n_levels", "as_means"), [(30, False), (31, True)])
def test_both_sides_of_the_limit(n_levels, as_means):
    rng = np.random.default_rng(0)
    levels = np.tile(np.arange(n_levels), 12)
    X = pd.DataFrame({"city": np.char.add("c", levels.astype(str)).astype(object)})
    y = rng.normal(size=n_levels)[levels] + rng.normal(size=len(levels))
    auto, sets = (
        hb.GradientBoostingRegressor(100, categorical_split=split, random_state=0).fit(X, y).predict(X)
        for split in ("auto", "subset")
    )
    assert np.array_equal(auto, sets) != as_means


def test_categories_never_seen_go_where_the_mean_goes():
    rng = np.random.default_rng(0)
    levels = np.repeat(np.arange(50), 20)
    effect = np.where(np.arange(50) < 45, 0.0, 10.0)  # few categories are far from the others
    X = pd.DataFrame({"city": np.char.add("c", levels.astype(str)).astype(object)})
    y = effect[levels] + 0.1 * rng.normal(size=len(levels))
    model = hb.GradientBoostingRegressor(100, learning_rate=0.3, random_state=0).fit(X, y)
    with pytest.warns(UnseenCategoryWarning):
        (answer,) = model.predict(pd.DataFrame({"city": ["nowhere"]}))
    assert abs(answer - y.mean()) < 3


def test_files_and_explanations_know_nothing_of_the_means(tmp_path):
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 60, 600)
    X = pd.DataFrame({"city": np.char.add("c", levels.astype(str)).astype(object), "a": rng.normal(size=600)})
    y = rng.normal(size=60)[levels] + X["a"]
    model = hb.GradientBoostingRegressor(random_state=0).fit(X, y)
    hb.save(model, tmp_path / "model.hornbeam")
    assert np.array_equal(hb.load(tmp_path / "model.hornbeam").predict(X), model.predict(X))
    parts = model.contributions(X.head())
    assert np.asarray(parts).shape == (5, 2)
    assert np.asarray(parts).sum(axis=1) + parts.base_values == pytest.approx(model.predict(X.head()))
    assert model.n_features_in_ == 2
    assert model.feature_importances_.shape == (2,)


def test_classes_have_a_mean_each():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 40, 1200)
    X = pd.DataFrame({"city": np.char.add("c", levels.astype(str)).astype(object)})
    y = np.array(list("abcd"))[(levels % 4 + (rng.random(1200) < 0.2)) % 4]
    model = hb.GradientBoostingClassifier(random_state=0).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > 0.7


def test_constraints_and_interactions_follow_the_columns():
    rng = np.random.default_rng(0)
    levels = rng.integers(0, 40, 800)
    X = pd.DataFrame(
        {
            "city": np.char.add("c", levels.astype(str)).astype(object),
            "a": rng.normal(size=800),
            "b": rng.normal(size=800),
        }
    )
    y = X["a"] + rng.normal(size=40)[levels] * X["b"]
    model = hb.GradientBoostingRegressor(
        100, monotonic_cst={"a": 1}, interaction_cst=[["city", "b"], ["a"]], random_state=0
    ).fit(X, y)
    grid = pd.concat([X.head(1)] * 50).assign(a=np.linspace(-3, 3, 50))
    assert (np.diff(model.predict(grid)) >= -1e-12).all()
    for tree in model._model.trees:
        tested = set(tree.feature[tree.feature >= 0].tolist())
        assert tested <= {0, 2} or tested <= {1}


LEARNERS = {
    "tree": lambda split: hb.DecisionTreeRegressor(max_depth=6, categorical_split=split),
    "forest": lambda split: hb.RandomForestRegressor(30, categorical_split=split, random_state=0),
    "extra trees": lambda split: hb.ExtraTreesRegressor(30, categorical_split=split, random_state=0),
    "bag": lambda split: hb.BaggingRegressor(
        hb.DecisionTreeRegressor(categorical_split=split), 20, random_state=0
    ),
    "adaboost": lambda split: hb.AdaBoostRegressor(
        hb.DecisionTreeRegressor(max_depth=5, categorical_split=split), 20, random_state=0
    ),
}


@pytest.mark.parametrize("kind", LEARNERS)
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
def test_ids_do_no_harm_to_any_learner(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(800, 3)), columns=list("abc"))
    y = (X["a"] + np.sin(2 * X["b"]) + 0.3 * rng.normal(size=800)).to_numpy()
    with_ids = X.assign(id=[f"row {i}" for i in range(800)])

    def error(table, split):
        model = LEARNERS[kind](split).fit(table[:500], y[:500])
        return np.mean((model.predict(table[500:]) - y[500:]) ** 2)

    assert error(with_ids, "auto") < 1.1 * error(X, "auto")
    if kind != "extra trees":  # which draw their sets
        assert error(with_ids, "subset") > 1.2 * error(X, "auto")


@pytest.mark.parametrize("kind", LEARNERS)
def test_few_categories_are_sets_as_before(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300), "city": [f"c{i % 30}" for i in range(300)]})
    y = X["a"].to_numpy() + rng.normal(size=30)[np.arange(300) % 30]
    auto, subset = (LEARNERS[kind](split).fit(X, y).predict(X) for split in ("auto", "subset"))
    assert np.array_equal(auto, subset)


def test_gaps_by_another_policy_keep_sets():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": [f"c{i % 50}" for i in range(400)]})
    y = rng.normal(size=50)[np.arange(400) % 50]
    for missing in ("surrogate", "fractional", "majority"):
        auto, subset = (
            hb.DecisionTreeRegressor(missing=missing, categorical_split=split).fit(X, y).predict(X)
            for split in ("auto", "subset")
        )
        assert np.array_equal(auto, subset)


def test_several_outputs_single_categories_out():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"city": [f"c{i % 50}" for i in range(400)]})
    y = rng.normal(size=(50, 2))[np.arange(400) % 50]
    auto, single = (
        hb.DecisionTreeRegressor(categorical_split=split).fit(X, y).predict(X)
        for split in ("auto", "one_vs_rest")
    )
    assert np.array_equal(auto, single)


def test_means_of_targets_near_the_largest_number_are_those_of_near_ones():
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, 40, 300)
    y = np.round(np.sin(kinds) + rng.normal(size=300) / 9, 3) / 1.5
    X = pd.DataFrame({"name": [f"n{kind}" for kind in kinds]})
    for weights in (None, rng.random(300) * 1e300):
        model = hb.DecisionTreeRegressor(max_depth=3)
        near = model.fit(X, y, weights).predict(X)
        far = model.fit(X, np.ldexp(y, 1023), weights).predict(X)
        assert len(np.unique(near)) > 4
        np.testing.assert_array_equal(far, np.ldexp(near, 1023))


@pytest.mark.parametrize("factor", [0.0, 1e-200])
def test_class_weights_that_leave_no_row_are_refused_before_means_are_made(factor):
    X = pd.DataFrame({"name": [f"n{row % 40}" for row in range(80)]})
    model = hb.DecisionTreeClassifier(class_weight={0: factor, 1: factor})
    with pytest.raises(ValueError, match="class_weight leaves no row with a weight above 0"):
        model.fit(X, [0, 1] * 40, np.linspace(1, 2, 80) * 1e-200)
