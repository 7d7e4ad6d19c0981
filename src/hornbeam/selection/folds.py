"""The rows of a comparison: one table and its target, and the folds in which they are used.

From X, y and a splitter this makes `Fold`s, each with rows to fit on and rows to be judged by, the same for
every candidate. Estimators that read tables as hornbeam does get shared rows (see `hornbeam.data.shared`);
all others get a copy in the container that the user gave.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_samples

from hornbeam.data.content import Rows
from hornbeam.data.shared import SharedTable, TableRows
from hornbeam.data.streams.dealt_codes import CodedRows, SharedCodes
from hornbeam.data.streams.encoded_table import EncodedTable
from hornbeam.data.target import CodedLabels, read_classes, read_numbers
from hornbeam.data.target_columns import table_and_target
from hornbeam.data.task import Task
from hornbeam.estimators.sharing import shares_reading
from hornbeam.selection.metrics import Truth
from hornbeam.warnings import HornbeamWarning

__all__ = ["Fold", "Folded", "own_target", "random_splitter", "refuse_target"]

AnyArray = npt.NDArray[Any]

# Rows of folds stay in memory, read and encoded, if all folds together have at most this many cells.
_MOST_CELLS_KEPT = 100_000_000


@dataclass(eq=False)
class Folded:
    """A table, its target, and the folds of both; `groups` stay together where the splitter says so."""

    table: SharedTable | SharedCodes
    y: AnyArray
    classes: AnyArray | None
    splits: list[tuple[Rows, Rows]]
    groups: AnyArray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, splitter: Any, *, task: Task, groups: Any, reader: str) -> "Folded":
        """Read a table and its target, and split them."""
        table = SharedCodes(X) if isinstance(X, EncodedTable) else SharedTable(X, reader=reader)
        classes: AnyArray | None = None
        if task == "classification":
            labels = read_classes(y, table.n_rows, multi_output=False, estimator_name=reader)
            values, classes = labels.labels(0), labels.classes[0]
        else:
            values = read_numbers(y, table.n_rows, multi_output=False, estimator_name=reader).values[:, 0]
        groups = None if groups is None else np.asarray(groups)
        splits = list(_splits(splitter, values, groups))
        return cls(table, values, classes, splits, groups)

    @cached_property
    def folds(self) -> list["Fold"]:
        """The folds, in the order of the splitter."""
        return [Fold(self, fit, judge, number) for number, (fit, judge) in enumerate(self.splits, start=1)]

    @property
    def keeps_rows(self) -> bool:
        """Whether what was read and encoded of a fold may stay in memory for the next candidate."""
        cells = sum(len(fit) for fit, _ in self.splits) * self.table.n_columns
        return 3 * cells <= _MOST_CELLS_KEPT  # with the folds of a search inside

    def truth(self, rows: Rows) -> Truth:
        """Return the right answers for some rows."""
        return Truth(self.y[rows], self.classes)


def own_target(X: Any, y: Any, groups: Any, *, reader: str) -> tuple[Any, Any, Any]:
    """Return table, target and groups: y may name a column of a frame, and an encoded table has its own."""
    if not isinstance(X, EncodedTable):
        if y is None:
            raise TypeError(f"{reader} takes a table and its target: {reader}(X, y).")
        return *table_and_target(X, y), groups
    for name in ("sample_weight", "offset"):
        if getattr(X, name) is not None:
            raise ValueError(
                f"The table was encoded with {name}, which {reader} does not take. Make it again without it."
            )
    own = X.y if y is None else y
    if isinstance(own, CodedLabels):
        own = np.array(own.distinct)[own.codes]
    return X, own, X.groups if groups is None else groups


def refuse_target(X: Any, y: Any, task: Task, *, reader: str) -> None:
    """Raise for a target that cannot be read, before a splitter sorts it and says less."""
    read = read_classes if task == "classification" else read_numbers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)  # said when the folds are read
        read(y, _num_samples(X), multi_output=False, estimator_name=reader)


class Fold:
    """Rows to fit on and rows to be judged by; `number` counts from 1."""

    def __init__(self, data: Folded, fit_rows: Rows, judge_rows: Rows, number: int) -> None:
        self.data = data
        self.fit_rows = fit_rows
        self.judge_rows = judge_rows
        self.number = number
        self._dealt: dict[str, TableRows | CodedRows] = {}
        self._inner: Folded | None = None

    @property
    def y_fit(self) -> AnyArray:
        """The target of the rows to fit on."""
        return self.data.y[self.fit_rows]

    @property
    def truth(self) -> Truth:
        """The right answers for the rows to be judged by."""
        return self.data.truth(self.judge_rows)

    def X_fit(self, estimator: Any) -> Any:  # noqa: N802 - X, as everywhere
        """Return the rows to fit on, as an estimator takes them."""
        return self._for(estimator, "fit", self.fit_rows)

    def X_judge(self, estimator: Any) -> Any:  # noqa: N802
        """Return the rows to be judged by, as an estimator takes them."""
        return self._for(estimator, "judge", self.judge_rows)

    def _for(self, estimator: Any, which: str, rows: Rows) -> Any:
        dealt = self._dealt.get(which)
        if dealt is None:  # kept, unless another thread lets go of it meanwhile
            dealt = self._dealt[which] = self.data.table.rows(rows)
        # A guess that looks at no column needs none.
        no_columns = isinstance(dealt, CodedRows) and type(estimator).__module__ == "sklearn.dummy"
        return dealt if no_columns or shares_reading(estimator) else dealt.container

    def forget(self) -> None:
        """Let go of what was read and encoded."""
        self._dealt.clear()
        self._inner = None

    def inner(self, splitter_for: Callable[["Fold"], Any]) -> Folded:
        """Split the rows to fit on once more: what is searched in there never sees the rows of the judge."""
        if self._inner is None:
            rows, data = self.fit_rows, self.data
            groups = None if data.groups is None else data.groups[rows]
            pairs = _splits(splitter_for(self), data.y[rows], groups)
            splits = [(rows[fit], rows[judge]) for fit, judge in pairs]
            self._inner = Folded(data.table, data.y, data.classes, splits, data.groups)
        return self._inner


def _splits(splitter: Any, y: AnyArray, groups: AnyArray | None) -> Iterator[tuple[Rows, Rows]]:
    pairs = splitter
    if hasattr(splitter, "split"):
        with warnings.catch_warnings():
            # If a fold lacks a class, only the rows of that class suffer: no reason to warn.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            pairs = list(splitter.split(np.zeros((len(y), 1)), y, groups))
    for number, pair in enumerate(pairs, start=1):
        fit, judge = (_row_numbers(rows, len(y)) for rows in pair)
        if not (len(fit) and len(judge)):
            raise ValueError(
                f"cv: fold {number} has {len(fit)} row(s) to fit on and {len(judge)} to be judged by."
            )
        yield fit, judge


def _row_numbers(rows: Any, n_rows: int) -> Rows:
    numbers = np.asarray(rows)
    if numbers.dtype == np.bool_:
        return np.flatnonzero(numbers)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < n_rows):
        raise ValueError(f"cv names row {numbers.max()}, but there are {n_rows} rows, numbered from 0.")
    return numbers.astype(np.intp)


def random_splitter(n_folds: int, y: AnyArray, *, task: Task, grouped: bool, seed: int) -> Any:
    """Return a splitter of scikit-learn that shuffles; classes keep their shares where they can."""
    from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold  # noqa: PLC0415

    if grouped:
        return GroupKFold(n_folds)
    if task == "classification" and np.unique(y, return_counts=True)[1].max() >= n_folds:
        return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return KFold(n_folds, shuffle=True, random_state=seed)
