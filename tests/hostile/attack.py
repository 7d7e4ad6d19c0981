"""One attack: an estimator, options and a table drawn from a seed; then all that a fitted model can be asked.

An attack succeeds, which is a failure of ours, if the process dies, if an error is not a refusal in one line
that hornbeam raised on purpose, if a warning is not one of hornbeam's, or if two ways to the same answer
differ: before and after saving, one thread and two, a row alone and among others.

    python -m hostile.attack --seconds 600 --first 0        # from tests/; prints the seed of each success
    python -m hostile.attack --of Boosting --give growth=symmetric      # aimed at some classes and options
"""

import argparse
import ast
import faulthandler
import inspect
import linecache
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hornbeam as hb
from hornbeam.errors import MemberError
from hornbeam.params import estimators, options_of
from hornbeam.warnings import HornbeamWarning
from hostile.options import random_options
from hostile.tables import Table, at_odd_addresses, random_table

# Part of every estimator of scikit-learn, or called with the fit, or asked for apart from the others.
NOT_ASKED = {"fit", "fit_predict", "fit_transform", "get_params", "get_metadata_routing", "sample", "score"}


class BreachError(AssertionError):
    """Something that must not happen, whatever is asked."""


def task_of(cls: type) -> str:
    """Return what an estimator learns: classes, numbers or nothing."""
    if cls.__name__.endswith("Classifier"):
        return "classes"
    return "numbers" if cls.__name__.endswith("Regressor") else "none"


def is_refusal(error: Exception) -> bool:
    """Whether an error was raised on purpose and says so in one line."""
    if not isinstance(error, ValueError | TypeError | AttributeError | NotImplementedError):
        return False
    if isinstance(error, MemberError):  # with what a member of another library said
        return True
    text = str(error)
    if not text or "\n" in text.strip():
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    if (
        "joblib" in Path(last.filename).parts
    ):  # of a member in a process of its own, which keeps the words only
        return " failed to fit: " in text
    is_raised = linecache.getline(last.filename, last.lineno or 0).strip().startswith("raise ")
    return is_raised and ("hornbeam" in Path(last.filename).parts or "sklearn" in Path(last.filename).parts)


def same(a: Any, b: Any) -> bool:
    """Compare answers bit for bit, NaN being NaN."""
    if isinstance(a, dict):  # by member
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind == "f":
        return bool(np.array_equal(a, b, equal_nan=True))
    return bool(np.array_equal(a, b))


def methods_of(model: Any) -> Iterator[tuple[str, Any, list[str]]]:
    """Yield name, method and arguments that must be given of everything a model can be asked."""
    for name in dir(type(model)):
        if name.startswith("_") or name in NOT_ASKED or name.startswith("set_"):
            continue
        if isinstance(inspect.getattr_static(type(model), name), property):
            continue
        try:
            method = getattr(model, name)
        except AttributeError:  # not with these options
            continue
        if not callable(method):
            continue
        parameters = inspect.signature(method).parameters.values()
        needed = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        yield name, method, [p.name for p in needed]


