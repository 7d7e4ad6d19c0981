"""Stacking beside scikit-learn's; what members have seen when they answer; parts by row; the edges."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.ensemble
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hornbeam
import hornbeam as hb
from estimators.stacked_members import classifiers, regressors
from hornbeam.threads import resolve_n_jobs, share_of_threads

# ------------------------------------------------------------------------------------------------------------
# Beside scikit-learn


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("stack_method", ["auto", "predict"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_level_is_scikit_learns(iris, passthrough, stack_method, n_classes):
    X, y = iris[0][iris[1] < n_classes], iris[1][iris[1] < n_classes]
    final = LogisticRegression(max_iter=1000)
    options = {"cv": 4, "passthrough": passthrough, "stack_method": stack_method, "final_estimator": final}
    ours = hb.StackingClassifier([classifiers()], **options).fit(X, y)
    theirs = sklearn.ensemble.StackingClassifier(classifiers(), **options).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.get_feature_names_out().shape == (ours.transform(X).shape[1],)


def test_numbers_are_scikit_learns(diabetes):
    X, y = diabetes
    ours = hb.StackingRegressor([regressors()]).fit(X, y)
    theirs = sklearn.ensemble.StackingRegressor(regressors()).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
    assert isinstance(ours.final_estimator_, RidgeCV)


def test_two_levels_are_nested_stacks_with_the_same_folds(iris, diabetes):
    X, y = iris
    folds = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, y))
    second = [("forest", hb.RandomForestClassifier(5, random_state=0)), ("line", LogisticRegression())]
    ours = hb.StackingClassifier([classifiers(), second], cv=folds).fit(X, y)
    final = LogisticRegression(max_iter=1000)
    inner = sklearn.ensemble.StackingClassifier(second, cv=folds, final_estimator=final)
    outer = sklearn.ensemble.StackingClassifier(classifiers(), cv=folds, final_estimator=inner).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), outer.predict_proba(X), atol=1e-12)
    X, y = diabetes
    second = [("tree2", hb.DecisionTreeRegressor(max_depth=2)), ("line2", LinearRegression())]
    ours = hb.StackingRegressor([regressors(), second], cv=KFold(4)).fit(X, y)
    inner = sklearn.ensemble.StackingRegressor(second, cv=KFold(4))
    outer = sklearn.ensemble.StackingRegressor(regressors(), cv=KFold(4), final_estimator=inner).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), outer.predict(X))


def test_labels_are_kept_as_they_are(iris):
    X, y = iris[0], np.array(["setosa", "versicolor", "virginica"], dtype=object)[iris[1]]
    model = hb.StackingClassifier([classifiers()]).fit(X, y)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.named_estimators_.knn.classes_.tolist() == model.classes_.tolist()
    assert set(model.predict(X)) <= set(y)
    assert model.oof_predictions_.columns[:3].tolist() == ["knn_setosa", "knn_versicolor", "knn_virginica"]


# ------------------------------------------------------------------------------------------------------------
# Nobody answers a row whose label it has seen


class Memory(ClassifierMixin, BaseEstimator):
    """Knows the label of every row it was fitted on, and nothing about others."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.seen_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.seen_.get(row.tobytes(), self.classes_[0]) for row in np.asarray(X)])


class RowNumbers(RegressorMixin, BaseEstimator):
    """Answers with the rows it was fitted on, as bits; rows are told apart by their first column."""

    def fit(self, X, y):
        self.bits_ = float(sum(2 ** int(value) for value in np.asarray(X)[:, 0]))
        return self

    def predict(self, X):
        return np.full(len(X), self.bits_)


def test_a_memory_stays_at_chance_out_of_fold():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    levels = [[("memory", Memory())], [("memory2", Memory())]]
    model = hb.StackingClassifier(levels, cv=5, passthrough=True).fit(X, y)
    # It answers the first class for every row it does not know; that it knows none shows in the column.
    assert (model.oof_predictions_["memory"] == 0).all()
    assert model.member_scores_["memory"] == pytest.approx(np.mean(y == 0))
    assert model.score(X, y) < 0.65


@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=0), "holdout"])
def test_answers_come_from_members_that_have_not_seen_the_row(cv):
    X = np.arange(24.0).reshape(-1, 1)
    model = hb.StackingRegressor([[("rows", RowNumbers())]], cv=cv, random_state=0).fit(X, X[:, 0])
    answers = model.oof_predictions_["rows"]
    for row, bits in enumerate(answers):
        assert np.isnan(bits) or not int(bits) >> row & 1
    assert cv == "holdout" or not answers.isna().any()


