"""Our trees as scikit-learn's: what `tree_` is, and how scikit-learn's tools recognise our estimators.

A tree whose tests are all thresholds can be written as a `sklearn.tree._tree.Tree`, and then `tree_` is one,
with its arrays, `apply`, `decision_path` and the rest, so that plot_tree, export_text, dtreeviz, supertree
and shap accept our models. It also has what our trees know beyond that (`gain`, `missing_branch`, ...). Nodes
are numbered our way, breadth-first. Tests on categories have no counterpart there; `tree_` is then our own
tree, whose arrays have the same names.
"""

import functools
import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from typing import Any

import numpy as np

from hornbeam import _core

__all__ = ["partial_dependence", "scikit_tree", "take_for"]


def scikit_tree(tree: Any, *, n_features: int, n_classes: Sequence[int]) -> Any:
    """Return a tree as scikit-learn's kind, or unchanged if scikit-learn cannot represent it.

    `n_classes` has a number per output: 1 for real targets.
    """
    if not isinstance(
        tree, _core.Tree
    ):  # saved with predict_only=True: much of what scikit-learn shows is gone
        return tree
    if not np.isin(tree.n_branches, (0, 2)).all() or (tree.category_begin >= 0).any():
        return tree
    made = _class()(n_features, np.array(n_classes, dtype=np.intp), tree.n_outputs)
    made._ours = tree
    made.__setstate__(
        {
            "max_depth": tree.max_depth,
            "node_count": tree.node_count,
            "nodes": _nodes(tree),
            "values": np.array(tree.value, dtype=np.float64, order="C"),
        }
    )
    return made


def _nodes(tree: _core.Tree) -> Any:
    """Write the nodes as scikit-learn's records."""
    nodes = np.zeros(tree.node_count, dtype=importlib.import_module("sklearn.tree._tree").NODE_DTYPE)
    nodes["left_child"] = tree.children_left
    nodes["right_child"] = tree.children_right
    for name in ("feature", "threshold", "impurity", "n_node_samples", "weighted_n_node_samples"):
        nodes[name] = getattr(tree, name)
    if "missing_go_to_left" in (nodes.dtype.names or ()):
        nodes["missing_go_to_left"] = (tree.missing_branch == 0) & (tree.n_branches > 0)
    return nodes


@functools.cache
def _class() -> Any:
    """Make the class on first use: importing scikit-learn's trees takes a while."""
    base: Any = importlib.import_module("sklearn.tree._tree").Tree

    class Tree(base):  # type: ignore[misc]
        """scikit-learn's tree, with what ours knows beyond it."""

        def __getattr__(self, name: str) -> Any:
            ours = vars(self).get("_ours")
            if ours is None or name.startswith("__"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(ours, name)

        def __dir__(self) -> list[str]:
            return sorted({*super().__dir__(), *dir(vars(self).get("_ours"))})

    return Tree


def partial_dependence(members: Sequence[Any], grid: Any, features: Any) -> Any:
    """Average predictions over other columns as the fit saw them; `sklearn.inspection` calls this."""
    points = np.asarray(grid, dtype=np.float32, order="C")
    total = np.zeros(len(points))
    for member in members:
        if not hasattr(member.tree_, "compute_partial_dependence"):
            raise ValueError(
                "The quick way of partial dependence knows no tests on categories; ask for method='brute', "
                "or see effect(X, column)."
            )
        one = np.zeros(len(points))
        member.tree_.compute_partial_dependence(points, np.asarray(features, dtype=np.intp), one)
        total += one
    return total / len(members)


# --- Whose kind our estimators are -----------------------------------------------------------------------


def take_for(module: str, cls: type) -> None:
    """Make `isinstance` take a class of ours for scikit-learn's class of the same name.

    Its module is not imported for that: the class is registered when somebody else imports it.
    """
    if module in sys.modules:
        getattr(sys.modules[module], cls.__name__).register(cls)
    else:
        _Waiting.of(module).classes.append(cls)


class _Waiting(MetaPathFinder):
    """Intercepts the import of one module, once."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.classes: list[type] = []

    @staticmethod
    def of(module: str) -> "_Waiting":
        for finder in sys.meta_path:
            if isinstance(finder, _Waiting) and finder.module == module:
                return finder
        made = _Waiting(module)
        sys.meta_path.insert(0, made)
        return made

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Find the module as usual, and register our class once it is loaded."""
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        spec = find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_tell(module: Any) -> None:
            execute(module)
            for cls in self.classes:
                getattr(module, cls.__name__).register(cls)

        spec.loader.exec_module = execute_and_tell  # type: ignore[method-assign]
        return spec
