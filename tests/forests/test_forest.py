"""Forests: members are the trees they should be, whatever the threads, and out-of-bag means what it says."""

import copy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from core.growing import same_bits
from model_files import same_trees, trees_of
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_classification, make_friedman1
from sklearn.metrics import log_loss

import hornbeam as hb
from hornbeam.warnings import DataWarning, OutOfBagWarning, WarmStartWarning

CLASSIFIERS = (hb.RandomForestClassifier, hb.ExtraTreesClassifier)
REGRESSORS = (hb.RandomForestRegressor, hb.ExtraTreesRegressor)
FORESTS = CLASSIFIERS + REGRESSORS


def problem(n_rows: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        n_rows, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=seed
    )
    return X.round(2), y


def voters(rate: float, n_voters: int) -> float:
    return float(stats.binom.sf(n_voters // 2, n_voters, rate))


def test_worked_number_8() -> None:
    """100 independent voters, each right with probability 0.6; a tie counts as wrong."""
    assert voters(0.6, 100) == pytest.approx(0.9729, abs=5e-5)
    rng = np.random.default_rng(0)
    votes = rng.random((20_000, 100)) < 0.6
    assert np.mean(votes.sum(axis=1) > 50) == pytest.approx(0.9729, abs=0.005)


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.ThreadsWarning")  # fewer cores than threads
@pytest.mark.parametrize("forest", FORESTS)
def test_the_same_bits_for_any_number_of_threads(forest: Any) -> None:
    X, y = problem()
    models = [forest(5, random_state=3, n_jobs=n).fit(X, y) for n in (1, 2, 4, 8)]
    assert all(same_trees(models[0], other) for other in models[1:])
    assert all(np.array_equal(models[0].predict(X), other.predict(X)) for other in models[1:])


@pytest.mark.parametrize("forest", FORESTS)
def test_warm_start_50_and_50_are_100(forest: Any) -> None:
    X, y = problem()
    options = {"random_state": 3, "bootstrap": True, "oob_score": True}
    at_once = forest(100, **options).fit(X, y)
    in_two = forest(50, warm_start=True, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfBagWarning)
        in_two.fit(X, y)
    in_two.set_params(n_estimators=100).fit(X, y)
    assert same_trees(at_once, in_two)
    assert at_once.oob_score_ == in_two.oob_score_
    assert np.array_equal(at_once.oob_curve_, in_two.oob_curve_)
    with pytest.warns(WarmStartWarning, match="without increasing n_estimators"):
        in_two.fit(X, y)
    assert same_trees(at_once, in_two)


def test_warm_start_refuses_what_does_not_go_together() -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier(4, warm_start=True, random_state=0).fit(X, y)
    before = copy.deepcopy(forest)
    for change, data, message in (
        ({"n_estimators": 3}, (X, y), "larger or equal"),
        ({"n_estimators": "auto"}, (X, y), "use one or the other"),
        ({"n_estimators": 6}, (X[:100], y[:100]), "the last fit, which had 150 rows"),
        ({"n_estimators": 6}, (X[:, :4], y), "columns or classes"),
        ({"n_estimators": 6}, (X, y + 1), "columns or classes"),
    ):
        with pytest.raises(ValueError, match=message):
            forest.set_params(**change).fit(*data)
        assert same_trees(forest, before)


@pytest.mark.parametrize("tree", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_all_features_without_bootstrap_is_the_single_tree(tree: Any) -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier if tree is hb.DecisionTreeClassifier else hb.RandomForestRegressor
    members = forest(3, max_features=None, bootstrap=False, random_state=0).fit(X, y)
    alone = tree().fit(X, y)
    assert all(same_bits(member, alone.tree_) for member in trees_of(members))
    for member in members.estimators_:
        assert type(member) is tree
        assert np.array_equal(member.predict(X), alone.predict(X))


@pytest.mark.parametrize("weighted", [False, True])
def test_members_are_trees_on_their_samples(weighted: bool) -> None:
    """A member equals the single tree fitted with its multiplicities as weights."""
    X, y = problem()
    weights = np.random.default_rng(0).integers(0, 4, len(y)).astype(float) if weighted else None
    forest = hb.RandomForestClassifier(5, max_features=None, random_state=1).fit(X, y, weights)
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        times = np.bincount(sample, minlength=len(y))
        assert times.sum() == (len(y) if weights is None else np.count_nonzero(weights))
        alone = hb.DecisionTreeClassifier().fit(X, y, times if weights is None else times * weights)
        same = ("feature", "threshold", "n_node_samples", "weighted_n_node_samples", "value")
        assert same_bits(member.tree_, alone.tree_, same)


def test_features_of_a_split_are_drawn_uniformly() -> None:
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 1)), 6, axis=1)  # all alike: the lowest of those drawn wins
    y = (X[:, 0] > 0).astype(int)
    forest = hb.RandomForestClassifier(1500, max_features=2, bootstrap=False, random_state=0).fit(X, y)
    roots = np.bincount([tree.feature[0] for tree in trees_of(forest)], minlength=6)
    # The lower of two out of six is j with probability (5 - j) / 15.
    assert roots[5] == 0
    assert stats.chisquare(roots[:5], 1500 * np.arange(5, 0, -1) / 15).pvalue > 0.001