def test_holdout_uses_disjoint_parts_and_does_not_refit():
    X = np.arange(40.0).reshape(-1, 1)

    class Second(RowNumbers):
        """Rows of the second level are told apart by what is passed through."""

        def fit(self, X, y):
            return super().fit(np.asarray(X)[:, -1:], y)

    class Final(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.rows_ = np.asarray(X)[:, -1].astype(int).tolist()
            self.mean_ = float(np.mean(y))
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    def bits(number):
        return {row for row in range(40) if int(number) >> row & 1}

    model = hb.StackingRegressor(
        [[("first", RowNumbers())], [("second", Second())]],
        final_estimator=Final(),
        cv="holdout",
        holdout_fractions=[0.5, 0.25, 0.25],
        passthrough=True,
        random_state=3,
    ).fit(X, X[:, 0])
    first = bits(model.named_estimators_.first.bits_)
    second = bits(model.named_estimators_.second.bits_)
    last = set(model.final_estimator_.rows_)
    assert [len(first), len(second), len(last)] == [20, 10, 10]
    assert first | second | last == set(range(40))
    unknown = model.oof_predictions_.isna()
    assert set(np.flatnonzero(unknown["first"])) == first
    assert set(np.flatnonzero(unknown["second"])) == first | second
    again = clone(model).fit(X, X[:, 0])
    assert bits(again.named_estimators_.first.bits_) == first


def test_holdout_keeps_classes_in_proportion_and_groups_together():
    y = np.repeat([0, 1], [90, 30])
    X = np.arange(120.0).reshape(-1, 1)
    model = hb.StackingClassifier([[("memory", Memory())]], cv="holdout", random_state=0).fit(X, y)
    seen = model.oof_predictions_["memory"].isna()
    assert (seen & (y == 1)).sum() == 15
    assert (seen & (y == 0)).sum() == 45
    groups = np.arange(120) // 10
    model.fit(X, y, groups=groups)
    seen = model.oof_predictions_["memory"].isna()
    assert all(seen[groups == group].nunique() == 1 for group in range(12))


def test_groups_reach_the_splitter():
    X = np.arange(30.0).reshape(-1, 1)
    groups = np.arange(30) // 5
    model = hb.StackingRegressor([[("rows", RowNumbers())]], cv=GroupKFold(3)).fit(X, X[:, 0], groups=groups)
    for row, bits in enumerate(model.oof_predictions_["rows"]):
        seen = {int(groups[other]) for other in range(30) if int(bits) >> other & 1}
        assert groups[row] not in seen


# ------------------------------------------------------------------------------------------------------------
# Looking inside


def test_what_members_said_and_how_good_it_was(iris, diabetes):
    X, y = iris
    model = hb.StackingClassifier([classifiers()], cv=3).fit(X, y)
    table = model.oof_predictions_
    assert table.shape == (150, 12)
    shares = np.empty((150, 3))
    for train, test in StratifiedKFold(3).split(X, y):
        shares[test] = hb.KNeighborsClassifier().fit(X[train], y[train]).predict_proba(X[test])
    np.testing.assert_array_equal(table[["knn_0", "knn_1", "knn_2"]], shares)
    assert model.member_scores_["knn"] == np.mean(shares.argmax(axis=1) == y)
    correlation = model.member_correlation_
    assert (correlation.index == ["knn", "logistic", "svm", "tree"]).all()
    np.testing.assert_allclose(correlation, correlation.T)
    assert correlation.loc["knn", "logistic"] > 0.8
    X, y = diabetes
    model = hb.StackingRegressor([regressors()], cv=3).fit(X, y)
    table = model.oof_predictions_
    np.testing.assert_allclose(model.member_correlation_, np.corrcoef(table.to_numpy().T))
    residual = np.sum((y - table["line"]) ** 2) / np.sum((y - y.mean()) ** 2)
    assert model.member_scores_["line"] == pytest.approx(1 - residual)


def test_columns_have_names(iris):
    frame = load_iris(as_frame=True).data
    levels = [[("knn", hb.KNeighborsClassifier()), ("vote", hb.DecisionTreeClassifier())]]
    model = hb.StackingClassifier(levels, passthrough=True).fit(frame, iris[1])
    names = ["knn_0", "knn_1", "knn_2", "vote_0", "vote_1", "vote_2", *frame.columns]
    assert model.get_feature_names_out().tolist() == names
    assert model.set_output(transform="pandas").transform(frame).columns.tolist() == names
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])
    two = hb.StackingClassifier(levels).fit(frame, iris[1] > 0)
    assert two.get_feature_names_out().tolist() == ["knn", "vote"]
    assert two.set_output(transform="pandas").transform(frame).columns.tolist() == ["knn", "vote"]


