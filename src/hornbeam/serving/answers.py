"""Answers to rows, as plain values for JSON and as a table for Arrow."""

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from hornbeam._optional import require
from hornbeam.serving.rows import Rows

__all__ = ["Answer", "answer_rows"]


class Answer:
    """Labels or numbers of rows and, of classes, their probabilities."""

    def __init__(self, predictions: Any, probabilities: list[Any], classes: list[list[Any]]) -> None:
        self.predictions = np.asarray(predictions)
        self.probabilities = probabilities
        self.classes = classes

    def document(self, rows: Rows) -> dict[str, Any]:
        """Return plain values: of one row by itself, or of all."""
        predictions = _plain(self.predictions.tolist())
        probabilities = [_plain(share.tolist()) for share in self.probabilities]
        if rows.is_single:
            named = [
                dict(zip(map(str, c), s[0], strict=True))
                for c, s in zip(self.classes, probabilities, strict=True)
            ]
            more = {"probabilities": named[0] if len(named) == 1 else named} if named else {}
            return {"prediction": predictions[0], **more}
        if not probabilities:
            return {"predictions": predictions}
        several = len(probabilities) > 1
        return {
            "predictions": predictions,
            "classes": self.classes if several else self.classes[0],
            "probabilities": probabilities if several else probabilities[0],
        }

    def arrow(self) -> bytes:
        """Return a stream of Arrow's format: a column of predictions, and one per class."""
        arrow = require("pyarrow", purpose="Writing Arrow")
        ipc = require("pyarrow.ipc", purpose="Writing Arrow")
        columns = {}
        answers = self.predictions.reshape(len(self.predictions), -1)
        for k in range(answers.shape[1]):
            name = "prediction" if answers.shape[1] == 1 else f"prediction_{k}"
            columns[name] = arrow.array(answers[:, k].tolist())
        for k, (labels, probabilities) in enumerate(zip(self.classes, self.probabilities, strict=True)):
            for j, label in enumerate(labels):
                part = "" if len(self.classes) == 1 else f"{k}_"
                columns[f"probability_{part}{label}"] = arrow.array(probabilities[:, j])
        table = arrow.table(columns)
        sink = arrow.BufferOutputStream()
        with ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        data: bytes = sink.getvalue().to_pybytes()
        return data


def answer_rows(model: Any, rows: Rows) -> Answer:
    """Ask a model."""
    if not is_classifier(model) or not hasattr(model, "predict_proba"):
        return Answer(model.predict(rows.table), [], [])
    probabilities = model.predict_proba(rows.table)
    several = isinstance(probabilities, list)
    classes = [labels.tolist() for labels in model.classes_] if several else [model.classes_.tolist()]
    return Answer(model.predict(rows.table), probabilities if several else [probabilities], classes)


def _plain(value: Any) -> Any:
    """Replace numbers that JSON lacks by null."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
