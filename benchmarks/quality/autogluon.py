"""`hb.best` beside AutoGluon's tree models, with the same seconds for both.

AutoGluon asks for an older pandas than we do, so each side is run in an environment of its own, from the root
of the repository, and adds its turns to the same file:

    .venv-bench/bin/python -m benchmarks.quality.autogluon hb.best --out out/autogluon.jsonl
    ENVIRONMENT/bin/python -m benchmarks.quality.autogluon AutoGluon --out out/autogluon.jsonl

where ENVIRONMENT has `autogluon.tabular[lightgbm,catboost,xgboost]`. One thread; turns that are in the file
are not run again. Seconds are of the wall clock, so nothing else should run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.quality.learners import Answers, hornbeam_best
from benchmarks.quality.race import Turn, loss_of, read_turns, rows_of
from benchmarks.quality.tables import QualityTable, read_tables

MOST_ROWS = 5_000
N_FOLDS = 5
# Every sixth table in the order of the alphabet.
TABLES = (
    "auto_mpg",
    "car_evaluation",
    "diabetes_progression",
    "heart_cleveland",
    "insurance_charges",
    "kr_vs_kp",
    "nursery",
    "pima_diabetes_missing",
    "sonar",
    "titanic3",
    "wine_quality",
)


def autogluon(
    X: pd.DataFrame, y: NDArray[np.float64], X_new: pd.DataFrame, numbers: bool, *, time_budget: float
) -> Answers:
    """AutoGluon's best quality (bags and stacks), of all its models that are made of trees."""
    from autogluon.tabular import TabularPredictor
    from autogluon.tabular.configs.hyperparameter_configs import get_hyperparameter_config

    of_trees = {"GBM", "CAT", "XGB", "RF", "XT"}
    settings = {k: v for k, v in get_hyperparameter_config("default").items() if k in of_trees}
    kind = "regression" if numbers else "binary" if len(np.unique(y)) == 2 else "multiclass"
    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor(
            label="target of the race",
            path=f"{folder}/model",
            problem_type=kind,
            eval_metric="mean_squared_error" if numbers else "log_loss",
            verbosity=0,
        ).fit(
            X.assign(**{"target of the race": y}),
            time_limit=time_budget,
            presets="best_quality",
            hyperparameters=settings,
            num_cpus=1,
            num_gpus=0,
        )
        answers = model.predict(X_new) if numbers else model.predict_proba(X_new)
    return np.asarray(answers, dtype=np.float64)


CONTESTANTS = {"hb.best": hornbeam_best, "AutoGluon": autogluon}


def turn_of(who: str, table: QualityTable, fold: int, time_budget: float) -> Turn:
    turn = Turn(who, table.name, len(table.y), 0, fold)
    train, test = rows_of(table, turn, N_FOLDS)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = CONTESTANTS[who](
            table.X.iloc[train].reset_index(drop=True),
            table.y[train],
            table.X.iloc[test].reset_index(drop=True),
            table.is_regression,
            time_budget=time_budget,
        )
    seconds = round(time.perf_counter() - begin, 1)
    return Turn(*turn.place, loss=loss_of(table, answers, test), seconds=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Race hb.best and AutoGluon at equal time.")
    parser.add_argument("who", choices=CONTESTANTS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--folds", type=int, default=2, help="how many of the five")
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    done = {turn.place for turn in read_turns(chosen.out)}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    tables = [table for table in read_tables(MOST_ROWS) if table.name in TABLES]
    for fold in range(chosen.folds):
        for table in tables:
            if (chosen.who, table.name, len(table.y), 0, fold) in done:
                continue
            turn = turn_of(chosen.who, table, fold, chosen.seconds)
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(turn)) + "\n")
            print(f"{turn.learner} {turn.table} {turn.fold}: {turn.loss:.4f} in {turn.seconds} s", flush=True)


if __name__ == "__main__":
    main()