def test_mixed_frames_pass_through_to_members_that_take_them():
    frame = pd.DataFrame({"size": np.arange(60.0), "colour": pd.Categorical(["red", "blue", "green"] * 20)})
    y = (frame["colour"] == "red").to_numpy() ^ (frame["size"] > 30).to_numpy()
    levels = [[("tree", hb.DecisionTreeClassifier())], [("forest", hb.RandomForestClassifier(5))]]
    final = hb.DecisionTreeClassifier()
    model = hb.StackingClassifier(levels, passthrough=True, final_estimator=final, random_state=0).fit(
        frame, y
    )
    assert model.score(frame, y) > 0.8
    assert model.final_estimator_.feature_names_in_.tolist() == ["forest", "size", "colour"]


def test_sparse_tables(iris):
    X, y = iris
    levels = [[("knn", hb.KNeighborsClassifier()), ("line", LogisticRegression(max_iter=1000))]]
    for passthrough in (False, True):
        model = hb.StackingClassifier(levels, passthrough=passthrough)
        dense = model.fit(X, y).predict_proba(X)
        thin = clone(model).fit(sparse.csr_matrix(X), y).predict_proba(sparse.csc_matrix(X))
        np.testing.assert_allclose(thin, dense, atol=0.01)  # its solver stops elsewhere


# ------------------------------------------------------------------------------------------------------------
# Parameters


def test_members_are_parameters_whatever_level_they_are_on(iris):
    model = hb.StackingClassifier([classifiers(), [("last", hb.DecisionTreeClassifier())]])
    model.set_params(
        knn__n_neighbors=3, last__max_depth=1, svm="drop", final_estimator=hb.KNeighborsClassifier()
    )
    assert model.levels[0][0][1].n_neighbors == 3
    assert model.get_params()["last__max_depth"] == 1
    model.set_params(final_estimator__n_neighbors=2, tree=hb.DecisionTreeClassifier(max_depth=1))
    copied = clone(model)
    assert copied.get_params()["tree__max_depth"] == 1
    fitted = copied.fit(*iris)
    assert list(fitted.named_estimators_) == ["knn", "logistic", "tree", "last"]
    assert fitted.named_estimators_.knn.n_neighbors == 3
    assert fitted.final_estimator_.n_neighbors == 2
    with pytest.raises(ValueError, match="no parameter 'knm'"):
        model.set_params(knm__n_neighbors=3)


def test_a_neural_network_on_top_and_members_in_pipelines(iris):
    X, y = iris
    scaled = make_pipeline(StandardScaler(), SVC(probability=False))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        network = MLPClassifier((5,), solver="lbfgs", random_state=0)
        model = hb.StackingClassifier([[("svm", scaled), *classifiers()[:1]]], final_estimator=network).fit(
            X, y
        )
    assert model.stack_method_ == {"svm": "decision_function", "knn": "predict_proba"}
    assert model.score(X, y) > 0.5


def test_members_that_are_fitted_already(iris):
    X, y = iris
    members = [(name, member.fit(X[::2], y[::2])) for name, member in classifiers()]
    model = hb.StackingClassifier([members], cv="prefit").fit(X[1::2], y[1::2])
    assert model.named_estimators_.knn is members[0][1]
    theirs = sklearn.ensemble.StackingClassifier(
        members, cv="prefit", final_estimator=LogisticRegression(max_iter=1000)
    ).fit(X[1::2], y[1::2])
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(X))
    with pytest.raises(AttributeError, match="prefit"):
        _ = model.oof_predictions_
    with pytest.raises(sklearn.exceptions.NotFittedError):
        hb.StackingClassifier([classifiers()], cv="prefit").fit(X, y)


def test_a_seed_reaches_everything_random(iris):
    X, y = iris
    levels = [[("forest", hb.RandomForestClassifier(3)), ("extra", hb.ExtraTreesClassifier(3))]]
    one, two = (hb.StackingClassifier(levels, random_state=1).fit(X, y).transform(X) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    other = hb.StackingClassifier(levels, random_state=2).fit(X, y).transform(X)
    assert (other != one).any()
    assert levels[0][0][1].random_state is None


def test_a_seed_reaches_the_final_estimator(iris):
    X, y = iris
    final = hb.ExtraTreesClassifier(2, max_depth=3)
    levels = [[("tree", hb.DecisionTreeClassifier(max_depth=2))]]
    said = [
        hb.StackingClassifier(levels, final_estimator=final, passthrough=True, random_state=seed)
        .fit(X, y)
        .predict_proba(X)
        for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(said[0], said[1])
    assert (said[0] != said[2]).any()
    assert final.random_state is None


def test_the_number_of_threads_changes_nothing(iris):
    X, y = iris
    levels = [[*classifiers(), ("forest", hb.RandomForestClassifier(5))]]
    one = hb.StackingClassifier(levels, random_state=0, n_jobs=1).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hb.warnings.ThreadsWarning)
        two = hb.StackingClassifier(levels, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    np.testing.assert_array_equal(one.oof_predictions_, two.oof_predictions_)


def test_members_share_the_threads():
    with share_of_threads(1):
        assert resolve_n_jobs(-1) == 1
        with share_of_threads(8):
            assert resolve_n_jobs(None) == 1
    assert resolve_n_jobs(1) == 1


# ------------------------------------------------------------------------------------------------------------
# Weights


def test_weights_reach_members_and_the_final_estimator(diabetes):
    X, y = diabetes
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y))
    ours = hb.StackingRegressor([regressors()[1:]]).fit(X, y, sample_weight=weights)
    theirs = sklearn.ensemble.StackingRegressor(regressors()[1:]).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))


