"""Which branch each value takes at a test of a tree.

Values are as trees read them: numbers, NaN where there is none, or codes of categories.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import MISSING, UNSEEN
from hornbeam.model import Ensemble

__all__ = ["branches_at", "is_missing"]


def is_missing(model: Ensemble, feature: int, values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell which values are missing, or categories that the fit has not seen."""
    if model.schema.kinds[feature] == "numeric":
        return np.isnan(values.astype(np.float64))
    missing: npt.NDArray[np.bool_] = (values == MISSING) | (values == UNSEEN) | np.isnan(values)
    return missing


def branches_at(
    model: Ensemble, tree: _core.Tree, node: int, values: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """Return the branch that each value of a column takes at a node that tests it.

    A value that is missing takes the branch of the fit, whatever stands in for it or divides the row.
    """
    feature = int(tree.feature[node])
    is_known = ~is_missing(model, feature, values)
    branches = np.full(len(values), int(tree.missing_branch[node]), dtype=np.int64)
    if model.schema.kinds[feature] != "categorical":
        branches[is_known] = values[is_known] > tree.threshold[node]
        return branches
    of_category = tree.branches_of_categories(node, len(model.schema.categories[feature] or ()))
    branches[is_known] = of_category[values[is_known].astype(np.int64)]
    if model.unseen == "majority":
        first, n = int(tree.first_child[node]), int(tree.n_branches[node])
        branches[values == UNSEEN] = int(np.argmax(tree.weighted_n_node_samples[first : first + n]))
    return branches
