"""Trials of a comparison, run when they are asked for, or ahead of that on the workers of a Dask cluster.

`contest.py` decides which trials there are and asks for them one by one. On a cluster, the trials of a round
that are independent of each other are all run first, and their results are looked up when they are asked for.
A trial that failed raises then, and so does one that was not done in time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam.data.task import Task
from hornbeam.recipes.clock import Clock, OutOfTimeError
from hornbeam.selection.folds import Fold, Folded, random_splitter
from hornbeam.selection.metrics import Metric
from hornbeam.selection.on_cluster import FoldsOnCluster
from hornbeam.selection.trials import Candidate, Trial, run_trial

__all__ = ["Ahead", "Inside", "Wanted"]

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
        self._folds: FoldsOnCluster | None = None
        self._found: dict[tuple[str, str, int, int], Any] = {}

    def run_trials(self, wanted: Sequence[Wanted], clock: Clock, *, n_sure: int = 0) -> None:
        """Run trials that will be asked for; after the time of `clock` only the first `n_sure` of them."""
        pieces = [(*one, (one[2].number == 1,)) for one in wanted]
        self._run("trial", _trial_or_error, pieces, clock, n_sure)

    def score_inside(self, wanted: Sequence[Wanted], inside: Inside, clock: Clock) -> None:
        """Judge candidates inside the training rows of folds that will be asked about."""
        self._run("score", _score, [(*one, (inside,)) for one in wanted], clock)

    def _run(
        self, kind: str, work: Any, wanted: Sequence[tuple[Any, ...]], clock: Clock, n_sure: int = 0
    ) -> None:
        if self._client is None or self._data is None:
            return
        new = [one for one in wanted if (kind, one[0], one[1], one[2].number) not in self._found]
        if not new:
            return
        self._folds = self._folds or FoldsOnCluster(self._client, self._data, "compare")
        names = [f"{name} on fold {fold.number}" for name, _, fold, _, _ in new]
        pieces = [(fold.number, candidate, *more) for _, _, fold, candidate, more in new]
        for number, result in self._folds.results(work, pieces, names, clock, n_sure=n_sure):
            name, place, fold, _, _ = new[number]
            self._found[kind, name, place, fold.number] = result

    def trial(self, wanted: Wanted, clock: Clock, *, measure_size: bool) -> Trial:
        """Run a trial, or look up how it went."""
        name, place, fold, candidate = wanted
        found = self._found.pop(("trial", name, place, fold.number), None)
        if found is None:
            self._refuse_late(clock)
            return run_trial(candidate, fold, measure_size=measure_size)
        if isinstance(found, Exception):
            raise found
        trial: Trial = found
        return trial

    def score(self, wanted: Wanted, inside: Inside, clock: Clock) -> float:
        """Judge a candidate inside the training rows of a fold, or look up how it did."""
        name, place, fold, candidate = wanted
        found = self._found.get(("score", name, place, fold.number))
        if found is None:
            self._refuse_late(clock)
            return inside.score(fold, candidate, clock)
        return float(found)

    def _refuse_late(self, clock: Clock) -> None:
        """Refuse a trial that the workers had no time for: it is not run here either."""
        if self.on_cluster and math.isfinite(clock.budget):
            raise OutOfTimeError

    @property
    def n_at_once(self) -> int:
        """How many trials are run at a time."""
        return 1 if self._client is None else max(1, sum(self._client.nthreads().values()))

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
