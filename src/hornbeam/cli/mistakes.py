"""Messages besides results: mistakes, which `main.py` prints as one line, and notes."""

import sys

from hornbeam.inside.words import printable

__all__ = ["Mistake", "forget_notes", "note", "one_line"]

_noted: set[str] = set()


class Mistake(Exception):  # noqa: N818 - it is the user's, and named for what it is
    """A mistake in the data or the files: its text is all the user sees, and the exit code is 1."""


def note(sentence: str) -> None:
    """Write on standard error what was decided for the user, each note only once per command."""
    if sentence not in _noted:
        _noted.add(sentence)
        print(f"hornbeam: {one_line(sentence)}", file=sys.stderr)


def forget_notes() -> None:
    """Begin a command: all notes may be written again."""
    _noted.clear()


def one_line(text: str) -> str:
    """Write a text on one line, without characters that a terminal would obey."""
    return printable(" ".join(text.split()), limit=None)
