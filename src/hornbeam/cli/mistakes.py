"""What the user can put right: raised anywhere below a verb, printed by `main.py` as one line."""

__all__ = ["Mistake"]


class Mistake(Exception):  # noqa: N818 - it is the user's, and named for what it is
    """A mistake in the data or the files: its text is all the user sees, and the exit code is 1."""
