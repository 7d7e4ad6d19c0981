"""The trial that every export has to pass: wrong exports are caught, and files say what was tested."""

import contextlib
import re
import sqlite3
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier as SklearnForest

import hornbeam as hb
from exports.catalogue import HOSTILE
from hornbeam.data.table import Schema
from hornbeam.errors import ExportError
from hornbeam.exports import front, onnx_graph
from hornbeam.exports.c_code import largest_single
from hornbeam.exports.check import DOUBLE_TOLERANCE, Answers, compare, expected_answers
from hornbeam.exports.columns import columns_of
from hornbeam.exports.databases import DuckDb, Sqlite
from hornbeam.exports.pmml_engine import Jpmml
from hornbeam.exports.reading import portable
from hornbeam.exports.sql import sql_of
from hornbeam.exports.test_rows import rows_for
from hornbeam.warnings import UntestedExportWarning


def small_tree(**options):
    frame = pd.DataFrame({"x": [0.1, 0.3, np.nan, 0.7] * 5, "kind": ["a", "b", "c", None] * 5})
    return hb.DecisionTreeClassifier(random_state=0, **options).fit(frame, [0, 1, 1, 0] * 5)


def numeric_tree():
    X = np.random.default_rng(0).normal(size=(200, 3))
    return hb.DecisionTreeRegressor(max_depth=5, random_state=0).fit(X, X[:, 0] + X[:, 1] ** 2)


# ------------------------------------------------------------------------------------------------------------
# What a wrong export looks like


def rounded(tree):
    return replace(tree, threshold=[float(np.float32(value)) for value in tree.threshold])


def strict(tree):
    return replace(tree, threshold=np.nextafter(tree.threshold, -np.inf).tolist())


def other_way_for_missing(tree):
    last = [
        branch if not n else n - 1 - branch
        for branch, n in zip(tree.missing_branch, tree.n_branches, strict=True)
    ]
    return replace(tree, missing_branch=last)


def one_leaf_off(tree):
    values = tree.values.copy()
    values[-1] += 1e-6
    return replace(tree, values=values)


@pytest.mark.parametrize("wrong", [rounded, strict, other_way_for_missing, one_leaf_off])
def test_a_wrong_tree_is_caught(wrong):
    estimator = numeric_tree()
    right = portable(estimator)
    rows = rows_for(right, n_random=0)
    expected = expected_answers(estimator, right, rows)
    damaged = replace(right, trees=(wrong(right.trees[0]),))
    found = Sqlite("sqlite", "t").run(damaged, rows)
    with pytest.raises(ExportError, match=r"SQLite .* was not kept\. The row is \{'x0': "):
        compare(expected, found, rows, right, tolerance=DOUBLE_TOLERANCE, engine="SQLite")


@pytest.mark.parametrize("change", ["category", "unseen"])
def test_a_category_that_goes_astray_is_caught(change):
    estimator = small_tree(unseen="majority")
    right = portable(estimator)
    (tree,) = right.trees
    node = next(iter(tree.branch_of))
    branches = tree.branch_of[node]
    if change == "category":
        tree = replace(tree, branch_of={**tree.branch_of, node: (1 - branches[0], *branches[1:])})
    else:
        tree = replace(tree, unseen_branch={**tree.unseen_branch, node: 1 - tree.unseen_branch[node]})
    rows = rows_for(right, n_random=0)
    expected = expected_answers(estimator, right, rows)
    found = Sqlite("sqlite", "t").run(replace(right, trees=(tree,)), rows)
    with pytest.raises(ExportError):
        compare(expected, found, rows, right, tolerance=DOUBLE_TOLERANCE, engine="SQLite")


def test_a_difference_keeps_the_file_from_being_written(tmp_path, monkeypatch):
    monkeypatch.setattr(Sqlite, "run", lambda self, model, rows: Answers(np.zeros((rows.n_rows, 1))))
    with pytest.raises(ExportError, match=r"answers 0\.0 where the model answers"):
        hb.export(numeric_tree(), "sql", tmp_path / "m.sql", dialect="sqlite")
    assert not list(tmp_path.iterdir())


def test_labels_are_compared_where_they_are_not_a_tie():
    model = portable(small_tree())
    rows = rows_for(model, n_random=0).take(np.array([0, 1]))
    ours = Answers(np.array([[0.5, 0.5], [0.4, 0.6]]), ([0, 1],))
    compare(ours, Answers(ours.numbers, ([1, 1],)), rows, model, tolerance=1e-9, engine="E")
    with pytest.raises(ExportError, match=r"E answers \[0\] where the model answers \[1\]"):
        compare(ours, Answers(ours.numbers, ([0, 0],)), rows, model, tolerance=1e-9, engine="E")


