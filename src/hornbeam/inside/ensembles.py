"""Why many trees gave a row their joint answer: what each column contributes, and what each member said.

From the contributions of one row (`inside/shapley.py`) and its answer, this makes an `EnsembleExplanation`:
numbers, a list of lines, and two sentences. `path_contributions` is the older method: on its path down a tree
a row's answer changes from node to node, and each change is attributed to the feature that the node tests.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.data.units import unit_of
from hornbeam.inside import words
from hornbeam.inside.html import preformatted

__all__ = ["AnswerParts", "EnsembleExplanation", "explain_answer", "path_contributions"]

FloatArray = npt.NDArray[np.float64]

# At most this many columns are named for an answer, and this many against it.
MOST_REASONS = 3
MOST_DOUBTS = 2


def path_contributions(
    trees: Sequence[_core.Tree],
    leaves: npt.NDArray[np.int32],
    schema: Schema,
    total: FloatArray,
    *,
    n_more_votes: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Return what each column of the user's contributes to each row's mean answer, and where that starts.

    Contributions are rows x columns x outputs x values; starts are rows x outputs x values and absorb the
    rounding: together they sum to `total`, the mean answer of the trees and of `n_more_votes` votes that
    depend on no column.
    """
    shape = trees[0].value.shape[1:]
    unit = unit_of(np.array([np.abs(tree.value).max() for tree in trees]))  # in which differences are finite
    contributions = np.zeros((len(leaves), len(schema.given_names), *shape))
    source = np.array(schema.sources)
    for position, tree in enumerate(trees):
        parent, feature, value = tree.parent, tree.feature, tree.value / unit
        rows, at = np.arange(len(leaves)), leaves[:, position]
        above = parent[at]
        while len(rows):  # walk all rows up at once, until each is at the root
            rows, at, above = rows[above >= 0], at[above >= 0], above[above >= 0]
            contributions[rows, source[feature[above]]] += value[at] - value[above]
            at, above = above, parent[above]
    contributions /= len(trees) + n_more_votes
    start = total / unit - contributions.sum(axis=1)
    return contributions * unit, start * unit


@dataclass(frozen=True)
class EnsembleExplanation:
    """The joint answer of many trees about one row.

    `score` is what the trees add up, `start` the score of a row about which nothing is known, `contributions`
    what each column adds to it, by name: numbers, or one number per class. `shares` are the probabilities of
    the classes, `members` the predictions of the members if they vote, `unit` the unit of scores if it
    differs from that of the prediction. `text` explains the prediction in two sentences; `str` lists
    everything, the columns that matter most first.
    """

    prediction: Any
    shares: dict[Any, float] | None
    score: Any
    start: Any
    contributions: dict[str, Any]
    members: tuple[Any, ...]
    text: str = field(repr=False, compare=False)
    lines: tuple[str, ...] = field(repr=False, compare=False)
    unit: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Show the lines in a notebook."""
        return preformatted(f"{self}\n\n{self.text}")


@dataclass(frozen=True, eq=False)
class AnswerParts:
    """What is known about one row and its answer.

    `parts` and `start` refer to the score, columns (x classes); `moved` and `usual` are the same for the
    answer: for the probability of the predicted class, or for the number. `values` are the row's own.
    """

    names: Sequence[str]
    values: Sequence[Any]
    prediction: Any
    shares: dict[Any, float] | None
    score: Any
    start: Any
    parts: FloatArray
    moved: FloatArray
    usual: float
    members: tuple[Any, ...]
    unit: str = ""


def explain_answer(answer: AnswerParts) -> EnsembleExplanation:
    """Put the answer to one row into numbers and words."""
    single = answer.parts.ndim == 1
    parts = {
        name: float(part) if single else part for name, part in zip(answer.names, answer.parts, strict=True)
    }
    return EnsembleExplanation(
        prediction=answer.prediction,
        shares=answer.shares,
        score=answer.score,
        start=answer.start,
        contributions=parts,
        members=answer.members,
        text=_sentences(answer),
        lines=tuple(_lines(answer)),
        unit=answer.unit,
    )


def _answer_words(answer: AnswerParts) -> str:
    if answer.shares is None:
        return words.brief_number(float(answer.prediction))
    return f"{words.named(answer.prediction)}, probability {words.percent(answer.shares[answer.prediction])}"


def _votes(answer: AnswerParts) -> str:
    if not answer.members:
        return ""
    if answer.shares is None:
        low, high = min(answer.members), max(answer.members)
        return f" (members say from {words.brief_number(low)} to {words.brief_number(high)})"
    n_agreeing = sum(one == answer.prediction for one in answer.members)
    members = words.count(len(answer.members), "member")
    return f" ({n_agreeing} of {members} say {words.named(answer.prediction)})"


def _lines(answer: AnswerParts) -> list[str]:
    what = "number" if answer.shares is None else f"probability of {words.named(answer.prediction)}"
    order = np.argsort(-np.abs(answer.moved), kind="stable")
    return [
        f"answer: {_answer_words(answer)}{_votes(answer)}",
        f"{what} of an unknown row: {words.brief_number(answer.usual)}",
        *(
            f"  {_value_words(answer, j)}: {float(answer.moved[j]):+.4g}"
            for j in order.tolist()
            if answer.moved[j] != 0
        ),
        *([f"score, {answer.unit}: {_score_words(answer)}"] if answer.unit else []),
    ]


def _score_words(answer: AnswerParts) -> str:
    numbers = [words.brief_number(float(number)) for number in np.atleast_1d(answer.score)]
    if answer.shares is None or len(numbers) == 1:
        return ", ".join(numbers)
    return ", ".join(
        f"{words.named(label)} {text}" for label, text in zip(answer.shares, numbers, strict=True)
    )


def _value_words(answer: AnswerParts, column: int) -> str:
    """Write a column with the row's value of it."""
    value = answer.values[column]
    name = words.named(answer.names[column])
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if value is None or (is_number and np.isnan(float(value))):
        return f"{name} missing"
    return f"{name} = {words.brief_number(float(value)) if is_number else words.named(value)}"


