"""Row 86: fork before, during and after a fit; spawn; forkserver."""

from typing import Any

import pytest

from catalogue.processes import run_script


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    return run_script("forks")


def test_row_86_fork_before_the_first_fit(seen: dict[str, Any]) -> None:
    assert seen["before"] is True


def test_row_86_fork_after_a_fit(seen: dict[str, Any]) -> None:
    assert seen["after"] == [True] * 30
    assert seen["grandchild"] is True
    assert seen["parent_works_on"] is True


def test_row_86_fork_while_another_thread_fits(seen: dict[str, Any]) -> None:
    assert seen["during"] == [True] * 16  # the children, and the thread itself


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_row_86_other_start_methods(seen: dict[str, Any], method: str) -> None:
    assert seen[method] is True
