"""The race: every contestant on every fold of every table, each turn noted as it ends.

A turn that stands in the file of an earlier run is not run again, so a race may be stopped at any time. Who
gets as much time as another contestant needed runs after everybody else.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.learners import LEARNERS, TIMED
from benchmarks.quality.tables import QualityTable

__all__ = ["Turn", "loss_of", "read_turns", "rows_of", "run"]

_LEAST_PROBABILITY = 1e-15
_MANY_ROWS = 1_000  # up to which the folds are dealt out several times


@dataclass(frozen=True)
class Turn:
    """One fit: who, on what, how good (None where it failed, and why), how many seconds of processor time."""

    learner: str
    table: str
    n_rows: int
    seed: int
    fold: int
    loss: float | None = None
    seconds: float = 0.0
    fault: str = ""

    @property
    def place(self) -> tuple[Any, ...]:
        """What makes it this turn and no other."""
        return self.learner, self.table, self.n_rows, self.seed, self.fold


def read_turns(path: Path) -> list[Turn]:
    """Read the turns of earlier runs."""
    if not path.exists():
        return []
    return [Turn(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def run(
    tables: list[QualityTable],
    learners: list[str],
    *,
    n_folds: int,
    n_seeds: int,
    processes: int,
    path: Path,
    first_folds: int | None = None,
) -> None:
    """Run the turns, of all folds or the first, that are not in the file yet; add them to it one by one."""
    done = {turn.place for turn in read_turns(path)}
    n_run = n_folds if first_folds is None else min(first_folds, n_folds)
    turns = [turn for turn in _turns(tables, learners, n_run, n_seeds) if turn.place not in done]
    by_name = {table.name: table for table in tables}
    path.parent.mkdir(parents=True, exist_ok=True)
    with get_context("spawn").Pool(processes) as pool, path.open("a", encoding="utf-8") as file:
        for some in ([t for t in turns if t.learner not in TIMED], [t for t in turns if t.learner in TIMED]):
            seconds = {turn.place: turn.seconds for turn in read_turns(path)}
            work = ((t, by_name[t.table], n_folds, _budget(t, seconds)) for t in some)
            for turn in pool.imap_unordered(_run_turn, work):
                file.write(json.dumps(asdict(turn)) + "\n")
                file.flush()


def _budget(turn: Turn, seconds: dict[tuple[Any, ...], float]) -> float | None:
    """How long the contestant that this one is given the time of took for the same rows."""
    other = TIMED.get(turn.learner)
    return None if other is None else seconds.get((other, *turn.place[1:]))


def _turns(tables: list[QualityTable], learners: list[str], n_run: int, n_seeds: int) -> Iterator[Turn]:
    for table in tables:
        seeds = n_seeds if len(table.y) <= _MANY_ROWS else 1
        for seed in range(seeds):
            for fold in range(n_run):
                yield from (Turn(learner, table.name, len(table.y), seed, fold) for learner in learners)


def _run_turn(given: tuple[Turn, QualityTable, int, float | None]) -> Turn:
    from threadpoolctl import threadpool_limits

    turn, table, n_folds, budget = given
    os.environ["OMP_NUM_THREADS"] = "1"
    train, test = rows_of(table, turn, n_folds)
    start = time.process_time()
    try:
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore")
            answers = LEARNERS[turn.learner](
                table.X.iloc[train].reset_index(drop=True),
                table.y[train],
                table.X.iloc[test].reset_index(drop=True),
                table.is_regression,
                **({} if budget is None else {"time_budget": budget}),
            )
        loss = loss_of(table, answers, test)
    except Exception as error:
        return Turn(*turn.place, fault=f"{type(error).__name__}: {error}"[:300])
    return Turn(*turn.place, loss=loss, seconds=round(time.process_time() - start, 3))


def rows_of(table: QualityTable, turn: Turn, n_folds: int) -> tuple[Any, Any]:
    from sklearn.model_selection import KFold, StratifiedKFold

    kind = KFold if table.is_regression else StratifiedKFold
    folds = kind(n_folds, shuffle=True, random_state=7 + turn.seed).split(table.X, table.y)
    return list(folds)[turn.fold]


def loss_of(table: QualityTable, answers: Any, test: Any) -> float:
    """Log loss, or squared error in units of the target's variance."""
    y = table.y[test]
    if table.is_regression:
        return float(np.mean((answers - y) ** 2) / np.var(table.y))
    chances = np.clip(answers[np.arange(len(y)), y.astype(int)], _LEAST_PROBABILITY, 1)
    return float(-np.mean(np.log(chances)))
