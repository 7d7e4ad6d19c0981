"""The comparison itself: every member on the same folds, in rounds that a time budget may cut short.

1. Each member is judged with its default parameters, on all folds: first one fold each, which shows how long
they take, then the others, the quickest first.
2. Members with parameters that matter search them inside the training rows of each fold, by cross-validation
   in there; the rows of the judge are never seen. A search counts when all folds have had theirs.
3. In each fold, the members that did best inside its training rows are stacked.

The clock is checked before every fit. Work that is not finished when the time is up does not count: a member
without all folds is left out, and a member without a full search keeps its defaults; `cut_short` names them.
A member that fails is left out, with the reason; the others continue.

On a cluster the fits of a round are run ahead (`ahead.py`), and fits that were not done in time are missing
when they are looked up.
"""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hornbeam.data.task import Task
from hornbeam.inside.words import named
from hornbeam.recipes.clock import Clock, OutOfTimeError
from hornbeam.recipes.listen import Listener
from hornbeam.selection.ahead import Ahead, Inside, Wanted
from hornbeam.selection.family import BASELINE, STACK, Member, stack_of
from hornbeam.selection.folds import Fold, Folded
from hornbeam.selection.metrics import Metric
from hornbeam.selection.trials import Candidate, Trial

__all__ = ["OUT_OF_TIME", "Contest", "Entry"]

OUT_OF_TIME = "the time budget ran out before it was finished"

_STACKED = 3  # members of a stack
_LEAST_STACKED = 2
_FITS_OF_A_STACK = 6  # of each of its members: on five parts, and on all rows
_SHARE_OF_FIRST_FOLDS = 0.5  # of the time budget
_SLOW_TO_ASK = ("neighbors",)  # quickly fitted; asking them takes the longer the more rows they have


@dataclass(eq=False)
class Entry:
    """A member and how it did: a trial per fold, and the settings used there."""

    member: Member
    trials: list[Trial] = field(default_factory=list)
    settings: list[Mapping[str, Any]] = field(default_factory=list)
    searched: bool = False
    failure: str | None = None

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.member.name

    @property
    def seconds(self) -> float:
        """Mean seconds of a fold."""
        return float(np.mean([trial.fit_seconds + trial.predict_seconds for trial in self.trials]))

    @property
    def usual_settings(self) -> Mapping[str, Any]:
        """The settings that most folds have chosen; of equals, those nearest to the default."""
        known = list(self.member.settings)
        votes = Counter(known.index(settings) for settings in self.settings)
        return known[min(votes, key=lambda place: (-votes[place], place))]


