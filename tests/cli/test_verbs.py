"""The verbs of the command line: what they write and print, for people and for programs."""

import gzip
import io
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.cli.methods import known_methods
from hornbeam.datasets import restaurant


@pytest.fixture
def waiting(tmp_path):
    """The restaurant table as a CSV file; in it, "None" is a number of guests."""
    table = restaurant()
    path = tmp_path / "restaurant.csv"
    table.frame().assign(WillWait=table.y).to_csv(path, index=False)
    return path


@pytest.fixture
def waiting_model(waiting, capsys):
    path = waiting.with_name("model.hornbeam")
    flags = ["--method", "tree", "--criterion", "entropy"]
    assert run(["fit", str(waiting), "--target", "WillWait", *flags, "--out", str(path)]) == 0
    capsys.readouterr()
    return path


def test_fit_keeps_none_as_a_value_and_grows_the_tree_of_the_api(waiting_model):
    table = restaurant()
    expected = hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y)
    rules = hb.load(waiting_model).rules()
    assert rules == expected.rules()
    assert "Patrons in {Full, None}" in rules


def test_fit_names_the_model_after_the_data_and_reports_as_json(waiting, capsys):
    assert run(["fit", str(waiting), "--target", "WillWait", "--method", "tree", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["model"] == str(waiting.with_suffix(".hornbeam"))
    assert (facts["rows"], facts["columns"], facts["task"]) == (12, 10, "classification")
    assert facts["training"]["accuracy"] == 1.0 and facts["baseline"]["accuracy"] == 0.5
    assert hb.load(facts["model"]).get_n_leaves() > 1


@pytest.mark.parametrize("method", list(known_methods()))
@pytest.mark.parametrize("load", [load_iris, load_diabetes])
def test_every_method_fits_and_predicts_as_in_python(method, load, tmp_path, capsys):
    X, y = load(return_X_y=True, as_frame=True)
    data, model, out = tmp_path / "d.csv", tmp_path / "m.hornbeam", tmp_path / "p.csv"
    X.assign(y=y).to_csv(data, index=False)
    size = [] if method in ("tree", "neighbors", "stacking") else ["--n-estimators", "4"]
    seed = [] if method == "neighbors" else ["--random-state", "3"]
    assert (
        run(["fit", str(data), "--target", "y", "--method", method, "--out", str(model), *size, *seed]) == 0
    )
    assert run(["predict", str(model), str(data), "--out", str(out)]) == 0
    fitted = hb.load(model)
    assert type(fitted).__name__.endswith("Classifier" if load is load_iris else "Regressor")
    printed = pd.read_csv(out, dtype=str)["prediction"].astype(float)  # pandas 2 reads numbers a bit off
    np.testing.assert_array_equal(printed, fitted.predict(X))


def test_options_reach_the_estimator_as_they_are_declared(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    data, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    X.assign(y=y).to_csv(data, index=False)
    flags = ["--max-features", "0.5", "--max-depth", "3", "--no-bootstrap", "--n-estimators", "3",
             "--class-weight", "balanced", "--max-leaf-nodes", "none", "--random-state", "0"]  # fmt: skip
    assert run(["fit", str(data), "--target", "y", "--out", str(model), *flags]) == 0
    given = hb.load(model).get_params()
    assert (given["max_features"], given["max_depth"], given["bootstrap"]) == (0.5, 3, False)
    assert (given["class_weight"], given["max_leaf_nodes"]) == ("balanced", None)


def test_predict_reads_standard_input_and_prints_shares(waiting, waiting_model, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(waiting.read_bytes())))
    assert run(["predict", str(waiting_model), "-", "--probabilities"]) == 0
    printed = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert list(printed) == ["prediction", "probability No", "probability Yes"]
    assert printed["prediction"].tolist() == restaurant().y.tolist()


def test_parquet_gives_the_answers_of_csv(waiting, waiting_model, capsys):
    parquet = waiting.with_suffix(".parquet")
    pd.read_csv(waiting, keep_default_na=False).to_parquet(parquet)
    assert run(["predict", str(waiting_model), str(waiting)]) == 0
    from_csv = capsys.readouterr().out
    assert run(["predict", str(waiting_model), str(parquet)]) == 0
    assert capsys.readouterr().out == from_csv


def test_compressed_csv_is_read_as_it_is(waiting, waiting_model, capsys):
    packed = waiting.with_name("packed.csv.gz")
    packed.write_bytes(gzip.compress(waiting.read_bytes()))
    assert run(["predict", str(waiting_model), str(packed), "--no-probabilities"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == restaurant().y.tolist()


def test_predicting_no_rows_gives_the_header(waiting, waiting_model, capsys):
    waiting.write_text(waiting.read_text().splitlines()[0] + "\n")
    assert run(["predict", str(waiting_model), str(waiting)]) == 0
    assert capsys.readouterr().out == "prediction,probability No,probability Yes\n"


def test_text_columns_stay_text_when_all_cells_look_like_numbers(tmp_path, capsys):
    data, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    data.write_text("size,y\n" + "1,a\n2,b\nlarge,c\n" * 4)
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "--out", str(model)]) == 0
    data.write_text("size\n2\n1\n")
    capsys.readouterr()
    assert run(["predict", str(model), str(data), "--json"]) == 0
    answers = [json.loads(line)["prediction"] for line in capsys.readouterr().out.splitlines()]
    assert answers == ["b", "a"]


def test_predictions_that_look_like_formulas_are_defused_and_numbers_are_not(tmp_path, capsys):
    data, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    data.write_text("x,y\n" + "1,=cmd\n2,-30\n3,@x\n4,+1\n5,-1+2\n6,\tx\n" * 2)
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "--out", str(model)]) == 0
    capsys.readouterr()
    assert run(["predict", str(model), str(data), "--no-probabilities"]) == 0
    assert capsys.readouterr().out.splitlines()[1:7] == ["'=cmd", "-30", "'@x", "+1", "'-1+2", "'\tx"]


