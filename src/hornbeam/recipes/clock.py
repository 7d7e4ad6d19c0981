"""How much of a time budget is left."""

import math
import time

__all__ = ["Clock", "OutOfTimeError"]


class OutOfTimeError(Exception):
    """The time budget is used up."""


class Clock:
    """A time budget in seconds; None never ends. Setting the system clock does not affect it."""

    def __init__(self, budget: float | None) -> None:
        self.budget = math.inf if budget is None else budget
        self._begin = time.monotonic()
        self._end = self._begin + self.budget

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self._end - time.monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._begin

    def check(self) -> None:
        """Raise if the time is up."""
        if self.left <= 0:
            raise OutOfTimeError
