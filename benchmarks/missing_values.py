"""The table of docs/trees.md: every way to treat missing values, with shares of the values knocked out.

    python -m benchmarks.missing_values

Values are knocked out of all columns, completely at random, in training and test rows alike. All policies see
the same holes and the same folds. Out goes a table in Markdown: accuracy in per cent over ten folds, and the
standard error of its difference to `missing="learn"` on the same folds.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import hornbeam as hb
from benchmarks.data import shared_folder

DATA = {
    "wdbc": "wdbc.csv",
    "pima_diabetes": "pima_diabetes.csv",
    "segment": "segment.csv.gz",
    "car_evaluation": "car_evaluation.csv",
    "german_credit": "german_credit.csv",
}
SHARES = (0.0, 0.1, 0.3)
TREES = ("learn", "surrogate", "fractional", "majority")
FORESTS = (*TREES, "available")
FOLDS = 10


def read(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Read a shared table, whose last column is the target; texts become categories."""
    table = pd.read_csv(shared_folder() / DATA[name])
    y = table.pop(table.columns[-1]).to_numpy()
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype("category")
    return table, y


def knock_out(X: pd.DataFrame, share: float) -> pd.DataFrame:
    """Put holes into a copy of a table."""
    generator = np.random.default_rng(0)
    return X.mask(generator.random(X.shape) < share)


def accuracies(model: Any, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Score a model on every fold."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y)
    scores = []
    for train, test in folds:
        model.fit(X.iloc[train], y[train])
        scores.append(float(np.mean(model.predict(X.iloc[test]) == y[test])))
    return np.array(scores)


def cell(scores: np.ndarray, learned: np.ndarray) -> str:
    """Write a mean and, where there is something to compare, the error bar of the comparison."""
    mean = f"{100 * scores.mean():.1f}"
    if scores is learned:
        return mean
    error = (scores - learned).std(ddof=1) / np.sqrt(len(scores))
    return f"{mean} ± {100 * error:.1f}"


def rows_of(name: str) -> list[str]:
    """Write the rows of one data set."""
    X, y = read(name)
    rows = []
    for share in SHARES:
        holed = knock_out(X, share)
        tree = {
            p: accuracies(hb.DecisionTreeClassifier(missing=p, min_samples_leaf=5), holed, y) for p in TREES
        }
        forest = {
            p: accuracies(hb.RandomForestClassifier(50, missing=p, random_state=0), holed, y) for p in FORESTS
        }
        cells = [cell(tree[p], tree["learn"]) for p in TREES]
        cells += [cell(forest[p], forest["learn"]) for p in FORESTS]
        rows.append(f"| {name} | {100 * share:.0f} % | " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore", hb.warnings.HornbeamWarning)
    titles = ["data", "missing", *(f"tree: {p}" for p in TREES), *(f"forest: {p}" for p in FORESTS)]
    print("| " + " | ".join(titles) + " |\n" + "|---" * len(titles) + "|")
    for name in DATA:
        rows_of(name)


if __name__ == "__main__":
    main()
