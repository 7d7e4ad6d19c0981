"""Passes the rounds of boosting on to callbacks of scikit-learn's kind (`sklearn.callback`, from 1.9 on).

A user attaches them with `set_callbacks`, or a meta-estimator hands its own down. To scikit-learn a fit is a
task and each round a task within it. To the rounds, this is one more callback (`recipes/boosting/rounds.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hornbeam.recipes.boosting.rounds import Round

__all__ = ["passed_on"]


@contextmanager
def passed_on(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Iterator[list[Any]]:
    """Begin and end the task of a fit; yields what the fit is to call between rounds, if there is anyone."""
    if not getattr(estimator, "_skl_callbacks", None):
        yield []
        return
    facts = {
        "estimator": estimator,
        "X": X,
        "y": y,
        "metadata": None if sample_weight is None else {"sample_weight": sample_weight},
    }
    context = estimator._init_callback_context(max_subtasks=estimator.n_estimators)
    context.call_on_fit_task_begin(**facts)
    yield [_RoundTasks(context, facts)]
    context.call_on_fit_task_end(**facts, reconstruction_attributes={})


class _RoundTasks:
    """Tells the callbacks of each round, and lets them end the fit."""

    def __init__(self, context: Any, facts: dict[str, Any]) -> None:
        self._context = context
        self._facts = facts
        self._task: Any = None

    def before_round(self, _: Round) -> None:
        self._task = self._context.subcontext(task_name="round")
        self._task.call_on_fit_task_begin(**self._facts)

    def after_round(self, after: Round) -> bool:
        return bool(
            self._task.call_on_fit_task_end(
                **self._facts,
                # A function: the model is made only for callbacks that want it.
                reconstruction_attributes=lambda: vars(after.model()),
            )
        )
