"""Problems and models for the tests of AdaBoost."""

from typing import Any

import numpy as np
from core.growing import same_bits
from sklearn.datasets import make_classification

import hornbeam as hb


def noisy_problem(n_rows: int = 300, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n_rows, 6, n_informative=4, n_classes=n_classes, flip_y=0.1, random_state=seed)
    return X.round(2), y


def boosted(X: Any, y: Any, **parameters: Any) -> hb.AdaBoostClassifier:
    return hb.AdaBoostClassifier(**{"n_estimators": 20, "keep_weights": True, **parameters}).fit(X, y)


def same_boosting(a: Any, b: Any) -> bool:
    trees = zip(a._model.trees, b._model.trees, strict=True)
    return np.array_equal(a.estimator_weights_, b.estimator_weights_) and all(
        same_bits(*pair) for pair in trees
    )
