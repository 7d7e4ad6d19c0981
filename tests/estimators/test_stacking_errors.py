"""What stacking refuses, and what it says of members that fail."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hornbeam as hb
from estimators.stacked_members import classifiers, regressors
from hornbeam.errors import MemberError

# ------------------------------------------------------------------------------------------------------------
# What goes wrong


class Bad(ClassifierMixin, BaseEstimator):
    """Goes wrong when it was fitted without row 0 (told by its first value), in the way it is told."""

    def __init__(self, way="fit", always=False):
        self.way = way
        self.always = always

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.goes_wrong_ = self.always or not (np.asarray(X)[:, 0] == -99).any()
        if self.way == "fit" and self.goes_wrong_:
            raise OverflowError("too much")
        return self

    def predict_proba(self, X):
        shares = np.full((len(X), len(self.classes_)), 1 / len(self.classes_))
        if self.goes_wrong_:
            if self.way == "nan":
                shares[1, 0] = np.nan
            if self.way == "length":
                return shares[1:]
            if self.way == "columns":
                return shares[:, 1:]
        return shares

    def predict(self, X):
        return np.full(len(X), "unheard of" if self.goes_wrong_ else self.classes_[0])


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ("fit", "too much"),
        ("nan", r"answered \[nan, .* for row 1"),
        ("length", "returned 49 answers for 50 rows"),
        ("columns", "gave 2 columns for 3 classes"),
    ],
)
def test_58_a_member_that_fails_is_named_with_its_fold(iris, way, message):
    X, y = iris[0].copy(), iris[1]
    X[0, 0] = -99  # in the test part of the first fold
    levels = [[("knn", hb.KNeighborsClassifier()), ("bad", Bad(way))]]
    with pytest.raises(
        MemberError, match=f"Member 'bad', a Bad, failed on fold 1 of 3: .*{message}"
    ) as caught:
        hb.StackingClassifier(levels, cv=3).fit(X, y)
    assert (caught.value.member, caught.value.fold) == ("bad", 0)
    # The work of the others is not lost.
    np.testing.assert_array_equal(caught.value.fitted["knn"].predict(X), levels[0][0][1].fit(X, y).predict(X))
    with pytest.raises(MemberError, match="failed on all rows" if way == "fit" else "failed on fold 1"):
        hb.StackingClassifier([[("bad", Bad(way, always=True))]], cv=3).fit(X, y)
    with pytest.raises(MemberError, match="failed on part 1"):
        hb.StackingClassifier([[("bad", Bad(way, always=True))]], cv="holdout").fit(X, y)


def test_58_labels_that_do_not_exist(iris):
    with pytest.raises(MemberError, match=r"predicted .*unheard of.*not a class of y"):
        model = hb.StackingClassifier([[("bad", Bad("labels", always=True))]], stack_method="predict")
        model.fit(iris[0], iris[1].astype(str))


def test_a_final_estimator_that_fails_is_named(iris):
    model = hb.StackingClassifier([classifiers()[:1]], final_estimator=Bad(always=True))
    with pytest.raises(MemberError, match="The final estimator, a Bad, failed to fit: too much") as caught:
        model.fit(*iris)
    assert list(caught.value.fitted) == ["knn"]


class Greedy(ClassifierMixin, BaseEstimator):
    """Wants more memory than there is, as Python says it: without a word."""

    def fit(self, X, y):
        raise MemoryError

    def predict_proba(self, X):
        raise NotImplementedError

    predict = predict_proba


@pytest.mark.parametrize(
    "model",
    [
        hb.StackingClassifier([[("greedy", Greedy())]], cv=2),
        hb.StackingClassifier([classifiers()[:1]], cv=2, final_estimator=Greedy()),
        hb.BlendClassifier([("greedy", Greedy())]),
        hb.BaggingClassifier(Greedy()),
    ],
    ids=["stack", "final estimator", "blend", "bag"],
)
def test_a_member_without_memory_ends_in_a_memory_error(iris, model):
    with pytest.raises(MemoryError, match=r"Greedy, failed.*: MemoryError"):
        model.fit(*iris)


def test_a_failed_fit_leaves_the_model_as_it_was(iris):
    model = hb.StackingClassifier([[("knn", hb.KNeighborsClassifier())]]).fit(*iris)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="knn"):
        model.fit(iris[0] * np.nan, iris[1])
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(iris[0], iris[1][:10])
    assert pickle.dumps(model) == before


def test_a_class_that_a_fold_lacks_has_no_share():
    X = np.arange(20.0).reshape(-1, 1)
    y = np.array([0] * 9 + [1] * 10 + [2])
    folds = KFold(4, shuffle=True, random_state=0)
    model = hb.StackingClassifier([[("tree", hb.DecisionTreeClassifier())]], cv=folds).fit(X, y)
    assert model.oof_predictions_["tree_2"].iloc[19] == 0
    with pytest.raises(MemberError, match="has seen 2 of 3 classes"):
        hb.StackingClassifier([[("svm", SVC())]], cv=folds).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"levels": []}, "There is no level"),
        ({"levels": [[]]}, "Level 1 is empty"),
        ({"levels": [[("a", LogisticRegression())], []]}, "Level 2 is empty"),
        ({"levels": [("a", LogisticRegression())]}, r"write levels=\[\[...\]\]"),
        ({"levels": [[LogisticRegression()]]}, "Level 1 holds LogisticRegression.*not a pair"),
        ({"levels": [[("a", SVC()), ("a", SVC())]]}, "'a' is given twice"),
        ({"levels": [[("a", SVC())], [("a", SVC())]]}, "'a' is given twice"),
        ({"levels": [[("a__b", SVC())]]}, "two underscores"),
        ({"levels": [[("cv", SVC())]]}, "that of a parameter"),
        ({"levels": [[("a", "drop")]]}, "all members of level 1 are dropped"),
        ({"levels": [[("a", "dorp")]]}, "'drop' to leave it out"),
        ({"levels": [[("a", Ridge())]]}, "member 'a' should be a classifier"),
        (
            {"stack_method": "predict_proba", "levels": [[("svm", SVC())]]},
            "has no predict_proba",
        ),
        ({"cv": 1}, "cv must be"),
        ({"cv": "holdouts"}, "Did you mean 'holdout'?"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "cv must test every row once"),
        ({"holdout_fractions": [0.5, 0.5]}, "for cv='holdout'"),
        ({"holdout_fractions": [0.5, 0.2], "cv": "holdout"}, "They sum to 0.7"),
        ({"holdout_fractions": [0.2, 0.3, 0.5], "cv": "holdout"}, "1 level.* need 2"),
        ({"final_estimator": StandardScaler()}, "It has no predict"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_parameters_are_refused_at_fit(iris, parameters, message):
    parameters = {"levels": [[("knn", hb.KNeighborsClassifier())]], **parameters}
    with pytest.raises(ValueError, match=message):
        hb.StackingClassifier(**parameters).fit(*iris)


def test_too_few_rows_for_the_parts():
    with pytest.raises(ValueError, match=r"3 parts of 2 row\(s\)"):
        hb.StackingRegressor(
            [[("a", LinearRegression())], [("b", LinearRegression())]], cv="holdout", random_state=0
        ).fit([[0.0], [1.0]], [0, 1])


def test_regressors_only(diabetes):
    with pytest.raises(ValueError, match="member 'a' should be a regressor"):
        hb.StackingRegressor([[("a", SVC())]]).fit(*diabetes)
    assert not hasattr(hb.StackingRegressor(levels=[regressors()]), "predict_proba")
    with pytest.raises(TypeError, match="stack_method"):
        hb.StackingRegressor([regressors()], stack_method="predict")
    with pytest.raises(TypeError, match="needs 'levels'"):
        hb.StackingRegressor()