def test_evaluate_sets_train_and_test_beside_the_baseline(tmp_path, capsys):
    X, y = load_iris(return_X_y=True, as_frame=True)
    rows = X.assign(y=y).sample(frac=1, random_state=0)
    train, test, model = tmp_path / "train.csv", tmp_path / "test.csv", tmp_path / "m.hornbeam"
    rows[:100].to_csv(train, index=False)
    rows[100:].to_csv(test, index=False)
    assert run(["fit", str(train), "--target", "y", "--method", "tree", "--out", str(model)]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(model), str(test), "--target", "y", "--train", str(train), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    majority = rows[:100]["y"].mode()[0]
    assert scores["train"]["model"]["accuracy"] == 1.0
    assert scores["test"]["baseline"]["accuracy"] == pytest.approx((rows[100:]["y"] == majority).mean())
    expected = hb.load(model).score(rows[100:].drop(columns="y"), rows[100:]["y"])
    assert scores["test"]["model"]["accuracy"] == pytest.approx(expected)
    assert run(["evaluate", str(model), str(test), "--target", "y"]) == 0
    assert "balanced accuracy" in capsys.readouterr().out


def test_show_prints_the_tree_its_rules_and_a_row(waiting, waiting_model, capsys):
    model = hb.load(waiting_model)
    assert run(["show", str(waiting_model)]) == 0
    assert capsys.readouterr().out.rstrip("\n") == model.rules().rstrip("\n")
    assert run(["show", str(waiting_model), "--rules", "code"]) == 0
    assert "return " in capsys.readouterr().out
    assert run(["show", str(waiting_model), "--rules", "formula"]) == 0
    assert f"Yes: {model.rules('formula')['Yes']}" in capsys.readouterr().out
    assert run(["show", str(waiting_model), "--explain", str(waiting), "--row", "12"]) == 0
    assert "answer: Yes" in capsys.readouterr().out


def test_explain_tells_why_in_two_sentences(waiting, waiting_model, tmp_path, capsys):
    capsys.readouterr()  # what fitting has printed
    assert run(["explain", str(waiting_model), str(waiting), "--row", "7"]) == 0
    assert capsys.readouterr().out.startswith("The tree answers ")
    forest = tmp_path / "forest.hornbeam"
    more = ["--n-estimators", "3", "--random-state", "1"]
    assert run(["fit", str(waiting), "--target", "WillWait", "--out", str(forest), *more]) == 0
    capsys.readouterr()
    assert run(["explain", str(forest), str(waiting), "--row", "7", "--json"]) == 0
    message = json.loads(capsys.readouterr().out)
    assert message["row"] == 7 and message["text"].startswith(f"The model predicts {message['prediction']} ")
    assert set(message["contributions"]) and message["text"].count(". ") == 1
    assert run(["explain", str(forest), str(waiting), "--row", "999"]) == 1
    assert "there is no row 999" in capsys.readouterr().err


def test_show_of_a_forest_ranks_features_and_opens_its_trees(waiting, capsys):
    model = waiting.with_suffix(".hornbeam")
    assert (
        run(["fit", str(waiting), "--target", "WillWait", "--n-estimators", "3", "--random-state", "0"]) == 0
    )
    capsys.readouterr()
    assert run(["show", str(model), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["trees"] == 3 and sum(shown["importances"].values()) == pytest.approx(1.0)
    assert run(["show", str(model), "--tree", "2"]) == 0
    assert "->" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["json", "pmml", "dot", "text"])
@pytest.mark.filterwarnings("ignore:The export was not run")  # where there is no Java
def test_export_writes_what_the_api_returns(form, waiting_model, tmp_path, capsys):
    out = tmp_path / "exported"
    assert run(["export", str(waiting_model), "--format", form, "--out", str(out)]) == 0
    assert out.read_text() == hb.export(hb.load(waiting_model), form)
    assert run(["export", str(waiting_model), "--format", form]) == 0
    assert capsys.readouterr().out == out.read_text()


@pytest.mark.parametrize("verb", ["predict", "show"])
def test_a_closed_pipe_ends_the_command_quietly(verb, waiting, waiting_model):
    reader, writer = os.pipe()
    os.close(reader)  # whoever was to read has gone before the first line
    inputs = [str(waiting_model), str(waiting)] if verb == "predict" else [str(waiting_model)]
    done = subprocess.run(
        [sys.executable, "-m", "hornbeam", verb, *inputs],
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")
