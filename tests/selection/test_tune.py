"""Searches over a grid: GridSearchCV's folds and scores, and the simplest setting within a standard error."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb
from hornbeam.selection.grids import default_grid, simplicity
from hornbeam.warnings import CandidateWarning


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True, as_frame=True)


CASES = [
    (
        hb.DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 3, None], "criterion": ["gini", "entropy"]},
        {},
    ),
    (hb.RandomForestClassifier(n_estimators=4, random_state=0), {"max_features": ["sqrt", 0.4]}, {"cv": 3}),
    (
        hb.GradientBoostingClassifier(n_estimators=5),
        [{"max_leaf_nodes": [3, 8]}, {"learning_rate": [0.5]}],
        {"cv": ShuffleSplit(3, random_state=1), "scoring": "neg_log_loss"},
    ),
    (hb.KNeighborsClassifier(), {"n_neighbors": [1, 9]}, {"cv": 4}),
    (
        make_pipeline(StandardScaler(), LogisticRegression()),
        {"logisticregression__C": [0.1, 1.0]},
        {"scoring": "f1_macro"},
    ),
]


@pytest.mark.parametrize(("estimator", "grid", "options"), CASES, ids=lambda case: type(case).__name__)
def test_results_are_those_of_grid_search_cv(estimator, grid, options, iris):
    found = hb.tune(*iris, estimator, grid, train_scores=True, **options)
    expected = GridSearchCV(estimator, grid, return_train_score=True, **options).fit(*iris)
    assert set(found.cv_results_) == set(expected.cv_results_)
    assert found.cv_results_["params"] == expected.cv_results_["params"]
    for key, values in expected.cv_results_.items():
        if key.endswith("_score"):
            np.testing.assert_array_equal(found.cv_results_[key], values, err_msg=key)
        if key.startswith("param_"):
            np.testing.assert_array_equal(
                np.ma.getmaskarray(found.cv_results_[key]), np.ma.getmaskarray(values)
            )
    assert (found.best_index_, found.best_params_) == (expected.best_index_, expected.best_params_)
    assert found.best_score_ == expected.best_score_
    np.testing.assert_array_equal(found.best_estimator_.predict(iris[0]), expected.predict(iris[0]))


def test_results_of_numbers_are_those_of_grid_search_cv():
    X, y = load_diabetes(return_X_y=True)
    estimator, grid = hb.DecisionTreeRegressor(random_state=0), {"min_samples_leaf": [1, 20]}
    found = hb.tune(X, y, estimator, grid)
    expected = GridSearchCV(estimator, grid).fit(X, y)
    np.testing.assert_array_equal(
        found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )


def test_one_standard_error_takes_the_simplest_close_setting():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    y = (X[:, 0] > 0.5) ^ (rng.random(200) < 0.1)
    grid = {"max_depth": [1, 2, 4, 8]}
    found = hb.tune(X, y, hb.DecisionTreeClassifier(random_state=0), grid, cv=5, choose="one_standard_error")
    means, errors = found.cv_results_["mean_test_score"], found.standard_errors
    scores = [found.cv_results_[f"split{k}_test_score"][found.best_index_] for k in range(5)]
    assert errors[found.best_index_] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))
    close = means >= means[found.best_index_] - errors[found.best_index_]
    assert found.one_standard_error_params_ == {"max_depth": min(np.array([1, 2, 4, 8])[close])}
    assert found.best_estimator_.max_depth == found.one_standard_error_params_["max_depth"]


def test_smaller_trees_larger_leaves_and_more_neighbours_are_simpler():
    assert simplicity([{"max_depth": None}, {"max_depth": 3}, {"max_depth": 9}]) == [2, 0, 1]
    assert simplicity([{"n_neighbors": 1}, {"n_neighbors": None}, {"n_neighbors": 5}]) == [2, 0, 1]
    assert simplicity([{"x__C": 0.1}, {"x__C": 10.0}]) == [0, 1]
    assert simplicity([{"max_features": "sqrt"}, {"max_features": 0.4}]) == [0, 0]
    both = [{"min_samples_leaf": leaf, "max_depth": depth} for leaf in (1, 5) for depth in (2, 4)]
    assert simplicity(both) == [1, 2, 0, 1]


@pytest.mark.parametrize(
    "estimator",
    [
        hb.DecisionTreeClassifier(),
        hb.RandomForestRegressor(),
        hb.ExtraTreesClassifier(),
        hb.BaggingRegressor(),
        hb.AdaBoostClassifier(),
        hb.AdaBoostRegressor(),
        hb.GradientBoostingRegressor(learning_rate=0.3),
        hb.KNeighborsClassifier(),
        LogisticRegression(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_usual_grids_begin_with_what_the_estimator_has(estimator):
    grid = default_grid(estimator)
    own = estimator.get_params(deep=False)
    for name, values in grid.items():
        assert values[0] == own[name] and len(values) > 1
        for value in values:
            type(estimator)(**{name: value}).get_params()


def test_the_usual_grid_is_searched_when_none_is_given(iris):
    found = hb.tune(*iris, hb.KNeighborsClassifier(), cv=2)
    assert len(found.settings) == 8 and found.best_score_ > 0.9
    with pytest.raises(ValueError, match="no usual grid for StandardScaler"):
        default_grid(StandardScaler())


def test_settings_that_fail_are_named_and_the_others_stay(iris):
    with pytest.warns(CandidateWarning, match=r"1 of 2 settings failed, first .*'n_neighbors': 500.*fold 1"):
        found = hb.tune(*iris, hb.KNeighborsClassifier(), {"n_neighbors": [500, 5]}, cv=3)
    assert found.best_params_ == {"n_neighbors": 5} and list(found.errors) == [0]
    with pytest.raises(ValueError, match="1 of 1 settings failed"):
        hb.tune(*iris, hb.KNeighborsClassifier(), {"n_neighbors": [500]})
    with pytest.raises(ValueError, match="choose must be"):
        hb.tune(*iris, hb.KNeighborsClassifier(), {"n_neighbors": [5]}, choose="worst")


def test_the_frame_ranks_the_settings(iris):
    found = hb.tune(*iris, hb.DecisionTreeClassifier(random_state=0), {"max_depth": [1, 4]})
    assert isinstance(found.frame, pd.DataFrame)
    assert found.frame["score"].is_monotonic_decreasing
    assert found.frame["choice"][0].startswith("best") and "max_depth" in str(found)


def test_a_validation_curve_draws_what_was_found(iris):
    grid = {"max_depth": [8, 1, 2], "min_samples_leaf": [1, 30]}
    found = hb.tune(*iris, hb.DecisionTreeClassifier(random_state=0), grid, train_scores=True)
    ax = found.plot("max_depth")
    assert {line.get_label() for line in ax.lines} == {"training rows", "test rows"}
    test = next(line for line in ax.lines if line.get_label() == "test rows")
    assert test.get_xdata().tolist() == [1, 2, 8]
    frame = found.frame.groupby("max_depth")["score"].max()
    np.testing.assert_allclose(test.get_ydata(), frame.loc[[1, 2, 8]])
    with pytest.raises(ValueError, match="param_name must be one of 'max_depth', 'min_samples_leaf'"):
        found.plot()


def test_settings_that_were_judged_in_time_are_compared():
    X, y = load_iris(return_X_y=True)
    tree, grid = hb.DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2, 3, 4]}
    found = hb.tune(X, y, tree, grid, time_budget=1e-9)
    assert found.settings == [{"max_depth": 1}] and found.best_params_ == {"max_depth": 1}
    everything = hb.tune(X, y, tree, grid, time_budget=600)
    expected = hb.tune(X, y, tree, grid)
    np.testing.assert_array_equal(
        everything.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"]
    )
    with pytest.raises(ValueError, match="seconds above 0"):
        hb.tune(X, y, tree, grid, time_budget=0)


def test_an_encoded_table_is_dealt_out_to_folds(tmp_path):
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 20, (600, 3)).astype(
        float
    )  # few values: the bins of all rows are those of each fold
    frame = pd.DataFrame(whole, columns=["a", "b", "c"])
    frame["text"] = rng.choice(["x", "y"], 600)
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 60, 600), unit="D")
    target = frame["a"] + (frame["text"] == "x") * 5 + frame["day"].dt.day % 7 + rng.normal(size=600)
    encoded = hb.EncodedTable.make(frame.assign(target=target), tmp_path / "codes", target="target")
    estimator = hb.GradientBoostingRegressor(n_estimators=5)
    grid = {"max_leaf_nodes": [2, 8]}
    found = hb.tune(encoded, estimator=estimator, grid=grid, cv=3)
    wanted = hb.tune(frame, target, estimator, grid, cv=3)
    for name, scores in wanted.cv_results_.items():
        if name.endswith("_score"):
            np.testing.assert_array_equal(found.cv_results_[name], scores)
    np.testing.assert_array_equal(found.best_estimator_.predict(frame), wanted.best_estimator_.predict(frame))
    with pytest.raises(TypeError, match="holds the codes of bins"):  # whose values are not known any more
        found.best_estimator_.predict(encoded)


def test_tables_need_a_target(tmp_path):
    with pytest.raises(TypeError, match=r"tune\(X, y\)"):
        hb.tune(np.zeros((4, 1)), estimator=hb.DecisionTreeRegressor())
    rows = pd.DataFrame({"a": [1.0, 2.0], "w": [1.0, 2.0], "y": [1.0, 2.0]})
    weighted = hb.EncodedTable.make(rows, tmp_path / "codes", target="y", sample_weight="w")
    with pytest.raises(ValueError, match="encoded with sample_weight, which tune does not take"):
        hb.tune(weighted, estimator=hb.DecisionTreeRegressor(max_bins=255))
