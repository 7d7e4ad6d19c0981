"""Real tables of lectures: two that come with the library, and two that are read from the user's copy."""

import csv
import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hornbeam.tables.small_table import SmallTable

__all__ = ["hitters", "khan", "letter", "spambase"]

_TABLES = Path(__file__).parent

_WHERE = {
    "khan": "It is `Khan` of the R package ISLR2 and of the Python package ISLP (83 rows, 2,308 genes); "
    "write it as a CSV file with the columns class, G0001, G0002, ..., the 63 training rows first",
    "letter": "It is Letter Recognition of the UCI Machine Learning Repository (20,000 rows, 16 numbers); "
    "write it as a CSV file with a header whose first column is letter",
}


def hitters() -> SmallTable:
    """Return 263 baseball players of 1986, with what they earned in 1987 in thousands of dollars."""
    header, rows = _read(_TABLES / "hitters.csv")
    at = header.index("Salary")
    return _table(
        header,
        [row for row in rows if row[at]],
        target="Salary",
        description="What does a player earn? Baseball players of 1986 (StatLib; An Introduction to "
        "Statistical Learning), without the 59 whose salary is not known. Salaries are in thousands of "
        "dollars; their logarithm is what books predict.",
    )


def spambase(part: Literal["all", "training", "test"] = "all") -> SmallTable:
    """Return 4,601 e-mails as shares of words and signs, 39 % of them spam.

    "training" (3,065 rows) and "test" (1,536) are the parts of The Elements of Statistical Learning.
    """
    if part not in ("all", "training", "test"):
        raise ValueError(f"part must be 'all', 'training' or 'test'; got {part!r}.")
    header, rows = _read(_TABLES / "spambase.csv.gz")
    kept = [row[:-1] for row in rows if part == "all" or (row[-1] == "1") == (part == "test")]
    table = _table(
        header[:-1],
        kept,
        target="spam",
        description="Is an e-mail spam? Percentages of words and signs, and lengths of runs of capitals "
        "(Hopkins, Reeber, Forman and Suermondt 1999, UCI; CC BY 4.0).",
    )
    return SmallTable(table.columns, np.where(table.y == 1, "spam", "email"), "spam", table.description)


def khan(path: Any = None) -> SmallTable:
    """Return 83 tumours with the activity of 2,308 genes, read from a CSV file of yours."""
    header, rows = _read(_own_copy("khan", path))
    return _table(
        header,
        rows,
        target="class",
        description="Which of four kinds is a small round blue cell tumour? Many more columns than rows "
        "(Khan et al. 2001); the first 63 rows are for training.",
    )


def letter(path: Any = None) -> SmallTable:
    """Return 20,000 pictures of capital letters as 16 numbers each, read from a CSV file of yours."""
    header, rows = _read(_own_copy("letter", path))
    return _table(
        header,
        rows,
        target="letter",
        description="Which letter is it? (Frey and Slate 1991, UCI.) The first 16,000 rows are for training.",
    )


def _own_copy(name: str, path: Any) -> Path:
    """Find the user's copy of a table: the file itself, or a folder that has it by its usual name."""
    if path is None:
        raise ValueError(
            f"{name} is not part of hornbeam. {_WHERE[name]}, and call hb.datasets.{name}(path) with the "
            "file or its folder."
        )
    given = Path(os.fspath(path))
    tries = [given / f"{name}.csv", given / f"{name}.csv.gz"] if given.is_dir() else [given]
    found = next((each for each in tries if each.is_file()), None)
    if found is None:
        raise FileNotFoundError(
            f"There is no {' or '.join(str(each) for each in tries)}. {_WHERE[name]} (.csv or .csv.gz)."
        )
    return found


def _read(path: Path) -> tuple[list[str], list[list[str]]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    header, *rows = csv.reader(text.splitlines())
    return header, rows


def _table(header: list[str], rows: list[list[str]], *, target: str, description: str) -> SmallTable:
    if target not in header:
        raise ValueError(f"The file has no column {target!r}; it has {', '.join(header[:5])}, ...")
    columns = {name: _values(values) for name, values in zip(header, zip(*rows, strict=True), strict=True)}
    y = np.asarray(columns.pop(target))
    return SmallTable(columns, y if y.dtype.kind != "U" else y.astype(object), target, description)


def _values(texts: Sequence[str]) -> Any:
    """Return numbers where all texts are numbers, else the texts."""
    try:
        numbers = np.array(texts, dtype=np.float64)
    except ValueError:
        return list(texts)
    whole = bool((numbers == np.rint(numbers)).all()) and bool((np.abs(numbers) < 2**53).all())
    return numbers.astype(np.int64) if whole and "." not in "".join(texts) else numbers
