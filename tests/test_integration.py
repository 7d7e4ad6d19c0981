"""Our estimators inside the tools people use them with: one test for each tool."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from core.growing import same_bits
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import BaggingClassifier, VotingRegressor
from sklearn.feature_selection import SelectFromModel
from sklearn.impute import SimpleImputer
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.metrics import accuracy_score, balanced_accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import hornbeam as hb

Rows = tuple[pd.DataFrame, pd.Series]


@pytest.fixture(scope="module")
def cancer() -> Rows:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :10], y


@pytest.fixture(scope="module")
def diabetes() -> Rows:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return X, y


@pytest.fixture
def axes_only() -> Iterator[None]:
    """Draw into memory, and leave no figure open."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    matplotlib.pyplot.close("all")


# ------------------------------------------------------------------------------------------------------------
# Pipelines and searches


def test_a_pipeline_passes_names_and_weights_through(cancer):
    X, y = cancer
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), list(X.columns[:4])), ("filled", SimpleImputer(), list(X.columns[4:]))]
    )
    pipeline = Pipeline([("columns", columns), ("tree", hb.DecisionTreeClassifier(max_depth=3))])
    pipeline.set_output(transform="pandas")  # transformers upstream hand on frames; a predictor has no output
    weights = np.where(y == 1, 2.0, 1.0)
    pipeline.fit(X, y, tree__sample_weight=weights)
    names = pipeline["columns"].get_feature_names_out().tolist()
    assert pipeline["tree"].feature_names_in_.tolist() == names
    direct = hb.DecisionTreeClassifier(max_depth=3).fit(pipeline["columns"].transform(X), y, weights)
    assert (pipeline.predict_proba(X) == direct.predict_proba(pipeline["columns"].transform(X))).all()


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.ThreadsWarning")
def test_grid_search_in_two_processes_finds_what_one_finds(cancer):
    X, y = cancer
    grid = {
        "tree__max_depth": [1, 3],
        "tree__criterion": ["gini", "entropy"],
        "tree__min_samples_leaf": [1, 10],
    }
    pipeline = Pipeline([("scale", StandardScaler()), ("tree", hb.DecisionTreeClassifier(random_state=0))])
    alone, together = (GridSearchCV(pipeline, grid, cv=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(
        together.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
    )
    assert together.best_params_ == alone.best_params_
    assert together.best_score_ > 0.88
    assert together.best_estimator_["tree"].get_depth() <= together.best_params_["tree__max_depth"]


@pytest.fixture
def metadata_routing() -> Iterator[None]:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_cross_validation_routes_sample_weights_to_fit_and_score(cancer, metadata_routing):
    """Rows of weight 0 must not matter: neither in the training folds nor in the scores."""
    X, y = cancer
    rng = np.random.default_rng(0)
    weights = (rng.random(len(y)) < 0.7).astype(float)
    spoiled = np.where(weights == 0, 1 - y, y)  # nonsense, but without weight
    folds = [(np.arange(len(y)) % 3 != k, np.arange(len(y)) % 3 == k) for k in range(3)]
    model = hb.DecisionTreeClassifier(max_depth=4).set_fit_request(sample_weight=True)
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    scores = cross_val_score(
        model,
        X,
        spoiled,
        cv=[(np.flatnonzero(train), np.flatnonzero(test)) for train, test in folds],
        scoring=scorer,
        params={"sample_weight": weights},
    )
    for score, (train, test) in zip(scores, folds, strict=True):
        kept, asked = train & (weights > 0), test & (weights > 0)
        expected = hb.DecisionTreeClassifier(max_depth=4).fit(X[kept], y[kept]).score(X[asked], y[asked])
        assert score == pytest.approx(expected)


def test_cross_validation_by_name_of_scorer(diabetes):
    X, y = diabetes
    model = hb.DecisionTreeRegressor(max_depth=3, random_state=0)
    results = cross_validate(
        model, X, y, cv=3, scoring=["r2", "neg_mean_absolute_error"], return_train_score=True
    )
    assert (results["train_r2"] > results["test_r2"]).all()
    assert cross_val_predict(model, X, y, cv=3).shape == y.shape
    fitted = model.fit(X, y)
    assert get_scorer("r2")(fitted, X, y) == fitted.score(X, y)


def test_a_clone_is_unfitted_and_has_the_same_parameters(cancer):
    model = hb.DecisionTreeClassifier(max_depth=2, class_weight={0: 1, 1: 2}).fit(*cancer)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert not hasattr(other, "classes_")


# ------------------------------------------------------------------------------------------------------------
# Meta-estimators


def test_select_from_model_keeps_the_features_that_matter():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=list("abcdef"))
    y = (X["b"] + X["e"] > 0).astype(int)
    selector = SelectFromModel(hb.DecisionTreeClassifier(max_depth=4), threshold="mean").fit(X, y)
    assert selector.get_feature_names_out().tolist() == ["b", "e"]
    assert selector.transform(X).shape == (300, 2)
    assert selector.estimator_.feature_importances_.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_probabilities_are_probabilities(cancer, method):
    X, y = cancer
    base = hb.DecisionTreeClassifier(min_samples_leaf=10)
    calibrated = CalibratedClassifierCV(base, method=method, cv=3).fit(X, y)
    shares = calibrated.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert calibrated.score(X, y) > 0.9


def test_tuned_thresholds(cancer):
    X, y = cancer
    base = hb.DecisionTreeClassifier(max_depth=3, random_state=0)
    tuned = TunedThresholdClassifierCV(base, scoring="balanced_accuracy", cv=3).fit(X, y)
    assert 0 <= tuned.best_threshold_ <= 1
    plain = clone(base).fit(X, y)
    assert (tuned.estimator_.predict_proba(X) == plain.predict_proba(X)).all()
    predicted = (plain.predict_proba(X)[:, 1] >= tuned.best_threshold_).astype(int)
    assert (tuned.predict(X) == predicted).all()
    assert balanced_accuracy_score(y, tuned.predict(X)) > 0.88
    strict = FixedThresholdClassifier(base, threshold=0.99, response_method="predict_proba").fit(X, y)
    assert strict.predict(X).sum() < plain.predict(X).sum()


def test_ensembles_of_scikit_learn_take_our_trees(cancer, diabetes):
    X, y = cancer
    bagged = BaggingClassifier(hb.DecisionTreeClassifier(max_features=3), n_estimators=10, random_state=0)
    assert bagged.fit(X, y).score(X, y) > 0.95
    X, y = diabetes
    trees = [(str(depth), hb.DecisionTreeRegressor(max_depth=depth)) for depth in (2, 3)]
    voting = VotingRegressor(trees).fit(X, y)
    means = np.mean([tree.predict(X) for tree in voting.estimators_], axis=0)
    np.testing.assert_allclose(voting.predict(X), means)


# ------------------------------------------------------------------------------------------------------------
# Inspection


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.ThreadsWarning")
def test_permutation_importance_finds_the_feature_that_matters():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3))
    y = (X[:, 1] > 0).astype(int)
    model = hb.DecisionTreeClassifier().fit(X, y)
    results = [permutation_importance(model, X, y, n_repeats=4, random_state=0, n_jobs=n) for n in (1, 2)]
    assert results[0].importances_mean[1] > 0.3
    assert results[0].importances_mean[[0, 2]].tolist() == [0, 0]
    np.testing.assert_array_equal(results[0].importances, results[1].importances)


