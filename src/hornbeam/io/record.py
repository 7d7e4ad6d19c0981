"""Arrays and plain values by name: what a codec puts in to save a model and takes out to load it.

A record has a description (an estimator's class, parameters, facts, children) and tensors. Children are the
records of estimators inside an estimator; all share one set of tensors, told apart by a prefix. Numbers are
stored in the smallest type that gives them back bit by bit. Reading is strict: what is requested must be
there in the right type and shape, and anything not requested is refused at the end.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError
from hornbeam.io.container import STORED_DTYPES, refuse_other_keys

__all__ = ["RecordReader", "RecordWriter", "TensorReader", "TensorStream", "narrowed", "same_bits"]

AnyArray = npt.NDArray[Any]
T = TypeVar("T")

_KEYS = {"estimator", "parameters", "facts", "children"}

_SMALL_INTEGERS = tuple(map(np.dtype, ("u1", "i1", "u2", "i2")))
_MIDDLE_INTEGERS = tuple(map(np.dtype, ("u4", "i4")))

# For each type, smaller types whose numbers it can hold, smallest first: the order in which they are tried.
_NARROWER: Mapping[np.dtype[Any], tuple[np.dtype[Any], ...]] = {
    np.dtype(np.bool_): (),
    np.dtype(np.uint8): (),
    np.dtype(np.int32): _SMALL_INTEGERS,
    np.dtype(np.uint32): (np.dtype("u1"), np.dtype("u2")),
    np.dtype(np.int64): (*_SMALL_INTEGERS, *_MIDDLE_INTEGERS),
    np.dtype(np.float64): (*_SMALL_INTEGERS, *_MIDDLE_INTEGERS, np.dtype("f4")),
}


def same_bits(one: AnyArray, other: AnyArray) -> bool:
    """Compare arrays by their bytes: 0.0 and -0.0 differ, a NaN equals itself."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return bool(np.array_equal(_bits_of(one), _bits_of(other)))


def _bits_of(array: AnyArray) -> AnyArray:
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))


def narrowed(array: AnyArray) -> AnyArray:
    """Return numbers in the smallest type that gives them back bit by bit."""
    for dtype in _NARROWER[array.dtype]:
        # Most types fail on the first few numbers already.
        if _holds(dtype, array[:256]) and _holds(dtype, array):
            return array.astype(dtype)
    return array


def _holds(dtype: np.dtype[Any], array: AnyArray) -> bool:
    # A number that does not fit is changed by the cast, which shows in the comparison.
    with np.errstate(all="ignore"):
        return same_bits(array.astype(dtype).astype(array.dtype), array)


def _widened(array: AnyArray, dtype: np.dtype[Any]) -> AnyArray:
    """Return the numbers in a type that holds them: the array itself if it can be used as it is."""
    if array.dtype == dtype and array.flags.aligned:
        return array
    # The reader refuses a signalling NaN; no warning of the processor is needed.
    with np.errstate(invalid="ignore"):
        return array.astype(dtype)


class RecordWriter:
    """The record of one estimator while it is written by its codec.

    With `predict_only`, codecs leave out what predictions do not need.
    """

    def __init__(
        self, *, predict_only: bool = False, tensors: dict[str, AnyArray] | None = None, prefix: str = ""
    ) -> None:
        self.predict_only = predict_only
        self.tensors: dict[str, AnyArray] = {} if tensors is None else tensors
        self.facts: dict[str, Any] = {}
        self._prefix = prefix
        self._children: dict[str, dict[str, Any]] = {}

    def put(self, name: str, array: AnyArray) -> None:
        """Store numbers in the smallest type that holds them; the reader knows which type they had."""
        self.put_as_is(name, narrowed(array))

    def put_as_is(self, name: str, array: AnyArray) -> None:
        """Store an array whose type is part of its meaning."""
        if array.dtype.newbyteorder("<") not in STORED_DTYPES:
            raise ValueError(
                f"A model file cannot hold {name} of dtype {array.dtype}; convert to a common dtype."
            )
        if self._prefix + name in self.tensors:
            raise ValueError(f"{self._prefix + name} is put into the record twice.")
        self.tensors[self._prefix + name] = array

    def put_texts(self, name: str, texts: Sequence[str]) -> None:
        """Store texts of any length and content, as UTF-8 end to end and the place where each ends."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self.put(f"{name}.utf8", np.frombuffer(b"".join(encoded), dtype=np.uint8))
        self.put(f"{name}.ends", np.cumsum([len(text) for text in encoded], dtype=np.int64))

    def tensors_so_far(self, name: str) -> AnyArray:
        """Return an array that was put in."""
        return self.tensors[self._prefix + name]

    def child(self, name: str) -> "RecordWriter":
        """Open a record inside this one; `keep_child` stores its description where the reader finds it."""
        return RecordWriter(
            predict_only=self.predict_only, tensors=self.tensors, prefix=f"{self._prefix}{name}."
        )

    def keep_child(self, name: str, description: dict[str, Any]) -> None:
        """Store the description of a child."""
        self._children[name] = description

    def reader(self) -> "TensorReader":
        """Return a reader of the tensors put in so far."""
        return TensorReader(dict(self.tensors), self._prefix)

    def description(self, estimator: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return all that is not an array."""
        return {
            "estimator": estimator,
            "parameters": dict(parameters),
            "facts": self.facts,
            "children": self._children,
        }


