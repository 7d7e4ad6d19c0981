"""Tables as people have them: separators, decimal commas, encodings, ids, and whatever files may hold."""

import csv
import io
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss, roc_auc_score

import hornbeam as hb
from hornbeam.cli.main import run

ROWS = [("007", 1.5, "rot", "nein"), ("008", 2.5, "blau", "ja"), ("009", 3.5, "größer", "ja")] * 4
FRAME = pd.DataFrame(ROWS, columns=["nr", "size", "colour", "y"])


def fitted(path, *flags):
    """Fit a tree to a file; return the model and where it is."""
    out = path.with_suffix(".hornbeam")
    arguments = ["fit", str(path), "--target", "y", "--method", "tree", "-o", str(out), "--force", *flags]
    assert run(arguments) == 0
    return hb.load(out), out


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "plain.csv"
    FRAME.drop(columns="nr").to_csv(path, index=False)
    return fitted(path)[0].rules()


def variants():
    plain = FRAME.drop(columns="nr")
    yield "semicolons", plain.to_csv(index=False, sep=";").encode(), [], "taking ';' to separate the cells"
    yield "tabs", plain.to_csv(index=False, sep="\t").encode(), [], "taking tabs to separate the cells"
    yield "bars", plain.to_csv(index=False, sep="|").encode(), [], "taking '|' to separate the cells"
    yield "said", plain.to_csv(index=False, sep="~").encode(), ["--separator", "~"], ""
    yield (
        "a German spreadsheet",
        plain.to_csv(index=False, sep=";", decimal=",").encode("latin-1"),
        ["--decimal", ",", "--encoding", "latin-1"],
        "taking ';'",
    )
    yield "decimal commas in quotes", plain.to_csv(index=False, decimal=",").encode(), ["--decimal", ","], ""
    yield "utf-16", plain.to_csv(index=False).encode("utf-16"), ["--encoding", "utf-16"], ""
    yield "carriage returns", plain.to_csv(index=False, lineterminator="\r").encode(), [], ""
    yield "windows", plain.to_csv(index=False, lineterminator="\r\n").encode(), [], ""
    yield "an index", plain.to_csv().encode(), [], "the first column has no name"
    yield "dropped", FRAME.to_csv(index=False).encode(), ["--drop", "nr"], ""
    yield "an id", FRAME.to_csv(index=False).encode(), ["--id", "nr"], ""
    noisy = plain.assign(junk="nan", other="1,5")
    yield "columns in trouble", noisy.to_csv(index=False).encode(), ["--drop", "junk,other"], ""
    lines = "".join(json.dumps(row) + "\n" for row in plain.to_dict("records"))
    yield "lines of JSON", lines.encode(), [], ""
    yield "a list of JSON", json.dumps(plain.to_dict("records")).encode(), [], ""
    feather, parquet = io.BytesIO(), io.BytesIO()
    plain.to_feather(feather)
    yield "feather", feather.getvalue(), [], ""
    plain.set_index(pd.Index(range(1, 13))).to_parquet(parquet)
    yield "parquet with an index", parquet.getvalue(), [], ""


@pytest.mark.parametrize(
    ("kind", "content", "flags", "message"), list(variants()), ids=lambda value: str(value)[:24]
)
@pytest.mark.parametrize("by", ["file", "pipe"])
def test_the_same_table_in_other_clothes_gives_the_same_tree(
    kind, content, flags, message, by, expected, tmp_path, capsys, monkeypatch
):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    source = str(path)
    if by == "pipe":
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        source = "-"
    out = tmp_path / "m.hornbeam"
    capsys.readouterr()
    assert run(["fit", source, "--target", "y", "--method", "tree", "--out", str(out), *flags]) == 0
    printed = capsys.readouterr()
    assert hb.load(out).rules() == expected
    assert message in printed.err if message else printed.err == ""
    # The model file knows how its tables are written: no flag is said again.
    assert (
        run(["predict", str(out), str(path), "--json", *(["--drop", flags[1]] if "--drop" in flags else [])])
        == 0
    )
    printed = capsys.readouterr()
    answers = [json.loads(line)["prediction"] for line in printed.out.splitlines()]
    assert answers == FRAME["y"].tolist()
    assert by == "pipe" or "separate" not in printed.err  # a model knows what was guessed from a file


