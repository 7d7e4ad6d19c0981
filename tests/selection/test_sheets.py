"""Tables in a terminal: every cell is there in full, whatever the width of the window."""

import re

import pytest

from hornbeam.selection.sheets import Sheet, as_text

TITLES = ["method", "accuracy", "± rows", "fit s", "log loss"]
ROWS = [
    ["extra-trees *", "0.9631", "0.0079", "0.028", "0.1179"],
    ["tree", "0.9209", "0.011", "8.3e-05", "2.85"],
]


@pytest.mark.parametrize("width", [28, 30, 40, 45, 60, 80, 200])
def test_no_cell_is_cut_and_no_line_is_too_long(width):
    lines = as_text(Sheet(TITLES, ROWS), width).splitlines()
    assert max(map(len, lines)) <= width
    shown = [cell for line in lines for cell in re.split(r" {2,}", line.strip()) if cell]
    blocks = shown.count("method")
    assert sorted(shown) == sorted(
        cell for row in [TITLES, *ROWS] for cell in [row[0]] * blocks + row[1:]
    )  # the first column once in each block, all else once


def test_a_wide_window_has_one_block_and_a_narrow_one_a_block_per_column():
    assert as_text(Sheet(TITLES, ROWS), 60).count("method") == 1
    assert as_text(Sheet(TITLES, ROWS), 24).count("method") == 4
    assert as_text(Sheet(TITLES, ROWS, n_keys=2), 36).count("accuracy") == 3


def test_a_window_narrower_than_a_number_folds_it():
    assert "…" not in as_text(Sheet(TITLES, ROWS), 12)
    digits = re.sub(r"\D", "", as_text(Sheet(["", "n"], [["", "123456789"]]), 5))
    assert digits == "123456789"


def test_titles_of_two_lines_are_as_wide_as_the_longer_one():
    sheet = Sheet(["", "baseline\ntest", "model\ntest, 20 rows"], [["accuracy", "0.5", "0.75"]])
    lines = as_text(sheet, 80).splitlines()
    assert [line.split() for line in lines] == [
        ["baseline", "model"],
        ["test", "test,", "20", "rows"],
        ["accuracy", "0.5", "0.75"],
    ]
