"""scikit-learn's own checks on every public estimator."""

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import hornbeam as hb

FEW = {"n_estimators": 5}
ESTIMATORS = [
    hb.DecisionTreeClassifier(),
    hb.DecisionTreeRegressor(),
    hb.DensityTree(cv=3),
    hb.RandomForestClassifier(**FEW),
    hb.RandomForestRegressor(**FEW),
    hb.ExtraTreesClassifier(**FEW),
    hb.ExtraTreesRegressor(**FEW),
    hb.BaggingClassifier(**FEW),
    hb.BaggingRegressor(**FEW),
    # A seed: the mean of scores need not rank rows as the mean of probabilities does; by half of the draws it
    # does not.
    hb.BaggingClassifier(LogisticRegression(), **FEW, stratify=True, random_state=0),
    # A seed: checks put one bad cell into X, and five members must not all leave its column out.
    # A member sees what is drawn for it: by this draw one meets the odd value that scikit-learn puts in.
    hb.BaggingClassifier(KNeighborsClassifier(), **FEW, max_features=0.5, random_state=2),
    hb.BaggingClassifier(SVC(), **FEW, voting="hard", stratify=True),
    hb.BaggingRegressor(Ridge(), **FEW),
    # The data of the checks are too small for leaves of 20 rows to learn anything.
    hb.GradientBoostingClassifier(20, min_samples_leaf=1),
    hb.GradientBoostingRegressor(20, min_samples_leaf=1),
    hb.KNeighborsClassifier(),
    hb.KNeighborsRegressor(),
    hb.KNeighborsClassifier(n_neighbors=None, weights="gaussian", scale="standard"),
    hb.KNeighborsRegressor(metric="gower", weights="inverse_square"),
    hb.AdaBoostClassifier(**FEW),
    hb.AdaBoostRegressor(**FEW),
    hb.StackingClassifier([[("tree", hb.DecisionTreeClassifier()), ("line", LogisticRegression())]], cv=3),
    hb.StackingRegressor([[("tree", hb.DecisionTreeRegressor())], [("line", Ridge())]], cv=3),
    hb.BlendClassifier([("tree", hb.DecisionTreeClassifier()), ("line", LogisticRegression())]),
    hb.BlendRegressor([("tree", hb.DecisionTreeRegressor()), ("line", Ridge())]),
]


def expected_failures(estimator):
    """A weight of 2 and a row given twice are drawn differently: equal in distribution, not bit by bit."""
    draws = getattr(estimator, "bootstrap", False) or isinstance(
        estimator, hb.BlendClassifier | hb.BlendRegressor
    )
    if not draws:
        return {}
    reason = "samples are drawn; test_weights_equal_repeated_rows_on_average takes its place"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


# A table of one row or of constant columns is fitted with a warning; the checks only want it fitted.
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_check(estimator, check):
    check(estimator)
