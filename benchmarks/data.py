"""The tables of the benchmarks: generators with fixed seeds, and readers of public data sets.

In comes the number of training rows, out comes a :class:`Dataset` with a training and a test part, the same
bits on every run. The public sets are read from the folder named by the environment variable
HORNBEAM_SHARED_DATA, else from ``../shared/data`` beside the repository; where a file is absent,
:class:`DataAbsentError` says so and its jobs are skipped.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Task = Literal["binary", "multiclass", "regression"]
Floats = NDArray[np.floating[Any]]

REPOSITORY = Path(__file__).resolve().parents[1]
LARGEST_TEST_PART = 200_000
SMALLEST_TEST_PART = 200
PHYSICS_STRENGTH = 1.78  # chosen so that boosting reaches an AUC of about 0.824, as on tables of this kind


class DataAbsentError(Exception):
    """A public data set is not on this machine; the message says which file and where it was looked for."""


@dataclass(frozen=True)
class Dataset:
    """A training and a test part; ``X`` is a float array, or a pandas frame when there are categories."""

    name: str
    task: Task
    X: Any
    y: NDArray[Any]
    X_test: Any
    y_test: NDArray[Any]
    classes: int = 2

    @property
    def rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def features(self) -> int:
        return int(self.X.shape[1])

    @property
    def is_frame(self) -> bool:
        return hasattr(self.X, "columns")

    def head(self, rows: int) -> Dataset:
        """The first rows of both parts, for warming up."""
        return replace(
            self, X=self.X[:rows], y=self.y[:rows], X_test=self.X_test[:rows], y_test=self.y_test[:rows]
        )

    def describe(self) -> str:
        kind = "mixed columns" if self.is_frame else str(self.X.dtype)
        return f"{self.name}: {self.rows:,} x {self.features} {kind}, {len(self.y_test):,} test rows"


# ---------------------------------------------------------------------------------------------- generators


def rounded(rows: int, *, features: int = 8, classes: int = 2) -> Dataset:
    """Normal values rounded to two decimals: hundreds of distinct values, many ties, a tree-shaped target."""
    rng, total = _start(rows, seed=11)
    X = np.round(rng.normal(size=(total, features)), 2).astype(np.float32)
    score = X[:, 0] * (X[:, 1] > 0) + np.sin(2 * X[:, 2]) + 0.7 * X[:, 3] * X[:, 4]
    return _split("rounded", X, _classes_from(score + rng.normal(size=total), classes), rows, classes)


def noisy(rows: int, *, features: int = 20) -> Dataset:
    """Continuous columns, most of them pure noise, and a noisy two-class target: forests reach AUC 0.795."""
    rng, total = _start(rows, seed=12)
    X = rng.normal(size=(total, features)).astype(np.float32)
    log_odds = 1.01 * (
        X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - X[:, 3] + np.sin(3 * X[:, 4]) + 0.5 * X[:, 5] - 0.8
    )
    return _split("noisy", X, _draw_labels(rng, log_odds), rows)


def noisy_regression(rows: int, *, features: int = 20) -> Dataset:
    """Columns like those of :func:`noisy` and a target of counts, so that a Poisson criterion applies too."""
    rng, total = _start(rows, seed=13)
    X = rng.normal(size=(total, features)).astype(np.float32)
    mean = np.exp(0.5 * np.sin(2 * X[:, 0]) + 0.4 * X[:, 1] * (X[:, 2] > 0) + 0.3 * np.abs(X[:, 3]))
    return _split("noisy counts", X, rng.poisson(3 * mean).astype(np.float64), rows, task="regression")


def physics(rows: int, *, classes: int = 2) -> Dataset:
    """28 columns like the HIGGS table: momenta, angles, tags with three values, and seven derived masses.

    The derived columns are noisy functions of the others, so that good splits exist at many depths; boosting
    with 100 trees of 63 leaves reaches a test AUC of about 0.824 on a million rows.
    """
    rng, total = _start(rows, seed=14)
    momenta = rng.gamma(2.0, 0.5, size=(total, 6))
    angles = rng.uniform(-np.pi, np.pi, size=(total, 6))
    rapidities = rng.normal(size=(total, 5))
    tags = rng.choice([0.0, 1.1, 2.2], p=[0.5, 0.2, 0.3], size=(total, 4))
    masses = _derived_masses(rng, momenta, angles, rapidities)
    near_peak = np.exp(-8.0 * (masses[:, 0] - 1.0) ** 2) + np.exp(-8.0 * (masses[:, 1] - 0.9) ** 2)
    log_odds = PHYSICS_STRENGTH * (
        near_peak * (1 + 0.5 * (tags[:, 0] > 1))
        + 0.8 * np.cos(angles[:, 0] - angles[:, 1]) * (momenta[:, 0] > 0.8)
        + 0.4 * momenta[:, 1] * np.sign(masses[:, 3] - 1)
        - 0.3 * np.abs(rapidities[:, 0]) * tags[:, 1]
        + 0.3 * (masses[:, 5] - masses[:, 6])
    )
    X = np.hstack([momenta, angles, rapidities, tags, masses]).astype(np.float32)
    log_odds -= log_odds.mean()
    if classes == 2:
        return _split("physics", X, _draw_labels(rng, log_odds), rows)
    return _split("physics", X, _classes_from(log_odds + rng.normal(size=total), classes), rows, classes)


def wide(rows: int, *, features: int = 400) -> Dataset:
    """Many columns with a few common causes: 20 useful, some correlated with them, the rest noise."""
    rng, total = _start(rows, seed=15)
    causes = rng.normal(size=(total, 20)).astype(np.float32)
    X = rng.standard_normal(size=(total, features), dtype=np.float32)
    informative = min(features, 20)
    X[:, :informative] = causes[:, :informative]
    for column in range(informative, min(features, 100)):
        X[:, column] += causes[:, column % 20]
    log_odds = 0.8 * (
        causes[:, 0] * causes[:, 1] + causes[:, 2] - np.abs(causes[:, 3]) + causes[:, 4:8].sum(axis=1)
    )
    return _split("wide", X, _draw_labels(rng, log_odds), rows)


def skewed(rows: int, *, features: int = 20) -> Dataset:
    """Lognormal columns over many orders of magnitude: equal-width bins would be useless here."""
    data = noisy(rows, features=features)
    return replace(data, name="skewed", X=np.exp(2 * data.X), X_test=np.exp(2 * data.X_test))


def few_values(rows: int, *, features: int = 20) -> Dataset:
    """Columns with 2 to 6 distinct values."""
    data = noisy(rows, features=features)
    levels = 1 + np.arange(features, dtype=np.float32) % 5

    def coarse(X: Floats) -> Floats:
        return np.asarray(np.round((np.tanh(X) + 1) / 2 * levels), dtype=np.float32)

    return replace(data, name="few values", X=coarse(data.X), X_test=coarse(data.X_test))


def duplicates(rows: int, *, features: int = 20, copies: int = 10) -> Dataset:
    """Every training row stands there ten times, shuffled; a tenth of the copies has the other label."""
    distinct = max(2, rows // copies)
    data = noisy(distinct, features=features)
    rng = np.random.default_rng(16)
    chosen = rng.permutation(np.resize(np.arange(distinct), rows))
    y = np.where(rng.random(rows) < 0.1, 1 - data.y[chosen], data.y[chosen])
    return replace(data, name="duplicates", X=data.X[chosen], y=y)


def missing(rows: int, *, features: int = 20, share: float = 0.2) -> Dataset:
    """A fifth of the values is missing, more often large ones, so that missingness carries signal."""
    data = noisy(rows, features=features)
    rng = np.random.default_rng(17)

    def with_holes(X: Floats) -> Floats:
        chance = np.where(X > 0, 1.6 * share, 0.4 * share)
        return np.where(rng.random(X.shape) < chance, np.float32(np.nan), X)

    return replace(data, name="missing", X=with_holes(data.X), X_test=with_holes(data.X_test))


def categorical(rows: int, *, categories: int = 50) -> Dataset:
    """A pandas frame of ten numeric and five categorical columns, whose categories shift the log-odds."""
    import pandas as pd

    rng, total = _start(rows, seed=18)
    numbers = rng.normal(size=(total, 10)).astype(np.float32)
    codes = rng.integers(0, categories, size=(total, 5))
    effects = rng.normal(size=(5, categories))
    log_odds = (
        numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + sum(effects[j][codes[:, j]] for j in range(5)) / 2
    )
    names = np.array([f"level {code}" for code in range(categories)])
    frame = pd.DataFrame(numbers, columns=[f"number {j}" for j in range(10)])
    for j in range(5):
        frame[f"category {j}"] = pd.Categorical.from_codes(codes[:, j], categories=names)
    return _split("categorical", frame, _draw_labels(rng, log_odds), rows)


def clusters(rows: int, *, features: int = 16, queries: int = 20_000) -> Dataset:
    """Points around 200 centres, for nearest neighbours; the test part holds the queries."""
    rng = np.random.default_rng(19)
    centres = rng.normal(scale=1.5, size=(200, features))
    owner = rng.integers(0, 200, size=rows + queries)
    points = (centres[owner] + rng.normal(size=(rows + queries, features))).astype(np.float32)
    y = owner % 2
    return Dataset("clusters", "binary", points[:rows], y[:rows], points[rows:], y[rows:])


def many_classes(rows: int, *, classes: int, features: int = 20) -> Dataset:
    """A target with many classes of equal size, decided by three columns and noise."""
    rng, total = _start(rows, seed=20)
    X = rng.normal(size=(total, features)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=total)
    return _split(f"{classes} classes", X, _classes_from(score, classes), rows, classes)


def staircase(rows: int) -> Dataset:
    """The degenerate tree: one column, labels that alternate along it, so each split peels off a single row.

    A grown-out tree is as deep as the table is long. Training and test part are the same rows.
    """
    X = np.arange(rows, dtype=np.float32).reshape(-1, 1)
    y = np.arange(rows) % 2
    return Dataset("staircase", "binary", X, y, X, y)


def _start(rows: int, seed: int) -> tuple[np.random.Generator, int]:
    """A generator, and how many rows to make: the training rows and a quarter more for the test."""
    return np.random.default_rng(seed), rows + _test_rows(rows)


def _test_rows(rows: int) -> int:
    return int(np.clip(rows // 4, SMALLEST_TEST_PART, LARGEST_TEST_PART))


def _draw_labels(rng: np.random.Generator, log_odds: Floats) -> NDArray[np.int64]:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)


def _classes_from(score: Floats, classes: int) -> NDArray[np.int64]:
    """Classes of equal size by cutting a score at its quantiles."""
    return np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score).astype(np.int64)


def _derived_masses(
    rng: np.random.Generator, momenta: Floats, angles: Floats, rapidities: Floats
) -> NDArray[np.float64]:
    """Seven invariant masses of pairs of objects, smeared by ten per cent."""
    pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 2), (1, 3), (0, 4)]
    masses = [
        np.sqrt(
            2 * momenta[:, a] * momenta[:, b]
            * (np.cosh(rapidities[:, a] - rapidities[:, b]) - np.cos(angles[:, a] - angles[:, b]))
        )
        for a, b in pairs
    ]  # fmt: skip
    smeared = np.log1p(np.stack(masses, axis=1)) * rng.lognormal(0.0, 0.1, size=(len(momenta), len(pairs)))
    return np.asarray(smeared, dtype=np.float64)


def _split(
    name: str, X: Any, y: NDArray[Any], rows: int, classes: int = 2, task: Task | None = None
) -> Dataset:
    """The first rows are for training, all others for the test."""
    task = task or ("binary" if classes == 2 else "multiclass")
    return Dataset(name, task, X[:rows], y[:rows], X[rows:], y[rows:], classes)


# ------------------------------------------------------------------------------------------- public data sets


def covertype(rows: int | None = None) -> Dataset:
    """581,012 x 54, seven classes: four fifths for training."""
    table = _read("covertype")
    y = table.pop("Cover_Type").to_numpy() - 1
    return _shuffled("covertype", table.to_numpy(np.float32), y, rows, classes=7)


def higgs_7500(rows: int | None = None) -> Dataset:
    """7,500 x 28, two classes: rows 0 to 6,999 for training, as the file's source has it."""
    table = _read("higgs_7500")
    y = table.pop("label").to_numpy()
    return _at_row("higgs_7500", table.to_numpy(np.float32), y, 7000, rows)


