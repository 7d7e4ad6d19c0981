"""The demonstration runs, and says what it promises."""

import sys

import pytest

from hornbeam.cli import demo


def test_demo_shows_two_trees_and_their_accuracy_beside_the_baseline(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    demo.main()
    shown = capsys.readouterr().out
    assert "Patrons = Some -> Yes (4 rows, 100 %)" in shown
    assert "answer: Yes" in shown
    assert "Is a tumour malignant?" in shown
    assert shown.count("majority baseline") == 2
    tree_scores = [line for line in shown.splitlines() if line.strip().startswith("tree")]
    assert len(tree_scores) == 3 and all(line.strip().endswith("%") for line in tree_scores)


def test_demo_without_pandas_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SystemExit, match=r"needs pandas.*pip install hornbeam\[frames\]"):
        demo.main()
