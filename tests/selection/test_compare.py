"""Comparisons: the folds of scikit-learn, honest searches, right error bars, words that say what is so."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, cross_val_score

import hornbeam as hb
from hornbeam.data.task import task_of
from hornbeam.selection import ahead
from hornbeam.selection.family import NAMES
from hornbeam.selection.score_errors import Scores
from selection.comparing import quick

# --- Folds and scores --------------------------------------------------------------------------------------


def test_folds_and_scores_are_those_of_scikit_learn(iris):
    X, y = iris
    own = LogisticRegression(max_iter=500)
    found = quick(X, y, add={"own": own}, cv=4, random_state=7)
    folds = StratifiedKFold(4, shuffle=True, random_state=7)
    for (fit, judge), (sk_fit, sk_judge) in zip(found.splits, folds.split(X, y), strict=True):
        np.testing.assert_array_equal(fit, sk_fit)
        np.testing.assert_array_equal(judge, sk_judge)
    names = [entry.name for entry in found.entries]
    for name, estimator in (("own", own), ("tree", hb.DecisionTreeClassifier(random_state=7))):
        scores = cross_val_score(estimator, X, y, cv=folds)
        np.testing.assert_allclose(found.scores.per_fold[names.index(name), 0], scores, rtol=1e-12)


@pytest.mark.parametrize("cv", [KFold(3), [(np.arange(50, 150), np.arange(50))]])
def test_a_splitter_and_splits_are_taken_as_they_are(cv, iris):
    found = quick(*iris, cv=cv)
    expected = list(cv.split(iris[0])) if hasattr(cv, "split") else cv
    assert [judge.tolist() for _, judge in found.splits] == [judge.tolist() for _, judge in expected]


def test_groups_stay_together(iris):
    X, y = iris
    groups = np.arange(150) // 5
    found = quick(X, y, groups=groups, cv=3, search=True, methods=["neighbors"])
    expected = [judge.tolist() for _, judge in GroupKFold(3).split(X, y, groups)]
    assert [judge.tolist() for _, judge in found.splits] == expected


def test_the_frame_has_a_line_per_method_and_the_improvement_over_the_baseline(iris):
    found = quick(*iris, methods=["tree", "linear"])
    frame = found.frame.set_index("method")
    assert set(frame.index) == {"baseline", "tree", "linear"}
    assert frame["accuracy"].is_monotonic_decreasing
    base = frame.loc["baseline", "accuracy"]
    assert base == pytest.approx(1 / 3) and frame.loc["baseline", "improvement"] == 0
    expected = (frame.loc["tree", "accuracy"] - base) / (1 - base)
    assert frame.loc["tree", "improvement"] == pytest.approx(expected)
    assert (frame["bytes"] > 0).all() and (frame["fit seconds"] > 0).all()
    assert found.best_name == frame.index[0]


def test_the_whole_family_takes_part_in_both_tasks(iris):
    X, y = iris
    stacks = [] if hasattr(hb, "StackingClassifier") else ["stacking"]
    for target in (y, X.iloc[:, 3].to_numpy() + 1e-3):
        found = hb.compare(X.iloc[:, :3], target, cv=2, search=False, random_state=0, n_bootstrap=10)
        assert set(found.names) == set(NAMES) - set(stacks)
        assert not found.failures
        assert len(found.best_.predict(X.iloc[:4, :3])) == 4


def test_the_same_seed_gives_the_same_result(iris):
    one, other = (
        quick(*iris, methods=["forest", "neighbors"], search=True, random_state=3) for _ in range(2)
    )
    np.testing.assert_array_equal(one.scores.on_samples, other.scores.on_samples)
    np.testing.assert_array_equal(one.best_.predict(iris[0]), other.best_.predict(iris[0]))


# --- Error bars --------------------------------------------------------------------------------------------


def test_the_spread_over_folds_is_the_standard_error_of_a_mean():
    scores = Scores(np.array([[[0.7, 0.8, 0.9]], [[0.6, 0.6, 0.9]]]), np.zeros((2, 1, 5)))
    assert scores.spread_over_folds[0, 0] == pytest.approx(0.1 / np.sqrt(3))
    difference, error = scores.difference(0, 1)
    assert difference == pytest.approx(0.1)
    assert error == pytest.approx(np.std([0.1, 0.2, 0.0], ddof=1) / np.sqrt(3))


def test_the_bootstrap_over_rows_finds_the_binomial_standard_error():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 1)), rng.integers(0, 2, 400)

    def says_one(X, y):
        return lambda rows: np.ones(len(rows), dtype=int)

    found = quick(X, y, methods=[], add={"one": says_one}, n_bootstrap=3000, cv=2)
    record = next(record for record in found.records if record["method"] == "one")
    share = y.mean()
    assert record["accuracy"] == pytest.approx(share)
    assert record["accuracy se rows"] == pytest.approx(np.sqrt(share * (1 - share) / 400), rel=0.06)


def test_members_are_judged_on_the_same_draws(iris):
    found = quick(*iris, add={"twin": hb.DecisionTreeClassifier(random_state=0)})
    names = [entry.name for entry in found.entries]
    assert found.scores.difference(names.index("tree"), names.index("twin")) == (0.0, 0.0)
    assert found.scores.spread_over_rows[names.index("tree"), 0] > 0


def test_single_rows_as_folds_are_drawn_from_together(iris):
    X, y = iris
    some = slice(90, 110)
    found = quick(X.iloc[some, :1], y[some], cv=20)
    assert 0 < found.records[0]["accuracy"] < 1
    assert found.records[0]["accuracy se rows"] > 0


# --- Searches ----------------------------------------------------------------------------------------------


def test_a_search_never_sees_the_rows_of_the_judge(iris):
    X, y = (part.copy() for part in iris)
    options = {"methods": ["neighbors", "extra-trees"], "search": True, "cv": 2, "inner_cv": 2}
    honest = quick(X, y, **options)
    assert any(entry.searched for entry in honest.entries)
    judged = honest.splits[0][1]
    X.iloc[judged] = X.iloc[judged].to_numpy()[::-1]
    y.iloc[judged] = 2 - y.iloc[judged].to_numpy()[::-1]
    twisted = quick(X, y, **{**options, "cv": list(honest.splits)})
    for one, other in zip(honest.entries, twisted.entries, strict=True):
        assert repr(one.settings[0]) == repr(other.settings[0])
    assert not np.array_equal(honest.scores.per_fold[1], twisted.scores.per_fold[1])


def test_rows_inside_a_search_are_training_rows_of_its_fold(iris, monkeypatch):
    seen = []
    original = ahead.run_trial

    def spy(candidate, fold, **options):
        seen.append((set(fold.fit_rows), set(fold.judge_rows)))
        return original(candidate, fold, **options)

    monkeypatch.setattr(ahead, "run_trial", spy)
    found = quick(*iris, methods=["neighbors"], search=True, cv=3, inner_cv=2)
    outer = [(set(fit), set(judge)) for fit, judge in found.splits]
    inner = [pair for pair in seen if pair not in outer]
    assert len(inner) == 3 * 2 * 8  # folds, folds inside, settings
    for fit, judge in inner:
        assert any(fit | judge == outside and not fit & judge for outside, _ in outer)


def test_a_search_takes_what_is_better_inside_and_refits_what_most_folds_chose():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(240, 1))
    y = (X[:, 0] > 0.5) ^ (rng.random(240) < 0.3)  # noisy: one neighbour is the worst choice
    found = quick(X, y.astype(int), methods=["neighbors"], search=True, cv=3)
    entry = next(entry for entry in found.entries if entry.name == "neighbors")
    assert entry.searched and all(settings["n_neighbors"] > 5 for settings in entry.settings)
    assert found.best_.n_neighbors == entry.usual_settings["n_neighbors"]


# --- Words -------------------------------------------------------------------------------------------------


def test_the_verdict_says_when_the_relation_is_linear():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = X @ [3.0, -2.0, 1.0] + 0.3 * rng.normal(size=300)
    found = quick(X, y, methods=["linear", "tree", "forest"])
    assert found.best_name == "linear"
    assert "The relation looks linear" in found.verdict
    without = quick(X, y, methods=["linear", "tree"], add={"broken": lambda X, y: 1 / 0})
    assert "looks linear" not in without.verdict
    assert (
        "No method in the ranking does better than the linear model; those left out might." in without.verdict
    )


def test_the_verdict_says_when_the_linear_model_is_enough_or_far_behind():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 2))
    close = quick(X, (X[:, 0] > 0).astype(int), methods=["linear", "tree"])
    assert close.best_name == "tree" and "The linear model is enough" in close.verdict
    checkers = quick(X, ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int), methods=["linear", "tree"])
    assert "the relation is not linear" in checkers.verdict
    assert "No other method comes within noise of it." in checkers.verdict


def test_the_verdict_says_when_nothing_is_better_than_guessing():
    rng = np.random.default_rng(3)
    found = quick(rng.normal(size=(120, 3)), rng.integers(0, 2, 120), methods=["tree", "linear"])
    assert "no better than the baseline beyond noise" in found.verdict


def test_the_verdict_recommends_the_simplest_of_equals(iris):
    found = quick(*iris, methods=["pruned-tree", "forest", "bagging"])
    assert "Within noise of it" in found.verdict
    assert found.best_name == "pruned-tree" or "The simplest of these is pruned-tree." in found.verdict


def test_hostile_names_stay_text(iris):
    name = "[bold]x\x1b[31m"
    shown = str(quick(*iris, add={name: hb.DecisionTreeClassifier(max_depth=1)}))
    assert "[bold]x\\x1b[31m" in shown and "\x1b" not in shown


# --- What goes wrong ---------------------------------------------------------------------------------------


def test_members_that_fail_are_named_and_the_others_stay(iris):
    class Stops(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            raise RuntimeError("out of\nluck")

    add = {
        "stops": Stops(),
        "short": lambda X, y: lambda rows: [0],
        "nan": lambda X, y: lambda rows: np.full((len(rows), 3), np.nan),
    }
    found = quick(*iris, add=add)
    assert set(found.names) == {"baseline", "tree"}
    assert found.failures["stops"] == "RuntimeError in fold 1: out of luck"
    assert "1 answers for 30 rows" in found.failures["short"]
    assert "not finite" in found.failures["nan"]
    assert "stops: RuntimeError in fold 1: out of luck" in str(found)


def test_a_member_that_takes_the_data_as_they_were_given(iris):
    kinds = []

    def own(X, y):
        kinds.append(type(X))
        return hb.DecisionTreeClassifier(random_state=0).fit(X, y)

    found = quick(*iris, add={"own": own})
    assert set(kinds) == {pd.DataFrame}
    values = {record["method"]: record["accuracy"] for record in found.records}
    assert values["own"] == values["tree"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": ["forrest"]}, "Did you mean 'forest'"),
        ({"methods": "tree"}, "takes a list"),
        ({"add": {"tree": hb.DecisionTreeClassifier()}}, "is a method of its own"),
        ({"add": {"x": hb.DecisionTreeClassifier}}, "must be an estimator or a function"),
        ({"cv": 1}, "from 2 to the 150 row"),
        ({"cv": "many"}, "cv must be"),
        ({"time_budget": 0}, "time_budget"),
        ({"n_bootstrap": 1}, "n_bootstrap"),
        ({"cv": [(np.arange(3), np.arange(0))]}, "fold 1 has 3 row"),
        ({"cv": [(np.arange(3), np.array([150]))]}, "cv names row 150"),
    ],
)
def test_what_cannot_be_compared_is_refused(options, words, iris):
    with pytest.raises((ValueError, TypeError), match=words):
        quick(*iris, **options)


# --- Tables ------------------------------------------------------------------------------------------------


def wild_table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "gaps": np.where(rng.random(90) < 0.3, np.nan, rng.normal(size=90)),
            "colour": rng.choice(["red", "green", None], 90),
            "flag": rng.random(90) < 0.5,
        }
    )
    return frame, np.where(frame["colour"] == "red", "yes", "no")


@pytest.mark.parametrize(
    "make", [lambda frame: frame, pl.from_pandas, lambda frame: pl.from_pandas(frame).to_arrow()]
)
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.HornbeamWarning")
def test_any_table_will_do(make):
    frame, y = wild_table()
    found = quick(make(frame), y, methods=["linear", "tree", "neighbors", "boosting"], cv=3)
    assert not found.failures
    values = {record["method"]: record["accuracy"] for record in found.records}
    assert values["tree"] == values["linear"] == 1.0


def test_arrays_lists_and_sparse_matrices_will_do(iris):
    X, y = iris
    expected = quick(X.to_numpy(), y, methods=["tree", "linear"]).scores.per_fold
    for table in (X.to_numpy().tolist(), sparse.csr_array(X.to_numpy()), sparse.coo_array(X.to_numpy())):
        np.testing.assert_allclose(quick(table, y, methods=["tree", "linear"]).scores.per_fold, expected)


def test_a_class_that_a_fold_lacks_costs_no_more_than_its_rows():
    X = np.arange(40.0).reshape(-1, 1)
    y = np.array(["a", "b"] * 19 + ["c", "a"])
    found = quick(X, y, methods=["tree", "linear"], cv=3)
    assert not found.failures and np.isfinite(found.scores.per_fold).all()


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([1, 2, 3], "classification"),
        ([1.0, 2.0], "classification"),
        ([1.5, 2.0], "regression"),
        (range(21), "regression"),
        (pd.Series([*range(30)], dtype="Int64"), "regression"),
        (pd.Series([0, 1], dtype="boolean"), "classification"),
        (pd.Series(["a", "b"], dtype="category"), "classification"),
    ],
)
def test_the_target_decides_the_task(y, task):
    assert task_of(y) == task


# --- The rest ----------------------------------------------------------------------------------------------


def test_the_picture_shows_every_method(iris):
    found = quick(*iris, methods=["tree", "linear"])
    ax = found.plot()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(found.names)[::-1]
    assert ax.get_xlabel() == "accuracy"


def test_warnings_of_members_are_kept_and_not_raised(iris):
    found = quick(*iris, methods=[], add={"hasty": LogisticRegression(max_iter=2)})
    assert "failed to converge" in found.warnings["hasty"][0]


def test_an_encoded_table_is_for_methods_that_learn_from_bins(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9, (300, 3)), columns=["a", "b", "c"])
    frame["label"] = np.where(frame["a"] + rng.normal(size=300) > 4, "yes", "no")
    encoded = hb.EncodedTable.make(frame, tmp_path / "codes", target="label")
    options = {
        "methods": ["tree", "extra-trees"],
        "cv": 3,
        "search": False,
        "random_state": 0,
        "n_bootstrap": 20,
    }
    found = hb.compare(encoded, **options)
    wanted = hb.compare(
        frame.drop(columns="label"),
        frame["label"],
        **{**options, "methods": []},
        add={
            "t": hb.DecisionTreeClassifier(max_bins=255),
            "e": hb.ExtraTreesClassifier(max_bins=255),
        },
    )
    np.testing.assert_array_equal(found.scores.values, wanted.scores.values)
    assert set(found.names) == {"baseline", "tree", "extra-trees"} and not found.failures
    assert "linear" not in hb.compare(encoded, **{**options, "methods": None}).names
    with pytest.raises(ValueError, match="'linear' and 'stacking' cannot learn from an EncodedTable"):
        hb.compare(encoded, methods=["linear", "stacking"])
