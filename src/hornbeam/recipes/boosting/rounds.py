"""What happens between the rounds of boosting: recording scores, early stopping, callbacks, the progress bar.

A callback is a function called after every round, or an object with `before_round` or `after_round` or both.
It is given a `Round`; if it returns True, the fit ends with the trees so far.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

from hornbeam import _core
from hornbeam.declare.kinds import shown
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.listen import Listener

__all__ = ["EarlyStopping", "Round", "UserCodeError", "Watch", "checked_callbacks", "users_code"]


class UserCodeError(Exception):
    """The user's code (a callback, a loss, a scorer) has raised an exception, which is the cause of this one.

    It lets a fit keep the finished rounds and never leaves it: the user sees the original exception.
    """


@contextmanager
def users_code() -> Iterator[None]:
    """Mark exceptions that the user's code raises in the block."""
    try:
        yield
    except Exception as error:
        raise UserCodeError from error


def checked_callbacks(given: Any) -> list[Any]:
    """Return callbacks as a list; refuse anything that cannot be called after a round."""
    if given is not None and (isinstance(given, str) or not isinstance(given, Iterable)):
        raise TypeError(f"callbacks must be a list of functions, each given a Round; got {shown(given)}.")
    callbacks = list(given or ())
    for each in callbacks:
        if not (callable(each) or hasattr(each, "before_round") or hasattr(each, "after_round")):
            raise TypeError(
                "A callback is a function of a Round, or an object with before_round or after_round; got "
                f"{shown(each)}."
            )
    return callbacks


@dataclass(frozen=True, eq=False)
class Round:
    """What a callback is told about a round.

    `number` counts rounds from 1; `n_rounds` is how many there will be at most. `train_score` and
    `validation_score` are those after the round (in `before_round`, after the previous one), or None if they
    are not computed. `model()` makes a fitted estimator of the rounds so far, to be kept, used or saved.
    """

    number: int
    n_rounds: int
    train_score: float | None
    validation_score: float | None
    model: Callable[[], Any] = field(repr=False)


@dataclass(frozen=True)
class EarlyStopping:
    """Stop after `n_iter_no_change` rounds without improving on the best score by more than `tol`.

    `relative` is a tolerance as a share of the score, for scores that improve by next to nothing.
    """

    n_iter_no_change: int
    tol: float
    relative: float = 0.0

    def counts_as_progress(self, score: float, best: float) -> bool:
        """Whether a score is sufficiently better than the best one before."""
        return score > best + max(self.tol, self.relative * abs(best) if isfinite(best) else 0.0)


@dataclass(eq=False)
class Watch:
    """Follows a fit from round to round.

    `score_training` and `score_validation` return the scores of the training and the validation rows, higher
    is better; the latter is given the new trees. `model` makes an estimator from trees; `keep` saves the
    state of a fit that goes on.
    """

    n_rounds: int
    listener: Listener
    model: Callable[[Sequence[_core.Tree]], Any]
    callbacks: Sequence[Any] = ()
    score_training: Callable[[], float] | None = None
    score_validation: Callable[[Sequence[_core.Tree]], float] | None = None
    stopping: EarlyStopping | None = None
    clock: Clock = field(default_factory=lambda: Clock(None))
    keep: Callable[["Watch", Sequence[_core.Tree]], None] | None = None
    train_scores: list[float] = field(default_factory=list)
    validation_scores: list[float] = field(default_factory=list)
    n_done: int = 0
    best_round: int = 0
    out_of_time: bool = False
    _trees: Sequence[_core.Tree] = ()
    _n_trees_seen: int = 0
    _best_score: float = -inf
    _score_to_beat: float = -inf
    _round_of_progress: int = 0

    def __post_init__(self) -> None:
        self.listener.expect(self.n_rounds)

    def begin_after(self, trees: Sequence[_core.Tree], n_done: int) -> None:
        """Start after the rounds of an earlier fit."""
        self._trees, self._n_trees_seen = list(trees), len(trees)
        self.n_done = self.best_round = self._round_of_progress = n_done
        if trees and self.score_validation is not None:
            self._best_score = self._score_to_beat = self.score_validation(trees)

    def go_on_after(
        self,
        trees: Sequence[_core.Tree],
        train_scores: list[float],
        validation_scores: list[float],
        n_done: int,
    ) -> None:
        """Continue after rounds of this fit that another process has run, as if they had been watched."""
        self._trees, self._n_trees_seen = list(trees), len(trees)
        self.train_scores = list(train_scores)
        for number in range(n_done):
            self.n_done = number + 1
            self.validation_scores += validation_scores[number : number + 1]
            self._note_progress()
        if self.score_validation is not None:
            self.score_validation(trees)  # which adds them to the scores of the rows that judge
        self.listener.done(n_done)

    @property
    def judged_by_no_number(self) -> bool:
        """Whether early stopping has judged rounds, but no score was a number."""
        return self.stopping is not None and bool(self.validation_scores) and self.best_round == 0

    def before_round(self, number: int) -> bool:
        """Tell callbacks that a round begins; return whether one of them ends the fit."""
        return self._any_says_stop("before_round", number)

    def after_round(self, number: int, trees: Sequence[_core.Tree]) -> bool:
        """Record what a round has done; return whether the fit ends with it."""
        with users_code():  # scorers and losses may be the user's
            if self.score_training is not None:
                self.train_scores.append(self.score_training())
            if self.score_validation is not None:
                self.validation_scores.append(self.score_validation(trees[self._n_trees_seen :]))
        self._trees, self._n_trees_seen, self.n_done = trees, len(trees), number + 1
        self._note_progress()
        self.listener.done(self.n_done, self._score_in_words())
        if self._any_says_stop("after_round", number) or self._has_stalled():
            return True
        self.out_of_time = self.n_done < self.n_rounds and self.clock.left <= 0
        if self.keep is not None and not self.out_of_time:
            self.keep(self, trees)
        return self.out_of_time

    def _note_progress(self) -> None:
        if not self.validation_scores:
            self.best_round = self.n_done
            return
        last = self.validation_scores[-1]
        if last > self._best_score:
            self.best_round, self._best_score = self.n_done, last
        # A round whose progress does not count can still be the best one.
        if self.stopping is not None and self.stopping.counts_as_progress(last, self._score_to_beat):
            self._round_of_progress, self._score_to_beat = self.n_done, last

    def _has_stalled(self) -> bool:
        if self.stopping is None:
            return False
        return self.n_done - self._round_of_progress >= self.stopping.n_iter_no_change

    def _score_in_words(self) -> str:
        scores = self.validation_scores or self.train_scores
        return f"score {scores[-1]:.5g}" if scores else ""

    def _any_says_stop(self, moment: str, number: int) -> bool:
        stops = False
        for callback in self.callbacks:
            function = getattr(callback, moment, None)
            if function is None and moment == "after_round" and not hasattr(callback, "before_round"):
                function = callback
            if function is not None:
                with users_code():
                    stops = function(self._round(number)) is True or stops
        return stops

    def _round(self, number: int) -> Round:
        trees = list(self._trees)
        return Round(
            number=number + 1,
            n_rounds=self.n_rounds,
            train_score=self.train_scores[-1] if self.train_scores else None,
            validation_score=self.validation_scores[-1] if self.validation_scores else None,
            model=lambda: self.model(trees),
        )
