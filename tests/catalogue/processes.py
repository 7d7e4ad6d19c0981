"""Scripts that run in a process of their own: for faults that could take the tests down with them."""

import subprocess
import sys

TIMEOUT_SECONDS = 60  # far more than any script needs; a hang must end


def run_script(script: str, *arguments: str, expect_exit: int = 0) -> subprocess.CompletedProcess[str]:
    """Run Python code to its end and return what it printed; any other exit than the expected one fails."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == expect_exit, f"exit code {done.returncode}:\n{done.stderr}"
    return done