def test_features_once_per_tree() -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier(30, max_features=2, feature_sampling="tree", random_state=0).fit(X, y)
    used = [set(tree.feature[tree.feature >= 0].tolist()) for tree in trees_of(forest)]
    assert all(len(features) <= 2 for features in used)
    assert set.union(*used) == set(range(6))
    assert forest.max_features_ == 2


def test_extra_trees_draw_thresholds_uniform_in_value() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    forest = hb.ExtraTreesRegressor(1000, max_depth=1, random_state=0).fit(X, X[:, 0])
    thresholds = np.array([tree.threshold[0] for tree in trees_of(forest)])
    assert stats.kstest(thresholds / 100, "uniform").pvalue > 0.001


def naive_out_of_bag(forest: Any, X: np.ndarray, hard: bool = False) -> np.ndarray:
    """Ask every member about every row, and average over the members whose sample lacks the row."""
    is_classifier = hasattr(forest, "classes_")
    answers = np.full((len(X), forest.n_classes_ if is_classifier else 1), np.nan)
    for row in range(len(X)):
        said = []
        for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
            if row in sample:
                continue
            if not is_classifier:
                said.append(member.predict(X[[row]]))
            elif hard:
                said.append(forest.classes_ == member.predict(X[[row]])[0])
            else:
                said.append(member.predict_proba(X[[row]])[0])
        if said:
            answers[row] = np.mean(said, axis=0)
        if said and is_classifier and not hard:
            pseudo_votes = forest.smoothing / forest.n_classes_
            answers[row] = (np.sum(said, axis=0) + pseudo_votes) / (len(said) + forest.smoothing)
    return answers


@pytest.mark.parametrize("voting", ["soft", "hard"])
@pytest.mark.parametrize("forest", CLASSIFIERS)
def test_out_of_bag_classes(forest: Any, voting: str) -> None:
    X, y = problem(40)
    model = forest(6, bootstrap=True, voting=voting, oob_score=True, random_state=0)
    with pytest.warns(OutOfBagWarning, match="in the sample of every member"):
        model.fit(X, y)
    expected = naive_out_of_bag(model, X, hard=voting == "hard")
    np.testing.assert_allclose(model.oob_decision_function_, expected, rtol=1e-12)
    known = ~np.isnan(expected[:, 0])
    assert 0 < np.count_nonzero(~known) < len(X)
    accuracy = np.mean(model.classes_[expected[known].argmax(axis=1)] == y[known])
    assert model.oob_score_ == pytest.approx(accuracy)
    assert model.oob_curve_[-1] == pytest.approx(1 - accuracy)
    assert len(model.oob_curve_) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfBagWarning)
        fewer = forest(3, bootstrap=True, voting=voting, oob_score=True, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.oob_curve_[:3], fewer.oob_curve_)


