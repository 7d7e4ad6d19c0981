"""Explanations of any model made of our trees: what columns add to a score, why a row gets its prediction.

A fitted model says what it adds up (`Explainable`) and how a score becomes an answer (`Answering`); the rest
is the same for all.
"""

from collections.abc import Sequence
from typing import Any, Protocol, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.wording import shown
from hornbeam.inside.accumulated import (
    AccumulatedEffect,
    accumulated_effect_of,
    joint_accumulated_effect_of,
)
from hornbeam.inside.effects import (
    Asking,
    Effect,
    EffectKind,
    Explained,
    JointEffect,
    effect_names,
    effect_of,
    joint_effect_of,
)
from hornbeam.inside.ensembles import AnswerParts, EnsembleExplanation, explain_answer
from hornbeam.inside.shapley import Contributions, ScoreSum, TreeSum, contributions_of
from hornbeam.model import Ensemble
from hornbeam.pseudo_votes import PseudoVotes
from hornbeam.threads import resolve_n_jobs

__all__ = [
    "Answering",
    "Explainable",
    "WhatToExplain",
    "contributions",
    "effect",
    "explanation",
    "mean_of_trees",
    "place_of_column",
]

WhatToExplain = Explained


class Explainable(Protocol):
    """A fitted model that says what it adds up."""

    n_features_in_: int

    def _score_sum(self) -> ScoreSum: ...
    def _column_names(self) -> tuple[str, ...]: ...


class Answering(Explainable, Protocol):
    """A fitted model that says how a score becomes an answer; `Inspectable` describes the methods."""

    def _trees_to_explain(self) -> Ensemble: ...
    def _row_to_explain(self, row: Any) -> tuple[Any, Sequence[Any]]: ...
    def _exact_score(self, table: Any) -> npt.NDArray[np.float64]: ...
    def _answer_of(self, score: npt.NDArray[np.float64]) -> tuple[Any, dict[Any, float] | None]: ...
    def _answer_labels(self) -> tuple[npt.NDArray[Any], ...]: ...
    def _unit_of_scores(self) -> str: ...
    def _members_say(self, table: Any) -> tuple[Any, ...]: ...


def contributions(
    model: Explainable,
    X: Any,
    *,
    background: Any = None,
    interactions: bool = False,
    of: WhatToExplain = "score",
) -> Contributions:
    """Return what each column adds to the score of each row, as `Inspectable.contributions` describes."""
    check_is_fitted(model)
    _check_of(of)
    return contributions_of(
        model._score_sum(),
        X,
        background=background,
        pairs=bool(interactions),
        to_answer=of == "answer",
        names=model._column_names(),
        estimator_name=type(model).__name__,
        n_threads=resolve_n_jobs(getattr(model, "n_jobs", None)),
    )


def _check_of(of: WhatToExplain) -> None:
    if of not in get_args(WhatToExplain):
        raise ValueError(f"of must be 'score' or 'answer'; got {shown(of)}.")


def effect(
    model: Explainable,
    X: Any,
    column: Any,
    *,
    kind: EffectKind = "partial",
    of: WhatToExplain = "score",
    n_rows: int | None = None,
    n_steps: int | None = None,
) -> Effect | AccumulatedEffect | JointEffect:
    """Return how the score depends on a column, or on two, as `Inspectable.effect` describes."""
    check_is_fitted(model)
    _check_of(of)
    if kind not in get_args(EffectKind):
        raise ValueError(f"kind must be 'partial' or 'ale'; got {shown(kind)}.")
    whole = model._score_sum()
    names = effect_names(whole, model._column_names())
    places = _places_of_columns(model, column, names)
    n_rows = n_rows if n_rows is not None else (500, 200)[len(places) - 1]
    n_steps = n_steps if n_steps is not None else (300, 50)[len(places) - 1]
    if n_rows < 1 or n_steps < 2:
        raise ValueError(f"n_rows must be at least 1 and n_steps at least 2; got {n_rows} and {n_steps}.")
    if any(one.model.trees[0].gaps == "available" for one in whole.sums):
        raise ValueError("effect does not take missing='available': which trees answer depends on the row.")
    asking = Asking(
        whole,
        X,
        most_rows=int(n_rows),
        of=of,
        estimator_name=type(model).__name__,
        n_threads=resolve_n_jobs(getattr(model, "n_jobs", None)),
    )
    grids = [asking.grid(place, names[place], int(n_steps)) for place in places]
    if len(grids) == 2:
        return (joint_effect_of if kind == "partial" else joint_accumulated_effect_of)(asking, *grids)
    return (effect_of if kind == "partial" else accumulated_effect_of)(asking, grids[0])