def _sentences(answer: AnswerParts) -> str:
    """Write two sentences: the answer and the usual one, and the columns that speak for and against it."""
    if answer.shares is None:
        first = (
            f"The model predicts {words.brief_number(float(answer.prediction))}; for a row it knows nothing "
            f"about, it would say {words.brief_number(answer.usual)}."
        )
        up = float(answer.prediction) >= answer.usual
    else:
        share = answer.shares[answer.prediction]
        first = (
            f"The model predicts {words.named(answer.prediction)} with a probability of "
            f"{_in_a_sentence(share)}; for a row it knows nothing about, that would be "
            f"{_in_a_sentence(answer.usual)}."
        )
        up = True
    sign = 1.0 if up else -1.0
    order = np.argsort(-sign * answer.moved, kind="stable")
    least = 0.0005 if answer.shares is not None else 0.0  # less would be written as 0.0 points
    reasons = [j for j in order.tolist() if sign * answer.moved[j] > least][:MOST_REASONS]
    doubts = [j for j in order[::-1].tolist() if sign * answer.moved[j] < -least][:MOST_DOUBTS]
    if not reasons and not doubts:
        return f"{first} No column changes that."
    towards = "for it" if answer.shares is not None else ("upwards" if up else "downwards")
    against = "against it" if answer.shares is not None else ("downwards" if up else "upwards")
    said = []
    if reasons:
        said.append(f"most {towards}: {_listed(answer, reasons)}")
    if doubts:
        said.append(f"most {against}: {_listed(answer, doubts)}")
    text = "; ".join(said)
    return f"{first} {text[0].upper()}{text[1:]}."


def _in_a_sentence(share: float) -> str:
    return words.percent(share).replace(">", "more than ").replace("<", "less than ")


def _listed(answer: AnswerParts, columns: Sequence[int]) -> str:
    if answer.shares is None:
        texts = [f"{_value_words(answer, j)} ({float(answer.moved[j]):+.3g})" for j in columns]
    else:
        texts = [f"{_value_words(answer, j)} ({100 * float(answer.moved[j]):+.1f} points)" for j in columns]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
