"""An ONNX graph on trial in onnxruntime."""

from typing import Any

import numpy as np

from hornbeam._optional import installed, require
from hornbeam.exports.c_code import Precision, n_numbers
from hornbeam.exports.check import Answers
from hornbeam.exports.onnx_graph import missing_text
from hornbeam.exports.portable import PortableModel
from hornbeam.exports.test_rows import TestRows

__all__ = ["OnnxRuntime"]

_ROWS_AT_ONCE = 2000


class OnnxRuntime:
    """onnxruntime, from PyPI."""

    def __init__(self, proto: Any, precision: Precision) -> None:
        self._runtime = require("onnxruntime", purpose="Running ONNX")
        self._data = proto.SerializeToString()
        self._dtype = np.float32 if precision == "float" else np.float64
        self.name = f"onnxruntime {self._runtime.__version__}"

    @staticmethod
    def absent() -> str | None:
        """Say why onnxruntime cannot be had."""
        return None if installed("onnxruntime") else "onnxruntime (pip install hornbeam[export])"

    def run(self, model: PortableModel, rows: TestRows) -> Answers:
        """Run the graph on the rows."""
        options = self._runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = 2
        session = self._runtime.InferenceSession(self._data, options, providers=["CPUExecutionProvider"])
        parts = []
        for begin in range(0, rows.n_rows, _ROWS_AT_ONCE):  # a model with many tests on categories is wide
            some = rows.take(np.arange(begin, min(begin + _ROWS_AT_ONCE, rows.n_rows)))
            parts.append(session.run(None, self._given(model, some)))
        found = [np.concatenate(several) for several in zip(*parts, strict=True)]
        if not model.has_classes:
            return Answers(np.asarray(found[0], dtype=np.float64).reshape(rows.n_rows, -1))
        shares = np.concatenate(found[1::2], axis=1).astype(np.float64).reshape(rows.n_rows, n_numbers(model))
        answered = ~np.isnan(shares[:, 0])
        labels = tuple(
            [value if known else None for value, known in zip(one.tolist(), answered, strict=True)]
            for one in found[0::2]
        )
        return Answers(shares, labels)

    def _given(self, model: PortableModel, rows: TestRows) -> dict[str, Any]:
        with np.errstate(over="ignore"):
            if all(column.categories is None for column in model.columns):
                return {"X": np.stack(rows.columns, axis=1).astype(self._dtype)}
            given: dict[str, Any] = {}
            for column, values in zip(model.columns, rows.columns, strict=True):
                if column.categories is not None and column.category_type is str:
                    nothing = missing_text(column)
                    texts = [nothing if value is None else value for value in values]
                    given[column.name] = np.array(texts, dtype=object).reshape(-1, 1)
                else:
                    numbers = [np.nan if value is None else float(value) for value in values.tolist()]
                    given[column.name] = np.array(numbers, dtype=self._dtype).reshape(-1, 1)
            return given
