"""docs/lectures.md keeps its promise: five lines for everything. The examples run in tests/docs."""

import re
from pathlib import Path

import pytest

import hornbeam as hb
from hornbeam import plot

PAGE = Path(__file__).resolve().parents[2] / "docs" / "lectures.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS[1:])
def test_everything_takes_five_lines_at_most(block):
    assert 1 <= len(block.splitlines()) <= 5


def test_the_page_shows_everything_that_is_there_for_lectures():
    shown = "\n".join(BLOCKS)
    for name in ("crowd", "variance_of_mean", "ensemble_variance", "bias_variance", "small_tree"):
        assert f"hb.{name}(" in shown and name in hb.__all__
    drawn = "adaboost density distributions irrelevant_columns margins members nearest_distance residuals"
    drawn += " row_votes stack steps targets vote_by_round boundary bias_variance"
    drawn = set(drawn.split())
    assert drawn <= set(plot.__all__) and all(f"plot.{name}(" in shown for name in drawn)
