"""What varies over training sets: freshly drawn tables, and the predictions of a model fitted to each.

Bootstrap samples of one table only imitate that. If tables can be drawn at will (simulations, or parts of a
large table), `ensemble_variance` measures how strongly the members of an ensemble are correlated over them,
and what averaging them gains; `hb.bias_variance(tables=...)` decomposes the error.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from hornbeam.crowds import variance_of_mean
from hornbeam.data.sources import refuse_corrupt_sparse
from hornbeam.params import resolve_random_key
from hornbeam.recipes.members import seeds_of, with_seed

__all__ = ["EnsembleVariance", "ensemble_variance", "fitted_on_each"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EnsembleVariance:
    """How much the predictions of an ensemble's members vary over training sets, alone and together.

    `variance` (s^2) is that of one member, `rho` the correlation of two members of one ensemble, both over
    training sets and averaged over the predicted rows. The mean of n members has the variance `predicted` =
    rho s^2 + (1 - rho) s^2 / n; `measured` is what it has.
    """

    rho: float
    variance: float
    predicted: float
    measured: float
    n_members: int
    n_tables: int

    def __str__(self) -> str:
        return (
            f"rho {self.rho:.3f}, variance of a member {self.variance:.4g}, of the mean of {self.n_members} "
            f"{self.measured:.4g} (rho s^2 + (1 - rho) s^2 / n = {self.predicted:.4g}); "
            f"{self.n_tables} tables"
        )


def ensemble_variance(
    estimator: Any, tables: Iterable[tuple[Any, Any]], X: Any, *, random_state: Any = None
) -> EnsembleVariance:
    """Fit an ensemble to each of several training sets and compare its members' predictions for rows X.

    `tables` gives pairs (X, y), as a list or a generator. Members are `estimators_` of the fitted ensemble. A
    single model has none: its fits to two successive tables then count as the members of one ensemble, and
    with independent tables their correlation is 0, except for chance.
    """
    refuse_corrupt_sparse(X)
    fits = fitted_on_each(estimator, tables, random_state)
    classes = _all_classes(fits)
    if hasattr(fits[0], "estimators_"):
        answers = np.stack([_members_answers(model, X, classes) for model in fits])
    else:
        alone = np.stack([_answers(model, X, classes) for model in fits])
        if len(alone) < 4:
            raise ValueError(f"Two members per ensemble, of a single model, need 4 tables; got {len(alone)}.")
        pairs = len(alone) // 2
        answers = alone[: 2 * pairs].reshape(pairs, 2, *alone.shape[1:])
    return _variance_of(answers, len(fits))


def fitted_on_each(estimator: Any, tables: Iterable[tuple[Any, Any]], random_state: Any) -> list[Any]:
    """Fit copies of an estimator, one to each table, with seeds of their own."""
    key = resolve_random_key(random_state)
    fits = []
    for number, table in enumerate(tables):
        if not isinstance(table, tuple | list) or len(table) != 2:
            raise ValueError(
                f"tables must give pairs (X, y); number {number} is a {type(table).__name__}. A generator of "
                "pairs will do."
            )
        seed = int(seeds_of(key, range(number, number + 1))[0])
        fits.append(with_seed(clone(estimator), seed).fit(*table))
    if len(fits) < 2:
        raise ValueError(f"Variance over training sets needs two tables or more; got {len(fits)}.")
    return fits


def _variance_of(answers: FloatArray, n_tables: int) -> EnsembleVariance:
    """Decompose the variance of predictions: ensembles x members x rows x values.

    Members of one ensemble vary by (1 - rho) s^2, their means by rho s^2 + (1 - rho) s^2 / n.
    """
    n_members = answers.shape[1]
    if n_members < 2:
        raise ValueError("Correlation needs two members or more; the ensemble has one.")
    own = float(answers.var(axis=1, ddof=1).mean())
    measured = float(answers.mean(axis=1).var(axis=0, ddof=1).mean())
    shared = measured - own / n_members
    variance = shared + own
    rho = shared / variance if variance > 0 else 0.0
    rho = float(np.clip(rho, -1 / (n_members - 1), 1))
    return EnsembleVariance(
        rho=rho,
        variance=variance,
        predicted=variance_of_mean(n_members, max(variance, 0.0), rho),
        measured=measured,
        n_members=n_members,
        n_tables=n_tables,
    )


def _all_classes(fits: list[Any]) -> npt.NDArray[Any] | None:
    if not is_classifier(fits[0]):
        return None
    return np.unique(np.concatenate([np.asarray(model.classes_) for model in fits]))


def _members_answers(ensemble: Any, X: Any, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Return each member's predictions: members x rows x values."""
    features = getattr(ensemble, "estimators_features_", None)
    said = []
    for number, member in enumerate(np.ravel(np.asarray(ensemble.estimators_, dtype=object))):
        own = X
        if features is not None and getattr(member, "n_features_in_", None) == len(features[number]):
            own = _safe_indexing(X, features[number], axis=1)
        said.append(_answers(member, own, classes))
    return np.stack(said)


def _answers(model: Any, X: Any, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Return rows x values: numbers, or the probabilities of all classes, or votes."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if classes is None or not is_classifier(model):
        return np.asarray(model.predict(X), dtype=np.float64).reshape(n_rows, -1)
    if not hasattr(model, "predict_proba"):
        votes: FloatArray = (np.asarray(model.predict(X))[:, np.newaxis] == classes).astype(np.float64)
        return votes
    probabilities = np.zeros((n_rows, len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X)
    return probabilities
