"""How good, not how fast: cross-validated errors of boosting and forests beside the peers.

``python -m benchmarks.accuracy boosting``, ``... categories`` and ``... forests`` print the tables of
docs/boosting.md and docs/forests.md. Text columns become whole-number codes for everybody, so that all read
the same numbers; in the table of categories everybody is told which columns they are. Settings are the plan
of the speed jobs. A difference is the mean over rows of the difference between the errors of two libraries
on the same row (0 or 1 for classes, or their log loss; squared for numbers, in units of the target's
variance), with its standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Dataset, Task, shared_folder, with_categories
from benchmarks.harness import Setting
from benchmarks.learners.base import Learner
from benchmarks.learners.boosting import CatBoost, LightGBM, Plan, XGBoost, our_boosting
from benchmarks.learners.estimators import for_task
from benchmarks.learners.forests import YDFForest, forest
from benchmarks.scores import chosen_class

FOLDS = 5
MOST_ROWS = 12_000  # a sample of larger files, so that the tables take minutes
BOOSTED = {
    "adult": "income",
    "bank_marketing": "y",
    "german_credit": "class",
    "higgs_7500": "label",
    "phoneme": "class",
    "spambase": "spam",
    "telco_churn": "Churn",
    "satimage": "classes",
    "segment": "class",
    "abalone": "rings",
    "california_housing": "median_house_value",
    "concrete": "strength",
    "diamonds": "price",
    "kin8nm": "y",
    "wine_quality": "quality",
}
CATEGORIES = ("adult", "bank_marketing", "german_credit", "telco_churn", "nursery", "tic_tac_toe", "diamonds")
FORESTS = (
    "adult",
    "german_credit",
    "phoneme",
    "spambase",
    "telco_churn",
    "satimage",
    "segment",
    "higgs_7500",
    "bank_marketing",
    "electricity",
)
TARGETS = {**BOOSTED, "electricity": "class", "nursery": "class", "tic_tac_toe": "class"}
NUMBERS = ("abalone", "california_housing", "concrete", "diamonds", "kin8nm", "wine_quality")
IDENTIFIERS = ("customerID",)


@dataclass(frozen=True)
class Sheet:
    """A data set: X as numbers or as a frame with categories, y as class codes or values."""

    name: str
    task: Task
    X: Any
    y: NDArray[np.float64]

    @property
    def classes(self) -> int:
        return 0 if self.task == "regression" else int(self.y.max()) + 1

    def fold(self, number: int) -> Dataset:
        held = np.arange(len(self.y)) % FOLDS == number  # rows are shuffled already
        y = self.y if self.task == "regression" else self.y.astype(np.int64)
        return Dataset(
            self.name, self.task, self.X[~held], y[~held], self.X[held], y[held], classes=self.classes
        )


def read(name: str, *, most_rows: int = MOST_ROWS, as_categories: bool = False) -> Sheet:
    """Read a data set, shuffled with a fixed seed; many files are ordered by class."""
    import pandas as pd

    path = next(path for path in shared_folder().glob(f"{name}.csv*"))
    table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    table = table.sample(min(len(table), most_rows), random_state=0)
    target = table.pop(TARGETS[name])
    is_regression = name in NUMBERS
    table = table.drop(columns=[column for column in IDENTIFIERS if column in table])
    y = target.to_numpy(np.float64) if is_regression else coded(target).to_numpy(np.float64)
    task: Task = "regression" if is_regression else "binary" if y.max() == 1 else "multiclass"
    if as_categories:
        return Sheet(name, task, with_categories(table), y)
    X = table.apply(lambda column: column if column.dtype.kind in "iufb" else coded(column))
    return Sheet(name, task, X.to_numpy(np.float32), y)


def coded(column: Any) -> Any:
    """Number the levels of a text column in their alphabetical order; a missing one stays missing."""
    import pandas as pd

    codes = pd.factorize(column, sort=True)[0]
    return pd.Series(np.where(codes < 0, np.nan, codes), index=column.index)


ErrorOfClass = Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]]


def wrong_class(predictions: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    return chosen_class(predictions) != y


def log_loss(predictions: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Minus the logarithm of the true class's probability; two classes may have one column."""
    table = predictions.reshape(len(y), -1)
    if table.shape[1] == 1:
        table = np.hstack([1 - table, table])
    return -np.log(np.maximum(table[np.arange(len(y)), y], 1e-15))


