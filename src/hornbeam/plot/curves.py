"""Training and test score against the number of rows, or against a parameter; computed by scikit-learn."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import model_selection

from hornbeam.plot.canvas import BLUE, GREY, axes_for, draw_course, label

__all__ = ["learning_curve", "validation_curve"]

FloatArray = npt.NDArray[np.float64]


def learning_curve(estimator: Any, X: Any, y: Any, *, ax: Any = None, **options: Any) -> Any:
    """Draw scores on training and test rows against the number of training rows; return the axes.

    `options` go to scikit-learn's learning_curve: `cv`, `scoring`, `train_sizes`, `groups` and others. The
    bands are one standard deviation over the folds.
    """
    options.setdefault("train_sizes", np.linspace(0.1, 1.0, 8))
    sizes, train, test = model_selection.learning_curve(estimator, X, y, **options)[:3]
    ax = axes_for(ax, size=(6, 4), purpose="Drawing a learning curve")
    _draw_scores(sizes, train, test, ax)
    ax.set_xlabel("training rows")
    return ax


def validation_curve(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    param_name: str | None = None,
    param_range: Any = None,
    ax: Any = None,
    **options: Any,
) -> Any:
    """Draw scores against the values of a parameter; return the axes.

    `estimator` may be what `hb.tune` returned: then nothing more is fitted. Of settings with the same value
    of the parameter, the best one is drawn; `param_name` may be left out if the grid has one parameter. Else
    the scores on training and test rows are computed, and `options` go to scikit-learn's validation_curve:
    `cv`, `scoring`, `groups` and others.
    """
    if hasattr(estimator, "cv_results_"):
        name, values, train, test = _tuned_scores(estimator, param_name)
    else:
        if X is None or y is None or param_name is None or param_range is None:
            raise ValueError("validation_curve needs X, y, param_name and param_range, or a result of tune.")
        name, values = param_name, list(param_range)
        train, test = model_selection.validation_curve(
            estimator, X, y, param_name=param_name, param_range=param_range, **options
        )
    ax = axes_for(ax, size=(6, 4), purpose="Drawing a validation curve")
    are_numbers = all(isinstance(value, int | float | np.number) for value in values)
    places = np.asarray(values, dtype=np.float64) if are_numbers else np.arange(len(values), dtype=np.float64)
    _draw_scores(places, train, test, ax)
    if not are_numbers:
        ax.set_xticks(places, [label(value) for value in values])
    elif np.all(places > 0) and places.max() > 50 * places.min():
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.set_xticks(places, [label(f"{value:g}") for value in places.tolist()])
    ax.set_xlabel(label(name))
    return ax


def _tuned_scores(tuned: Any, param_name: str | None) -> tuple[str, list[Any], FloatArray | None, FloatArray]:
    """Return a parameter of a grid, its values, and their scores per fold: training, if known, and test."""
    results = tuned.cv_results_
    names = [key.removeprefix("param_") for key in results if key.startswith("param_")]
    if param_name is None and len(names) == 1:
        param_name = names[0]
    if param_name is None or param_name not in names:
        raise ValueError(f"param_name must be one of {', '.join(map(repr, names))}; got {param_name!r}.")
    column = results[f"param_{param_name}"]
    best: dict[str, int] = {}  # by how a value is written: values need not be hashable
    for place in np.argsort(results["rank_test_score"], kind="stable").tolist():
        if not np.ma.getmaskarray(column)[place]:
            best.setdefault(repr(column[place]), place)
    places = sorted(best.values(), key=lambda place: _in_order(column[place], place))

    def per_fold(which: str) -> FloatArray:
        return np.array([results[f"split{k}_{which}_score"][places] for k in range(tuned.n_folds)]).T

    has_training = "split0_train_score" in results
    return (
        param_name,
        [column[p] for p in places],
        per_fold("train") if has_training else None,
        per_fold("test"),
    )


def _in_order(value: Any, place: int) -> tuple[int, float]:
    """Put numbers in ascending order, and before everything else, which stays in the order of the grid."""
    is_number = isinstance(value, int | float | np.number)
    return (0, float(value)) if is_number else (1, float(place))


def _draw_scores(places: FloatArray, train: FloatArray | None, test: FloatArray, ax: Any) -> None:
    for scores, colour, name in ((train, GREY, "training rows"), (test, BLUE, "test rows")):
        if scores is None:
            continue
        mean, spread = scores.mean(axis=1), scores.std(axis=1)
        ax.fill_between(places, mean - spread, mean + spread, color=colour, alpha=0.2, linewidth=0)
        draw_course(ax, places, mean, name, marker="o")
    ax.set_ylabel("score")
    ax.legend(frameon=False)
