"""A model as a Python file that needs Python and nothing else: tables, and fifty lines that walk them."""

from collections.abc import Iterable, Sequence
from typing import Any

from hornbeam.exports.flat import flatten
from hornbeam.exports.portable import PortableModel

__all__ = ["python_of"]

_PER_LINE = 8


def python_of(model: PortableModel) -> str:
    """Write a model as a module with `predict` and, for classes, `predict_proba`."""
    flat = flatten(model)
    names = [given.name for given in model.given]
    columns = [given.column for given in model.given]
    categories = [None if c.categories is None else list(c.categories) for c in columns]
    ordered = [column.kind == "ordinal" for column in columns]
    outputs = [(o.begin, o.end, None if o.labels is None else list(o.labels)) for o in model.outputs]
    facts = [
        "inf = float('inf')",
        f"COLUMNS = {names!r}",
        f"CATEGORIES = {categories!r}  # None for columns of numbers",
        f"ORDERED = {ordered!r}  # categories that are compared by their position",
        *_facts_of_dates(model),
        f"OUTPUTS = {outputs!r}  # scores from, to; labels",
        f"START = {list(model.start)!r}",
        f"DIVISOR = {model.divisor!r}",
        f"MEDIAN_WEIGHTS = {None if model.median_weights is None else list(model.median_weights)!r}",
        f"LINK = {model.link!r}",
        f"SCALE = {model.scale!r}",
        f"REFUSES_MISSING = {model.refuses_missing!r}",
        f"REFUSES_UNSEEN = {model.refuses_unseen!r}",
        "# By tree: its first node, and the score that its values are added to first.",
        _listed("TREES", zip(flat.roots, [tree.first_score for tree in model.trees], strict=True)),
        f"WIDTH = {model.trees[0].values.shape[1]}  # values per leaf",
        "# Column, threshold, first child (or place of the values), branches, branch of missing values,",
        "# table of categories, stand-ins from, to.",
        _listed("NODES", flat.nodes),
        "# Branches by category: of unseen ones first; -1 means as if missing.",
        _listed("TABLES", flat.tables),
        "# Tests that are asked where a value is missing: column, threshold, branch up to it, table.",
        _listed("STAND_INS", flat.stand_ins),
        _listed("VALUES", flat.values),
    ]
    walk = _WALK
    if model.has_dates:  # else a file has nothing of them
        walk = _DATES + walk.replace(*_READ_DATES, 1).replace(*_MISSING_DATES, 1)
    code = walk + (_PROBA if model.has_classes else "")
    return "\n".join(facts) + "\n" + code


def _facts_of_dates(model: PortableModel) -> list[str]:
    if not model.has_dates:
        return []
    order = [place for given in model.given for place in given.places]
    if order != sorted(order):
        raise AssertionError("what is made of a date stands together")
    parts = [
        [model.columns[place].part for place in given.places] if given.is_date else None
        for given in model.given
    ]
    return [f"PARTS = {parts!r}  # what is made of dates, None for other columns"]


def _listed(name: str, items: Iterable[Any]) -> str:
    texts = [repr(item) for item in items]
    lines = [", ".join(texts[k : k + _PER_LINE]) for k in range(0, len(texts), _PER_LINE)]
    return f"{name} = [\n" + "".join(f"    {line},\n" for line in lines) + "]"


def header_of(lines: Sequence[str]) -> str:
    """Write what is said of the file as its docstring's comments; nothing of it can become code."""
    return "".join(f"# {line}\n" for line in lines) + "\n"


_DATES = '''
import datetime


def _parts(name, value, parts):
    """Turn a date, or a text such as 2024-03-31 or 2024-03-31 10:30, into what the trees ask of it."""
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("column %r: %r is not a date such as 2024-03-31 10:30" % (name, value)) from None
    day = value.toordinal() - 719163
    passed = 0
    if isinstance(value, datetime.datetime):
        passed = ((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond
    time = day + passed / 86400000000.0
    found = {
        "date": day,
        "time": time,
        "month": value.month,
        "day": value.day,
        "day_of_year": value.timetuple().tm_yday,
        "weekday": value.weekday(),
        "hour": round((time - day) * 86400000) / 3600000,
    }
    return [float(found[part]) for part in parts]

'''
_READ_DATES = (
    """        elif categories is None:
            numbers.append(float(value))
""",
    """        elif PARTS[COLUMNS.index(name)]:
            numbers += _parts(name, value, PARTS[COLUMNS.index(name)])
        elif categories is None:
            numbers.append(float(value))
""",
)
_MISSING_DATES = (
    """            numbers.append(None)
""",
    """            numbers += [None] * len(PARTS[COLUMNS.index(name)] or [name])
""",
)

