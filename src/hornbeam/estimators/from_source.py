"""`fit(source, target=...)`: makes an encoded table from files or a stream, and fits on that.

The codes are kept in a temporary file, which is removed however the fit ends; with `checkpoint` they are in
that folder until the fit is complete.
"""

import shutil
import time
from pathlib import Path
from typing import Any, TypeVar

from sklearn.base import is_classifier

from hornbeam.data.streams.blocks import fingerprint_of
from hornbeam.data.streams.code_file import CodeFileError
from hornbeam.data.streams.encoded_table import EncodedTable, Progress
from hornbeam.data.streams.scratch import scratch_folder
from hornbeam.data.target import CodedLabels
from hornbeam.data.wording import shown
from hornbeam.estimators.memory_needed import make_do
from hornbeam.memory import parse_bytes
from hornbeam.recipes.listen import Listener, listening

__all__ = ["fit_from_source", "progress_to", "with_own_target"]

Estimator = TypeVar("Estimator")

_NAMED = ("sample_weight", "offset", "groups")


def with_own_target(X: Any, y: Any, **beside: Any) -> tuple[Any, ...]:
    """Return y and what else belongs to the rows; an encoded table brings its own if y is not given."""
    if not isinstance(X, EncodedTable) or y is not None:
        return (y, *beside.values())
    unused = [name for name in _NAMED if name not in beside and getattr(X, name) is not None]
    if unused:
        raise ValueError(
            f"The table was encoded with {unused[0]}, which this estimator does not take. Make it again "
            "without it, or give y to leave it out: fit(table, table.y)."
        )
    return (X.y, *(getattr(X, name) if given is None else given for name, given in beside.items()))


def fit_from_source(
    estimator: Estimator,
    source: Any,
    *,
    target: Any,
    max_memory: Any,
    y: Any,
    checkpoint: Any = None,
    **options: Any,
) -> Estimator:
    """Encode a source into a temporary file and fit on that; `options` are those of `fit`."""
    if y is not None:
        raise TypeError("fit takes y or target=, not both: target names the column of the source.")
    if not isinstance(target, str):
        raise TypeError(f"target must be the name of a column of the source; got {target!r}.")
    max_bins = getattr(estimator, "max_bins", None)
    if max_bins is None:
        raise ValueError(
            "A fit from files or a stream takes bins; max_bins=None would keep all distinct values. Set "
            "max_bins, for example to 255."
        )
    named = {name: options.pop(name, None) for name in _NAMED}
    for name, given in named.items():
        if given is not None and not isinstance(given, str):
            raise TypeError(f"With target= the {name} must be the name of a column, too; got {type(given)}.")
    if max_memory is not None:
        parse_bytes(max_memory)
    with scratch_folder("hornbeam-") as temporary:
        # A fit with a checkpoint keeps its codes, too, since reading takes long.
        place = Path(temporary if checkpoint is None else checkpoint) / "table.codes"
        _remove_litter(place)
        encoded = _kept(place, source, {"target": target, **named}, max_bins)
        if encoded is None:
            place.parent.mkdir(parents=True, exist_ok=True)
            with listening(getattr(estimator, "verbose", 0), "Reading") as listener:
                encoded = EncodedTable.make(
                    source,
                    place,
                    target=target,
                    max_bins=max_bins,
                    categorical_features=getattr(estimator, "categorical_features", "from_dtype"),
                    max_memory=max_memory,
                    progress=progress_to(listener),
                    **named,
                )
        if isinstance(encoded.y, CodedLabels) and not is_classifier(estimator):
            raise ValueError(
                f"target={target!r} is a column of texts, such as {shown(encoded.y.distinct[0])}, and "
                f"{type(estimator).__name__} predicts numbers. Use a classifier, or make it a column of "
                "numbers."
            )
        make_do(estimator, encoded, max_memory, place.parent)
        for name in _NAMED:
            if getattr(encoded, name) is not None:
                options[name] = getattr(encoded, name)
        options["checkpoint"] = checkpoint
        given_options = {name: value for name, value in options.items() if value is not None}
        fitted: Any = estimator
        fitted.fit(encoded, encoded.y, **given_options)
        place.unlink(missing_ok=True)
        return estimator


def _remove_litter(place: Path) -> None:
    """Remove what a process that was killed while reading has left beside its codes."""
    for dead in place.parent.glob(f".{place.name}-*.tmp"):
        dead.unlink(missing_ok=True)
    for folder in place.parent.glob(".hornbeam-*"):
        shutil.rmtree(folder, ignore_errors=True)


def _kept(place: Path, source: Any, roles: dict[str, str | None], max_bins: int) -> EncodedTable | None:
    """Return the codes that an interrupted fit has left, if they are of the same files, read the same way."""
    if not place.exists():
        return None
    try:
        found = EncodedTable.open(place)
    except CodeFileError:
        return None
    given = {role: name for role, name in roles.items() if name is not None}
    same = found.fingerprint is not None and found.fingerprint == fingerprint_of(source)
    return found if same and found.roles == given and found.max_bins == max_bins else None


def progress_to(listener: Listener) -> Progress:
    """Return a function that reports how many rows have been read, in two passes, and how fast."""
    begun = time.monotonic()
    passes: list[str] = []

    def tell(what: str, done: int, in_all: int) -> None:
        if what not in passes:
            passes.append(what)
            listener.expect(2 * in_all)
        read = (len(passes) - 1) * in_all + done
        rate = read / max(1e-9, time.monotonic() - begun)
        listener.done(read, f"{what}, {rate:,.0f} rows/s")

    return tell