def test_rows_without_weight_are_not_there(iris):
    X, y = iris
    weights = np.tile([1.0, 0.0], 75)
    alone = hb.StackingClassifier([classifiers()]).fit(X[::2], y[::2])
    some = hb.StackingClassifier([classifiers()]).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(some.predict_proba(X), alone.predict_proba(X))
    np.testing.assert_array_equal(some.oof_predictions_[::2], alone.oof_predictions_)
    assert some.oof_predictions_[1::2].isna().all(axis=None)
    # Splits that are given number the rows of X.
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2)), (np.arange(1, 150, 2), np.arange(0, 150, 2))]
    by_thirds = np.arange(150) % 3 > 0
    model = hb.StackingClassifier([classifiers()], cv=folds).fit(X, y, sample_weight=by_thirds)
    assert model.oof_predictions_.notna().all(axis=1).sum() == 100


def test_members_without_weights_are_named(iris):
    X, y = iris
    levels = [[("knn", sklearn.neighbors.KNeighborsClassifier())]]
    with pytest.raises(ValueError, match=r"'knn', a KNeighborsClassifier, takes none.*metadata_routing"):
        hb.StackingClassifier(levels).fit(X, y, sample_weight=np.arange(1.0, 151.0))
    hb.StackingClassifier(levels).fit(X, y, sample_weight=np.ones(150))  # which are no weights


def test_metadata_is_routed(iris):
    X, y = iris
    weights, groups = np.linspace(0.5, 2, 150), np.arange(150) % 10
    with sklearn.config_context(enable_metadata_routing=True):
        line = LogisticRegression(max_iter=1000)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), line.set_fit_request(sample_weight=True)
        )
        levels = [[("line", pipeline), ("knn", sklearn.neighbors.KNeighborsClassifier())]]
        final = LogisticRegression(max_iter=1000).set_fit_request(sample_weight=False)
        model = hb.StackingClassifier(levels, final_estimator=final, cv=GroupKFold(5))
        model.fit(X, y, sample_weight=weights, groups=groups)
    expected = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    expected.fit(X, y, logisticregression__sample_weight=weights)
    np.testing.assert_allclose(model.named_estimators_.line.predict_proba(X), expected.predict_proba(X))


# ------------------------------------------------------------------------------------------------------------
# One reading for all members


@pytest.mark.parametrize("cv", [3, "holdout"])
def test_members_that_share_their_rows_are_those_of_copies(cv, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=90), "colour": rng.choice(["red", "blue"], 90)})
    y = ((frame["size"] > 0) ^ (frame["colour"] == "red")).to_numpy()
    members = [
        ("tree", hb.DecisionTreeClassifier(max_depth=3)),
        ("forest", hb.RandomForestClassifier(3)),
        ("boosting", hb.GradientBoostingClassifier(n_estimators=3)),
        ("ada", hb.AdaBoostClassifier(n_estimators=3)),
        ("bag", hb.BaggingClassifier(n_estimators=2)),
        ("knn", hb.KNeighborsClassifier(metric="gower")),
    ]
    stack = hb.StackingClassifier([members], cv=cv, random_state=0, n_jobs=1)
    encoded = []
    ranked = []
    monkeypatch.setattr(hornbeam.data.encode, "_encode", counted(hornbeam.data.encode._encode, encoded))
    monkeypatch.setattr(
        hornbeam.data.shared, "_rank_numbers", counted(hornbeam.data.shared._rank_numbers, ranked)
    )
    shared = stack.fit(frame, y)
    n_shared = len(encoded)
    assert len(ranked) == 1  # numbers are sorted once for all folds
    monkeypatch.setattr(hornbeam.estimators.stacking.stack, "shares_reading", lambda estimator: False)
    alone = clone(stack).fit(frame, y)
    # Trees, forest, AdaBoost and bag have exact codes, boosting has bins: two encodings in place of five.
    n_fits = 4 if cv == 3 else 1
    assert (n_shared, len(encoded) - n_shared) == (2 * n_fits, 5 * n_fits)
    assert shared.oof_predictions_.equals(alone.oof_predictions_)
    np.testing.assert_array_equal(shared.predict_proba(frame), alone.predict_proba(frame))


def counted(function, calls):
    def wrapper(*args, **kwargs):
        calls.append(args)
        return function(*args, **kwargs)

    return wrapper
