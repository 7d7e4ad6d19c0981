"""A model as one C99 header that includes nothing but <math.h>: tables, and functions that walk them."""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from hornbeam.data.wording import shown
from hornbeam.errors import ExportError
from hornbeam.exports.columns import InputColumn, refuse_dates
from hornbeam.exports.flat import flatten
from hornbeam.exports.portable import PortableModel

__all__ = ["Precision", "c_of", "largest_single", "n_numbers"]

Precision = Literal["double", "float"]

_PER_LINE = 8
_PLAIN = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,:+/()"
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
_KEYWORDS = frozenset(
    {"auto", "double", "float", "int", "long", "register", "return", "short", "static", "void"}
)


def n_numbers(model: PortableModel) -> int:
    """Count the numbers that a model answers with: one each, or a share per class."""
    return sum(1 if output.labels is None else len(output.labels) for output in model.outputs)


def largest_single(threshold: float) -> float:
    """Return the largest float32 up to a threshold: it parts all float32 as the threshold does."""
    with np.errstate(over="ignore"):
        near = np.float32(threshold)
    return float(near if float(near) <= threshold else np.nextafter(near, np.float32(-np.inf)))


def check_single(value: float) -> None:
    """Refuse a number that single precision does not reach."""
    if abs(value) > _LARGEST_SINGLE:
        raise ExportError(
            f"The model holds {value}, beyond the {_LARGEST_SINGLE:.4g} of single precision. Export it with "
            "precision='double'."
        )


def c_of(model: PortableModel, *, name: str, precision: Precision) -> str:
    """Write a model as a header whose names begin with `name`."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", name) or name in _KEYWORDS:
        raise ExportError(
            "name must be a name that C allows, of up to 41 letters, digits and underscores; got "
            f"{shown(name)}."
        )
    refuse_dates(model.columns, "C")
    for column in model.columns:
        _refuse_unwritable(column)
    text = _TEMPLATE.replace("NAME", name.upper()).replace("name", name)
    parts = _parts(model, precision)
    return re.sub(r"@([a-z_]+)@", lambda mark: parts[mark[1]], text)


def _refuse_unwritable(column: InputColumn) -> None:
    for category in column.categories or ():
        if isinstance(category, str) and ("\0" in category or not _is_unicode(category)):
            raise ExportError(
                f"Column {shown(column.name)} has the category {shown(category)}, which a text of C cannot "
                "hold. Rename the category."
            )


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _parts(model: PortableModel, precision: Precision) -> dict[str, str]:
    flat = flatten(model)
    single = precision == "float"

    def number(value: float) -> str:
        if math.isinf(value):
            return ("-" if value < 0 else "") + ("HUGE_VALF" if single else "HUGE_VAL")
        if single:
            check_single(value)
        return repr(float(np.float32(value))) + "f" if single else repr(float(value))

    def threshold(value: float) -> str:
        return number(largest_single(value) if single and math.isfinite(value) else value)

    nodes = [f"{{{threshold(node[1])}, {node[0]}, {', '.join(map(str, node[2:]))}}}" for node in flat.nodes]
    stand_ins = [f"{{{threshold(t)}, {column}, {low}, {table}}}" for column, t, low, table in flat.stand_ins]
    texts = [
        (j, k, _c_text(category))
        for j, column in enumerate(model.columns)
        for k, category in enumerate(column.categories or ())
        if isinstance(category, str)
    ]
    values = [
        (j, k, repr(float(category)))
        for j, column in enumerate(model.columns)
        for k, category in enumerate(column.categories or ())
        if not isinstance(category, str)
    ]
    labels = [label for output in model.outputs for label in output.labels or ()]
    return {
        "number": precision,
        "exp": "expf" if single else "exp",
        "columns": str(len(model.columns)),
        "column_comments": "\n".join(_column_comment(j, c) for j, c in enumerate(model.columns)),
        "numbers": str(n_numbers(model)),
        "outputs": str(len(model.outputs)),
        "answers": _answers_comment(model),
        "n_scores": str(model.n_scores),
        "n_trees": str(len(model.trees)),
        "width": str(model.trees[0].values.shape[1]),
        "divisor": number(model.divisor),
        "scale": number(model.scale),
        "link": {"identity": "0", "exp": "1", "logistic": "2", "softmax": "3"}[model.link],
        "median": str(int(model.median_weights is not None)),
        "refuses_missing": str(int(model.refuses_missing)),
        "refuses_unseen": str(int(model.refuses_unseen)),
        "nodes": _items(nodes),
        "values": _items(map(number, flat.values)),
        "tables": _items(map(str, flat.tables or [0])),
        "stand_ins": _items(stand_ins or ["{0, 0, 0, 0}"]),
        "roots": _items(map(str, flat.roots)),
        "first_scores": _items(str(tree.first_score) for tree in model.trees),
        "start": _items(map(number, model.start)),
        "weights": _items(map(number, model.median_weights or [0.0])),
        "kinds": _items(str(("numeric", "ordinal", "categorical").index(c.kind)) for c in model.columns),
        "score_ends": _items(str(output.end) for output in model.outputs),
        "label_counts": _items(str(len(output.labels or ())) for output in model.outputs),
        "texts": _items(f"{{{j}, {k}, {text}}}" for j, k, text in texts or [(-1, 0, '""')]),
        "category_values": _items(f"{{{j}, {k}, {value}}}" for j, k, value in values or [(-1, 0, "0.0")]),
        "n_texts": str(len(texts)),
        "n_category_values": str(len(values)),
        "labels": _items(_c_text(str(label)) for label in labels or [""]),
    }


def _items(texts: Iterable[str]) -> str:
    everything = list(texts)
    lines = [", ".join(everything[k : k + _PER_LINE]) for k in range(0, len(everything), _PER_LINE)]
    return ",\n".join(f"  {line}" for line in lines)


def _c_text(text: str) -> str:
    """Write a text of C: plain letters as they are, every other byte by its number."""
    written = "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in text.encode("utf-8"))
    return f'"{written}"'


def plain(text: object) -> str:
    """Write a text into a comment, which it cannot end."""
    return ascii(text).replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("\\", "|")


def _column_comment(number: int, column: InputColumn) -> str:
    kind = "a number" if column.categories is None else f"a category ({column.kind})"
    return f" *   {number:4d}  {plain(column.name)}: {kind}"


def _answers_comment(model: PortableModel) -> str:
    if not model.has_classes:
        return " *   the predicted number" + ("s, one per output" if len(model.outputs) > 1 else "")
    labels = [label for output in model.outputs for label in output.labels or ()]
    return "\n".join(f" *   {k:4d}  share of {plain(label)}" for k, label in enumerate(labels))


def header_of(lines: Sequence[str]) -> str:
    """Write what is said of the file as a comment."""
    return "/*\n" + "".join(f" * {_in_comment(line)}\n" for line in lines) + " */\n"


def _in_comment(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


_TEMPLATE = """\
/*
 * A row is an array of NAME_COLUMNS numbers, in this order:
@column_comments@
 * A missing value is NAN. A category is what name_category_of_text returns or, for categories that are
 * numbers, name_category_of_value: -1 if the fit has not seen it. The answers are NAME_NUMBERS numbers:
@answers@
 *
 *   name_number row[NAME_COLUMNS] = {...}, answers[NAME_NUMBERS];
 *   int classes[NAME_OUTPUTS];
 *   if (name_predict(row, answers, classes) != 0) ...  the model refuses the row
 *
 * Do not compile it with -ffast-math, which takes the meaning from NAN.
 */
