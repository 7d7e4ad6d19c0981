"""Checks on the project itself: its habits, its version, what it imports, whether the README is true."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import hornbeam

REPOSITORY = Path(__file__).resolve().parent.parent

# Names that say nothing about what lives in a file.
EMPTY_NAMES = {"util", "utils", "common", "misc", "helper", "helpers", "manager", "managers"}

# Imports hornbeam as if the heavy optional packages were not installed; prints who asked for one of them.
IMPORT_WITHOUT_OPTIONAL_PACKAGES = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name in {"pandas", "polars", "pyarrow", "matplotlib"}:
            frame = sys._getframe(1)
            while "importlib" in frame.f_code.co_filename:
                frame = frame.f_back
            print(frame.f_globals["__name__"], name)
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, NotInstalled())
import hornbeam
"""

# A folder of one machine. Written so that this line is not a match itself.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home)(?=/)")


def project_files(*suffixes: str) -> list[Path]:
    """List the files git tracks or would track; with suffixes, only files that end in one of them."""
    if not (REPOSITORY / ".git").exists():
        pytest.skip("not a git checkout: which files belong to the project is not known")
    # The owner of a checkout on a build server is often not the user who runs the tests.
    git = ["git", "-c", "safe.directory=*"]
    command = [*git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout
    names = [name for name in listing.split("\0") if name.endswith(suffixes or "")]
    files = [REPOSITORY / name for name in names if (REPOSITORY / name).is_file()]
    assert files, f"git lists no project files{f' that end in {suffixes}' if suffixes else ''}"
    return files


def relative(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def is_silent_about_itself(path: Path) -> bool:
    return not ast.get_docstring(ast.parse(path.read_bytes(), filename=str(path)))


def in_fresh_interpreter(code: str) -> str:
    """Run code in a new Python, warnings as errors, and return what it printed."""
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], check=False, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_every_python_file_opens_with_a_docstring() -> None:
    silent = [relative(path) for path in project_files(".py") if is_silent_about_itself(path)]
    assert not silent, f"say at the top of the file what lives there: {silent}"


def test_no_file_or_folder_has_an_empty_name() -> None:
    code = project_files(".py", ".pyi", ".h", ".cpp")
    named_badly = [
        relative(path)
        for path in code
        if EMPTY_NAMES & {part.split(".")[0].lstrip("_") for part in path.relative_to(REPOSITORY).parts}
    ]
    assert not named_badly, f"name the subject instead: {named_badly}"


def test_no_text_file_holds_a_path_of_one_machine() -> None:
    found = []
    for path in project_files():
        content = path.read_bytes()
        if b"\0" in content:  # not text
            continue
        lines = content.decode("utf-8").splitlines()
        found += [
            f"{relative(path)}:{number}" for number, line in enumerate(lines, 1) if MACHINE_PATH.search(line)
        ]
    assert not found, f"a path that exists on one machine only: {found}"


def test_version_is_the_same_everywhere() -> None:
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    declared = pyproject["project"]["version"]
    assert hornbeam.__version__ == declared
    assert version("hornbeam") == declared


def test_import_leaves_optional_packages_alone() -> None:
    imports = in_fresh_interpreter(IMPORT_WITHOUT_OPTIONAL_PACKAGES).splitlines()
    # scikit-learn imports pandas where it finds it; that is not ours to change.
    ours = [line for line in imports if not line.startswith("sklearn.")]
    assert not ours, f"importing hornbeam asks for an optional package (importer, package): {ours}"


def test_the_example_of_the_readme_prints_what_it_says() -> None:
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", readme, flags=re.DOTALL)
    assert len(examples) == readme.count("```python") > 0, "an example should show what it prints"
    for example, output in examples:
        assert in_fresh_interpreter(example).strip() == output.strip()
