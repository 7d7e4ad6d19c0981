"""All trees of a model in a few flat tables, for programs that walk them: the exports to C and to Python.

    nodes      column, threshold, first, branches, missing, table, stand_begin, stand_end
    values     of the leaves, end to end
    tables     of branches by category: first that of unseen categories, then one per category
    stand_ins  column, threshold, low, table

`first` is the first child of a node, or the place of a leaf's values. `table` is -1 where numbers are
compared. A branch of -1 means: as if the value were missing.
"""

from dataclasses import dataclass

from hornbeam.exports.portable import PortableModel, PortableTree

__all__ = ["FlatModel", "FlatNode", "flatten"]

NO_TABLE = -1
AS_MISSING = -1

FlatNode = tuple[int, float, int, int, int, int, int, int]


@dataclass(frozen=True, eq=False)
class FlatModel:
    """The tables; `roots` has the first node of each tree."""

    nodes: list[FlatNode]
    values: list[float]
    tables: list[int]
    stand_ins: list[tuple[int, float, int, int]]
    roots: list[int]


def flatten(model: PortableModel) -> FlatModel:
    """Lay the trees of a model end to end."""
    flat = FlatModel([], [], [], [], [])
    places: dict[tuple[int, ...], int] = {}
    for tree in model.trees:
        flat.roots.append(len(flat.nodes))
        _add_tree(tree, flat, places)
    return flat


def _add_tree(tree: PortableTree, flat: FlatModel, places: dict[tuple[int, ...], int]) -> None:
    base = len(flat.nodes)
    values = tree.values.tolist()
    for node in range(tree.n_nodes):
        stand_begin = len(flat.stand_ins)
        if not tree.n_branches[node]:
            flat.nodes.append((0, 0.0, len(flat.values), 0, 0, NO_TABLE, stand_begin, stand_begin))
            flat.values.extend(values[node])
            continue
        table = NO_TABLE
        if node in tree.branch_of:
            unseen = tree.unseen_branch.get(node, AS_MISSING)
            table = _place(
                (unseen, *(unseen if b is None else b for b in tree.branch_of[node])), flat, places
            )
        for one in tree.stand_ins.get(node, ()):
            own = NO_TABLE
            if one.branch_of is not None:
                branches = [AS_MISSING if b is None else b for b in one.branch_of]
                own = _place((AS_MISSING, *branches), flat, places)
            flat.stand_ins.append((one.column, one.threshold or 0.0, one.low_branch, own))
        flat.nodes.append(
            (
                tree.column[node],
                0.0 if node in tree.branch_of else tree.threshold[node],
                base + tree.first_child[node],
                tree.n_branches[node],
                tree.missing_branch[node],
                table,
                stand_begin,
                len(flat.stand_ins),
            )
        )


def _place(table: tuple[int, ...], flat: FlatModel, places: dict[tuple[int, ...], int]) -> int:
    """Put a table at the end, unless there is one like it."""
    if table not in places:
        places[table] = len(flat.tables)
        flat.tables.extend(table)
    return places[table]