class TensorReader:
    """Tensors that can be taken once each, in the requested type and shape."""

    def __init__(self, tensors: dict[str, AnyArray], prefix: str = "") -> None:
        self._tensors = tensors
        self._prefix = prefix

    def has(self, name: str) -> bool:
        """Tell whether an optional tensor is there."""
        return self._prefix + name in self._tensors

    def take(self, name: str, dtype: npt.DTypeLike, shape: tuple[int | None, ...]) -> AnyArray:
        """Take numbers that were stored in `dtype` or a smaller type; None in `shape` means any length."""
        with np.errstate(invalid="ignore"):  # the caller refuses a signalling NaN
            return self._take_stored(name, np.dtype(dtype), shape).astype(dtype)

    def stream(self, name: str, dtype: npt.DTypeLike, *, n_dimensions: int = 1) -> "TensorStream":
        """Take numbers that were stored in `dtype` or a smaller type, to be read some at a time."""
        stored = self._take_stored(name, np.dtype(dtype), (None,) * n_dimensions)
        return TensorStream(self._prefix + name, stored, np.dtype(dtype))

    def _take_stored(self, name: str, wanted: np.dtype[Any], shape: tuple[int | None, ...]) -> AnyArray:
        array = self.take_as_is(name)
        if array.dtype.newbyteorder("=") not in (wanted, *_NARROWER[wanted]):
            raise ModelFormatError(
                f"the tensor {self._prefix + name!r} has dtype {array.dtype}, not {wanted}"
            )
        fits = len(shape) == array.ndim and all(
            expected in (None, found) for expected, found in zip(shape, array.shape, strict=True)
        )
        if not fits:
            wanted_shape = ["any" if length is None else length for length in shape]
            raise ModelFormatError(
                f"the tensor {self._prefix + name!r} has shape {list(array.shape)}, not {wanted_shape}"
            )
        return array

    def take_as_is(self, name: str) -> AnyArray:
        """Take an array whatever its type and shape."""
        if not self.has(name):
            raise ModelFormatError(f"the tensor {self._prefix + name!r} is missing")
        return self._tensors.pop(self._prefix + name)

    def take_texts(self, name: str) -> list[str]:
        """Take texts."""
        content = self.take(f"{name}.utf8", np.uint8, (None,)).tobytes()
        ends = self.take(f"{name}.ends", np.int64, (None,))
        starts = np.concatenate([np.zeros(1, dtype=np.int64), ends])[:-1]
        if np.any(ends < starts) or (int(ends[-1]) if ends.size else 0) != len(content):
            raise ModelFormatError(f"the ends of the texts {self._prefix + name!r} are not in order")
        try:
            return [
                content[start:end].decode("utf-8", "surrogatepass")
                for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
            ]
        except UnicodeDecodeError as error:
            raise ModelFormatError(
                f"a text of {self._prefix + name!r} is not UTF-8: {error.reason}"
            ) from None


class TensorStream:
    """A tensor that is read from front to back."""

    def __init__(self, name: str, stored: AnyArray, dtype: np.dtype[Any]) -> None:
        self._name = name
        self._stored = stored
        self._dtype = dtype
        self._position = 0

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def n_bytes(self) -> int:
        """Size in the file."""
        return int(self._stored.nbytes)

    def next(self, count: int) -> AnyArray:
        """Read the next entries."""
        begin, self._position = self._position, self._position + count
        if self._position > len(self):
            raise ModelFormatError(
                f"the tensor {self._name!r} has {len(self)} entries, too few for the trees"
            )
        return _widened(self._stored[begin : self._position], self._dtype)

    def finish(self) -> None:
        """Refuse entries that have not been read."""
        if self._position < len(self):
            raise ModelFormatError(
                f"the tensor {self._name!r} has {len(self)} entries, too many for the trees"
            )


class RecordReader(TensorReader):
    """The record of one estimator while it is read by its codec."""

    def __init__(self, description: Any, tensors: dict[str, AnyArray], prefix: str = "") -> None:
        super().__init__(tensors, prefix)
        what = f"the description of {prefix.rstrip('.')!r}" if prefix else "the description of the model"
        if not isinstance(description, dict):
            raise ModelFormatError(f"{what} is not a JSON object")
        refuse_other_keys(description, _KEYS, what)
        if not isinstance(description["estimator"], str):
            raise ModelFormatError(f"{what}: the name of the estimator is not a text")
        for part in ("parameters", "facts", "children"):
            if not isinstance(description[part], dict):
                raise ModelFormatError(f"{what}: its {part} are not a JSON object")
        self.estimator: str = description["estimator"]
        self.parameters: dict[str, Any] = description["parameters"]
        self._facts: dict[str, Any] = dict(description["facts"])
        self._children: dict[str, Any] = dict(description["children"])

    def fact(self, name: str, kind: type[T]) -> T:
        """Take a plain value of a type; a truth value is not a number."""
        if name not in self._facts:
            raise ModelFormatError(f"the fact {self._prefix + name!r} is missing")
        value = self._facts.pop(name)
        if type(value) is not kind:
            raise ModelFormatError(f"the fact {self._prefix + name!r} is not of type {kind.__name__}")
        return value

    def has_fact(self, name: str) -> bool:
        """Whether a plain value is there."""
        return name in self._facts

    def count(self, name: str) -> int:
        """Take a number of things, which may be 0."""
        value = self.fact(name, int)
        if value < 0:
            raise ModelFormatError(f"the fact {self._prefix + name!r} is {value}, a number of things")
        return value

    def child(self, name: str) -> "RecordReader":
        """Take a record inside this one."""
        if name not in self._children:
            raise ModelFormatError(f"the description of {self._prefix + name!r} is missing")
        return RecordReader(self._children.pop(name), self._tensors, f"{self._prefix}{name}.")

    def finish(self) -> None:
        """Refuse facts and children that have not been taken."""
        left = [*self._facts, *self._children]
        if left:
            raise ModelFormatError(f"the fact or child {(self._prefix + left[0])[:80]!r} is not known")
