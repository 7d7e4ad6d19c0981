"""Trees as JSON: everything a program in another language needs to predict with them.

The object has `estimator`; `features`, each with `name`, `kind` and, unless numeric, `categories`; `classes`,
a list of labels per output, empty where numbers are predicted; and `trees`, each a list of nodes. A node has
`rows`, `weight`, `impurity` and `value` (per output the class shares, or a mean). An inner node also has
`feature` (a position), `children` (positions in the list) and `missing_child`, and either `threshold` (values
up to it go to the first child; "inf" sends every known value there) or `categories`, for each category of
the feature the number of its child. Nodes are flat, however deep a tree is. Where a tree has surrogates, an
inner node lists them in `surrogates`: a row that lacks the feature goes as the first of them says whose
feature it has, before `missing_child`. Each has `feature`, `agreement` and either `categories`, or
`threshold` and `low`, the number of the child for values up to it.

Trees of gradient boosting add up: `start` has the numbers that the scores begin with, `adds_to` the score
that each tree adds to, `loss` what the scores mean (hornbeam.recipes.losses), `labels` the classes, if any.
Trees of AdaBoost vote: `weights` has what the vote of each tree weighs, or its number in a weighted median.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from hornbeam._core import version
from hornbeam.inside.nodes import TreeReading

__all__ = ["json_of"]


def json_of(estimator: str, readings: list[TreeReading], facts: Mapping[str, Any]) -> str:
    """Write trees and what gives their numbers a meaning; `facts` are those of the whole model."""
    first = readings[0]
    document = {
        "made_by": f"hornbeam {version}",
        "estimator": estimator,
        "features": [
            {"name": name, "kind": kind} | ({} if categories is None else {"categories": list(categories)})
            for name, kind, categories in zip(
                first.schema.names, first.schema.kinds, first.schema.categories, strict=True
            )
        ],
        "unseen": first.unseen,
        "classes": first.labels,
        **facts,
        "trees": [_nodes(reading) for reading in readings],
    }
    return json.dumps(document, allow_nan=False, indent=1) + "\n"


def _nodes(reading: TreeReading) -> list[dict[str, Any]]:
    tree = reading.tree
    values, impurities = tree.value.tolist(), tree.impurity.tolist()
    nodes = []
    for node in range(tree.node_count):
        facts: dict[str, Any] = {
            "rows": reading.rows(node),
            "weight": reading.weight(node),
            "impurity": impurities[node],
            "value": values[node],
        }
        nodes.append(facts | (_test(reading, node) if reading.branches(node) else {}))
    return nodes


def _test(reading: TreeReading, node: int) -> dict[str, Any]:
    feature = reading.feature(node)
    branches = reading.branches(node)
    children = [reading.child(node, branch) for branch in branches]
    test: dict[str, Any] = {
        "feature": feature,
        "children": children,
        "missing_child": children[reading.missing_branch(node)],
    }
    if reading.schema.kinds[feature] == "categorical":
        n_categories = len(reading.schema.categories[feature] or ())
        test["categories"] = reading.tree.branches_of_categories(node, n_categories).tolist()
    else:
        test["threshold"] = _number(float(reading.tree.threshold[node]))
    if reading.has_surrogates:
        test["surrogates"] = _surrogates(reading, node)
    return test


def _surrogates(reading: TreeReading, node: int) -> list[dict[str, Any]]:
    tree = reading.tree
    found = []
    for s in range(*tree.surrogate_begin[node : node + 2].tolist()):
        feature = int(tree.surrogate_feature[s])
        one: dict[str, Any] = {"feature": feature, "agreement": float(tree.surrogate_agreement[s])}
        if reading.schema.kinds[feature] == "categorical":
            n_categories = len(reading.schema.categories[feature] or ())
            one["categories"] = tree.surrogate_branches(s, n_categories).tolist()
        else:
            one["threshold"] = _number(float(tree.surrogate_threshold[s]))
            one["low"] = int(tree.surrogate_low_branch[s])
        found.append(one)
    return found


def _number(value: float) -> float | str:
    """Return a number as JSON has it; infinities, which it has not, become texts."""
    return value if math.isfinite(value) else str(value)
