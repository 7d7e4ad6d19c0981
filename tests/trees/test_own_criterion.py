"""A criterion of the user's own: the built-in ones written in Python grow the built-in trees."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from core.growing import grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tables import Table, tables
from sklearn.base import clone

import hornbeam as hb

STRUCTURE = ("first_child", "feature", "threshold", "category_words", "missing_branch", "value", "impurity")


class Gini:
    """The engine's own score, over whole arrays: sum of n_k^2 / n over the branches."""

    def score(self, cells: np.ndarray) -> np.ndarray:
        return ((cells**2).sum(axis=2) / cells.sum(axis=2)).sum(axis=1)


class SquaredError:
    def score(self, cells: np.ndarray) -> np.ndarray:
        weight, total, squares = np.moveaxis(cells, 2, 0)
        return -(squares - total**2 / weight).sum(axis=1)


class Core:
    """What the core asks: a callable with the name of what is shown."""

    def __init__(self, criterion: Any, shown: str) -> None:
        self.criterion, self.shown = criterion, shown

    def __call__(self, cells: np.ndarray) -> np.ndarray:
        assert (cells >= 0).all()
        return np.ascontiguousarray(self.criterion.score(cells))


@st.composite
def limits(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "min_samples_leaf": draw(st.sampled_from([1, 1, 3])),
        "max_leaf_nodes": draw(st.sampled_from([0, 0, 4])),
        "min_impurity_decrease": draw(st.sampled_from([0.0, 0.0, 0.01])),
        "categorical_split": draw(
            st.sampled_from(
                ["subset", "one_vs_rest", "ordinal", "target_mean", "binary", "multiway", "merge"]
            )
        ),
        "merge_level": draw(st.sampled_from([0.05, 0.5])),
        "subtree_rows": draw(st.sampled_from([0, 65536])),
    }


@settings(max_examples=150, deadline=None)
@given(tables("classes", weights=["none", "integers", "with_zeros", "powers_of_two"]), limits())
def test_gini_in_python_grows_the_tree_of_gini(table: Table, limit: dict[str, Any]):
    """Class weights that are whole numbers of a power of two add up without rounding, on both sides."""
    arguments = (table.columns, table.y, table.weights)
    theirs = grow(*arguments, n_classes=table.n_classes, criterion=Core(Gini(), "gini"), **limit)
    ours = grow(*arguments, n_classes=table.n_classes, criterion="gini", **limit)
    assert same_bits(theirs, ours, STRUCTURE)
    np.testing.assert_allclose(theirs.gain, ours.gain, rtol=1e-9, atol=1e-9)


def mixed_table(n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "town": pd.Categorical(rng.choice(list("abcde"), n)),
            "price": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
        }
    )
    signal = frame["size"] + frame["town"].isin(["a", "d"])
    return frame, (signal + rng.normal(size=n) / 2).to_numpy(dtype=float)


def test_squared_error_in_python_grows_the_tree_of_squared_error():
    frame, y = mixed_table()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    for weight in (None, weights):
        for split in ("subset", "multiway", "merge"):
            ours = hb.DecisionTreeRegressor(max_depth=5, categorical_split=split).fit(frame, y, weight)
            theirs = clone(ours).set_params(criterion=SquaredError()).fit(frame, y, weight)
            structure = ("first_child", "feature", "threshold", "category_words")
            assert same_bits(theirs.tree_, ours.tree_, structure)
            np.testing.assert_allclose(theirs.predict(frame), ours.predict(frame), rtol=1e-12)


