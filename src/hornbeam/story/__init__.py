"""A story: one HTML page that plays the learning of a fitted model back on the user's own table.

`material.py` reads the rows and chooses what is shown of them, one file per method makes its chapters as
plain values, and `page.py` puts these into the page. What moves on the page is computed in the browser by the
scripts in `templates/`; the page fetches nothing, and has a content policy that would not let it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hornbeam.io.native import Path

__all__ = ["story"]


def story(
    model: Any,
    X: Any,
    y: Any,
    path: "Path" = "story.html",
    *,
    columns: Sequence[Any] | None = None,
    X_val: Any = None,
    y_val: Any = None,
    max_rows: int = 300,
    target_name: str | None = None,
    title: str | None = None,
    random_state: int = 0,
) -> str:
    """Write a page that plays back, step by step, how a fitted model has learned; return the path.

    X and y are the rows of the fit: a model keeps no data; y may be the name of its column in a frame X. A
    tree grows node by node, with what every column would have gained, and is pruned along its path; a forest
    or bag draws its samples and votes; AdaBoost changes the weights of rows; gradient boosting works on its
    residuals; neighbours are searched in the browser; a stack passes on out-of-fold answers. A quiz hides the
    next step and asks for it.

    The page holds at most `max_rows` rows, drawn by `random_state`. Pictures of two columns show `columns`,
    by name or number; without them, the two that matter most. `X_val` and `y_val` judge the pruned trees;
    without them, cross-validation does.
    """
    # Files and templates take a while to import; a fit needs none of them.
    from hornbeam.data.target_columns import table_and_target  # noqa: PLC0415
    from hornbeam.io.files import text_of_path, write_whole  # noqa: PLC0415
    from hornbeam.story.material import collect  # noqa: PLC0415
    from hornbeam.story.page import page_of  # noqa: PLC0415

    place = text_of_path(path)
    X, y = table_and_target(X, y)
    material = collect(
        model,
        X,
        y,
        columns=columns,
        validation=table_and_target(X_val, y_val),
        max_rows=max_rows,
        target_name=target_name,
        seed=random_state,
    )
    write_whole(place, [page_of(material, title=title).encode("utf-8")])
    return place
