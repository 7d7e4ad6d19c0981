"""Tables drawn for the laws of trees, as frames and in another order."""

import numpy as np
import pandas as pd
from reference.splits import is_categorical
from reference.tables import Table

STRUCTURE = ("first_child", "feature", "threshold", "category_begin", "category_words", "missing_branch")


def frame_of(columns: list[np.ndarray]) -> pd.DataFrame:
    """Numeric columns as they are, category codes as categories."""
    return pd.DataFrame(
        {
            f"x{j}": pd.Categorical.from_codes(column, [f"c{code}" for code in range(8)])
            if is_categorical(column)
            else column
            for j, column in enumerate(columns)
        }
    )


def reordered(table: Table, order: list[int]) -> Table:
    return Table(
        [column[order] for column in table.columns],
        table.y[order],
        None if table.weights is None else table.weights[order],
        table.n_classes,
    )
