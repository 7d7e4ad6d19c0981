"""Print the figures of docs/stacking.md: the worked example, what members are worth, and stacks beside them.

In: nothing but scikit-learn's own data sets. Out, on standard output: the numbers of the page. Everything
random has a seed.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hornbeam as hb

FIRST: list[tuple[str, Any]] = [
    ("knn", hb.KNeighborsClassifier(9, scale="standard")),
    ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
    ("svm", make_pipeline(StandardScaler(), SVC())),
    ("tree", hb.DecisionTreeClassifier(max_depth=4, random_state=0)),
    ("forest", hb.RandomForestClassifier(random_state=0)),
]
SECOND: list[tuple[str, Any]] = [
    ("boosting", hb.GradientBoostingClassifier(n_estimators=30, max_depth=2)),
    ("logistic2", LogisticRegression()),
]
STACKS = {
    "one level": hb.StackingClassifier([FIRST], random_state=0),
    "two levels": hb.StackingClassifier([FIRST, SECOND], random_state=0),
    'one level, cv="holdout"': hb.StackingClassifier([FIRST], cv="holdout", random_state=0),
}


def main() -> None:
    """Print everything."""
    worked_example()
    what_members_are_worth()
    stacks_beside_their_members()


def worked_example() -> None:
    """Six rows, two members, three folds."""
    x = np.arange(6.0)
    folds = [([2, 3, 4, 5], [0, 1]), ([0, 1, 4, 5], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    members = [("stump", hb.DecisionTreeRegressor(max_depth=1)), ("neighbour", hb.KNeighborsRegressor(1))]
    stack = hb.StackingRegressor([members], cv=folds, final_estimator=LinearRegression())
    stack.fit(x[:, None], x**2)
    print(stack.oof_predictions_)
    print("intercept", stack.final_estimator_.intercept_, "weights", stack.final_estimator_.coef_, "\n")


def what_members_are_worth() -> None:
    """Out-of-fold accuracy, weight in the final model, and correlation, on breast cancer."""
    X, y = load_breast_cancer(return_X_y=True)
    stack = hb.StackingClassifier([FIRST], random_state=0).fit(X, y)
    print("accuracy", {name: round(score, 3) for name, score in stack.member_scores_.items()})
    weights = stack.final_estimator_.coef_[0].round(2).tolist()
    print("weight", dict(zip(stack.get_feature_names_out(), weights, strict=True)))
    print(stack.member_correlation_.round(2), "\n")


def stacks_beside_their_members() -> None:
    """Accuracy in five folds: each member by itself, and stacks of them."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    tables = {
        "breast cancer": load_breast_cancer(return_X_y=True),
        "two moons": make_moons(1000, noise=0.3, random_state=0),
    }
    models = {**dict(FIRST), **STACKS}
    print("|", " | ".join(["", *models]), "|")
    print("|", " | ".join(["---"] * (len(models) + 1)), "|")
    for name, (X, y) in tables.items():
        scores = [np.mean(cross_val_score(clone(model), X, y, cv=folds)) for model in models.values()]
        print("|", " | ".join([name, *(f"{score:.3f}" for score in scores)]), "|")


if __name__ == "__main__":
    main()