@pytest.mark.usefixtures("axes_only")
def test_partial_dependence_is_drawn_and_true(diabetes):
    X, y = diabetes
    model = hb.DecisionTreeRegressor(max_depth=3).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(
        model, X, ["bmi", "s5", ("bmi", "s5")], grid_resolution=8
    )
    assert display.axes_.shape == (1, 3)
    curve = partial_dependence(model, X, ["bmi"], grid_resolution=5, method="brute")
    for value, mean in zip(curve["grid_values"][0], curve["average"][0], strict=True):
        assert mean == pytest.approx(model.predict(X.assign(bmi=value)).mean())


@pytest.mark.usefixtures("axes_only")
def test_partial_dependence_of_classes(cancer):
    X, y = cancer
    model = hb.DecisionTreeClassifier(max_depth=3).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, ["mean radius"], kind="both", subsample=20)
    assert display.axes_.shape == (1, 1)


@pytest.mark.usefixtures("axes_only")
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_decision_boundaries_are_drawn(cancer, method):
    X, y = cancer
    X = X[["mean radius", "mean texture"]]
    model = hb.DecisionTreeClassifier(max_depth=3).fit(X, y)
    display = DecisionBoundaryDisplay.from_estimator(model, X, response_method=method, grid_resolution=20)
    assert display.response.shape == (20, 20)
    corner = pd.DataFrame([[display.xx0[0, 0], display.xx1[0, 0]]], columns=X.columns)
    expected = model.predict(corner)[0] if method == "predict" else model.predict_proba(corner)[0, 1]
    assert display.response[0, 0] == expected


