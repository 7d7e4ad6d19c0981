"""Dates that can tell a right export from a wrong one: at both sides of what is asked of their parts.

A model asks a date for several things at once, the weekday and the hour say, so a date for a test is looked
for among many that were drawn: one that passes every test on the way, and is as near to the threshold as can
be.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.data.dates import PartName, days_of_array, part_values

__all__ = ["DatePool", "Interval", "Resolution"]

# What the program that an export is written for can tell apart.
Resolution = Literal["us", "s"]
Interval = tuple[float, float, bool]  # above, up to, and whether a missing date passes

NOT_A_TIME = np.datetime64("NaT")
_N_DRAWN = 4_000
_PER_DAY = {"us": 86_400_000_000, "s": 86_400}
_FIRST, _LAST = -700_000, 2_900_000  # days within the years 1 to 9999
_MARGIN = 400  # days before the first threshold and after the last: each part goes through all it can be
_SOME_DAYS = 18_262.0  # 2020-01-01, for models that ask for the weekday or the hour only


class DatePool:
    """Dates for one column; `thresholds` are those of each of its parts."""

    def __init__(
        self,
        thresholds: Mapping[PartName, Sequence[float]],
        generator: np.random.Generator,
        resolution: Resolution = "us",
    ) -> None:
        self.resolution = resolution
        self._per_day = _PER_DAY[resolution]
        self._thresholds = thresholds
        finite = [t for some in thresholds.values() for t in some if np.isfinite(t)]
        points = [t for part in ("date", "time") for t in thresholds.get(part, ()) if np.isfinite(t)] or [
            _SOME_DAYS
        ]
        low = max(min(points) - _MARGIN, _FIRST)
        high = min(max(points) + _MARGIN, _LAST)
        days = np.floor(low + generator.random(_N_DRAWN) * (high - low)).astype(np.int64)
        counts = days * self._per_day + self._times(generator, len(finite))
        self.dates = np.unique(np.concatenate([counts, self._edges(points)])).astype(
            f"datetime64[{resolution}]"
        )
        self.dates = generator.permutation(self.dates)
        days_of = days_of_array(self.dates, "dates")
        self.values = {part: part_values(days_of, part) for part in thresholds}

    def _times(self, generator: np.random.Generator, n_thresholds: int) -> npt.NDArray[np.int64]:
        """Draw times of day: midnight, any, and those around the thresholds on hours."""
        anywhere = generator.integers(0, self._per_day, _N_DRAWN)
        times = np.where(generator.random(_N_DRAWN) < 0.3, 0, anywhere)
        hours = np.array([t for t in self._thresholds.get("hour", ()) if np.isfinite(t)])
        if len(hours):
            near = np.floor(generator.choice(hours, _N_DRAWN) * self._per_day / 24).astype(np.int64)
            near += generator.integers(-2, 3, _N_DRAWN) * max(self._per_day // 86_400_000, 1)
            near = np.clip(near, 0, self._per_day - 1)
            times = np.where(generator.random(_N_DRAWN) < 0.5, near, times)
        return times

    def _edges(self, points: Sequence[float]) -> npt.NDArray[np.int64]:
        """Return the last count up to each threshold on time, the next, and the days around."""
        inside = np.array([t for t in points if _FIRST < t < _LAST])
        day = np.floor(inside).astype(np.int64) * self._per_day
        last = day + np.floor((inside % 1) * self._per_day).astype(np.int64)
        steps = [last - 1, last, last + 1, last + 2, day - 1, day, day + self._per_day]
        return np.concatenate(steps)

    def draw(self, generator: np.random.Generator, n_rows: int) -> npt.NDArray[Any]:
        """Draw dates of all kinds."""
        return self.dates[generator.integers(0, len(self.dates), n_rows)]

    def _passing(self, path: Mapping[PartName, Interval]) -> npt.NDArray[np.bool_]:
        passing = np.ones(len(self.dates), dtype=np.bool_)
        for part, (low, high, _) in path.items():
            passing &= (self.values[part] > low) & (self.values[part] <= high)
        return passing

    def one(self, path: Mapping[PartName, Interval]) -> Any:
        """Find a date that passes; NaT if a missing one does, or none was found."""
        found = np.flatnonzero(self._passing(path))
        return self.dates[found[0]] if len(found) else NOT_A_TIME

    def around(self, path: Mapping[PartName, Interval], part: PartName, threshold: float) -> list[Any]:
        """Find the dates that pass whose part is nearest to a threshold, on both sides."""
        places, values = np.flatnonzero(self._passing(path)), self.values[part]
        low, high = places[values[places] <= threshold], places[values[places] > threshold]
        found = [low[np.argmax(values[low])]] if len(low) else []
        found += [high[np.argmin(values[high])]] if len(high) else []
        return [self.dates[place] for place in found]

    def near_every_threshold(self, most: int) -> list[Any]:
        """Return dates at both sides of each threshold of each part."""
        thresholds = [(part, t) for part, some in self._thresholds.items() for t in some]
        if len(thresholds) > most:
            thresholds = [thresholds[k] for k in np.linspace(0, len(thresholds) - 1, most).astype(np.int64)]
        return [date for part, t in thresholds for date in self.around({}, part, t)]
