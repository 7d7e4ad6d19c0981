"""`compare` and `tune` at the command line, and a tree that asks its questions."""

import io
import json
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

import hornbeam as hb
from hornbeam.cli.main import run
from hornbeam.datasets import restaurant


@pytest.fixture
def flowers(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    path = tmp_path / "iris.csv"
    X.assign(kind=y.map({0: "setosa", 1: "versicolor", 2: "virginica"})).to_csv(path, index=False)
    return path


def test_compare_prints_the_leaderboard_of_the_api(flowers, capsys):
    flags = ["--target", "kind", "--method", "tree", "--method", "neighbors", "--no-search", "--folds", "3"]
    assert run(["compare", str(flowers), *flags, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    X, y = load_iris(return_X_y=True)
    expected = hb.compare(X, y, methods=["tree", "neighbors"], search=False, cv=3, random_state=0)
    assert [record["method"] for record in found["methods"]] == list(expected.names)
    for one, other in zip(found["methods"], expected.records, strict=True):
        assert one["accuracy"] == pytest.approx(other["accuracy"])
    assert found["verdict"] == expected.verdict and found["saved"] is None
    assert run(["compare", str(flowers), *flags]) == 0
    assert "Best is" in capsys.readouterr().out


def test_compare_saves_the_winner_even_if_it_is_linear(flowers, tmp_path, capsys):
    out = tmp_path / "best.hornbeam"
    flags = ["--target", "kind", "--method", "tree", "--method", "linear", "--no-search", "--out", str(out)]
    assert run(["compare", str(flowers), *flags, "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["methods"][0]["method"] == found["saved"] == "linear"
    assert printed.err == ""
    assert run(["predict", str(out), str(flowers), "--probabilities"]) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.startswith("prediction,probability setosa") and first.startswith("setosa,0.9")
    assert run(["evaluate", str(out), str(flowers), "--target", "kind", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"]["model"]["accuracy"] > 0.95
    assert run(["show", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("LogisticRegression") and lines[2] == "towards setosa:"
    strongest = hb.load(out).steps[-1][1].coef_[0][np.argmax(np.abs(hb.load(out).steps[-1][1].coef_[0]))]
    assert float(lines[3].split()[0]) == pytest.approx(strongest, rel=1e-3)
    assert run(["export", str(out)]) == 1
    assert "made of hornbeam's trees" in capsys.readouterr().err


def test_compare_saves_the_best_that_a_file_can_hold(tmp_path, capsys):
    """Nothing beats the baseline where there is nothing to learn, and a file holds no guesses."""
    data, out = tmp_path / "noise.csv", tmp_path / "best.hornbeam"
    data.write_text("a,y\n" + "".join(f"{i % 7},{'no' if i % 3 else 'yes'}\n" for i in range(60)))
    assert (
        run(["compare", str(data), "--target", "y", "--method", "tree", "--no-search", "--out", str(out)])
        == 0
    )
    printed = capsys.readouterr()
    assert "baseline is best, but a model file cannot hold it: tree was saved" in printed.err
    assert "`hb.compare(...).best_` can be pickled" in printed.err
    assert isinstance(hb.load(out), hb.DecisionTreeClassifier)


def test_a_threshold_goes_with_the_model(tmp_path, capsys):
    data, out = tmp_path / "rare.csv", tmp_path / "rare.hornbeam"
    generator = np.random.default_rng(0)
    a = generator.normal(size=400)
    sick = a + generator.normal(size=400) > 2
    data.write_text("a,y\n" + "".join(f"{x},{'yes' if s else 'no'}\n" for x, s in zip(a, sick, strict=True)))
    flags = ["--target", "y", "--method", "linear", "--no-search", "--folds", "3"]
    assert run(["compare", str(data), *flags, "--threshold", "yes=20,no=1", "--out", str(out)]) == 0
    assert "It answers yes from a share of 0." in capsys.readouterr().out
    assert run(["predict", str(out), str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    least = min(float(line.split(",")[2]) for line in lines if line.startswith("yes"))
    most = max(float(line.split(",")[2]) for line in lines if line.startswith("no"))
    assert most < least < 0.3
    assert run(["predict", str(out), str(data), "--threshold", "0"]) == 0
    assert all(line.startswith("yes") for line in capsys.readouterr().out.splitlines()[1:])
    assert run(["compare", str(data), *flags, "--threshold", "yes=much,no=1"]) == 2
    assert "a number for each class" in capsys.readouterr().err


def test_best_saves_a_blend_and_says_who_is_in_it(flowers, tmp_path, capsys):
    out = tmp_path / "best.hornbeam"
    assert run(["best", str(flowers), "--target", "kind", "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = hb.load(out)
    assert isinstance(model, hb.BlendClassifier) and found["verdict"] == model.verdict_
    assert {record["member"] for record in found["members"] if record["weight"]} == set(model.weights_)
    assert sum(record["weight"] for record in found["members"]) == pytest.approx(1)
    assert run(["predict", str(out), str(flowers)]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("setosa")
    assert run(["show", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"BlendClassifier of {len(model.weights_)} members. ")
    assert sum(", weight " in line for line in lines) == len(model.weights_)
    assert run(["show", str(out), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["members"]
    assert {name: message["weight"] for name, message in shown.items()} == model.weights_
    assert run(["best", str(flowers), "--target", "kind", "--time-budget", "0"]) == 1
    assert "time_budget must be a number of seconds above 0" in capsys.readouterr().err
    assert run(["best", str(flowers), "--target", "kind", "--time-budget", "0.2"]) == 0
    shown = capsys.readouterr().out
    assert "boosting" in shown and "on rows" in shown


def test_tune_ends_in_time(flowers, capsys):
    flags = ["--target", "kind", "--method", "tree", "--grid", "max-depth=1,2,3", "--json"]
    assert run(["tune", str(flowers), *flags, "--time-budget", "0.000001"]) == 0
    assert len(json.loads(capsys.readouterr().out)["settings"]) == 1
    assert run(["tune", str(flowers), *flags, "--time-budget", "600"]) == 0
    assert len(json.loads(capsys.readouterr().out)["settings"]) == 3
    assert run(["tune", str(flowers), *flags, "--time-budget", "0"]) == 1
    assert "time_budget must be a number of seconds above 0" in capsys.readouterr().err


def test_tune_prints_the_scores_of_grid_search(flowers, tmp_path, capsys):
    out = tmp_path / "tuned.hornbeam"
    flags = ["--target", "kind", "--method", "tree", "--criterion", "entropy", "--grid", "max-depth=1,2,none"]
    assert run(["tune", str(flowers), *flags, "--out", str(out), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    X, y = load_iris(return_X_y=True)
    tree = hb.DecisionTreeClassifier(criterion="entropy", random_state=0)
    expected = GridSearchCV(tree, {"max_depth": [1, 2, None]}, cv=5).fit(X, y)
    assert found["best"] == expected.best_params_
    scores = {setting["max_depth"]: setting["score"] for setting in found["settings"]}
    means = dict(zip([1, 2, None], expected.cv_results_["mean_test_score"], strict=True))
    assert scores == pytest.approx(means)
    assert hb.load(out).max_depth == expected.best_params_["max_depth"]


def test_tune_takes_the_usual_grid_and_the_simplest_setting(flowers, tmp_path, capsys):
    out = tmp_path / "tuned.hornbeam"
    flags = ["--target", "kind", "--method", "neighbors", "--folds", "3", "--choose", "one-standard-error"]
    assert run(["tune", str(flowers), *flags, "--out", str(out)]) == 0
    assert "n_neighbors" in capsys.readouterr().out
    found = hb.tune(*load_iris(return_X_y=True), hb.KNeighborsClassifier(), cv=3)
    assert hb.load(out).n_neighbors == found.one_standard_error_params_["n_neighbors"]


# --- Questions ---------------------------------------------------------------------------------------------


@pytest.fixture
def evenings(tmp_path):
    table = restaurant()
    model = tmp_path / "model.hornbeam"
    hb.save(hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y), model)
    return model


def asked(model, answers, monkeypatch, capsys, *flags):
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    code = run(["show", str(model), "--ask", *flags])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_tree_asks_only_what_it_needs(evenings, monkeypatch, capsys):
    code, out, err = asked(evenings, "Some\n", monkeypatch, capsys)
    assert code == 0
    assert err == "Patrons? (one of {Full, None, Some}; empty if unknown) "
    assert out.splitlines()[-1].startswith("answer: Yes")


def test_every_row_gets_its_answer_by_questions(evenings, monkeypatch, capsys):
    table = restaurant()
    model = hb.load(evenings)
    for row, answer in enumerate(table.y):
        known = table.frame().iloc[row].to_dict()
        asks = [step.feature for step in model.explain(known).steps]
        lines = "".join(f"{known[name]}\n" for name in dict.fromkeys(asks))
        code, out, _ = asked(evenings, lines, monkeypatch, capsys, "--json")
        shown = json.loads(out)
        assert code == 0 and shown["answer"].startswith(answer)
        assert shown["asked"] == {name: known[name] for name in dict.fromkeys(asks)}


def test_answers_are_asked_for_again_until_they_can_be_read(evenings, monkeypatch, capsys):
    code, out, err = asked(evenings, "crowded\nSOME\n", monkeypatch, capsys)
    assert code == 0 and "crowded is none of {Full, None, Some}." in err and "Yes" in out
    code, out, err = asked(evenings, "crowded\n", monkeypatch, capsys)
    assert code == 1 and "The input ended" in err and out == ""


def test_numbers_are_read_and_unknown_values_take_their_branch(tmp_path, monkeypatch, capsys):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = tmp_path / "m.hornbeam"
    tree = hb.DecisionTreeClassifier(max_depth=1).fit(X, y)
    hb.save(tree, model)
    code, out, err = asked(model, "long\n1.4\n", monkeypatch, capsys)
    assert code == 0 and "long is not a number" in err and "answer: 0" in out
    code, out, _ = asked(model, "\n", monkeypatch, capsys)
    assert code == 0 and "is missing" in out


def test_show_lists_the_tests_that_a_node_could_have_asked(evenings, tmp_path, capsys):
    table = restaurant()
    data = tmp_path / "rows.csv"
    table.frame().assign(WillWait=table.y).to_csv(data, index=False)
    assert run(["show", str(evenings), "--splits", str(data), "--target", "WillWait"]) == 0
    lines = capsys.readouterr().out.splitlines()
    chosen = [line for line in lines if line.endswith("<- asked")]
    assert len(chosen) == 1 and "Patrons" in chosen[0]
    expected = hb.load(evenings).split_table(table.frame(), table.y)
    assert len(lines) == 1 + len(expected)
