"""Pictures of AdaBoost: the vote after some rounds, weights of errors, losses, margins.

All numbers come from `model.round_by_round(X, y)`; X and y are those of the fit.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.plot.boundary import boundary
from hornbeam.plot.canvas import BLUE, CYCLE, GREY, INK, ORANGE, STYLES, axes_for, label

__all__ = ["adaboost", "margins", "row_votes", "vote_by_round"]

FloatArray = npt.NDArray[np.float64]

# The area of a point, in square points, that has the mean weight, and the largest there is.
MEAN_AREA, LARGEST_AREA = 18.0, 260.0


def vote_by_round(
    model: Any,
    X: Any,
    y: Any,
    *,
    shown: Sequence[int] = (1, 3, 120),
    resolution: int = 200,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Draw the vote of the first members after some rounds, an axes each; return them.

    The shade is the strength of the vote so far, and the area of a point the weight it has after the round.
    Rounds beyond the last are left out. X has two columns, or more of which the first two are drawn.
    """
    n_rounds = len(model.estimator_weights_)
    wanted = [number for number in shown if number <= n_rounds]
    if not wanted or min(wanted) < 1:
        raise ValueError(f"shown counts rounds from 1 to {n_rounds}; got {tuple(shown)}.")
    weights = model.round_by_round(X, y).weights
    row = _row_of_axes(axes, len(wanted), width=3.8)
    for number, ax in zip(wanted, row, strict=True):
        areas = np.minimum(MEAN_AREA * weights[number] / weights[number].mean(), LARGEST_AREA)
        boundary(model.first(number), X, y, sizes=areas, resolution=resolution, ax=ax)
        ax.set_title("after 1 round" if number == 1 else f"after {number} rounds", size="medium")
        if ax is not row[0]:
            ax.get_legend().remove()  # the first says it for all
            ax.set_ylabel("")
    return row


def adaboost(model: Any, X: Any, y: Any, *, axes: Any = None) -> npt.NDArray[Any]:
    """Draw a member's weight in the vote by its error, and how losses fall with the rounds: two axes.

    On the left the curve of the weight against the error, with a point per member; on the right the training
    error, the exponential loss, and the bound that neither can be above.
    """
    rounds = model.round_by_round(X, y)
    left, right = _row_of_axes(axes, 2, width=5.0)
    n_classes = len(model.classes_)
    chance = 1 - 1 / n_classes
    errors = np.linspace(0.01, min(chance + 0.2, 0.99), 300)
    left.plot(errors, 0.5 * (np.log((1 - errors) / errors) + np.log(n_classes - 1)), color=GREY)
    finite = np.isfinite(rounds.alpha)
    shades = np.arange(rounds.n_rounds)[finite]
    points = left.scatter(
        rounds.errors[finite],
        rounds.alpha[finite],
        c=shades + 1,
        cmap="Blues",
        edgecolors=INK,
        linewidths=0.6,
        s=26,
    )
    left.figure.colorbar(points, ax=left, label="round")
    left.axhline(0, color=INK, linewidth=0.6)
    left.axvline(chance, color=INK, linewidth=0.6, linestyle=":")
    left.set_xlabel("weighted error of a member")
    left.set_ylabel("its weight in the vote")
    places = np.arange(1, rounds.n_rounds + 1)
    right.plot(places, rounds.bound, color=GREY, linestyle="--", linewidth=2.4, label="bound")
    right.plot(places, rounds.loss, color=ORANGE, linestyle="-.", label="exponential loss")
    right.plot(places, rounds.training_error, color=BLUE, drawstyle="steps-post", label="training error")
    right.set_xlabel("rounds")
    right.set_ylim(bottom=0)
    right.legend(frameon=False)
    return np.array([left, right], dtype=object)


def margins(model: Any, X: Any, y: Any, *, shown: Sequence[int] = (1, 5, 100), ax: Any = None) -> Any:
    """Draw the share of rows up to each margin, a line per round shown; return the axes.

    The margin of a row is the share of the vote for its class minus that for the strongest other: below 0 the
    vote is wrong. Margins keep growing after the last mistake is gone.
    """
    rounds = model.round_by_round(X, y)
    wanted = [number for number in dict.fromkeys((*shown, rounds.n_rounds)) if 1 <= number <= rounds.n_rounds]
    ax = axes_for(ax, size=(6, 4), purpose="Drawing margins")
    for position, number in enumerate(wanted):
        found = np.sort(rounds.margins[number - 1])
        ax.plot(
            np.concatenate([[-1], found, [1]]),
            np.concatenate([[0], np.arange(1, len(found) + 1) / len(found), [1]]),
            drawstyle="steps-post",
            color=CYCLE[position % len(CYCLE)],
            linestyle=STYLES[position % len(STYLES)],
            label="after 1 round" if number == 1 else f"after {number} rounds",
        )
    ax.axvline(0, color=INK, linewidth=0.6)
    ax.set_xlabel("margin")
    ax.set_ylabel("share of rows up to it")
    ax.legend(frameon=False)
    return ax


def row_votes(model: Any, X: Any, row: int = 0, *, most: int = 20, ax: Any = None) -> Any:
    """Draw how each member of AdaBoost voted on one row of X, and by how much; return the axes.

    A bar per member, in the order of the rounds, to the side of its class, with its test if it is a stump. If
    there are more than `most` members, those with the largest weight are shown.
    """
    if len(model.classes_) != 2:
        raise ValueError(f"row_votes draws two sides; the model has {len(model.classes_)} classes.")
    one = X.iloc[[row]] if hasattr(X, "iloc") else np.asarray(X)[[row]]
    says = [model.classes_.tolist().index(member.predict(one)[0]) for member in model.estimators_]
    weights = np.where(np.isinf(model.estimator_weights_), 1.0, model.estimator_weights_)
    kept = np.sort(np.argsort(-weights, kind="stable")[:most])
    ax = axes_for(ax, size=(7, 0.9 + 0.32 * len(kept)), purpose="Drawing the votes of members")
    names = []
    for place, number in enumerate(kept):
        sign = 1 if says[number] else -1
        ax.barh(
            place,
            sign * weights[number],
            color=ORANGE if says[number] else BLUE,
            hatch="" if says[number] else "//",
            edgecolor="white",
        )
        names.append(label(f"{number + 1}: {_question(model, int(number))}"))
    score = float(np.sum(np.where(says, 1, -1) * weights))
    ax.set_yticks(np.arange(len(kept)), names)
    ax.invert_yaxis()
    ax.axvline(0, color=INK, linewidth=0.8)
    first, second = (label(name) for name in model.classes_)
    ax.set_xlabel(f"for {first}  <   weight in the vote   >  for {second}")
    answer = second if score > 0 else first
    ax.set_title(f"{answer}: the votes add up to {score:+.3f}", size="medium")
    return ax


def _question(model: Any, number: int) -> str:
    member = model.estimators_[number]
    if not hasattr(member, "tree_"):
        return type(member).__name__
    n_tests = int((member.tree_.first_child >= 0).sum())
    if n_tests == 1:
        return str(member._reading(member.tree_).test_words(0))
    return f"a tree of {n_tests} tests"


def _row_of_axes(axes: Any, n: int, *, width: float) -> npt.NDArray[Any]:
    pyplot = require("matplotlib.pyplot", purpose="Drawing AdaBoost")
    if axes is None:
        axes = pyplot.subplots(1, n, figsize=(width * n, 3.6), layout="constrained", squeeze=False)[1][0]
    row = np.asarray(axes, dtype=object).ravel()
    if len(row) != n:
        raise ValueError(f"axes must be {n}; got {len(row)}.")
    return row
