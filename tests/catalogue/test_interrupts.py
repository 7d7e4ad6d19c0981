"""Rows 83 and 84: Ctrl-C during a fit and a prediction, the host's own handler, signals to other threads."""

from typing import Any

import pytest

from catalogue.processes import run_script

PROMPT_SECONDS = 2.0  # half a second is the aim; the machines that run the tests are shared


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    return run_script("interrupts")


def assert_prompt(*interrupts: dict[str, Any]) -> None:
    assert interrupts
    assert not any(one["too_late"] for one in interrupts)
    assert max(one["seconds"] for one in interrupts) < PROMPT_SECONDS


def test_row_83_interrupted_fit(seen: dict[str, Any]) -> None:
    assert_prompt(*seen["fits"])


def test_row_83_interrupted_predict(seen: dict[str, Any]) -> None:
    assert_prompt(*seen["predictions"])


def test_row_83_the_estimator_stays_unfitted_or_unchanged(seen: dict[str, Any]) -> None:
    assert seen["unfitted"] == [True] * 8
    assert seen["unchanged"] == [True] * 4


def test_row_83_the_pool_works_on(seen: dict[str, Any]) -> None:
    assert seen["fit_after"] is True


def test_row_84_the_handler_of_the_host_is_called_and_kept(seen: dict[str, Any]) -> None:
    assert_prompt(seen["host_raises"])
    assert seen["host_raises"]["calls"] == [True, True]  # in the main thread, as Python promises
    assert seen["host_raises"]["kept"] is True


def test_row_84_a_handler_that_does_not_raise_does_not_stop_the_fit(seen: dict[str, Any]) -> None:
    assert seen["host_takes_note"] == {"noted": True, "whole": True}


def test_row_84_signal_to_a_thread_of_the_pool(seen: dict[str, Any]) -> None:
    if seen["pool"] is None:
        pytest.skip("how to signal one thread of the system is known to this test on x86_64 only")
    assert seen["pool"]["n_signalled"] == 1
    assert_prompt(seen["pool"])


def test_row_84_signal_while_another_thread_fits(seen: dict[str, Any]) -> None:
    assert_prompt(seen["other_thread"])
    assert seen["other_thread"]["whole"] is True


def test_row_83_everything_long_can_be_interrupted() -> None:
    """Forests of a million tiny trees, rounds of microseconds, long questions: each by one thread and two."""
    seen = run_script("interrupts_everywhere")
    assert len(seen) == 52
    slow = {name: one for name, one in seen.items() if one["too_late"] or one["seconds"] > PROMPT_SECONDS}
    assert not slow
