"""SQL on trial: a table is made of the test rows, the SELECT is run on it, and its answers come back.

DuckDB and SQLite run inside this process. PostgreSQL is a server: where its programs are installed, one is
started on a folder of its own, without a network, and stopped when this process ends.
"""

import atexit
import contextlib
import csv
import functools
import glob
import io
import math
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from hornbeam._optional import installed, require
from hornbeam.exports.check import Answers
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.sql import Dialect, answer_names, given_type, quoted, sql_of
from hornbeam.exports.test_rows import TestRows, texts_of_dates

__all__ = ["DuckDb", "Postgres", "Sqlite", "postgres_folder"]

_SECONDS = 600
_ROW_KEY = "row_number"


class _Database:
    """What the three share: the statement on trial, and the reading of its answers."""

    name: str

    def __init__(self, dialect: Dialect, table: str) -> None:
        self.dialect = dialect
        self.table = table

    def run(self, model: PortableModel, rows: TestRows) -> Answers:
        """Make the table, run the SELECT and read its answers, in the order of the rows."""
        key = _ROW_KEY
        while key.lower() in {column.name.lower() for column in model.given}:
            key += "_"
        statement = sql_of(model, dialect=self.dialect, table=self.table, keys=[key])
        found = self._query(model, rows, key, statement)
        found.sort(key=lambda answer: int(answer[0]))
        if [int(answer[0]) for answer in found] != list(range(rows.n_rows)):
            raise RuntimeError(f"{self.name} returned {len(found)} of {rows.n_rows} rows")
        return _answers(model, [answer[1:] for answer in found])

    def _query(self, model: PortableModel, rows: TestRows, key: str, statement: str) -> list[Sequence[Any]]:
        raise NotImplementedError

    def _create(self, model: PortableModel, key: str) -> str:
        columns = [f"{quoted(key)} INTEGER"]
        columns += [f"{quoted(column.name)} {given_type(column, self.dialect)}" for column in model.given]
        return f"CREATE TABLE {quoted(self.table)} ({', '.join(columns)})"


def _answers(model: PortableModel, found: list[Sequence[Any]]) -> Answers:
    n_outputs = len(model.outputs)
    width = len(answer_names(model))
    if not model.has_classes:
        return Answers(_numbers([row[:n_outputs] for row in found], n_outputs))
    labels = tuple(
        [_label(row[k], output.labels or ()) for row in found] for k, output in enumerate(model.outputs)
    )
    return Answers(_numbers([row[n_outputs:] for row in found], width - n_outputs), labels)


def _numbers(rows: list[Sequence[Any]], width: int) -> Any:
    numbers = [[math.nan if value is None else float(value) for value in row] for row in rows]
    return np.array(numbers, dtype=np.float64).reshape(len(rows), width)


def _label(value: Any, labels: Sequence[Any]) -> Any:
    """Read a label as the kind of value that labels are; databases and their texts know fewer kinds."""
    if value is None:
        return None
    if isinstance(labels[0], bool):
        return value in (True, 1, "t", "true")
    if isinstance(labels[0], str):
        return str(value)
    return type(labels[0])(value)


def _plain_rows(rows: TestRows, dialect: Dialect) -> Iterator[list[Any]]:
    """Visit the rows; a missing number is NULL and, every other time, NaN where the dialect knows it."""
    has_nan = dialect in ("duckdb", "postgres")
    columns = [
        texts_of_dates(column) if column.dtype.kind == "M" else column.tolist() for column in rows.columns
    ]
    for number, row in enumerate(zip(*columns, strict=True)):
        nothing = math.nan if has_nan and number % 2 else None
        yield [
            number,
            *(nothing if isinstance(value, float) and math.isnan(value) else value for value in row),
        ]


# ------------------------------------------------------------------------------------------------------------


class Sqlite(_Database):
    """SQLite, which is a part of Python."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        super().__init__(dialect, table)
        self.name = f"SQLite {sqlite3.sqlite_version}"

    @staticmethod
    def absent() -> str | None:
        """Say why SQLite cannot be had."""
        return None

    def _query(self, model: PortableModel, rows: TestRows, key: str, statement: str) -> list[Sequence[Any]]:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            if sqlite3.sqlite_version_info < (3, 35) or not _knows_exp(connection):
                connection.create_function("EXP", 1, math.exp, deterministic=True)
            connection.execute(self._create(model, key))
            placeholders = ", ".join("?" for _ in range(len(model.given) + 1))
            connection.executemany(
                f"INSERT INTO {quoted(self.table)} VALUES ({placeholders})", _plain_rows(rows, self.dialect)
            )
            return list(connection.execute(statement))


def _knows_exp(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute("SELECT EXP(0.0)")
    except sqlite3.OperationalError:
        return False
    return True


class DuckDb(_Database):
    """DuckDB, from PyPI."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        super().__init__(dialect, table)
        self.name = f"DuckDB {require('duckdb', purpose='Running SQL').__version__}"

    @staticmethod
    def absent() -> str | None:
        """Say why DuckDB cannot be had."""
        return None if installed("duckdb") else "DuckDB (pip install hornbeam[export])"

    @staticmethod
    def connect(folder: str) -> Any:
        """Open a database in memory; what does not fit goes into `folder`, not into the current one."""
        duckdb = require("duckdb", purpose="Running SQL")
        return duckdb.connect(":memory:", config={"temp_directory": folder})

    def _query(self, model: PortableModel, rows: TestRows, key: str, statement: str) -> list[Sequence[Any]]:
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(self.connect(folder)) as connection:
            connection.execute("SET max_expression_depth = 10000")
            connection.execute(self._create(model, key))
            nothing = _nothing(model, rows)
            with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8", newline="") as file:
                _write_csv(file, rows, self.dialect, nothing)
                connection.execute(
                    f"COPY {quoted(self.table)} FROM '{file.name}' "
                    f"(HEADER false, DELIMITER ',', QUOTE '\"', ESCAPE '\"', NULLSTR '{nothing}', "
                    "NEW_LINE '\\n', AUTO_DETECT false)"
                )
            return list(connection.execute(statement).fetchall())