@dataclass(eq=False)
class Contest:
    """What a comparison works with; `run` fills `entries`."""

    data: Folded
    task: Task
    members: list[Member]
    metric: Metric
    clock: Clock
    listener: Listener
    inner_cv: Any
    seed: int
    wants_search: bool
    wants_stack: bool
    entries: list[Entry] = field(default_factory=list)
    _out_of_time: list[str] = field(default_factory=list)
    _search_cut: list[str] = field(default_factory=list)
    _steps_done: int = 0
    _inner_scores: dict[tuple[str, int, int], float] = field(default_factory=dict)
    ahead: Ahead = field(default_factory=Ahead)

    def run(self) -> None:
        """Go through the rounds."""
        searched = [m for m in self.members if self.wants_search and len(m.settings) > 1]
        n_turns = len(self.members) + len(searched) + self.wants_stack
        self.listener.expect(n_turns * len(self.data.folds))
        self.entries = [Entry(member) for member in self.members]
        first, *others = self.data.folds
        self._run_turns_ahead(first)
        for entry in sorted(self.entries, key=lambda entry: entry.name in _SLOW_TO_ASK):
            if entry.name == BASELINE:  # takes no time, and all others are shown against it
                self._turn(entry, self.data.folds)
            elif not self.ahead.on_cluster and self.clock.left < self._after_first_folds:
                self._no_time_for(entry)  # else those that had one fold would have no time for the others
            else:
                self._turn(entry, [first])
        quickest_first = sorted(self._finished(), key=lambda entry: entry.seconds)
        if self._is_limited:
            turns = [self._default(entry.member, fold) for entry in quickest_first for fold in others]
            self.ahead.run_trials([turn for turn in turns if turn[0] != BASELINE], self.clock)
        for entry in quickest_first:
            if entry.name != BASELINE:
                self._turn(entry, others)
        if not self._is_limited:
            self._score_ahead(searched)
        waiting = [entry for entry in self._finished() if entry.member in searched]
        waiting.sort(key=lambda entry: entry.seconds)
        while waiting:
            # Time that a search does not use goes to the searches after it.
            share = self.clock.left / (len(waiting) + self.wants_stack)
            self._search(waiting.pop(0), share)
        if self.wants_stack:
            self._stack()

    @property
    def _is_limited(self) -> bool:
        """Whether the time may be up before all is done."""
        return math.isfinite(self.clock.budget)

    @property
    def _after_first_folds(self) -> float:
        """Seconds that must be left when members have had their first folds."""
        return self.clock.budget * (1 - _SHARE_OF_FIRST_FOLDS)

    def _default(self, member: Member, fold: Fold) -> Wanted:
        return member.name, 0, fold, self.candidate(member, member.settings[0])

    def _run_turns_ahead(self, first: Fold) -> None:
        """Have turns run on a cluster: all of them, or where time is short those of the first fold."""
        members = sorted(self.members, key=lambda member: member.name != BASELINE)
        turns = [self._default(member, fold) for fold in self.data.folds for member in members]
        if not self._is_limited:
            self.ahead.run_trials(turns, self.clock)
            return
        sure = [turn for turn in turns if turn[0] == BASELINE]
        some = [turn for turn in turns if turn[0] != BASELINE and turn[2] is first]
        share = Clock(max(0.0, self.clock.left - self._after_first_folds))
        self.ahead.run_trials([*sure, *some], share, n_sure=len(sure))

    def _score_ahead(self, searched: list[Member]) -> None:
        """Have settings judged inside the training rows of folds, all that will be asked about."""
        stacked = [
            entry.member for entry in self._finished() if self.wants_stack and entry.member.can_be_stacked
        ]
        self.ahead.score_inside(
            [
                (member.name, place, fold, self.candidate(member, member.settings[place]))
                for fold in self.data.folds
                for member in [entry.member for entry in self._finished()]
                for place in range(len(member.settings) if member in searched else int(member in stacked))
            ],
            self._inside,
            self.clock,
        )

    @property
    def _inside(self) -> Inside:
        return Inside(self.metric, self.inner_cv, self.task, self.data.groups is not None, self.seed)

    def _finished(self) -> list[Entry]:
        return [entry for entry in self.entries if entry.failure is None]

    def candidate(self, member: Member, settings: Mapping[str, Any]) -> Candidate:
        """Return a member with some settings."""
        return Candidate(member.template, settings, self.seed)

    # --- Defaults ----------------------------------------------------------------------------------------

    def _turn(self, entry: Entry, folds: list[Fold]) -> None:
        default = entry.member.settings[0]
        for done, fold in enumerate(folds):
            try:
                if not self.ahead.on_cluster:  # where it has been run by now, if there was time
                    self.clock.check()
                    if entry.trials and entry.seconds * (len(folds) - done) > self.clock.left:
                        raise OutOfTimeError
                wanted = self._default(entry.member, fold)
                trial = self.ahead.trial(wanted, self.clock, measure_size=not entry.trials)
            except OutOfTimeError:
                self._no_time_for(entry)
                return
            except Exception as error:
                entry.failure = _failure(error, fold)
                return
            entry.trials.append(trial)
            entry.settings.append(default)
            self._done(entry.name, fold)

    def _no_time_for(self, entry: Entry) -> None:
        entry.failure = OUT_OF_TIME
        self._out_of_time.append(entry.name)

    @property
    def cut_short(self) -> str | None:
        """What there was no time for, in a sentence; None if there was time for everything."""
        parts = [
            f"{words} {', '.join(map(named, names))}"
            for words, names in (
                ("a full turn of", self._out_of_time),
                ("a full search of", self._search_cut),
            )
            if names
        ]
        if not parts:
            return None
        return (
            f"The time budget of {self.clock.budget:g} s was too short for {' and for '.join(parts)}: "
            "time_budget= sets another."
        )

    def _done(self, name: str, fold: Fold) -> None:
        self._steps_done += 1
        self.listener.done(self._steps_done, name)
        if not self.data.keeps_rows:
            fold.forget()

    # --- Nested searches ---------------------------------------------------------------------------------

    def _search(self, entry: Entry, seconds: float) -> None:
        """Search the settings of a member, as many as its share of the time allows."""
        folds = self.data.folds
        n_inner = len(self._inside.folds_of(folds[0]).splits)
        per_setting = entry.seconds * n_inner * len(folds) / self.ahead.n_at_once
        most = len(entry.member.settings)
        n_settings = most if math.isinf(seconds) else min(most, max(0, int(seconds / max(per_setting, 1e-9))))
        if n_settings < most:
            self._search_cut.append(entry.name)
        if n_settings < 2:
            return
        if self._is_limited:
            self.ahead.score_inside(self._settings_of(entry.member, n_settings), self._inside, self.clock)
        try:
            chosen = []
            for fold in folds:
                chosen.append(self._best_inside(entry.member, fold, n_settings))
                self._done(f"searching {entry.name}", fold)
            others = [(fold, place) for fold, place in zip(folds, chosen, strict=True) if place]
            self.ahead.run_trials(
                [
                    (entry.name, place, fold, self.candidate(entry.member, entry.member.settings[place]))
                    for fold, place in others
                ],
                self.clock,
            )
            trials = [self._again(entry, fold, place) for fold, place in zip(folds, chosen, strict=True)]
        except OutOfTimeError:
            self._search_cut = list(dict.fromkeys([*self._search_cut, entry.name]))
            return
        except Exception:  # a setting that fails on all rows of a fold: the defaults stand
            return
        entry.trials = trials
        entry.settings = [entry.member.settings[place] for place in chosen]
        entry.searched = True

    def _again(self, entry: Entry, fold: Fold, place: int) -> Trial:
        if place == 0:  # the default, which has had its turn
            return entry.trials[fold.number - 1]
        if not self.ahead.on_cluster:
            self.clock.check()
        candidate = self.candidate(entry.member, entry.member.settings[place])
        return self.ahead.trial(
            (entry.name, place, fold, candidate), self.clock, measure_size=fold.number == 1
        )

    def _settings_of(self, member: Member, n_settings: int) -> list[Wanted]:
        return [
            (member.name, place, fold, self.candidate(member, member.settings[place]))
            for fold in self.data.folds
            for place in range(n_settings)
        ]

    def _best_inside(self, member: Member, fold: Fold, n_settings: int) -> int:
        scores = [self._inner_score(member, fold, place) for place in range(n_settings)]
        return int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))

    def _inner_score(self, member: Member, fold: Fold, place: int) -> float:
        """Judge a setting inside the training rows of a fold; the more the better, NaN if it fails."""
        key = (member.name, fold.number, place)
        if key not in self._inner_scores:
            candidate = self.candidate(member, member.settings[place])
            wanted = (member.name, place, fold, candidate)
            self._inner_scores[key] = self.ahead.score(wanted, self._inside, self.clock)
        return self._inner_scores[key]

    # --- The stack ---------------------------------------------------------------------------------------

    def _stack(self) -> None:
        """Stack, in each fold, the members that did best inside its training rows."""
        able = [entry for entry in self._finished() if entry.member.can_be_stacked]
        if len(able) < _LEAST_STACKED:
            return
        entry = Entry(Member(STACK, stack_of(self.task, [])))
        seen: Counter[str] = Counter()
        longest = sum(sorted(one.seconds for one in able)[-_STACKED:]) * _FITS_OF_A_STACK
        try:
            if longest * len(self.data.folds) / self.ahead.n_at_once > self.clock.left:
                raise OutOfTimeError
            if self.ahead.on_cluster:
                asked = [self._chosen_by(one, fold) for one in able for fold in self.data.folds]
                self.ahead.score_inside(asked, self._inside, self.clock)
                best_of = [(fold, self._best_of(able, fold)) for fold in self.data.folds]
                self.ahead.run_trials(
                    [(STACK, 0, fold, self._stack_of(best, fold)) for fold, best in best_of], self.clock
                )
            for fold in self.data.folds:
                best = self._best_of(able, fold)
                seen.update(one.name for one in best)
                if not self.ahead.on_cluster:
                    self.clock.check()
                wanted = (STACK, 0, fold, self._stack_of(best, fold))
                entry.trials.append(self.ahead.trial(wanted, self.clock, measure_size=not entry.trials))
                entry.settings.append({})
                self._done(STACK, fold)
        except OutOfTimeError:
            self._no_time_for(entry)
        except Exception as error:
            entry.failure = _failure(error, self.data.folds[len(entry.trials)])
        else:
            usual = sorted(able, key=lambda one: (-seen[one.name], one.name))[:_STACKED]
            pairs = [(one.name, self.candidate(one.member, one.usual_settings).made()) for one in usual]
            entry.member = Member(STACK, stack_of(self.task, pairs))
        self.entries.append(entry)

    def _chosen_by(self, entry: Entry, fold: Fold) -> Wanted:
        """Return a member with the settings that it has in a fold."""
        settings = entry.settings[fold.number - 1]
        place = list(entry.member.settings).index(settings)
        return entry.name, place, fold, self.candidate(entry.member, settings)

    def _best_of(self, able: list[Entry], fold: Fold) -> list[Entry]:
        def score(entry: Entry) -> float:
            found = self._inner_score(entry.member, fold, self._chosen_by(entry, fold)[1])
            return -math.inf if math.isnan(found) else found

        return sorted(able, key=score, reverse=True)[:_STACKED]

    def _stack_of(self, best: list[Entry], fold: Fold) -> Candidate:
        pairs = [
            (entry.name, self.candidate(entry.member, entry.settings[fold.number - 1]).made())
            for entry in best
        ]
        return Candidate(stack_of(self.task, pairs), seed=self.seed)


def _failure(error: Exception, fold: Fold) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__} in fold {fold.number}: {text}"
