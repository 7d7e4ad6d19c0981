"""The first chapter of a single tree: it grows node by node, beside what every column would have gained.

In come a fitted tree and its rows; out go its nodes in the order in which they are shown, level by level, the
gains of the columns in each, and the leaf of every row on the page.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.words import brief_number, named
from hornbeam.report.viewer import brief_test, test_of, way_of
from hornbeam.story.impurity import (
    cells_of,
    gain_of_branches,
    impurity_named,
    impurity_of,
    threshold_gains,
)
from hornbeam.story.material import Material, rounded

__all__ = ["growing_chapter", "node_facts", "rows_by_node"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST_SPLITS = 40
MOST_BARS = 8
MOST_COLUMNS = 12  # whose values go onto the page


def growing_chapter(material: Material) -> dict[str, Any]:
    """Lay out how the tree grew."""
    model = material.model
    reading: TreeReading = model._reading(model._model.trees[0])
    of_classes = material.labels is not None
    impurity = impurity_named(model.get_params(deep=False)["criterion"], of_classes=of_classes)
    inside = rows_by_node(model, material.rows.native)
    splits = _first_splits(reading)
    kept = _nodes_of(reading, splits)
    places = {node: place for place, node in enumerate(kept)}
    cells = cells_of(material.truth, len(material.labels or ()))
    bars = {node: _bars(material, reading, node, inside, cells=cells, impurity=impurity) for node in splits}
    columns = _columns_of(bars, reading, splits)
    numbers = {column: number for number, column in enumerate(columns)}
    nodes = []
    for node in kept:
        facts = node_facts(reading, node, cells[inside[node]], impurity, material)
        facts["open"] = node in bars
        facts["children"] = (
            [places[reading.child(node, b)] for b in reading.branches(node)] if facts["open"] else []
        )
        if facts["open"]:
            facts["bars"] = [{**bar, "column": numbers.get(bar["column"], -1)} for bar in bars[node]]
            facts["column"] = numbers[reading.feature(node)]
            facts["threshold"] = _threshold(reading, node)
        nodes.append(facts)
    for node in splits:
        for branch in reading.branches(node):
            nodes[places[reading.child(node, branch)]].update(
                parent=places[node], way=way_of(reading, node, branch)
            )
    return {
        "kind": "growing",
        "nodes": nodes,
        "splits": [places[node] for node in splits],
        "left_out": sum(1 for place in reading.walk() if reading.branches(place.node)) - len(splits),
        "impurity": impurity,
        "criterion": _criterion_words(model),
        "columns": [material.axis(column).plain() for column in columns],
        "values": material.points(columns),
        "ends": _ends(material, inside, kept),
        "plane": [numbers[column] for column in material.plane if column in numbers],
    }


def _criterion_words(model: Any) -> str | None:
    """Name the number that features are compared by, where that is not the impurity decrease."""
    criterion = model.get_params(deep=False)["criterion"]
    if not isinstance(criterion, str):
        return type(criterion).__name__
    return criterion if criterion in ("gain_ratio", "chi2", "f_test") else None


def _first_splits(reading: TreeReading) -> list[int]:
    """Return the inner nodes level by level, those with most rows if there are too many."""
    levels: list[tuple[int, int]] = []
    for place in reading.walk():
        if reading.branches(place.node):
            levels.append((place.depth, place.node))
    by_size = sorted(levels, key=lambda one: (-reading.rows(one[1]), one))[:MOST_SPLITS]
    kept = {node for _, node in by_size}
    parents = reading.tree.parent.tolist()
    # A child never has more rows than its parent, but may have as many: whoever is shown hangs on somebody.
    return [node for _, node in sorted(by_size) if node == 0 or int(parents[node]) in kept]


def _nodes_of(reading: TreeReading, splits: list[int]) -> list[int]:
    nodes = [0]
    for node in splits:
        nodes += [reading.child(node, branch) for branch in reading.branches(node)]
    return nodes


def rows_by_node(model: Any, X: Any) -> list[IntArray]:
    """Return the rows that come through each node."""
    paths = model.decision_path(X).tocsc()
    return [
        np.sort(paths.indices[paths.indptr[j] : paths.indptr[j + 1]]).astype(np.int64)
        for j in range(paths.shape[1])
    ]


def node_facts(
    reading: TreeReading, node: int, cells: FloatArray, impurity: str, material: Material
) -> dict[str, Any]:
    """Say what is known of a node: its rows among those given, its impurity, its answer."""
    total = cells.sum(axis=0)
    facts: dict[str, Any] = {
        "parent": -1,
        "way": "",
        "rows": len(cells),
        "impurity": rounded(float(impurity_of(total, impurity)), 4) if len(cells) else 0.0,
        "answer": reading.answer_words(node),
        "test": test_of(reading, node) if reading.branches(node) else "",
        "brief": brief_test(reading, node) if reading.branches(node) else "",
    }
    if material.labels is not None:
        facts["counts"] = [int(each) for each in total]
        facts["says"] = int(np.argmax(reading.tree.value[node, 0, : len(material.labels)]))
    else:
        facts["mean"] = rounded(float(reading.tree.value[node, 0, 0]))
    return facts


def _threshold(reading: TreeReading, node: int) -> float | None:
    if reading.schema.kinds[reading.feature(node)] != "numeric":
        return None
    threshold = float(reading.tree.threshold[node])
    return rounded(threshold, 9) if np.isfinite(threshold) else None


def _ends(material: Material, inside: list[IntArray], kept: list[int]) -> list[int]:
    """Return, for each row on the page, the last node of those kept that it comes through."""
    end = np.zeros(material.rows.n_rows, dtype=np.int64)
    for place, node in enumerate(kept):  # children come after their parents
        end[inside[node]] = place
    found: list[int] = end[material.shown].tolist()
    return found


# --- Gains -----------------------------------------------------------------------------------------------


def _bars(
    material: Material,
    reading: TreeReading,
    node: int,
    inside: list[IntArray],
    *,
    cells: FloatArray,
    impurity: str,
) -> list[dict[str, Any]]:
    """Return the best gain of each column, the largest first; that of the tree's own test is marked."""
    rows = inside[node]
    of_classes = material.labels is not None
    found: list[dict[str, Any]] = []
    for column in range(material.values.shape[1]):
        if column == reading.feature(node):
            branches = np.zeros(material.rows.n_rows, dtype=np.int64)
            for branch in reading.branches(node):
                branches[inside[reading.child(node, branch)]] = branch
            gain = gain_of_branches(cells[rows], branches[rows], impurity, of_classes=of_classes)
            found.append(
                {"column": column, "test": test_of(reading, node), "gain": max(gain, 0.0), "chosen": True}
            )
            continue
        best = _best_test(material, column, rows, cells[rows], impurity)
        if best is not None:
            found.append({"column": column, "test": best[0], "gain": best[1], "chosen": False})
    found.sort(key=lambda bar: (-bar["gain"] - (1e-12 if bar["chosen"] else 0.0), bar["column"]))
    shown = found[:MOST_BARS]
    if not any(bar["chosen"] for bar in shown):
        shown[-1] = next(bar for bar in found if bar["chosen"])
    return [{**bar, "name": material.names[bar["column"]], "gain": rounded(bar["gain"], 4)} for bar in shown]


