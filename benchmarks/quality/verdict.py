"""From turns to words: tables won, mean ratio of losses, the worst table, and seconds."""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.race import Turn
from benchmarks.report import markdown_line

__all__ = ["Duel", "as_markdown", "duel", "half_of"]

_TINY = 1e-4  # added to both losses: ratios of next to nothing mean nothing
_SMALL_LOSS = 0.01  # below which a table cannot be the worst one

Key = tuple[str, int]
Losses = dict[Key, dict[tuple[int, int], float]]


def half_of(table: str) -> int:
    """The half of the tables that one belongs to: 0 decides, 1 confirms."""
    return zlib.crc32(table.encode()) % 2


@dataclass(frozen=True)
class Duel:
    """One contestant beside another, on the tables that both have finished."""

    won: int
    n_tables: int
    ratio: float
    ratio_by_half: tuple[float, float]
    worst: str
    worst_ratio: float

    @property
    def words(self) -> str:
        halves = " and ".join(f"{ratio:.3f}" for ratio in self.ratio_by_half)
        return (
            f"{self.won} of {self.n_tables}, {self.ratio:.3f} ({halves}); {self.worst} {self.worst_ratio:.2f}"
        )


def losses_by(turns: Sequence[Turn]) -> dict[str, Losses]:
    found: dict[str, Losses] = defaultdict(lambda: defaultdict(dict))
    for turn in turns:
        if turn.loss is not None:
            found[turn.learner][turn.table, turn.n_rows][turn.seed, turn.fold] = turn.loss
    return found


def duel(ours: Losses, theirs: Losses) -> Duel | None:
    """Compare mean losses table by table, on the same folds."""
    ratios: dict[Key, float] = {}
    small: set[Key] = set()
    for key in ours.keys() & theirs.keys():
        both = ours[key].keys() & theirs[key].keys()
        if both:
            mine, other = (np.mean([losses[key][place] for place in both]) for losses in (ours, theirs))
            ratios[key] = float((mine + _TINY) / (other + _TINY))
            small |= {key} if mine < _SMALL_LOSS else set()
    if not ratios:
        return None
    halves = [[np.log(r) for key, r in ratios.items() if half_of(key[0]) == half] for half in (0, 1)]
    judged = {key: ratio for key, ratio in ratios.items() if key not in small} or ratios
    worst = max(judged, key=lambda key: judged[key])
    return Duel(
        won=sum(ratio < 1 for ratio in ratios.values()),
        n_tables=len(ratios),
        ratio=float(np.exp(np.mean(np.log(list(ratios.values()))))),
        ratio_by_half=(_mean_of(halves[0]), _mean_of(halves[1])),
        worst=worst[0],
        worst_ratio=judged[worst],
    )


def _mean_of(logarithms: Sequence[float]) -> float:
    return float(np.exp(np.mean(logarithms))) if logarithms else float("nan")


def as_markdown(turns: Sequence[Turn], ours: Sequence[str], opening: str) -> str:
    """The section of RESULTS.md: a row per duel, then a row per table."""
    found = losses_by(turns)
    lines = [opening, ""]
    lines += [
        markdown_line(["", "beside", "tables won, mean ratio of losses (by half); worst table", "time"])
    ]
    lines += [markdown_line(["---"] * 4)]
    for name in ours:
        for other in found:
            result = duel(found[name], found[other]) if name in found and other not in ours else None
            if result is not None:
                lines.append(markdown_line([name, other, result.words, _times(turns, name, other)]))
    names = list(found)
    lines += ["", markdown_line(["table", "rows", *names]), markdown_line(["---"] * (len(names) + 2))]
    for table, n_rows in sorted({key for losses in found.values() for key in losses}):
        cells = [_mean_loss(found[name].get((table, n_rows))) for name in names]
        lines.append(markdown_line([table, f"{n_rows:,}", *cells]))
    return "\n".join(lines)


def _times(turns: Sequence[Turn], ours: str, theirs: str) -> str:
    """How many times the other's time ours took, for the turns that both finished."""
    found = [
        {turn.place[1:]: turn.seconds for turn in turns if turn.learner == name and turn.loss is not None}
        for name in (ours, theirs)
    ]
    both = found[0].keys() & found[1].keys()
    mine, other = (sum(seconds[place] for place in both) for seconds in found)
    return f"{mine / other:.2f}x" if other else ""


def _mean_loss(losses: dict[tuple[int, int], float] | None) -> str:
    return f"{np.mean(list(losses.values())):.4f}" if losses else "-"