def test_a_criterion_nobody_has_built_in():
    """Twoing (Breiman et al. 1984): how differently the classes fall on both sides."""

    class Twoing:
        impurity = "entropy"

        def score(self, cells: np.ndarray) -> np.ndarray:
            sizes = cells.sum(axis=2)
            shares = cells / sizes[:, :, None]
            return sizes.prod(axis=1) * np.abs(shares[:, 0] - shares[:, 1]).sum(axis=1) ** 2

    frame, signal = mixed_table()
    y = np.digitize(signal, [-0.5, 0.5, 1.5])
    tree = hb.DecisionTreeClassifier(criterion=Twoing(), max_depth=4).fit(frame, y)
    entropy = hb.DecisionTreeClassifier(criterion="entropy").fit(frame, y)
    assert tree.tree_.impurity[0] == entropy.tree_.impurity[0]
    assert tree.score(frame, y) > 0.6
    table = tree.split_table(frame, y)
    chosen = table[table["chosen"]].iloc[0]
    cells = np.array([[[branch[k] for k in branch] for branch in row] for row in table["counts"]])
    assert Twoing().score(cells).argmax() == chosen.name
    assert tree.tree_.gain[0] / len(y) == pytest.approx(chosen["gain"])


@pytest.mark.parametrize("tree", [hb.DecisionTreeClassifier, hb.RandomForestClassifier])
def test_xor_is_learned(tree):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 4)
    y = X[:, 0] ^ X[:, 1]
    model = tree(criterion=Gini(), random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0


@dataclass
class Wrong:
    answer: Any

    def score(self, cells: np.ndarray) -> Any:
        return self.answer(cells)


def explode(cells: np.ndarray) -> np.ndarray:
    raise ZeroDivisionError("in the user's own code")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (
            lambda cells: cells,
            ValueError,
            r"Wrong.score was given 9 test\(s\), cells of shape \(9, 2, 2\), and",
        ),
        (lambda cells: 1.0, ValueError, r"returned shape \(\)\. It must return one score per test: \(9,\)"),
        (lambda cells: np.full(9, np.nan), ValueError, r"returned nan for the branches \[\[1.0, 0.0\], \[4"),
        (lambda cells: np.full(9, np.inf), ValueError, "returned inf for the branches"),
        (lambda cells: ["a"] * 9, ValueError, "which is not an array of numbers"),
        (explode, ZeroDivisionError, "in the user's own code"),
    ],
)
def test_a_criterion_that_is_wrong_ends_the_fit_and_changes_nothing(answer, error, message):
    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    model = hb.DecisionTreeClassifier(criterion=Gini()).fit(X, y)
    before = model.tree_
    model.set_params(criterion=Wrong(answer))
    with pytest.raises(error, match=message):
        model.fit(X, y)
    assert model.tree_ is before


def test_minus_infinity_refuses_a_test():
    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    refused = Wrong(lambda cells: np.full(len(cells), -np.inf))
    assert hb.DecisionTreeClassifier(criterion=refused).fit(X, y).get_n_leaves() == 1


def test_what_does_not_fit_is_said():
    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    with pytest.raises(ValueError, match=r"That is a class; make an object of it"):
        hb.DecisionTreeClassifier(criterion=Gini).fit(X, y)
    with pytest.raises(ValueError, match=r"criterion='Gini' takes one output, but y has 2"):
        hb.DecisionTreeClassifier(criterion=Gini()).fit(X, np.column_stack([y, y]))
    odd = Gini()
    odd.impurity = "variance"
    with pytest.raises(ValueError, match=r"Gini.impurity must be 'gini' or 'entropy' or 'accuracy'"):
        hb.DecisionTreeClassifier(criterion=odd).fit(X, y)


def test_a_file_keeps_the_name_and_the_model_still_predicts(tmp_path):
    X, y = np.arange(10.0)[:, None], np.arange(10) // 5
    model = clone(hb.DecisionTreeClassifier(criterion=Gini())).fit(X, y)
    hb.save(model, tmp_path / "tree.hbm")
    loaded = hb.load(tmp_path / "tree.hbm")
    assert np.array_equal(loaded.predict(X), y)
    assert loaded.criterion.name.endswith("Gini")
    with pytest.raises(TypeError, match="of which the file keeps only the name"):
        loaded.fit(X, y)