def test_predictions_carry_ids_as_they_are_written(tmp_path, capsys):
    path, out = tmp_path / "data.csv", tmp_path / "p.csv"
    FRAME.to_csv(path, index=False)
    _, model = fitted(path, "--id", "nr")
    assert run(["predict", str(model), str(path), "-o", str(out)]) == 0
    assert "12 predictions written to" in capsys.readouterr().out
    with open(out, newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["nr", "prediction", "probability ja", "probability nein"]
    assert [row[0] for row in rows[1:]] == FRAME["nr"].tolist()
    FRAME.drop(columns=["nr", "y"]).to_csv(path, index=False)  # new rows need not have the id
    assert run(["predict", str(model), str(path)]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("prediction,") and "these rows have no such column" in printed.err


@pytest.mark.parametrize("n_before", [0, 5, 700_000])
def test_a_text_among_numbers_at_predict_is_named_by_its_line(n_before, tmp_path, capsys):
    """700,000 rows are more than the 4 MiB of a batch: rows are counted over all of them."""
    data, model = tmp_path / "data.csv", tmp_path / "m.hornbeam"
    data.write_text("x,colour,y\n" + "1,red,no\n2,blue,yes\n" * 10)
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "-o", str(model)]) == 0
    capsys.readouterr()
    data.write_text('colour,x\n"red\ngreen",1\n\n' + "blue,2\n" * n_before + "red,huge\nred,1\n")
    assert run(["predict", str(model), str(data), "-o", str(tmp_path / "p.csv")]) == 1
    line = capsys.readouterr().err
    assert f"data.csv, line {5 + n_before}: column x holds 'huge'" in line
    assert "fitted to numbers there. If that means missing, say --na 'huge'." in line
    assert not (tmp_path / "p.csv").exists()
    assert run(["predict", str(model), str(data), "--na", "huge"]) == 0


def test_a_column_without_any_value_is_missing_where_numbers_are_wanted(tmp_path, capsys):
    data, model = tmp_path / "data.csv", tmp_path / "m.hornbeam"
    data.write_text("x,z,y\n" + "1,5,no\n2,6,yes\n" * 10)
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "-o", str(model)]) == 0
    data.write_text("x,z\n,5\n,6\n")
    assert run(["predict", str(model), str(data)]) == 0


def test_missing_texts_and_the_target_are_known_from_the_model_file(tmp_path, capsys):
    data, model = tmp_path / "data.csv", tmp_path / "m.hornbeam"
    data.write_text("x;y\n" + "1;no\n2;yes\n?;yes\n" * 10)
    flags = ["--target", "y", "--method", "tree", "--na", "?", "-o", str(model)]
    assert run(["fit", str(data), *flags]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(model), str(data), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["model"]["accuracy"] == 1.0
    hb.save(hb.load(model), model)  # which has not seen a table
    assert run(["evaluate", str(model), str(data)]) == 2
    assert "name it with --target" in capsys.readouterr().err


def test_evaluate_prints_one_plain_table(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    data, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    X.assign(y=y).to_csv(data, index=False)
    assert (
        run(["fit", str(data), "--target", "y", "--random-state", "0", "--max-depth", "3", "-o", str(model)])
        == 0
    )
    capsys.readouterr()
    assert run(["evaluate", str(model), str(data)]) == 0
    title, heads, *lines = capsys.readouterr().out.splitlines()
    assert title == "RandomForestClassifier, predicting y, on 569 rows"
    assert heads.split() == ["guess", "model"]
    found = {" ".join(line.split()[:-2]): line.split()[-2:] for line in lines}
    assert list(found) == ["accuracy", "balanced accuracy", "AUC", "log loss"]
    shares = hb.load(model).predict_proba(X)
    assert found["AUC"] == ["0.5", f"{roc_auc_score(y, shares[:, 1]):.4g}"]
    assert found["log loss"][1] == f"{log_loss(y, shares):.4g}"


def test_auc_of_several_classes_and_no_loss_without_a_sign(tmp_path, capsys):
    X, y = load_iris(return_X_y=True, as_frame=True)
    data, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    X.assign(y=y).drop_duplicates(list(X)).to_csv(data, index=False)
    assert run(["fit", str(data), "--target", "y", "--method", "tree", "-o", str(model)]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(model), str(data)]) == 0
    shown = capsys.readouterr().out
    assert "-0" not in shown and shown.splitlines()[-1].split() == ["log", "loss", "1.099", "0"]
    assert run(["evaluate", str(model), str(data), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)["data"]["model"]
    assert scores["AUC"] == 1.0 and str(scores["log loss"]) == "0.0"


# --- What fit says -----------------------------------------------------------------------------------------


@pytest.fixture
def noise(tmp_path):
    """Labels that nothing tells: what a model says of rows it has seen is worth nothing."""
    rng = np.random.default_rng(0)
    path = tmp_path / "noise.csv"
    pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "y": rng.integers(0, 2, 400)}).to_csv(
        path, index=False
    )
    return path


