"""How much each column matters. In: a fitted model. Out: a number per column, or `Importances`."""

import warnings
from collections.abc import Sequence
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.likeness import LIKE, alike
from hornbeam.data.rows import Rows
from hornbeam.data.table import read_table
from hornbeam.data.wording import shown
from hornbeam.estimators.explained import Explainable, contributions, place_of_column
from hornbeam.inside.importances import (
    Importances,
    Judged,
    left_out,
    noise_of_leaving_out,
    noise_of_shuffling,
    shuffled,
    with_noise,
)

__all__ = [
    "Importance",
    "Weighable",
    "WhichGroups",
    "groups_of_columns",
    "importance",
    "named",
    "noise_in_a_new_fit",
]

FloatArray = npt.NDArray[np.float64]
Importance = Literal["gain", "count", "contributions", "permutation", "drop"]
WhichGroups = Literal["alike"] | float | Sequence[Sequence[Any]] | None


class Weighable(Explainable, Protocol):
    """A fitted model whose columns have importances."""

    def _share_of_tests(self) -> FloatArray: ...


def importance(
    model: Weighable,
    kind: Importance = "gain",
    *,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    groups: WhichGroups = None,
    noise: bool = False,
    n_repeats: int = 5,
    cv: Any = 5,
    scoring: Any = None,
    random_state: int | None = 0,
) -> Any:
    """Return how much each column matters; see `Inspectable.importance`."""
    check_is_fitted(model)
    if kind not in get_args(Importance):
        kinds = ", ".join(map(repr, get_args(Importance)))
        raise ValueError(f"kind must be one of {kinds}; got {shown(kind)}.")
    _refuse_to_guess_rows(kind, X, y, groups, noise=noise)
    if kind in ("permutation", "drop"):
        from sklearn.metrics import check_scoring  # noqa: PLC0415 - slow to import

        weight = None if sample_weight is None else np.asarray(sample_weight)
        score = check_scoring(model, scoring)
        judged = Judged(model, Rows(X), np.asarray(y), weight, score, random_state, cv)
        return _judge_columns(model, kind, judged, groups, noise=noise, n_repeats=n_repeats)
    if groups is None and not noise:
        return _per_column(model, kind, X)
    return _weighed(model, kind, X, y, groups, noise=noise, seed=random_state)


def _refuse_to_guess_rows(kind: Importance, X: Any, y: Any, groups: WhichGroups, *, noise: bool) -> None:
    needs_y = kind in ("permutation", "drop") or noise
    by_likeness = isinstance(groups, str | float)
    if (X is None and (needs_y or by_likeness or kind == "contributions")) or (needs_y and y is None):
        what = "noise=True" if noise else f"groups={groups!r}" if by_likeness else f"kind={kind!r}"
        raise ValueError(f"{what} needs rows to look at: give X{' and y' * needs_y}.")


def _per_column(model: Weighable, kind: Importance, X: Any) -> FloatArray:
    if kind == "count":
        return model._share_of_tests()
    if kind == "contributions":
        return _mean_size(model, X, [[j] for j in range(model.n_features_in_)])
    estimator: Any = model
    importances: FloatArray = estimator.feature_importances_
    return importances


def _mean_size(model: Weighable, X: Any, groups: Sequence[Sequence[int]]) -> FloatArray:
    """Return the mean size of the contributions of groups, added up over classes or outputs."""
    values = contributions(model, X).values
    sizes = [np.abs(values[:, list(group)].sum(axis=1)).mean(axis=0).sum() for group in groups]
    return np.array(sizes, dtype=np.float64)


def groups_of_columns(model: Weighable, groups: WhichGroups, X: Any) -> list[list[int]]:
    """Return the columns of each entry: first the groups, given or found, then the columns in no group."""
    if groups is None:
        return [[j] for j in range(model.n_features_in_)]
    found: list[list[int]] = []
    if isinstance(groups, str) and groups != "alike":
        raise ValueError(f"groups must be 'alike', a number or lists of columns; got {shown(groups)}.")
    if isinstance(groups, str | float | int):
        limit = LIKE if isinstance(groups, str) else float(groups)
        if not 0 < limit <= 1:
            raise ValueError(f"groups, a limit of likeness, must be above 0 and at most 1; got {groups}.")
        found = [list(group) for group in _alike(X, limit)]
    else:
        found = [[place_of_column(model, column) for column in group] for group in groups]
    grouped = [column for group in found for column in group]
    twice = {column for column in grouped if grouped.count(column) > 1}
    if twice:
        raise ValueError(f"Column {shown(model._column_names()[min(twice)])} is in two groups.")
    return sorted([*found, *([j] for j in range(model.n_features_in_) if j not in grouped)])


def named(model: Weighable, groups: Sequence[Sequence[int]]) -> tuple[tuple[str, ...], ...]:
    """Name the columns of each group."""
    names = model._column_names()
    return tuple(tuple(names[column] for column in group) for group in groups)


def _alike(X: Any, limit: float = LIKE) -> tuple[tuple[int, ...], ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit has already warned about this table
        return alike(read_table(X), limit)


def _judge_columns(
    model: Weighable, kind: str, judged: Judged, groups: WhichGroups, *, noise: bool, n_repeats: int
) -> Importances:
    """Shuffle groups of columns, or leave them out."""
    entries = groups_of_columns(model, groups, judged.rows.native)
    if kind == "drop":
        found = left_out(judged, entries)
        level = noise_of_leaving_out(judged) if noise else None
    else:
        found = shuffled(judged, entries, n_repeats)
        level = noise_of_shuffling(judged, n_repeats) if noise else None
    spread = found.std(axis=1)
    return Importances(
        kind, named(model, entries), found, spread, named(model, _alike(judged.rows.native)), level
    )


def _weighed(
    model: Weighable, kind: Importance, X: Any, y: Any, groups: WhichGroups, *, noise: bool, seed: int | None
) -> Importances:
    """Add up the gains of the columns of groups, or how often they are tested."""
    entries = groups_of_columns(model, groups, X)
    if kind == "contributions":
        found = _mean_size(model, X, entries)
    else:
        shares = _per_column(model, kind, X)
        found = np.array([shares[group].sum() for group in entries])
    level = noise_in_a_new_fit(model, kind, X, y, seed) if noise else None
    like = () if X is None else named(model, _alike(X))
    nothing = np.zeros(len(entries))
    return Importances(kind, named(model, entries), found[:, np.newaxis], nothing, like, level)


def noise_in_a_new_fit(
    model: Weighable, kind: Importance, X: Any, y: Any, seed: int | None, **options: Any
) -> FloatArray:
    """Fit a copy of the model to rows with noise columns; return their importance."""
    rows, copies = with_noise(Rows(X), seed)
    fitted: Any = clone(model).fit(rows.native, y)
    found = fitted.importance(kind, X=rows.native, y=y, **options)
    return np.asarray(getattr(found, "importances_mean", found))[copies]
