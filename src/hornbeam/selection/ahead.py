"""Trials of a comparison, run when they are asked for, or ahead of that on the workers of a Dask cluster.

A comparison goes on as if each trial were run in its turn: which ones there are, and in which order, is up to
`contest.py`. On a cluster those of a round that do not wait for each other are all run first, and their
results are looked up. A trial that fails raises in its turn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.data.task import Task
from hornbeam.recipes.clock import Clock
from hornbeam.selection.folds import Fold, Folded, random_splitter
from hornbeam.selection.metrics import Metric
from hornbeam.selection.on_cluster import FoldsOnCluster
from hornbeam.selection.trials import Candidate, Trial, run_trial

__all__ = ["Ahead", "Inside"]

# A member by name, the number of its settings, the fold, and the candidate that these make.
Wanted = tuple[str, int, Fold, Candidate]


@dataclass(frozen=True, eq=False)
class Inside:
    """How settings are judged inside the training rows of a fold."""

    metric: Metric
    inner_cv: Any
    task: Task
    grouped: bool
    seed: int

    def folds_of(self, fold: Fold) -> Folded:
        """Split the training rows of a fold."""
        return fold.inner(self._splitter)

    def _splitter(self, fold: Fold) -> Any:
        if not isinstance(self.inner_cv, int):
            return self.inner_cv
        return random_splitter(
            self.inner_cv, fold.y_fit, task=self.task, grouped=self.grouped, seed=self.seed
        )

    def score(self, fold: Fold, candidate: Candidate, clock: Clock) -> float:
        """Judge a candidate; the more the better, NaN if it fails."""
        scores = []
        for inner in self.folds_of(fold).folds:
            clock.check()
            try:
                trial = run_trial(candidate, inner)
            except Exception:
                scores.append(math.nan)
                break
            scores.append(self.metric.of(inner.truth, trial.answers))
        return self.metric.sign() * float(np.mean(scores))


class Ahead:
    """Trials of a comparison; with `client`, run on its workers as soon as they are known."""

    def __init__(self, client: Any = None, data: Folded | None = None) -> None:
        self._client = client
        self._data = data
        self._found: dict[tuple[str, str, int, int], Any] = {}

    def run_trials(self, wanted: Sequence[Wanted]) -> None:
        """Run trials that will be asked for."""
        self._run("trial", _trial_or_error, [(*one, (one[2].number == 1,)) for one in wanted])

    def score_inside(self, wanted: Sequence[Wanted], inside: Inside) -> None:
        """Judge candidates inside the training rows of folds that will be asked about."""
        self._run("score", _score, [(*one, (inside,)) for one in wanted])

    def _run(self, kind: str, work: Any, wanted: Sequence[tuple[Any, ...]]) -> None:
        if self._client is None or self._data is None or not wanted:
            return
        folds = FoldsOnCluster(self._client, self._data, "compare", work)
        names = [f"{name} on fold {fold.number}" for name, _, fold, _, _ in wanted]
        pieces = [(fold.number, candidate, *more) for _, _, fold, candidate, more in wanted]
        for number, result in folds.results(pieces, names):
            name, place, fold, _, _ = wanted[number]
            self._found[kind, name, place, fold.number] = result

    def trial(self, wanted: Wanted, *, measure_size: bool) -> Trial:
        """Run a trial, or look up how it went."""
        name, place, fold, candidate = wanted
        found = self._found.pop(("trial", name, place, fold.number), None)
        if isinstance(found, Exception):
            raise found
        return run_trial(candidate, fold, measure_size=measure_size) if found is None else found

    def score(self, wanted: Wanted, inside: Inside, clock: Clock) -> float:
        """Judge a candidate inside the training rows of a fold, or look up how it did."""
        name, place, fold, candidate = wanted
        found = self._found.get(("score", name, place, fold.number))
        return inside.score(fold, candidate, clock) if found is None else float(found)

    @property
    def on_cluster(self) -> bool:
        """Whether trials are run ahead."""
        return self._client is not None


def _trial_or_error(fold: Fold, candidate: Candidate, measure_size: bool) -> Trial | Exception:
    try:
        return run_trial(candidate, fold, measure_size=measure_size)
    except Exception as error:
        return error


def _score(fold: Fold, candidate: Candidate, inside: Inside) -> float:
    return inside.score(fold, candidate, Clock(None))
