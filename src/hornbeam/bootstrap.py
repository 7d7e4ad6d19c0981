"""Drawing with replacement to estimate how much things vary: statistics, models, members of an ensemble.

* `bootstrap`: the standard error and intervals of any statistic (Efron and Tibshirani 1993).
* * `bias_variance`: how much of a model's error is bias, and how much is variance over training samples.
* * `member_agreement`: how similarly the members of one fitted ensemble predict, over rows. Their similarity
over training sets, which decides what averaging gains, is `training_sets.ensemble_variance`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import special
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from hornbeam.data.sources import refuse_corrupt_sparse
from hornbeam.params import resolve_random_key
from hornbeam.recipes.bag import plan_draws
from hornbeam.recipes.members import seeds_of, with_seed
from hornbeam.training_sets import fitted_on_each
from hornbeam.warnings import RenamedWarning, warn

__all__ = [
    "BiasVariance",
    "Bootstrap",
    "MemberAgreement",
    "bias_variance",
    "bootstrap",
    "member_agreement",
    "member_correlation",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_MOST_JACKKNIFE_BLOCKS = 200


# --- A statistic -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bootstrap:
    """A statistic, how much it varies, and the replicates that show it.

    `percentile` and `bca` are intervals at the given confidence, two numbers or two arrays: from the
    replicates themselves, and corrected for bias and skewness. `bias` is the mean of the replicates minus the
    value.
    """

    value: Any
    standard_error: Any
    bias: Any
    percentile: tuple[Any, Any]
    bca: tuple[Any, Any]
    confidence: float
    replicates: FloatArray = field(repr=False)

    def __str__(self) -> str:
        low, high = (_few_digits(end) for end in self.bca)
        return (
            f"{_few_digits(self.value)} (standard error {_few_digits(self.standard_error)}, "
            f"{self.confidence:.0%} interval {low} to {high})"
        )

    def __repr__(self) -> str:
        return f"<Bootstrap of {len(self.replicates)} samples: {self}>"


def _few_digits(value: Any) -> str:
    """Write a number, or a small array, with as many digits as are worth reading."""
    return np.array2string(np.asarray(value), precision=4, threshold=20) if np.ndim(value) else f"{value:.4g}"


def bootstrap(
    statistic: Callable[..., Any],
    *arrays: Any,
    n: int = 1000,
    confidence: float = 0.95,
    groups: Any = None,
    random_state: Any = None,
) -> Bootstrap:
    """Draw rows of arrays with replacement, `n` times, and see how a statistic of them varies.

    `statistic` takes the arrays, or tables, and returns a number or an array of numbers. Rows at the same
    place in several arrays stay together; rows of equal `groups` are drawn together.
    """
    if not arrays:
        raise ValueError("bootstrap needs data: give one array or more after the statistic.")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(f"n must be a whole number >= 2; got {n!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a number in (0, 1); got {confidence!r}.")
    tables = [np.asarray(array) if isinstance(array, list | tuple) else array for array in arrays]
    for table in tables:
        refuse_corrupt_sparse(table)
    check_consistent_length(*tables)
    n_rows = _n_rows(tables[0])
    codes = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int32)
    if codes is not None and len(codes) != n_rows:
        raise ValueError(f"groups has {len(codes)} entries, but the data have {n_rows} rows.")

    def evaluate(rows: IntArray) -> FloatArray:
        return np.asarray(statistic(*(_safe_indexing(table, rows) for table in tables)), dtype=np.float64)

    plan = plan_draws(
        np.arange(n_rows, dtype=np.uint32),
        n_rows,
        key=resolve_random_key(random_state),
        with_replacement=True,
        max_samples=None,
        groups=codes,
    )
    everything = np.arange(n_rows)
    value = evaluate(everything)
    replicates = np.stack([evaluate(np.repeat(everything, plan.times(draw))) for draw in range(n)])
    units = everything if codes is None else codes
    left_out = [evaluate(rows) for rows in _jackknife_samples(units)]
    tail = (1 - confidence) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail], axis=0)
    return Bootstrap(
        value=_plain(value),
        standard_error=_plain(replicates.std(axis=0, ddof=1)),
        bias=_plain(replicates.mean(axis=0) - value),
        percentile=(_plain(low), _plain(high)),
        bca=_bca_interval(value, replicates, np.stack(left_out), tail),
        confidence=confidence,
        replicates=replicates,
    )


def _n_rows(table: Any) -> int:
    return int(table.shape[0]) if hasattr(table, "shape") else len(table)


def _plain(value: FloatArray) -> Any:
    return value.item() if value.ndim == 0 else value


def _jackknife_samples(units: IntArray | npt.NDArray[np.int32]) -> list[IntArray]:
    """List the samples that leave out one unit each, or one block of units if there are many."""
    n_blocks = min(int(units.max()) + 1, _MOST_JACKKNIFE_BLOCKS)
    return [np.flatnonzero(units % n_blocks != block) for block in range(n_blocks)]


def _bca_interval(
    value: FloatArray, replicates: FloatArray, left_out: FloatArray, tail: float
) -> tuple[Any, Any]:
    """Correct the percentiles for bias (how many replicates lie below the value) and for skewness."""
    n = len(replicates)
    below = (np.sum(replicates < value, axis=0) + np.sum(replicates == value, axis=0) / 2) / n
    bias = special.ndtri(np.clip(below, 0.5 / n, 1 - 0.5 / n))
    deviations = left_out.mean(axis=0) - left_out
    squares = np.square(deviations).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        skewness = np.where(squares > 0, (deviations**3).sum(axis=0) / (6 * squares**1.5), 0.0)
    ends = []
    for z in (special.ndtri(tail), special.ndtri(1 - tail)):
        shares = special.ndtr(bias + (bias + z) / (1 - skewness * (bias + z)))
        flat = replicates.reshape(n, -1)
        found = [np.quantile(flat[:, k], share) for k, share in enumerate(np.ravel(shares))]
        ends.append(_plain(np.reshape(np.array(found), value.shape)))
    return ends[0], ends[1]


# --- A model ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BiasVariance:
    """The error of a model over training samples, decomposed.

    Squared error: `error` = `bias` + `variance`, exactly; `bias` is the squared distance of the mean
    prediction from the target, including noise. If the `truth` without noise is given, `bias` is the squared
    distance from that, `noise` that of the targets from it, and `error` = `bias` + `variance` + `noise`,
    except for chance in the noise of the test rows. 0/1 error: `bias` is the error of the class predicted
    most often, `variance` how often a prediction differs from that; `variance_effect` = `error` - `bias` is
    what the variance adds to the error, negative where it corrects mistakes (James 2003).
    """

    error: float
    bias: float
    variance: float
    variance_effect: float
    standard_error: float
    n_fits: int
    loss: str
    noise: float | None = None

    def __str__(self) -> str:
        noise = "" if self.noise is None else f", noise {self.noise:.4g}"
        return (
            f"error {self.error:.4g} (standard error {self.standard_error:.2g}): bias {self.bias:.4g}, "
            f"variance {self.variance:.4g}{noise}; {self.n_fits} fits"
        )

    def __repr__(self) -> str:
        return f"<{self.loss} {self}>"


def bias_variance(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    tables: Iterable[tuple[Any, Any]] | None = None,
    X_test: Any = None,
    y_test: Any = None,
    truth: Any = None,
    n: int = 50,
    test_share: float = 0.3,
    loss: Literal["squared", "zero_one"] | None = None,
    random_state: Any = None,
) -> BiasVariance:
    """Fit an estimator to training sets and decompose its error on test rows.

    The training sets are `tables`, independent pairs (X, y) in a list or a generator, with `X_test` and
    `y_test`; or `n` bootstrap samples of X and y, of which a share is set aside if no test rows are given.
    `truth` are the targets of the test rows without noise, if they are known: noise is then separated from
    bias. The loss is 0/1 for classifiers and squared error otherwise, unless it is given.
    """
    loss = loss or ("zero_one" if is_classifier(estimator) else "squared")
    if loss not in ("squared", "zero_one"):
        raise ValueError(f"loss must be 'squared' or 'zero_one'; got {loss!r}.")
    if (X_test is None) != (y_test is None):
        raise ValueError("Give both X_test and y_test, or neither.")
    if (tables is None) == (X is None) or (X is None) != (y is None):
        raise ValueError("Give X and y, or tables=pairs of X and y; one of the two.")
    if X_test is None and (tables is not None or truth is not None):
        raise ValueError("Give X_test and y_test: tables and truth need rows that all fits are asked about.")
    for table in (X, X_test):
        refuse_corrupt_sparse(table)
    if tables is not None:
        fits = fitted_on_each(estimator, tables, random_state)
        answers = np.stack([np.asarray(model.predict(X_test)) for model in fits])
    else:
        answers, y_test = _answers_of_samples(
            estimator, X, y, X_test, y_test, n=n, share=test_share, key=resolve_random_key(random_state)
        )
    return _taken_apart(answers, np.asarray(y_test), loss, truth)


def _answers_of_samples(
    estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, n: int, share: float, key: int
) -> tuple[npt.NDArray[Any], Any]:
    """Ask fits to bootstrap samples about test rows; return answers, fits x rows, and what is right."""
    target = np.asarray(y)
    if X_test is None:
        X, target, X_test, y_test = _set_aside(X, target, share, key)
    n_rows = len(target)
    plan = plan_draws(
        np.arange(n_rows, dtype=np.uint32), n_rows, key=key, with_replacement=True, max_samples=None
    )
    predictions = []
    for draw, seed in enumerate(seeds_of(key, range(n)).tolist()):
        rows = np.repeat(np.arange(n_rows), plan.times(draw))
        model = with_seed(clone(estimator), seed).fit(_safe_indexing(X, rows), target[rows])
        predictions.append(np.asarray(model.predict(X_test)))
    return np.stack(predictions), y_test


def _taken_apart(answers: npt.NDArray[Any], wanted: npt.NDArray[Any], loss: str, truth: Any) -> BiasVariance:
    parts = _squared_parts if loss == "squared" else _zero_one_parts
    errors, bias, variance = parts(answers, wanted)
    error, noise = float(np.mean(errors)), None
    if truth is not None:
        known = np.asarray(truth)
        if known.shape != wanted.shape:
            raise ValueError(f"truth has shape {known.shape}, but y_test has {wanted.shape}.")
        _, bias, _ = parts(answers, known)
        noise = float(np.mean((wanted - known) ** 2 if loss == "squared" else wanted != known))
    n = len(answers)
    return BiasVariance(
        error=error,
        bias=bias,
        variance=variance,
        variance_effect=error - bias - (noise or 0.0),
        standard_error=float(np.std(errors, ddof=1) / np.sqrt(n)) if n > 1 else float("nan"),
        n_fits=n,
        loss=loss,
        noise=noise,
    )


def _set_aside(X: Any, y: npt.NDArray[Any], share: float, key: int) -> tuple[Any, Any, Any, Any]:
    if not 0 < share < 1:
        raise ValueError(f"test_share must be a number in (0, 1); got {share!r}.")
    order = np.random.default_rng(key).permutation(len(y))
    n_test = min(len(y) - 1, max(1, round(share * len(y))))
    test, train = np.sort(order[:n_test]), np.sort(order[n_test:])
    return _safe_indexing(X, train), y[train], _safe_indexing(X, test), y[test]


def _squared_parts(predictions: FloatArray, truth: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the error of each fit, bias and variance."""
    errors: FloatArray = np.square(predictions - truth).reshape(len(predictions), -1).mean(axis=1)
    mean = predictions.mean(axis=0)
    return errors, float(np.mean((mean - truth) ** 2)), float(np.mean(predictions.var(axis=0)))