@pytest.mark.parametrize("forest", REGRESSORS)
def test_out_of_bag_numbers(forest: Any) -> None:
    X, y = make_friedman1(60, random_state=0)
    model = forest(40, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    expected = naive_out_of_bag(model, X)[:, 0]
    np.testing.assert_allclose(model.oob_prediction_, expected, rtol=1e-12)
    assert model.oob_curve_[-1] == pytest.approx(np.mean((expected - y) ** 2))
    assert model.oob_score_ == pytest.approx(1 - np.mean((expected - y) ** 2) / np.var(y))


@pytest.mark.parametrize("options", [{"oob_score": True}, {"oob_score": True, "keep": "oob"}], ids=str)
@pytest.mark.parametrize("forest", FORESTS)
def test_members_that_drew_every_row(forest: Any, options: dict[str, Any]) -> None:
    """With three groups two in nine samples have all rows: such members have nothing to say out of bag."""
    X, y = problem(60)
    model = forest(30, bootstrap=True, random_state=0, **options).fit(X, y, groups=np.arange(60) % 3)
    n_distinct = [len(np.unique(sample)) for sample in model.estimators_samples_]
    assert 60 in n_distinct
    assert 20 in n_distinct
    said = getattr(model, "oob_decision_function_", None)
    said = model.oob_prediction_[:, np.newaxis] if said is None else said
    np.testing.assert_allclose(said, naive_out_of_bag(model, X), rtol=1e-12)


def test_three_rows_out_of_bag() -> None:
    """The members of some of these forests have drawn all three rows."""
    X, y = np.ones((3, 3)), np.array([0, 1, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfBagWarning)
        warnings.simplefilter("ignore", DataWarning)  # all columns are constant
        for seed in range(20):
            model = hb.RandomForestClassifier(7, random_state=seed, n_jobs=1, oob_score=True).fit(X, y)
            np.testing.assert_allclose(model.oob_decision_function_, naive_out_of_bag(model, X), rtol=1e-12)


def test_out_of_bag_by_any_metric() -> None:
    X, y = problem()
    options = {"n_estimators": 60, "random_state": 0}
    plain = hb.RandomForestClassifier(oob_score=True, **options).fit(X, y)
    by_name = hb.RandomForestClassifier(oob_score="neg_log_loss", **options).fit(X, y)
    assert by_name.oob_score_ == pytest.approx(-log_loss(y, plain.oob_decision_function_))
    balanced = hb.RandomForestClassifier(oob_score=lambda truth, found: np.mean(truth != found), **options)
    assert balanced.fit(X, y).oob_score_ == pytest.approx(1 - plain.oob_score_)
    numbers = hb.RandomForestRegressor(oob_score="neg_mean_squared_error", **options).fit(X, y)
    assert numbers.oob_score_ == pytest.approx(-numbers.oob_curve_[-1])
    with pytest.raises(ValueError, match="No metric of scikit-learn has that name"):
        hb.RandomForestClassifier(oob_score="acuracy").fit(X, y)


def test_noise_shows_as_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 5)), rng.integers(0, 2, 600)
    forest = hb.RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    assert forest.score(X, y) == 1
    assert abs(forest.oob_score_ - 0.5) < 3.3 * np.sqrt(0.25 / 600)