# ------------------------------------------------------------------------------------------------------------
# The rows


def test_rows_stand_on_both_sides_of_every_threshold_of_every_node():
    estimator = numeric_tree()
    model = portable(estimator)
    (tree,) = model.trees
    rows = rows_for(model, n_random=0)
    X = rows.as_array()
    paths = estimator.decision_path(X).tocsc()
    for node in tree.inner_nodes():
        values = X[paths[:, [node]].indices, tree.column[node]]
        threshold = tree.threshold[node]
        wanted = {threshold, np.nextafter(threshold, np.inf), np.nextafter(threshold, -np.inf)}
        assert wanted <= set(values.tolist())
        above, parent = set(), tree.parents[node]
        while parent >= 0:
            above.add(tree.column[parent])
            parent = tree.parents[parent]
        # A value that is missing went its own way at the first test of the column.
        assert np.isnan(values).any() or tree.column[node] in above


@pytest.mark.parametrize("value", [0.1, -0.1, 1 / 3, 16777217.0, 1e300, -1e300, 1e-320, 0.5])
def test_a_single_threshold_parts_all_single_numbers_as_the_double_does(value):
    single = np.float32(largest_single(value))
    assert float(single) <= value
    with np.errstate(over="ignore"):
        assert float(np.nextafter(single, np.float32(np.inf))) > value


# ------------------------------------------------------------------------------------------------------------
# What the file says


def test_the_header_says_what_was_tested(tmp_path):
    text = hb.export(numeric_tree(), "sql", tmp_path / "m.sql", dialect="sqlite", table="t", keys="id")
    assert (tmp_path / "m.sql").read_text(encoding="utf-8") == text
    lines = [line for line in text.splitlines() if line.startswith("-- ")]
    assert re.fullmatch(
        r"-- hornbeam [\d.]+: DecisionTreeRegressor of 1 tree, \d+ nodes, 3 columns\.", lines[0]
    )
    assert re.fullmatch(r"-- Run in SQLite [\d.]+ on [\d,]+ rows; largest difference 0\.", lines[1])
    assert "10,000 random rows" in lines[2]
    again = hb.export(numeric_tree(), "sql", dialect="sqlite", table="t", keys=["id"])
    assert again == text  # the same model gives the same bytes


def test_an_engine_that_is_absent_is_named(monkeypatch):
    monkeypatch.setattr(DuckDb, "absent", staticmethod(lambda: "DuckDB (pip install hornbeam[export])"))
    with pytest.warns(UntestedExportWarning, match="there is no DuckDB"):
        text = hb.export(numeric_tree(), "sql", dialect="duckdb")
    assert "-- Not run in DuckDB (pip install hornbeam[export])." in text
    with pytest.raises(ExportError, match=r"verify='required', but .* there is no DuckDB"):
        hb.export(numeric_tree(), "sql", dialect="duckdb", verify="required")


def test_a_failing_engine_is_quoted(monkeypatch):
    def fail(*_):
        raise sqlite3.OperationalError("parser stack\noverflow")

    monkeypatch.setattr(Sqlite, "run", fail)
    with pytest.raises(ExportError, match=r"SQLite [\d.]+ cannot run the export, .*: parser stack overflow"):
        hb.export(numeric_tree(), "sql", dialect="sqlite")


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("onnx", {}),
        ("onnx", {"operator": "TreeEnsembleRegressor", "precision": "float"}),
        ("sql", {"dialect": "duckdb"}),
        ("c", {"precision": "float", "name": "credit"}),
        ("python", {}),
        ("json", {}),
        pytest.param(
            "pmml", {}, marks=pytest.mark.skipif(Jpmml.absent() is not None, reason=str(Jpmml.absent()))
        ),
    ],
)
def test_every_format_passes_its_whole_trial(form, options, models):
    written = hb.export(models["boosting of three"], form, verify="required", **options)
    if form == "onnx":
        import onnx

        proto = onnx.load_from_string(written)
        assert "Run in onnxruntime" in proto.doc_string
        assert proto.metadata_props[0].key == "columns"
    else:
        assert ("Run in" if form != "json" else '"tested"') in written