def errors(
    learner: Learner, sheet: Sheet, setting: Setting, *, of_class: ErrorOfClass = wrong_class
) -> NDArray[np.float64]:
    """The error of each row when its fold is predicted by a model of the others."""
    found = np.empty(len(sheet.y))
    for number in range(FOLDS):
        data = sheet.fold(number)
        predictions = np.asarray(learner.predict(learner.fit(data, setting), data.X_test))
        held = np.arange(len(sheet.y)) % FOLDS == number
        if sheet.task == "regression":
            found[held] = (predictions.reshape(-1) - data.y_test) ** 2 / np.var(sheet.y)
        else:
            found[held] = of_class(predictions, data.y_test)
    return found


def difference(ours: NDArray[np.float64], theirs: NDArray[np.float64]) -> str:
    """Our error less theirs, its standard error, and a mark for more than two of these either way."""
    gap = ours - theirs
    mean, error = gap.mean(), gap.std(ddof=1) / np.sqrt(len(gap))
    far = abs(mean) > 2 * error
    return f"{mean:+.4f} ± {error:.4f}" + (f" ({mean / error:+.1f})" if far else "")


def show(title: str, rows: Mapping[str, list[str]], head: list[str]) -> None:
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")


def boosting(setting: Setting) -> None:
    sheets = (read(name) for name in BOOSTED)
    compare_boosting("Boosting", "error", sheets, setting, wrong_class)


def categories(setting: Setting) -> None:
    sheets = (read(name, most_rows=50_000, as_categories=True) for name in CATEGORIES)
    compare_boosting("Categories", "loss", sheets, setting, log_loss)


def compare_boosting(
    title: str, error: str, sheets: Iterable[Sheet], setting: Setting, of_class: ErrorOfClass
) -> None:
    rows: dict[str, list[str]] = {}
    for sheet in sheets:
        plan = Plan(task=sheet.task, classes=max(2, sheet.classes), leaves=31, depth=5)
        ours = errors(our_boosting(plan), sheet, setting, of_class=of_class)
        peers = (LightGBM(plan), XGBoost(plan, growth="leaves"), CatBoost(plan, growth="leaves"))
        gaps = [difference(ours, errors(peer, sheet, setting, of_class=of_class)) for peer in peers]
        rows[sheet.name] = [f"{len(sheet.y):,} x {sheet.X.shape[1]}", f"{ours.mean():.4f}", *gaps]
        print(sheet.name, rows[sheet.name], file=sys.stderr)
    show(title, rows, ["data", "size", error, "less LightGBM's", "less XGBoost's", "less CatBoost's"])


def forests(setting: Setting) -> None:
    rows: dict[str, list[str]] = {}
    for name in FORESTS:
        sheet = read(name)
        if np.isnan(sheet.X).any():  # not everybody takes missing values
            sheet = Sheet(name, sheet.task, np.nan_to_num(sheet.X, nan=-1.0), sheet.y)
        kind = for_task(sheet.task, "RandomForest")
        ours = forest("hornbeam", kind)
        outside = []
        for number in range(FOLDS):
            data = sheet.fold(number)
            model = ours.make(setting).set_params(oob_score=True).fit(data.X, data.y)
            outside.append(1 - model.oob_score_)
        tested = errors(ours, sheet, setting)
        peers = (forest("sklearn", kind), forest("sklearnex", kind), YDFForest())
        gaps = [difference(tested, errors(peer, sheet, setting)) for peer in peers]
        by_fold = np.array([tested[np.arange(len(tested)) % FOLDS == k].mean() for k in range(FOLDS)])
        paired = np.array(outside) - by_fold
        rows[name] = [
            f"{np.mean(outside):.4f}",
            f"{tested.mean():.4f}",
            f"{paired.mean():+.4f} ± {paired.std(ddof=1) / np.sqrt(FOLDS):.4f}",
            *gaps,
        ]
        print(name, rows[name], file=sys.stderr)
    peers_head = ["test less scikit-learn's", "less sklearnex's", "less YDF's"]
    head = ["data", "out of bag", "test", "difference", *peers_head]
    show("Forests", rows, head)


if __name__ == "__main__":
    TABLES = {"boosting": boosting, "categories": categories, "forests": forests}
    for wanted in sys.argv[1:] or TABLES:
        TABLES[wanted](Setting(rows=MOST_ROWS, threads=1))
