"""Trees as JSON: everything a program in another language needs to predict with them.

`JsonReader` is such a program: it answers rows from the document alone, which is how an export is tested.

The object has `estimator`; `features`, each with `name`, `kind` and, unless numeric, `categories`; `classes`,
a list of labels per output, empty where numbers are predicted; and `trees`, each a list of nodes. A node has
`rows`, `weight`, `impurity` and `value` (per output the class shares, or a mean). An inner node also has
`feature` (a position), `children` (positions in the list) and `missing_child` (with unseen="majority" also
`unseen_child`, for categories that are not listed, which are missing otherwise), and either `threshold`
(values up to it go to the first child; "inf" sends every known value there) or `categories`, for each
category of the feature the number of its child. Nodes are flat, however deep a tree is. Where a tree has
surrogates, an inner node lists them in `surrogates`: a row that lacks the feature goes as the first of them
says whose
feature it has, before `missing_child`. Each has `feature`, `agreement` and either `categories`, or
`threshold` and `low`, the number of the child for values up to it.

A feature that is made of a date has `made_of`, the name of the given column, and `part`: "date", the days
since 1970-01-01, "time", the same with the share of the day that has passed, "month", "day", "day_of_year",
"weekday" (Monday is 0), or "hour", in whole milliseconds. The clock as it is written counts.

Trees of gradient boosting add up: `start` has the numbers that the scores begin with, `adds_to` the score
that each tree adds to, `loss` what the scores mean (hornbeam.recipes.boosting.losses), `labels` the
classes, if any. Trees of AdaBoost vote: `weights` has the weight of each tree's vote, or of its number in a
weighted median.

`answer` says how leaves become an answer: `combine` is "mean" of the values, "votes" for the class with the
largest share (the first of equals), "sum" on top of `start`, or "median", weighted; `link` is "identity",
"exp", "logistic" or "softmax" of `scale` times the sum. The class with the largest score is the answer, the
first of equals; with "logistic" there is one score, and above 0 it means the second class. Where there are
`pseudo_votes`, one for each class of each output, they are counted beside the trees: the share of a class is
(sum + its pseudo-vote) / (trees + pseudo-votes of the output).
"""

import datetime
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hornbeam._core import version
from hornbeam.data.table import Schema
from hornbeam.exports.check import Answers
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.test_rows import TestRows, texts_of_dates
from hornbeam.inside.nodes import TreeReading

__all__ = ["JsonReader", "answer_of", "json_of"]


def json_of(
    estimator: str,
    readings: list[TreeReading],
    facts: Mapping[str, Any],
    answer: Mapping[str, Any] | None,
    tested: list[str],
) -> str:
    """Write trees and what gives their numbers a meaning; `facts` are those of the whole model."""
    first = readings[0]
    document = {
        "made_by": f"hornbeam {version}",
        "tested": tested,
        "estimator": estimator,
        "features": [
            {"name": name, "kind": kind}
            | ({} if categories is None else {"categories": list(categories)})
            | _made_of(first.schema, place)
            for place, (name, kind, categories) in enumerate(
                zip(first.schema.names, first.schema.kinds, first.schema.categories, strict=True)
            )
        ],
        "unseen": first.unseen,
        "classes": first.labels,
        **facts,
        **({} if answer is None else {"answer": dict(answer)}),
        "trees": [_nodes(reading) for reading in readings],
    }
    return json.dumps(document, allow_nan=False, indent=1) + "\n"


def _made_of(schema: Schema, place: int) -> dict[str, Any]:
    """Say of a column that is made of a date which part of it that is."""
    part = schema.part(place)
    if part is None:
        return {}
    return {"made_of": schema.given_names[schema.sources[place]], "part": part.name}


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
        if reading.unseen == "majority":
            test["unseen_child"] = children[reading.unseen_branch(node)]
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


# ------------------------------------------------------------------------------------------------------------


def answer_of(model: PortableModel, *, hard_votes: bool) -> dict[str, Any]:
    """Say how leaves become an answer."""
    combine = "median" if model.median_weights is not None else "sum"
    if model.estimator.startswith("AdaBoost") and model.has_classes:
        combine = "votes"
    elif combine == "sum" and not model.estimator.startswith("GradientBoosting"):
        combine = "votes" if hard_votes else "mean"
    pseudo_votes = {"pseudo_votes": model.trees[-1].values[0].tolist()} if model.has_pseudo_votes else {}
    return {
        "combine": combine,
        **pseudo_votes,
        "link": model.link,
        "scale": model.scale,
        "refuses_missing": model.refuses_missing,
        "refuses_unseen": model.refuses_unseen,
    }


