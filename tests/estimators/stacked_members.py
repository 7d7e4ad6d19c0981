"""Members and tables for the tests of stacking."""

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

import hornbeam as hb


def classifiers():
    return [
        ("knn", hb.KNeighborsClassifier()),
        ("logistic", LogisticRegression(max_iter=1000)),
        ("svm", SVC()),
        ("tree", hb.DecisionTreeClassifier(max_depth=3)),
    ]


def regressors():
    return [
        ("knn", hb.KNeighborsRegressor()),
        ("line", Ridge()),
        ("tree", hb.DecisionTreeRegressor(max_depth=3)),
    ]