class Attack:
    """The attack of one seed."""

    def __init__(
        self,
        seed: int,
        most_rows: int = 3000,
        kinds: list[Any] | None = None,
        given: dict[str, Any] | None = None,
    ) -> None:
        rng = np.random.default_rng(seed)
        self.cls: Any = rng.choice(np.array(kinds or estimators(), dtype=object))
        self.table: Table = random_table(rng, task_of(self.cls), most_rows)
        self.options = random_options(rng, self.cls, self.table) | (given or {})
        if np.random.default_rng([seed, 2]).random() < 0.1:
            self.table = at_odd_addresses(self.table)
        self.arguments: dict[str, Any] = {}
        parameters = inspect.signature(self.cls.fit).parameters
        self._draw_arguments(np.random.default_rng([seed, 1]), parameters)
        if "sample_weight" in parameters and self.table.weights is not None:
            self.arguments["sample_weight"] = self.table.weights
        if "groups" in parameters and self.table.groups is not None:
            self.arguments["groups"] = self.table.groups
        self.outcome = "refused"

    def _draw_arguments(self, rng: np.random.Generator, parameters: Any) -> None:
        """Draw rows to be judged by, what scores start from, and somebody who listens to the rounds."""
        table = self.table
        if "X_val" in parameters and rng.random() < 0.2:
            rows = rng.integers(0, table.n_rows, size=int(rng.choice([1, 2, 40])))
            X = table.X.iloc[rows] if hasattr(table.X, "iloc") else table.X[rows]
            self.arguments.update(X_val=X, y_val=table.y[rows])
            if table.weights is not None and rng.random() < 0.5:
                self.arguments["sample_weight_val"] = table.weights[rows]
        if "offset" in parameters and rng.random() < 0.1:
            self.arguments["offset"] = rng.normal(size=table.n_rows) * rng.choice([1.0, 1e6, 1e300])
            if "X_val" in self.arguments and rng.random() < 0.7:
                self.arguments["offset_val"] = rng.normal(size=len(self.arguments["X_val"]))
        if "callbacks" in parameters and rng.random() < 0.2:
            last = int(rng.integers(0, 6))
            self.arguments["callbacks"] = [lambda at: at.number >= last]
        self.broken_in = int(rng.integers(1, 8)) if "checkpoint" in parameters and rng.random() < 0.2 else 0

    def describe(self) -> str:
        """Say what was tried."""
        shape = (self.table.n_rows, len(self.table.names))
        return f"{self.cls.__name__}({self.options}), table {shape}, {sorted(self.arguments)}"

    def run(self) -> None:
        """Fit, and ask everything if that was possible."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", HornbeamWarning)
            warnings.filterwarnings("ignore", module="sklearn")
            warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
            model = self._tried("fit", self._fitted, self.options)
            if model is None:
                return
            self.outcome = "fitted"
            answers = self._ask_everything(model)
            self._saved_and_loaded(model, answers)
            self._row_by_row(model, answers)
            self._with_two_threads(answers)
            self._broken_off(answers)

    def _fitted(self, options: dict[str, Any]) -> Any:
        y = () if self.table.y is None else (self.table.y,)
        return self.cls(**options).fit(self.table.X, *y, **self.arguments)

    def _tried(self, what: str, work: Any, *given: Any) -> Any:
        """Do something; None if it was refused."""
        try:
            said = work(*given)
            return list(said) if isinstance(said, Iterator) else said
        except Exception as error:
            if is_refusal(error):
                return None
            raise BreachError(f"{what}: {type(error).__name__}: {error}") from error

    def _ask_everything(self, model: Any) -> dict[str, Any]:
        answers: dict[str, Any] = {}
        for name, method, needed in methods_of(model):
            for n_rows in (self.table.n_rows, 1, 3, 0):
                given: dict[str, Any] = {"row": self.table.rows(1), "X": self.table.rows(n_rows)}
                if set(needed) - {"X", "row", "y"} or ("y" in needed and not self._can_be_scored(n_rows)):
                    break
                if "y" in needed:
                    given.update(X=self.table.X, y=self.table.y)
                said = self._tried(f"{name} of {n_rows}", method, *(given[p] for p in needed))
                if n_rows == self.table.n_rows and said is not None:
                    answers[name] = said
                if "X" not in needed:
                    break
        for name in dir(type(model)):
            if name.endswith("_") and not name.startswith("_"):
                self._tried(name, getattr, model, name, None)
        self._sensible(answers)
        return answers

    def _can_be_scored(self, n_rows: int) -> bool:
        """Whether scikit-learn's scores, which square targets, have an answer for the rows of the fit."""
        y = self.table.y
        far = y is not None and y.dtype.kind == "f" and np.abs(y).max() > 1e140
        return n_rows == self.table.n_rows and not far

    def _sensible(self, answers: dict[str, Any]) -> None:
        """Shares are shares, and numbers lie between the numbers that were learnt from where they must."""
        shares = answers.get("predict_proba")
        for one in shares if isinstance(shares, list) else [shares]:
            known = None if one is None else one[~np.isnan(one).any(axis=1)]
            if known is None or (self.options.get("missing") != "available" and len(known) < len(one)):
                if one is not None and "available" not in str(self.options):
                    raise BreachError("predict_proba has NaN")
                continue
            if not np.all((known >= 0) & (known <= 1)) or not np.allclose(known.sum(axis=1), 1):
                raise BreachError("predict_proba is no table of shares")
        numbers = answers.get("predict")
        if numbers is None or task_of(self.cls) != "numbers" or "available" in str(self.options):
            return
        if not np.all(np.isfinite(np.asarray(numbers, dtype=float))):
            raise BreachError("predict is not finite")

    def _saved_and_loaded(self, model: Any, answers: dict[str, Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.hornbeam"
            self._tried("save", hb.save, model, path)
            if not path.exists():
                return
            try:
                again = hb.load(path)
            except Exception as error:
                raise BreachError(f"load: {type(error).__name__}: {error}") from error
        for name in ("predict", "predict_proba", "decision_function", "apply", "score_samples"):
            if name not in answers or callable(self.options.get("weights")):  # functions are not saved
                continue
            said = self._tried(
                f"{name} of the loaded", getattr(again, name), self.table.rows(self.table.n_rows)
            )
            if said is None or not same(said, answers[name]):
                raise BreachError(f"{name} differs after saving")

    def _row_by_row(self, model: Any, answers: dict[str, Any]) -> None:
        if "Stacking" in self.cls.__name__ or "Stacking" in str(self.options):
            return  # whose final estimator may be a linear model of another library
        rows = self.table.rows(self.table.n_rows)
        n = min(len(rows), 5)
        for name in ("predict", "apply"):
            if name not in answers or isinstance(answers[name], dict):  # by member
                continue
            single = [rows.iloc[i : i + 1] if hasattr(rows, "iloc") else rows[i : i + 1] for i in range(n)]
            alone = [np.asarray(getattr(model, name)(row)) for row in single]
            if not same(np.concatenate(alone), np.asarray(answers[name])[:n]):
                raise BreachError(f"{name} of a row alone differs")

    def _with_two_threads(self, answers: dict[str, Any]) -> None:
        if not self._is_repeatable(answers) or "n_jobs" not in options_of(self.cls):
            return
        other = self._fitted({**self.options, "n_jobs": 2})
        if not same(other.predict(self.table.rows(self.table.n_rows)), answers["predict"]):
            raise BreachError("predict differs with two threads")

    def _is_repeatable(self, answers: dict[str, Any]) -> bool:
        """Whether another fit is the same, and takes little time."""
        if "predict" not in answers or self.options.get("n_jobs") not in (None, 1) or self.table.n_rows > 500:
            return False
        return isinstance(self.options.get("random_state", 1), int) and "time_budget" not in self.options

    def _broken_off(self, answers: dict[str, Any]) -> None:
        """A fit that is broken off in some round and goes on from its checkpoint is the same fit."""
        if not self.broken_in or not self._is_repeatable(answers) or self.options.get("warm_start"):
            return

        def break_off(at: Any) -> None:
            if at.number == self.broken_in:
                raise InterruptedError

        y = () if self.table.y is None else (self.table.y,)
        others = self.arguments.get("callbacks", [])
        with tempfile.TemporaryDirectory() as folder:
            kept = {**self.arguments, "checkpoint": folder}
            if not isinstance(self.options.get("loss", ""), str):
                went_on = self._tried(
                    "checkpoint", lambda: self.cls(**self.options).fit(self.table.X, *y, **kept)
                )
                if went_on is not None or list(Path(folder).iterdir()):
                    raise BreachError("a checkpoint with a loss of one's own is not refused at once")
                return
            try:
                self.cls(**self.options).fit(self.table.X, *y, **{**kept, "callbacks": [*others, break_off]})
            except InterruptedError:
                pass
            except ValueError as error:
                if "too small for a checkpoint" in str(error) and is_refusal(error):
                    return
                raise
            model = self.cls(**self.options).fit(self.table.X, *y, **kept)
        if not same(model.predict(self.table.rows(self.table.n_rows)), answers["predict"]):
            raise BreachError(f"predict differs after a fit that was broken off in round {self.broken_in}")


def literal(text: str) -> Any:
    """Read an option as Python would; what it cannot read is a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def main() -> int:
    """Attack until the time is up; report every success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--one", action="store_true", help="only the first seed, with its traceback")
    parser.add_argument("--most-rows", type=int, default=3000)
    parser.add_argument("--of", default="", help="only estimators whose name holds this")
    parser.add_argument(
        "--give", nargs="*", default=[], metavar="OPTION=VALUE", help="options given every time"
    )
    given = parser.parse_args()
    kinds = [cls for cls in estimators() if given.of in cls.__name__]
    options = {name: literal(value) for name, value in (text.split("=", 1) for text in given.give)}
    faulthandler.enable()
    begin, seed = time.monotonic(), given.first
    counts = {"fitted": 0, "refused": 0, "breach": 0}
    seen: set[str] = set()
    # What is tried is written down first: a process that dies cannot say it any more.
    notes = Path(tempfile.gettempdir()) / f"hostile-{os.getpid()}.txt"
    while time.monotonic() - begin < given.seconds:
        notes.write_text(f"{seed}\n")
        attack = Attack(seed, given.most_rows, kinds, options)
        started = time.monotonic()
        try:
            attack.run()
            counts[attack.outcome] += 1
        except Exception as breach:
            counts["breach"] += 1
            kind = f"{attack.cls.__name__}: {breach}"[:150]
            if kind not in seen:
                seen.add(kind)
                print(f"seed {seed}: {kind}\n    {attack.describe()}"[:700], flush=True)
                if given.one:
                    traceback.print_exc()
        took = time.monotonic() - started
        if took > 20:
            print(f"seed {seed} took {took:.0f} s: {attack.describe()}"[:500], flush=True)
        if given.one:
            break
        seed += 1
    print(f"seeds {given.first} to {seed - 1}: {counts}", flush=True)
    return 1 if counts["breach"] else 0


if __name__ == "__main__":
    sys.exit(main())
