"""Results as data frames, of whichever library is installed."""

import importlib.util
from collections.abc import Sequence
from typing import Any

from hornbeam._optional import require

__all__ = ["as_frame"]


def as_frame(records: Sequence[dict[str, Any]]) -> Any:
    """Return a DataFrame of pandas, else of polars, else the records as they are."""
    for package in ("pandas", "polars"):
        if importlib.util.find_spec(package) is not None:
            return require(package, purpose="Results as a data frame").DataFrame(list(records))
    return list(records)
