"""Our own error classes, only for cases that no built-in exception covers.

Wrong parameters and wrong data raise ValueError, wrong calls TypeError, files that cannot be read OSError.
"""

from typing import Any

__all__ = [
    "ExportError",
    "ImportedModelError",
    "MemberError",
    "MemberMemoryError",
    "MemberTypeError",
    "ModelFormatError",
    "member_error_for",
    "words_of",
]


class ModelFormatError(ValueError):
    """A model file is damaged, hostile, or not a model file at all."""


class ExportError(ValueError):
    """A model cannot be written in a format, or the export does not predict like the model."""


class ImportedModelError(ValueError):
    """A model of another library cannot be imported, or the import does not predict like the original."""


class MemberError(ValueError):
    """A member of a stack failed.

    `member` and `fold` say which one and where (None: on all rows); `fitted` holds, by name, the members of
    its level that were fitted on all rows, so that their work is not lost.
    """

    def __init__(
        self, message: str, *, member: str = "", fold: int | None = None, fitted: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.member = member
        self.fold = fold
        self.fitted = fitted or {}


class MemberTypeError(MemberError, TypeError):
    """A member of a stack failed with a TypeError."""


class MemberMemoryError(MemberError, MemoryError):
    """A member of a stack failed for lack of memory."""


def member_error_for(error: BaseException) -> type[MemberError]:
    """Return the class for what a member has raised, so that who catches that catches this."""
    if isinstance(error, MemoryError):
        return MemberMemoryError
    return MemberTypeError if isinstance(error, TypeError) else MemberError


def words_of(error: BaseException) -> str:
    """Return what an error says; Python's own MemoryError has no words but its name."""
    return str(error) or type(error).__name__
