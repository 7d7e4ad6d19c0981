"""Runs scikit-learn's own test files with our classes in the place of theirs: `make test-sklearn`.

The files come from the installed scikit-learn, and are copied into a folder where the names of its trees,
forests, bags and AdaBoost mean ours. Out comes, per file, how many tests pass, and of those that do not, the
first line of what each says. Two kinds are counted apart: tests that look for private parts of scikit-learn
(names that begin with an underscore, its compiled trees), and those that pass if errors and warnings may be
worded differently, as long as they are of the kind that is expected.
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
import os

import matplotlib
import pytest
import sklearn.ensemble
import sklearn.inspection
import sklearn.tree

import hornbeam as hb

matplotlib.use("Agg")
WORDS_MAY_DIFFER = "WORDS_MAY_DIFFER" in os.environ
for home in (sklearn.tree, sklearn.ensemble):
    for name in home.__all__:
        if hasattr(hb, name) and not name.startswith(("Gradient", "Stacking")):
            setattr(home, name, getattr(hb, name))

if WORDS_MAY_DIFFER:
    for way in ("raises", "warns"):
        checked = getattr(pytest, way)
        setattr(pytest, way, lambda *a, _checked=checked, match=None, **k: _checked(*a, **k))


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
    outcomes = outcomes_of(path, WIDE)
    private = private_tests(path)
    others = {test: outcome for test, outcome in outcomes.items() if test[0] not in private}
    passed = {test for test, (outcome, _) in outcomes.items() if outcome == "PASSED"}
    in_other_words = {
        test
        for test, (outcome, _) in outcomes_of(path, WIDE | {"WORDS_MAY_DIFFER": "1"}).items()
        if outcome == "PASSED"
    }
    n, n_passed, n_words = (
        len(others),
        len(passed & others.keys()),
        len((passed | in_other_words) & others.keys()),
    )
    print(
        f"\n{path.name}: {len(passed)} of {len(outcomes)} pass; without those that ask for private parts "
        f"{n_passed} of {n}, {n_passed / max(1, n):.0%}; {n_words}, {n_words / max(1, n):.0%}, in other words"
    )
    reasons = Counter(
        (test[0], ("(in other words) " if test in in_other_words else "") + (reason.strip() or "-"))
        for test, (outcome, reason) in others.items()
        if outcome != "PASSED"
    )
    for (name, reason), count in sorted(reasons.items()):
        print(f"  {count:3} {name}: {reason[:120]}")


def outcomes_of(path: Path, environment: dict[str, str]) -> dict[tuple[str, str], tuple[str, str]]:
    """Run one file; return the outcome of each test and, where it did not pass, what it says."""
    options = "-q -n 0 -p no:randomly -p no:cacheprovider -W ignore --tb=no -rA -c /dev/null --rootdir=."
    command = [sys.executable, "-m", "pytest", path.name, *options.split()]
    ran = subprocess.run(
        command, cwd=path.parent, capture_output=True, text=True, check=False, env=environment
    )
    found = OUTCOME.findall(ran.stdout)
    return {(name, case): (outcome, reason) for outcome, name, case, reason in found}


if __name__ == "__main__":
    main()
