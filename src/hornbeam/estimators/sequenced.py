"""Ensembles as sequences of their members, as scikit-learn's are: `len`, iteration, `ensemble[3]`."""

from collections.abc import Iterator, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

__all__ = ["Sequenced"]


class Sequenced:
    """Base of ensembles with `estimators_`."""

    def __len__(self) -> int:
        return len(self._list_of_members())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list_of_members())

    def __getitem__(self, index: Any) -> Any:
        return self._list_of_members()[index]

    def __bool__(self) -> bool:  # not by length, which an unfitted ensemble does not have
        return True

    def _list_of_members(self) -> Sequence[Any]:
        check_is_fitted(self)
        members: Any = self
        listed: Sequence[Any] = members.estimators_
        return listed
