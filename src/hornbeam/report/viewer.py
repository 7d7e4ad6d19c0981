"""What the tree viewer of a report shows, as plain values: a model made of our trees comes in, JSON goes out.

All words are made here, where the library's own words are; the script only puts them in place. A page can
hold so many nodes: of an ensemble the first trees that fit are shown, and of a tree that is too large by
itself the nodes with most rows, the others cut off where the page says so.
"""

import heapq
import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from hornbeam.data.dates import bound_words
from hornbeam.data.table import Table
from hornbeam.inside.importance import gain_per_row
from hornbeam.inside.nodes import TreeReading, readings_of
from hornbeam.inside.words import brief_number, named, printable
from hornbeam.report.facts import Facts

__all__ = ["brief_test", "json_block", "readings_shown", "test_of", "viewer_data", "way_of"]

MOST_NODES = 20_000
MOST_MEMBERS = 200
N_ROWS = 60
MOST_SHARES = 4
LONGEST_VALUE = 40


def readings_shown(model: Any) -> list[TreeReading]:
    """Return the trees that a page shows: those of models that have all of them on one table."""
    return readings_of(model) if hasattr(model, "_model") else []


def viewer_data(facts: Facts) -> dict[str, Any] | None:
    """Lay out the trees of a model, and the paths of some rows through them; None if there are no trees."""
    readings = readings_shown(facts.model)
    if not readings:
        return None
    shown = _members_that_fit(readings)
    kept = [_kept_nodes(reading, MOST_NODES) for reading in shown]
    rows = _rows_to_follow(facts)
    followed = facts.model._model.read(
        facts.rows.take(rows).native, estimator_name=type(facts.model).__name__
    )
    paths = _paths(facts, shown, kept, followed)
    used = sorted(
        {
            reading.feature(node)
            for reading, nodes in zip(shown, kept, strict=True)
            for node in nodes
            if reading.branches(node)
        }
    )
    first = readings[0]
    return {
        "classes": [named(each) for each in first.labels[0]] if first.classes else None,
        "names": [first.name_words[j] for j in range(len(first.schema.names))],
        "adds": hasattr(facts.model, "_baseline"),  # trees of gradient boosting answer nothing
        "total": len(readings),
        "members": [
            {"title": _title(facts, number, len(readings)), **_tree(reading, nodes)}
            for number, (reading, nodes) in enumerate(zip(shown, kept, strict=True))
        ],
        "rows": [
            _row(facts, row, _values(facts, row, followed, n, used)) for n, row in enumerate(rows.tolist())
        ],
        "paths": paths,
    }


