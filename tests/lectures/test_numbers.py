"""The numbers of lectures, in a few lines each; what is expected comes from the notes, or from arithmetic."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import hornbeam as hb
from hornbeam.warnings import RenamedWarning

# --- Crowds ----------------------------------------------------------------------------------------------


def test_a_crowd_of_a_hundred_is_right():
    assert hb.crowd(100, 0.6) == pytest.approx(0.97, abs=0.005)
    assert hb.crowd(1, 0.6) == pytest.approx(0.6)
    assert hb.crowd(3, 0.6) == pytest.approx(0.6**3 + 3 * 0.6**2 * 0.4)
    by_hand = [math.comb(100, k) * 0.6**k * 0.4 ** (100 - k) for k in range(101)]
    assert hb.crowd(100, 0.6) == pytest.approx(sum(by_hand[51:]))
    assert hb.crowd(100, 0.6, ties="half") == pytest.approx(sum(by_hand[51:]) + by_hand[50] / 2)
    assert hb.crowd(2, 0.5, ties="half") == pytest.approx(0.5)
    for n, p in ((0, 0.5), (3, 1.2), (2.5, 0.5)):
        with pytest.raises(ValueError, match="must be"):
            hb.crowd(n, p)


def test_the_variance_of_a_mean_of_correlated_estimates():
    assert hb.variance_of_mean(10, 4.0) == pytest.approx(0.4)
    assert hb.variance_of_mean(10, 4.0, rho=1.0) == pytest.approx(4.0)
    assert hb.variance_of_mean(10, 4.0, rho=0.25) == pytest.approx(1.0 + 0.3)


# --- Impurities ------------------------------------------------------------------------------------------


def test_impurities_of_the_notes():
    assert hb.entropy([5, 1]) == pytest.approx(0.65, abs=0.005)
    assert hb.conditional_entropy([[4, 0], [1, 1]]) == pytest.approx(2 / 6)
    assert hb.information_gain([[4, 0], [1, 1]]) == pytest.approx(0.65 - 0.33, abs=0.01)
    assert hb.split_impurity([[8, 6], [2, 4]], measure="gini") == pytest.approx(0.475, abs=0.002)
    assert hb.split_impurity([[2, 8], [8, 2]], measure="gini") == pytest.approx(0.32)
    assert hb.information_gain([[8, 6], [2, 4]]) == pytest.approx(0.041, abs=0.01)
    assert hb.split_impurity([[8, 2], [1, 4]], measure="misclassification") == pytest.approx(3 / 15)
    assert hb.entropy([1, 1, 1, 1]) == 2.0
    assert hb.entropy([4, 2, 1, 1]) == pytest.approx(1.75)
    assert hb.entropy([1, 1, 1], base=math.e) == pytest.approx(math.log(3))
    assert hb.entropy([1, 0, 0]) == 0.0
    assert hb.gini([2, 4]) == pytest.approx(2 * 1 / 3 * 2 / 3)
    assert hb.misclassification({"cat": 5, "dog": 80, "lion": 15}) == pytest.approx(0.2)


def test_impurities_of_labels():
    table = hb.datasets.restaurant().frame(with_target=True)
    y = table["WillWait"]
    assert hb.entropy(labels=y) == 1.0
    assert hb.conditional_entropy(labels=y, by=table["Patrons"]) == pytest.approx(0.45, abs=0.01)
    assert hb.conditional_entropy(labels=y, by=table["Type"]) == 1.0
    assert hb.information_gain(labels=[0, 1, 1, 0], by=[0, 0, 1, 1]) == 0.0  # XOR
    ratio = hb.information_gain(labels=y, by=table["Patrons"]) / hb.entropy(labels=table["Patrons"])
    assert hb.gain_ratio(labels=y, by=table["Patrons"]) == pytest.approx(ratio)
    # Pearson's by hand: 10 rows each way, expected 5 everywhere, off by 3.
    assert hb.chi_square([[8, 2], [2, 8]]) == pytest.approx(4 * 9 / 5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hb.entropy([1, 2], labels=[1]), "one of the two"),
        (lambda: hb.entropy(["a", "b"]), "labels=y"),
        (lambda: hb.entropy([1, -1]), ">= 0"),
        (lambda: hb.entropy([1, 1], base=1), "above 1"),
        (lambda: hb.information_gain([[1, 2], [3]]), "same classes"),
        (lambda: hb.information_gain(labels=[1, 2, 3], by=[1, 2]), "3 entries, but by has 2"),
        (lambda: hb.split_impurity([[1, 2]], measure="ginni"), "measure must be"),
    ],
)
def test_impurities_say_what_is_wrong(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_split_tables_tell_every_branch():
    table = hb.datasets.restaurant()
    tree = hb.DecisionTreeClassifier(criterion="entropy", categorical_split="multiway", max_depth=1)
    rows = tree.fit(table.frame(), table.y).split_table(table.frame(), table.y)
    by_type = rows[rows["feature"] == "Type"].iloc[0]  # a test that was not chosen
    assert not by_type["chosen"]
    assert by_type["impurities"] == (1.0, 1.0, 1.0, 1.0)
    assert sorted(by_type["rows"]) == [2, 2, 4, 4]
    chosen = rows[rows["chosen"]].iloc[0]
    assert chosen["feature"] == "Patrons"
    assert sorted(chosen["impurities"]) == pytest.approx([0, 0, hb.entropy([2, 4])])


def test_equal_tests_stay_in_the_order_of_the_columns():
    # Three columns that part the rows alike; sums in another order must not put one before another.
    generator = np.random.default_rng(0)
    y = generator.integers(0, 3, 999)
    x = generator.normal(size=999)
    X = pd.DataFrame({"c": x, "b": -x, "a": np.exp(x)})
    tree = hb.DecisionTreeClassifier(criterion="entropy", max_depth=1).fit(X, y)
    assert tree.split_table(X, y, best_per_feature=True)["feature"].tolist() == ["c", "b", "a"]


# --- Training sets ---------------------------------------------------------------------------------------


def tables(n, rows=60, seed=0):
    generator = np.random.default_rng(seed)
    for _ in range(n):
        X = generator.uniform(-2, 2, (rows, 2))
        yield X, X[:, 0] ** 2 + X[:, 1] + generator.normal(size=rows)


def test_forty_trees_on_forty_tables_are_not_correlated():
    X = np.random.default_rng(1).uniform(-2, 2, (50, 2))
    told = hb.ensemble_variance(hb.DecisionTreeRegressor(), tables(80), X, random_state=0)
    assert abs(told.rho) < 0.1
    assert told.measured == pytest.approx(told.variance / 2, rel=0.1)


def test_members_of_a_bag_are_correlated_and_those_of_a_forest_less():
    X = np.random.default_rng(1).uniform(-2, 2, (50, 2))
    bag = hb.BaggingRegressor(n_estimators=10)
    forest = hb.RandomForestRegressor(n_estimators=10, max_features=1)
    of_bag = hb.ensemble_variance(bag, tables(30), X, random_state=0)
    of_forest = hb.ensemble_variance(forest, tables(30), X, random_state=0)
    assert 0.1 < of_forest.rho < of_bag.rho < 0.9
    assert of_bag.predicted == pytest.approx(of_bag.measured)
    assert "rho" in str(of_bag)
    # The parts are those of a plain analysis of variance, here on answers made by hand.
    with pytest.warns(hb_warning("MembersWarning")):
        same = hb.ensemble_variance(hb.BaggingRegressor(bootstrap=False, n_estimators=3), tables(8), X)
    assert same.rho == pytest.approx(1.0)


def test_the_old_name_says_what_it_is_called_now():
    X, y = next(tables(1))
    forest = hb.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    with pytest.warns(RenamedWarning, match=r"member_agreement.*ensemble_variance"):
        assert hb.member_correlation(forest, X) == hb.member_agreement(forest, X)


def test_noise_is_told_apart_from_bias():
    generator = np.random.default_rng(2)
    X = generator.uniform(-2, 2, (4000, 2))
    truth = X[:, 0] ** 2 + X[:, 1]
    y = truth + generator.normal(size=4000)
    stump = hb.DecisionTreeRegressor(max_depth=1)
    told = hb.bias_variance(stump, tables=tables(30), X_test=X, y_test=y, truth=truth, random_state=0)
    assert told.noise == pytest.approx(1.0, abs=0.08)
    assert told.bias > 0.5
    assert told.bias + told.variance + told.noise == pytest.approx(told.error, rel=0.05)
    deep = hb.bias_variance(
        hb.DecisionTreeRegressor(), tables=list(tables(30)), X_test=X, y_test=y, truth=truth
    )
    assert deep.bias < told.bias / 3
    assert deep.variance > 2 * told.variance
    with pytest.raises(ValueError, match="one of the two"):
        hb.bias_variance(stump, X, y, tables=tables(3))
    with pytest.raises(ValueError, match="X_test and y_test"):
        hb.bias_variance(stump, tables=tables(3))


def test_results_print_few_digits():
    X, y = next(tables(1))
    told = hb.bootstrap(np.mean, y, n=50, random_state=0)
    assert max(len(word) for word in str(told).replace("(", " ").replace(",", " ").split()) < 12
    found = str(hb.bias_variance(hb.DecisionTreeRegressor(), X, y, n=5, random_state=0))
    assert all(len(word.strip(":;,)")) < 12 for word in found.split())


# --- Members ---------------------------------------------------------------------------------------------

SAMPLES = ((7, 8, 10, 8, 2, 5, 10, 10, 5, 9), (1, 4, 9, 1, 2, 3, 2, 7, 3, 2), (1, 8, 5, 10, 5, 5, 9, 6, 3, 7))


def test_bags_of_samples_that_are_given(tmp_path):
    X = np.arange(1.0, 11).reshape(-1, 1)
    y = np.array([1, 1, 1, -1, -1, -1, -1, 1, 1, 1])
    samples = [np.array(sample) - 1 for sample in SAMPLES]
    bag = hb.BaggingClassifier(hb.DecisionTreeClassifier(max_depth=1), oob_score=True)
    with pytest.warns(hb_warning("OutOfBagWarning")):
        bag.fit(X, y, samples=samples)
    assert [sorted((rows + 1).tolist()) for rows in bag.estimators_samples_] == [sorted(s) for s in SAMPLES]
    for member, rows in zip(bag.estimators_, samples, strict=True):
        alone = hb.DecisionTreeClassifier(max_depth=1).fit(X[rows], y[rows])
        np.testing.assert_array_equal(member.predict(X), alone.predict(X))
    # Row 4 is left out by the first and third sample, 6 by the first two; row 5 is in two of them.
    left_out = {4: (0, 2), 6: (0, 1), 5: (1,)}
    for row, members in left_out.items():
        shares = np.mean([bag.estimators_[m].predict_proba(X[[row - 1]])[0] for m in members], axis=0)
        np.testing.assert_allclose(bag.oob_decision_function_[row - 1], shares)
    hb.save(bag, tmp_path / "bag.hornbeam")
    again = hb.load(tmp_path / "bag.hornbeam")
    np.testing.assert_array_equal(again.predict(X), bag.predict(X))
    assert [rows.tolist() for rows in again.estimators_samples_] == [
        rows.tolist() for rows in bag.estimators_samples_
    ]
    with pytest.raises(ValueError, match="was given its own"):
        clone(bag).set_params(oob_score=False).fit(X, y, samples=samples).set_params(warm_start=True).fit(
            X, y
        )
    with pytest.raises(ValueError, match=r"samples\[1\] has row 10; rows of X are numbered from 0 to 9"):
        bag.fit(X, y, samples=[[0, 1], [10]])


def hb_warning(name):
    return getattr(__import__("hornbeam.warnings", fromlist=[name]), name)


MODELS = {
    "forest": hb.RandomForestClassifier(n_estimators=12, random_state=0, keep="in_bag"),
    "regressor": hb.RandomForestRegressor(n_estimators=12, random_state=0),
    "extra": hb.ExtraTreesClassifier(n_estimators=12, random_state=0),
    "bag": hb.BaggingClassifier(n_estimators=12, random_state=0),
    "bag of others": hb.BaggingClassifier(LogisticRegression(), n_estimators=12, random_state=0),
    "adaboost": hb.AdaBoostClassifier(n_estimators=12, keep_weights=True),
    "adaboost of numbers": hb.AdaBoostRegressor(n_estimators=12),
    "boosting": hb.GradientBoostingClassifier(n_estimators=12, random_state=0),
    "boosted numbers": hb.GradientBoostingRegressor(n_estimators=12, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_after_its_first_rounds(name, tmp_path):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(150, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int) + (X[:, 2] > 1)
    y = X[:, 0] + X[:, 1] ** 2 if name == "adaboost of numbers" else y
    model = clone(MODELS[name]).fit(X, y)
    part = model.first(5)
    shorter = clone(model).set_params(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(part.predict(X), shorter.predict(X))
    if hasattr(model, "predict_proba"):
        np.testing.assert_array_equal(part.predict_proba(X), shorter.predict_proba(X))
    assert len(part.estimators_) == len(shorter.estimators_) == 5
    assert len(model.estimators_) == 12 and part.n_estimators == 5 and not hasattr(part, "in_bag_")
    if name not in ("bag of others", "adaboost of numbers"):
        assert part.explain(X[0]).text == shorter.explain(X[0]).text
    if name != "bag of others":
        hb.save(part, tmp_path / "part.hornbeam")
        np.testing.assert_array_equal(hb.load(tmp_path / "part.hornbeam").predict(X), part.predict(X))
    with pytest.raises(ValueError, match=r"first\(13\): the model has 12"):
        model.first(13)
    with pytest.raises(TypeError, match="whole number"):
        model.first(2.5)


def test_the_first_rounds_of_boosting_that_finds_its_own_length(tmp_path):
    X, y = next(tables(1, rows=200))
    model = hb.GradientBoostingRegressor(random_state=0).fit(X, y)
    part = model.first(7)
    np.testing.assert_array_equal(part.predict(X), list(model.staged_predict(X))[6])
    assert part.n_iter_ == 7 and len(part.validation_score_) == 7
    hb.save(part, tmp_path / "part.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "part.hornbeam").predict(X), part.predict(X))


def test_adaboost_in_the_form_without_norm():
    table = hb.datasets.ten_points()
    model = hb.AdaBoostClassifier(n_estimators=3).fit(table.X, table.y)
    told = model.round_by_round(table.X, table.y, normalised=False)
    # alpha = ln((1 - err) / err); the weights of mistakes are multiplied by (1 - err) / err, others stay.
    np.testing.assert_allclose(told.errors, [0.3, 3 / 14, 3 / 22])
    np.testing.assert_allclose(told.alpha, np.log([7 / 3, 11 / 3, 19 / 3]))
    weights = np.ones(10)
    for wrong, error, kept in zip(told.wrong, told.errors, told.weights, strict=False):
        np.testing.assert_allclose(kept, weights)
        assert wrong.sum() == 3
        weights = np.where(wrong, weights * (1 - error) / error, weights)
    np.testing.assert_allclose(told.weights[-1], weights)  # after the last round
    assert told.weights.shape == (4, 10)
    # The same, with norm: sums of 1, and half of it on what the last member got wrong.
    normed = model.round_by_round(table.X, table.y)
    np.testing.assert_allclose(normed.weights, told.weights / told.weights.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(normed.weights[-1][normed.wrong[-1]].sum(), 0.5)
    np.testing.assert_allclose(normed.alpha, model.estimator_weights_)
    np.testing.assert_allclose(normed.training_error, [0.3, 0.3, 0.0])
    # Exponential loss after t rounds is the product of 2 sqrt(err (1 - err)), exactly.
    np.testing.assert_allclose(normed.loss, np.cumprod(2 * np.sqrt(normed.errors * (1 - normed.errors))))
    np.testing.assert_allclose(normed.bound, normed.loss)
    assert (normed.margins[-1] > 0).all() and (normed.margins[0] < 0).sum() == 3


def test_round_by_round_agrees_with_the_weights_that_a_fit_keeps():
    generator = np.random.default_rng(3)
    X = generator.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.7, 0.7])
    given = generator.integers(1, 4, 200).astype(float)
    model = hb.AdaBoostClassifier(
        hb.DecisionTreeClassifier(max_depth=2), n_estimators=15, keep_weights=True
    ).fit(X, y, given)
    told = model.round_by_round(X, y)
    np.testing.assert_allclose(told.weights[:-1], model.sample_weights_, atol=1e-12)
    np.testing.assert_allclose(told.errors, model.estimator_errors_)
    np.testing.assert_allclose(told.training_error, [1 - s for s in model.staged_score(X, y)])


def test_a_line_search_finds_the_factors_of_adaboost_and_of_least_squares():
    table = hb.datasets.ten_points()
    stump = hb.DecisionTreeClassifier(criterion="accuracy", max_depth=1)
    found = hb.boost_by_line_search(stump, table.X, table.y, loss="exponential", n=3)
    np.testing.assert_allclose(found.betas, 0.5 * np.log([7 / 3, 11 / 3, 19 / 3]), rtol=1e-6)
    np.testing.assert_array_equal(found.predict(table.X), table.y)
    X, y = next(tables(1))
    least = hb.boost_by_line_search(hb.DecisionTreeRegressor(max_depth=1), X, y, n=10)
    # A stump fitted to -slope = 2 (y - h) goes the whole way with a factor of 1/2.
    np.testing.assert_allclose(least.betas, 0.5, rtol=1e-6)
    assert np.all(np.diff(least.losses) < 0)
    assert least.losses[-1] == pytest.approx(np.mean((least.predict(X) - y) ** 2))
    assert least.predict(X, rounds=2) == pytest.approx(
        0.5 * (least.members[0].predict(X) + least.members[1].predict(X))
    )
    with pytest.raises(ValueError, match="is for numbers"):
        hb.boost_by_line_search(stump, X, y)


def test_any_learner_is_boosted():
    X, y = next(tables(1))
    of_neighbours = hb.boost_by_line_search(hb.KNeighborsRegressor(n_neighbors=15), X, y > 1, loss="logistic")
    assert np.all(np.diff(of_neighbours.losses) < 0) and (of_neighbours.predict(X) == (y > 1)).mean() > 0.7


# --- Trees -----------------------------------------------------------------------------------------------


def test_what_greedy_growth_misses():
    table = hb.datasets.multiplexer()
    X, y = table.frame(), table.y
    best, greedy = hb.small_tree(X, y), hb.small_tree(X, y, search="greedy")
    assert best.rules(style="formula") and best.get_n_leaves() == 4 and best.score(X, y) == 1
    assert best.tree_.feature[0] == 0  # A, which alone gains nothing
    assert greedy.get_n_leaves() > 4 and greedy.tree_.feature[0] != 0
    forced = hb.small_tree(X, y, first="A", search="greedy")
    assert forced.get_n_leaves() == 4 and forced.score(X, y) == 1
    shallow = hb.small_tree(X, y, max_depth=2, first="B")
    assert shallow.score(X, y) == 0.75  # nothing better begins with B
    assert hb.small_tree(hb.datasets.xor().frame(), hb.datasets.xor().y, max_depth=2).get_n_leaves() == 4


def test_small_trees_take_words_and_numbers_and_are_trees_like_any_other(tmp_path):
    courses = hb.datasets.courses()
    best = hb.small_tree(courses.frame(), courses.y)
    assert best.score(courses.frame(), courses.y) == 0.95  # two rows contradict each other
    cars = hb.datasets.cars()
    tree = hb.small_tree(cars.frame(), cars.y, max_depth=2, first=("weight", 2500.0))
    assert (
        tree.rules().splitlines()[1].startswith("weight <= 2532") and tree.score(cars.frame(), cars.y) > 0.8
    )
    hb.save(tree, tmp_path / "tree.hornbeam")
    same = hb.load(tmp_path / "tree.hornbeam")
    np.testing.assert_array_equal(same.predict(cars.frame()), tree.predict(cars.frame()))
    by_maker = hb.small_tree(cars.frame(), cars.y, max_depth=1, first=("maker", "asia"))
    assert "maker = asia" in by_maker.rules()
    with pytest.raises(ValueError, match="Did you mean 'weight'"):
        hb.small_tree(cars.frame(), cars.y, first="weght")
    X = np.random.default_rng(0).normal(size=(300, 5))
    with pytest.raises(ValueError, match="smaller max_depth"):
        hb.small_tree(X, X[:, 0] > 0, max_depth=3)


def test_optimal_trees_against_all_trees_by_hand():
    # Depth 2 over three binary columns: all 3 x 3 x 3 choices of tests, counted.
    generator = np.random.default_rng(5)
    for _ in range(10):
        X = generator.integers(0, 2, (30, 3)).astype(float)
        y = generator.integers(0, 2, 30)
        least = 30
        for root in range(3):
            errors = 0
            for side in (0, 1):
                rows = X[:, root] == side
                errors += min(
                    sum(min((y[rows & (X[:, f] == v)] == k).sum() for k in (0, 1)) for v in (0, 1))
                    for f in range(3)
                )
            least = min(least, errors)
        found = hb.small_tree(X, y, max_depth=2)
        assert round((1 - found.score(X, y)) * 30) == least


def test_every_node_as_if_it_were_a_leaf():
    generator = np.random.default_rng(4)
    X, X_val = generator.normal(size=(200, 3)), generator.normal(size=(150, 3))
    noise, noise_val = generator.random(200) < 0.2, generator.random(150) < 0.2
    y, y_val = (X[:, 0] > 0) ^ noise, (X_val[:, 0] > 0) ^ noise_val
    tree = hb.DecisionTreeClassifier(max_depth=4).fit(X, y)
    found = tree.pruning_candidates(X_val, y_val)
    assert len(found) == tree.get_n_leaves() - 1
    assert found["error_now"].iloc[0] == pytest.approx(1 - tree.score(X_val, y_val))
    root = found.iloc[0]
    majority = np.mean(y) > 0.5
    assert root["validation_rows"] == 150 and root["error_if_leaf"] == pytest.approx(
        np.mean(y_val != majority)
    )
    # Reduced-error pruning begins with the node of least error.
    log = tree.pruned("reduced_error", X_val=X_val, y_val=y_val).pruning_log_
    assert log["error_after"].iloc[0] == pytest.approx(found["error_if_leaf"].min())
    assert (
        log["node"].iloc[0]
        in found.loc[found["error_if_leaf"] <= found["error_if_leaf"].min() + 1e-12, "node"].tolist()
    )


def test_the_nested_tree_with_so_many_leaves():
    generator = np.random.default_rng(4)
    X = generator.normal(size=(300, 3))
    y = (X[:, 0] > 0) ^ (generator.random(300) < 0.2)
    tree = hb.DecisionTreeClassifier().fit(X, y)
    for leaves in (1, 2, 17, 40):
        nested = tree.pruned(leaves=leaves)
        assert 1 <= nested.get_n_leaves() <= leaves
        assert nested.get_n_leaves() == tree.pruned(leaves=nested.get_n_leaves()).get_n_leaves()
    assert tree.pruned(leaves=1).get_n_leaves() == 1
    sizes = [tree.pruned(leaves=k).get_n_leaves() for k in range(1, tree.get_n_leaves() + 1)]
    assert sizes == sorted(sizes) and sizes[-1] == tree.get_n_leaves()
    with pytest.raises(ValueError, match="leaves must be a whole number"):
        tree.pruned(leaves=0)
    with pytest.raises(ValueError, match="leave ccp_alpha out"):
        tree.pruned(leaves=3, ccp_alpha=0.1)


# --- Neighbours ------------------------------------------------------------------------------------------


def test_the_discriminant_sum_of_neighbours():
    table = hb.datasets.ten_points()
    x = np.array([[4.0, 5.0], [8.0, 2.0]])
    model = hb.KNeighborsClassifier(n_neighbors=None, weights="gaussian", bandwidth=2.0)
    found = model.fit(table.X, table.y).discriminant(x)
    squares = ((x[:, None, :] - table.X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(found, (table.y * np.exp(-squares / (2 * 2.0**2))).sum(axis=1))
    np.testing.assert_array_equal(model.predict(x), np.sign(found))
    nearest = hb.KNeighborsClassifier(n_neighbors=3).fit(table.X, table.y)
    order = np.argsort(squares, axis=1, kind="stable")[:, :3]
    np.testing.assert_allclose(nearest.discriminant(x), table.y[order].sum(axis=1))
    three = hb.KNeighborsClassifier(n_neighbors=4).fit(table.X, np.arange(10) % 3)
    assert three.discriminant(x).shape == (2, 3)
    np.testing.assert_allclose(three.discriminant(x).sum(axis=1), 4)