def test_out_of_bag_respects_groups() -> None:
    """Rows come in copies of eight; only draws of whole groups keep copies out of the bag together."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 8)
    X = rng.normal(size=(60, 4))[groups] + rng.normal(scale=1e-3, size=(480, 4))
    y = rng.integers(0, 2, 60)[groups]
    forest = hb.RandomForestClassifier(80, oob_score=True, random_state=0)
    assert forest.fit(X, y).oob_score_ > 0.9
    assert forest.fit(X, y, groups=groups).oob_score_ < 0.7
    for sample in forest.estimators_samples_:
        times = np.bincount(sample, minlength=480).reshape(60, 8)
        assert np.all(times == times[:, :1])


def test_stratified_samples_have_every_class() -> None:
    X, _ = problem()
    y = np.array(["common"] * 146 + ["rare"] * 4)
    forest = hb.RandomForestClassifier(40, stratify=True, random_state=0).fit(X, y)
    assert all(np.count_nonzero(y[sample] == "rare") == 4 for sample in forest.estimators_samples_)


def test_a_class_absent_from_a_sample() -> None:
    X, _ = problem()
    y = np.zeros(150, dtype=int)
    y[7] = 1
    forest = hb.RandomForestClassifier(20, random_state=0).fit(X, y)
    lacking = [7 not in sample for sample in forest.estimators_samples_]
    assert any(lacking) and not all(lacking)
    for tree, lacks in zip(trees_of(forest), lacking, strict=True):
        assert (tree.value[0, 0, 1] == 0) == lacks
    assert forest.predict_proba(X).shape == (150, 2)


def test_balanced_subsample_balances_each_sample() -> None:
    X, _ = problem()
    y = np.array([0] * 130 + [1] * 20)
    forest = hb.RandomForestClassifier(10, class_weight="balanced_subsample", random_state=0).fit(X, y)
    for tree in trees_of(forest):
        np.testing.assert_allclose(tree.value[0, 0], 0.5, rtol=1e-9)
    overall = hb.RandomForestClassifier(10, class_weight="balanced", random_state=0).fit(X, y)
    assert np.ptp([tree.value[0, 0, 1] for tree in trees_of(overall)]) > 0.05


def test_voting() -> None:
    X, y = problem()
    options = {"n_estimators": 9, "max_depth": 2, "random_state": 0}
    soft = hb.RandomForestClassifier(**options).fit(X, y)
    hard = hb.RandomForestClassifier(voting="hard", **options).fit(X, y)
    shares = np.mean([member.predict_proba(X) for member in soft.estimators_], axis=0)
    np.testing.assert_allclose(soft.set_params(smoothing=0).predict_proba(X), shares, rtol=1e-12)
    votes = np.stack([member.predict(X) for member in hard.estimators_])
    expected = np.stack([(votes == label).mean(axis=0) for label in hard.classes_], axis=1)
    np.testing.assert_allclose(hard.predict_proba(X), expected, rtol=1e-12)
    assert np.array_equal(hard.predict(X), hard.classes_[expected.argmax(axis=1)])


def test_many_outputs() -> None:
    X, y = problem()
    two = np.stack([y, np.where(y > 0, "yes", "no")], axis=1).astype(object)
    two[:, 0] = two[:, 0].astype(str)
    forest = hb.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, two)
    assert [share.shape for share in forest.predict_proba(X)] == [(150, 3), (150, 2)]
    assert [share.shape for share in forest.oob_decision_function_] == [(150, 3), (150, 2)]
    assert forest.predict(X).shape == (150, 2)
    assert np.mean(forest.predict(X) == two) > 0.95
    numbers = hb.RandomForestRegressor(40, oob_score=True, random_state=0).fit(X, X[:, :2])
    assert numbers.oob_prediction_.shape == (150, 2)
    assert numbers.predict(X).shape == (150, 2)


def test_categories_and_gaps() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 300).astype(object)
    size = np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size})
    y = (colour == "red") ^ np.isnan(size)
    forest = hb.RandomForestClassifier(30, oob_score=True, random_state=0).fit(frame, y)
    assert forest.oob_score_ > 0.99


def test_weight_zero_is_not_there() -> None:
    X, y = problem()
    weights = (np.arange(150) % 3 > 0).astype(float)
    some = hb.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y, weights)
    kept = hb.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X[weights > 0], y[weights > 0])
    assert same_trees(some, kept)
    assert some.oob_score_ == kept.oob_score_
    assert np.array_equal(np.isnan(some.oob_decision_function_[:, 0]), weights == 0)
    assert all(np.all(weights[sample] > 0) for sample in some.estimators_samples_)


def test_weights_equal_repeated_rows_on_average() -> None:
    """In place of scikit-learn's check: bootstrap draws differ, what a forest expects to say does not."""
    X, y = make_friedman1(40, random_state=0)
    weights = np.arange(40) % 3 + 1
    query = make_friedman1(1, random_state=1)[0]

    def answers(*data: Any) -> list[float]:
        forest = hb.RandomForestRegressor(300, max_samples=0.5, random_state=0, min_samples_leaf=0.2)
        return [member.predict(query)[0] for member in forest.fit(*data).estimators_]

    weighted = answers(X, y, weights)
    rows = np.repeat(np.arange(40), weights)
    repeated = hb.RandomForestRegressor(300, max_samples=0.25, random_state=0, min_samples_leaf=0.1)
    others = [member.predict(query)[0] for member in repeated.fit(X[rows], y[rows]).estimators_]
    assert abs(np.mean(weighted) - np.mean(others)) < 0.25 * np.std(y)


