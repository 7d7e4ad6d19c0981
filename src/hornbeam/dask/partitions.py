"""What users give: Dask frames and arrays, or lists of delayed parts, as a list of delayed partitions.

Targets, weights and offsets are brought to the driver, which needs them whole: a few bytes per row.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from hornbeam._optional import require
from hornbeam.dask.connection import PURPOSE, gathered

__all__ = ["Answer", "brought", "futures_of", "is_lazy", "lazily_answered", "partitions_of"]


def is_lazy(given: Any) -> bool:
    """Tell whether something is a Dask collection, or a list of delayed parts or futures."""
    dask = require("dask", purpose=PURPOSE)
    if isinstance(given, list | tuple):
        return bool(given) and all(_is_part(part) for part in given)
    return bool(dask.is_dask_collection(given))


def _is_part(part: Any) -> bool:
    delayed = require("dask.delayed", purpose=PURPOSE)
    distributed = require("distributed", purpose=PURPOSE)
    return isinstance(part, delayed.Delayed | distributed.Future)


def partitions_of(X: Any) -> list[Any]:
    """List the partitions of X in the order of their rows, each a delayed table or a future of one."""
    if isinstance(X, list | tuple) and X and all(_is_part(part) for part in X):
        return list(X)
    if not is_lazy(X):
        raise TypeError(
            f"X must be a Dask frame or array, or a list of delayed tables; got {type(X).__name__}. For "
            "tables in memory, hornbeam's own estimators make the same model."
        )
    if hasattr(X, "divisions"):
        return list(X.to_delayed())
    if getattr(X, "ndim", 0) != 2:
        raise ValueError(f"X must have rows and columns; this Dask array has {X.ndim} dimension(s).")
    return list(X.rechunk({1: -1}).to_delayed()[:, 0])


def futures_of(partitions: Sequence[Any], client: Any) -> list[Any]:
    """Have delayed partitions computed; futures stay as they are."""
    distributed = require("distributed", purpose=PURPOSE)
    return [part if isinstance(part, distributed.Future) else client.compute(part) for part in partitions]


def brought(given: Any, client: Any) -> Any:
    """Bring a column to the driver: targets, weights or offsets, in the order of their rows."""
    if given is None or not is_lazy(given):
        return given
    if not isinstance(given, list | tuple):
        return client.gather(client.compute(given))
    parts = gathered(client, futures_of(given, client))
    if all(isinstance(part, pd.Series | pd.DataFrame) for part in parts):
        return pd.concat(parts, ignore_index=True)
    return np.concatenate([np.asarray(part) for part in parts])


class Answer:
    """A method of a fitted model, for tables of a partition."""

    def __init__(self, model: Any, method: str, example: npt.NDArray[Any]) -> None:
        self._model, self._method = model, method
        self.example = example

    def __call__(self, table: Any) -> npt.NDArray[Any]:
        """Answer the rows of a table."""
        if not len(table):
            return self.example
        answers: npt.NDArray[Any] = getattr(self._model, self._method)(table)
        return answers


def lazily_answered(X: Any, answer: Any, *, columns: Any = None) -> Any:
    """Answer the rows of a Dask collection partition by partition, when somebody asks for it.

    `answer` maps a table to an array: a number or label per row, or with `columns` a row of numbers.
    """
    example = answer.example
    if hasattr(X, "divisions"):
        meta = pd.Series(example, name="prediction") if columns is None else _empty_frame(columns)
        return X.map_partitions(_AsFrame(answer, columns), meta=meta)
    if isinstance(X, list | tuple):
        dask = require("dask", purpose=PURPOSE)
        return [dask.delayed(answer)(part) for part in X]
    X = X.rechunk({1: -1})
    if columns is None:
        return X.map_blocks(answer, drop_axis=1, dtype=example.dtype, meta=example)
    return X.map_blocks(
        answer, chunks=(X.chunks[0], (len(columns),)), dtype=np.float64, meta=np.empty((0, len(columns)))
    )


def _empty_frame(columns: Any) -> pd.DataFrame:
    return pd.DataFrame(np.empty((0, len(columns))), columns=list(columns))


class _AsFrame:
    """Gives answers the index of their rows."""

    def __init__(self, answer: Any, columns: Any) -> None:
        self._answer, self._columns = answer, columns

    def __call__(self, frame: Any) -> Any:
        """Answer a partition."""
        if self._columns is None:
            return pd.Series(self._answer(frame), index=frame.index, name="prediction")
        return pd.DataFrame(self._answer(frame), index=frame.index, columns=list(self._columns))

    def __dask_tokenize__(self) -> Any:
        """Name the answer once for all partitions."""
        return id(self._answer)
