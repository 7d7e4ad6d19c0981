"""Rows 46 to 50: categories that are new, many, odd, nearly alike, or at the edge of a code width."""

import unicodedata
from typing import Any

import numpy as np
import pandas as pd
import pytest

from catalogue.models import TREES, Tree
from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor, memory
from hornbeam.warnings import DataWarning, UnseenCategoryWarning

TOWNS = pd.DataFrame({"town": ["Ulm", "Ulm", "Bonn", "Bonn", "Bonn", None], "size": [1, 2, 3, 4, 5, 6]})
ANSWERS = [0, 0, 1, 1, 1, 0]
ELSEWHERE = pd.DataFrame({"town": ["Rom", "Ulm", "Paris"], "size": [1, 1, 1]})


@pytest.mark.parametrize("tree", TREES)
def test_row_46_unseen_categories_go_one_way_with_one_warning(tree: type[Tree]) -> None:
    model = tree().fit(TOWNS, ANSWERS)
    with pytest.warns(UnseenCategoryWarning, match=r"way of missing values.*'town': 2 row\(s\)") as caught:
        answers = model.predict(ELSEWHERE)
    assert len(caught) == 1
    assert answers.tolist() == [0, 0, 0]  # as the missing town in the fit


@pytest.mark.parametrize("tree", TREES)
def test_row_46_unseen_categories_go_to_the_majority_or_are_refused(tree: type[Tree]) -> None:
    with pytest.warns(UnseenCategoryWarning, match=r"larger branch.*'town': 2 row\(s\)"):
        answers = tree(unseen="majority").fit(TOWNS.iloc[1:5], ANSWERS[1:5]).predict(ELSEWHERE)
    assert answers.tolist() == [1, 0, 1]
    with pytest.raises(ValueError, match="Column 'town', row 0: the fit has not seen the category 'Rom'"):
        tree(unseen="error").fit(TOWNS, ANSWERS).predict(ELSEWHERE)


@pytest.mark.filterwarnings("ignore:The number of unique classes:UserWarning")
def test_row_47_one_category_per_row() -> None:
    n_rows = 1_000_000
    ids = np.random.default_rng(0).permutation(n_rows).reshape(-1, 1)
    y = ids[:, 0] % 2
    model = DecisionTreeClassifier(categorical_features=[0], categorical_split="subset", n_jobs=1)
    with pytest.warns(DataWarning, match=r"column 'x0' \(100% unique\)") as caught:
        model.fit(ids, y)
    assert len(caught) == 1
    np.testing.assert_array_equal(model.predict(ids[:1000]), y[:1000])
    assert model.tree_.category_words.nbytes == n_rows // 8  # one bit per category and test


@pytest.mark.filterwarnings("ignore:Nearly every row has a value of its own:hornbeam.warnings.DataWarning")
def test_row_47_an_identifier_that_would_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    n_rows = 100_000
    X = pd.DataFrame({"id": np.arange(n_rows)})
    message = r"Column 'id' has 100000 categories, and 99999 tests on it would take about 2\.3 GiB; 1\.0 GiB"
    with pytest.raises(MemoryError, match=message):
        DecisionTreeRegressor(categorical_features=["id"], categorical_split="subset").fit(
            X, np.arange(float(n_rows))
        )
    model = DecisionTreeRegressor(categorical_features=["id"], categorical_split="subset", max_depth=2)
    assert model.fit(X, np.arange(float(n_rows))).get_n_leaves() == 4


def test_row_47_an_identifier_says_nothing_by_default() -> None:
    X = pd.DataFrame({"id": np.arange(100_000)})
    model = DecisionTreeRegressor(categorical_features=["id"])
    with pytest.warns(DataWarning, match="Every column of X is constant") as caught:
        model.fit(X, np.arange(100_000.0))
    assert len(caught) == 1  # it does no harm, so nobody is told to drop it
    assert model.get_n_leaves() == 1


@pytest.mark.parametrize(
    "values",
    [
        [-5, 3, -5, 3],
        [2**31 + 1, 2**40, 2**31 + 1, 2**40],
        [1.5, -0.5, 1.5, -0.5],
        [True, False, True, False],
    ],
)
@pytest.mark.parametrize("tree", TREES)
def test_row_48_odd_numbers_as_categories(tree: type[Tree], values: list[Any]) -> None:
    X = np.array(values).reshape(-1, 1)
    model = tree(categorical_features=[0]).fit(X, [0, 1, 0, 1])
    assert model.predict(X).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("tree", TREES)
def test_row_48_texts_and_numbers_mixed(tree: type[Tree]) -> None:
    with pytest.raises(
        TypeError, match=r"Column 'c' mixes types: row 0 holds the text 'a', row 1 the number 1"
    ):
        tree().fit(pd.DataFrame({"c": pd.Series(["a", 1], dtype=object)}), [0, 1])
    with pytest.raises(
        ValueError, match="Column 'c' mixes categories of different types: number 1 and text 'a'"
    ):
        tree().fit(pd.DataFrame({"c": pd.Categorical(["a", 1], categories=[1, "a"])}), [0, 1])
    model = tree().fit(pd.DataFrame({"c": ["a", "b"]}), [0, 1])
    with pytest.raises(
        ValueError, match=r"Column 'c' had categories such as 'a' in the fit and holds 1.5 now"
    ):
        model.predict(pd.DataFrame({"c": [1.5]}))


@pytest.mark.parametrize("tree", TREES)
def test_row_49_spellings_are_distinct(tree: type[Tree]) -> None:
    spellings = [unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é"), "é ", "É"]
    X = pd.DataFrame({"letter": spellings * 3})
    y = [0, 1, 2, 3] * 3
    assert tree().fit(X, y).predict(X).tolist() == y


EDGES = [255, 256, 257, 65535, 65536, 65537]


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("with_missing", [False, True])
def test_row_50_categories_at_the_edge_of_a_code_width(n: int, with_missing: bool) -> None:
    codes = np.tile(np.arange(float(n)), 2)
    if with_missing:
        codes[n + 3] = np.nan
    odd = np.tile(np.random.default_rng(n).integers(0, 2, n), 2)
    model = DecisionTreeClassifier(categorical_features=[0]).fit(codes.reshape(-1, 1), odd)
    known = ~np.isnan(codes)
    np.testing.assert_array_equal(model.predict(codes.reshape(-1, 1))[known], odd[known])


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("with_missing", [False, True])
def test_row_50_values_at_the_edge_of_a_code_width(n: int, with_missing: bool) -> None:
    X = np.random.default_rng(n).permutation(n).astype(float).reshape(-1, 1)
    if with_missing:
        X = np.vstack([X, [[np.nan]]])
    y = np.where(np.isnan(X[:, 0]), -1.0, X[:, 0] // 100)
    model = DecisionTreeRegressor().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("max_bins", [255, 256, 257, 65535])
def test_row_50_bins_at_the_edge_of_a_code_width(max_bins: int) -> None:
    # As many values as bins: each has its own; one more: two values share one.
    for n in (max_bins, max_bins + 1):
        X, y = np.arange(float(n)).reshape(-1, 1), np.arange(float(n))
        model = DecisionTreeRegressor(max_bins=max_bins).fit(X, y)
        assert model.get_n_leaves() == max_bins
        assert abs(model.predict(X) - y).sum() == (0.0 if n == max_bins else 1.0)
