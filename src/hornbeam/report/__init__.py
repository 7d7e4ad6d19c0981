"""A report: one self-contained HTML page about a fitted model.

`facts.py` collects the facts, `charts.py` draws it, `viewer.py` lays out the trees, and `page.py`
puts everything into the page. The page carries its own style, script and data, fetches nothing, and has a
content policy that would not let it.
"""

import numbers
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hornbeam.io.native import Path

__all__ = ["report"]


def report(
    model: Any,
    X: Any,
    y: Any,
    path: "Path",
    *,
    X_train: Any = None,
    y_train: Any = None,
    cv: int | None = 5,
    target_name: str | None = None,
    title: str | None = None,
    random_state: int = 0,
) -> str:
    """Write a report about a fitted model as one HTML page; return the path.

    y is the target of the rows, or the name of its column in a frame X. The page shows the data, the score
    against a baseline with its error bar, the errors, calibration, a learning curve, which columns matter and
    how, and the trees, to be explored. It is self-contained: no network, no other file. Any classifier or
    regressor works; trees are shown if they are ours.

    Scores must not come from rows that the model was fitted on. With `X_train` and `y_train`, the rows of the
    fit, the model is judged on X and y as it is. Without them, X and y are assumed to be the rows of the fit:
    each row is judged by a copy of the model fitted to other rows, in `cv` folds. `cv=None` says that X and y
    are new to the model and judges it on them.
    """
    if cv is not None and (isinstance(cv, bool) or not isinstance(cv, numbers.Integral) or cv < 2):
        raise ValueError(f"cv must be a whole number >= 2 or None; got {cv!r}.")
    # Files, charts and templates take a while to import; a fit needs none of them.
    from hornbeam.data.target_columns import table_and_target  # noqa: PLC0415
    from hornbeam.io.files import text_of_path, write_whole  # noqa: PLC0415
    from hornbeam.report.facts import gather  # noqa: PLC0415
    from hornbeam.report.page import page_of  # noqa: PLC0415

    place = text_of_path(path)
    X, y = table_and_target(X, y)
    X_train, y_train = table_and_target(X_train, y_train)
    facts = gather(
        model, X, y, X_train=X_train, y_train=y_train, cv=cv, target_name=target_name, seed=int(random_state)
    )
    write_whole(place, [page_of(facts, title=title).encode("utf-8")])
    return place