def place_of_column(model: Explainable, column: Any, names: tuple[str, ...] | None = None) -> int:
    """Return the place of a column among `names`, or of X; it is given by name, or by number in X."""
    of_table = model._column_names()
    names = of_table if names is None else names
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(of_table):
        return names.index(of_table[int(column)])
    known = ", ".join(shown(name) for name in names[:10])
    raise ValueError(f"X has no column {shown(column)}; columns are {known}.")


def _places_of_columns(model: Explainable, column: Any, names: tuple[str, ...]) -> list[int]:
    """Return the places among `names` of one column or of two, given by name, or by number in X."""
    given = [column] if isinstance(column, str) or not isinstance(column, tuple | list) else column
    if not 1 <= len(given) <= 2:
        raise ValueError(f"effect takes one column or two; got {len(given)}.")
    found = [place_of_column(model, one, names) for one in given]
    if len(set(found)) < len(found):
        raise ValueError(f"effect takes two different columns; got {shown(given[0])} twice.")
    return found


def explanation(model: Answering, row: Any) -> EnsembleExplanation:
    """Return why one row gets its answer, as `Inspectable.explain` describes."""
    check_is_fitted(model)
    whole, labels = model._score_sum(), model._answer_labels()
    if len(whole.shape) > 1 or (whole.shape and not labels):
        raise ValueError("explain takes one output; look at contributions(X) for several.")
    name = type(model).__name__
    table, values = model._row_to_explain(row)
    of_score, moved = (
        contributions_of(
            whole,
            table,
            background=None,
            pairs=False,
            to_answer=to_answer,
            names=model._column_names(),
            estimator_name=name,
            n_threads=1,
        )
        for to_answer in (False, True)
    )
    score = model._exact_score(table)
    prediction, shares = model._answer_of(score)
    usual, parts = np.asarray(moved.base_values), moved.values[0]
    if np.ndim(of_score.base_values) > len(whole.shape):  # there is a base for each row
        usual = usual[0]
    if labels and parts.ndim == 2:
        place = labels[0].tolist().index(prediction)
        usual, parts = usual[place], parts[:, place]
    elif labels and prediction == labels[0][0]:  # the score is in favour of the second class
        usual, parts = 1 - usual, -parts
    single = not whole.shape
    added_up = (
        score if score.size == of_score.scores[0].size else of_score.scores[0]
    )  # the same, but for rounding
    start = np.reshape(of_score.base_values, -1) if single else np.asarray(of_score.base_values)
    return explain_answer(
        AnswerParts(
            names=model._column_names(),
            values=values,
            prediction=prediction,
            shares=shares,
            score=float(np.reshape(added_up, -1)[0]) if single else added_up,
            start=float(start[0]) if single else start,
            parts=of_score.values[0],
            moved=np.asarray(parts, dtype=np.float64),
            usual=float(usual),
            members=model._members_say(table),
            unit=model._unit_of_scores(),
        )
    )


def mean_of_trees(
    model: Ensemble,
    class_labels: tuple[npt.NDArray[Any], ...],
    *,
    votes: bool = False,
    pseudo_votes: PseudoVotes | None = None,
) -> ScoreSum:
    """Describe the mean of the trees: numbers or class shares, or with `votes` the shares of votes.

    `pseudo_votes` are added to those of the trees.
    """
    if votes and model.trees[0].gaps == "fractional":
        raise ValueError(
            "Under missing='fractional' a vote is not a sum over leaves; contributions need voting='soft'."
        )
    n_trees = len(model.trees)
    n_outputs, n_values = model.trees[0].value.shape[1:]
    shape: tuple[int, ...] = (n_outputs, n_values)
    outputs: tuple[Any, ...] = ()
    if not class_labels:
        shape = () if n_outputs == 1 else (n_outputs,)
        outputs = () if n_outputs == 1 else tuple(range(n_outputs))
    elif n_outputs == 1:
        shape, outputs = (n_values,), tuple(class_labels[0].tolist())
    n_votes, start = float(n_trees), np.zeros((n_outputs, n_values))
    if pseudo_votes is not None:
        n_votes += pseudo_votes.number
        start += pseudo_votes.per_class / n_votes
    weights = np.full(n_trees, 1 / n_votes)
    return ScoreSum((TreeSum(model, weights, votes),), start.ravel(), shape, outputs)
