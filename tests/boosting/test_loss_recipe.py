"""The recipe for a loss in CONTRIBUTING.md, followed in a copy of the sources: what it names is enough."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("scripts") / "fit_log_cosh.py"
BUILD = REPOSITORY / "build" / Path(sys.prefix).name

# What is written before which line of which file.
LOSS_CLASS = '''
class LogCosh(Loss):
    """The logarithm of the hyperbolic cosine of the difference."""

    name: ClassVar[str] = "log_cosh"
    unit_of_scores: ClassVar[str] = "in units of the target"

    def baseline(self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None) -> FloatArray:
        return np.array([np.average(y if offset is None else y - offset[:, 0], weights=weights)])

    def row_losses(self, y: FloatArray, scores: FloatArray) -> FloatArray:
        return np.log(np.cosh(scores[:, 0] - y))


'''
ADDED = {
    "cpp/boost/losses.h": [
        ("#pragma once\n", "//   log_cosh        log(cosh(s - y))\n"),
        ("};\n\n// What the core knows of a loss", "  kLogCosh,\n"),
    ],
    "cpp/boost/losses.cpp": [
        ("};\nstatic_assert(", '    LossRow{LossKind::kLogCosh, "log_cosh", false, false},\n'),
        (
            "    case LossKind::kSquaredError:",
            """\
    case LossKind::kLogCosh:
      return for_rows(rows, gradients, hessians, [](double s, double y) {
        const double slope = std::tanh(s - y);
        return Pair{slope, 1.0 - slope * slope};
      });
""",
        ),
    ],
    "src/hornbeam/recipes/boosting/losses.py": [
        ("\n# --- A loss of the user's own", LOSS_CLASS),
        ("    SquaredError,\n    AbsoluteError,", "    LogCosh,\n"),
    ],
    "src/hornbeam/params/boosting.py": [('"huber", "quantile", "poisson"', '"log_cosh", ')],
}


def test_the_recipe_names_the_files_that_a_loss_touches() -> None:
    page = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    recipe = page.split("## Add a loss\n")[1].split("\n## ")[0]
    steps = recipe.split("\n1. ")[1].split("\n4. ")[0]  # then come tests and docs
    assert set(re.findall(r"`((?:cpp|src)/\S+)`", steps)) == set(ADDED)


def copy_with_loss(folder: Path) -> None:
    for name in ("cpp", "src"):
        ignored = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored, symlinks=True)
    for name, insertions in ADDED.items():
        path = folder / name
        text = path.read_text(encoding="utf-8")
        for before, new in insertions:
            assert text.count(before) == 1, f"{name}: {before!r} marks no single place"
            text = text.replace(before, new + before)
        path.write_text(text, encoding="utf-8")


def run(command: str) -> None:
    environment = {**os.environ, "LD_PRELOAD": ""}  # a sanitizer is for the core, not for the compiler
    done = subprocess.run(
        command, shell=True, cwd=BUILD, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stderr[-3000:]}"


def build_core(folder: Path) -> None:
    """Compile the one source that has changed, and link it before the core that is there.

    The loss is the last of its kind, so whatever else was compiled agrees about the others.
    """
    commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
    source = REPOSITORY / "cpp" / "boost" / "losses.cpp"
    command = next(entry["command"] for entry in commands if Path(entry["file"]) == source)
    place = re.search(r" -o (\S+)", command)
    assert place is not None
    run(command.replace(place[1], f"{folder}/losses.o").replace(f"{REPOSITORY}/cpp", f"{folder}/cpp"))

    ninja = Path(sys.prefix) / "bin" / "ninja"
    listed = subprocess.run(
        [ninja, "-C", BUILD, "-t", "commands"], capture_output=True, text=True, check=True
    )
    link = next(line for line in listed.stdout.splitlines() if re.search(r" -o _core\S+\.so ", line))
    name = re.search(r" -o (_core\S+\.so) ", link)
    assert name is not None
    link = link.replace(f" -o {name[1]} ", f" -o {folder}/src/hornbeam/{name[1]} {folder}/losses.o ")
    run(link)


@pytest.mark.skipif(
    not (BUILD / "compile_commands.json").exists(), reason="needs the folder in which the core was built"
)
def test_a_loss_is_added_by_following_the_recipe(tmp_path: Path) -> None:
    copy_with_loss(tmp_path)
    build_core(tmp_path)
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "src"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