def test_automatic_number_of_trees() -> None:
    X, y = problem(300)
    forest = hb.RandomForestClassifier("auto", random_state=0).fit(X, y)
    n_trees = len(trees_of(forest))
    assert 100 <= n_trees < 1000
    assert n_trees % 50 == 0
    assert len(forest.oob_curve_) == n_trees
    given = hb.RandomForestClassifier(n_trees, random_state=0).fit(X, y)
    assert same_trees(given, forest)
    assert not hasattr(given, "oob_curve_")


def test_a_fit_that_asks_for_less_leaves_nothing_of_the_one_before() -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier(40, oob_score=True, random_state=0).fit(X, y)
    forest.set_params(oob_score=False).fit(X, y)
    assert not [name for name in vars(forest) if name.startswith("oob_") and name.endswith("_")]


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize(
    "make",
    [hb.RandomForestClassifier, hb.RandomForestRegressor, hb.ExtraTreesClassifier, hb.ExtraTreesRegressor],
)
def test_a_member_fitted_again_on_its_sample_is_the_same_tree(make: Any, bootstrap: bool) -> None:
    """With how often each row was drawn as its weight; repeated rows are the same to leaves of one row."""
    X, y = make_classification(150, 6, n_informative=4, random_state=0)
    limits = {"max_features": 2, "min_samples_leaf": 3, "bootstrap": bootstrap, "random_state": 0}
    forest = make(4, **limits).fit(X, y)
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        again = clone(member).fit(X, y, sample_weight=np.bincount(sample, minlength=len(X)))
        assert np.array_equal(again.tree_.threshold, member.tree_.threshold)
        np.testing.assert_allclose(again.tree_.value, member.tree_.value)
    forest = make(4, **limits | {"min_samples_leaf": 1}).fit(X, y)
    for member, sample in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        again = clone(member).fit(X[sample], y[sample])
        assert np.array_equal(again.tree_.threshold, member.tree_.threshold)
        assert np.array_equal(again.tree_.value, member.tree_.value)


@pytest.mark.parametrize("kind", ["RandomForest", "ExtraTrees"])
def test_what_members_are_copies_of(kind: str) -> None:
    X, y = problem()
    options = {"max_depth": 2, "min_samples_leaf": 3, "bootstrap": True, "random_state": 0}
    forest = getattr(hb, f"{kind}Classifier")(4, class_weight="balanced_subsample", **options).fit(X, y)
    assert (forest.estimator_.max_depth, forest.estimator_.class_weight) == (2, "balanced")
    numbers = getattr(hb, f"{kind}Regressor")(4, **options).fit(X, X[:, 0])
    for fitted, target in ((forest, y), (numbers, X[:, 0])):
        for member, sample in zip(fitted.estimators_, fitted.estimators_samples_, strict=True):
            again = clone(fitted.estimator_).set_params(random_state=member.random_state)
            again.fit(X, target, sample_weight=np.bincount(sample, minlength=len(X)))
            assert np.array_equal(again.tree_.threshold, member.tree_.threshold)
    unfitted = getattr(hb, f"{kind}Classifier")(max_depth=7)
    assert unfitted.estimator.max_depth == 7
    assert not hasattr(unfitted, "estimator_")


