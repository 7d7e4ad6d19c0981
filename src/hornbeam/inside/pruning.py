"""What pruning did, as tables to read: the cuts one by one, and the nested trees with their errors."""

from typing import Any

import numpy as np

from hornbeam._optional import require
from hornbeam.recipes.prune import AsIfLeaves, PruningRecord

__all__ = ["candidates_frame", "pruning_log_frame", "pruning_table_frame"]


def pruning_log_frame(record: PruningRecord) -> Any:
    """Return a row per cut, in order: the node (as numbered before pruning), its test, errors around it."""
    pandas = require("pandas", purpose="The pruning log")
    log = record.log
    return pandas.DataFrame(
        {
            "node": log.node,
            "test": list(record.tests),
            "nodes_removed": log.nodes_removed,
            "error_before": log.error_before,
            "error_after": log.error_after,
        }
    )


def pruning_table_frame(record: PruningRecord) -> Any:
    """Return a row per nested tree, the whole one first; `chosen` marks the one that was taken."""
    pandas = require("pandas", purpose="The pruning table")
    table = record.table
    if table is None:
        raise AttributeError(
            "There is no table of nested trees: it comes from prune='cost_complexity', in fit or in pruned()."
        )
    return pandas.DataFrame(
        {
            "alpha": table.alpha,
            "leaves": table.leaves,
            "cost": table.cost,
            "error": table.error,
            "standard_error": table.standard_error,
            "chosen": np.arange(len(table.alpha)) == table.chosen,
        }
    )


def candidates_frame(found: AsIfLeaves, tests: list[str]) -> Any:
    """Return a row per node with a test: its error on validation rows, and that of a leaf in its place."""
    pandas = require("pandas", purpose="The table of nodes to prune")
    return pandas.DataFrame(
        {
            "node": found.node,
            "test": tests,
            "validation_rows": found.weight,
            "cost_as_branch": found.cost_as_branch,
            "cost_as_leaf": found.cost_as_leaf,
            "error_now": found.error,
            "error_if_leaf": found.error_if_leaf,
        }
    )
