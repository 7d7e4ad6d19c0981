"""The course: every lecture runs, ends in exercises with folded answers, and becomes a notebook."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hornbeam.cli.main import run
from hornbeam.course import lectures, notebook_of, write_notebooks

BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
ANSWER = re.compile(r"<details markdown=\"1\"><summary>Answer</summary>\n\n.*?\n\n</details>", re.DOTALL)
LECTURES = [name for name in lectures() if name != "README"]

# Runs every lecture from top to bottom, answers included, each with names of its own: in one process, as
# importing everything eleven times takes longer than all lectures.
RUNNER = """
import sys, warnings
import matplotlib
matplotlib.use("Agg")
from matplotlib import pyplot
warnings.simplefilter("error")
for name in sys.argv[1:]:
    with open(name + ".py", encoding="utf-8") as file:
        code = compile(file.read(), name, "exec")
    exec(code, {"__name__": name})
    pyplot.close("all")
    print("done:", name)
"""


def test_every_lecture_runs(tmp_path):
    for name in LECTURES:
        (tmp_path / f"{name}.py").write_text("\n".join(BLOCK.findall(lectures()[name])), encoding="utf-8")
    (tmp_path / "runner.py").write_text(RUNNER, encoding="utf-8")
    result = subprocess.run(
        [sys.executable, "runner.py", *LECTURES],
        check=False,
        capture_output=True,
        text=True,
        timeout=250,
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^done: (\S+)$", result.stdout, re.MULTILINE) == LECTURES
    # The notes' own numbers, as the pages print them.
    for number in ("0.4591", "0.9729", "0.3487", "0.1667", "0.6667", "[0.3    0.2143 0.1364]"):
        assert number in result.stdout


@pytest.mark.parametrize("name", LECTURES)
def test_a_lecture_ends_in_exercises_with_folded_answers(name):
    page = lectures()[name]
    assert page.startswith("# ")
    last = page.split("\n## ")[-1]
    assert last.startswith("Exercises\n")
    n_exercises = len(re.findall(r"^\*\*\d\.\*\* ", last, re.MULTILINE))
    assert n_exercises >= 3 and len(ANSWER.findall(last)) == n_exercises


def test_the_contents_list_every_lecture():
    listed = re.findall(r"\]\((\S+)\.md\)", lectures()["README"])
    assert listed == LECTURES and len(LECTURES) >= 8


@pytest.mark.parametrize("name", LECTURES)
def test_a_notebook_has_the_code_of_its_page_and_keeps_answers_folded(name):
    page = lectures()[name]
    cells = notebook_of(page)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert code == [block.strip("\n") for block in BLOCK.findall(ANSWER.sub("", page))]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert text.count("<details") == page.count("<details") > 0
    assert not re.search(r"\]\([^)h]*\.md\)", text)
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_notebooks_are_valid(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install hornbeam[dev]")
    for path in write_notebooks(tmp_path):
        nbformat.validate(nbformat.read(path, as_version=4))


def test_the_command_writes_them_and_leaves_changed_ones_alone(tmp_path, capsys):
    folder = tmp_path / "course"
    assert run(["course", str(folder), "--no-open"]) == 0
    said = capsys.readouterr().out
    assert f"{len(LECTURES) + 1} notebooks written" in said and "To open them:" in said
    assert len(list(folder.glob("*.ipynb"))) == len(LECTURES) + 1
    assert run(["course", str(folder), "--no-open"]) == 0  # nothing of the reader's is lost
    first = folder / "01-first-tree.ipynb"
    notebook = json.loads(first.read_text(encoding="utf-8"))
    notebook["cells"][0]["source"] = ["mine"]
    first.write_text(json.dumps(notebook), encoding="utf-8")
    capsys.readouterr()
    assert run(["course", str(folder), "--no-open"]) == 1
    assert "01-first-tree.ipynb is there already" in capsys.readouterr().err
    assert run(["course", str(folder), "--no-open", "--force"]) == 0
    assert "mine" not in first.read_text(encoding="utf-8")


def test_the_documentation_shows_the_same_pages():
    docs = Path(__file__).resolve().parent.parent.parent / "docs" / "course"
    for name, page in lectures().items():
        assert (docs / f"{name}.md").read_text(encoding="utf-8") == page
