"""The smallest change of a row that changes the prediction of a model whose trees grew on one table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from operator import eq
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.table import Schema, Table
from hornbeam.data.wording import shown
from hornbeam.estimators.explained import Answering, place_of_column
from hornbeam.inside.boxes import Aim, Found, LeafBoxes, leaf_boxes, nearest, with_equal_tests
from hornbeam.inside.counterfactual import (
    Counterfactual,
    Direction,
    Margins,
    Terrain,
    describe,
    read_range,
    terrain_of,
    wanted_words,
)
from hornbeam.inside.effects import Asking
from hornbeam.inside.explain import GivenRow, read_row
from hornbeam.inside.routes import is_missing
from hornbeam.inside.shapley import ScoreSum
from hornbeam.model import Ensemble, refuse_missing

__all__ = ["counterfactual"]

FloatArray = npt.NDArray[np.float64]

# Sums of leaves are exact up to this share of the size of their parts.
_ROUNDING = 1e-9
# If two classes tie in all leaves, the model's own tie rule decides.
_LEAST_ROOM = 1e-12

# The search begins with this many rows of X that have the wanted answer, moved closer to the row.
_N_BEGINNINGS = 20


def counterfactual(
    model: Answering,
    row: Any,
    X: Any,
    *,
    wanted: Any = None,
    columns: Iterable[Any] | None = None,
    fixed: Iterable[Any] = (),
    directions: Mapping[Any, Direction] | None = None,
    max_boxes: int = 5_000,
) -> Counterfactual:
    """Return the smallest change that changes the answer, as `Inspectable.counterfactual` describes."""
    check_is_fitted(model)
    whole, trees, name = model._score_sum(), model._trees_to_explain(), type(model).__name__
    if len(whole.shape) > 1 or (whole.shape and not model._answer_labels()):
        raise ValueError("counterfactual takes one output.")
    given = read_row(row, trees.schema, unseen=trees.unseen, estimator_name=name)
    if not trees.missing_allowed:
        refuse_missing(given.table, name)
    _refuse_stand_ins(trees, given.table)
    others = trees.read(X, estimator_name=name)
    free, ways = _free_columns(model, columns, fixed, directions, trees.schema)
    sources = trees.schema.sources
    tested = sorted(trees.features_tested)
    terrain = terrain_of(
        given.table,
        others,
        thresholds=lambda feature: np.concatenate(
            [tree.threshold[tree.feature == feature] for tree in trees.trees]
        ),
        tested=tested,
        free=[feature for feature in tested if sources[feature] in free],
        directions={sources.index(column): way for column, way in ways.items()},
    )
    search = _Search(model, whole, given, terrain, others=others, most_boxes=max_boxes)
    found = search.find(wanted)
    is_limited = columns is not None or len(free) < model.n_features_in_
    names = [model._column_names()[feature] for feature in sorted(free)] if is_limited else []
    return search.describe(found, wanted, names)


def _free_columns(
    model: Answering,
    columns: Iterable[Any] | None,
    fixed: Iterable[Any],
    directions: Mapping[Any, Direction] | None,
    schema: Schema,
) -> tuple[set[int], dict[int, Direction]]:
    """Return the numbers of the columns of X that may change, and the directions allowed for some of them."""
    names = model._column_names()
    dates = {
        source for j, source in enumerate(schema.sources) if schema.part(j) is not None
    }  # the parts of a date cannot change independently
    given = [j for j in range(model.n_features_in_) if j not in dates] if columns is None else columns
    free = {place_of_column(model, column) for column in given}
    for date in sorted(dates & free):
        raise ValueError(f"Column {shown(names[date])} is a date, which counterfactual leaves as it is.")
    free -= {place_of_column(model, column) for column in fixed}
    ways = {}
    for column, way in (directions or {}).items():
        if way not in get_args(Direction):
            raise ValueError(f"directions[{shown(column)}] must be 'up' or 'down'; got {shown(way)}.")
        ways[place_of_column(model, column)] = way
    if not free:
        raise ValueError("No column may change: every one of columns is in fixed.")
    return free, ways


def _refuse_stand_ins(model: Ensemble, row: Table) -> None:
    missing = row.first_missing()
    if missing is None or not any(len(tree.surrogate_begin) or tree.gaps != "branch" for tree in model.trees):
        return
    raise ValueError(
        f"Column {shown(missing[0])} of the row is missing. Where other columns stand in for missing values, "
        "or rows are divided, counterfactual needs a row without any: fill it in."
    )


class _Search:
    """The search for one row: from the wanted answer to margins, a first point, and the nearest point."""

    def __init__(
        self,
        estimator: Answering,
        whole: ScoreSum,
        given: GivenRow,
        terrain: Terrain,
        *,
        others: Table,
        most_boxes: int,
    ) -> None:
        self.estimator, self.whole, self.model = estimator, whole, whole.sums[0].model
        self.given, self.terrain, self.others, self.most_boxes = given, terrain, others, most_boxes
        self.before, _ = self._answer(())
        self.asking = Asking(whole, given.table, most_rows=1, estimator_name="", n_threads=1)

    # --- What is wanted ----------------------------------------------------------------------------------

    def find(self, wanted: Any) -> Found:
        """Find the nearest point with a wanted answer, of any class if none is wanted."""
        labels = self.estimator._answer_labels()
        if not labels:
            low, high = read_range(wanted)
            if low <= self.before <= high:
                raise ValueError(
                    f"The model answers {shown(self.before)} already, which is in {shown(wanted)}."
                )
            margins = self._margins_of_range(low, high)
            return self._nearest([(margins, lambda said: low <= said <= high)])
        classes = labels[0].tolist()
        if wanted is not None and wanted not in classes:
            raise ValueError(f"wanted must be one of the classes {shown(classes)}; got {shown(wanted)}.")
        if wanted is not None and wanted == self.before:
            raise ValueError(f"The model answers {shown(wanted)} already.")
        if len(classes) == 1:
            raise ValueError(f"The model knows one class only, {shown(classes[0])}: no change gives another.")
        others = [wanted] if wanted is not None else [one for one in classes if one != self.before]
        return self._nearest(
            [(self._margins_of_class(classes, label), partial(eq, label)) for label in others]
        )

    def _margins_of_class(self, classes: list[Any], label: Any) -> Margins:
        place = classes.index(label)
        if not self.whole.shape:  # one score, in favour of the second class
            return Margins(np.array([[1.0 if place else -1.0]]), np.zeros(1))
        others = [k for k in range(len(classes)) if k != place]
        of_scores = np.zeros((len(classes), len(others)))
        of_scores[place] = 1
        of_scores[others, range(len(others))] = -1
        return Margins(of_scores, np.zeros(len(others)))

    def _margins_of_range(self, low: float, high: float) -> Margins:
        """Turn a range of answers into one of scores; answers grow with scores."""
        parts = [(1.0, self._score_for(low))] if low > -inf else []
        parts += [(-1.0, -self._score_for(high))] if high < inf else []
        return Margins(np.array([[sign for sign, _ in parts]]), np.array([least for _, least in parts]))

    def _score_for(self, answer: float) -> float:
        answers = self.whole.answers
        if answers is None:
            return answer
        low, high = -1e3, 1e3
        for _ in range(200):
            middle = (low + high) / 2
            with np.errstate(over="ignore"):
                is_low = float(answers(np.array([[middle]]))[0, 0]) < answer
            low, high = (middle, high) if is_low else (low, middle)
        return high

    # --- The search --------------------------------------------------------------------------------------

    def _nearest(self, wanted: Sequence[tuple[Margins, Callable[[Any], bool]]]) -> Found:
        """Find the nearest point with one of the wanted answers, each given as margins and as a test."""
        steps, choices = self.terrain.steps, self.terrain.choices
        is_median = self.whole.is_median
        # Trees of one class each that share their tests are one tree of all classes: quicker, and a better
        # bound, since no row comes to one leaf of the one and to another of the other.
        merges = self.model.adds_to is not None and not is_median
        groups = with_equal_tests(self.model) if merges else [[k] for k in range(len(self.model.trees))]
        boxes = leaf_boxes(self.model, steps, choices, [group[0] for group in groups])
        scores = np.empty(0) if is_median else self._scores_of_leaves(groups, boxes)
        points = self._points_of_others()
        aims, best = [], Found(None, inf, inf)
        for place, (margins, is_wanted) in enumerate(wanted):
            worth = self._votes_of_leaves(boxes, margins) if is_median else scores @ margins.of_scores
            needed = margins.needed - self.whole.start @ margins.of_scores
            if is_median:
                needed = np.full(len(margins.needed), self.whole.sums[0].weights.sum() / 2)
            size = _size(boxes, scores) @ np.abs(margins.of_scores) if merges else _size(boxes, worth)
            room = np.maximum(_ROUNDING * (np.abs(needed) + size), _LEAST_ROOM)
            beginning = self._begin(points, Margins(margins.of_scores, margins.needed + room), is_wanted)
            if beginning.cost < best.cost:
                best = replace(beginning, aim=place)
            aims.append(Aim(worth, needed - room, partial(self._is_answer, is_wanted)))
        return nearest(boxes, steps, choices, aims=aims, known=best, most_boxes=self.most_boxes)

    def _is_answer(self, is_wanted: Callable[[Any], bool], cells: tuple[int, ...]) -> bool:
        return bool(is_wanted(self._answer(cells)[0]))

    def _votes_of_leaves(self, boxes: LeafBoxes, margins: Margins) -> FloatArray:
        """Return what leaves add to the margins of a median: leaves x margins.

        A median is reached if trees with half of the weight reach it, so each leaf has a vote.
        """
        weights = self.whole.sums[0].weights
        return np.concatenate(
            [
                weights[number] * (self._values(number, nodes) @ margins.of_scores >= margins.needed)
                for number, nodes in enumerate(boxes.nodes)
            ]
        )

    def _scores_of_leaves(self, groups: Sequence[Sequence[int]], boxes: LeafBoxes) -> FloatArray:
        """Return what leaves add to the scores, trees with the same tests together: leaves x scores."""
        (one,) = self.whole.sums
        adds_to = self.model.adds_to
        found = []
        for group, nodes in zip(groups, boxes.nodes, strict=True):
            if adds_to is None:
                values = self._values(group[0], nodes)
                if one.votes:
                    values = np.eye(values.shape[1])[values.argmax(axis=1)]
                values = values * one.weights[group[0]]
            else:
                values = np.zeros((len(nodes), len(self.whole.start)))
                for number in group:
                    values[:, adds_to[number]] += self._values(number, nodes)[:, 0] * one.weights[number]
            found.append(values)
        scores = np.concatenate(found)
        return scores if one.onto is None else scores @ one.onto

    def _values(self, number: int, nodes: npt.NDArray[np.int64]) -> FloatArray:
        return self.model.trees[number].value[nodes].reshape(len(nodes), -1)

    def _points_of_others(self) -> npt.NDArray[np.int64]:
        """Return the cells of the rows of X, where the row may go there; its own elsewhere."""
        steps, choices = self.terrain.steps, self.terrain.choices
        parts = self.terrain.parts
        points = np.empty((self.others.n_rows, len(parts)), dtype=np.int64)
        for place, part in enumerate(parts):
            column = self.others.columns[part.feature]
            values: Any = column.dense()
            own = 0
            if place < len(steps):
                own = steps[place].own
                cells = np.searchsorted(steps[place].ends, values)
                cells = np.where(is_missing(self.model, part.feature, values), own, cells)
            else:
                codes = choices[place - len(steps)].codes
                cells = (values.astype(np.float64)[:, np.newaxis] == codes).argmax(axis=1)
            cells = np.minimum(cells, len(part.cost) - 1)
            points[:, place] = np.where(np.isfinite(part.cost[cells]), cells, own)
        return np.unique(points, axis=0)

    def _begin(
        self, points: npt.NDArray[np.int64], margins: Margins, is_wanted: Callable[[Any], bool]
    ) -> Found:
        """Move points of X that reach the margins as close to the row as possible, column by column."""
        points = points[self._say_enough(points, margins)]
        order = np.argsort(self._costs(points), kind="stable")[:_N_BEGINNINGS]
        best = Found(None, inf, inf)
        for point in points[order]:
            closer = self._drawn_closer(point, margins)
            cost = float(self._costs(closer[np.newaxis])[0])
            cells = tuple(closer.tolist())
            if cost < best.cost and is_wanted(self._answer(cells)[0]):
                best = Found(cells, cost, cost)
        return best

    def _drawn_closer(self, point: npt.NDArray[np.int64], margins: Margins) -> npt.NDArray[np.int64]:
        parts = self.terrain.parts
        while True:
            before = float(self._costs(point[np.newaxis])[0])
            costs = [part.cost[cell] for part, cell in zip(parts, point, strict=True)]
            for place in np.argsort(-np.array(costs), kind="stable").tolist():
                cost = parts[place].cost
                cheaper = np.flatnonzero(cost < cost[point[place]])
                if not len(cheaper):
                    continue
                tried = np.repeat(point[np.newaxis], len(cheaper), axis=0)
                tried[:, place] = cheaper
                tried = tried[self._say_enough(tried, margins)]
                if len(tried):
                    point = tried[np.argmin(self._costs(tried))]
            if float(self._costs(point[np.newaxis])[0]) >= before:
                return point

    def _costs(self, points: npt.NDArray[np.int64]) -> FloatArray:
        parts = self.terrain.parts
        total = np.zeros(len(points))
        with np.errstate(over="ignore"):  # infinitely far cells cannot be reached
            for place, part in enumerate(parts):
                total += part.cost[points[:, place]]
        return total

    def _say_enough(self, points: npt.NDArray[np.int64], margins: Margins) -> npt.NDArray[np.bool_]:
        if not len(points):
            return np.zeros(0, dtype=np.bool_)
        parts = self.terrain.parts
        changes = {
            part.feature: self.terrain.values[part.feature][points[:, place]]
            for place, part in enumerate(parts)
        }
        scores = self.asking.scores(np.zeros(len(points), dtype=np.int64), changes)
        enough: npt.NDArray[np.bool_] = np.all(scores @ margins.of_scores >= margins.needed, axis=1)
        return enough

    # --- Answers -----------------------------------------------------------------------------------------

    def _changed_table(self, cells: tuple[int, ...]) -> Table:
        table = self.given.table
        columns = list(table.columns)
        for feature, code in (self.terrain.changed(cells) if cells else {}).items():
            kind = np.float64 if columns[feature].kind == "numeric" else np.int32
            columns[feature] = replace(columns[feature], values=np.array([code], dtype=kind))
        return Table(1, tuple(columns), table.feature_names)

    def _answer(self, cells: tuple[int, ...]) -> tuple[Any, dict[Any, float] | None]:
        return self.estimator._answer_of(self.estimator._exact_score(self._changed_table(cells)))

    def describe(self, found: Found, wanted: Any, columns: list[str]) -> Counterfactual:
        """Turn cells into values, and the result into words."""
        aim = wanted_words(tuple(wanted) if isinstance(wanted, list) else wanted)
        if found.cells is None:
            return describe(
                found, None, before=self.before, prediction=self.before, shares=None, row=None,
                wanted=aim, columns=columns,
            )  # fmt: skip
        names = self.model.schema.names
        row = dict(zip(self.estimator._column_names(), self.given.values, strict=True))
        changes: dict[str, tuple[Any, Any]] = {}
        for feature, code in self.terrain.changed(found.cells).items():
            categories = self.given.table.columns[feature].categories
            new = code if categories is None else categories[int(code)]
            if isinstance(new, float) and isinstance(row[names[feature]], int | np.integer):
                new = int(new) if new == int(new) else new
            changes[names[feature]] = (row[names[feature]], new)
        prediction, shares = self._answer(found.cells)
        changed = {**row, **{name: new for name, (_, new) in changes.items()}}
        return describe(
            found, changes, before=self.before, prediction=prediction, shares=shares, row=changed,
            wanted=aim, columns=columns,
        )  # fmt: skip


def _size(boxes: LeafBoxes, worth: FloatArray) -> FloatArray:
    """Return the sum over trees of the largest parts, by margin."""
    begins = np.flatnonzero(np.r_[True, boxes.tree[1:] != boxes.tree[:-1]])
    size: FloatArray = np.maximum.reduceat(np.abs(worth), begins, axis=0).sum(axis=0)
    return size
