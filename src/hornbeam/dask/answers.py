"""Predictions of trees and forests that were grown on a cluster: lazy where the rows are, else as ever."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.dask.cluster import OnCluster
from hornbeam.dask.partitions import Answer, is_lazy, lazily_answered

__all__ = ["GrownOnCluster", "GrownOnClusterOfClasses"]


class GrownOnCluster(OnCluster):
    """What predicts numbers."""

    def predict(self, X: Any) -> Any:
        """Answer each row; lazily, if X is a Dask collection."""
        if not is_lazy(X):
            return super().predict(X)  # type: ignore[misc]
        self._refuse_several_outputs()
        return lazily_answered(X, Answer(self.to_local(), "predict", self._no_answers()))

    def _no_answers(self) -> npt.NDArray[Any]:
        """Return answers for no rows, which say of what kind they are."""
        return np.empty(0)

    def _refuse_several_outputs(self) -> None:
        if self.n_outputs_ > 1:  # type: ignore[attr-defined]
            raise ValueError(
                "A lazy prediction has one output, and this model several. Have parts predicted with "
                "to_local(), for example dask.delayed(model.to_local().predict)(part)."
            )


class GrownOnClusterOfClasses(GrownOnCluster):
    """What predicts classes."""

    def _no_answers(self) -> npt.NDArray[Any]:
        nothing: npt.NDArray[Any] = self.classes_[:0]  # type: ignore[attr-defined]
        return nothing

    def predict_proba(self, X: Any) -> Any:
        """Return the share of each class; lazily, if X is a Dask collection."""
        model: Any = self
        if not is_lazy(X):
            return super().predict_proba(X)  # type: ignore[misc]
        self._refuse_several_outputs()
        example = np.empty((0, model.n_classes_))
        return lazily_answered(X, Answer(self.to_local(), "predict_proba", example), columns=model.classes_)
