"""Growing asks for memory a few times per tree, not once per node: counted by a malloc that counts."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).with_name("scripts")
# The tree's lists double now and then; this many requests are more than that takes.
MOST_MORE_REQUESTS = 150
# A test on categories lists them for each branch: the tree keeps the lists, those of candidates come and go.
MOST_PER_NODE_WITH_LISTS = 10


def compiler() -> str | None:
    return next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="stands in front of glibc's malloc")
@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="the sanitizer's malloc comes first")
def test_a_larger_tree_does_not_ask_for_memory_more_often(tmp_path: Path) -> None:
    library = tmp_path / "counting_malloc.so"
    source = SCRIPTS / "counting_malloc.c"
    subprocess.run([str(compiler()), "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    done = subprocess.run(
        [sys.executable, SCRIPTS / "count_allocations.py"],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    for kind, counted in json.loads(done.stdout).items():
        small, large = counted["small"], counted["large"]
        more_nodes = large["nodes"] - small["nodes"]
        assert more_nodes > 1000, kind
        keeps_lists = kind.startswith("categories")
        most = MOST_PER_NODE_WITH_LISTS * more_nodes if keeps_lists else MOST_MORE_REQUESTS
        assert large["requests"] - small["requests"] < most, (kind, counted)
