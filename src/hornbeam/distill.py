"""Distillation: a small tree that imitates another model, and how faithful it is.

In: any fitted estimator, or a function, and rows. Out: a `Distilled`, which is a tree fitted to the model's
predictions on most of the rows, with its fidelity, the agreement of the two on the rest, and an error bar.

If the model gives probabilities, the tree learns from them and not only from the winning class: every row
counts for each class as much as the model believes in it, so that splitting by the Gini index minimises the
squared distance between the two models' probabilities.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing, check_random_state

from hornbeam.data.sources import refuse_corrupt_sparse
from hornbeam.declare.kinds import shown
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.words import percent

__all__ = ["Distilled", "distill"]

_REPLICATES = 200  # bootstrap samples for the error bar of a coefficient of determination
_CLOSE_TO_ONE = 1e-6  # tolerance for the sum of probabilities
_BELIEVED = 1e-9  # a class that gets less of a row gets nothing, which hardly changes the row


@dataclass(frozen=True)
class Score:
    """A number measured on held-out rows, and its standard error."""

    value: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.standard_error:.4f}"


@dataclass(frozen=True, eq=False)
class Distilled:
    """A small tree, and how well it imitates its model.

    `fidelity` is the share of held-out rows on which both predict the same or, for numbers, the coefficient
    of determination of the tree's predictions of the model's. `tree_score` and `model_score` compare both
    with the truth on the same rows, if y was given; if the model was fitted on these rows, its own score is
    optimistic.
    """

    tree: Any
    fidelity: Score
    n_rows: int
    n_held_out: int
    tree_score: Score | None = None
    model_score: Score | None = None

    def __str__(self) -> str:
        of_classes = hasattr(self.tree, "classes_")
        measure = "accuracy" if of_classes else "R²"
        agreement = percent(self.fidelity.value) + " of" if of_classes else "R²"
        lines = [
            f"a tree of {self.tree.get_n_leaves()} leaves, fitted to the answers on {self.n_rows:,} rows",
            f"fidelity: {agreement} {self.n_held_out:,} held-out rows, {self.fidelity}"
            if of_classes
            else f"fidelity: {measure} {self.fidelity} on {self.n_held_out:,} held-out rows",
        ]
        if self.tree_score is not None:
            lines.append(f"{measure} of the tree {self.tree_score}, of the model {self.model_score}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def distill(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    max_leaf_nodes: int | None = 8,
    n_extra: int = 0,
    held_out: float = 0.25,
    random_state: Any = None,
    **tree_options: Any,
) -> Distilled:
    """Fit a small tree to the predictions of a fitted estimator or function, and measure its fidelity.

    A function takes rows and returns labels, probabilities (rows x classes, classes numbered from 0) or
    numbers. `n_extra` further rows are drawn around those of X; only the model must predict them. `held_out`
    is the share of X that measures fidelity. `tree_options` go to the tree: `max_depth`, `min_samples_leaf`
    (with probabilities, each class of a row counts as a row), `ccp_alpha`, `criterion`.
    """
    if not 0 < held_out < 1:
        raise ValueError(f"held_out must be a share between 0 and 1; got {shown(held_out)}.")
    if n_extra < 0:
        raise ValueError(f"n_extra must be 0 or more; got {shown(n_extra)}.")
    refuse_corrupt_sparse(X)
    answers = _answering(model)
    generator = check_random_state(random_state)
    fit_rows, test_rows = _parts(_n_rows(X), held_out, generator)
    pupils = _safe_indexing(X, fit_rows)
    if n_extra:
        pupils = _stacked(pupils, _rows_around(pupils, n_extra, generator))
    limits = {"max_leaf_nodes": max_leaf_nodes, **tree_options}
    tree = _fit_tree(pupils, answers(pupils), limits)
    test = _safe_indexing(X, test_rows)
    answered = answers(test).labels
    found = tree.predict(test)
    score = _agreement if hasattr(tree, "classes_") else _determination(generator)
    truth = None if y is None else _safe_indexing(y, test_rows)
    return Distilled(
        tree=tree,
        fidelity=score(answered, found),
        n_rows=_n_rows(pupils),
        n_held_out=len(test_rows),
        tree_score=None if truth is None else score(np.asarray(truth), found),
        model_score=None if truth is None else score(np.asarray(truth), answered),
    )


# --- The model -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Answers:
    """A model's predictions: labels or numbers and, if it has them, probabilities of the classes."""

    labels: npt.NDArray[Any]
    classes: npt.NDArray[Any] | None = None
    probabilities: npt.NDArray[np.float64] | None = None

    @property
    def are_numbers(self) -> bool:
        return self.classes is None and self.labels.dtype.kind == "f"


def _answering(model: Any) -> Callable[[Any], _Answers]:
    if hasattr(model, "predict_proba") and hasattr(model, "classes_"):
        return lambda X: _from_probabilities(model.predict_proba(X), np.asarray(model.classes_))
    if hasattr(model, "predict"):
        is_classifier = hasattr(model, "classes_")
        return lambda X: _from_values(model.predict(X), is_classifier=is_classifier)
    if callable(model):
        return lambda X: _from_function(model(X))
    raise TypeError(f"distill takes a fitted estimator or a function; got {shown(model)}.")


