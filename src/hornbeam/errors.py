"""Error classes of our own: only for what no built-in exception says.

Wrong parameters and wrong data raise ValueError, wrong calls TypeError, files that cannot be read OSError.
"""

__all__ = ["ModelFormatError"]


class ModelFormatError(ValueError):
    """A model file is damaged, hostile, or not a model file at all."""
