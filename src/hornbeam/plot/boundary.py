"""Decision boundaries: the predictions of any estimator over a plane of two features.

Areas have the colour of the predicted class, stronger where the model is more certain; for 1-nearest
neighbour the Voronoi cells can be added. Numbers are shown as shades with a scale.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import Voronoi

from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.neighborhood import settled_metric
from hornbeam.plot.canvas import axes_for, class_colours, label, tint

__all__ = ["boundary"]

FloatArray = npt.NDArray[np.float64]

# Classes differ in the shape of their points, too, for those who see no colours.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def boundary(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: tuple[Any, Any] = (0, 1),
    resolution: int = 250,
    sizes: Any = None,
    voronoi: bool = False,
    ax: Any = None,
) -> Any:
    """Draw what a fitted model predicts over two of its features, with the rows of X; return the axes.

    `features` are two columns, by position or name; all others are held at their medians over X, columns of
    words at their most frequent value. A column of words has an axis of its values. `sizes` are
    sizes of the points, for example weights of boosting. `voronoi` draws the cells of the rows of X, by the
    Euclidean distance, scaled as the model scales it: the boundaries of 1-nearest neighbour run along them.
    """
    plane = _Plane.of(X, features)
    x_axis, y_axis = plane.axis(0, resolution), plane.axis(1, resolution)
    grid = plane.rows_at(*np.meshgrid(x_axis, y_axis))
    ax = axes_for(ax, size=(5.5, 4.5), purpose="Drawing a boundary")
    extent = (x_axis[0], x_axis[-1], y_axis[0], y_axis[-1])
    shape = (resolution, resolution)
    if hasattr(model, "classes_"):
        shades, best, labels = _class_shades(model, grid)
        ax.imshow(
            shades.reshape(*shape, 3), origin="lower", extent=extent, aspect="auto", interpolation="nearest"
        )
        _draw_borders(x_axis, y_axis, best.reshape(shape), ax)
        _draw_classes(plane, y, labels, sizes, ax)
    else:
        values = np.asarray(model.predict(grid), dtype=np.float64).reshape(shape)
        image = ax.imshow(values, origin="lower", extent=extent, aspect="auto", cmap="Blues")
        ax.figure.colorbar(image, ax=ax, label="prediction")
        _draw_numbers(plane, y, image, sizes, ax)
    if voronoi:
        _draw_cells(plane.points, _spread_of(model, plane.columns), ax)
    ax.set_xlim(extent[:2])
    ax.set_ylim(extent[2:])
    plane.label_axes(ax)
    return ax


# --- The plane -------------------------------------------------------------------------------------------


class _Plane:
    """Two columns of a table as a plane, and the rows that its points stand for."""

    def __init__(self, X: Any, columns: list[int], names: list[str]) -> None:
        self.X = X
        self.columns = columns
        self.names = [names[j] for j in columns]
        self.words = [_words(_column_of(X, j)) for j in columns]
        self.points = np.stack(
            [_places(_column_of(X, j), words) for j, words in zip(columns, self.words, strict=True)], axis=1
        )

    @property
    def shaken(self) -> FloatArray:
        """The points, moved a little where many have the same words."""
        generator = np.random.default_rng(0)
        moved = self.points.copy()
        for which, words in enumerate(self.words):
            if words is not None:
                moved[:, which] += generator.uniform(-0.3, 0.3, len(moved))
        return moved

    def label_axes(self, ax: Any) -> None:
        """Name the axes, and the values of columns of words."""
        ax.set_xlabel(label(self.names[0]))
        ax.set_ylabel(label(self.names[1]))
        for words, set_ticks in zip(self.words, (ax.set_xticks, ax.set_yticks), strict=True):
            if words is not None:
                set_ticks(np.arange(len(words)), [label(word) for word in words])

    @classmethod
    def of(cls, X: Any, features: tuple[Any, Any]) -> "_Plane":
        if not hasattr(X, "iloc"):
            X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] < 2:
            raise ValueError(f"A boundary needs a table of at least two columns; got shape {X.shape}.")
        names = (
            [str(name) for name in X.columns]
            if hasattr(X, "columns")
            else [f"x{j}" for j in range(X.shape[1])]
        )
        columns = [_position(feature, names) for feature in features]
        for column in columns:
            if _column_of(X, column).dtype.kind == "M":
                raise ValueError(
                    f"Column {names[column]!r} is a date; a boundary is drawn over numbers and categories."
                )
        return cls(X, columns, names)

    def axis(self, which: int, resolution: int) -> FloatArray:
        words = self.words[which]
        if words is not None:
            return np.linspace(-0.5, len(words) - 0.5, resolution)
        values = self.points[:, which]
        least, largest = float(np.nanmin(values)), float(np.nanmax(values))
        margin = 0.06 * ((largest - least) or 1.0)
        return np.linspace(least - margin, largest + margin, resolution)

    def rows_at(self, x_values: FloatArray, y_values: FloatArray) -> Any:
        """Make the rows of the points, the other columns at their medians (or most frequent values)."""
        n_rows = x_values.size
        if hasattr(self.X, "iloc"):
            typical = self.X.iloc[[0] * n_rows].reset_index(drop=True)
            for j, name in enumerate(self.X.columns):
                typical[name] = _typical_of_series(self.X.iloc[:, j])
        else:
            typical = np.repeat(_typical_of_array(self.X)[None, :], n_rows, axis=0)
        for column, values, words in zip(self.columns, (x_values, y_values), self.words, strict=True):
            wanted = values.ravel()
            if words is not None:
                wanted = words[np.clip(np.rint(wanted), 0, len(words) - 1).astype(np.int64)]
            if hasattr(self.X, "iloc"):
                name = self.X.columns[column]
                typical[name] = wanted if words is None else _as_series(wanted, self.X[name])
            else:
                typical[:, column] = wanted
        return typical


def _column_of(X: Any, j: int) -> npt.NDArray[Any]:
    values: npt.NDArray[Any] = np.asarray(X.iloc[:, j]) if hasattr(X, "iloc") else np.asarray(X)[:, j]
    if values.dtype.kind == "O":  # numbers among words come as objects
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError):
            return values
    return values


def _words(values: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the values of a column of words, in order; None for numbers."""
    if values.dtype.kind in "biuf":
        return None
    known = [value for value in values.tolist() if isinstance(value, str)]
    return np.array(sorted(set(known)), dtype=object)