class JsonReader:
    """Answers rows from the document alone, as its description says."""

    name = "a reader of the document"

    def __init__(self, text: str) -> None:
        self.document = json.loads(text)

    @staticmethod
    def absent() -> str | None:
        """Say why there is no reader."""
        return None

    def run(self, model: PortableModel, rows: TestRows) -> Answers:
        """Answer the rows."""
        numbers, labels = [], []
        columns = [
            texts_of_dates(column) if column.dtype.kind == "M" else column.tolist() for column in rows.columns
        ]
        names = [given.name for given in model.given]
        for row in zip(*columns, strict=True):
            given = {name: None if _is_nan(value) else value for name, value in zip(names, row, strict=True)}
            scores = self._scores([_asked(feature, given) for feature in self.document["features"]])
            numbers.append(self._linked(scores))
            labels.append(self._labels(scores))
        width = max(len(row) for row in numbers)
        answers = np.array([row or [math.nan] * width for row in numbers])
        by_output = tuple(
            [row[k] for row in labels] for k in range(len(labels[0]) if model.has_classes else 0)
        )
        return Answers(answers, by_output)

    @property
    def _label_lists(self) -> list[list[Any]]:
        own = self.document.get("labels")
        lists: list[list[Any]] = self.document["classes"] if own is None else [own]
        return lists

    def _scores(self, row: list[Any]) -> list[list[float]] | None:
        """Return the scores of each output; None for a row that is refused."""
        answer, document = self.document["answer"], self.document
        codes: list[Any] = []
        for feature, value in zip(document["features"], row, strict=True):
            known = feature.get("categories")
            if value is None:
                if answer["refuses_missing"]:
                    return None
                codes.append(None)
            elif known is None or value in known:
                codes.append(value if known is None else known.index(value))
            elif answer["refuses_unseen"]:
                return None
            else:
                codes.append("unseen")
        leaves = [self._leaf(nodes, codes) for nodes in document["trees"]]
        weights = document.get("weights") or [1.0] * len(leaves)
        if answer["combine"] == "sum":
            scores = list(document["start"])
            for leaf, target in zip(leaves, document["adds_to"], strict=True):
                scores[target] += leaf[0][0]
            return [scores]
        if answer["combine"] == "median":
            return [[_median([leaf[0][0] for leaf in leaves], weights)]]
        if answer["combine"] == "votes":
            leaves = [[_vote(values, w) for values in leaf] for leaf, w in zip(leaves, weights, strict=True)]
        sums = [[0.0] * len(values) for values in leaves[0]]
        for leaf in leaves:
            sums = [
                [a + b for a, b in zip(one, two, strict=True)] for one, two in zip(sums, leaf, strict=True)
            ]
        divisor = 1.0 if "weights" in document else float(len(leaves))
        cut = [len(labels) for labels in self._label_lists] or [1] * len(sums)
        sums = [values[:n] for values, n in zip(sums, cut, strict=True)]
        if "pseudo_votes" in answer:
            shared = iter(answer["pseudo_votes"])
            sums = [[value + next(shared) for value in values] for values in sums]
            divisor += math.fsum(answer["pseudo_votes"]) / len(sums)
        return [[value / divisor for value in values] for values in sums]

    def _leaf(self, nodes: list[dict[str, Any]], codes: list[Any]) -> Any:
        node = nodes[0]
        while "children" in node:
            branch = self._branch(node, codes)
            node = nodes[node["missing_child"] if branch is None else node["children"][branch]]
        return node["value"]

    def _branch(self, node: dict[str, Any], codes: list[Any]) -> int | None:
        value = codes[node["feature"]]
        if value == "unseen":
            value = None
            if "unseen_child" in node:
                branch: int = node["children"].index(node["unseen_child"])
                return branch
        for test in [node, *node.get("surrogates", ())]:
            value = codes[test["feature"]]
            if value is not None and value != "unseen":
                if "categories" in test:
                    return int(test["categories"][value])
                low: int = test.get("low", 0)
                return low if value <= float(test["threshold"]) else 1 - low
        return None

    def _linked(self, scores: list[list[float]] | None) -> list[float]:
        if scores is None:
            return []
        answer = self.document["answer"]
        if self.document.get("loss") == "only_class":
            return [1.0]
        if answer["link"] == "exp":
            return [math.exp(scores[0][0])]
        flat = [answer["scale"] * score for output in scores for score in output]
        if answer["link"] == "logistic":
            return [1 - 1 / (1 + math.exp(-flat[0])), 1 / (1 + math.exp(-flat[0]))]
        if answer["link"] == "softmax":
            powers = [math.exp(score - max(flat)) for score in flat]
            return [power / math.fsum(powers) for power in powers]
        return flat

    def _labels(self, scores: list[list[float]] | None) -> list[Any]:
        labels = self._label_lists
        if scores is None:
            return [None] * len(labels)
        if self.document["answer"]["link"] == "logistic":
            return [labels[0][int(scores[0][0] > 0)]]
        return [own[one.index(max(one))] for own, one in zip(labels, scores, strict=bool(labels))]


def _asked(feature: Mapping[str, Any], row: Mapping[str, Any]) -> Any:
    """Return what a feature holds: a value of the row, or a part of a date in it."""
    if "part" not in feature:
        return row[feature["name"]]
    given = row[feature["made_of"]]
    if given is None:
        return None
    date = datetime.datetime.fromisoformat(given)
    days = date.toordinal() - datetime.date(1970, 1, 1).toordinal()
    passed = date - datetime.datetime.combine(date.date(), datetime.time())
    time = days + passed / datetime.timedelta(days=1)
    parts: dict[str, float] = {
        **{"date": days, "time": time, "month": date.month, "day": date.day},
        **{"day_of_year": date.timetuple().tm_yday, "weekday": date.weekday()},
        "hour": round((time - days) * 86_400_000) / 3_600_000,
    }
    return float(parts[feature["part"]])


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _vote(values: list[float], weight: float) -> list[float]:
    best = values.index(max(values))
    return [weight if k == best else 0.0 for k in range(len(values))]


def _median(values: list[float], weights: list[float]) -> float:
    order = sorted(range(len(values)), key=lambda k: values[k])
    sums, below = [], 0.0
    for k in order:
        below += weights[k]
        sums.append(below)
    return next(values[k] for k, up_to in zip(order, sums, strict=True) if up_to >= 0.5 * below)
