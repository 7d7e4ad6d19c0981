"""Tables that go on to other people's estimators: X as it came, with its width and names noted or checked."""

from typing import Any

import narwhals as nw
from sklearn.utils.validation import validate_data

from hornbeam.data.families import READ_FAMILIES, refuse_object, value_family
from hornbeam.data.sources import refuse_corrupt_sparse
from hornbeam.sklearn_bases import BaseEstimator

__all__ = ["NotedColumns", "is_frame", "table_to_pass_on"]


class NotedColumns(BaseEstimator):
    """Takes note of columns until a fit has gone well."""


def table_to_pass_on(columns: Any, X: Any, *, reset: bool) -> Any:
    """Leave a data frame as it is, make other tables an array or a sparse matrix; check or note columns."""
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
    """Refuse cells that no estimator reads here: whether a member meets their rows is a matter of chance."""
    for number, column in enumerate(table.T):
        cells = column.tolist()
        family_of = {kind: value_family(kind) for kind in set(map(type, cells))}
        if not READ_FAMILIES.issuperset(family_of.values()):
            refuse_object(cells, family_of, f"x{number}")