def json_block(document: Any) -> Markup:
    """Write a document for a data block of a page: no text in it can end the block or begin a comment."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _members_that_fit(readings: list[TreeReading]) -> list[TreeReading]:
    sizes = np.cumsum([reading.tree.node_count for reading in readings])
    return readings[: max(1, min(MOST_MEMBERS, int(np.count_nonzero(sizes <= MOST_NODES))))]


def _title(facts: Facts, number: int, n_members: int) -> str:
    """Name a member: the round and, where each class has a tree, the class that it adds to."""
    model = facts.model
    if n_members == 1:
        return "the tree"
    adds_to = getattr(model._model, "adds_to", None)
    if adds_to is not None:
        n_scores = int(np.max(adds_to)) + 1
        which = f", score of {named(model.classes_[number % n_scores])}" if n_scores > 1 else ""
        return f"round {number // n_scores + 1}{which}"
    weights = getattr(model, "estimator_weights_", None)
    if weights is not None:
        return f"round {number + 1}, weight {brief_number(float(weights[number]))}"
    return f"{'round' if hasattr(model, 'staged_predict') else 'tree'} {number + 1}"


# --- A tree ----------------------------------------------------------------------------------------------


def _kept_nodes(reading: TreeReading, most: int) -> list[int]:
    """Return the nodes that are shown, the root first: all, or as many as fit of those with most rows."""
    if reading.tree.node_count <= most:
        return [place.node for place in reading.walk()]
    kept = [0]
    waiting = [(-reading.rows(0), 0)]
    while waiting:
        _, node = heapq.heappop(waiting)
        children = [reading.child(node, branch) for branch in reading.branches(node)]
        if len(kept) + len(children) > most:
            break
        kept += children
        for child in children:
            heapq.heappush(waiting, (-reading.rows(child), child))
    return kept


def _tree(reading: TreeReading, nodes: list[int]) -> dict[str, Any]:
    """Lay out a tree as a list per fact; children are numbered as they come in these lists."""
    places = {node: position for position, node in enumerate(nodes)}
    tree = reading.tree
    children = [[reading.child(node, branch) for branch in reading.branches(node)] for node in nodes]
    is_open = [bool(each) and each[0] in places for each in children]
    facts: dict[str, Any] = {
        "node": nodes,
        "children": [
            [places[child] for child in each] if shown else []
            for each, shown in zip(children, is_open, strict=True)
        ],
        "cut": [
            position
            for position, (each, shown) in enumerate(zip(children, is_open, strict=True))
            if each and not shown
        ],
        "feature": [reading.feature(node) for node in nodes],
        "test": [test_of(reading, node) if reading.branches(node) else "" for node in nodes],
        "brief": [brief_test(reading, node) if reading.branches(node) else "" for node in nodes],
        "way": [""] * len(nodes),
        "reached": [""] * len(nodes),
        "rows": [reading.row_words(node) for node in nodes],
        "share": [_rounded(reading.weight(node) / max(reading.weight(0), 1e-300)) for node in nodes],
        # Trees of boosting lower a loss and have no impurity of their own.
        "impurity": [_rounded(float(tree.impurity[node])) for node in nodes] if tree.impurity.any() else None,
        "gain": [_rounded(gain_per_row(tree, node)) for node in nodes],
        "answer": [reading.answer_words(node) for node in nodes],
        "shares": _top_shares(reading, nodes),
        "height": _heights(reading, nodes),
    }
    for node, position in places.items():
        if is_open[position]:
            for branch, child in enumerate(children[position]):
                facts["way"][places[child]] = way_of(reading, node, branch)
                facts["reached"][places[child]] = _with_brief_number(reading, node, branch)
    return facts


def test_of(reading: TreeReading, node: int) -> str:
    """Write a test as a question that yes and no answer; where it has other answers, only what it asks."""
    if _has_named_ways(reading, node):
        return reading.name_words[reading.feature(node)]
    return _with_brief_number(reading, node, 0)


def _has_named_ways(reading: TreeReading, node: int) -> bool:
    """Whether branches go by what takes them: more than two, or a "not" that a no would negate again."""
    return len(reading.branches(node)) > 2 or " not in {" in reading.branch_words(node, 0)


def brief_test(reading: TreeReading, node: int) -> str:
    """Write a test for a small box: a long list of categories becomes a count."""
    whole = test_of(reading, node)
    groups = reading.categories_by_branch(node)
    if groups is None or len(groups[0]) < 3 or " in {" not in whole:
        return whole
    n_known = len(reading.schema.categories[reading.feature(node)] or ())
    missing = " or missing" if whole.endswith(" or missing") else ""
    return f"{reading.name_words[reading.feature(node)]} in {len(groups[0])} of {n_known}{missing}"


def _with_brief_number(reading: TreeReading, node: int, branch: int) -> str:
    """Write what a branch takes; a picture has room for six digits of a threshold."""
    words = reading.branch_words(node, branch)
    feature = reading.feature(node)
    if reading.schema.kinds[feature] != "numeric" or reading.schema.part(feature) is not None:
        return words
    name = reading.name_words[reading.feature(node)]
    for mark in ("<=", ">"):
        if words.startswith(f"{name} {mark} "):
            missing = " or missing" if words.endswith(" or missing") else ""
            return f"{name} {mark} {brief_number(float(reading.tree.threshold[node]))}{missing}"
    return words  # "is known", "is missing"


def way_of(reading: TreeReading, node: int, branch: int) -> str:
    """Name a branch: yes or no, or what takes it where the test does not ask for these."""
    if not _has_named_ways(reading, node):
        return ("yes", "no")[branch]
    groups = reading.categories_by_branch(node)
    if groups is not None and len(groups[branch]) > 2:
        missing = " or missing" if reading.branch_words(node, branch).endswith(" or missing") else ""
        return f"{named(groups[branch][0])} and {len(groups[branch]) - 1} more{missing}"
    name = reading.name_words[reading.feature(node)]
    return reading.branch_words(node, branch).removeprefix(f"{name} ").removeprefix("= ")


def _top_shares(reading: TreeReading, nodes: list[int]) -> list[list[float]] | None:
    """Give the largest class shares of each node, of the first output: class, share, class, share..."""
    if not reading.classes:
        return None
    shares = np.asarray(reading.tree.value)[:, 0, : len(reading.classes[0])][nodes]
    order = np.argsort(-shares, axis=1, kind="stable")[:, :MOST_SHARES]
    return [
        [part for k in top.tolist() if row[k] > 0 for part in (k, _rounded(float(row[k])))]
        for row, top in zip(shares, order, strict=True)
    ]


def _heights(reading: TreeReading, nodes: list[int]) -> list[float] | None:
    """Say how large the number of each node is among all of the tree, from 0 to 1; None for classes."""
    if reading.classes:
        return None
    values = np.asarray(reading.tree.value)[:, 0, 0]
    low, high = float(values.min()), float(values.max())
    return [_rounded((float(values[node]) - low) / ((high - low) or 1.0)) for node in nodes]


def _rounded(value: float) -> float:
    return float(f"{value:.4g}") if math.isfinite(value) else 0.0


# --- Rows ------------------------------------------------------------------------------------------------


def _rows_to_follow(facts: Facts) -> npt.NDArray[np.int64]:
    """Choose rows at even distances, so that the first and the last are among them."""
    n_rows = facts.rows.n_rows
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, N_ROWS)).astype(np.int64))


def _values(facts: Facts, row: int, followed: Table, place: int, used: list[int]) -> dict[str, str]:
    """Write the values of the columns that the trees ask for, by their number: cells, and parts of dates."""
    cells = facts.rows.cells(row)
    sources, found = followed.schema.sources, {}
    for j in used:
        column = followed.columns[j]
        words = None
        if column.part is not None:
            words = bound_words(column.part.name, float(np.asarray(column.values)[place]))
        found[str(j)] = words or _value_words(cells[sources[j]])
    return found


def _row(facts: Facts, row: int, values: dict[str, str]) -> dict[str, Any]:
    truth = facts.truth[row] if facts.labels is None else facts.labels[facts.truth[row]]
    said = facts.own.labels[row]
    if facts.labels is None:
        words = brief_number(float(truth)), brief_number(float(said))
    else:
        words = named(truth), named(said)
    return {
        "number": row,
        "truth": words[0],
        "said": words[1],
        "values": values,
    }


def _value_words(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, float | np.floating):
        return brief_number(float(value))
    return printable(value, LONGEST_VALUE)


def _paths(facts: Facts, shown: list[TreeReading], kept: list[list[int]], followed: Table) -> list[list[int]]:
    """Find the node each row ends in, per member; where the tree is cut, the last one that is shown."""
    leaves = facts.model._model.leaves(followed, n_threads=1)
    found = []
    for member, (reading, nodes) in enumerate(zip(shown, kept, strict=True)):
        places = {node: position for position, node in enumerate(nodes)}
        parent = reading.tree.parent
        ends = []
        for leaf in leaves[:, member].tolist():
            node = leaf
            while node not in places:
                node = int(parent[node])
            ends.append(places[node])
        found.append(ends)
    return found
