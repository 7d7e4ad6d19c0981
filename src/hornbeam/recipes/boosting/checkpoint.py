"""What a boosting fit saves on disk between rounds, so that it can continue after the process has died.

In: the trees so far and the scores of the rounds. Out: the same, in a later process. The file is replaced as
a whole, so it always holds the state after some round. A digest of the targets, weights, bins and settings
says which fit it belongs to. Draws depend on the key of the fit and the number of the round, and scores are
sums of trees, so the rounds that follow are those of an uninterrupted fit, bit for bit.
"""

import hashlib
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.streams.code_file import CodeFileError, CodeWriter, read_arrays
from hornbeam.data.table import Schema
from hornbeam.model import TREE_ARRAYS, tree_from_arrays, tree_to_arrays
from hornbeam.recipes.boosting.boost import BoostSettings, BoostTarget
from hornbeam.recipes.boosting.losses import OwnLoss
from hornbeam.recipes.boosting.rounds import Watch

__all__ = ["Checkpoint", "Resumed", "digest_of"]

_NAME = "boosting.checkpoint"
_SHARE_OF_TIME = 20  # a file is written when this many times as long has passed as writing the last one took


@dataclass(frozen=True, eq=False)
class Resumed:
    """What earlier rounds have saved: their trees and their scores."""

    trees: tuple[_core.Tree, ...]
    train_scores: list[float]
    validation_scores: list[float]


def digest_of(encoded: Encoded, target: BoostTarget, settings: BoostSettings, plan: Any) -> str:
    """Digest what a fit depends on, besides its key."""
    assert not isinstance(target.loss, OwnLoss)  # a fit with a checkpoint refuses these at once
    digest = hashlib.sha256()
    for part in (_core.version, encoded.schema, settings, plan, target.loss, target.unit, encoded.n_rows):
        digest.update(repr(part).encode() + b"\0")
    for array in (target.core_y(), target.core_weights(), target.baseline, target.offset):
        digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    for feature in range(encoded.n_features):
        digest.update(encoded.codes.values(feature).tobytes() + bytes([encoded.codes.has_missing(feature)]))
    return digest.hexdigest()


class Checkpoint:
    """The file of a fit, in a folder that the user names."""

    def __init__(self, folder: Any) -> None:
        self._path = Path(folder) / _NAME
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._written = -np.inf
        self._took = 0.0
        self._facts: dict[str, Any] | None = None
        self._arrays: dict[str, npt.NDArray[Any]] = {}
        for dead in self._path.parent.glob(
            f".{_NAME}-*.tmp"
        ):  # left by a process that was killed while it wrote
            dead.unlink(missing_ok=True)
        if self._path.exists():
            self._facts, self._arrays = _checked(self._path)

    @property
    def key(self) -> int | None:
        """The key of the fit that was interrupted; None if there is none."""
        return None if self._facts is None else int(self._facts["key"])

    def resumed(self, digest: str, schema: Schema) -> Resumed | None:
        """Return what the fit has saved; refuse the file of another fit."""
        if self._facts is None:
            return None
        if self._facts["digest"] != digest:
            raise ValueError(
                f"{self._path} belongs to another fit: rows, settings or version differ. Give the same again "
                "to go on with it, give checkpoint another folder, or remove the file."
            )
        trees = _trees_from(self._arrays, self._facts["n_nodes"], schema)
        return Resumed(trees, list(self._facts["train_scores"]), list(self._facts["validation_scores"]))

    def write(self, watch: Watch, trees: Sequence[_core.Tree], key: int, digest: str) -> None:
        """Save the state after a round, unless one was saved a moment ago."""
        begun = time.monotonic()
        if begun - self._written < _SHARE_OF_TIME * self._took:
            return
        arrays = _arrays_of(trees)
        facts = {
            "key": key,
            "digest": digest,
            "n_nodes": [tree.node_count for tree in trees],
            "train_scores": watch.train_scores,
            "validation_scores": watch.validation_scores,
            "checksums": {name: zlib.crc32(array.tobytes()) for name, array in arrays.items()},
        }
        described = {name: (array.dtype, len(array)) for name, array in arrays.items()}
        with CodeWriter(self._path, facts, described) as file:
            for name, array in arrays.items():
                file.write(name, 0, array)
        self._written = time.monotonic()
        self._took = self._written - begun

    def remove(self) -> None:
        """Remove the file: the fit is complete."""
        self._arrays = {}
        self._path.unlink(missing_ok=True)


def _checked(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    try:
        facts, arrays = read_arrays(path)
        sums = facts.get("checksums", {})
        damaged = any(zlib.crc32(array.tobytes()) != sums.get(name) for name, array in arrays.items())
    except CodeFileError:
        damaged = True
    if damaged:
        raise CodeFileError(f"{path} is damaged, or no checkpoint of a fit. Remove it to begin anew.")
    return facts, arrays


def _arrays_of(trees: Sequence[_core.Tree]) -> dict[str, npt.NDArray[Any]]:
    """Concatenate the arrays of all trees; trees of boosting have no surrogates."""
    taken = [tree_to_arrays(tree) for tree in trees]
    arrays = {name: np.concatenate([each[name].ravel() for each in taken]) for name in TREE_ARRAYS}
    arrays["n_words"] = np.array([len(each["category_words"]) for each in taken], dtype=np.int64)
    return arrays


def _trees_from(
    arrays: dict[str, npt.NDArray[Any]], n_nodes: Sequence[int], schema: Schema
) -> tuple[_core.Tree, ...]:
    ends = np.cumsum(n_nodes)
    word_ends = np.cumsum(arrays["n_words"])
    parts = {
        name: np.split(arrays[name], (word_ends if name == "category_words" else ends)[:-1])
        for name in TREE_ARRAYS
    }
    return tuple(
        tree_from_arrays(
            {
                name: np.array(parts[name][number]).reshape((-1, 1, 1) if name == "value" else (-1,))
                for name in TREE_ARRAYS
            },
            schema,
        )
        for number in range(len(n_nodes))
    )