_WALK = '''
import math


def _read(row):
    """Turn a row, by name or in order, into numbers; None is missing."""
    values = [row.get(name) for name in COLUMNS] if hasattr(row, "get") else list(row)
    if len(values) != len(COLUMNS):
        raise ValueError("a row has %d values, not %d" % (len(COLUMNS), len(values)))
    numbers = []
    for name, value, categories, ordered in zip(COLUMNS, values, CATEGORIES, ORDERED):
        if value is None or value != value:
            if REFUSES_MISSING:
                raise ValueError("column %r: the value is missing" % name)
            numbers.append(None)
        elif categories is None:
            numbers.append(float(value))
        elif value in categories:
            numbers.append(categories.index(value))
        elif REFUSES_UNSEEN:
            raise ValueError("column %r: the category %r was not seen in the fit" % (name, value))
        else:
            numbers.append(None if ordered else -1)
    return numbers


def _branch(value, threshold, low, table):
    """Return the branch of a value; -1 if it is missing."""
    if value is None:
        return -1
    if table < 0:
        return low if value <= threshold else 1 - low
    return TABLES[table + 1 + value]


def _leaf(root, x):
    """Walk one tree; return where the values of the leaf begin."""
    node = root
    while True:
        column, threshold, first, branches, missing, table, stand_begin, stand_end = NODES[node]
        if not branches:
            return first
        branch = _branch(x[column], threshold, 0, table)
        for stand_in in range(stand_begin, stand_end):
            if branch >= 0:
                break
            other, threshold, low, table = STAND_INS[stand_in]
            branch = _branch(x[other], threshold, low, table)
        node = first + (branch if branch >= 0 else missing)


def _scores(row):
    x = _read(row)
    if MEDIAN_WEIGHTS is not None:
        said = [(VALUES[_leaf(root, x)], weight) for (root, _), weight in zip(TREES, MEDIAN_WEIGHTS)]
        said.sort(key=lambda pair: pair[0])
        below, sums = 0.0, []
        for _, weight in said:
            below += weight
            sums.append(below)
        return [next(value for (value, _), up_to in zip(said, sums) if up_to >= 0.5 * below)]
    scores = list(START)
    for root, first in TREES:
        leaf = _leaf(root, x)
        for k in range(WIDTH):
            scores[first + k] += VALUES[leaf + k]
    return [score / DIVISOR for score in scores]


def predict(row):
    """Predict one row, a mapping by column name or a sequence: a number or a label; a list of several."""
    scores, answers = _scores(row), []
    for begin, end, labels in OUTPUTS:
        if labels is None:
            answers.append(math.exp(scores[begin]) if LINK == "exp" else scores[begin])
        elif LINK == "logistic":
            answers.append(labels[1 if scores[begin] > 0 else 0])
        else:
            answers.append(labels[max(range(end - begin), key=lambda k: scores[begin + k])])
    return answers[0] if len(answers) == 1 else answers
'''

_PROBA = '''

def predict_proba(row):
    """Return the share of each class of one row, in the order of the labels; a list of such for several."""
    scores, shares = _scores(row), []
    for begin, end, labels in OUTPUTS:
        own = [SCALE * score for score in scores[begin:end]]
        if LINK == "logistic":
            small = math.exp(-abs(own[0]))
            second = 1 / (1 + small) if own[0] >= 0 else small / (1 + small)
            own = [1 - second, second]
        elif LINK == "softmax":
            own = [math.exp(score - max(own)) for score in own]
            total = sum(own)
            own = [score / total for score in own]
        shares.append(own)
    return shares[0] if len(shares) == 1 else shares
'''
