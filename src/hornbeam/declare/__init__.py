"""Options as data: how a hyperparameter is declared, and what follows from the declaration.

`kinds.py` reads type annotations and judges values, `classes.py` turns declarations into constructors, checks
and documentation, `one_step.py` has fits change an estimator all at once, `hints.py` answers names that are
not known. The hyperparameters themselves are in `hornbeam.params`.
"""

from hornbeam.declare.classes import (
    Declared,
    Option,
    documentation,
    estimators,
    fitted,
    option,
    option_group,
    option_table,
    options_of,
    removed,
    validate,
)
from hornbeam.declare.kinds import Bounds, Check
from hornbeam.declare.one_step import KeptFit, view_of

__all__ = [
    "Bounds",
    "Check",
    "Declared",
    "KeptFit",
    "Option",
    "documentation",
    "estimators",
    "fitted",
    "option",
    "option_group",
    "option_table",
    "options_of",
    "removed",
    "validate",
    "view_of",
]
