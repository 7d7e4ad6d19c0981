"""Exported programs on trial: a header in a compiler, a module in a Python that knows nothing else."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from hornbeam.exports.c_code import n_numbers
from hornbeam.exports.check import Answers
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.test_rows import TestRows, texts_of_dates

__all__ = ["BarePython", "Compiler", "find_compiler"]

_SECONDS = 600


def find_compiler() -> str | None:
    """Find a C compiler: that of the variable CC, or one of the usual names."""
    for name in [*os.environ.get("CC", "").split()[:1], "cc", "gcc", "clang"]:
        if shutil.which(name):
            return shutil.which(name)
    return None


class Compiler:
    """A C compiler: a program is made of the header, which answers the rows."""

    def __init__(self, header: str, name: str) -> None:
        self._header = header
        self._prefix = name
        self._compiler = str(find_compiler())
        version = subprocess.run([self._compiler, "--version"], capture_output=True, text=True, check=False)
        words = (version.stdout.splitlines() or [""])[0].split()
        number = next((word for word in words if word[:1].isdigit()), "")
        self.name = f"a program made by {os.path.basename(self._compiler)} {number}".rstrip()

    @staticmethod
    def absent() -> str | None:
        """Say why there is no compiler."""
        return None if find_compiler() else "a C compiler (cc, gcc or clang)"

    def run(self, model: PortableModel, rows: TestRows) -> Answers:
        """Compile the header with a reader of rows, and run it."""
        with tempfile.TemporaryDirectory(prefix="hornbeam-c-") as folder:
            files = {"model.h": self._header, "main.c": _DRIVER.replace("name", self._prefix)}
            files["main.c"] = files["main.c"].replace("NAME", self._prefix.upper())
            for file, text in files.items():
                with open(os.path.join(folder, file), "w", encoding="ascii") as target:
                    target.write(text)
            _run([self._compiler, "-std=c99", "-O1", "-o", "model", "main.c", "-lm"], folder, "")
            lines = "\n".join(_c_row(model, row) for row in zip(*_plain(rows), strict=True)) + "\n"
            answer = _run([os.path.join(folder, "model")], folder, lines)
        found = [line.split() for line in answer.splitlines()]
        width = n_numbers(model)
        numbers = np.array([[float(word) for word in row[:width]] for row in found]).reshape(-1, width)
        if not model.has_classes:
            return Answers(numbers)
        labels = tuple(
            [
                None if math.isnan(float(row[0])) else (output.labels or ())[int(row[width + k])]
                for row in found
            ]
            for k, output in enumerate(model.outputs)
        )
        return Answers(numbers, labels)


def _plain(rows: TestRows) -> list[list[Any]]:
    return [
        texts_of_dates(column) if column.dtype.kind == "M" else column.tolist() for column in rows.columns
    ]


def _c_row(model: PortableModel, row: tuple[Any, ...]) -> str:
    cells = []
    for column, value in zip(model.columns, row, strict=True):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            cells.append("n")
        elif isinstance(value, str):
            cells.append("t" + value.encode("utf-8").hex())
        elif column.categories is not None:
            cells.append("c" + float(value).hex())
        else:
            cells.append("x" + (float(value).hex() if math.isfinite(value) else str(value)))
    return " ".join(cells)


# Reads a row per line. A cell is n for nothing, x and a number, c and a category that is a number, or t and
# the bytes of a text.
_DRIVER = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "model.h"

static char cell[1 << 20], text[1 << 20];

int main(void) {
  name_number row[NAME_COLUMNS], answers[NAME_NUMBERS];
  int classes[NAME_OUTPUTS], column = 0;
  while (scanf("%1048575s", cell) == 1) {
    if (cell[0] == 'n') {
      row[column] = (name_number)NAN;
    } else if (cell[0] == 'x') {
      row[column] = (name_number)strtod(cell + 1, 0);
    } else if (cell[0] == 'c') {
      row[column] = name_category_of_value(column, strtod(cell + 1, 0));
    } else {
      size_t n = (strlen(cell) - 1) / 2;
      for (size_t k = 0; k < n; ++k) {
        char digits[3] = {cell[1 + 2 * k], cell[2 + 2 * k], 0};
        text[k] = (char)strtol(digits, 0, 16);
      }
      text[n] = 0;
      row[column] = name_category_of_text(column, text);
    }
    if (++column < NAME_COLUMNS) continue;
    column = 0;
    for (int k = 0; k < NAME_OUTPUTS; ++k) classes[k] = 0;
    name_predict(row, answers, classes);
    for (int k = 0; k < NAME_NUMBERS; ++k) printf("%.17g ", (double)answers[k]);
    for (int k = 0; k < NAME_OUTPUTS; ++k) printf("%d ", classes[k]);
    printf("%s\\n", name_labels[0] ? "" : "");
  }
  return 0;
}
"""


class BarePython:
    """A Python without packages, in a process of its own, imports the module."""

    def __init__(self, module: str) -> None:
        self._module = module
        self.name = f"Python {sys.version_info.major}.{sys.version_info.minor} without packages"

    @staticmethod
    def absent() -> str | None:
        """Say why there is no Python."""
        return None if sys.executable else "Python (this one does not know where its program is)"

    def run(self, model: PortableModel, rows: TestRows) -> Answers:
        """Have the module answer the rows, by name and in order in turn."""
        with tempfile.TemporaryDirectory(prefix="hornbeam-python-") as folder:
            for file, text in (("model.py", self._module), ("main.py", _ASK)):
                with open(os.path.join(folder, file), "w", encoding="utf-8") as target:
                    target.write(text)
            table = {
                "columns": [column.name for column in model.given],
                "dates": [column.name for column in model.given if column.is_date],
                "rows": [list(row) for row in zip(*_plain(rows), strict=True)],
            }
            command = [sys.executable, "-I", "-S", os.path.join(folder, "main.py")]
            answers = json.loads(_run(command, folder, json.dumps(table)))
        several = len(model.outputs) > 1
        width = n_numbers(model)
        if not model.has_classes:
            means = [np.full(width, math.nan) if one is None else np.atleast_1d(one[0]) for one in answers]
            return Answers(np.array(means, dtype=np.float64).reshape(-1, width))
        shares, labels = [], []
        for one in answers:
            if one is None:
                shares.append([math.nan] * width)
                labels.append([None] * len(model.outputs))
                continue
            labels.append(one[0] if several else [one[0]])
            shares.append([share for part in one[1] for share in part] if several else one[1])
        by_output = tuple([row[k] for row in labels] for k in range(len(model.outputs)))
        return Answers(np.array(shares, dtype=np.float64), by_output)


_ASK = """
import datetime, json, os, sys
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import model

given = json.loads(sys.stdin.buffer.read())
answers = []
for number, row in enumerate(given["rows"]):
    if number % 3 == 0:  # dates as objects, and as texts
        row = [
            datetime.datetime.fromisoformat(value) if name in given["dates"] and value is not None else value
            for name, value in zip(given["columns"], row)
        ]
    row = dict(zip(given["columns"], row)) if number % 2 else row
    try:
        answers.append([model.predict(row)])
        if hasattr(model, "predict_proba"):
            answers[-1].append(model.predict_proba(row))
    except ValueError:
        answers.append(None)
print(json.dumps(answers))
"""


def _run(command: list[str], folder: str, given: str) -> str:
    done = subprocess.run(
        command,
        input=given,
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=folder,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])}: {done.stderr.strip()[:2000]}")
    return done.stdout
