"""Floating-point numbers of large ensembles in fewer than eight bytes each, without loss.

There are two ways, each used only if it is shorter than the numbers themselves:

    a list   of the different numbers, and for each its place there, in as few bytes as it takes. Leaves of
             one row have the targets of the fit, whatever the number of trees; thresholds of columns with few
             decimals are few.
    steps    to a number from one that follows from others: how many floating-point numbers away it is. Sums
             in another order are off by a few, so a byte is enough for most.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordWriter, TensorReader, TensorStream, narrowed

__all__ = ["Listed", "Steps", "open_numbers", "put_numbers", "put_steps", "size_of_steps", "steps", "walked"]

AnyArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_SAMPLE = 2**16  # a sample that shows whether there may be few distinct numbers
_SIGN = np.uint64(2**63)
_STEP_TYPES = tuple(map(np.dtype, ("i1", "i2", "i4")))


# ------------------------------------------------------------------------------------------------------------
# Lists


def put_numbers(writer: RecordWriter, name: str, numbers: FloatArray) -> int:
    """Store numbers, as places in a list if that is shorter; return how many bytes they take."""
    plain = narrowed(numbers)
    if _may_repeat(numbers):
        bits, places = np.unique(numbers.view(np.uint64), return_inverse=True)
        different = narrowed(bits.view(np.float64))
        n_bytes = _bytes_for(len(bits))
        if different.nbytes + n_bytes * len(numbers) < plain.nbytes:
            parts = [(places >> 8 * k & 255).astype(np.uint8) for k in range(n_bytes)]
            writer.put_as_is(f"{name}.of", different)
            writer.put_as_is(f"{name}.at", np.array(parts, dtype=np.uint8).reshape(n_bytes, len(numbers)))
            return int(different.nbytes) + n_bytes * len(numbers)
    writer.put_as_is(name, plain)
    return int(plain.nbytes)


def _bytes_for(count: int) -> int:
    """Return how many bytes a place in a list of this length takes: none in a list of one."""
    return -(-max(count - 1, 0).bit_length() // 8)


def _may_repeat(numbers: FloatArray) -> bool:
    """Estimate from a sample whether a number occurs at least twice on average, before all are sorted.

    Of m numbers drawn from n different ones, about m * m / 2n pairs are the same.
    """
    if len(numbers) <= 4 * _SAMPLE:
        return len(numbers) > 0
    some = np.unique(numbers[:: len(numbers) // _SAMPLE])
    drawn = len(numbers[:: len(numbers) // _SAMPLE])
    return (drawn - len(some)) * len(numbers) >= drawn * drawn


class Listed:
    """Numbers of a list, by their places, read from front to back."""

    def __init__(self, reader: TensorReader, name: str) -> None:
        self._different = reader.take(f"{name}.of", np.float64, (None,))
        self._parts = reader.take(f"{name}.at", np.uint8, (None, None))
        self._name = name
        self._position = 0
        if len(self._parts) != _bytes_for(len(self._different)) or not len(self._different):
            raise ModelFormatError(f"the tensor '{name}.at' has places of another size than its list needs")

    def __len__(self) -> int:
        return int(self._parts.shape[1])

    @property
    def n_bytes(self) -> int:
        """Size in the file, of the places."""
        return int(self._parts.nbytes)

    def next(self, count: int) -> FloatArray:
        """Read the next ones."""
        begin, self._position = self._position, self._position + count
        if self._position > len(self):
            raise ModelFormatError(f"the tensor '{self._name}.at' has {len(self)} entries, too few")
        places = np.zeros(count, dtype=np.intp)
        for k, part in enumerate(self._parts[:, begin : self._position]):
            places |= part.astype(np.intp) << 8 * k
        if count and int(places.max()) >= len(self._different):
            raise ModelFormatError(f"the tensor '{self._name}.at' names a place behind the list")
        found: FloatArray = self._different[places]
        return found

    def finish(self) -> None:
        """Refuse places that have not been read."""
        if self._position < len(self):
            raise ModelFormatError(f"the tensor '{self._name}.at' has {len(self)} entries, too many")


def open_numbers(reader: TensorReader, name: str) -> Listed | TensorStream:
    """Open numbers that `put_numbers` has kept."""
    if reader.has(f"{name}.of"):
        return Listed(reader, name)
    return reader.stream(name, np.float64)


# ------------------------------------------------------------------------------------------------------------
# Steps


def _place(numbers: FloatArray) -> npt.NDArray[np.uint64]:
    """Numbers as integers in the same order, neighbours one apart."""
    bits = np.ascontiguousarray(numbers).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def steps(follows: FloatArray, numbers: FloatArray) -> IntArray:
    """Count the steps from predicted numbers to the actual ones; they may wrap around."""
    return (_place(numbers) - _place(follows)).view(np.int64)


def walked(follows: FloatArray, ways: IntArray) -> FloatArray:
    """Take the steps."""
    places = _place(follows) + ways.view(np.uint64)
    return np.where(places & _SIGN, places & ~_SIGN, ~places).view(np.float64)


def _step_type(ways: IntArray) -> tuple[np.dtype[Any], int]:
    """Choose the type that takes fewest bytes; also return the steps too large for it, and the size."""
    sizes = []
    for dtype in _STEP_TYPES:
        n_far = int(np.count_nonzero(_is_far(ways, dtype)))
        sizes.append((dtype.itemsize * len(ways) + 8 * n_far, dtype))
    size, best = min(sizes, key=lambda pair: pair[0])
    return best, size


def _is_far(ways: IntArray, dtype: np.dtype[Any]) -> AnyArray:
    limits = np.iinfo(dtype)
    far: AnyArray = (ways <= limits.min) | (ways > limits.max)
    return far


def size_of_steps(ways: IntArray) -> int:
    """Return how many bytes they will take."""
    return _step_type(ways)[1]


def put_steps(writer: RecordWriter, name: str, ways: IntArray) -> None:
    """Store steps; those too large for the type go to a list, and its least number marks their places."""
    dtype, _ = _step_type(ways)
    far = _is_far(ways, dtype)
    writer.put_as_is(name, np.where(far, np.iinfo(dtype).min, ways).astype(dtype))
    writer.put(f"{name}.large", ways[far])


class Steps:
    """Steps, read from front to back."""

    def __init__(self, reader: TensorReader, name: str) -> None:
        stored = reader.take_as_is(name)
        if stored.dtype.newbyteorder("=") not in _STEP_TYPES or stored.ndim != 1:
            raise ModelFormatError(f"the tensor {name!r} does not hold steps")
        self._near = TensorStream(name, stored, stored.dtype)
        self._far = reader.stream(f"{name}.large", np.int64)
        self._escape = np.iinfo(stored.dtype).min

    @property
    def n_bytes(self) -> int:
        """Size in the file."""
        return self._near.n_bytes + self._far.n_bytes

    def next(self, count: int) -> IntArray:
        """Read the next ones."""
        ways: IntArray = self._near.next(count).astype(np.int64)
        far = np.flatnonzero(ways == self._escape)
        ways[far] = self._far.next(len(far))
        return ways

    def finish(self) -> None:
        """Refuse steps that have not been read."""
        self._near.finish()
        self._far.finish()
