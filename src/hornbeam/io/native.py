"""`save` and `load`: one file per model, safe to load from an untrusted source.

A model file is data. Loading it opens that one file and imports and runs nothing. A file that is damaged,
crafted to do harm, or not a model file at all is refused with `ModelFormatError` before any of it is used.
Saving replaces a file whole or not at all. docs/model-format.md describes the bytes.
"""

import os
from io import BufferedIOBase
from typing import Any

from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.table import shown
from hornbeam.declare import view_of
from hornbeam.errors import ModelFormatError
from hornbeam.io.codec import read_estimator, require_model, write_estimator
from hornbeam.io.container import Contents, pack, read
from hornbeam.io.files import open_regular, text_of_path, write_whole
from hornbeam.io.record import RecordReader, RecordWriter

__all__ = ["load", "load_with_notes", "packed", "read_model", "save"]

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def save(model: Any, path: Path, *, predict_only: bool = False, slim: bool = False) -> None:
    """Save a fitted estimator; by custom the name of the file ends in `.hornbeam`.

    The file is replaced as a whole or not at all, and is on the disk when `save` returns. The same model
    gives the same bytes: neither the time nor the number of threads is in the file.

    `predict_only=True` leaves out what the fit saw in each node (numbers of rows, impurities, gains), for a
    smaller file that reveals less about the training data. A model loaded from it predicts the same, and
    raises an error for anything that needs these, such as `feature_importances_`. `slim=True` is a shorter
    name for it.
    """
    write_whole(text_of_path(path), packed(model, predict_only=predict_only or slim))


def packed(
    model: Any, *, predict_only: bool = False, notes: dict[str, Any] | None = None
) -> list[bytes | memoryview]:
    """Return a fitted estimator as the pieces of its file; `notes` are plain values stored with it."""
    require_model(model)
    model = view_of(model)  # another thread may fit it again meanwhile
    check_is_fitted(model)
    writer = RecordWriter(predict_only=predict_only)
    document = write_estimator(model, writer)
    return pack(Contents(document, writer.tensors, _core.version, notes or {}))


def load(path: Path) -> Any:
    """Load an estimator written by `save`; its predictions equal those of the saved one, bit for bit.

    `ModelFormatError` says what is wrong with an invalid file, OSError why a file cannot be read. Parameters
    that do not affect the model, such as `n_jobs`, have their default values.
    """
    return load_with_notes(path)[0]


def load_with_notes(path: Path) -> tuple[Any, dict[str, Any]]:
    """Load an estimator and the notes stored with it; the caller must check the notes."""
    place = text_of_path(path)
    with open_regular(place) as (file, size):
        try:
            return _read_both(file, size)
        except ModelFormatError as error:
            raise ModelFormatError(f"{shown(place, limit=4096)}: {error}") from None


def read_model(file: BufferedIOBase, size: int) -> Any:
    """Read an estimator from a file that is open, of `size` bytes."""
    return _read_both(file, size)[0]


def _read_both(file: BufferedIOBase, size: int) -> tuple[Any, dict[str, Any]]:
    contents = read(file, size)
    model = read_estimator(RecordReader(contents.document, contents.tensors))
    if contents.tensors:
        raise ModelFormatError(f"the tensor {shown(next(iter(contents.tensors)))} is not known")
    return model, contents.notes
