"""Runs scikit-learn's own test files with our classes in the place of theirs: `make test-sklearn`.

The files come from the installed scikit-learn, and are copied into a folder where the names of its trees,
forests, bags and AdaBoost mean ours. Counted are the tests that use a class of ours and ask for nothing
private of scikit-learn (`PRIVATE` names those that do). Out comes, per file, how many of them pass, and for
the others the first line of what each says. Two kinds are marked: tests that pass if errors and warnings may
be worded differently, as long as they are of the kind that is expected, and (by draw) tests that
scikit-learn's own classes fail, too, in at least one of three runs in which `random_state` draws other
numbers.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import sklearn

WIDE = {**os.environ, "COLUMNS": "300"}  # else pytest cuts what tests say
# What each file's tests ask for that is private to scikit-learn, by the test.
PRIVATE = {
    "tree/tests/test_tree.py": {
        "test_realloc": "its memory functions",
        "test_criterion_copy": "its compiled criteria",
        "test_splitter_serializable": "its compiled splitters",
        "test_check_n_classes": "a check of its compiled tree",
        "test_check_value_ndarray": "a check of its compiled tree",
        "test_check_node_ndarray": "a check of its compiled tree",
        "test_build_pruned_tree_py": "a function of its compiled tree",
        "test_build_pruned_tree_infinite_loop": "a function of its compiled tree",
        "test_absolute_errors_precomputation_function": "a function of its compiled criteria",
    },
    "ensemble/tests/test_forest.py": {
        "test_forest_multioutput_integral_regression_target": "_generate_unsampled_indices, its own draws",
        "test_validate_y_class_weight": "_validate_y_class_weight",
        "test_class_weights_forest": "_sample_weight, an attribute that its fit leaves behind",
        "test_oob_not_computed_twice": "_set_oob_score_and_attributes",
        "test_max_samples_geq_one": "_n_samples_bootstrap",
        "test_mse_criterion_object_segfault_smoke_test": "a compiled criterion, given as criterion",
    },
    "ensemble/tests/test_bagging.py": {
        "test_max_samples_consistency": "_max_samples",
    },
    "ensemble/tests/test_weight_boosting.py": {},
    "tree/tests/test_export.py": {},
}
# What the folder's tests see: our classes under scikit-learn's names, and its fixtures. Each test says
# whether it has used a class of ours.
CONFTEST = """
import os

import matplotlib
import pytest
import sklearn.ensemble
import sklearn.inspection
import sklearn.tree
from sklearn.utils import check_random_state

import hornbeam as hb

matplotlib.use("Agg")
used = []


def noted(kind, name):
    method = getattr(kind, name)

    def wrapper(self, *args, **kwargs):
        used.append(kind)
        return method(self, *args, **kwargs)

    wrapper.__wrapped__ = method  # for those who ask for its parameters
    return wrapper


if "OTHER_DRAWS" in os.environ:  # scikit-learn's own classes, with other random numbers
    for module in (sklearn.tree._classes, sklearn.ensemble._base):
        module.check_random_state = lambda seed: check_random_state(
            seed + int(os.environ["OTHER_DRAWS"]) if isinstance(seed, int) else seed
        )
else:
    for home in (sklearn.tree, sklearn.ensemble):
        for name in home.__all__:
            if hasattr(hb, name) and not name.startswith(("Gradient", "Stacking")):
                kind = getattr(hb, name)
                setattr(home, name, kind)
                for method in ("__init__", "fit"):
                    setattr(kind, method, noted(kind, method))

if "WORDS_MAY_DIFFER" in os.environ:
    for way in ("raises", "warns"):
        checked = getattr(pytest, way)
        setattr(pytest, way, lambda *a, _checked=checked, match=None, **k: _checked(*a, **k))


def given_to(item):  # the case in brackets
    return item.callspec.params.values() if hasattr(item, "callspec") else ()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    used.clear()
    used.extend(given for given in given_to(item) if type(given).__module__.startswith("hornbeam."))
    yield
    if used:
        with open("used.txt", "a") as names:
            names.write(item.nodeid + "\\n")


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

Test = tuple[str, str]  # the test's name, and the case in brackets


def main() -> None:
    """Run all files and print what came out."""
    home = Path(sklearn.__file__).parent
    print(f"scikit-learn {sklearn.__version__}, its tests with hornbeam's classes")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "conftest.py").write_text(CONFTEST, encoding="utf-8")
        for name, private in PRIVATE.items():
            copy = Path(folder) / Path(name).name
            copy.write_bytes((home / name).read_bytes())
            report(copy, private)


def report(path: Path, private: dict[str, str]) -> None:
    """Run one file and print its counts and reasons."""
    outcomes = outcomes_of(path)
    used = tests_that_use_ours(path)
    counted = {test for test in used if test[0] not in private}
    passed = passed_of(outcomes) & counted
    rest = counted - passed
    in_other_words = passed_of(outcomes_of(path, rest, WORDS_MAY_DIFFER="1"))
    by_draw = {
        test
        for seed in ("1", "2", "3")
        for test in rest - passed_of(outcomes_of(path, rest, OTHER_DRAWS=seed))
    }
    n = len(counted)
    print(
        f"\n{path.name}: {len(passed)} of {n} pass, {len(passed) / max(1, n):.1%}; "
        f"{len(in_other_words)} more in other words, {len(by_draw)} by draw. "
        f"{len(used) - n} ask for private parts, {len(outcomes) - len(used)} use no class of ours."
    )
    reasons = Counter(
        (
            test[0],
            ("(in other words) " if test in in_other_words else "")
            + ("(by draw) " if test in by_draw else "")
            + (outcomes[test][1].strip() or "-"),
        )
        for test in rest
    )
    for (name, reason), count in sorted(reasons.items()):
        print(f"  {count:3} {name}: {reason[:120]}")
    for name in sorted({test[0] for test in used} & private.keys()):
        print(f"  private: {name}: {private[name]}")


def outcomes_of(
    path: Path, tests: set[Test] | None = None, **environment: str
) -> dict[Test, tuple[str, str]]:
    """Run all tests of a file, or some; return how each went and, where it did not pass, what it says."""
    options = "-q -n 0 -p no:randomly -p no:cacheprovider -W ignore --tb=no -rA -c /dev/null --rootdir=."
    chosen = [path.name] if tests is None else [f"{path.name}::{name}{case}" for name, case in sorted(tests)]
    command = [sys.executable, "-m", "pytest", *chosen, *options.split()]
    (path.parent / "used.txt").write_text("", encoding="utf-8")
    ran = subprocess.run(
        command, cwd=path.parent, capture_output=True, text=True, check=False, env=WIDE | environment
    )
    return {(name, case): (outcome, reason) for outcome, name, case, reason in OUTCOME.findall(ran.stdout)}


def passed_of(outcomes: dict[Test, tuple[str, str]]) -> set[Test]:
    """Return the tests that passed."""
    return {test for test, (outcome, _) in outcomes.items() if outcome == "PASSED"}


def tests_that_use_ours(path: Path) -> set[Test]:
    """Return the tests of the last run that made or fitted an estimator of ours."""
    names = (path.parent / "used.txt").read_text(encoding="utf-8").splitlines()
    found = (re.fullmatch(r".*?::(\w+)(\[.*\])?", name) for name in names)
    return {(match[1], match[2] or "") for match in found if match}


if __name__ == "__main__":
    main()
