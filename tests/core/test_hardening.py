"""The built module is hardened: what a mistake in memory could be used for is out of reach."""

import shutil
import subprocess
import sys

import pytest

from hornbeam import _core

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not (shutil.which("nm") and shutil.which("readelf")),
    reason="reads the module with the tools of a Linux compiler",
)


def printed(*command: str) -> str:
    return subprocess.run([*command, _core.__file__], check=True, capture_output=True, text=True).stdout


def test_other_modules_see_only_what_python_looks_for() -> None:
    exported = {line.split()[-1] for line in printed("nm", "-D", "--defined-only").splitlines()}
    assert exported == {"PyInit__core"}


def test_tables_of_functions_are_read_only_once_loaded() -> None:
    assert "GNU_RELRO" in printed("readelf", "-lW")
    assert "BIND_NOW" in printed("readelf", "-dW")


def test_overwritten_return_addresses_stop_the_process() -> None:
    asked_for = printed("nm", "-D", "--undefined-only")
    assert "__stack_chk_fail" in asked_for or "__asan" in asked_for
