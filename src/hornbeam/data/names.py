"""Names of columns: those of the container, whether they match the fit's, and columns chosen by name.

scikit-learn decides about names, so that `feature_names_in_`, the table and the messages agree.
"""

import difflib
import numbers
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from hornbeam.data.wording import listed, shown

__all__ = ["check_names_and_width", "feature_names_of", "forced_columns", "refuse_duplicate_names"]


def feature_names_of(container: Any) -> list[str] | None:
    """Ask scikit-learn, so that `feature_names_in_` and the table agree on what counts as a name."""
    probe = BaseEstimator()
    validate_data(probe, container, reset=True, skip_check_array=True)
    names = getattr(probe, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def check_names_and_width(
    container: Any, names: Sequence[str], *, names_given: bool, estimator_name: str
) -> None:
    """Let scikit-learn compare names and width with the fit's, in the words users and tools know.

    It reads the class name of an estimator and two fitted attributes, so it is given only these.
    """
    fitted = type(estimator_name, (BaseEstimator,), {})()
    fitted.n_features_in_ = len(names)
    if names_given:
        fitted.feature_names_in_ = np.array(names, dtype=object)
    validate_data(fitted, container, reset=False, skip_check_array=True)


def refuse_duplicate_names(frame: Any) -> None:
    """Refuse a frame in which a column name is not unique."""
    labels: Any = getattr(frame, "column_names", None)  # Arrow, whose `columns` are the data
    if labels is None:
        labels = getattr(frame, "columns", ())
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Column names must be unique; X has more than one column named {listed(repeated)}. "
            "Rename or drop the repeated columns."
        )


def forced_columns(wanted: Any, feature_names: Sequence[str] | None, n_columns: int) -> frozenset[int]:
    """Turn `categorical_features` into column numbers."""
    if wanted is None or (isinstance(wanted, str) and wanted == "from_dtype"):
        return frozenset()
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
        raise ValueError(
            'categorical_features must be "from_dtype", None, a list of column names, a list of column '
            f"indices or a boolean mask; got {shown(wanted)}."
        )
    entries = list(wanted)
    if all(isinstance(entry, bool | np.bool_) for entry in entries):
        return _forced_by_mask(entries, n_columns)
    if all(isinstance(entry, str) for entry in entries):
        return _forced_by_name(entries, feature_names)
    if all(isinstance(entry, numbers.Integral) and not isinstance(entry, bool) for entry in entries):
        return _forced_by_index(entries, n_columns)
    raise ValueError(
        f"categorical_features must hold only names, only indices or only booleans; got {listed(entries)}."
    )


def _forced_by_mask(mask: Sequence[bool], n_columns: int) -> frozenset[int]:
    if mask and len(mask) != n_columns:
        raise ValueError(
            f"categorical_features is a mask of {len(mask)} entries, but X has {n_columns} columns; "
            "give one entry per column, or a list of names or indices."
        )
    return frozenset(j for j, chosen in enumerate(mask) if chosen)


def _forced_by_name(wanted: Sequence[str], feature_names: Sequence[str] | None) -> frozenset[int]:
    if feature_names is None:
        raise ValueError(
            f"categorical_features names {listed(wanted)}, but X has no column names; give column indices."
        )
    position = {name: j for j, name in enumerate(feature_names)}
    unknown = [name for name in wanted if name not in position]
    if unknown:
        near = difflib.get_close_matches(unknown[0], feature_names, n=1)
        hint = f" Did you mean {shown(near[0])}?" if near else ""
        raise ValueError(f"categorical_features names {listed(unknown)}, which X does not have.{hint}")
    return frozenset(position[name] for name in wanted)


def _forced_by_index(wanted: Sequence[int], n_columns: int) -> frozenset[int]:
    outside = [int(j) for j in wanted if not 0 <= j < n_columns]
    if outside:
        raise ValueError(
            f"categorical_features has {listed(outside)}, but X has {n_columns} columns; "
            f"indices go from 0 to {n_columns - 1}."
        )
    return frozenset(int(j) for j in wanted)