def _best_test(
    material: Material, column: int, rows: IntArray, cells: FloatArray, impurity: str
) -> tuple[str, float] | None:
    """Find the best way to part the rows of a node by one column, among those that have a value."""
    values = material.values[rows, column]
    known = ~np.isnan(values)
    of_classes = material.labels is not None
    values, cells = values[known], cells[known]
    name = material.names[column]
    categories = material.table.columns[column].categories
    codes = values.astype(np.int64) if categories is not None else None
    if codes is not None and material.model.categorical_split == "multiway":  # a branch for each
        if len(np.unique(codes)) < 2:
            return None
        gain = gain_of_branches(cells, codes, impurity, of_classes=of_classes)
        return name, max(gain, 0.0) * float(known.mean())
    if codes is not None:
        values = _places_by_mean(codes, cells, of_classes)[codes]
    thresholds, gains = threshold_gains(values, cells, impurity, of_classes=of_classes)
    if not len(gains):
        return None
    best = int(np.argmax(gains))
    gain = max(float(gains[best]), 0.0) * float(known.mean())
    if codes is None or categories is None:
        return f"{name} <= {brief_number(float(thresholds[best]))}", gain
    group = np.unique(codes[values <= thresholds[best]])
    return f"{name} in {{{', '.join(named(categories[k]) for k in group[:6])}}}", gain


def _places_by_mean(codes: IntArray, cells: FloatArray, of_classes: bool) -> FloatArray:
    """Order categories by their mean target, or by their share of the commonest class (Breiman et al.)."""
    n = int(codes.max()) + 1 if len(codes) else 0
    target = cells[:, int(cells.sum(axis=0).argmax())] if of_classes else cells[:, 1]
    counts = np.bincount(codes, minlength=n)
    means = np.bincount(codes, weights=target, minlength=n) / np.maximum(counts, 1)
    return np.argsort(np.argsort(means, kind="stable"), kind="stable").astype(np.float64)


def _columns_of(bars: dict[int, list[dict[str, Any]]], reading: TreeReading, splits: list[int]) -> list[int]:
    """Choose the columns whose values the page holds: those that are tested, then those that came close."""
    tested = list(dict.fromkeys(reading.feature(node) for node in splits))
    close: dict[int, float] = {}
    for node in splits:
        for bar in bars[node]:
            close[bar["column"]] = max(close.get(bar["column"], 0.0), bar["gain"])
    others = sorted((column for column in close if column not in tested), key=lambda one: -close[one])
    return tested + others[: max(0, MOST_COLUMNS - len(tested))]