@pytest.mark.parametrize(
    ("method", "how"),
    [("forest", "out of bag"), ("bagging", "out of bag"), ("tree", "held out"), ("boosting", "held out")],
)
def test_fit_headlines_rows_it_has_not_seen(method, how, noise, tmp_path, capsys):
    arguments = ["fit", str(noise), "--target", "y", "--method", method, "--force"]
    assert run([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["judged"]["how"] == how
    learns_noise = method != "boosting"  # which finds out that there is nothing to learn
    assert facts["training"]["accuracy"] > (0.75 if learns_noise else 0.5)
    assert 0.35 < facts["judged"]["model"]["accuracy"] < 0.65
    assert run(arguments) == 0
    message = capsys.readouterr().out.casefold()
    assert how.split()[0] in message and "on the rows it was fitted on" not in message
    # The out-of-bag answers stay out of the file, which is what it would be without them.
    saved = hb.load(noise.with_suffix(".hornbeam"))
    assert (
        not hasattr(saved, "oob_decision_function_") and saved.get_params().get("oob_score", False) is False
    )
    assert run([*arguments, "--no-judge"]) == 0
    assert "On the rows it was fitted on: accuracy" in capsys.readouterr().out


def test_out_of_bag_scores_are_those_of_python(noise, capsys):
    assert run(["fit", str(noise), "--target", "y", "--random-state", "3", "--force", "--json"]) == 0
    message = json.loads(capsys.readouterr().out)["judged"]["model"]["accuracy"]
    table = pd.read_csv(noise)
    model = hb.RandomForestClassifier(random_state=3, oob_score=True).fit(table[["a", "b"]], table["y"])
    assert message == pytest.approx(model.oob_score_)


def test_stacks_and_lists_of_columns(tmp_path, capsys):
    rng = np.random.default_rng(0)
    data, model = tmp_path / "d.csv", tmp_path / "m.hornbeam"
    table = pd.DataFrame(
        {"age": rng.integers(0, 4, 200), "sex": rng.integers(0, 2, 200), "x": rng.normal(size=200)}
    )
    table.assign(y=(table["age"] % 2) ^ table["sex"]).to_csv(data, index=False)
    flags = ["--method", "stacking", "--members", "tree, forest", "--random-state", "0"]
    assert run(["fit", str(data), "--target", "y", *flags, "-o", str(model)]) == 0
    stack = hb.load(model)
    assert [name for name, _ in stack.levels[0]] == ["tree", "forest"]
    assert run(["predict", str(model), str(data)]) == 0
    for named in ("age,sex", "age, sex", '["age", "sex"]', "0,1", "age"):
        assert run(["fit", str(data), "--target", "y", "--method", "tree", "--force", "-o", str(model),
                    "--categorical-features", named]) == 0  # fmt: skip
        kinds = hb.load(model)._model.schema.kinds
        assert kinds == ("categorical", "numeric" if named == "age" else "categorical", "numeric")


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize(
    "verb", ["fit", "predict", "evaluate", "compare", "tune", "show", "report", "export", "demo"]
)
def test_help_fits_the_window(verb, width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    assert run([verb, "--help"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    if verb == "fit":
        assert "Options of boosting:" in shown
        flat = " ".join(shown.split())
        assert "Takes gini, entropy, log_loss, accuracy, misclassification, gain_ratio, chi2, " in flat
        assert "Default: gini for classes, squared_error for numbers." in flat


# --- Whatever a file may hold ------------------------------------------------------------------------------

CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "2.5", "-3", "nan", "x", "é", '"', '""', '"a"', '"a\n', "1,5", " ", "\0", "1e400"]
    ),
    st.text(max_size=4),
)


@st.composite
def files(draw):
    if draw(st.integers(0, 9)) == 0:
        return draw(st.binary(max_size=60))
    separator = draw(st.sampled_from([",", ",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r", "\n\r"]))
    names = [*draw(st.lists(CELLS, min_size=1, max_size=3)), "y"]
    width = len(names)
    rows = [
        [draw(CELLS) for _ in range(width + draw(st.sampled_from([0] * 9 + [1, -1])))]
        for _ in range(draw(st.integers(0, 5)))
    ]
    text = end.join(separator.join(row) for row in (names, *rows)) + draw(st.sampled_from(["", end]))
    encoding = draw(st.sampled_from(["utf-8"] * 8 + ["utf-16", "latin-1"]))
    return text.encode(encoding, "replace")


@settings(max_examples=120, deadline=None)
@given(files(), st.sampled_from([[], [], ["--decimal", ","], ["--encoding", "latin-1"], ["--na", "x"]]))
@example(b"a,y\r1,2\r", [])
@example(b"a,y\r1,2\n3,4\n", [])
def test_any_file_is_fitted_or_refused_in_one_line(content, flags):
    """A bug would raise here: only mistakes of the user become exit codes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        path.write_bytes(content)
        code = run(["fit", str(path), "--target", "y", "--method", "tree", *flags])
        assert code in (0, 1)
        if code == 0:
            assert run(
                ["predict", str(path.with_suffix(".hornbeam")), str(path), "-o", f"{folder}/p.csv"]
            ) in (0, 1)
            evaluated = run(["evaluate", str(path.with_suffix(".hornbeam")), str(path), "--json"])
            assert evaluated == 0
