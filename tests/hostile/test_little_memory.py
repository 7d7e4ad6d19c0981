"""Limits of address space; for more of them: `python -m hostile.little_memory --limits 40` from tests/."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="counts on how glibc takes memory")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="the sanitizer reserves more addresses than any limit")
@pytest.mark.parametrize("work", ["n_jobs=2", "save|load|report"])
def test_too_little_memory_is_said_and_nothing_else_happens(work: str) -> None:
    swept = subprocess.run(
        [sys.executable, "-m", "hostile.little_memory", "--limits", "2", "--rows", "2000", "--of", work],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert swept.returncode == 0, swept.stdout + swept.stderr
    assert " refused\n" in swept.stdout
