"""The chapter of a stack: members answer rows they have not seen, and the final model learns from that.

In come a fitted stack and its rows; out go the folds, what each member said of some rows out of fold, what
the final model makes of it, and how good each member was.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.inside.words import named
from hornbeam.story.material import Material, rounded, rounded_or_none

__all__ = ["stacking_chapter"]

MOST_ROWS = 24


def stacking_chapter(material: Material) -> dict[str, Any]:
    """Lay out the flow of answers."""
    model = material.model
    said = model._unseen_answers()  # which says so if there are none
    n_rows = material.rows.n_rows
    wrong_length = next((len(one) for one in said.values() if len(one) != n_rows), None)
    if wrong_length is not None:
        raise ValueError(
            f"The story of a stack needs the rows of its fit, {wrong_length}; X has {n_rows}. Its "
            "out-of-fold answers are of these rows."
        )
    folds = _folds(material)
    rows = _rows_shown(material, folds)
    final = _final_answers(material)
    class_shown = (
        None
        if material.labels is None
        else (1 if len(material.labels) == 2 else int(np.bincount(material.truth).argmax()))
    )
    names = list(said)
    level_of = _levels(model, names)
    return {
        "kind": "stacking",
        "folds": None if folds is None else [int(folds[row]) for row in rows],
        "n_folds": 0 if folds is None else int(folds.max()) + 1,
        "members": [
            {
                "name": named(name),
                "kind": type(model.named_estimators_[name]).__name__,
                "level": level_of[name],
                "score": rounded(float(model.member_scores_[name]), 4),
                "said": [_answer(said[name][row], class_shown) for row in rows],
            }
            for name in names
        ],
        "final": {
            "kind": type(model.final_estimator_).__name__,
            "said": [_final_words(final[row], material) for row in rows],
        },
        "rows": [int(row) for row in rows],
        "truth": [_truth_words(material, row) for row in rows],
        "class_shown": None
        if class_shown is None or material.labels is None
        else named(material.labels[class_shown]),
        "weights": _weights(model, names),
    }


def _folds(material: Material) -> npt.NDArray[np.int64] | None:
    """Return the fold of each row, where the same splitter gives the same folds again."""
    from sklearn.model_selection import check_cv  # noqa: PLC0415 - slow to import

    cv = material.model.cv
    if isinstance(cv, str):
        return None
    y = material.truth
    try:
        splits = list(check_cv(cv, y, classifier=material.labels is not None).split(material.rows.native, y))
    except (TypeError, ValueError):  # a splitter that wants groups
        return None
    folds = np.zeros(material.rows.n_rows, dtype=np.int64)
    for number, (_, test) in enumerate(splits):
        folds[test] = number
    return folds


def _rows_shown(material: Material, folds: npt.NDArray[np.int64] | None) -> list[int]:
    """Choose rows from all folds, in the order of the folds."""
    shown = material.shown
    if folds is None:
        return [int(row) for row in shown[:MOST_ROWS]]
    each = max(1, MOST_ROWS // (int(folds.max()) + 1))
    rows = [shown[folds[shown] == fold][:each] for fold in range(int(folds.max()) + 1)]
    return [int(row) for row in np.concatenate(rows)]


def _levels(model: Any, names: list[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, level in enumerate(model.levels, start=1):
        for name, _ in level:
            if name in names:
                found[name] = number
    return {name: found.get(name, 1) for name in names}


def _answer(answers: npt.NDArray[np.float64], class_shown: int | None) -> float | None:
    """Write one answer: a number, the share of the class shown, or what a member has that gives no shares."""
    place = class_shown if class_shown is not None and len(answers) > class_shown and len(answers) > 1 else 0
    value = rounded_or_none(float(answers[place]))
    return None if value is None else rounded(value, 3)


def _final_answers(material: Material) -> npt.NDArray[Any]:
    return np.asarray(material.model.predict(material.rows.native))


def _final_words(answer: Any, material: Material) -> Any:
    return rounded(float(answer), 4) if material.labels is None else named(answer)


def _truth_words(material: Material, row: int) -> Any:
    if material.labels is None:
        return rounded(float(material.truth[row]), 4)
    return named(material.labels[int(material.truth[row])])


def _weights(model: Any, names: list[str]) -> list[float] | None:
    """Return the coefficients of a linear final model, where it has one per member of the last level."""
    coefficients = np.asarray(getattr(model.final_estimator_, "coef_", np.zeros(0))).ravel()
    last = [name for name in names if _levels(model, names)[name] == len(model.levels)]
    if len(coefficients) != len(last):
        return None
    return [rounded(float(one), 3) for one in coefficients]