def test_deep_trees_fit_into_the_small_stack_of_a_parser():
    # A chain: every test cuts off one row, so the tree is as deep as it has leaves.
    X = np.arange(400.0)[:, np.newaxis]
    tree = hb.DecisionTreeRegressor(random_state=0).fit(X, 2.0 ** -np.arange(400.0))
    assert tree.get_depth() > 100
    hb.export(tree, "sql", dialect="sqlite")


# ------------------------------------------------------------------------------------------------------------
# What is refused, by name


def test_wrong_options_are_named():
    tree = numeric_tree()
    with pytest.raises(
        TypeError, match="export to sql has no option 'precision'; it takes dialect, table and keys"
    ):
        hb.export(tree, "sql", precision="float")
    with pytest.raises(TypeError, match="export to text has no option 'table'; it takes none"):
        hb.export(tree, "text", table="t")
    with pytest.raises(ValueError, match=r"dialect must be 'standard', .*; got 'oracle'"):
        hb.export(tree, "sql", dialect="oracle")
    with pytest.raises(ValueError, match="verify must be 'present' or 'required'; got 'no'"):
        hb.export(tree, "sql", verify="no")
    with pytest.raises(ExportError, match="name must be a name that C allows"):
        hb.export(tree, "c", name="a; int x")


def test_columns_that_an_export_does_not_know_are_named():
    plain = Schema(("a", "b"), True, ("numeric", "numeric"), (None, None))
    assert [column.name for column in columns_of(plain)] == ["a", "b"]
    with pytest.raises(ExportError, match="Column 'b' is of the kind 'date'"):
        columns_of(replace(plain, kinds=("numeric", "date")))


def test_models_that_cannot_be_written_are_named():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    X[::5, 0] = np.nan
    fractional = hb.DecisionTreeClassifier(missing="fractional").fit(X, y)
    with pytest.raises(ExportError, match="missing='fractional'"):
        hb.export(fractional, "python")
    bag = hb.BaggingClassifier(hb.RandomForestClassifier(n_estimators=2), n_estimators=2).fit(X, y)
    with pytest.raises(ExportError, match="BaggingClassifier is made of RandomForestClassifier"):
        hb.export(bag, "c")
    with pytest.raises(TypeError, match="got KNeighborsClassifier"):
        hb.export(hb.KNeighborsClassifier(n_neighbors=1).fit(X[1:5], y[1:5]), "onnx")


def test_what_is_no_model_of_ours_is_named():
    X = np.random.default_rng(0).normal(size=(30, 2))
    theirs = SklearnForest(2).fit(X, X[:, 0] > 0)
    with pytest.raises(
        TypeError, match=r"got RandomForestClassifier\. It is a model of scikit-learn: hb\.from"
    ):
        hb.export(theirs, "python")
    with pytest.raises(TypeError, match=r"It is a model of scikit-learn: hb\.from_model"):
        hb.plot.tree(theirs)
    for other, name in ((None, "NoneType"), (pd.DataFrame(X), "DataFrame"), (hb.DecisionTreeRegressor, "")):
        with pytest.raises(TypeError, match=rf"takes a fitted model made of hornbeam's trees; got {name}"):
            hb.export(other, "json")


def test_names_that_sql_cannot_hold_are_named():
    def fitted(*names):
        frame = pd.DataFrame({name: np.arange(8.0) for name in names})
        return portable(hb.DecisionTreeRegressor().fit(frame, np.arange(8.0)))

    write = {"dialect": "sqlite", "table": "t", "keys": []}
    with pytest.raises(ExportError, match="Columns 'a' and 'A' are the same to a database"):
        sql_of(fitted("a", "A"), **write)
    sql_of(fitted("a", "A"), **{**write, "dialect": "postgres"})  # which tells them apart
    with pytest.raises(ExportError, match=r"the name 'a.x00b': it is empty or holds a NUL"):
        sql_of(fitted("a\0b"), **write)
    with pytest.raises(ExportError, match="more than 63 bytes"):
        sql_of(fitted("ü" * 32), **{**write, "dialect": "postgres"})


# ------------------------------------------------------------------------------------------------------------
# Names and categories that would like to be code


def test_sql_of_hostile_names_is_one_statement(models):
    attack = 'x"; DROP TABLE victims; --'
    text = hb.export(models["forest"], "sql", dialect="sqlite", table=attack, keys=["id'\""])
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE victims (a)")
    columns = ", ".join('"' + name.replace('"', '""') + '"' for name in [*HOSTILE, "id'\""])
    connection.execute(f'CREATE TABLE "{attack.replace(chr(34), chr(34) * 2)}" ({columns})')
    # execute() refuses more than one statement.
    assert [row[0] for row in connection.execute(text).description][:2] == ["id'\"", "prediction"]
    assert connection.execute("SELECT COUNT(*) FROM victims").fetchone() == (0,)


