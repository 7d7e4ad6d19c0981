"""Compares an export with the model: predictions must be equal up to a tolerance, or it is refused."""

import warnings
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hornbeam.data.wording import shown
from hornbeam.errors import ExportError
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.test_rows import TestRows, missing_and_unseen
from hornbeam.warnings import HornbeamWarning

__all__ = ["DOUBLE_TOLERANCE", "SINGLE_TOLERANCE", "Answers", "compare", "expected_answers"]

# How far an answer may be off, as a share of the largest answer there is (at least 1). Sums are made in the
# same order everywhere; what is left are the last bits of exp, or of sums in single precision.
DOUBLE_TOLERANCE = 1e-9
SINGLE_TOLERANCE = 2e-5


@dataclass(frozen=True, eq=False)
class Answers:
    """What is said of rows: rows x numbers, class shares of all outputs side by side; and labels per output.

    NaN stands for no answer, to rows that the model refuses.
    """

    numbers: npt.NDArray[np.float64]
    labels: tuple[list[Any], ...] = ()


def expected_answers(estimator: Any, model: PortableModel, rows: TestRows) -> Answers:
    """Ask the model itself."""
    missing, unseen = missing_and_unseen(model, rows)
    refused = (missing & model.refuses_missing) | (unseen & model.refuses_unseen)
    answered = np.flatnonzero(~refused)
    width = sum(1 if output.labels is None else len(output.labels) for output in model.outputs)
    numbers = np.full((rows.n_rows, width), np.nan)
    labels: tuple[list[Any], ...] = ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HornbeamWarning)
        warnings.simplefilter("ignore", UserWarning)  # the rows have no names, which is of no concern here
        X = rows.take(answered).as_array()
        if model.has_classes:
            shares = estimator.predict_proba(X)
            shares = shares if isinstance(shares, list) else [shares]
            numbers[answered] = np.concatenate(shares, axis=1)
            said = np.asarray(estimator.predict(X)).reshape(len(answered), -1)
            labels = tuple(_at(said[:, k].tolist(), answered, rows.n_rows) for k in range(said.shape[1]))
        else:
            numbers[answered] = np.asarray(estimator.predict(X)).reshape(len(answered), -1)
    return Answers(numbers, labels)


def _at(values: list[Any], places: npt.NDArray[np.int64], n: int) -> list[Any]:
    everything = [None] * n
    for place, value in zip(places.tolist(), values, strict=True):
        everything[place] = value
    return everything


def compare(
    expected: Answers, found: Answers, rows: TestRows, model: PortableModel, *, tolerance: float, engine: str
) -> float:
    """Return the largest difference; raise ExportError, with the row, if one is above the tolerance."""
    if found.numbers.shape != expected.numbers.shape:
        raise ExportError(
            f"{engine} gives {found.numbers.shape} answers instead of {expected.numbers.shape}. The export "
            "was not kept."
        )
    known = np.isfinite(expected.numbers)
    scale = max(1.0, float(np.abs(expected.numbers[known]).max(initial=0.0)))
    with np.errstate(invalid="ignore"):
        distance = np.abs(expected.numbers - found.numbers)
    distance[(expected.numbers == found.numbers) | (np.isnan(expected.numbers) & np.isnan(found.numbers))] = 0
    wrong = ~(distance <= tolerance * scale)  # NaN is wrong
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        said = (float(expected.numbers[row, column]), float(found.numbers[row, column]))
        _refuse(rows, model, row, said=said, engine=engine)
    other = _first_wrong_label(expected, found, model, tolerance)
    if other is not None:
        ours, theirs = ([said[other] for said in answers.labels] for answers in (expected, found))
        _refuse(rows, model, other, said=(ours, theirs), engine=engine)
    return float(distance.max(initial=0.0))


def _first_wrong_label(
    expected: Answers, found: Answers, model: PortableModel, tolerance: float
) -> int | None:
    """Compare classes; where the two best are as good as equal, either will do."""
    begin = 0
    for output, ours, theirs in zip(model.outputs, expected.labels, found.labels, strict=False):
        labels = output.labels or ()
        end = begin + len(labels)
        best = np.sort(expected.numbers[:, begin:end], axis=1)[:, ::-1]
        begin = end
        for row, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            gap = best[row, 0] - best[row, 1] if len(labels) > 1 else 1.0
            if one != other and not gap <= tolerance:
                return row
    return None


def _refuse(
    rows: TestRows, model: PortableModel, row: int, *, said: tuple[Any, Any], engine: str
) -> NoReturn:
    values = {
        column.name: values[row : row + 1].tolist()[0]
        for column, values in zip(model.given, rows.columns, strict=True)
    }
    listed = ", ".join(f"{shown(name)}: {shown(value)}" for name, value in list(values.items())[:40])
    more = f" and {len(values) - 40} more columns" if len(values) > 40 else ""
    raise ExportError(
        f"{engine} answers {shown(said[1])} where the model answers {shown(said[0])}, so the export was not "
        f"kept. The row is {{{listed}{more}}}."
    )