def _zero_one_parts(
    predictions: npt.NDArray[Any], truth: npt.NDArray[Any]
) -> tuple[FloatArray, float, float]:
    labels = np.unique(np.concatenate([predictions.ravel(), truth.ravel()]))
    votes = np.stack([(predictions == label).sum(axis=0) for label in labels])
    main = labels[votes.argmax(axis=0)]
    errors: FloatArray = (predictions != truth).reshape(len(predictions), -1).mean(axis=1)
    return errors, float(np.mean(main != truth)), float(np.mean(predictions != main))


# --- The members of an ensemble --------------------------------------------------------------------------


@dataclass(frozen=True)
class MemberAgreement:
    """How similarly the members of one fitted ensemble predict.

    `rho` is the mean correlation between two members, `member_variance` (s^2) their mean variance, both over
    the given rows: good members agree on rows, whatever training sets they come from. Over these rows the
    average of T members is predicted to vary by rho s^2 + (1 - rho) / T s^2; `measured_variance` is what it
    has. `root_share` tells how often each column is tested at the root.
    """

    rho: float
    member_variance: float
    predicted_variance: float
    measured_variance: float
    n_members: int
    root_share: Mapping[str, float]


def member_correlation(ensemble: Any, X: Any, y: Any = None) -> MemberAgreement:
    """Return `member_agreement(ensemble, X, y)`: the old name, which promised another correlation."""
    warn(
        "member_correlation is now member_agreement, as it compares members over rows. The correlation over "
        "training sets, that of rho s^2 + (1 - rho) s^2 / n, is hb.ensemble_variance(estimator, tables, X).",
        RenamedWarning,
    )
    return member_agreement(ensemble, X, y)


