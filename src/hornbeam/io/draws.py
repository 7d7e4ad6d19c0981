"""What a bag keeps besides its members: how rows were drawn, out-of-bag predictions, what `keep` asked for.

None of it is needed to predict, so a model saved with `predict_only=True` is loaded without it.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError
from hornbeam.estimators.forest.resampling import BagModel
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.params import MOST_DRAWS_PER_UNIT
from hornbeam.recipes.bag import BagPlan, GivenPlan
from hornbeam.recipes.uncertainty import LeafRows

__all__ = ["read_draws", "write_draws"]

AnyArray = npt.NDArray[Any]


def write_draws(bag: BagModel, writer: RecordWriter, *, needed: bool = False) -> None:
    """Put in how a bag has drawn its samples, and out-of-bag predictions; the fact `draws` lists the parts.

    With predict_only nothing is kept, unless the members need it to predict.
    """
    parts: dict[str, AnyArray] = {}
    if hasattr(bag, "_plan") and (needed or not writer.predict_only):
        parts = _draws(bag) if writer.predict_only else {**_draws(bag), **_answers(bag)}
    writer.facts["draws"] = list(parts)
    for name, array in parts.items():
        writer.put(name, array)
    if parts:
        writer.facts["key"] = bag._plan.key
        writer.facts["with_replacement"] = bag._plan.with_replacement
        writer.facts["n_rows"] = bag._plan.n_rows
        writer.facts["n_rows_given"] = bag._n_rows_given


def _draws(bag: BagModel) -> dict[str, AnyArray]:
    plan = bag._plan
    parts = {
        "draws.rows_given": (bag._rows_given, np.int64),
        "draws.rows": (plan.rows, np.uint32),
        "draws.unit_begin": (plan.unit_begin, np.int64),
        "draws.stratum_begin": (plan.stratum_begin, np.int64),
        "draws.draws_per_stratum": (plan.draws_per_stratum, np.int64),
        "draws.unit_weights": (plan.unit_weights, np.float64),
        "draws.given": (plan.given if isinstance(plan, GivenPlan) else None, np.uint32),
    }
    return {name: array.astype(dtype) for name, (array, dtype) in parts.items() if array is not None}


def _answers(bag: BagModel) -> dict[str, AnyArray]:
    known = vars(bag)
    shares = known.get("oob_decision_function_", [])
    by_output = shares if isinstance(shares, list) else [shares]
    parts = {
        "oob.curve": known.get("oob_curve_"),
        "oob.score": np.array([known["oob_score_"]]) if "oob_score_" in known else None,
        "oob.prediction": known.get("oob_prediction_"),
        "oob.errors": known.get("_oob_errors"),
        "in_bag": known.get("in_bag_"),
        **_leaf_rows(known.get("_leaf_rows")),
        **{f"oob.shares.{k}": share for k, share in enumerate(by_output)},
    }
    return {name: array for name, array in parts.items() if array is not None}


def _leaf_rows(kept: LeafRows | None) -> dict[str, AnyArray | None]:
    if kept is None:
        return {}
    return {f"leaf_rows.{field.name}": getattr(kept, field.name) for field in fields(kept)}


class _Parts:
    """The parts that a file claims to have; other parts are None."""

    def __init__(self, reader: RecordReader) -> None:
        self._reader = reader
        self._names = reader.fact("draws", list)

    def __bool__(self) -> bool:
        return bool(self._names)

    def take(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> Any:
        if name not in self._names:
            return None
        self._names.remove(name)
        return self._reader.take(name, dtype, shape)

    def finish(self) -> None:
        if self._names:
            raise ModelFormatError(f"the part {str(self._names[0])[:80]!r} of the draws is not known")


def read_draws(bag: BagModel, reader: RecordReader, *, n_members: int, n_classes: Sequence[int]) -> None:
    """Take out how a bag has drawn; `n_classes` has an entry per output, 0 for numbers."""
    parts = _Parts(reader)
    if not parts:
        return
    n_rows, n_given = reader.fact("n_rows", int), reader.fact("n_rows_given", int)
    rows_given = parts.take("draws.rows_given", np.int64, (n_rows,))
    if not 0 < n_rows <= n_given or (rows_given is None and n_rows != n_given):
        raise ModelFormatError("the numbers of rows that samples were drawn from do not agree")
    if rows_given is not None and not (
        rows_given[0] >= 0 and rows_given[-1] < n_given and np.all(np.diff(rows_given) > 0)
    ):
        raise ModelFormatError("the rows that samples were drawn from are not in order")
    bag._plan = _read_plan(reader, parts, n_rows, n_members, bag.max_samples)
    bag._n_rows_given = n_given
    bag._rows_given = rows_given
    vars(bag).update(_read_answers(parts, n_given, n_rows, n_members, n_classes))
    leaf_rows = _read_leaf_rows(bag, parts, n_rows, len(n_classes))
    if leaf_rows is not None:
        vars(bag)["_leaf_rows"] = leaf_rows
    parts.finish()


def _read_plan(
    reader: RecordReader, parts: _Parts, n_rows: int, n_members: int, max_samples: float | None
) -> BagPlan:
    given = parts.take("draws.given", np.uint32, (None, n_rows))
    names = ("unit_begin", "stratum_begin", "draws_per_stratum")
    units, strata, draws = (parts.take(f"draws.{name}", np.int64, (None,)) for name in names)
    if strata is None or draws is None:
        raise ModelFormatError("it is not said how many rows each sample has")
    if any(array is not None and array.size and array.min() < 0 for array in (units, strata, draws)):
        raise ModelFormatError("the units that samples were drawn from are not in order")
    most = max(n_rows, int(strata.max(initial=0))) + len(draws)
    if isinstance(max_samples, int):  # may exceed the number of rows if they are drawn with replacement
        most = max(most, min(max_samples, n_rows * MOST_DRAWS_PER_UNIT))
    if sum(draws.tolist()) > most:
        raise ModelFormatError(f"samples are drawn by more draws than the {n_rows} rows there are")
    plan = BagPlan(
        key=reader.fact("key", int),
        with_replacement=reader.fact("with_replacement", bool),
        n_rows=n_rows,
        rows=parts.take("draws.rows", np.uint32, (None,)),
        unit_begin=None if units is None else units.astype(np.uint64),
        stratum_begin=strata.astype(np.uint64),
        draws_per_stratum=draws.astype(np.uint64),
        unit_weights=parts.take("draws.unit_weights", np.float64, (None,)),
    )
    try:
        _ = plan.draws  # the core checks what it is to draw from
    except (ValueError, TypeError) as error:
        raise ModelFormatError(f"the samples cannot be drawn again: {error}") from None
    if given is not None:
        if len(given) < n_members:
            raise ModelFormatError(f"there are {len(given)} samples for {n_members} members")
        return GivenPlan.of_counts(given, plan.key)
    return plan


def _read_answers(
    parts: _Parts, n_rows: int, n_counted: int, n_members: int, n_classes: Sequence[int]
) -> dict[str, Any]:
    several = len(n_classes) > 1
    found = {"oob_curve_": parts.take("oob.curve", np.float64, (n_members,))}
    score = parts.take("oob.score", np.float64, (1,))
    found["oob_score_"] = None if score is None else float(score[0])
    found["_oob_errors"] = parts.take("oob.errors", np.float64, (n_counted, len(n_classes)))
    found["in_bag_"] = parts.take("in_bag", np.uint32, (n_rows, n_members))
    if n_classes[0] == 0:
        shape = (n_rows, len(n_classes)) if several else (n_rows,)
        found["oob_prediction_"] = parts.take("oob.prediction", np.float64, shape)
    else:
        shares = [parts.take(f"oob.shares.{k}", np.float64, (n_rows, n)) for k, n in enumerate(n_classes)]
        if all(share is not None for share in shares):
            found["oob_decision_function_"] = shares if several else shares[0]
    return {name: value for name, value in found.items() if value is not None}


def _read_leaf_rows(bag: Any, parts: _Parts, n_rows: int, n_outputs: int) -> LeafRows | None:
    rows = parts.take("leaf_rows.rows", np.uint32, (None,))
    if rows is None:
        return None
    counts = [tree.node_count for tree in bag._model.trees]
    tree_begin = parts.take("leaf_rows.tree_begin", np.int64, (len(counts) + 1,))
    node_begin = parts.take("leaf_rows.node_begin", np.int64, (sum(counts) + len(counts),))
    targets = parts.take("leaf_rows.targets", np.float64, (n_rows, n_outputs))
    weights = parts.take("leaf_rows.weights", np.float64, (n_rows,))
    if any(array is None for array in (tree_begin, node_begin, targets)) or (
        len(rows) and int(rows.max()) >= n_rows
    ):
        raise ModelFormatError("the rows of the leaves are incomplete, or rows that are not there")
    # Each tree has its rows, and each of its nodes some of them, one after the other.
    by_tree = np.split(node_begin, np.cumsum(counts)[:-1] + np.arange(1, len(counts)))
    sizes = np.diff(tree_begin)
    sound = tree_begin[0] == 0 and tree_begin[-1] == len(rows) and sizes.min() >= 0
    if not sound or any(
        begin[0] != 0 or begin[-1] != size or np.any(np.diff(begin) < 0)
        for begin, size in zip(by_tree, sizes, strict=True)
    ):
        raise ModelFormatError("the rows of the leaves do not lie one after the other")
    return LeafRows(rows, tree_begin, node_begin, targets, weights)
