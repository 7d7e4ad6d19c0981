"""Stacking: members predict rows they were not fitted on, and the next level learns from these predictions.

In: levels of members, a table, a target and a way to keep rows unseen. Out: fitted members, their answers,
and what the final estimator learns from. Three schemes: folds, shared by all members of all levels
(`cross_fitted`); parts, one for each level (`fitted_on_parts`); members that are fitted already
(`prefitted`). The members of a level are fitted side by side. A member that fails is named with its fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from hornbeam.data.shared import SharedTable, TableRows
from hornbeam.errors import member_error_for, words_of
from hornbeam.threads import in_threads_or_in_turn, share_of_threads
from hornbeam.warnings import with_warnings_of_caller

__all__ = [
    "DealtRows",
    "Level",
    "Member",
    "Method",
    "Splits",
    "StackData",
    "Stacked",
    "answers_of",
    "cross_fitted",
    "fitted_and_asked",
    "fitted_on_parts",
    "holdout_parts",
    "prefitted",
    "seeded",
]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]
Method = Literal["predict_proba", "decision_function", "predict"]
Splits = Sequence[tuple[RowArray, RowArray]]


@dataclass(frozen=True, eq=False)
class Member:
    """One learner of a level: its name, what is fitted, and which of its methods is called.

    With `shares_reading` it takes rows of a table that is read and encoded once for all members.
    """

    name: str
    estimator: Any
    method: Method
    shares_reading: bool = False


@dataclass(frozen=True, eq=False)
class StackData:
    """What a stack learns from. `classes` is None for numbers.

    `fit_options` returns what a member's `fit` gets besides X and y, for some rows.
    """

    y: npt.NDArray[Any]
    classes: npt.NDArray[Any] | None
    fit_options: Callable[[str, RowArray], dict[str, Any]]
    n_threads: int


@dataclass(frozen=True, eq=False)
class Level:
    """Fitted members, and the answers of each: rows x classes, or rows x 1; NaN where it has seen the row."""

    fitted: list[Any]
    answers: list[FloatArray]


@dataclass(frozen=True, eq=False)
class Stacked:
    """Fitted levels, and what the final estimator learns from: columns, and which rows of them."""

    levels: list[Level]
    features: Any
    final_rows: RowArray


# From the answers of a level to the columns that the next one sees.
Combine = Callable[[Sequence[Member], Sequence[FloatArray]], Any]


@dataclass(frozen=True)
class _Failure:
    member: Member
    fold: int | None
    error: Exception


# ------------------------------------------------------------------------------------------------------------
# Three schemes


def cross_fitted(
    levels: Sequence[Sequence[Member]], X: Any, data: StackData, splits: Splits, combine: Combine
) -> Stacked:
    """Fit level after level in folds; each learns from the out-of-fold answers of the one before."""
    features, made = X, []
    for members in levels:
        level = _cross_fit(members, features, data, splits)
        features = combine(members, level.answers)
        made.append(level)
    return Stacked(made, features, np.arange(len(data.y)))


def fitted_on_parts(
    levels: Sequence[Sequence[Member]], X: Any, data: StackData, parts: Sequence[RowArray], combine: Combine
) -> Stacked:
    """Fit each level on a part of its own, once; the last part is left for the final estimator."""
    features, made = X, []
    for number, members in enumerate(levels):
        unseen = np.sort(np.concatenate(parts[number + 1 :]))
        level = _fit_on_part(members, features, data, rows=parts[number], unseen=unseen, part=number + 1)
        features = combine(members, level.answers)
        made.append(level)
    return Stacked(made, features, parts[-1])


def prefitted(levels: Sequence[Sequence[Member]], X: Any, data: StackData, combine: Combine) -> Stacked:
    """Take members as they are and only let them predict."""
    features, made = X, []
    for members in levels:
        answers = []
        for member in members:
            try:
                answers.append(answers_of(member, member.estimator, features, data.classes))
            except Exception as error:
                _raise_failure(_Failure(member, None, error), "all rows")
        features = combine(members, answers)
        made.append(Level([member.estimator for member in members], answers))
    return Stacked(made, features, np.arange(len(data.y)))


# ------------------------------------------------------------------------------------------------------------
# One level


def _cross_fit(members: Sequence[Member], X: Any, data: StackData, splits: Splits) -> Level:
    """Fit every member on all rows, and a copy of it per fold to predict the rows that were left out."""
    everything = np.arange(len(data.y))
    table = DealtRows(X, members)
    tasks: list[tuple[int, int | None]] = [
        (m, fold) for m in range(len(members)) for fold in (None, *range(len(splits)))
    ]

    def attempt(m: int, fold: int | None) -> Any:
        train, test = (everything, None) if fold is None else splits[fold]
        return _tried(members[m], table, data, (train, test), fold=fold)

    results = _side_by_side(attempt, tasks, data.n_threads)
    _raise_failures(members, tasks, results, n_folds=len(splits))
    answers: list[FloatArray] = [np.empty(0)] * len(members)
    for (m, fold), result in zip(tasks, results, strict=True):
        if fold is not None:
            if answers[m].size == 0:
                answers[m] = np.full((len(data.y), result.shape[1]), np.nan)
            answers[m][splits[fold][1]] = result
    return Level(_on_all_rows(tasks, results), answers)


def _fit_on_part(
    members: Sequence[Member], X: Any, data: StackData, *, rows: RowArray, unseen: RowArray, part: int
) -> Level:
    """Fit every member on some rows, once; it predicts the rows `unseen`, and NaN stands for the others."""
    table = DealtRows(X, members)

    def attempt(m: int, _: int | None) -> Any:
        return _tried(members[m], table, data, (rows, unseen), fold=None)

    tasks: list[tuple[int, int | None]] = [(m, None) for m in range(len(members))]
    results = _side_by_side(attempt, tasks, data.n_threads)
    _raise_failures(members, tasks, results, n_folds=0, where=f"part {part}")
    answers = []
    for _, found in results:
        answers.append(np.full((len(data.y), found.shape[1]), np.nan))
        answers[-1][unseen] = found
    return Level([model for model, _ in results], answers)


def fitted_and_asked(
    member: Member,
    table: "DealtRows",
    data: StackData,
    rows: tuple[RowArray, RowArray | None],
    *,
    fold: int | None,
) -> Any:
    """Return a fitted copy, or for a fold its answers; for a part of the rows both."""
    train, test = rows
    model = clone(member.estimator)
    options = data.fit_options(member.name, train)
    model.fit(table.rows_for(member, ("fit", fold), train), data.y[train], **options)
    if test is None:
        return model
    found = answers_of(member, model, table.rows_for(member, ("ask", fold), test), data.classes)
    return found if fold is not None else (model, found)


def _tried(
    member: Member,
    table: "DealtRows",
    data: StackData,
    rows: tuple[RowArray, RowArray | None],
    *,
    fold: int | None,
) -> Any:
    """Return the result of `fitted_and_asked`, or the error."""
    try:
        return fitted_and_asked(member, table, data, rows, fold=fold)
    except Exception as error:
        return _Failure(member, fold, error)


class DealtRows:
    """The rows of a level's table as its members take them: shared where possible, otherwise copied."""

    def __init__(self, X: Any, members: Sequence[Member]) -> None:
        self._X = X
        shared = any(member.shares_reading for member in members)
        self._table = SharedTable(X, reader="stacking") if shared else None
        self._dealt: dict[tuple[str, int | None], TableRows] = {}

    def rows_for(self, member: Member, use: tuple[str, int | None], numbers: RowArray) -> Any:
        """Return some rows; those of one `use` are the same for all members."""
        if member.shares_reading and self._table is not None:
            return self._dealt.setdefault(use, self._table.rows(numbers))
        everything = np.array_equal(numbers, np.arange(self._X.shape[0]))
        return self._X if everything else _safe_indexing(self._X, numbers)


