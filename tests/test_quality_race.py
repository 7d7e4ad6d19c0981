"""The race of defaults (benchmarks/quality): who is installed answers, and the options choose.

Nothing here looks at how good anybody is, beyond telling classes apart that one column tells apart.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.quality import __main__ as command
from benchmarks.quality.learners import LEARNERS
from benchmarks.quality.race import Turn, read_turns, run
from benchmarks.quality.tables import QualityTable
from benchmarks.quality.verdict import as_markdown

LIBRARIES = {
    "CatBoost": "catboost",
    "LightGBM": "lightgbm",
    "XGBoost": "xgboost",
    "YDF": "ydf",
    "YDF forest": "ydf",
}


def mixed_table(n_classes: int | None, n_rows: int = 150) -> QualityTable:
    """Make a table with gaps, texts, a name with brackets, and a column that tells the target."""
    rng = np.random.default_rng(0)
    if n_classes is None:
        y = rng.normal(size=n_rows)
        telling = y
    else:
        y = np.arange(n_rows) % (2 * n_classes - 1)
        y = np.minimum(y, n_classes - 1)  # the last class is the most frequent one
        telling = y.astype(float)
    texts = rng.choice(["red", "green", "blue"], n_rows).astype(object)
    texts[::7] = None
    texts[-1] = "seen once, by those who answer only"
    numbers = np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows))
    X = pd.DataFrame({"colour": pd.Categorical(texts), "size [mm]": numbers, "telling": telling})
    return QualityTable("made up", "regression" if n_classes is None else "binary", X, y)


@pytest.mark.filterwarnings("ignore")  # what other libraries say about tiny tables is not ours
@pytest.mark.parametrize("n_classes", [None, 2, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_every_contestant_answers_in_the_order_of_the_classes(name, n_classes):
    if name in LIBRARIES and find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{LIBRARIES[name]} is not installed")
    table = mixed_table(n_classes)
    with threadpool_limits(1):
        answers = LEARNERS[name](
            table.X.iloc[:120],
            table.y[:120],
            table.X.iloc[120:].reset_index(drop=True),
            n_classes is None,
        )
    truth = table.y[120:]
    if n_classes is None:
        assert answers.shape == (30,)
        assert np.corrcoef(answers, truth)[0, 1] > 0.8
    else:
        assert answers.shape == (30, n_classes)
        np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_array_equal(answers.argmax(axis=1), truth)


@pytest.mark.parametrize("name", ["YDF", "YDF forest"])
def test_classes_of_ydf_are_put_into_our_order(name, monkeypatch):
    """With a stand-in for the library, whose classes come the most frequent first."""
    shares = {"2": 0.6, "0": 0.1, "1": 0.3}

    def learner(label, task, num_threads):
        def train(frame, verbose):
            classes = list(frame[label].value_counts().index)  # the most frequent first
            chances = np.array([shares[c] if len(classes) > 2 else {"0": 0.2, "1": 0.8}[c] for c in classes])

            def predict(new):
                assert new["c0"].map(lambda text: text is None or isinstance(text, str)).all()
                return np.tile(chances, (len(new), 1)) if len(classes) > 2 else np.full(len(new), chances[1])

            return SimpleNamespace(predict=predict, label_classes=lambda: classes)

        assert (label, task, num_threads) == ("target", "classes", 1)
        return SimpleNamespace(train=train)

    module = SimpleNamespace(
        Task=SimpleNamespace(CLASSIFICATION="classes", REGRESSION="numbers"),
        GradientBoostedTreesLearner=learner,
        RandomForestLearner=learner,
    )
    monkeypatch.setitem(sys.modules, "ydf", module)
    for n_classes, expected in ((3, [0.1, 0.3, 0.6]), (2, [0.2, 0.8])):
        table = mixed_table(n_classes)
        answers = LEARNERS[name](table.X, table.y, table.X.iloc[:4], False)
        np.testing.assert_allclose(answers, np.tile(expected, (4, 1)))


def test_the_first_folds_are_run_and_none_twice(tmp_path):
    path = tmp_path / "turns.jsonl"
    some = {"n_folds": 3, "n_seeds": 1, "processes": 1, "path": path}
    run([mixed_table(2)], ["hornbeam forest"], first_folds=2, **some)
    first = read_turns(path)
    assert [(turn.fold, turn.fault) for turn in first] == [(0, ""), (1, "")]
    run([mixed_table(2)], ["hornbeam forest"], **some)
    assert read_turns(path)[:2] == first
    assert [turn.fold for turn in read_turns(path)] == [0, 1, 2]


def test_contestants_are_chosen_by_name_or_by_a_part_of_it():
    assert command.contestants([]) == list(LEARNERS)
    assert command.contestants(["hornbeam boosting"]) == ["hornbeam boosting"]
    assert command.contestants(["boosting,"]) == ["hornbeam boosting, 100 rounds"]
    assert command.contestants(["YDF forest", "hb."]) == ["hb.best", "YDF forest"]
    with pytest.raises(SystemExit, match=r"No contestant's name contains Ydf or cat\. There are: hornbeam"):
        command.contestants(["Ydf", "cat"])


@pytest.mark.parametrize(
    ("given", "job", "rows", "first_folds"),
    [
        ([], "quality", 5_000, None),
        (["--rows", "1000"], "quality_1000", 1_000, None),
        (["--held-out", "--rows", "3000"], "quality_held_out", 3_000, None),
        (["--full-size"], "quality_full_size", 40_000, 1),
        (["--full-size", "--rows", "9000", "--first-folds", "2"], "quality_full_size", 9_000, 2),
    ],
)
def test_every_rung_has_its_section_and_its_rows(given, job, rows, first_folds):
    chosen = command.arguments(given)
    assert (command.job_of(chosen), chosen.rows, chosen.first_folds) == (job, rows, first_folds)
    assert f"<!-- job: {job} -->" in command.RESULTS.read_text(encoding="utf-8")


def test_the_full_size_rung_races_on_large_tables_only(tmp_path, monkeypatch, capsys):
    def tables(most_rows, only):
        assert (most_rows, only) == (40_000, "a")
        y = np.zeros(command.MOST_ROWS)
        return [
            QualityTable("at the limit", "regression", pd.DataFrame({"x": y}), y),
            QualityTable("above", "regression", pd.DataFrame({"x": [*y, 1.0]}), np.array([*y, 1.0])),
        ]

    raced = []
    monkeypatch.setattr(command, "read_tables", tables)
    monkeypatch.setattr(command, "run", lambda tables, names, **how: raced.append((tables, names, how)))
    path = tmp_path / "turns.jsonl"
    assert command.main(["--full-size", "--table", "a", "--only", "YDF", "--out", str(path)]) == 0
    ((some, names, how),) = raced
    assert [table.name for table in some] == ["above"]
    assert names == ["YDF"]
    assert (how["n_folds"], how["first_folds"], how["path"]) == (5, 1, path)
    printed = capsys.readouterr().out
    assert "the first 1 of 5 folds, tables of more than 5,000 rows, at most 40,000 rows of a table" in printed


def test_times_are_compared_on_the_turns_that_both_have_finished():
    """The other failed on one table, and we have not run another: 4 s beside 2 s, not 104 s beside 52 s."""
    turns = [
        Turn("ours", "both", 900, 0, 0, loss=0.2, seconds=4.0),
        Turn("ours", "failed there", 900, 0, 0, loss=0.2, seconds=100.0),
        Turn("theirs", "both", 900, 0, 0, loss=0.4, seconds=2.0),
        Turn("theirs", "failed there", 900, 0, 0, fault="ValueError"),
        Turn("theirs", "not here", 900, 0, 0, loss=0.4, seconds=50.0),
    ]
    row = next(line for line in as_markdown(turns, ["ours"], "").splitlines() if "| theirs |" in line)
    assert row.startswith("| ours | theirs | 1 of 1, 0.500")
    assert row.endswith("| 2.00x |")
