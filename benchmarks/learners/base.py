"""What a learner is, and the contestants made from one: timed fit, timed predict, timed single rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from benchmarks.data import Dataset
from benchmarks.harness import Contestant, Setting
from benchmarks.scores import Score, score_predictions, usual_score

SINGLE_ROWS = 500


class Learner(ABC):
    """A library's way to learn from a data set, with the settings that the job matches.

    ``fit`` starts from the user's table, so it pays for every conversion. ``predict`` returns probabilities
    for classes and values for numbers, again from the user's table.
    """

    needs: tuple[str, ...] = ()

    @abstractmethod
    def fit(self, data: Dataset, setting: Setting) -> Any: ...

    @abstractmethod
    def predict(self, model: Any, X: Any) -> Any: ...

    def predict_one(self, model: Any, row: Any) -> Any:
        """The quickest public way to a score for a table of one row."""
        return self.predict(model, row)


class OnThreads(Learner):
    """Another learner with this number of threads, whatever the job's is."""

    def __init__(self, learner: Learner, threads: int) -> None:
        self.needs = learner.needs
        self.learner = learner
        self.threads = threads

    def fit(self, data: Dataset, setting: Setting) -> Any:
        return self.learner.fit(data, replace(setting, threads=self.threads))

    def predict(self, model: Any, X: Any) -> Any:
        return self.learner.predict(model, X)


def fit_contestant(
    name: str, learner: Learner, *, ours: bool = False, note: str = "", score: Score | None = None
) -> Contestant:
    """Times ``fit``; the score is that of the fitted model on the test part."""
    return Contestant(
        name=name,
        needs=learner.needs,
        prepare=lambda data, setting: setting,
        run=lambda setting, data: learner.fit(data, setting),
        score=lambda setting, model, data: score_predictions(
            data, learner.predict(model, data.X_test), score or usual_score(data.task)
        ),
        ours=ours,
        note=note,
    )


def predict_contestant(name: str, learner: Learner, *, ours: bool = False, note: str = "") -> Contestant:
    """Times ``predict`` on the test part, with a model trained beforehand."""
    return Contestant(
        name=name,
        needs=learner.needs,
        prepare=learner.fit,
        run=lambda model, data: learner.predict(model, data.X_test),
        score=lambda model, predictions, data: score_predictions(data, predictions, usual_score(data.task)),
        ours=ours,
        note=note,
    )


def one_row_contestant(name: str, learner: Learner, *, ours: bool = False, note: str = "") -> Contestant:
    """Times a loop over single rows, each a table of its own; all differ, so nothing can be remembered."""

    def prepare(data: Dataset, setting: Setting) -> Any:
        return learner.fit(data, setting), [data.X_test[i : i + 1] for i in range(single_rows(data))]

    def run(state: Any, data: Dataset) -> Any:
        model, rows = state
        predict_one = learner.predict_one
        for row in rows:
            answer = predict_one(model, row)
        return answer

    def score(state: Any, result: Any, data: Dataset) -> float:
        model, _ = state
        return score_predictions(data, learner.predict(model, data.X_test), usual_score(data.task))

    return Contestant(name, learner.needs, prepare, run, score, ours=ours, note=note)


def single_rows(data: Dataset) -> int:
    """How many single rows a one-row run predicts."""
    return min(SINGLE_ROWS, len(data.y_test))
