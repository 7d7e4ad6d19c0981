"""Forests of many rows, from the command line: their size is said before, and their leaves make sense."""

import os
import re

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.cli.sizes import LARGE, leaf_size_for, size_words


@pytest.mark.parametrize(
    ("n_rows", "given", "expected"),
    [
        (LARGE - 1, {}, None),
        (LARGE, {}, 2),
        (1_000_000, {}, 10),
        (1_000_000, {"min_samples_leaf": 1}, None),
        (1_000_000, {"max_depth": 30}, None),
        (1_000_000, {"n_estimators": 5}, 10),
    ],
)
def test_leaves_of_large_forests(n_rows, given, expected):
    assert leaf_size_for(hb.RandomForestClassifier(**given), n_rows, given) == expected
    assert leaf_size_for(hb.ExtraTreesRegressor(**given), n_rows, given) == expected


def test_other_methods_are_left_as_they_are():
    for model in (hb.GradientBoostingClassifier(), hb.DecisionTreeClassifier(), hb.KNeighborsClassifier()):
        assert leaf_size_for(model, 1_000_000, {}) is None


def table(tmp_path, n_rows):
    random = np.random.default_rng(0)
    x = random.integers(0, 10_000, n_rows)
    y = np.where(x + random.integers(-3000, 3000, n_rows) > 5000, "b", "a")
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x.tolist(), y.tolist(), strict=True)))
    return path


def test_the_size_is_said_before_and_is_about_right(tmp_path, capsys):
    flags = ["--target", "y", "--n-estimators", "8", "--no-judge"]
    path = table(tmp_path, LARGE)
    assert run(["fit", str(path), *flags]) == 0
    said = capsys.readouterr()
    assert "Leaves have at least 2 rows, because there are so many; --min-samples-leaf sets it." in said.err
    expected = int(re.search(r"about ([\d,]+) MB", said.err)[1].replace(",", ""))
    model = tmp_path / "t.hornbeam"
    assert abs(os.path.getsize(model) / 1e6 - expected) < 1 + 0.3 * expected
    assert hb.load(model).min_samples_leaf == 2


def test_smaller_tables_are_left_as_they_are(tmp_path, capsys):
    path = table(tmp_path, LARGE - 1)
    assert run(["fit", str(path), "--target", "y", "--n-estimators", "2", "--no-judge"]) == 0
    assert "will take" not in capsys.readouterr().err
    assert hb.load(tmp_path / "t.hornbeam").min_samples_leaf == 1


def test_sizes_in_words():
    assert size_words(2_400_000_000, 100, None) == "The model of 100 trees will take about 2.4 GB."
    assert size_words(12_345_678, 1, None) == "The model of 1 tree will take about 12 MB."
