"""Who watches a recipe at work: listeners, and the progress bar that `verbose=1` shows.

A recipe tells its listener how many steps (members, rounds) there will be, then after each step or batch of
steps how many are done. A listener that raises stops the fit. With nobody listening nothing is printed and no
time is lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Listener", "Silence", "listening"]


class Listener(Protocol):
    """What a recipe calls while it works."""

    @property
    def listens(self) -> bool:
        """Whether anybody wants to hear: else a recipe need not work in small batches."""

    def expect(self, n_steps: int) -> None:
        """Take note of how many steps there will be; may be said again when more are needed."""

    def done(self, n_steps: int, note: str = "") -> None:
        """Take note of how many steps are done so far, and of how it goes."""


class Silence:
    """Listens to nothing."""

    listens = False

    def expect(self, n_steps: int) -> None:
        """Take no note."""

    def done(self, n_steps: int, note: str = "") -> None:
        """Take no note."""


class _Bar:
    """A bar in the terminal, with the remaining time."""

    listens = True

    def __init__(self, title: str) -> None:
        # Only who asks for a bar pays for the import.
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # The title has a line of its own: all in one is wider than a terminal, and numbers would be cut.
        columns = (
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("remaining"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        # Standard output is for results, which may go into a pipe.
        console = Console(stderr=True)
        console.print(title, markup=False, highlight=False)
        self.progress = Progress(*columns, console=console)
        self._task = self.progress.add_task("", total=None, note="")

    def expect(self, n_steps: int) -> None:
        """Set the length of the bar."""
        self.progress.update(self._task, total=n_steps)

    def done(self, n_steps: int, note: str = "") -> None:
        """Move the bar."""
        self.progress.update(self._task, completed=n_steps, note=note)


@contextmanager
def listening(verbose: int, title: str) -> Iterator[Listener]:
    """Give the listener that `verbose` asks for: none at 0, else a progress bar that ends with the block."""
    if not verbose:
        yield Silence()
        return
    bar = _Bar(title)
    with bar.progress:
        yield bar
