"""What every test may use: the hypothesis profiles, the shared data sets, smaller instruction sets.

`shared_data("iris")` reads one of the real tables that are kept beside the repository, not in it. They are
looked for in the folder named by HORNBEAM_SHARED_DATA, else in `../shared/data` as seen from the repository.
Without that folder the tests that need it are skipped; with it, a name it does not hold is an error, so that
a misspelt name cannot hide a test.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

REPOSITORY = Path(__file__).resolve().parent.parent

# No deadline: the machines that run the tests are shared, so the time of one example says little. On the
# build server the examples are the same in every run, so that red means the change, not the draw.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")


def shared_data_folder() -> Path:
    """Return the folder of the shared tables; a folder named by hand must exist."""
    named = os.environ.get("HORNBEAM_SHARED_DATA")
    if named is None:
        return REPOSITORY.parent / "shared" / "data"
    if not Path(named).is_dir():
        raise NotADirectoryError(f"HORNBEAM_SHARED_DATA names {named!r}, which is not a folder.")
    return Path(named)


def read_shared_table(folder: Path, name: str, **options: Any) -> pd.DataFrame:
    """Read `name.csv` or `name.csv.gz`; only the empty cell is missing: NA and None are real levels."""
    candidates = [folder / f"{name}.csv", folder / f"{name}.csv.gz"]
    for path in candidates:
        if path.is_file():
            return pd.read_csv(path, keep_default_na=False, na_values=[""], **options)
    raise FileNotFoundError(f"No shared table {name!r}: looked for {' and '.join(map(str, candidates))}.")


@pytest.fixture(scope="session")
def shared_data() -> Callable[..., pd.DataFrame]:
    """Give a function that reads a shared table by name; more keyword arguments go to `pandas.read_csv`."""
    folder = shared_data_folder()
    if not folder.is_dir():
        pytest.skip(f"no folder {folder} with the shared data sets; HORNBEAM_SHARED_DATA can name another")

    def read(name: str, **options: Any) -> pd.DataFrame:
        return read_shared_table(folder, name, **options)

    return read


@pytest.fixture
def run_with_instructions() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python with the kernels of a smaller instruction set: they are chosen once per process."""

    def run(instructions: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            env={**os.environ, "HORNBEAM_INSTRUCTIONS": instructions},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Libraries that take their threads from the environment would use all cores, which other tests need."""
    with threadpool_limits(1):
        yield