def _places(values: npt.NDArray[Any], words: npt.NDArray[Any] | None) -> FloatArray:
    if words is None:
        return values.astype(np.float64)
    places = {word: float(place) for place, word in enumerate(words)}
    return np.array([places.get(value, np.nan) for value in values.tolist()])


def _as_series(wanted: npt.NDArray[Any], like: Any) -> Any:
    """Return words as a column of the kind that the table has."""
    return type(like)(wanted).astype(like.dtype)


def _typical_of_array(X: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if X.dtype.kind in "biuf":
        return np.asarray(np.nanmedian(X.astype(np.float64), axis=0))
    typical = np.empty(X.shape[1], dtype=object)
    for j in range(X.shape[1]):
        values = _column_of(X, j)
        if values.dtype.kind in "biuf":
            typical[j] = float(np.nanmedian(values.astype(np.float64)))
        else:
            present, counts = np.unique(values.astype(str), return_counts=True)
            typical[j] = str(present[int(np.argmax(counts))])
    return typical


def _typical_of_series(series: Any) -> Any:
    is_number = getattr(series.dtype, "kind", "O") in "biuf"
    return series.median() if is_number else series.mode().iloc[0]


def _position(feature: Any, names: list[str]) -> int:
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(
                f"features names {feature!r}; the columns are {', '.join(map(repr, names[:10]))}."
            )
        return names.index(feature)
    if not 0 <= feature < len(names):
        raise ValueError(f"features has {feature}, but X has {len(names)} columns.")
    return int(feature)


# --- Colours ---------------------------------------------------------------------------------------------


def _class_shades(model: Any, grid: Any) -> tuple[FloatArray, npt.NDArray[np.intp], npt.NDArray[Any]]:
    labels = np.asarray(model.classes_)
    colours = class_colours(len(labels))
    if hasattr(model, "predict_proba"):
        shares = np.asarray(model.predict_proba(grid))
        best = np.argmax(shares, axis=1)
        strength = (shares.max(axis=1) - 1 / len(labels)) / (1 - 1 / len(labels)) if len(labels) > 1 else 1.0
    else:
        best = np.searchsorted(labels, model.predict(grid))
        strength = np.ones(len(best))
    return tint(colours[best], 0.12 + 0.4 * np.asarray(strength)), best, labels


def _draw_borders(x_axis: FloatArray, y_axis: FloatArray, best: npt.NDArray[np.intp], ax: Any) -> None:
    """Draw a line where the answer changes: tints of two classes may be the same grey."""
    for k in range(1, int(best.max()) + 1):
        if (best >= k).any() and (best < k).any():
            ax.contour(x_axis, y_axis, best >= k, levels=[0.5], colors="#444444", linewidths=0.7)


def _draw_classes(plane: _Plane, y: Any, labels: npt.NDArray[Any], sizes: Any, ax: Any) -> None:
    sizes = 18.0 if sizes is None else np.asarray(sizes)
    if y is None:
        ax.scatter(*plane.shaken.T, s=sizes, color="#444444", linewidths=0)
        return
    y = np.asarray(y)
    colours = class_colours(len(labels))
    for k, name in enumerate(labels):
        chosen = y == name
        some_sizes = sizes[chosen] if isinstance(sizes, np.ndarray) and sizes.ndim else sizes
        ax.scatter(
            *plane.shaken[chosen].T,
            s=some_sizes,
            color=colours[k],
            marker=MARKERS[k % len(MARKERS)],
            edgecolors="white",
            linewidths=0.5,
            label=label(name),
        )
    ax.legend(loc="best", framealpha=0.8)


def _draw_numbers(plane: _Plane, y: Any, image: Any, sizes: Any, ax: Any) -> None:
    colours = (
        {"color": "#444444"} if y is None else {"c": np.asarray(y), "cmap": image.cmap, "norm": image.norm}
    )
    ax.scatter(
        *plane.shaken.T, s=18.0 if sizes is None else sizes, edgecolors="black", linewidths=0.4, **colours
    )


def _spread_of(model: Any, columns: list[int]) -> FloatArray:
    """Tell what a model of neighbours divides the two columns by before it measures distances."""
    if not isinstance(model, KNeighborsClassifier | KNeighborsRegressor):
        return np.ones(2)
    metric, _ = settled_metric(model.metric, model.p)
    if metric != "euclidean":
        raise ValueError(
            f"voronoi=True draws cells of the Euclidean distance, but the model has metric={model.metric!r}. "
            "Leave voronoi out; the colours show the model's own boundaries."
        )
    scaling = model._model.scaling
    return np.ones(2) if scaling is None else scaling.spread[columns]


def _draw_cells(points: FloatArray, spread: FloatArray, ax: Any) -> None:
    """Draw the borders of the Voronoi cells; four far points make every cell of a row finite.

    The cells are found where the distances are measured, among points divided by `spread`; straight lines
    there are straight lines in the picture.
    """
    distinct = np.unique(points[np.isfinite(points).all(axis=1)], axis=0) / spread
    low, high = distinct.min(axis=0), distinct.max(axis=0)
    reach = 100 * float((high - low).max() or 1.0)
    middle = (low + high) / 2
    far = middle + reach * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
    cells = Voronoi(np.concatenate([distinct, far]))
    for border in cells.ridge_vertices:
        if -1 not in border:
            corners = cells.vertices[border] * spread
            ax.plot(*corners.T, color="black", linewidth=0.5, alpha=0.6, zorder=1.5)
