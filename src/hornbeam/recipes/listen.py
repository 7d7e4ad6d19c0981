"""Listeners that follow a running recipe, and the progress bar of `verbose=1`.

A recipe tells its listener how many steps (members, rounds) there will be, then after each step or batch of
steps how many are done. A listener that raises stops the fit. Without a listener nothing is printed and no
time is lost.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

__all__ = ["Listener", "Silence", "listening"]


class Listener(Protocol):
    """What a recipe calls while it runs."""

    @property
    def listens(self) -> bool:
        """Whether anybody listens: if not, a recipe need not work in small batches."""

    def expect(self, n_steps: int) -> None:
        """Receive the number of steps; may be called again when more are needed."""

    def done(self, n_steps: int, note: str = "") -> None:
        """Receive the number of finished steps, and a word on progress."""


class Silence:
    """Listens to nothing."""

    listens = False

    def expect(self, n_steps: int) -> None:
        """Ignore it."""

    def done(self, n_steps: int, note: str = "") -> None:
        """Ignore it."""


class _Bar:
    """A bar in the terminal, with the remaining time."""

    listens = True

    def __init__(self, title: str) -> None:
        # Imported only if there is a bar to show.
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
    """Yield the listener that `verbose` asks for: silent at 0, else a progress bar for the block."""
    if not verbose:
        yield Silence()
        return
    bar = _Bar(title)
    with bar.progress:
        yield bar
