"""Folders and patterns of Parquet files at the command line: the model of one table, read in blocks."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hornbeam as hb
from hornbeam.baseline import baseline
from hornbeam.cli.main import run
from hornbeam.cli.scores import baseline_scores, own_baseline_scores


@pytest.fixture
def folder(tmp_path):
    random = np.random.default_rng(0)
    place = tmp_path / "data"
    place.mkdir()
    for number in range(3):
        a, b = random.normal(size=200), random.choice(["x", "y"], 200)
        table = pa.table({"a": a, "b": b, "id": np.arange(200), "y": np.where(a > 0, "yes", "no")})
        pq.write_table(table, place / f"{number}.parquet", row_group_size=64)
    return place


def test_a_pattern_gives_the_model_of_the_table(folder, tmp_path, capsys):
    out = tmp_path / "model.hornbeam"
    flags = ["--target", "y", "--method", "boosting", "--n-estimators", "5", "--id", "id", "--out", str(out)]
    assert run(["fit", str(folder / "*.parquet"), *flags, "--max-memory", "1GB"]) == 0
    assert "600 rows and 2 columns" in capsys.readouterr().out
    table = pq.read_table(folder)
    X = table.select(["a", "b"])
    wanted = hb.GradientBoostingClassifier(n_estimators=5).fit(X, table["y"])
    np.testing.assert_array_equal(hb.load(out).predict_proba(X), wanted.predict_proba(X))


def test_a_forest_of_a_folder_has_bins_and_is_judged_out_of_bag(folder, capsys):
    flags = ["--target", "y", "--n-estimators", "20", "--drop", "id", "--json"]
    assert run(["fit", str(folder), *flags]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["judged"]["how"] == "out of bag" and facts["judged"]["model"]["accuracy"] > 0.95
    assert facts["rows"] == 600 and facts["columns"] == 2
    assert hb.load(facts["model"]).max_bins == 255


@pytest.mark.parametrize("inner", [".", ".."])
def test_the_model_of_this_folder_has_its_name(folder, inner, monkeypatch, capsys):
    place = folder if inner == "." else folder / "inner"
    place.mkdir(exist_ok=True)
    monkeypatch.chdir(place)
    assert run(["fit", inner, "--target", "y", "--method", "tree"]) == 0
    assert "Saved as data.hornbeam" in capsys.readouterr().out
    assert hb.load(place / "data.hornbeam").get_depth() >= 1


def test_folders_within_a_folder_and_the_short_ending(folder, tmp_path, capsys):
    (folder / "deep").mkdir()
    (folder / "0.parquet").rename(folder / "deep" / "0.pq")
    (folder / "1.parquet").unlink()
    (folder / "2.parquet").unlink()
    out = tmp_path / "model.hornbeam"
    assert run(["fit", str(folder), "--target", "y", "--method", "tree", "--out", str(out)]) == 0
    assert "200 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--target", "z"], "target='z' is not a column"),
        (["--target", "y", "--method", "neighbors"], "learn from bins"),
        (["--target", "y", "--max-memory", "much"], "max_memory"),
        (["--target", "y", "--drop", "nothing"], "'nothing' is not a column"),
    ],
)
def test_mistakes(folder, capsys, flags, said):
    assert run(["fit", str(folder), *flags]) != 0
    assert said in capsys.readouterr().err


def test_a_pattern_needs_a_name_for_the_model(folder, capsys):
    assert run(["fit", str(folder / "*.parquet"), "--target", "y"]) != 0
    assert "--out" in capsys.readouterr().err


@pytest.mark.parametrize("y", [[3.0, 1.5, 1.5, 2.0], [4.0, 4.0], [1.0], ["a", "b", "a", "c"], ["one", "one"]])
def test_the_guess_is_scored_in_little_memory_as_it_is_elsewhere(y, monkeypatch):
    monkeypatch.setattr("hornbeam.cli.scores._ROWS_AT_ONCE", 3)
    rows = np.array(y)
    guess = baseline(rows, task="classification" if rows.dtype.kind == "U" else "regression")
    assert own_baseline_scores(guess, rows) == pytest.approx(baseline_scores(guess, rows), abs=1e-12)


def test_an_empty_folder(tmp_path, capsys):
    assert run(["fit", str(tmp_path), "--target", "y", "--out", str(tmp_path / "m.hornbeam")]) != 0
    assert "is a folder" in capsys.readouterr().err
    (tmp_path / "year=2024").mkdir()
    assert run(["fit", str(tmp_path), "--target", "y", "--out", str(tmp_path / "m.hornbeam")]) != 0
    assert "no Parquet files" in capsys.readouterr().err
