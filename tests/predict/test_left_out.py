"""Answers of the members that have not seen a training row, ranked and counted: against the obvious loops."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import _core

# Rows are asked about 32 at a time, training rows are taken 64 at a time, and up to 600 values are ranked as
# they are; of more, every 64th shows where the rank lies if there are 64 times 128 of them. From 512 training
# rows and 4 rows asked about, rough answers come first.
SIZES = [1, 2, 63, 64, 65, 511, 512, 600, 601, 1300, 8191, 8192, 8193, 20_000]


def drawn(
    n_rows: int, n_members: int, n_training: int, seed: int, *, coarse: bool
) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    """Draw what members say, the members without each training row, and errors; coarse ones have ties."""
    rng = np.random.default_rng(seed)
    said, errors = rng.normal(size=(n_rows, n_members)), np.abs(rng.standard_cauchy(n_training))
    if coarse:
        said, errors = np.round(said), np.round(errors)
    if n_training > 1:
        errors[0] = 0.0
    left_out = rng.random((n_training, n_members)) < 0.4
    left_out[np.arange(n_training), rng.integers(0, n_members, n_training)] = True
    return said, [np.flatnonzero(row) for row in left_out], errors


def in_core(without: list[np.ndarray]) -> dict[str, Any]:
    begin = np.concatenate([[0], np.cumsum([len(members) for members in without])])
    return {"begin": begin.astype(np.int64), "members": np.concatenate(without).astype(np.uint32)}


def answers_of(said: np.ndarray, without: list[np.ndarray]) -> np.ndarray:
    """Rows x training rows, added up in the order of the members: the same bits."""
    answers = np.empty((len(said), len(without)))
    for i, members in enumerate(without):
        total = np.zeros(len(said))
        for member in members:
            total = total + said[:, member]
        answers[:, i] = total / len(members)
    return answers


@given(
    st.sampled_from([1, 3, 4, 31, 32, 33]),
    st.integers(1, 12) | st.sampled_from([31, 32, 33, 100]),
    st.sampled_from(SIZES[:-1]) | st.integers(1, 700),
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.floats(0, 1),
    st.sampled_from([1, 2]),
)
@settings(max_examples=40, deadline=None)
def test_ranks_equal_those_of_a_sorted_list(
    n_rows: int, n_members: int, n_training: int, seed: int, coarse: bool, share: float, n_threads: int
) -> None:
    said, without, errors = drawn(n_rows, n_members, n_training, seed, coarse=coarse)
    low = 1 + int(share * (n_training - 1))
    high = n_training + 1 - low
    found = _core.bounds_without(
        said, **in_core(without), errors=errors, low_rank=low, high_rank=high, n_threads=n_threads
    )
    answers = answers_of(said, without)
    assert np.array_equal(found[:, 0], np.sort(answers - errors, axis=1)[:, low - 1])
    assert np.array_equal(found[:, 1], np.sort(answers + errors, axis=1)[:, high - 1])


# Rough sums are bytes of groups of four members, at most 65,000 in all: of up to 254 groups each may have
# 255. Of more than 65,536 members there are no rough answers.
@pytest.mark.parametrize("n_members", [1012, 1016, 1020, 1024, 65_536, 65_537])
def test_members_that_rough_answers_have_room_for(n_members: int) -> None:
    said, without, errors = drawn(4, n_members, 520, n_members, coarse=False)
    if n_members < 2000:
        said = np.sign(said)  # every group as wide as the widest
    answers = answers_of(said, [members[:40] for members in without])
    without = [members[:40] for members in without]
    for rank in (1, 52, 260, 519):
        found = _core.bounds_without(
            said, **in_core(without), errors=errors, low_rank=rank, high_rank=rank, n_threads=1
        )
        assert np.array_equal(found[:, 0], np.sort(answers - errors, axis=1)[:, rank - 1])
        assert np.array_equal(found[:, 1], np.sort(answers + errors, axis=1)[:, rank - 1])


@pytest.mark.parametrize("n_rows", [1, 4])
@pytest.mark.parametrize("order", ["ascending", "descending", "two values", "late"])
def test_values_whose_sample_misleads(order: str, n_rows: int) -> None:
    """One member: the answer is 0 and the bounds are the errors, in an order that no sample stands for."""
    n = 20_000
    errors = {
        "ascending": np.arange(n, dtype=float),
        "descending": np.arange(n, dtype=float)[::-1].copy(),
        "two values": np.repeat([1.0, 2.0], n // 2),
        "late": np.where(np.arange(n) % 64 == 0, 0.0, 1.0 + np.arange(n)),  # all that is looked at is 0
    }[order]
    sizes = {"begin": np.arange(n + 1, dtype=np.int64), "members": np.zeros(n, dtype=np.uint32)}
    for rank in (1, 2, n // 64 + 1, n // 10, n // 2, n - 1, n):
        found = _core.bounds_without(
            np.zeros((n_rows, 1)), **sizes, errors=errors, low_rank=rank, high_rank=rank, n_threads=1
        )
        assert found.tolist() == [[np.sort(-errors)[rank - 1], np.sort(errors)[rank - 1]]] * n_rows


@pytest.mark.parametrize("said_by", [1e-300, 1e-9, 1.0, 1e9, 1e200])
@pytest.mark.parametrize("wrong_by", [0.0, 1e-200, 1.0, 1e150])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_answers_and_errors_of_any_size(said_by: float, wrong_by: float, shift: float) -> None:
    """Rough answers are floats in units of their own: what does not fit there is found without them."""
    said, without, errors = drawn(8, 10, 700, 3, coarse=False)
    said, errors = (said + shift) * said_by, errors * wrong_by
    answers = answers_of(said, without)
    for rank in (1, 70, 350, 699):
        found = _core.bounds_without(
            said, **in_core(without), errors=errors, low_rank=rank, high_rank=rank, n_threads=1
        )
        assert np.array_equal(found[:, 0], np.sort(answers - errors, axis=1)[:, rank - 1])
        assert np.array_equal(found[:, 1], np.sort(answers + errors, axis=1)[:, rank - 1])
    counted = _core.smaller_errors_without(
        said, **in_core(without), errors=errors, tolerance=1e-9, n_threads=1
    )
    assert counted.tolist() == np.count_nonzero(errors < (1 - answers) - 1e-9, axis=1).tolist()


@given(
    st.sampled_from([1, 4, 32, 40]),
    st.integers(1, 9) | st.just(50),
    st.integers(1, 200) | st.sampled_from([511, 512, 3000]),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_counts_equal_the_loop(n_rows: int, n_members: int, n_training: int, seed: int, coarse: bool) -> None:
    said, without, errors = drawn(n_rows, n_members, n_training, seed, coarse=coarse)
    found = _core.smaller_errors_without(said, **in_core(without), errors=errors, tolerance=0.01, n_threads=2)
    own = 1 - answers_of(said, without)
    assert found.tolist() == np.count_nonzero(errors < own - 0.01, axis=1).tolist()


def sums_of_bounds() -> str:
    """Rows 0 to 32 and 1,301 training rows: some of each loop, and what is left after its whole steps."""
    said, without, errors = drawn(33, 29, 1301, 5, coarse=False)
    found = _core.bounds_without(
        said, **in_core(without), errors=errors, low_rank=130, high_rank=1171, n_threads=1
    )
    return found.tobytes().hex()


@pytest.mark.parametrize("instructions", ["baseline", "avx2"])
def test_smaller_instruction_sets_give_the_same_bits(instructions: str, run_with_instructions: Any) -> None:
    run = run_with_instructions(instructions, __file__)
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == sums_of_bounds()


@pytest.mark.parametrize("what", ["begin", "members", "seen by all", "rank", "no training rows"])
def test_the_border_refuses(what: str) -> None:
    given_: dict[str, Any] = {
        "begin": np.array([0, 1, 2], dtype=np.int64),
        "members": np.array([0, 1], dtype=np.uint32),
        "errors": np.ones(2),
        "low_rank": 1,
        "high_rank": 2,
        "n_threads": 1,
    }
    given_ |= {
        "begin": {"begin": np.array([0, 1, 3], dtype=np.int64)},
        "members": {"members": np.array([0, 2], dtype=np.uint32)},
        "seen by all": {"begin": np.array([0, 0, 2], dtype=np.int64)},
        "rank": {"low_rank": 0},
        "no training rows": {"begin": np.array([0], dtype=np.int64), "errors": np.ones(0)},
    }[what]
    with pytest.raises((ValueError, IndexError)):
        _core.bounds_without(np.zeros((3, 2)), **given_)


if __name__ == "__main__":
    print(sums_of_bounds())