def member_agreement(ensemble: Any, X: Any, y: Any = None) -> MemberAgreement:
    """Compare the predictions of the members of a fitted ensemble for rows of X, or with `y` their errors.

    Takes any model with `estimators_`. For classifiers it compares probabilities, all classes together.
    """
    check_is_fitted(ensemble)
    refuse_corrupt_sparse(X)
    said = np.stack([_answers(member, X, ensemble, k) for k, member in enumerate(ensemble.estimators_)])
    if len(said) < 2:
        raise ValueError(f"Correlation needs two members or more; there are {len(said)}.")
    if y is not None:
        said = said - _truth(ensemble, y, said.shape[1])
    deviations = (said - said.mean(axis=1, keepdims=True)).reshape(len(said), -1)
    spread = np.sqrt(np.square(deviations).mean(axis=1))
    varying = spread > 0
    units = deviations[varying] / spread[varying, np.newaxis]
    n, n_members = len(units), len(said)
    # The sum over all pairs follows from the sum of all members.
    together = float(np.square(units.sum(axis=0)).mean())
    rho = (together - n) / (n * (n - 1)) if n > 1 else 0.0
    variance = float(np.mean(spread**2))
    return MemberAgreement(
        rho=rho,
        member_variance=variance,
        predicted_variance=rho * variance + (1 - rho) / n_members * variance,
        measured_variance=float(np.square(deviations.mean(axis=0)).mean()),
        n_members=n_members,
        root_share=_root_share(ensemble),
    )


