"""scikit-learn's own checks on every public estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import hornbeam as hb

ESTIMATORS = [hb.DecisionTreeClassifier(), hb.DecisionTreeRegressor()]


# A table of one row or of constant columns is fitted with a warning; the checks only want it fitted.
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
