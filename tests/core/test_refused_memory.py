"""Memory that cannot be had: requests of the core are refused in turn, and all it says is MemoryError."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).with_name("scripts")
# Requests of each piece of work, spread over all; 0: all of them, which takes minutes.
MOST = os.environ.get("HORNBEAM_REFUSALS", "12")


def compiler() -> str | None:
    return next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="stands in front of glibc's malloc")
@pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="the sanitizer's malloc comes first")
def test_every_request_may_be_refused(tmp_path: Path) -> None:
    """The answer without refusals comes after each, too: nothing is left half done."""
    library = tmp_path / "failing_memory.so"
    source = SCRIPTS / "failing_memory.cpp"
    subprocess.run(
        [str(compiler()), "-shared", "-fPIC", "-O1", "-std=c++17", "-o", library, source], check=True
    )
    done = subprocess.run(
        [sys.executable, SCRIPTS / "refused_memory.py", "--most", MOST],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"
    for work, (n_requests, n_refused) in json.loads(done.stdout).items():
        assert n_requests > 0, work
        assert n_refused > 0, work
