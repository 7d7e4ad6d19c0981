"""The contestants: every library with its own defaults, one thread, and ours.

A contestant is a function of training rows, targets, rows to answer and the task; it returns numbers, or a
probability per class. Libraries are imported when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["LEARNERS", "OURS", "TIMED"]

Answers = NDArray[np.float64]
Learner = Callable[..., Answers]  # (X, y, X_new, whether the target is numbers), and time_budget for some


def _answers(model: Any, X: Any, numbers: bool) -> Answers:
    return np.asarray(model.predict(X) if numbers else model.predict_proba(X), dtype=np.float64)


def _with_known_categories(train: pd.DataFrame, test: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Keep the categories of the training rows; others are missing, as most libraries ask for."""
    train, test = train.copy(), test.copy()
    for frame in (train, test):
        frame.columns = [f"c{j}" for j in range(frame.shape[1])]  # some refuse names with brackets
    for column in train.select_dtypes("category"):
        train[column] = train[column].cat.remove_unused_categories()
        categories = train[column].cat.categories
        test[column] = pd.Categorical(test[column].astype(object), categories=categories)
    return train, test


def _coded(frame: pd.DataFrame, most: int | None = None) -> pd.DataFrame:
    """Categories as their codes, in columns of more than `most` of them."""
    frame = frame.copy()
    for column in frame.select_dtypes("category"):
        if most is None or len(frame[column].cat.categories) > most:
            codes = frame[column].cat.codes.astype(float)
            frame[column] = codes.where(codes >= 0, np.nan)
    return frame


def catboost(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
    import catboost as library

    texts = list(X.select_dtypes("category"))

    def as_text(frame: pd.DataFrame) -> pd.DataFrame:
        frame = frame.copy()
        for c in texts:  # `assign` would take no column that is called "self"
            frame[c] = frame[c].astype(object).where(frame[c].notna(), "nan").astype(str)
        return frame

    kind = library.CatBoostRegressor if numbers else library.CatBoostClassifier
    model = kind(verbose=0, thread_count=1, allow_writing_files=False, cat_features=texts)
    return _answers(model.fit(as_text(X), y), as_text(X_new), numbers)


def lightgbm(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
    import lightgbm as library

    X, X_new = _with_known_categories(X, X_new)
    kind = library.LGBMRegressor if numbers else library.LGBMClassifier
    return _answers(kind(n_jobs=1, verbose=-1).fit(X, y), X_new, numbers)


def xgboost(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
    import xgboost as library

    X, X_new = _with_known_categories(X, X_new)
    kind = library.XGBRegressor if numbers else library.XGBClassifier
    return _answers(kind(n_jobs=1, enable_categorical=True).fit(X, y), X_new, numbers)


def hist_gradient_boosting(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
    from sklearn import ensemble

    X, X_new = (_coded(frame, 255) for frame in _with_known_categories(X, X_new))
    kind = ensemble.HistGradientBoostingRegressor if numbers else ensemble.HistGradientBoostingClassifier
    return _answers(kind(categorical_features="from_dtype").fit(X, y), X_new, numbers)


def sklearn_forest(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
    from sklearn import ensemble

    X, X_new = (_coded(frame) for frame in _with_known_categories(X, X_new))
    kind = ensemble.RandomForestRegressor if numbers else ensemble.RandomForestClassifier
    return _answers(kind(random_state=0, n_jobs=1).fit(X, y), X_new, numbers)


def _ydf(kind: str) -> Learner:
    def learner(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
        import ydf as library

        X, X_new = (_as_objects(frame) for frame in _with_known_categories(X, X_new))
        task = library.Task.REGRESSION if numbers else library.Task.CLASSIFICATION
        settings = getattr(library, kind)(label="target", task=task, num_threads=1)
        model = settings.train(X.assign(target=y if numbers else y.astype(str)), verbose=0)
        answers = np.asarray(model.predict(X_new), dtype=np.float64)
        if numbers:
            return answers
        if answers.ndim == 1:
            answers = np.column_stack([1 - answers, answers])
        # The classes have an order of the library's own.
        order = [list(model.label_classes()).index(str(label)) for label in np.unique(y)]
        return answers[:, order]

    return learner


def _as_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """Categories as texts, and None where they are missing, as YDF reads them."""
    texts = frame.select_dtypes("category")
    return frame.assign(**{c: texts[c].astype(object).where(texts[c].notna(), None) for c in texts})


def _ours(kind: str, **options: Any) -> Learner:
    def learner(X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool) -> Answers:
        import hornbeam as hb

        cls = getattr(hb, kind + ("Regressor" if numbers else "Classifier"))
        return _answers(cls(n_jobs=1, random_state=0, **options).fit(X, y), X_new, numbers)

    return learner


def hornbeam_best(
    X: pd.DataFrame, y: NDArray[Any], X_new: pd.DataFrame, numbers: bool, *, time_budget: float | None = None
) -> Answers:
    import hornbeam as hb

    model = hb.best(
        X,
        y,
        task="regression" if numbers else "classification",
        time_budget=time_budget,
        n_jobs=1,
        random_state=0,
    )
    return _answers(model, X_new, numbers)


OURS = ("hornbeam boosting", "hornbeam boosting, 100 rounds", "hornbeam forest", "hb.best")
# Who has, on the same rows, as many seconds as somebody else took.
TIMED = {OURS[3]: "CatBoost"}

LEARNERS: dict[str, Learner] = {
    OURS[0]: _ours("GradientBoosting"),
    OURS[1]: _ours("GradientBoosting", n_estimators=100),
    OURS[2]: _ours("RandomForest"),
    OURS[3]: hornbeam_best,
    "CatBoost": catboost,
    "LightGBM": lightgbm,
    "XGBoost": xgboost,
    "HistGradientBoosting": hist_gradient_boosting,
    "YDF": _ydf("GradientBoostedTreesLearner"),
    "scikit-learn forest": sklearn_forest,
    "YDF forest": _ydf("RandomForestLearner"),
}