#ifndef NAME_H
#define NAME_H

#include <math.h>

#define NAME_COLUMNS @columns@
#define NAME_NUMBERS @numbers@
#define NAME_OUTPUTS @outputs@

typedef @number@ name_number;

typedef struct {
  name_number threshold; /* values up to it go to branch 0 */
  int column;
  int first;    /* first child; of a leaf, where its values begin */
  int branches; /* 0 for a leaf */
  int missing;  /* branch of missing values */
  int table;    /* branches by category, -1 for a test on numbers */
  int stand_begin, stand_end;
} name_node;

typedef struct { name_number threshold; int column, low, table; } name_stand_in;
typedef struct { int column, category; const char *text; } name_text;
typedef struct { int column, category; double value; } name_value;

static const name_node name_nodes[] = {
@nodes@
};
static const name_number name_values[] = {
@values@
};
/* Branches by category, that of unseen ones first; -1: as if missing. */
static const int name_tables[] = {
@tables@
};
static const name_stand_in name_stand_ins[] = {
@stand_ins@
};
static const int name_roots[] = {
@roots@
};
static const int name_first_scores[] = {
@first_scores@
};
static const name_number name_start[] = {
@start@
};
static const name_number name_weights[] = {
@weights@
};
/* 0 a number, 1 ordered categories, 2 categories */
static const int name_kinds[] = {
@kinds@
};
static const int name_score_ends[] = {
@score_ends@
};
static const int name_label_counts[] = {
@label_counts@
};
static const name_text name_texts[] = {
@texts@
};
static const name_value name_category_values[] = {
@category_values@
};
/* The labels of all outputs, end to end; classes are numbered within their output. */
static const char *const name_labels[] = {
@labels@
};

