"""Predictions for rows that a model has not seen, at the least cost.

Boosting that finds its own length has members that leave rows out, and so do the trees of forests: a single
fit is enough to predict these rows. All other models are fitted again on each fold, without the rows that
they then predict.
"""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from hornbeam.recipes.clock import Clock, OutOfTimeError
from hornbeam.recipes.stack import DealtRows, Member, Splits, StackData, fitted_and_asked
from hornbeam.warnings import OutOfBagWarning

__all__ = ["fitted_and_left_out", "leaves_rows_out"]

FloatArray = npt.NDArray[np.float64]

# Where estimators keep their members' predictions for rows that these have not seen.
_OWN_ANSWERS = (
    "oof_decision_function_",
    "oof_prediction_",
    "oob_decision_function_",
    "oob_prediction_",
)


def fitted_and_left_out(
    member: Member, table: DealtRows, data: StackData, splits: Splits, clock: Clock
) -> tuple[Any, FloatArray]:
    """Fit a member on all rows; return it, and predictions for all rows by models that have not seen them.

    Raise OutOfTimeError if the folds would take more time than is left.
    """
    everything = np.arange(len(data.y))
    before = clock.spent
    with warnings.catch_warnings():
        # It does not matter here if some rows are in the sample of every tree: others have predictions.
        warnings.simplefilter("ignore", OutOfBagWarning)
        model = fitted_and_asked(_keeping_answers(member), table, data, (everything, None), fold=None)
    own = _own_answers(model, len(data.y))
    if own is not None:
        return model, own
    if (clock.spent - before) * len(splits) > clock.left:
        raise OutOfTimeError
    answers: FloatArray = np.empty(0)
    for fold, (_, judged) in enumerate(splits):
        clock.check()
        found = fitted_and_asked(member, table, data, splits[fold], fold=fold)
        if not answers.size:
            answers = np.full((len(data.y), found.shape[1]), np.nan)
        answers[judged] = found
    return model, answers


def leaves_rows_out(estimator: Any) -> bool:
    """Whether a single fit of an estimator can predict rows that some of its members have not seen."""
    parameters = estimator.get_params(deep=False)
    if "n_members" in parameters:
        asks_for_members = parameters["early_stopping"] is True and parameters["n_members"] != "auto"
        return parameters["n_estimators"] == "auto" or asks_for_members
    return bool(parameters.get("bootstrap")) and "oob_score" in parameters


def _keeping_answers(member: Member) -> Member:
    """Ask forests to keep their out-of-bag predictions."""
    parameters = member.estimator.get_params(deep=False)
    if not (parameters.get("bootstrap") and "oob_score" in parameters):
        return member
    estimator = clone(member.estimator).set_params(oob_score=True)
    return Member(member.name, estimator, member.method, member.shares_reading)


def _own_answers(model: Any, n_rows: int) -> FloatArray | None:
    for name in _OWN_ANSWERS:
        found = getattr(model, name, None)
        if found is not None:
            return np.asarray(found, dtype=np.float64).reshape(n_rows, -1)
    return None