def test_a_misspelled_column_is_an_error_and_no_text():
    text = hb.export(numeric_tree(), "sql", dialect="sqlite", table="t")
    connection = sqlite3.connect(":memory:")
    connection.execute('CREATE TABLE t ("x0", "x2")')
    with pytest.raises(sqlite3.OperationalError, match="x1"):
        connection.execute(text)


def test_python_of_hostile_names_runs_none_of_them(tmp_path):
    evil = "'''\"\"\"\n__import__('pathlib').Path('evil').touch()\n#"
    frame = pd.DataFrame({evil: np.arange(8) % 2, "b": [evil, "b"] * 4})
    tree = hb.DecisionTreeClassifier().fit(frame, [evil, "x"] * 4)
    hb.export(tree, "python", tmp_path / "m.py")
    subprocess.run([sys.executable, "-I", "-S", "m.py"], cwd=tmp_path, check=True)
    text = hb.export(tree, "c", tmp_path / "m.h")
    assert text.isascii() and "evil').touch()\n" not in text
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ""] == []


def test_the_text_for_missing_is_no_category():
    from hornbeam.exports.columns import InputColumn

    assert onnx_graph.missing_text(InputColumn("a", "categorical", ("x",))) == ""
    assert onnx_graph.missing_text(InputColumn("a", "categorical", ("", "<missing>"))) not in (
        "",
        "<missing>",
    )


def test_importing_hornbeam_imports_no_engine():
    code = (
        "import sys, hornbeam, hornbeam.exports.front; "
        "print([name for name in ('onnx', 'onnxruntime', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert front.OPTIONS["sql"]["dialect"][0] == "standard"


def test_duckdb_leaves_no_files_in_the_current_folder(tmp_path):
    pytest.importorskip("duckdb")
    with contextlib.closing(DuckDb.connect(str(tmp_path))) as connection:
        (folder,) = connection.execute("SELECT current_setting('temp_directory')").fetchone()
    assert folder == str(tmp_path)


# ------------------------------------------------------------------------------------------------------------
# Large models: the trial has a bound, and says so


def tree_of(n_leaves):
    x = np.arange(2.0 * n_leaves)
    tree = hb.DecisionTreeRegressor(max_leaf_nodes=n_leaves, random_state=0)
    return portable(tree.fit(x[:, np.newaxis], np.random.default_rng(0).normal(size=len(x))))


@pytest.mark.parametrize(("n_tests", "words"), [(8000, "all 8,000 tests"), (8001, "8,000 of 8,001 tests")])
def test_tests_are_tried_up_to_a_number(n_tests, words):
    model = tree_of(n_tests + 1)
    rows = rows_for(model, n_random=0)
    assert words in rows.words
    edges = rows.columns[0][-4 * 8000 :]  # three numbers around the threshold, and nothing
    assert np.isnan(edges[3::4]).all()
    thresholds = np.array(model.trees[0].threshold)[np.array(model.trees[0].n_branches) > 0]
    tried = edges[::4]
    assert np.isin(tried, thresholds).all() and len(np.unique(tried)) == 8000
    np.testing.assert_array_equal(edges[1::4], np.nextafter(tried, np.inf))
    np.testing.assert_array_equal(edges[2::4], np.nextafter(tried, -np.inf))


@pytest.mark.parametrize(
    ("n_values", "words"), [(10_000, "every threshold and"), (10_001, "30,000 of up to")]
)
def test_thresholds_come_up_in_rows_up_to_a_number(n_values, words):
    rows = rows_for(tree_of(n_values + 1), n_random=0)
    assert words in rows.words
    assert rows.n_rows == 4 * 8000 + 30_000 + 5


def test_rows_at_a_test_do_come_to_it():
    estimator = numeric_tree()
    model = portable(estimator)
    (tree,) = model.trees
    rows = rows_for(model, n_random=0)
    n_tests = sum(map(bool, tree.n_branches))
    paths = estimator.decision_path(rows.as_array()[-4 * n_tests :])
    tests = [node for node, n in enumerate(tree.n_branches) if n]
    for number, node in enumerate(tests):
        # The threshold and the number above it; nothing may part ways at an earlier test of the column.
        assert paths[4 * number : 4 * number + 2, node].toarray().all()