/* Turns a category, in UTF-8, into what a row holds. */
static inline name_number name_category_of_text(int column, const char *text) {
  for (int k = 0; k < @n_texts@; ++k) {
    if (name_texts[k].column == column) {
      const char *a = name_texts[k].text, *b = text;
      while (*a && *a == *b) { ++a; ++b; }
      if (*a == *b) return (name_number)name_texts[k].category;
    }
  }
  return -1;
}

/* Turns a category that is a number into what a row holds. */
static inline name_number name_category_of_value(int column, double value) {
  for (int k = 0; k < @n_category_values@; ++k)
    if (name_category_values[k].column == column && name_category_values[k].value == value)
      return (name_number)name_category_values[k].category;
  return value != value ? (name_number)NAN : -1;
}

static inline int name_branch(name_number value, name_number threshold, int low, int table) {
  if (value != value) return -1;
  if (table < 0) return value <= threshold ? low : 1 - low;
  return name_tables[table + 1 + (int)value];
}

static inline const name_number *name_leaf(int root, const name_number *row) {
  const name_node *node = &name_nodes[root];
  while (node->branches) {
    int branch = name_branch(row[node->column], node->threshold, 0, node->table);
    for (int s = node->stand_begin; branch < 0 && s < node->stand_end; ++s)
      branch = name_branch(row[name_stand_ins[s].column], name_stand_ins[s].threshold, name_stand_ins[s].low,
                           name_stand_ins[s].table);
    node = &name_nodes[node->first + (branch < 0 ? node->missing : branch)];
  }
  return &name_values[node->first];
}

/* The least value that half of the weight is up to. */
static inline name_number name_median(const name_number *row) {
  name_number values[@n_trees@], weights[@n_trees@], total = 0, below = 0;
  for (int t = 0; t < @n_trees@; ++t) {
    name_number value = *name_leaf(name_roots[t], row);
    int place = t;
    for (; place > 0 && values[place - 1] > value; --place) {
      values[place] = values[place - 1];
      weights[place] = weights[place - 1];
    }
    values[place] = value;
    weights[place] = name_weights[t];
  }
  for (int t = 0; t < @n_trees@; ++t) total += weights[t];
  for (int t = 0; t < @n_trees@; ++t) {
    below += weights[t];
    if (below >= (name_number)0.5 * total) return values[t];
  }
  return values[@n_trees@ - 1];
}

/* Fills NAME_NUMBERS answers and, unless it is 0, the class of each output, from 0. Returns 1, and answers of
   NAN, for a row that the model refuses, else 0. */
static inline int name_predict(const name_number *row, name_number *answers, int *classes) {
  name_number x[NAME_COLUMNS], scores[@n_scores@];
  int at = 0, begin = 0;
  for (int j = 0; j < NAME_COLUMNS; ++j) {
    x[j] = name_kinds[j] == 1 && row[j] < 0 ? (name_number)NAN : row[j];
    if ((@refuses_missing@ && row[j] != row[j]) || (@refuses_unseen@ && name_kinds[j] && row[j] < 0)) {
      for (int k = 0; k < NAME_NUMBERS; ++k) answers[k] = (name_number)NAN;
      return 1;
    }
  }
  for (int k = 0; k < @n_scores@; ++k) scores[k] = name_start[k];
  if (@median@) {
    scores[0] = name_weights[0] < 0 ? 0 : name_median(x);
  } else {
    for (int t = 0; t < @n_trees@; ++t) {
      const name_number *values = name_leaf(name_roots[t], x);
      for (int k = 0; k < @width@; ++k) scores[name_first_scores[t] + k] += values[k];
    }
    for (int k = 0; k < @n_scores@; ++k) scores[k] /= @divisor@;
  }
  for (int output = 0; output < NAME_OUTPUTS; ++output) {
    const int end = name_score_ends[output], n = name_label_counts[output];
    int best = begin;
    for (int k = begin + 1; k < end; ++k)
      if (scores[k] > scores[best]) best = k;
    if (classes) classes[output] = @link@ == 2 ? scores[begin] > 0 : best - begin;
    if (n == 0) {
      answers[at++] = @link@ == 1 ? @exp@(scores[begin]) : scores[begin];
    } else if (@link@ == 2) {
      const name_number score = @scale@ * scores[begin];
      const name_number small = @exp@(score > 0 ? -score : score);
      const name_number second = score >= 0 ? 1 / (1 + small) : small / (1 + small);
      answers[at++] = 1 - second;
      answers[at++] = second;
    } else {
      name_number total = 0;
      const int first = at;
      for (int k = begin; k < end; ++k) {
        answers[at] = @link@ == 3 ? @exp@(@scale@ * (scores[k] - scores[best])) : scores[k];
        total += answers[at++];
      }
      for (int k = first; @link@ == 3 && k < at; ++k) answers[k] /= total;
    }
    begin = end;
  }
  return 0;
}

#endif
"""
