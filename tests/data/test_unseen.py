"""Warnings of unknown categories, when several fits go on at the same time."""

import pytest

from hornbeam.data.unseen import said_once, warn_of_unseen
from hornbeam.warnings import UnseenCategoryWarning


def test_loops_of_two_threads_end_in_any_order():
    """Their counts may be equal; each ends its own."""
    first, second = said_once(), said_once()
    first.__enter__()
    second.__enter__()
    second.__exit__(None, None, None)
    warn_of_unseen({"colour": 2}, "left")  # counted, as one goes on
    with pytest.warns(UnseenCategoryWarning, match=r"'colour': 2 row\(s\), over all folds"):
        first.__exit__(None, None, None)
    with pytest.warns(UnseenCategoryWarning, match=r"'colour': 1 row\(s\)\.$"):
        warn_of_unseen({"colour": 1}, "left")
