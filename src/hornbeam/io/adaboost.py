"""What AdaBoost keeps of its rounds: errors and weights of members, weights of rows, why it stopped.

Predictions need only the weights of the members, so a model saved with `predict_only=True` is loaded without
the weights of the rows.
"""

from typing import Any, get_args

import numpy as np

from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.recipes.adaboost import StopReason

__all__ = ["read_rounds", "write_rounds"]

_ROUNDING = 2.0**-40  # of a row that has all the weight, in files of hornbeam 0.1


def write_rounds(model: Any, writer: RecordWriter) -> None:
    """Put in what a fit of AdaBoost records of its rounds."""
    writer.facts["stop_reason"] = model.stop_reason_
    writer.put("rounds.errors", model.estimator_errors_)
    writer.put("rounds.weights", model.estimator_weights_)
    keeps_weights = hasattr(model, "sample_weights_") and not writer.predict_only
    writer.facts["weights_kept"] = keeps_weights
    if keeps_weights:
        writer.put("rounds.sample_weights", model.sample_weights_)


def read_rounds(model: Any, reader: RecordReader) -> int:
    """Take the rounds out, checked; return how many there are."""
    reason = reader.fact("stop_reason", str)
    if reason not in get_args(StopReason):
        raise ModelFormatError(f"the fact 'stop_reason' is {reason[:80]!r}, which is not known")
    errors = reader.take("rounds.errors", np.float64, (None,))
    weights = reader.take("rounds.weights", np.float64, (len(errors),))
    if not len(errors) or not np.all((errors >= 0) & (errors <= 1)):
        raise ModelFormatError("there are no members, or their errors are not from 0 to 1")
    if not np.all(weights >= 0) or np.isinf(weights[:-1]).any():
        raise ModelFormatError("the weights of the members are not >= 0, or not finite before the last")
    model.stop_reason_ = reason
    model.estimator_errors_ = errors
    model.estimator_weights_ = weights
    if reader.fact("weights_kept", bool):
        kept = reader.take("rounds.sample_weights", np.float64, (len(errors), None))
        if not np.all((kept >= 0) & (kept <= 1 + _ROUNDING)):
            raise ModelFormatError("the weights of the rows are not from 0 to 1")
        model.sample_weights_ = kept
    return len(errors)