def letter(rows: int | None = None) -> Dataset:
    """20,000 x 16, 26 classes: the customary split after row 16,000."""
    table = _read("letter")
    _, y = np.unique(table.pop("letter").to_numpy(str), return_inverse=True)
    return _at_row("letter", table.to_numpy(np.float32), y, 16_000, rows, classes=26)


def mnist_20k(rows: int | None = None) -> Dataset:
    """20,000 x 784 pixels, ten classes: four fifths for training."""
    table = _read("mnist_20k")
    y = table.pop("label").to_numpy()
    return _shuffled("mnist_20k", table.to_numpy(np.float32), y, rows, classes=10)


def california_housing(rows: int | None = None) -> Dataset:
    """20,640 x 9, regression of the logarithm of the price; one category, some missing values."""
    table = with_categories(_read("california_housing"))
    y = np.log(table.pop("median_house_value").to_numpy(np.float64))
    return _shuffled("california_housing", table, y, rows, task="regression")


def adult(rows: int | None = None) -> Dataset:
    """48,842 x 14, two classes, eight categories, missing values: the customary split after row 32,561."""
    table = with_categories(_read("adult"))
    y = (table.pop("income") == ">50K").to_numpy(np.int64)
    return _at_row("adult", table, y, 32_561, rows)


def nycflights13(rows: int | None = None) -> Dataset:
    """327,346 flights that arrived: was the arrival more than 15 minutes late?

    Columns are what is known before departure. The tail number (4,000 levels) is left out: most peers limit
    the number of categories.
    """
    table = _read("nycflights13").dropna(subset=["arr_delay"])
    y = (table["arr_delay"] > 15).to_numpy(np.int64)
    known = ["month", "day", "sched_dep_time", "sched_arr_time", "distance", "carrier", "origin", "dest"]
    return _shuffled("nycflights13", with_categories(table[known].copy()), y, rows)


