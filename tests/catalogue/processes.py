"""Running the scripts: processes of their own, for faults that could take the tests down with them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).with_name("scripts")
TIMEOUT_SECONDS = 120  # far more than any script needs; a hang must end


def run_script(name: str, *arguments: str) -> dict[str, Any]:
    """Run a script to its end and return what it reports, a JSON object on the last line it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPTS / f"{name}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{name} ended with {done.returncode}:\n{done.stderr}"
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report