def _from_function(values: Any) -> _Answers:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] > 1:
        return _from_probabilities(array, np.arange(array.shape[1]))
    return _from_values(array, is_classifier=array.dtype.kind != "f")


def _from_probabilities(probabilities: Any, classes: npt.NDArray[Any]) -> _Answers:
    probabilities = np.asarray(probabilities, dtype=np.float64)
    if probabilities.ndim != 2 or probabilities.shape[1] != len(classes):
        raise ValueError(
            f"The model gives probabilities of shape {probabilities.shape} for {len(classes)} classes."
        )
    sums = probabilities.sum(axis=1)
    wrong = ~(np.abs(sums - 1) <= _CLOSE_TO_ONE) | (probabilities < 0).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"The model's probabilities are not probabilities: row {row} holds {probabilities[row][:8]}; "
            f"sums to {sums[row]}."
        )
    return _Answers(classes[np.argmax(probabilities, axis=1)], classes, probabilities)


def _from_values(values: Any, *, is_classifier: bool) -> _Answers:
    labels = np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"distill takes models with one output; this one gives shape {labels.shape}.")
    return _Answers(labels, np.unique(labels) if is_classifier else None)


# --- The tree --------------------------------------------------------------------------------------------


def _fit_tree(X: Any, answers: _Answers, options: dict[str, Any]) -> Any:
    if answers.are_numbers:
        return DecisionTreeRegressor(**options).fit(X, answers.labels)
    tree = DecisionTreeClassifier(**options)
    if answers.probabilities is None or answers.classes is None:
        return tree.fit(X, answers.labels)
    rows, classes = np.nonzero(answers.probabilities > _BELIEVED)
    weights = answers.probabilities[rows, classes]
    return tree.fit(_safe_indexing(X, rows), answers.classes[classes], sample_weight=weights)


# --- Rows ------------------------------------------------------------------------------------------------


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _parts(n_rows: int, held_out: float, generator: np.random.RandomState) -> tuple[Any, Any]:
    n_held = round(held_out * n_rows)
    if not 0 < n_held < n_rows:
        raise ValueError(
            f"held_out={held_out} of {n_rows} row(s) leaves nothing to fit on, or to measure with."
        )
    shuffled = generator.permutation(n_rows)
    return np.sort(shuffled[n_held:]), np.sort(shuffled[:n_held])


def _rows_around(X: Any, n_extra: int, generator: np.random.RandomState) -> Any:
    """Draw rows of X with replacement and blur their numbers: a smoothed bootstrap.

    The blur is normal, with Silverman's width for the number of rows and columns; whole numbers stay whole
    and categories stay as they are.
    """
    n_rows, n_columns = X.shape
    drawn = generator.randint(n_rows, size=n_extra)
    width = (4 / (n_columns + 2) / n_rows) ** (1 / (n_columns + 4))
    rows = _safe_indexing(X, drawn)
    if isinstance(X, np.ndarray):
        if X.dtype.kind not in "iuf":
            return rows
        spread = np.nanstd(X, axis=0, dtype=np.float64)
        noise = generator.normal(size=rows.shape) * width * spread
        return _blurred(rows, noise)
    frame = nw.from_native(rows, eager_only=True)
    for name in frame.columns:
        column = frame.get_column(name)
        if column.dtype.is_numeric():
            values = column.to_numpy()
            noise = generator.normal(size=n_extra) * width * np.nanstd(values.astype(np.float64))
            blurred = nw.new_series(name, _blurred(values, noise), backend=frame.implementation)
            frame = frame.with_columns(blurred)
    return nw.to_native(frame)


def _blurred(values: npt.NDArray[Any], noise: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    blurred = values + noise
    return (
        np.rint(blurred).astype(values.dtype) if values.dtype.kind in "iu" else blurred.astype(values.dtype)
    )


def _stacked(one: Any, other: Any) -> Any:
    if isinstance(one, np.ndarray):
        return np.concatenate([one, other])
    return nw.to_native(nw.concat([nw.from_native(part, eager_only=True) for part in (one, other)]))


# --- Scores ----------------------------------------------------------------------------------------------


def _agreement(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> Score:
    share = float(np.mean(one == other))
    return Score(share, float(np.sqrt(share * (1 - share) / len(one))))


def _determination(generator: np.random.RandomState) -> Callable[..., Score]:
    def determination(answered: npt.NDArray[Any], found: npt.NDArray[Any]) -> Score:
        """Measure how much of the spread of `answered` is explained by `found`; error bar by bootstrap."""
        n_rows = len(answered)
        drawn = generator.randint(n_rows, size=(_REPLICATES, n_rows))
        replicates = [_r_squared(answered[rows], found[rows]) for rows in drawn]
        return Score(_r_squared(answered, found), float(np.nanstd(replicates)))

    return determination


def _r_squared(answered: npt.NDArray[Any], found: npt.NDArray[Any]) -> float:
    total = float(((answered - answered.mean()) ** 2).sum())
    rest = float(((answered - found) ** 2).sum())
    if total == 0:
        return 1.0 if rest == 0 else float("nan")
    return 1 - rest / total
