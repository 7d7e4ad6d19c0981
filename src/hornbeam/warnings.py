"""Warning classes, so that a filter can silence one subject and keep the others.

Each is given at most once per fit, and says what was seen and what was done about it.
"""

__all__ = [
    "DataWarning",
    "HornbeamWarning",
    "ThreadsWarning",
    "UnseenCategoryWarning",
    "VersionWarning",
    "WeightWarning",
]


class HornbeamWarning(UserWarning):
    """Base of every warning this library gives."""


class ThreadsWarning(HornbeamWarning):
    """The number of threads used differs from the number asked for."""


class DataWarning(HornbeamWarning):
    """The data allow a fit but little learning: constant columns, a single row, nearly unique identifiers."""


class WeightWarning(HornbeamWarning):
    """Some sample weights are too small, beside the others, to count."""


class UnseenCategoryWarning(HornbeamWarning):
    """Rows to predict hold categories that the fit never saw."""


class VersionWarning(HornbeamWarning):
    """A pickled model was made by another version of this library."""
