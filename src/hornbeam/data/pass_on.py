"""Tables passed on to other libraries' estimators: X unchanged, with its width and names noted or checked."""

from typing import Any

import narwhals as nw
from sklearn.utils.validation import validate_data

from hornbeam.data.families import READ_FAMILIES, refuse_object, value_family
from hornbeam.data.sources import refuse_corrupt_sparse
from hornbeam.sklearn_bases import BaseEstimator

__all__ = ["NotedColumns", "is_frame", "table_to_pass_on"]


class NotedColumns(BaseEstimator):
    """Notes the columns of X, to keep them once a fit has succeeded."""


def table_to_pass_on(columns: Any, X: Any, *, reset: bool) -> Any:
    """Leave a data frame unchanged, make other tables an array or a sparse matrix; check or note columns."""
    if is_frame(X):
        validate_data(columns, X, reset=reset, skip_check_array=True)
        return X
    refuse_corrupt_sparse(X)
    table = validate_data(
        columns, X, reset=reset, accept_sparse=["csr", "csc"], dtype=None, ensure_all_finite=False
    )
    if table.dtype == object:
        _refuse_containers(table)
    return table


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of any library; not all of them say so by `__dataframe__`."""
    if hasattr(X, "iloc") or hasattr(X, "__dataframe__"):
        return True
    return isinstance(nw.from_native(X, eager_only=True, pass_through=True), nw.DataFrame)


def _refuse_containers(table: Any) -> None:
    """Refuse unreadable cells here, since it depends on chance whether a member gets their rows."""
    for number, column in enumerate(table.T):
        cells = column.tolist()
        family_of = {kind: value_family(kind) for kind in set(map(type, cells))}
        if not READ_FAMILIES.issuperset(family_of.values()):
            refuse_object(cells, family_of, f"x{number}")
