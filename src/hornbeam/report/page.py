"""The page of a report, put together from facts, charts and trees: one text that needs nothing beside it."""

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from hornbeam import _core
from hornbeam.inside.rules import rule_text
from hornbeam.inside.words import count, named, percent
from hornbeam.report.charts import charts_of, importance_words
from hornbeam.report.facts import Facts
from hornbeam.report.scores import Score
from hornbeam.report.viewer import json_block, readings_shown, viewer_data

__all__ = ["page_of", "policy_of"]

MOST_COLUMNS_LISTED = 60
MOST_CLASSES_CONFUSED = 12
MOST_IMPORTANCES = 10
MOST_RULE_LINES = 120
N_SHADES = 8


def page_of(facts: Facts, *, title: str | None = None) -> str:
    """Write the page of some facts."""
    style, script = _asset("page.css"), _asset("page.js")
    trees = viewer_data(facts)
    page: str = _template().render(
        type_name=type(facts.model).__name__,
        title=title or f"Predicting {named(facts.target_name)}",
        version=_core.version,
        policy=policy_of(style, script),
        style=Markup(style),
        script=Markup(script),
        facts=facts,
        score=facts.scores.headline,
        verdict=_verdict(facts),
        charts=charts_of(facts),
        importances=_importances(facts),
        importance_words=importance_words(facts),
        columns=facts.columns[:MOST_COLUMNS_LISTED],
        confusion=_confusion(facts),
        options=_options(facts.model),
        trees=trees,
        tree_json=json_block(trees),
        rules=_first_rules(facts.model),
        class_names=[named(each) for each in facts.labels or ()],
    )
    return page


@cache
def _asset(name: str) -> str:
    return (resources.files("hornbeam.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(beside=_beside, count=count, percent=percent, named=named)
    return environment.from_string(_asset("page.html"))


def policy_of(style: str, script: str) -> str:
    """Allow this style and this script, known by their hashes, and nothing else."""
    return (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _beside(value: float | None, error: float) -> str:
    """Write a number with the digits that its standard error leaves a meaning, two of the error's own."""
    if value is None:
        return ""
    if not error > 0:
        return f"{value:.4g}"
    digits = 1 - int(np.floor(np.log10(error)))
    return f"{value:.{min(max(digits, 0), 6)}f}" if digits >= 0 else f"{value:,.0f}"


# --- Words and tables ------------------------------------------------------------------------------------


def _verdict(facts: Facts) -> str:
    """Say in a sentence whether the model is worth having."""
    score = facts.scores.headline
    by = f"{abs(score.gain):.3g} (95 % interval {score.gain_low:.3g} to {score.gain_high:.3g})"
    if score.is_noise:
        return f"The difference to the baseline, {score.gain:+.3g}, is within noise: these rows show no gain."
    if score.gain < 0:
        return f"The model is worse than the baseline, by {by}."
    sentence = f"The model is better than the baseline, by {by}."
    if score.training is not None and _overfits(score):
        sentence += (
            f" On the rows of its fit it reaches {score.training:.3g}: part of what it learned there does "
            "not hold elsewhere."
        )
    return sentence


def _overfits(score: Score) -> bool:
    """Whether the model loses more than a third of its gain from the rows of its fit to others."""
    sign = 1.0 if score.more_is_better else -1.0
    gain_there = sign * ((score.training or 0.0) - score.baseline)
    return gain_there - score.gain > 0.33 * gain_there


def _importances(facts: Facts) -> list[dict[str, Any]]:
    """List the columns that matter most, as many as a table beside the chart can hold."""
    found = facts.importances
    return [
        {"name": facts.columns[column].name, "mean": mean, "error": error}
        for column, mean, error in zip(
            found.columns[:MOST_IMPORTANCES], found.mean.tolist(), found.standard_error.tolist(), strict=False
        )
    ]


def _confusion(facts: Facts) -> dict[str, Any] | None:
    """Count answers by true class, of the most frequent classes if there are very many."""
    if facts.labels is None:
        return None
    n = len(facts.labels)
    codes = {label: code for code, label in enumerate(facts.labels)}
    said = np.array([codes[answer] for answer in facts.judgement.answers.labels.tolist()])
    counts = np.zeros((n, n), dtype=np.int64)
    np.add.at(counts, (facts.truth, said), 1)
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES_CONFUSED])
    totals = counts.sum(axis=1)
    return {
        "names": [named(facts.labels[k]) for k in shown],
        "rows": [
            {
                "name": named(facts.labels[k]),
                "total": int(totals[k]),
                "found": percent(counts[k, k] / totals[k]) if totals[k] else "",
                "cells": [
                    {
                        "count": int(counts[k, j]),
                        "shade": _shade(counts[k, j] / max(1, totals[k])),
                        "right": bool(k == j),
                    }
                    for j in shown
                ],
            }
            for k in shown
        ],
        "n_left_out": n - len(shown),
    }


def _shade(share: float) -> int:
    return int(np.ceil(share * N_SHADES))


def _options(model: Any) -> list[tuple[str, str]]:
    """List the parameters of a model that differ from their defaults, as scikit-learn prints them."""
    try:
        defaults = type(model)().get_params(deep=False)
    except TypeError:  # a parameter without default
        defaults = {}
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return [
        (name, repr(value)[:200])
        for name, value in given.items()
        if name not in defaults or repr(defaults[name]) != repr(value)
    ]


def _first_rules(model: Any) -> str | None:
    """Write the first tree as rules, for paper and for browsers without scripts."""
    readings = readings_shown(model)
    if not readings:
        return None
    lines = rule_text(readings[0]).split("\n")
    if len(lines) > MOST_RULE_LINES:
        lines = [*lines[:MOST_RULE_LINES], f"... {count(len(lines) - MOST_RULE_LINES, 'more line')}"]
    return "\n".join(lines)