def _answers(member: Any, X: Any, ensemble: Any, number: int) -> FloatArray:
    """Return what a member says: rows x values, of all classes of the ensemble."""
    features = getattr(ensemble, "estimators_features_", None)
    if (
        features is not None
        and len(features[number]) < ensemble.n_features_in_
        and (getattr(member, "n_features_in_", 0) == len(features[number]))
    ):
        X = _safe_indexing(X, features[number], axis=1)
    if not is_classifier(ensemble):
        return np.asarray(member.predict(X), dtype=np.float64).reshape(_n_rows(X), -1)
    if not hasattr(member, "predict_proba"):
        votes: FloatArray = (np.asarray(member.predict(X))[:, np.newaxis] == ensemble.classes_).astype(float)
        return votes
    probabilities = np.zeros((_n_rows(X), len(ensemble.classes_)))
    probabilities[:, np.searchsorted(ensemble.classes_, member.classes_)] = member.predict_proba(X)
    return probabilities


def _truth(ensemble: Any, y: Any, n_rows: int) -> FloatArray:
    if is_classifier(ensemble):
        truth: FloatArray = (np.asarray(y)[:, np.newaxis] == ensemble.classes_).astype(np.float64)
        return truth
    return np.asarray(y, dtype=np.float64).reshape(n_rows, -1)


def _root_share(ensemble: Any) -> dict[str, float]:
    """Tell how often each column is tested at the root, among members that are trees with a test."""
    members = [member for member in ensemble.estimators_ if hasattr(member, "tree_")]
    asking = [member for member in members if member.tree_.feature[0] >= 0]
    roots = [_column_of_user(member, int(member.tree_.feature[0])) for member in asking]
    names = getattr(ensemble, "feature_names_in_", [f"x{j}" for j in range(ensemble.n_features_in_)])
    counts = np.bincount(roots, minlength=len(names))
    return {str(name): float(count / max(1, len(roots))) for name, count in zip(names, counts, strict=True)}


def _column_of_user(member: Any, feature: int) -> int:
    """Return the column of X that a member's feature is, or is made of."""
    ours = getattr(member, "_model", None)
    return feature if ours is None else int(ours.schema.sources[feature])
