"""The chapter of AdaBoost: the weights of the rows round by round, its members and their vote.

The weights follow from the members: they are computed again from the rows given, by the formulas of
`recipes/adaboost.py`, so that any fitted model can be told of, and not only one with `keep_weights=True`.
"""

import math
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hornbeam.inside.nodes import readings_of
from hornbeam.report.viewer import test_of
from hornbeam.story.material import Material, rounded

__all__ = ["weights_chapter"]

FloatArray = npt.NDArray[np.float64]

MOST_ROUNDS = 30
GRID = 36


def weights_chapter(material: Material) -> dict[str, Any]:
    """Lay out the rounds."""
    model = material.model
    n_rounds = min(len(model.estimators_), MOST_ROUNDS)
    said = _said(material, n_rounds)
    weights = _weights_by_round(material, said)
    readings = readings_of(model)
    columns = list(material.plane)
    rounds = []
    for number in range(n_rounds):
        wrong = (
            said[number] != material.truth
            if material.labels is not None
            else np.zeros(len(said[number]), bool)
        )
        rounds.append(
            {
                "error": rounded(float(model.estimator_errors_[number]), 5),
                "beta": _finite(float(model.estimator_weights_[number])),
                "weights": [rounded(float(w), 4) for w in weights[number][material.shown]],
                "wrong": np.flatnonzero(wrong[material.shown]).tolist(),
                "said": _plain(said[number][material.shown], material),
                **_member_words(readings[number] if number < len(readings) else None, columns),
            }
        )
    return {
        "kind": "weights",
        "n_rounds": len(model.estimators_),
        "n_rows": material.rows.n_rows,
        "rounds": rounds,
        "last_weights": [rounded(float(w), 4) for w in weights[n_rounds][material.shown]],
        "training": _errors_by_round(material, n_rounds),
        "axes": [material.axis(column).plain() for column in columns],
        "points": material.points(columns),
        "regions": _regions(material, n_rounds),
        "stop": str(model.stop_reason_),
    }


def _finite(beta: float) -> float | None:
    return rounded(beta, 5) if math.isfinite(beta) else None


def _plain(said: npt.NDArray[Any], material: Material) -> list[Any]:
    if material.labels is None:
        return [rounded(float(value), 4) for value in said]
    return [int(code) for code in said]


def _said(material: Material, n_rounds: int) -> list[npt.NDArray[Any]]:
    """Return what each member says of every row: codes of classes, or numbers."""
    model = material.model
    rows = model._rows(material.rows.native)
    if material.labels is None:
        predictions = model._members.predictions(rows, n_threads=1)
        return [predictions[:, m] for m in range(n_rounds)]
    ones = np.ones(len(model.estimator_weights_))
    return [
        model._members.votes(rows, ones, model.classes_, members=range(m, m + 1), n_threads=1).argmax(axis=1)
        for m in range(n_rounds)
    ]


def _weights_by_round(material: Material, said: list[npt.NDArray[Any]]) -> list[FloatArray]:
    """Return the weights that each member was fitted to, and those after the last one; sum 1.

    They start equal, or as the fit has kept them, which may have been given others.
    """
    model = material.model
    weights = np.full(material.rows.n_rows, 1 / material.rows.n_rows)
    kept = getattr(model, "sample_weights_", None)
    if kept is not None and np.shape(kept)[1] == len(weights):
        weights = np.array(kept[0])
    found = [weights]
    for number, answers in enumerate(said):
        beta = float(model.estimator_weights_[number])
        if math.isfinite(beta):
            if material.labels is not None:
                weights = weights * np.where(answers != material.truth, 1.0, math.exp(-2 * beta))
            else:
                losses = _losses(np.abs(answers - material.truth), weights, model.loss)
                weights = weights * np.exp(beta * (losses - losses.max()))
            weights = weights / weights.sum()
        found.append(weights)
    return found


def _losses(distance: FloatArray, weights: FloatArray, loss: str) -> FloatArray:
    share = distance / max(float(distance[weights > 0].max()), 1e-300)
    if loss == "square":
        return np.square(share)
    return -np.expm1(-share) if loss == "exponential" else share


def _member_words(reading: Any, columns: list[int]) -> dict[str, Any]:
    """Say what the first test of a member is, and where it lies in the picture."""
    if reading is None:
        return {"test": None, "leaves": None, "line": None}
    n_leaves = int((reading.tree.first_child < 0).sum())
    if not reading.branches(0):
        return {"test": None, "leaves": n_leaves, "line": None}
    feature, threshold = reading.feature(0), float(reading.tree.threshold[0])
    line = None
    if feature in columns and reading.schema.kinds[feature] == "numeric" and math.isfinite(threshold):
        line = [columns.index(feature), rounded(threshold)]
    answers = (
        [reading.answer_words(reading.child(0, b)) for b in reading.branches(0)] if n_leaves == 2 else None
    )
    return {"test": test_of(reading, 0), "leaves": n_leaves, "line": line, "answers": answers}


def _errors_by_round(material: Material, n_rounds: int) -> list[float]:
    errors = []
    for number, said in enumerate(material.model.staged_predict(material.rows.native)):
        if number >= n_rounds:
            break
        if material.labels is None:
            errors.append(rounded(float(np.sqrt(np.mean((np.asarray(said) - material.truth) ** 2))), 4))
        else:
            labels = np.asarray(material.model.classes_)[material.truth]
            errors.append(rounded(float(np.mean(np.asarray(said) != labels)), 4))
    return errors


def _regions(material: Material, n_rounds: int) -> list[str] | None:
    """Return the vote after each round on a grid over the picture, of a table with just its two columns."""
    numeric = all(column.kind == "numeric" for column in material.table.columns)
    if material.labels is None or material.rows.n_columns != 2 or not numeric or len(material.labels) > 9:
        return None
    x, y = (material.axis(column) for column in material.plane)
    xs, ys = (
        np.linspace(
            axis.low - 0.04 * (axis.high - axis.low), axis.high + 0.04 * (axis.high - axis.low), GRID + 1
        )
        for axis in (x, y)
    )
    middles = np.meshgrid((xs[1:] + xs[:-1]) / 2, (ys[1:] + ys[:-1]) / 2)
    points = np.empty((GRID * GRID, 2))
    points[:, material.plane[0]], points[:, material.plane[1]] = middles[0].ravel(), middles[1].ravel()
    native = _like(material.rows.native, points)
    codes = {label: str(code) for code, label in enumerate(material.labels)}
    stages = []
    for number, said in enumerate(material.model.staged_predict(native)):
        if number >= n_rounds:
            break
        stages.append("".join(codes[label] for label in np.asarray(said).tolist()))
    return stages


def _like(native: Any, points: FloatArray) -> Any:
    """Give points the form of the user's table, whose columns have names."""
    frame = nw.from_native(native, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return points
    columns = [
        nw.new_series(name, np.ascontiguousarray(points[:, j]), backend=frame.implementation)
        for j, name in enumerate(frame.columns)
    ]
    return columns[0].to_frame().with_columns(*columns[1:]).to_native()
