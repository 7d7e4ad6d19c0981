"""Print the tables of docs/trees.md: cross-validated accuracy by criterion, and by categorical_split.

In: the shared data sets (the folder in HORNBEAM_SHARED_DATA, else ../shared/data beside the repository). Out,
on standard output: two tables in Markdown, a row per way to grow a tree, a column per data set. Each cell is
the mean accuracy of ten stratified folds and its standard error over them, in percent. Trees are grown out,
except those of the textbook methods that stop or prune; the rows of scikit-learn see every category as a
column of its own.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import hornbeam as hb

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("HORNBEAM_SHARED_DATA", REPOSITORY.parent / "shared" / "data"))
TARGETS = {
    "nursery": "class",
    "car_evaluation": "class",
    "mushroom": "type",
    "house_votes_84": "Class",
    "kr_vs_kp": "class",
    "titanic3": "survived",
}
# The others name a passenger, or tell how the voyage ended.
TITANIC = ["pclass", "sex", "age", "sibsp", "parch", "fare", "embarked", "survived"]
N_FOLDS = 10

Fit = Callable[[pd.DataFrame, pd.Series], Any]


def read(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table; columns of texts hold categories."""
    path = next(path for path in (FOLDER / f"{name}.csv", FOLDER / f"{name}.csv.gz") if path.is_file())
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""])
    if name == "titanic3":
        frame = frame[TITANIC]
    y = frame.pop(TARGETS[name])
    texts = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    return frame.astype(dict.fromkeys(texts, "category")), y


def ours(**options: Any) -> Fit:
    """Grow our tree on the columns as they are."""
    return lambda X, y: hb.DecisionTreeClassifier(**options, random_state=0).fit(X, y)


def one_hot(**options: Any) -> Fit:
    """Grow scikit-learn's tree on one column per category."""

    def fit(X: pd.DataFrame, y: pd.Series) -> Any:
        texts = X.select_dtypes("category").columns.to_list()
        encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
        columns = make_column_transformer((encoder, texts), remainder="passthrough")
        return make_pipeline(columns, DecisionTreeClassifier(**options, random_state=0)).fit(X, y)

    return fit


CRITERIA: dict[str, Fit] = {
    "`gini`": ours(criterion="gini"),
    "`entropy`": ours(criterion="entropy"),
    "`gain_ratio`": ours(criterion="gain_ratio"),
    "`chi2`": ours(criterion="chi2"),
    "`chi2`, `min_significance=0.01`": ours(criterion="chi2", min_significance=0.01),
    "`accuracy`": ours(criterion="accuracy"),
    "scikit-learn `gini`, one-hot": one_hot(criterion="gini"),
    "scikit-learn `entropy`, one-hot": one_hot(criterion="entropy"),
}
SPLITS = ("subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary")
CATEGORICAL_SPLITS: dict[str, Fit] = {
    **{f"`{split}`": ours(criterion="entropy", categorical_split=split) for split in SPLITS},
    "C4.5": ours(
        criterion="gain_ratio",
        categorical_split="multiway",
        missing="fractional",
        min_samples_leaf=2,
        prune="pessimistic",
    ),
    "CHAID": ours(criterion="chi2", categorical_split="merge", min_significance=0.05),
    "scikit-learn `entropy`, one-hot": one_hot(criterion="entropy"),
}


def accuracies(fit: Fit, X: pd.DataFrame, y: pd.Series) -> np.ndarray:
    """Return the accuracy in each fold; all ways see the same folds."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    return np.array(
        [
            np.mean(fit(X.iloc[inside], y.iloc[inside]).predict(X.iloc[held]) == y.iloc[held])
            for inside, held in folds.split(X, y)
        ]
    )


def print_table(ways: dict[str, Fit], tables: dict[str, tuple[pd.DataFrame, pd.Series]]) -> None:
    """Print a row per way, a column per data set."""
    print("| | " + " | ".join(f"{name} ({len(y):,})" for name, (_, y) in tables.items()) + " |")
    print("|---|" + "---|" * len(tables))
    for name, fit in ways.items():
        cells = []
        for X, y in tables.values():
            shares = 100 * accuracies(fit, X, y)
            cells.append(f"{shares.mean():.1f} ± {shares.std(ddof=1) / np.sqrt(N_FOLDS):.1f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    """Print both tables."""
    tables = {name: read(name) for name in TARGETS}
    print_table(CRITERIA, tables)
    print()
    print_table(CATEGORICAL_SPLITS, tables)


if __name__ == "__main__":
    main()
