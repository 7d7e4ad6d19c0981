"""`hb.best`: the best model of the family for a table and its target."""

from typing import Any

import numpy as np

from hornbeam.data.sources import refuse_no_table
from hornbeam.data.target_columns import table_and_target
from hornbeam.data.task import Task, task_of
from hornbeam.declare.kinds import shown
from hornbeam.estimators.blend import BlendClassifier, BlendRegressor

__all__ = ["best"]


def best(
    X: Any,
    y: Any,
    *,
    task: Task | None = None,
    time_budget: float | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> BlendClassifier | BlendRegressor:
    """Fit the best model of the family: boosting, forests, neighbours and a linear model, blended.

    y is the target of the rows, or the name of its column in a frame X. Returns one fitted estimator: the
    weighted mean of those members that help, with weights found by rows they had not seen. `members_` has a
    record of each; `verdict_` says in words how good it is and whether a single small tree would be enough.
    `task` is decided by y if left out. `time_budget` is in seconds; members that are not finished by then are
    left out. Rows of equal `groups` are never divided between training and judging.
    """
    refuse_no_table(X)
    if np.ndim(X) == 1 and np.ndim(y) == 2:
        raise ValueError("The table comes first: best(X, y). X has one dimension here, and y has two.")
    if time_budget is not None and not time_budget > 0:
        raise ValueError(
            f"time_budget must be a number of seconds above 0, or None; got {shown(time_budget)}."
        )
    X, y = table_and_target(X, y)
    kind = BlendClassifier if (task or task_of(y)) == "classification" else BlendRegressor
    model = kind(time_budget=time_budget, random_state=random_state, n_jobs=n_jobs, verbose=int(verbose))
    return model.fit(X, y, sample_weight, groups=groups)
