"""How many trees are enough: error against the number of trees, for several numbers of features per split."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier

from hornbeam.plot.canvas import CYCLE, STYLES, axes_for, label
from hornbeam.recipes.members import answers_of

__all__ = ["forest_size"]

FloatArray = npt.NDArray[np.float64]


def forest_size(
    forest: Any,
    X: Any,
    y: Any,
    *,
    X_test: Any = None,
    y_test: Any = None,
    max_features: Sequence[Any] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the error of a forest against its number of trees, a line per `max_features`; return the axes.

    The forest is fitted again for each value (with its own settings, if there are none). The error is that on
    test rows or, without any, the out-of-bag error. It is the share of wrong answers, or the root mean
    squared error.
    """
    if (X_test is None) != (y_test is None):
        raise ValueError("Give both X_test and y_test, or neither.")
    ax = axes_for(ax, size=(6, 4), purpose="Drawing forest sizes")
    values = [None] if max_features is None else list(max_features)
    for position, value in enumerate(values):
        model = clone(forest) if max_features is None else clone(forest).set_params(max_features=value)
        if X_test is None:
            errors = _out_of_bag_errors(model, X, y)
        else:
            errors = np.array(list(_test_errors(model.fit(X, y), X_test, np.asarray(y_test))))
        ax.plot(
            np.arange(1, len(errors) + 1),
            errors,
            color=CYCLE[position % len(CYCLE)],
            linestyle=STYLES[position % len(STYLES)],
            linewidth=1.4,
            label="" if max_features is None else label(f"max_features = {value}"),
        )
    ax.set_xlabel("trees")
    what = "share of wrong answers" if is_classifier(forest) else "root mean squared error"
    ax.set_ylabel(f"{what}, {'out of bag' if X_test is None else 'test rows'}")
    if max_features is not None:
        ax.legend(frameon=False)
    return ax


def _out_of_bag_errors(model: Any, X: Any, y: Any) -> FloatArray:
    """Return the error after every tree over the rows that some tree had left out by then."""
    model.set_params(oob_score=True).fit(X, y)
    if not hasattr(model, "oob_curve_"):
        raise TypeError(f"{type(model).__name__} keeps no out-of-bag curve: give X_test and y_test.")
    curve = np.asarray(model.oob_curve_, dtype=np.float64)
    return curve if is_classifier(model) else np.sqrt(curve)


def _test_errors(model: Any, X: Any, truth: npt.NDArray[Any]) -> Iterator[float]:
    """Give the error of the model of the first member, of the first two, and so on: as it votes itself."""
    classes = model.classes_ if is_classifier(model) else None
    features = getattr(model, "estimators_features_", None)
    total: Any = 0.0
    for number, member in enumerate(model.estimators_):
        own = None
        if features is not None and getattr(member, "n_features_in_", 0) == len(features[number]):
            own = features[number] if len(features[number]) < model.n_features_in_ else None
        hard = getattr(model, "voting", "soft") == "hard"
        answers = answers_of(member, X, own, classes, hard_votes=hard or not hasattr(member, "predict_proba"))
        total = total + answers
        if classes is None:
            yield float(np.sqrt(np.mean((total[:, 0] / (number + 1) - truth) ** 2)))
        else:
            yield float(np.mean(classes[np.argmax(total, axis=1)] != truth))