def _nothing(model: PortableModel, rows: TestRows) -> str:
    """Choose what stands for NULL: a text that is no category, no label and no number."""
    taken = {value for column in rows.columns if column.dtype.kind == "O" for value in column.tolist()}
    taken |= {label for output in model.outputs for label in output.labels or ()}
    nothing = "~"
    while nothing in taken:
        nothing += "~"
    return nothing


def _write_csv(file: Any, rows: TestRows, dialect: Dialect, nothing: str) -> None:
    """Write rows for the loaders of databases."""
    for row in _plain_rows(rows, dialect):
        file.write(",".join(_csv_cell(value, nothing) for value in row) + "\n")
    file.flush()


def _csv_cell(value: Any, nothing: str) -> str:
    if value is None:
        return nothing
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return repr(int(value) if isinstance(value, bool) else value)


# ------------------------------------------------------------------------------------------------------------


def postgres_folder() -> str | None:
    """Find the programs of PostgreSQL: on the path, or where Debian keeps them."""
    found = [*glob.glob("/usr/lib/postgresql/*/bin/initdb"), shutil.which("initdb") or ""]
    for initdb in sorted(filter(None, found), reverse=True):
        folder = os.path.dirname(os.path.realpath(initdb))
        if all(os.path.exists(os.path.join(folder, program)) for program in ("postgres", "pg_ctl", "psql")):
            return folder
    return None


class Postgres(_Database):
    """PostgreSQL, on a server of its own for the time of the trial."""

    def __init__(self, dialect: Dialect, table: str) -> None:
        super().__init__(dialect, table)
        version = subprocess.run(
            [os.path.join(str(postgres_folder()), "postgres"), "--version"],
            capture_output=True,
            text=True,
            check=True,
            env=_environment(),
        )
        self.name = f"PostgreSQL {version.stdout.split()[2]}"

    @staticmethod
    def absent() -> str | None:
        """Say why PostgreSQL cannot be had."""
        if os.name != "posix" or postgres_folder() is None:
            return "PostgreSQL (its programs initdb and postgres are not installed)"
        return None if _server_user() != "" else "PostgreSQL (it does not run as root)"

    def _query(self, model: PortableModel, rows: TestRows, key: str, statement: str) -> list[Sequence[Any]]:
        table, nothing = io.StringIO(), _nothing(model, rows)
        _write_csv(table, rows, self.dialect, nothing)
        script = [
            "SET client_min_messages = warning;",
            self._create(model, key).replace("CREATE TABLE", "CREATE TEMPORARY TABLE", 1) + ";",
            f"COPY {quoted(self.table)} FROM STDIN (FORMAT csv, NULL '{nothing}');",
            table.getvalue() + "\\.",
            f"COPY ({statement.rstrip().rstrip(';')}) TO STDOUT (FORMAT csv, NULL '{nothing}');",
        ]
        answer = _server()("\n".join(script) + "\n")
        found = csv.reader(io.StringIO(answer, newline=""))
        return [[None if value == nothing else value for value in row] for row in found]


def _environment() -> dict[str, str]:
    """Return the environment without what is loaded before this process itself, such as a sanitizer."""
    return {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}


def _server_user() -> str | None:
    """Return as whom the server runs: None for whoever runs this, "" if nobody can."""
    if os.geteuid() != 0:
        return None
    import pwd  # noqa: PLC0415 - not on Windows

    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    return ""


@functools.cache
def _server() -> Callable[[str], str]:
    """Start a server on a folder of its own, reached by a socket in it, for as long as this process lives."""
    programs, user = str(postgres_folder()), _server_user()
    folder = tempfile.mkdtemp(prefix="hornbeam-postgres-")
    environment = {**_environment(), "LC_ALL": "C", "PGTZ": "UTC", "TZ": "UTC"}
    data = os.path.join(folder, "data")
    owner = os.getpid()

    def call(program: str, *arguments: str, given: str | None = None) -> str:
        done = subprocess.run(
            [os.path.join(programs, program), *arguments],
            input=given,
            capture_output=True,
            encoding="utf-8",
            check=False,
            cwd=folder,
            env=environment,
            user=user,
            timeout=_SECONDS,
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def stop() -> None:
        if os.getpid() != owner:  # a child of this process
            return
        with contextlib.suppress(RuntimeError, OSError):
            call("pg_ctl", "-D", data, "-m", "immediate", "-w", "-s", "stop")
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    if user is not None:
        shutil.chown(folder, user)
    call("initdb", "-D", data, "-U", "hornbeam", "-A", "trust", "-E", "UTF8", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    call("pg_ctl", "-D", data, "-o", options, "-l", os.path.join(folder, "log"), "-w", "-s", "start")
    return lambda script: call(
        *("psql", "-h", folder, "-U", "hornbeam", "-d", "postgres", "-X", "-q"),
        *("-v", "ON_ERROR_STOP=1", "-f", "-"),
        given=script,
    )
