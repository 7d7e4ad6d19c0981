"""The `Ensemble` of an estimator, into a record and back; also without its statistics.

A model saved with `predict_only=True` is loaded as a `PredictOnlyEnsemble`. It predicts as before; asking its
trees for a number of rows, an impurity or a gain raises an AttributeError that says why there is none.
"""

from dataclasses import dataclass
from typing import Any, cast, get_args

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Unseen
from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_schema, write_schema
from hornbeam.io.tree_nodes import STATISTICS, WEIGHTS
from hornbeam.io.tree_reading import read_trees
from hornbeam.io.tree_writing import write_trees
from hornbeam.model import Ensemble

__all__ = ["PredictOnlyEnsemble", "StrippedTree", "read_ensemble", "write_ensemble"]


def write_ensemble(ensemble: Ensemble, writer: RecordWriter) -> None:
    """Put in an ensemble; the statistics of its trees only on request, and if they are known."""
    known = ensemble.known if isinstance(ensemble, PredictOnlyEnsemble) else STATISTICS
    keep_all = not writer.predict_only and known == STATISTICS
    weights_needed = ensemble.unseen == "majority" or ensemble.trees[0].gaps == "fractional"
    writer.facts["statistics"] = keep_all
    writer.facts["unseen"] = ensemble.unseen
    writer.facts["missing_allowed"] = ensemble.missing_allowed
    if ensemble.trees[0].gaps != "branch":
        writer.facts["gaps"] = ensemble.trees[0].gaps
    if ensemble.adds_to is not None:
        writer.put("trees.adds_to", ensemble.adds_to)
    write_schema(ensemble.schema, writer)
    write_trees(
        ensemble.trees,
        ensemble.schema,
        writer,
        known=known,
        needed=STATISTICS if keep_all else frozenset({WEIGHTS} if weights_needed else ()),
    )


def read_ensemble(reader: RecordReader) -> Ensemble:
    """Take out an ensemble, checked."""
    complete = reader.fact("statistics", bool)
    unseen: Any = reader.fact("unseen", str)
    if unseen not in get_args(Unseen):
        raise ModelFormatError(
            f"the fact 'unseen' is {unseen[:80]!r}, which this version of hornbeam does not know"
        )
    missing_allowed = reader.fact("missing_allowed", bool)
    schema = read_schema(reader)
    # Files of trees that send a row without a value down one branch do not mention it.
    gaps = reader.fact("gaps", str) if reader.has_fact("gaps") else "branch"
    if gaps not in ("branch", "fractional", "available"):
        raise ModelFormatError(
            f"the fact 'gaps' is {gaps[:80]!r}, which this version of hornbeam does not know"
        )
    trees, known = read_trees(reader, schema, gaps=gaps)
    if complete != (known == STATISTICS):
        raise ModelFormatError(
            "the statistics of the trees are incomplete, or there although the model says otherwise"
        )
    adds_to = _read_adds_to(reader, trees)
    if complete:
        return Ensemble(trees, schema, unseen, missing_allowed, adds_to)
    if unseen == "majority" and WEIGHTS not in known:
        raise ModelFormatError(
            "categories that are unseen go to the heavier branch, but the weights are missing"
        )
    if trees[0].gaps == "fractional" and WEIGHTS not in known:
        raise ModelFormatError("rows are shared out by the weights of the branches, but these are missing")
    return PredictOnlyEnsemble(_stripped(trees, known), schema, unseen, missing_allowed, adds_to, known)


def _read_adds_to(reader: RecordReader, trees: tuple[_core.Tree, ...]) -> npt.NDArray[np.int32] | None:
    """Take out which column of the score each tree adds to; every column has a tree."""
    if not reader.has("trees.adds_to"):
        return None
    adds_to = reader.take("trees.adds_to", np.int32, (len(trees),))
    columns = np.unique(adds_to)
    if not np.array_equal(columns, np.arange(len(columns))):
        raise ModelFormatError("the columns that the trees add to are not numbered 0, 1, 2, ... without gap")
    if any(tree.value.shape[1:] != (1, 1) for tree in trees):
        raise ModelFormatError("trees that take turns at the columns of a score have one value each")
    return adds_to


class StrippedTree:
    """A tree without some of its statistics; everything else is the tree's own."""

    def __init__(self, tree: _core.Tree, known: frozenset[str]) -> None:
        self._tree = tree
        self._known = known

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in STATISTICS - self._known:
            raise AttributeError(
                f"{name!r} is not known: the model was saved with slim=True or predict_only=True, which "
                "leaves out what the fit saw in each node. Save it without that to keep it."
            )
        return getattr(self._tree, name)


def _stripped(trees: tuple[_core.Tree, ...], known: frozenset[str]) -> tuple[Any, ...]:
    return tuple(StrippedTree(tree, known) for tree in trees)


@dataclass(frozen=True, eq=False)
class PredictOnlyEnsemble(Ensemble):
    """An ensemble whose trees lack all statistics except those that are `known`."""

    known: frozenset[str] = frozenset()

    @property
    def core_trees(self) -> tuple[_core.Tree, ...]:
        """The trees as the core knows them."""
        return tuple(tree._tree for tree in cast(tuple[StrippedTree, ...], self.trees))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle; damaged trees are refused, another version gives a warning."""
        super().__setstate__(state)
        vars(self).update(trees=_stripped(self.trees, self.known))
