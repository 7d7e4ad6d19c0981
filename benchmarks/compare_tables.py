"""hb.compare on ten shared tables, beside an exhaustive search with scikit-learn on the same folds.

    python -m benchmarks.compare_tables [--seconds 30] [--only glass wine] >table.md

For each table, the winner of the comparison (nested searches, within a time budget) is set beside the best of
all settings of scikit-learn's methods by plain cross-validation. The latter is the maximum of some thirty
scores and so flattering; the question is whether the winner is within two standard errors of it. Tables are
read from the folder that `benchmarks.data.shared_folder` names. docs/compare.md has what was printed last.
"""

import argparse
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC, SVR

import hornbeam as hb
from benchmarks.data import shared_folder
from hornbeam.estimators.linear import Design

FOREST = {"max_features": ["sqrt", 0.2, 0.4], "min_samples_leaf": [1, 5]}
ROUNDS = {"learning_rate": [0.1, 0.05], "max_leaf_nodes": [31, 7]}
NEAR = {"n_neighbors": [1, 5, 15, 40]}
KERNEL = {"C": [1, 10, 100]}


@dataclass(frozen=True)
class Table:
    """A file, its target, and columns that are no features."""

    file: str
    target: str
    left_out: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.file.partition(".")[0]

    def read(self) -> tuple[pd.DataFrame, Any]:
        frame = pd.read_csv(shared_folder() / self.file)
        return frame.drop(columns=[self.target, *self.left_out]), frame[self.target].to_numpy()


TABLES = (
    Table("wdbc.csv", "diagnosis"),
    Table("ionosphere.csv", "class"),
    Table("sonar.csv", "class"),
    Table("glass.csv", "Type"),
    Table("wine.csv", "class"),
    Table("pima_diabetes.csv", "diabetes"),
    Table("german_credit.csv", "class"),
    Table("auto_mpg.csv", "mpg", ("car_name",)),
    Table("concrete.csv", "strength"),
    Table("boston_housing.csv", "medv"),
)


def searches(task: str) -> list[tuple[Any, dict[str, list[Any]]]]:
    if task == "classification":
        return [
            (LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1, 10]}),
            (KNeighborsClassifier(), NEAR),
            (RandomForestClassifier(random_state=0), FOREST),
            (ExtraTreesClassifier(random_state=0), FOREST),
            (HistGradientBoostingClassifier(random_state=0), ROUNDS),
            (AdaBoostClassifier(random_state=0), {"n_estimators": [50, 200]}),
            (SVC(), KERNEL),
        ]
    return [
        (Ridge(), {"alpha": [0.1, 1, 10, 100]}),
        (KNeighborsRegressor(), NEAR),
        (RandomForestRegressor(random_state=0), FOREST),
        (ExtraTreesRegressor(random_state=0), FOREST),
        (HistGradientBoostingRegressor(random_state=0), ROUNDS),
        (SVR(), KERNEL),
    ]


def dense(matrix: Any) -> Any:
    """Return a matrix as a plain array: histogram boosting takes no other."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def best_of_scikit_learn(X: Any, y: Any, task: str, splits: Any) -> tuple[str, float]:
    """Search everything on the given folds; return the best method and its mean score."""
    scoring = "accuracy" if task == "classification" else "neg_root_mean_squared_error"
    found = []
    for estimator, grid in searches(task):
        pipeline = make_pipeline(Design(), FunctionTransformer(dense), estimator)
        last = pipeline.steps[-1][0]
        prefixed = {f"{last}__{name}": values for name, values in grid.items()}
        search = GridSearchCV(pipeline, prefixed, cv=list(splits), scoring=scoring, refit=False).fit(X, y)
        found.append((abs(float(search.best_score_)), type(estimator).__name__))
    score, name = (max if task == "classification" else min)(found)
    return name, score


def line(table: Table, seconds: float) -> str:
    """Compare on one table; `behind` is in standard errors of the winner's score."""
    X, y = table.read()
    found = hb.compare(X, y, time_budget=seconds, random_state=0)
    name, score = best_of_scikit_learn(X, y, found.task, found.splits)
    best, metric = found.records[0], found.metrics[0]
    error = np.nanmax([best[f"{metric.name} se rows"], best[f"{metric.name} se folds"]])
    behind = metric.sign() * (score - best[metric.name])
    close = "yes" if behind <= 2 * error else "no"
    return (
        f"| {table.name} | {len(y)} x {X.shape[1]} | {metric.name} | {found.best_name} "
        f"| {best[metric.name]:.4g} ± {error:.2g} | {name} | {score:.4g} | {behind / error:+.1f} | {close} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0, help="time budget of each comparison")
    parser.add_argument("--only", nargs="+", choices=[table.name for table in TABLES], help="these tables")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | size | metric | winner | its score | best of scikit-learn | score | behind | close |")
    print("|---|---|---|---|---|---|---|---|---|")
    for table in TABLES:
        if arguments.only is None or table.name in arguments.only:
            print(line(table, arguments.seconds), flush=True)


if __name__ == "__main__":
    main()
