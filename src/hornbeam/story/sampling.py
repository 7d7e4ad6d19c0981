"""The chapter of forests and bags: samples are drawn, members vote, and rows out of the bag judge them.

In come a fitted bag and the rows of its fit; out goes, per member, how often each row was drawn and what the
member says of it, and the out-of-bag error after each member.
"""

from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from hornbeam.story.material import Material, rounded

__all__ = ["answers_of_members", "sampling_chapter"]

FloatArray = npt.NDArray[np.float64]

MOST_MEMBERS = 30
MOST_CELLS = 100  # rows drawn as cells


def sampling_chapter(material: Material) -> dict[str, Any]:
    """Lay out the draws and the votes."""
    model, n_rows = material.model, material.rows.n_rows
    if not hasattr(model, "_plan"):
        raise ValueError(
            f"This {type(model).__name__} no longer knows which rows its members drew: it was imported, or "
            "saved with slim=True or predict_only=True. Fit it again, or load a whole file."
        )
    if model._n_rows_given != n_rows:
        raise ValueError(
            f"The story of a bag needs the rows of its fit, {model._n_rows_given}; X has {n_rows}. Its "
            "samples are numbers of these rows."
        )
    n_members = min(int(model._n_members), MOST_MEMBERS)
    times = np.stack([np.bincount(model._sample_of(m), minlength=n_rows) for m in range(n_members)])
    said = answers_of_members(material, n_members)
    cells = material.shown[:MOST_CELLS]
    all_seen = not (times == 0).any()
    return {
        "kind": "sampling",
        "n_members": int(model._n_members),
        "cells": np.arange(len(cells)).tolist(),
        "times": [[int(n) for n in row] for row in times[:, cells]],
        "said": [_plain(row, material) for row in said[:, cells]],
        "share_out": [rounded(float((row == 0).mean()), 4) for row in times],
        "with_replacement": bool(model.bootstrap),
        "all_seen": bool(all_seen),
        "hard": bool(_votes_are_hard(model)),
        "curve": _course(material, said, np.ones_like(times) if all_seen else times == 0),
        "fit_curve": _course(material, said, np.ones_like(times)),
    }


def _votes_are_hard(model: Any) -> bool:
    return bool(model._votes_are_hard()) if callable(getattr(model, "_votes_are_hard", None)) else False


def _plain(said: FloatArray, material: Material) -> list[Any]:
    """Write what a member says of each row: the code of a class, or a number."""
    if material.labels is None:
        return [rounded(float(value), 4) for value in said[:, 0]]
    return [int(code) for code in said.argmax(axis=1)]


def answers_of_members(material: Material, n_members: int) -> FloatArray:
    """Return what each member says of every row: members x rows x class shares, or x 1 for numbers."""
    model, X = material.model, material.rows.native
    ensemble = getattr(model, "_model", None) if getattr(model, "_has_trees", True) else None
    if ensemble is not None and not hasattr(model, "estimators_features_"):
        table = ensemble.read(X, estimator_name=type(model).__name__)
        return np.stack(
            [ensemble.total(table, n_threads=1, begin=m, end=m + 1)[:, 0, :] for m in range(n_members)]
        )
    return np.stack(
        [_answer_of(material, model.estimators_[m], model.estimators_features_[m]) for m in range(n_members)]
    )


def _answer_of(material: Material, member: Any, features: Any) -> FloatArray:
    X = material.rows.native
    if len(features) < material.rows.n_columns:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        places = [int(column) for column in features]
        X = frame[:, places].to_native() if isinstance(frame, nw.DataFrame) else X[:, places]
    if material.labels is None:
        return np.asarray(member.predict(X), dtype=np.float64)[:, np.newaxis]
    classes = np.asarray(material.model.classes_).tolist()
    if hasattr(member, "predict_proba"):
        found = np.asarray(member.predict_proba(X))
        shares = np.zeros((len(found), len(classes)))
        for place, label in enumerate(np.asarray(member.classes_).tolist()):
            shares[:, classes.index(label) if label in classes else int(label)] = found[:, place]
        return shares
    codes = [
        classes.index(one) if one in classes else int(one) for one in np.asarray(member.predict(X)).tolist()
    ]
    return np.eye(len(classes))[codes]


def _course(material: Material, said: FloatArray, counts: npt.NDArray[Any]) -> list[float | None]:
    """Return the error after each member, over the rows that some member may answer for by then."""
    asked = np.asarray(counts, dtype=np.float64)
    hard = material.labels is not None and _votes_are_hard(material.model)
    total = np.zeros(said.shape[1:])
    n_asked = np.zeros(said.shape[1])
    curve: list[float | None] = []
    for answers, may in zip(said, asked, strict=True):
        voted = np.eye(answers.shape[1])[answers.argmax(axis=1)] if hard else answers
        total += voted * may[:, np.newaxis]
        n_asked += may
        known = n_asked > 0
        if not known.any():
            curve.append(None)
        elif material.labels is None:
            means = total[known, 0] / n_asked[known]
            curve.append(rounded(float(np.sqrt(np.mean((means - material.truth[known]) ** 2))), 4))
        else:
            curve.append(rounded(float(np.mean(total[known].argmax(axis=1) != material.truth[known])), 4))
    return curve
