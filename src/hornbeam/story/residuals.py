"""The chapter of gradient boosting: what is left to explain, round by round.

In come a fitted model and its rows; out go the answers of the rows on the page after some rounds, early ones
all and later ones ever more rarely, the first test of each round's tree, and the error by round.
"""

from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.inside.nodes import readings_of
from hornbeam.report.viewer import test_of
from hornbeam.story.material import Material, rounded

__all__ = ["residuals_chapter"]

FloatArray = npt.NDArray[np.float64]

MOST_STEPS = 30
FIRST_ROUNDS = 10


def residuals_chapter(material: Material) -> dict[str, Any]:
    """Lay out the rounds."""
    model = material.model
    readings = readings_of(model)
    per_round = int(model._trees_per_round)
    n_rounds = len(readings) // per_round
    steps = _rounds_shown(n_rounds)
    class_shown = None if material.labels is None else _class_shown(material)
    answers, errors = _answers_by_round(material, class_shown, {0, *steps})
    truth = material.truth if class_shown is None else (material.truth == class_shown).astype(np.float64)
    column = material.plane[0]
    return {
        "kind": "residuals",
        "n_rounds": n_rounds,
        "trees_per_round": per_round,
        "learning_rate": rounded(float(model.settings_["learning_rate"]), 4),
        "loss": model.loss if isinstance(model.loss, str) else type(model.loss).__name__,
        "class_shown": class_shown,
        "axis": material.axis(column).plain(),
        "points": material.points([column])[0],
        "truth": [rounded(float(value)) for value in truth[material.shown]],
        "rounds": [0, *steps],
        "answers": [[rounded(float(v), 5) for v in answers[step]] for step in [0, *steps]],
        "tests": ["", *(_tree_words(readings[(step - 1) * per_round]) for step in steps)],
        "errors": [rounded(float(error), 5) for error in errors],
        "measure": "root mean squared error" if material.labels is None else "log loss",
    }


def _rounds_shown(n_rounds: int) -> list[int]:
    """Number the rounds that are shown: the first ones, then ever fewer, and the last."""
    if n_rounds <= MOST_STEPS:
        return list(range(1, n_rounds + 1))
    later = np.geomspace(FIRST_ROUNDS, n_rounds, MOST_STEPS - FIRST_ROUNDS + 1)
    return sorted({*range(1, FIRST_ROUNDS + 1), *np.rint(later).astype(int).tolist()})


def _class_shown(material: Material) -> int:
    """Choose the class whose probability is drawn: the second of two, the commonest of more."""
    assert material.labels is not None
    return 1 if len(material.labels) == 2 else int(np.bincount(material.truth).argmax())


def _answers_by_round(
    material: Material, class_shown: int | None, steps: set[int]
) -> tuple[dict[int, FloatArray], list[float]]:
    """Return what the rows on the page get after some rounds, and the error of all rows after each.

    Answers are numbers, or probabilities of one class; round 0 is before the first one.
    """
    model, X, shown = material.model, material.rows.native, material.shown
    found: dict[int, FloatArray] = {}
    errors: list[float] = []
    rows, _ = model._rows(X)
    start = model._start(rows, None)[:, 0, :]
    for number, scores in enumerate(chain([start], model._staged_scores(X, None))):
        answers = np.asarray(model._answers(scores))
        if class_shown is None:
            numbers = answers.reshape(len(answers), -1)[:, 0]
            errors.append(float(np.sqrt(np.mean((numbers - material.truth) ** 2))))
            said = numbers
        else:
            own = answers[np.arange(len(answers)), material.truth]
            errors.append(float(-np.mean(np.log(np.maximum(own, 1e-15)))))
            said = answers[:, class_shown]
        if number in steps:
            found[number] = np.array(said[shown])
    return found, errors


def _tree_words(reading: Any) -> str:
    if not reading.branches(0):
        return "a single leaf"
    n_leaves = int((reading.tree.first_child < 0).sum())
    return f"{n_leaves} leaves, first asked: {test_of(reading, 0)}"