def _side_by_side(attempt: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], n_threads: int) -> list[Any]:
    """Run tasks in threads; each has its share of the threads for itself, and no more."""
    n_workers = min(n_threads, len(tasks))
    share = max(1, n_threads // n_workers)

    def with_its_share(*task: Any) -> Any:
        with share_of_threads(share):
            return attempt(*task)

    def in_turn() -> list[Any]:
        return [with_its_share(*task) for task in tasks]

    if n_workers == 1:
        return in_turn()
    with threadpool_limits(limits=share):  # of numerical libraries, which members of others use
        # scikit-learn's own Parallel passes its settings on, which each thread otherwise has for itself
        parallel = Parallel(n_jobs=n_workers, backend="threading")
        in_thread = delayed(with_warnings_of_caller(with_its_share))
        return in_threads_or_in_turn(lambda: list(parallel(in_thread(*task) for task in tasks)), in_turn)


def _on_all_rows(tasks: Sequence[tuple[int, int | None]], results: Sequence[Any]) -> list[Any]:
    return [result for (_, fold), result in zip(tasks, results, strict=True) if fold is None]


def _raise_failures(
    members: Sequence[Member],
    tasks: Sequence[tuple[int, int | None]],
    results: Sequence[Any],
    *,
    n_folds: int,
    where: str = "all rows",
) -> None:
    """Raise the first failure; members that were fitted on all rows are passed on with the error."""
    failures = [result for result in results if isinstance(result, _Failure)]
    if not failures:
        return
    fitted = {
        members[m].name: result
        for (m, fold), result in zip(tasks, results, strict=True)
        if fold is None and not isinstance(result, _Failure)
    }
    first = failures[0]
    place = where if first.fold is None else f"fold {first.fold + 1} of {n_folds}"
    _raise_failure(first, place, fitted)


def _raise_failure(failure: _Failure, place: str, fitted: dict[str, Any] | None = None) -> NoReturn:
    member = failure.member
    said = words_of(failure.error)
    raise member_error_for(failure.error)(
        f"Member {member.name!r}, a {type(member.estimator).__name__}, failed on {place}: {said}",
        member=member.name,
        fold=failure.fold,
        fitted=fitted,
    ) from failure.error


# ------------------------------------------------------------------------------------------------------------
# Answers


def answers_of(member: Member, model: Any, X: Any, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Let a fitted member predict: rows x classes, or rows x 1 for numbers, labels and two-class scores."""
    n_rows = X.shape[0]
    found = np.asarray(getattr(model, member.method)(X))
    if len(found) != n_rows:
        _refuse_answer(member, f"returned {len(found)} answers for {n_rows} rows")
    if classes is not None and member.method == "predict":
        return _codes_of(member, found, classes)
    found = np.asarray(found, dtype=np.float64).reshape(n_rows, -1)
    if classes is not None:
        found = _for_all_classes(member, model, found, classes)
    elif found.shape[1] != 1:
        _refuse_answer(member, f"returned {found.shape[1]} numbers per row, not one")
    bad = ~np.isfinite(found).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        _refuse_answer(member, f"answered {found[row].tolist()} for row {row} of those it was asked")
    return found


def _codes_of(member: Member, labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> FloatArray:
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = classes[codes] != labels
    if strange.any():
        _refuse_answer(member, f"predicted {labels[strange][0]!r}, which is not a class of y")
    return codes.astype(np.float64).reshape(-1, 1)


def _for_all_classes(member: Member, model: Any, found: FloatArray, classes: npt.NDArray[Any]) -> FloatArray:
    """Put the answers of a member into the columns of all classes; its fold may lack some of them."""
    known = getattr(model, "classes_", classes)
    if len(known) == len(classes):
        n_wanted = 1 if member.method == "decision_function" and len(classes) == 2 else len(classes)
        if found.shape[1] != n_wanted:
            _refuse_answer(member, f"gave {found.shape[1]} columns for {len(classes)} classes")
        return found
    if member.method != "predict_proba":
        _refuse_answer(
            member,
            f"has seen {len(known)} of {len(classes)} classes, so its {member.method} does not compare with "
            "that of other folds. Use folds in which every class occurs, or stack_method='predict_proba'",
        )
    probabilities = np.zeros((len(found), len(classes)))
    probabilities[:, np.searchsorted(classes, known)] = found
    return probabilities


def _refuse_answer(member: Member, what: str) -> NoReturn:
    raise ValueError(f"it {what} ({member.method}).")


# ------------------------------------------------------------------------------------------------------------
# Seeds and parts


def seeded(estimator: Any, seed: int) -> Any:
    """Copy an estimator, and give each random part of it that has no seed a seed of its own."""
    model = clone(estimator)
    parameters = model.get_params(deep=True)
    unset = sorted(
        name
        for name, value in parameters.items()
        if value is None and name.rpartition("__")[2] == "random_state"
    )
    seeds = np.random.SeedSequence(seed).generate_state(len(unset)).tolist()
    return model.set_params(**dict(zip(unset, seeds, strict=True)))


def holdout_parts(
    fractions: Sequence[float],
    n_rows: int,
    *,
    strata: npt.NDArray[np.int32] | None,
    groups: npt.NDArray[np.int32] | None,
    generator: np.random.Generator,
) -> list[RowArray]:
    """Deal rows out to parts at random; classes keep their shares, groups stay together. Rows ascend."""
    units = np.arange(n_rows) if groups is None else groups
    n_units = int(units.max()) + 1
    stratum_of_unit = np.zeros(n_units, dtype=np.int32)
    if strata is not None and groups is None:
        stratum_of_unit = strata
    ends = np.cumsum(fractions)
    part_of_unit = np.empty(n_units, dtype=np.intp)
    for stratum in np.unique(stratum_of_unit):
        members = generator.permutation(np.flatnonzero(stratum_of_unit == stratum))
        # The middle of the i-th of n units lies at (i + 1/2) / n; the unit goes to the part that contains it.
        middles = (np.arange(len(members)) + 0.5) / len(members)
        part_of_unit[members] = np.minimum(np.searchsorted(ends, middles), len(ends) - 1)
    part_of_row = part_of_unit[units]
    parts = [np.flatnonzero(part_of_row == part) for part in range(len(ends))]
    empty = [number for number, part in enumerate(parts, start=1) if not len(part)]
    if empty:
        raise ValueError(
            f"cv='holdout' makes {len(parts)} parts of {n_rows} row(s), and part {empty[0]} has none. Give "
            "more rows or fewer levels, or use cv=5."
        )
    return parts
