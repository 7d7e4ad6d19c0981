"""Bags of any estimator: each member is a copy of one estimator, fitted on rows and columns of its own.

A row that was drawn twice has weight 2 if the estimator takes weights, else it is given twice. Rows that
already have weights keep them in the first case, and are drawn in proportion to them in the second. Members
are fitted in threads; `joblib.parallel_config` chooses processes instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import joblib
import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from hornbeam import _core
from hornbeam.errors import words_of
from hornbeam.recipes.bag import BagPlan, MemberFeatures
from hornbeam.recipes.listen import Listener
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.threads import in_threads_or_in_turn
from hornbeam.warnings import with_warnings_of_caller

__all__ = ["AnyBag", "answers_of", "seeds_of"]

FloatArray = npt.NDArray[np.float64]


def seeds_of(key: int, members: range) -> npt.NDArray[np.uint32]:
    """Return a seed per member, from which its random numbers follow."""
    keys = _core.member_keys(key, members.start, len(members))
    return (keys >> np.uint64(32)).astype(np.uint32)


def answers_of(
    member: Any,
    X: Any,
    features: npt.NDArray[np.int32] | None,
    classes: Any,
    *,
    hard_votes: bool,
    options: Mapping[str, Any] | None = None,
) -> FloatArray:
    """Let a member predict, with some options: rows x classes, for all classes, or rows x 1 for numbers."""
    options = options or {}
    X = X if features is None else _safe_indexing(X, features, axis=1)
    if classes is None:
        return np.asarray(member.predict(X, **options), dtype=np.float64).reshape(-1, 1)
    if hard_votes:
        predicted = np.asarray(member.predict(X, **options))
        votes: FloatArray = (predicted[:, np.newaxis] == classes).astype(np.float64)
        return votes
    probabilities = member.predict_proba(X, **options)
    if len(member.classes_) == len(classes):
        return np.asarray(probabilities, dtype=np.float64)
    everything = np.zeros(
        (len(probabilities), len(classes))
    )  # a class that the sample lacks has probability 0
    everything[:, np.searchsorted(classes, member.classes_)] = probabilities
    return everything


@dataclass(frozen=True, eq=False)
class AnyBag:
    """A bag of copies of an estimator; the plan numbers the rows of X and y.

    `classes` are those of a classifier, None for numbers.
    """

    estimator: Any
    X: Any
    y: npt.NDArray[Any]
    weights: FloatArray | None
    classes: npt.NDArray[Any] | None
    plan: BagPlan
    features: MemberFeatures
    n_features: int
    hard_votes: bool
    n_threads: int

    def grow(self, members: range, listener: Listener) -> list[Any]:
        """Fit some members."""
        fit_member = joblib.delayed(with_warnings_of_caller(self._fit_member))
        tasks = list(zip(members, seeds_of(self.plan.key, members).tolist(), strict=True))

        def in_threads() -> list[Any]:
            parallel = joblib.Parallel(n_jobs=self.n_threads, prefer="threads", return_as="generator")
            return listened(parallel(fit_member(*task) for task in tasks))

        def listened(models: Iterable[Any]) -> list[Any]:
            made = []
            for model in models:
                made.append(model)
                listener.done(members.start + len(made))
            return made

        return in_threads_or_in_turn(in_threads, lambda: listened(self._fit_member(*task) for task in tasks))

    def _fit_member(self, member: int, seed: int) -> Any:
        model = with_seed(clone(self.estimator), seed)
        times = self.plan.times(member)
        rows = np.flatnonzero(times)
        weights: Any = times[rows] if self.weights is None else times[rows] * self.weights[rows]
        repeated = bool(np.any(times > 1))
        options: dict[str, Any] = {}
        if has_fit_parameter(model, "sample_weight"):
            if repeated or self.weights is not None:
                options["sample_weight"] = np.asarray(weights, dtype=np.float64)
        else:
            rows = np.repeat(rows, times[rows])
        X = _safe_indexing(self.X, rows)
        features = self.features_of(member)
        X = X if features is None else _safe_indexing(X, features, axis=1)
        try:
            model.fit(X, self.y[rows], **options)
        except Exception as error:
            whole = self._fitted_on_all_rows(member, seed) if self._lacks_a_class(rows) else None
            if whole is None:
                self._raise_naming_the_member(member, model, rows, error)
            return whole
        return model

    def _fitted_on_all_rows(self, member: int, seed: int) -> Any:
        """Fit a member on all rows, with weight 0 for those not in its sample; None if that fails, too.

        Linear models must see two classes, but accept one whose rows all have weight 0.
        """
        model = with_seed(clone(self.estimator), seed)
        if not has_fit_parameter(model, "sample_weight"):
            return None
        features = self.features_of(member)
        X = self.X if features is None else _safe_indexing(self.X, features, axis=1)
        times = self.plan.times(member).astype(np.float64)
        try:
            model.fit(X, self.y, sample_weight=times if self.weights is None else times * self.weights)
        except (
            Exception
        ):  # any learner's error: the caller then raises the one that the member's own sample caused
            return None
        return model

    def _lacks_a_class(self, rows: npt.NDArray[np.int64]) -> bool:
        return self.classes is not None and len(np.unique(self.y[rows])) < len(self.classes)

    def _raise_naming_the_member(
        self, member: int, model: Any, rows: npt.NDArray[np.int64], error: Exception
    ) -> NoReturn:
        lacking = ""
        if self._lacks_a_class(rows):
            lacking = " Its sample lacks a class; stratify=True draws from every class."
        kinds = (ValueError, TypeError, MemoryError)
        kind = next((kind for kind in kinds if isinstance(error, kind)), RuntimeError)
        said = words_of(error)
        raise kind(f"Member {member}, a {type(model).__name__}, failed to fit: {said}{lacking}") from error

    def features_of(self, member: int) -> npt.NDArray[np.int32] | None:
        """List the features of a member; None for all."""
        if not self.features.n_wanted:
            return None
        return self.features.of(self.plan, member, self.n_features)

    def answer(self, members: range, made: Sequence[Any], out_of_bag: OutOfBag) -> None:
        """Let members predict the rows that their samples lack."""
        for member, model in zip(members, made, strict=True):
            rows = self.plan.rows_left_out(member)
            if len(rows) == 0:
                out_of_bag.add(rows, np.zeros((0, *out_of_bag.sums.shape[1:])))
                continue
            values = answers_of(
                model,
                _safe_indexing(self.X, rows),
                self.features_of(member),
                self.classes,
                hard_votes=self.hard_votes,
            )
            out_of_bag.add(rows, values[:, np.newaxis, :])


def with_seed(model: Any, seed: int) -> Any:
    """Give a seed to everything random in an estimator; several parts get different ones."""
    random = sorted(
        name for name in model.get_params(deep=True) if name.rpartition("__")[2] == "random_state"
    )
    seeds = [seed, *np.random.SeedSequence(seed).generate_state(len(random))]
    return model.set_params(**{name: int(one) for name, one in zip(random, seeds, strict=False)})
