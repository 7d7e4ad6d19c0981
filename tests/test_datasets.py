"""The small tables: their shapes and types, and that estimators take them with and without pandas."""

import sys

import numpy as np
import pytest

import hornbeam as hb
from hornbeam import datasets

FROM_FILES = {"hitters", "khan", "letter", "spambase"}
TABLES = [getattr(datasets, name) for name in datasets.__all__ if name not in {"SmallTable", *FROM_FILES}]
SHAPES = {
    "animals": (100, 0),
    "cars": (12, 7),
    "cars_in_words": (18, 7),
    "courses": (20, 5),
    "cricket": (20, 2),
    "multiplexer": (8, 3),
    "restaurant": (12, 10),
    "ten_points": (10, 2),
    "two_tests": (6, 2),
    "xor": (4, 2),
}


@pytest.mark.parametrize("load", TABLES, ids=lambda load: load.__name__)
def test_columns_array_frame_and_target_agree(load):
    table = load()
    assert table.X.shape == SHAPES[load.__name__] == (len(table.y), len(table.feature_names))
    frame = table.frame(with_target=True)
    assert list(frame.columns) == [*table.feature_names, table.target_name]
    for j, name in enumerate(table.feature_names):
        assert list(frame[name]) == list(table.X[:, j]) == list(table.columns[name])
    assert list(frame[table.target_name]) == list(table.y)
    assert table.target_name in repr(table) and table.description in repr(table)


@pytest.mark.parametrize(
    "load", [load for load in TABLES if load is not datasets.animals], ids=lambda f: f.__name__
)
def test_array_and_frame_give_the_same_tree(load):
    table = load()
    plain = hb.DecisionTreeClassifier().fit(table.X, table.y)
    named = hb.DecisionTreeClassifier().fit(table.frame(), table.y)
    np.testing.assert_array_equal(plain.tree_.feature, named.tree_.feature)
    np.testing.assert_array_equal(plain.tree_.value, named.tree_.value)
    assert [plain._model.schema.kinds, plain._model.schema.categories] == [
        named._model.schema.kinds,
        named._model.schema.categories,
    ]


def test_restaurant_equals_the_shared_table(shared_data):
    expected = shared_data("restaurant")
    table = datasets.restaurant().frame(with_target=True)
    assert table.astype(str).equals(expected.astype(str)) or (
        table.values.tolist() == expected.values.tolist()
    )
    assert list(table.columns) == list(expected.columns)
    assert "None" in set(table["Patrons"])


def test_types_of_the_arrays():
    assert datasets.ten_points().X.dtype == np.float64
    assert datasets.xor().X.dtype == np.bool_
    assert datasets.cars().X.dtype == object
    assert datasets.courses("rating").y.dtype.kind == "i"
    assert datasets.courses().y.sum() == 12


def test_unknown_variants_are_refused():
    with pytest.raises(ValueError, match="'liked' or 'rating'; got 'stars'"):
        datasets.courses("stars")
    with pytest.raises(ValueError, match="n_rows must be 6 or 8; got 7"):
        datasets.two_tests(7)


def test_the_array_needs_no_pandas_and_the_frame_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    table = datasets.restaurant()
    assert table.X[0, 4] == "Some"
    with pytest.raises(
        ModuleNotFoundError, match=r"A table as a data frame needs pandas.*hornbeam\[frames\]"
    ):
        table.frame()


# --- Tables from files -----------------------------------------------------------------------------------


def test_spambase_and_hitters_come_with_the_library(shared_data):
    everything, training, test = (datasets.spambase(part) for part in ("all", "training", "test"))
    assert everything.X.shape == (4601, 57) and training.X.shape == (3065, 57) and test.X.shape == (1536, 57)
    assert np.mean(everything.y == "spam") == pytest.approx(0.394, abs=0.0005)
    expected = shared_data("spambase")
    np.testing.assert_array_equal(everything.X, expected.iloc[:, :-1].to_numpy(float))
    np.testing.assert_array_equal(everything.y == "spam", expected["spam"] == 1)
    assert "and 45 more columns; target spam" in repr(everything)
    players = datasets.hitters()
    assert players.X.shape == (263, 19) and players.y.mean() == pytest.approx(535.93, abs=0.01)
    known = shared_data("hitters").dropna(subset="Salary")
    assert players.frame()["League"].tolist() == known["League"].tolist()
    assert players.frame()["CRuns"].tolist() == known["CRuns"].tolist()
    with pytest.raises(ValueError, match="part must be"):
        datasets.spambase("train")


def test_the_tree_of_17_leaves_on_spambase():
    # The lecture's tree has 17 leaves and is wrong about 9.3 % of the test rows.
    training, test = datasets.spambase("training"), datasets.spambase("test")
    grown = hb.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=5).fit(training.X, training.y)
    tree = grown.pruned(leaves=17)
    assert tree.get_n_leaves() == 17 and 1 - tree.score(test.X, test.y) == pytest.approx(0.093, abs=0.005)


def test_tables_of_your_own_copy(tmp_path):
    with pytest.raises(ValueError, match=r"letter is not part of hornbeam.*UCI.*hb.datasets.letter\(path\)"):
        datasets.letter()
    with pytest.raises(FileNotFoundError, match=r"There is no .*khan.csv or .*khan.csv.gz"):
        datasets.khan(tmp_path)
    (tmp_path / "letter.csv").write_text("letter,xbox,ybox\nT,2,8\nI,5,12\n")
    table = datasets.letter(tmp_path)
    assert table.y.tolist() == ["T", "I"] and table.X.tolist() == [[2, 8], [5, 12]]
    (tmp_path / "khan.csv").write_text("G1,G2\n1,2\n")
    with pytest.raises(ValueError, match="no column 'class'"):
        datasets.khan(tmp_path / "khan.csv")


def test_what_horsepower_gains_in_words():
    table = datasets.cars_in_words().frame(with_target=True)
    counts = table.groupby(["cylinders", "mpg"]).size()
    assert counts["4"].tolist() == [3, 5] and counts["8"].tolist() == [5, 1]
    assert hb.entropy(labels=table["mpg"]) == pytest.approx(hb.entropy([12, 6]))
