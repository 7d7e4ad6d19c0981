"""Warning classes, so that a filter can silence one subject and keep the others.

Each is given at most once per fit, and says what was seen and what was done about it.
"""

__all__ = [
    "CandidateWarning",
    "DataWarning",
    "HornbeamWarning",
    "NoAnswerWarning",
    "OutOfBagWarning",
    "ThreadsWarning",
    "UnseenCategoryWarning",
    "UntestedExportWarning",
    "VersionWarning",
    "WarmStartWarning",
    "WeightWarning",
]


class HornbeamWarning(UserWarning):
    """Base of every warning this library gives."""


class ThreadsWarning(HornbeamWarning):
    """The number of threads used differs from the number asked for."""


class DataWarning(HornbeamWarning):
    """The data allow a fit but little learning: constant columns, a single row, nearly unique identifiers."""


class CandidateWarning(HornbeamWarning):
    """Some of the settings that a search was to try could not be fitted."""


class WarmStartWarning(HornbeamWarning):
    """A warm start has nothing to add to the members there are."""


class WeightWarning(HornbeamWarning):
    """Some sample weights are too small, beside the others, to count."""


class OutOfBagWarning(HornbeamWarning):
    """Some rows have no out-of-bag answer, as every member has seen them."""


class UnseenCategoryWarning(HornbeamWarning):
    """Rows to predict hold categories that the fit never saw."""


class NoAnswerWarning(HornbeamWarning):
    """Rows to predict lack values that every tree asks for."""


class UntestedExportWarning(HornbeamWarning):
    """An exported model was not run where it will be used, as that program is not here."""


class VersionWarning(HornbeamWarning):
    """A pickled model was made by another version of this library."""
