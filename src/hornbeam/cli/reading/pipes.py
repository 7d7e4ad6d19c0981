"""Pipes that Ctrl-C can end: wraps a file that may never end so that its readers can be woken.

Arrow reads ahead in threads of its own, and waits for them where Python does not look at signals. A read from
a pipe that stays open would keep a command alive for ever: so such a read waits for the pipe or for a signal,
whichever comes first, and a signal is the end of the file. What the signal means is then said by its handler,
as soon as Python has its turn again.
"""

import io
import os
import select
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hornbeam._optional import require

__all__ = ["endable"]

ENDING = frozenset(map(int, (signal.SIGINT, signal.SIGTERM)))  # those that end a command, see main.py
NO_SIGNAL = b"\0"


@contextmanager
def endable(file: Any) -> Iterator[Any]:
    """Give a file to read in place of `file`; regular files, which end by themselves, stay as they are."""
    if not _may_wait(file):
        yield file
        return
    arrow = require("pyarrow", purpose="Reading tables")
    pipe = _Pipe(file.fileno())
    former = signal.set_wakeup_fd(pipe.alarm, warn_on_full_buffer=False)
    arrow.enable_signal_handlers(False)  # they would take the signal before it rings
    try:
        yield io.BufferedReader(pipe)
    finally:
        arrow.enable_signal_handlers(True)
        signal.set_wakeup_fd(former)
        pipe.end()


def _may_wait(file: Any) -> bool:
    """Whether a read may have to wait, and can be woken: on the thread that signals come to."""
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return False
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, AttributeError):  # no file of the system: a text in memory, say
        return False


class _Pipe(io.RawIOBase):
    """Reads from a descriptor until it ends, or somebody writes to `alarm`."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._bell, self.alarm = os.pipe()
        os.set_blocking(self.alarm, False)  # as a signal handler demands
        self._is_over = False

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what there is, and wait if there is nothing; 0 is the end."""
        while not self._is_over:
            ready, _, _ = select.select([self._source, self._bell], [], [])
            if self._bell in ready:
                self._is_over = not ENDING.isdisjoint(os.read(self._bell, 64)) or self._is_over
            elif self._source in ready:
                return os.readv(self._source, [buffer])
        return 0

    def end(self) -> None:
        """Wake whoever still reads: nobody wants more."""
        self._is_over = True
        if not self.closed:
            os.write(self.alarm, NO_SIGNAL)

    def close(self) -> None:
        """Give the descriptors of the alarm back; called when the last reader has gone."""
        if not self.closed:
            os.close(self._bell)
            os.close(self.alarm)
        super().close()
