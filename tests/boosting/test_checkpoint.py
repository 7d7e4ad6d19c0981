"""Fits of boosting that are killed and go on: the model is that of an unbroken fit, bit for bit."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hornbeam as hb
from hornbeam.data.streams.code_file import CodeFileError

SCRIPT = """
    import os, pickle, signal, sys, time
    import pyarrow.parquet as pq
    import hornbeam as hb

    folder, killed_in, from_files = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "files"
    seen = []

    def after(round):
        seen.append(round.number)
        time.sleep(0.01)
        if round.number == killed_in:
            os.kill(os.getpid(), signal.SIGKILL)

    model = hb.GradientBoostingRegressor(**eval(sys.argv[4]))
    kept = {"checkpoint": os.path.join(folder, "kept"), "callbacks": [after]}
    if from_files:
        model.fit(os.path.join(folder, "data"), target="y", **kept)
    else:
        table = pq.read_table(os.path.join(folder, "data"))
        model.fit(table.drop(["y"]), table["y"], **kept)
    with open(os.path.join(folder, "model"), "wb") as file:
        pickle.dump((model, seen), file)
"""


def run(folder: Path, killed_in: int, source: str, options: dict[str, Any]) -> int:
    command = [sys.executable, "-c", textwrap.dedent(SCRIPT)]
    arguments = [str(folder), str(killed_in), source, repr(options)]
    return subprocess.run([*command, *arguments], check=False, timeout=120).returncode


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
@pytest.mark.parametrize(
    ("source", "options", "accidents"),
    [
        ("table", {"n_members": 2, "random_state": 3, "n_iter_no_change": 8}, [13]),  # finds its own length
        ("files", {"n_estimators": 30, "random_state": 0, "subsample": 0.7}, [7, 19]),
    ],
)
def test_a_killed_fit_goes_on(
    source: str, options: dict[str, Any], accidents: list[int], tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    random = np.random.default_rng(5)
    columns = {"a": random.normal(size=500), "b": random.choice(["x", "y"], 500)}
    table = pa.table({**columns, "y": columns["a"] ** 2 + random.normal(size=500)})
    pq.write_table(table, tmp_path / "data" / "t.parquet")
    for killed_in in accidents:
        assert run(tmp_path, killed_in, source, options) == -signal.SIGKILL
        names = {path.name for path in (tmp_path / "kept").iterdir()}
        assert {"boosting.checkpoint", *(["table.codes"] if source == "files" else [])} <= names
    assert run(tmp_path, 0, source, options) == 0
    with (tmp_path / "model").open("rb") as file:
        model, seen = pickle.load(file)
    assert 1 < seen[0] <= accidents[-1]  # it has gone on, not begun again
    assert not any((tmp_path / "kept").iterdir())
    X = table.drop(["y"])
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(X, table["y"]), X)


def assert_same(found: Any, wanted: Any, X: Any) -> None:
    np.testing.assert_array_equal(found.predict(X), wanted.predict(X))
    np.testing.assert_array_equal(found.train_score_, wanted.train_score_)
    np.testing.assert_array_equal(found.validation_score_, wanted.validation_score_)
    assert (found.n_iter_, found.best_iteration_) == (wanted.n_iter_, wanted.best_iteration_)
    assert len(found._model.trees) == len(wanted._model.trees)


@pytest.mark.parametrize("stopped_in", [2, 9, 23])
@pytest.mark.parametrize("growth", ["best_first", "symmetric"])
@pytest.mark.parametrize("judged", [False, True])
def test_an_interrupted_fit_goes_on(stopped_in: int, judged: bool, growth: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4))
    y = 1e6 + X[:, 0] * X[:, 1] + random.normal(size=300)
    rows = {"X_val": X[:90] + 0.3, "y_val": y[:90]} if judged else {}
    options = {"n_estimators": 60, "early_stopping": judged or "auto", "random_state": 1, "max_features": 0.5}
    options["growth"] = growth

    def stop(round_: Any) -> None:
        if round_.number == stopped_in:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hb.GradientBoostingRegressor(**options).fit(X, y, checkpoint=tmp_path, callbacks=[stop], **rows)
    found = hb.GradientBoostingRegressor(**options).fit(X, y, checkpoint=tmp_path, **rows)
    assert_same(found, hb.GradientBoostingRegressor(**options).fit(X, y, **rows), X)
    assert not any(tmp_path.iterdir())


def _interrupted(folder: Path, **options: Any) -> tuple[Any, Any]:
    """Leave the checkpoint of a fit that a callback has ended by Ctrl-C."""
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = X[:, 0] + random.normal(size=200)

    def stop(round_: Any) -> None:
        if round_.number == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hb.GradientBoostingRegressor(**options).fit(X, y, checkpoint=folder, callbacks=[stop])
    assert [path.name for path in folder.iterdir()] == ["boosting.checkpoint"]
    return X, y


def test_a_seed_that_is_drawn_is_kept(tmp_path: Path) -> None:
    """Rounds that draw rows go on with the key of the first process; a fit with another one would differ."""
    options = {"n_estimators": 12, "subsample": 0.5}
    X, y = _interrupted(tmp_path, **options)
    kept = (tmp_path / "boosting.checkpoint").read_bytes()
    models = []
    for _ in range(2):
        (tmp_path / "boosting.checkpoint").write_bytes(kept)
        models.append(hb.GradientBoostingRegressor(**options).fit(X, y, checkpoint=tmp_path))
        assert not any(tmp_path.iterdir())
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))


def test_several_scores_and_categories_go_on(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    table = pa.table(
        {
            "a": random.normal(size=300),
            "few": random.choice(["x", "y", "z"], 300),
            "many": [f"k{k}" for k in random.integers(0, 50, 300)],
        }
    )
    y = random.choice(["p", "q", "r"], 300)
    options = {"n_estimators": 8, "random_state": 0, "min_samples_leaf": 3}

    def stop(round_: Any) -> None:
        if round_.number == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hb.GradientBoostingClassifier(**options).fit(table, y, checkpoint=tmp_path, callbacks=[stop])
    found = hb.GradientBoostingClassifier(**options).fit(table, y, checkpoint=tmp_path)
    wanted = hb.GradientBoostingClassifier(**options).fit(table, y)
    np.testing.assert_array_equal(found.predict_proba(table), wanted.predict_proba(table))


def test_another_fit_is_refused(tmp_path: Path) -> None:
    X, y = _interrupted(tmp_path, n_estimators=12)
    for changed in (
        {"n_estimators": 12, "learning_rate": 0.2},
        {"n_estimators": 13},
        {"n_estimators": 12, "max_bins": 20},
    ):
        with pytest.raises(ValueError, match="belongs to another fit"):
            hb.GradientBoostingRegressor(**changed).fit(X, y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="belongs to another fit"):
        hb.GradientBoostingRegressor(n_estimators=12).fit(X, y + 1, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="use one of them"):
        hb.GradientBoostingRegressor(n_estimators=12, warm_start=True).fit(X, y, checkpoint=tmp_path)


@pytest.mark.parametrize("source", ["memory", "frame"])
def test_a_loss_of_ones_own_is_refused_before_any_work(tmp_path: Path, source: str) -> None:
    class NeverAsked:
        def gradient_hessian(self, y: Any, score: Any) -> Any:
            raise AssertionError("the fit has begun")

    folder = tmp_path / "kept"
    # The table is wrong, too: a fit that looked at it first would say so.
    X, given = [["text", object()]], {"y": [1.0, 2.0]} if source == "memory" else {"target": "nowhere"}
    for cls in (hb.GradientBoostingRegressor, hb.GradientBoostingClassifier):
        with pytest.raises(ValueError, match="checkpoint does not go with a loss of your own"):
            cls(5, loss=NeverAsked()).fit(X, **given, checkpoint=folder)
    assert not folder.exists()


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    X, y = _interrupted(tmp_path, n_estimators=12)
    path = tmp_path / "boosting.checkpoint"
    content = bytearray(path.read_bytes())
    content[-100] ^= 1
    for damaged in (bytes(content), bytes(content[:50]), b"text"):
        path.write_bytes(damaged)
        with pytest.raises(CodeFileError, match="Remove it"):
            hb.GradientBoostingRegressor(n_estimators=12).fit(X, y, checkpoint=tmp_path)


def test_what_a_killed_writer_has_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".boosting.checkpoint-0123.tmp").write_bytes(b"half")
    (tmp_path / ".table.codes-0123.tmp").write_bytes(b"half")
    (tmp_path / ".hornbeam-0123").mkdir()
    (tmp_path / ".hornbeam-0123" / "stream.parquet").write_bytes(b"half")
    table = pa.table({"x": np.arange(40.0), "y": np.arange(40.0)})
    hb.GradientBoostingRegressor(n_estimators=3).fit(table, target="y", checkpoint=tmp_path)
    assert not os.listdir(tmp_path)


def test_targets_whose_digits_are_rounded_away_are_refused(tmp_path: Path) -> None:
    """The values of trees are multiples of 5e-324 there, and what rows have been given is not."""
    X = np.arange(40.0).reshape(-1, 1)
    y = np.sin(X[:, 0])
    for size, is_refused in ((1e-250, False), (1e-290, True), (1e-310, True)):
        model = hb.GradientBoostingRegressor(3)
        if is_refused:
            with pytest.raises(ValueError, match="y is too small for a checkpoint: its largest number is 1e"):
                model.fit(X, y * size, checkpoint=tmp_path)
        else:
            model.fit(X, y * size, checkpoint=tmp_path)
        model.fit(X, y * size)