# ------------------------------------------------------------------------------------------------------------
# Copies


def mixed_models() -> list[tuple[Any, pd.DataFrame]]:
    """A classifier and a regressor with everything a tree can hold: numbers, categories, gaps."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"x": rng.normal(size=200), "c": pd.Categorical(rng.choice(list("abc"), 200))})
    X.loc[::7, "x"] = np.nan
    X.loc[::11, "c"] = None
    y = X["x"].fillna(1) + (X["c"] == "b")
    return [
        (hb.DecisionTreeClassifier(max_depth=5).fit(X, np.where(y > 0.5, "high", "low")), X),
        (hb.DecisionTreeRegressor(max_depth=5).fit(X, y), X),
    ]


def assert_same_model(model: Any, other: Any, X: pd.DataFrame) -> None:
    assert same_bits(model.tree_, other.tree_)
    assert (model.predict(X) == other.predict(X)).all()
    assert other.get_params() == model.get_params()
    assert other.feature_names_in_.tolist() == ["x", "c"]
    with pytest.raises(ValueError, match="feature names"):
        other.predict(X[["c", "x"]].set_axis(["q", "r"], axis=1))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle(protocol):
    for model, X in mixed_models():
        assert_same_model(model, pickle.loads(pickle.dumps(model, protocol=protocol)), X)


def test_deepcopy():
    for model, X in mixed_models():
        other = copy.deepcopy(model)
        assert_same_model(model, other, X)
        other.fit(X[:50], X["x"][:50] > 0)
        assert not same_bits(model.tree_, other.tree_)


@pytest.mark.parametrize("compress", [0, 3])
def test_joblib_dump_and_load(tmp_path, compress):
    for model, X in mixed_models():
        joblib.dump(model, tmp_path / "model.joblib", compress=compress)
        assert_same_model(model, joblib.load(tmp_path / "model.joblib"), X)


def fit_and_predict(model: Any, X: pd.DataFrame, y: pd.Series) -> np.ndarray:
    return np.asarray(model.fit(X, y).predict(X))


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.ThreadsWarning")
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_parallel(diabetes, backend):
    X, y = diabetes
    models = [hb.DecisionTreeRegressor(max_depth=depth) for depth in (2, 4, 6, 8)]
    alone = [fit_and_predict(clone(model), X, y) for model in models]
    parallel = joblib.Parallel(n_jobs=2, backend=backend)
    together = parallel(joblib.delayed(fit_and_predict)(clone(model), X, y) for model in models)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
    fitted = [model.fit(X, y) for model in models]
    predicted = parallel(joblib.delayed(model.predict)(X) for model in fitted)
    for one, other in zip(alone, predicted, strict=True):
        np.testing.assert_array_equal(one, other)


# ------------------------------------------------------------------------------------------------------------
# SHAP


def shap_tree(tree: Any, values: np.ndarray) -> dict[str, np.ndarray]:
    """Our arrays under the names that `shap.TreeExplainer` reads from a dict."""
    left, right = tree.children_left, tree.children_right
    return {
        "children_left": left,
        "children_right": right,
        "children_default": np.where(tree.missing_branch == 0, left, right),
        "features": tree.feature,
        "thresholds": tree.threshold,
        "values": values,
        "node_sample_weight": tree.weighted_n_node_samples,
    }


@pytest.mark.filterwarnings("ignore")  # what shap and numba warn of is not ours to judge
@pytest.mark.parametrize("gaps", [False, True])
def test_shap_values_from_our_arrays_sum_to_the_prediction(cancer, diabetes, gaps):
    shap = pytest.importorskip("shap")
    regressor, classifier = hb.DecisionTreeRegressor(max_depth=5), hb.DecisionTreeClassifier(max_depth=4)
    for model, (full, y) in ((regressor, diabetes), (classifier, cancer)):
        X = full.mask(np.random.default_rng(4).random(full.shape) < 0.1) if gaps else full
        tree = model.fit(X, y).tree_
        predicted = model.predict(X) if model is regressor else model.predict_proba(X)[:, 1]
        explainer = shap.TreeExplainer({"trees": [shap_tree(tree, values=tree.value[:, :, -1])]})
        shares = explainer.shap_values(X.to_numpy())
        np.testing.assert_allclose(explainer.expected_value + shares.sum(axis=1), predicted, atol=1e-9)
        is_used = np.isin(np.arange(X.shape[1]), tree.feature)
        assert ((shares != 0).any(axis=0) == is_used).all()
