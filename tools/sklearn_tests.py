"""Runs scikit-learn's own test files with our classes in the place of theirs: `make test-sklearn`.

The files come from the installed scikit-learn, and are copied into a folder where the names of its trees,
forests, bags and AdaBoost mean ours. Out comes, per file, how many tests pass, and of those that do not, the
first line of what each says. A test that looks for private parts of scikit-learn (names that begin with an
underscore, its compiled trees) is counted apart.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import sklearn

WIDE = {**os.environ, "COLUMNS": "300"}  # else pytest cuts what tests say
FILES = (
    "tree/tests/test_tree.py",
    "ensemble/tests/test_forest.py",
    "ensemble/tests/test_bagging.py",
    "ensemble/tests/test_weight_boosting.py",
    "tree/tests/test_export.py",
)
# What the folder's tests see: our classes under scikit-learn's names, and its fixtures.
CONFTEST = """
import matplotlib
import pytest
import sklearn.ensemble
import sklearn.inspection
import sklearn.tree

import hornbeam as hb

matplotlib.use("Agg")
for home in (sklearn.tree, sklearn.ensemble):
    for name in home.__all__:
        if hasattr(hb, name) and not name.startswith(("Gradient", "Stacking")):
            setattr(home, name, getattr(hb, name))


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def pyplot():
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")
"""
OUTCOME = re.compile(r"^(PASSED|FAILED|ERROR) \S+?::(\w+)(\[.*?\])?(?: - (.*))?$", re.MULTILINE)
PRIVATE = re.compile(r"\._[a-z]\w+|\b_[a-z]\w+\(|\bCRITERIA_|DENSE_SPLITTERS|SPARSE_SPLITTERS|NODE_DTYPE")


def private_tests(path: Path) -> set[str]:
    """Name the tests whose own text asks for private parts."""
    source = path.read_text(encoding="utf-8")
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            text = "\n".join(ast.get_source_segment(source, part) or "" for part in node.body)
            if PRIVATE.search(text):
                found.add(node.name)
    return found


def main() -> None:
    """Run all files and print what came out."""
    home = Path(sklearn.__file__).parent
    print(f"scikit-learn {sklearn.__version__}, its tests with hornbeam's classes")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        for name in FILES:
            copy = Path(folder) / Path(name).name
            copy.write_bytes((home / name).read_bytes())
            report(copy)


def report(path: Path) -> None:
    """Run one file and print its counts and reasons."""
    options = "-q -n 0 -p no:randomly -p no:cacheprovider -W ignore --tb=no -rA -c /dev/null --rootdir=."
    command = [sys.executable, "-m", "pytest", path.name, *options.split()]
    ran = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False, env=WIDE)
    outcomes = OUTCOME.findall(ran.stdout)
    private = private_tests(path)
    passed = sum(outcome == "PASSED" for outcome, *_ in outcomes)
    of_private = [outcome for outcome, name, *_ in outcomes if name in private]
    others = len(outcomes) - len(of_private)
    passed_others = passed - of_private.count("PASSED")
    share = passed_others / max(1, others)
    print(
        f"\n{path.name}: {passed} of {len(outcomes)} pass; without those that ask for private parts "
        f"{passed_others} of {others}, {share:.0%}"
    )
    reasons = Counter(
        (name, reason.strip() or "-")
        for outcome, name, _, reason in outcomes
        if outcome != "PASSED" and name not in private
    )
    for (name, reason), count in sorted(reasons.items()):
        print(f"  {count:3} {name}: {reason[:120]}")


if __name__ == "__main__":
    main()