def shared_folder() -> Path:
    """Where public data sets are looked for."""
    return Path(os.environ.get("HORNBEAM_SHARED_DATA") or REPOSITORY.parent / "shared" / "data")


def _read(name: str) -> Any:
    path = shared_folder() / f"{name}.csv.gz"
    if not path.is_file():
        raise DataAbsentError(
            f"no {path.name} in {path.parent}; set HORNBEAM_SHARED_DATA to the folder that has it"
        )
    import pandas as pd

    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def with_categories(table: Any) -> Any:
    """Text columns become categories, numbers float32: a frame that every peer with categories can read."""
    for name in table.columns:
        is_number = table[name].dtype.kind in "iuf"
        table[name] = table[name].astype("float32" if is_number else "category")
    return table


def _shuffled(
    name: str, X: Any, y: NDArray[Any], rows: int | None, *, classes: int = 2, task: Task | None = None
) -> Dataset:
    """Shuffle with a fixed seed (many files are ordered by class), then four fifths for training."""
    order = np.random.default_rng(21).permutation(len(y))
    X = X.iloc[order].reset_index(drop=True) if hasattr(X, "iloc") else X[order]
    return _at_row(name, X, y[order], len(y) * 4 // 5, rows, classes=classes, task=task)


def _at_row(
    name: str, X: Any, y: NDArray[Any], first_test_row: int, rows: int | None, *, classes: int = 2,
    task: Task | None = None,
) -> Dataset:  # fmt: skip
    """Split at a row, then keep only the asked number of training rows."""
    data = _split(name, X, y, first_test_row, classes, task)
    if rows is None or rows >= data.rows:
        return data
    return replace(data, X=data.X[:rows], y=data.y[:rows])
