"""How large the file of a forest will be, reported before a large fit; and sensible leaf sizes for many rows.

Trees that are grown until their leaves are pure have about as many leaves as there are rows: of a million
rows, a hundred of them take hundreds of megabytes and predict no better than smaller ones.
"""

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from hornbeam.inside.words import count
from hornbeam.io.native import packed

__all__ = ["LARGE", "expected_bytes", "leaf_size_for", "size_words"]

# From this many rows on, forests of the command line report their size and get leaves of several rows.
LARGE = 200_000

# A leaf then has at least one row per this many rows.
_ROWS_PER_LEAF_ROW = 100_000

# A user who sets one of these has thought about the size of the trees.
_LIMITS = frozenset(
    {"min_samples_leaf", "min_samples_split", "max_leaf_nodes", "max_depth", "min_weight_fraction_leaf"}
)


def leaf_size_for(estimator: Any, n_rows: int, given: Mapping[str, Any]) -> int | None:
    """Return the least number of rows of a leaf for a large forest; None where that is left as it is."""
    options = estimator.get_params(deep=False)
    is_forest = {"n_estimators", "bootstrap", "min_samples_leaf"} <= options.keys()
    if not is_forest or n_rows < LARGE or _LIMITS & given.keys():
        return None
    return n_rows // _ROWS_PER_LEAF_ROW


def expected_bytes(estimator: Any, X: Any, y: Any) -> int | None:
    """Estimate the size of the file of a forest by that of one of its trees; None if it is no forest."""
    options = estimator.get_params(deep=False)
    if not {"n_estimators", "bootstrap", "min_samples_leaf"} <= options.keys():
        return None
    one = clone(estimator).set_params(n_estimators=1, oob_score=False).fit(X, y)
    return int(options["n_estimators"]) * sum(map(len, packed(one)))


def size_words(n_bytes: int, n_trees: int, leaf_size: int | None) -> str:
    """Say what is to be expected."""
    size = f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{max(1, round(n_bytes / 1e6)):,} MB"
    text = f"The model of {count(n_trees, 'tree')} will take about {size}."
    if leaf_size is not None:
        text += (
            f" Leaves have at least {leaf_size} rows, because there are so many; --min-samples-leaf sets it."
        )
    return text
