"""Warnings of unknown categories, when several fits go on at the same time."""

import warnings

import pandas as pd
import pytest

import hornbeam as hb
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


def test_columns_that_no_tree_asks_about_are_not_spoken_of():
    """Names are new in every fold and left out by the trees: every warning of a search spoke of them."""
    n = 200
    X = pd.DataFrame({"name": [f"name {i}" for i in range(n)], "kind": list("abcd") * (n // 4)})
    model = hb.DecisionTreeRegressor().fit(X, (X["kind"] == "b").astype(float))
    assert model.feature_importances_.tolist() == [0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X.assign(name="someone new"))
    with pytest.warns(UnseenCategoryWarning, match=r"'kind': 200 row\(s\)\.$") as caught:
        model.predict(X.assign(name="someone new", kind="z"))
    assert len(caught) == 1 and "'name'" not in str(caught[0].message)