@pytest.mark.parametrize("n_rows", [60, 2000])
@pytest.mark.parametrize(
    "make", [hb.RandomForestClassifier, hb.RandomForestRegressor, hb.ExtraTreesClassifier]
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_samples_of_more_rows_than_there_are(make: Any, n_classes: int, n_rows: int, tmp_path: Path) -> None:
    """Also where a row is drawn more often than the 127 times for which fast ways have room."""
    X, y = make_classification(n_rows, 6, n_informative=4, n_classes=n_classes, random_state=0)
    for times in (2, 100):
        n_drawn = times * n_rows
        forest = make(4, max_samples=n_drawn, bootstrap=True, random_state=0).fit(X, y)
        samples = forest.estimators_samples_
        assert [len(sample) for sample in samples] == [n_drawn] * 4
        if times == 100:
            assert max(np.bincount(sample).max() for sample in samples) > 127
        for member, sample in zip(forest.estimators_, samples, strict=True):
            again = clone(member).fit(X, y, sample_weight=np.bincount(sample, minlength=n_rows))
            assert np.array_equal(again.tree_.threshold, member.tree_.threshold)
            np.testing.assert_allclose(again.tree_.value, member.tree_.value)
        hb.save(forest, tmp_path / "model")
        loaded = hb.load(tmp_path / "model").estimators_samples_
        assert all(np.array_equal(one, other) for one, other in zip(samples, loaded, strict=True))


@pytest.mark.parametrize(
    ("options", "fit_options", "message"),
    [
        ({"max_samples": 0}, {}, "max_samples must be"),
        ({"max_samples": 1.5}, {}, "max_samples must be"),
        ({"max_samples": 15_001}, {}, "max_samples is 15001, but there are only 150 rows"),
        ({"max_samples": 151, "bootstrap": False}, {}, "max_samples is 151, but there are only 150 rows"),
        ({"max_features": 7}, {}, "max_features is 7, but X has only 6"),
        ({"max_features": 0.0}, {}, "max_features must be"),
        ({"bootstrap": False, "oob_score": True}, {}, "only available if bootstrap=True"),
        ({"bootstrap": False, "n_estimators": "auto"}, {}, "only available if bootstrap=True"),
        ({"n_estimators": 0}, {}, "n_estimators must be"),
        ({"n_estimators": "many"}, {}, "n_estimators must be"),
        ({"voting": "loud"}, {}, "voting must be"),
        ({}, {"groups": np.zeros(149)}, "groups has 149 entries, but X has 150 rows"),
        ({}, {"groups": np.zeros((150, 2))}, "groups must have one dimension"),
        ({}, {"groups": np.full(150, np.nan)}, "groups contains NaN: row 0"),
        ({"stratify": True}, {"groups": np.zeros(150)}, "of one group and of different classes"),
    ],
)
def test_what_is_refused(options: dict[str, Any], fit_options: dict[str, Any], message: str) -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier(**{"n_estimators": 2, **options})
    with pytest.raises(ValueError, match=message):
        forest.fit(X, y, **fit_options)
    assert not hasattr(forest, "_model")


def test_a_progress_bar_only_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = problem()
    quiet = hb.RandomForestClassifier(6, random_state=0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    loud = hb.RandomForestClassifier(6, random_state=0, verbose=1).fit(X, y)
    assert "6/6" in capsys.readouterr().err
    assert same_trees(quiet, loud)


def test_importances_are_the_mean_over_the_trees() -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier(10, random_state=0).fit(X, y)
    expected = np.mean([member.feature_importances_ for member in forest.estimators_], axis=0)
    np.testing.assert_allclose(forest.feature_importances_, expected)
    assert forest.feature_importances_.sum() == pytest.approx(1)
    lone = hb.RandomForestRegressor(3, max_nodes=1).fit(X, y)
    assert not lone.feature_importances_.any()


def test_leaves_and_paths() -> None:
    X, y = problem()
    forest = hb.RandomForestClassifier(4, random_state=0).fit(X, y)
    leaves = forest.apply(X)
    paths, begins = forest.decision_path(X)
    for number, member in enumerate(forest.estimators_):
        assert np.array_equal(leaves[:, number], member.apply(X))
        alone = paths[:, begins[number] : begins[number + 1]]
        assert (alone != member.decision_path(X)).nnz == 0
