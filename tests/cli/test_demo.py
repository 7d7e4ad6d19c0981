"""The demonstration runs, on its own data and on the user's, and says what it promises."""

import sys
import tempfile
from pathlib import Path

import pytest
from sklearn.datasets import load_iris

from hornbeam.cli import demo
from hornbeam.cli.main import run


@pytest.fixture(autouse=True)
def usual_window(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def test_demo_shows_a_tree_in_words_and_compares_the_family(capsys, monkeypatch):
    monkeypatch.setattr("hornbeam.selection.family.NAMES", ("baseline", "pruned-tree"))
    monkeypatch.setattr(demo, "show_report", lambda *_: None)  # takes a while; the next test has one
    assert run(["demo", "--time-budget", "60"]) == 0
    shown = capsys.readouterr().out
    assert "Patrons = Some -> Yes (4 rows, 100 %)" in shown
    assert "answer: Yes" in shown
    assert "Is a tumour malignant?" in shown and "How will diabetes progress?" in shown
    assert shown.count("Best is") == 2 and shown.count("baseline") >= 2
    assert "…" not in shown and max(map(len, shown.splitlines())) <= 80


def test_demo_takes_a_table_of_the_user(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("hornbeam.selection.family.NAMES", ("baseline", "tree"))
    X, y = load_iris(return_X_y=True, as_frame=True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data = tmp_path / "iris.csv"
    X.assign(kind=y).to_csv(data, index=False)
    assert run(["demo", "--data", str(data), "--target", "kind"]) == 0
    shown = capsys.readouterr().out
    assert "What tells kind?" in shown and "150 rows and 4 columns" in shown and "Best is tree" in shown
    report = next(line for line in shown.splitlines() if line.startswith("A report about tree: file://"))
    assert Path(report.partition("file://")[2].strip()).read_text().lower().startswith("<!doctype html>")


def test_demo_without_pandas_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert run(["demo"]) == 1
    assert "pip install hornbeam[frames]" in capsys.readouterr().err
