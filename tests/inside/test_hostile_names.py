"""Names, labels and categories are other people's text: in every output they are inert."""

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

HOSTILE = [
    "\x1b[31mred\x1b]0;title\x07",
    "two\nlines\r\x00",
    "\u202etxt.exe\u2066",
    "<script>alert(1)</script>",
    "__import__('os').system('x') or \"",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_prints_as_itself_or_escaped(text):
    X = pd.DataFrame({text: [text, "b", "c", text], "n" + text: [1.0, 2.0, 3.0, 4.0]})
    y = np.array([text, "other", "other", "third" + text], dtype=object)
    tree = hb.DecisionTreeClassifier().fit(X, y)
    outputs = [
        tree.rules(),
        tree.rules("lines"),
        str(tree.explain(X.iloc[[0]])),
        *tree.to_frame()["test"].dropna(),
    ]
    for line in "\n".join(outputs).split("\n"):
        assert line.isprintable()
        assert len(line) < 1_000
    for formula in tree.rules("formula").values():
        assert formula.isprintable() and formula.isascii()
    assert all(str(title).isprintable() for title in tree.to_frame().columns)


def test_one_line_stays_one_line():
    X = pd.DataFrame({"a\nb": [1.0, 2.0]})
    tree = hb.DecisionTreeClassifier().fit(X, ["u\r\nv", "w"])
    assert tree.rules().split("\n") == [
        r"2 rows: 50 % u\r\nv, 50 % w",
        r"a\nb <= 1.5 -> u\r\nv (1 row, 100 %)",
        r"a\nb > 1.5 -> w (1 row, 100 %)",
    ]
    assert len(tree.rules("lines").split("\n")) == 2


def test_the_data_themselves_are_not_changed():
    X = pd.DataFrame({"a\nb": ["x\ty", "z"]})
    tree = hb.DecisionTreeClassifier().fit(X, ["u\n", "w"])
    frame = tree.to_frame()
    assert frame["feature"][0] == "a\nb"
    assert frame["categories"][0] == (("x\ty",), ("z",))
    assert set(frame["prediction"]) == {"u\n", "w"}
    assert tree.rules("list")[0].prediction == "u\n"
