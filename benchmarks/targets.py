"""What a job is meant to reach, checked against what was measured.

Each function returns a :class:`Target`; its ``check`` takes the outcome of a case and gives a
:class:`Verdict`, whose ``reached`` is None when the run cannot tell (hornbeam or the peer did not take part).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.measure import CaseResult, Outcome


@dataclass(frozen=True)
class Verdict:
    """A target in words, what was measured in words, and whether it was reached."""

    target: str
    measured: str
    reached: bool | None


@dataclass(frozen=True)
class Target:
    """A target in words and how to check it."""

    text: str
    check: Callable[[CaseResult], tuple[str, bool] | None]

    def verdict(self, result: CaseResult) -> Verdict:
        checked = self.check(result)
        if checked is None:
            return Verdict(self.text, "not measured", None)
        return Verdict(self.text, *checked)


def times_faster_than_fastest(ratio: float) -> Target:
    """hornbeam is at least so many times faster than the fastest peer of this run."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        return _compare_times(result.main(), result.fastest_peer(), ratio)

    return Target(f">= {ratio:g}x the fastest peer", check)


def times_faster_than(peer: str, ratio: float) -> Target:
    """hornbeam is at least so many times faster than the peer of that name."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        return _compare_times(result.main(), result.finished(peer), ratio)

    return Target(f">= {ratio:g}x {peer}", check)


def at_most_times_slower(contestant: str, reference: str, ratio: float) -> Target:
    """One contestant takes at most so many times the time of another (used between our own variants)."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        slow, fast = result.finished(contestant), result.finished(reference)
        if slow is None or fast is None:
            return None
        measured = slow.best / fast.best
        return f"{measured:.2f}x", measured <= ratio

    return Target(f"{contestant} <= {ratio:g}x the time of {reference}", check)


def at_most_times_slower_per_score(contestant: str, reference: str, ratio: float, unit: str) -> Target:
    """The same for the time per unit, where the score counts what a contestant has made."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        slow, fast = result.finished(contestant), result.finished(reference)
        if slow is None or fast is None or not slow.score or not fast.score:
            return None
        measured = (slow.best / slow.score) / (fast.best / fast.score)
        return f"{measured:.2f}x", measured <= ratio

    return Target(f"{contestant} <= {ratio:g}x the time of {reference} per {unit}", check)


def score_near(peer: str, tolerance: float) -> Target:
    """hornbeam's score is no worse than the peer's by more than the tolerance."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        ours, theirs = result.main(), result.finished(peer)
        if ours is None or theirs is None or ours.score is None or theirs.score is None:
            return None
        difference = ours.score - theirs.score
        return f"{difference:+.4f}", difference >= -tolerance

    return Target(f"score within {tolerance:g} of {peer}, or better", check)


def score_at_least(value: float) -> Target:
    """hornbeam's score reaches a fixed value, e.g. all neighbours exact."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        ours = result.main()
        if ours is None or ours.score is None:
            return None
        return f"{ours.score:.4f}", ours.score >= value

    return Target(f"score >= {value:g}", check)


def score_at_most(value: float) -> Target:
    """hornbeam's score, where less is better, stays under a fixed value."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        ours = result.main()
        if ours is None or ours.score is None:
            return None
        return f"{ours.score:g}", ours.score <= value

    return Target(f"score <= {value:g}", check)


def score_at_most_share_of(peer: str, share: float) -> Target:
    """hornbeam's score, where less is better (a size), is at most so much of the peer's."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        ours, theirs = result.main(), result.finished(peer)
        if ours is None or theirs is None or ours.score is None or not theirs.score:
            return None
        measured = ours.score / theirs.score
        return f"{measured:.0%}", measured <= share

    return Target(f"score <= {share:.0%} of {peer}", check)


def unit_at_most(value: float, label: str) -> Target:
    """hornbeam's time per piece of work (or, without a unit, its seconds) stays under a fixed value."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        ours = result.main()
        if ours is None:
            return None
        measured = result.per_unit(ours.best)
        measured = ours.best if measured is None else measured
        return f"{measured:.3g} {label}", measured <= value

    return Target(f"<= {value:g} {label}", check)


def memory_within_limit(text: str) -> Target:
    """hornbeam's peak memory stays within the limit that the case computes from its data."""

    def check(result: CaseResult) -> tuple[str, bool] | None:
        ours = result.main()
        if ours is None or ours.peak_bytes is None or result.memory_limit is None:
            return None
        measured = f"{ours.peak_bytes / 2**20:,.0f} of {result.memory_limit / 2**20:,.0f} MiB"
        return measured, ours.peak_bytes <= result.memory_limit

    return Target(text, check)


def _compare_times(ours: Outcome | None, theirs: Outcome | None, ratio: float) -> tuple[str, bool] | None:
    if ours is None or theirs is None:
        return None
    measured = theirs.best / ours.best
    return f"{measured:.2f}x {theirs.contestant}", measured >= ratio
