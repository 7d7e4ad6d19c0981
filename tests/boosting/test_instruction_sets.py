"""Boosting says the same, bit for bit, whatever instructions its inner loops are made of."""

import hashlib

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

N_ROWS = 6_000  # large nodes are sets, small ones lists, and most end in the middle of a word


def table(rng):
    """Numbers, few and many categories, gaps."""
    numbers = rng.normal(size=(N_ROWS, 6)).astype(np.float32)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    frame = pd.DataFrame(numbers, columns=[f"x{j}" for j in range(6)])
    frame["few"] = pd.Categorical(rng.integers(0, 7, N_ROWS))
    frame["many"] = pd.Categorical(rng.integers(0, 150, N_ROWS))
    return frame


def digests():
    """One line per kind of fit: all that its trees say to the rows they were grown on."""
    rng = np.random.default_rng(0)
    X = table(rng)
    signal = (
        X["x0"].fillna(0) * (X["few"].cat.codes % 3) + np.sin(X["many"].cat.codes) + rng.normal(size=N_ROWS)
    )
    weights = rng.uniform(0.5, 2.0, N_ROWS)
    options = {
        "n_estimators": 15,
        "max_leaf_nodes": 40,
        "min_samples_leaf": 5,
        "n_jobs": 1,
        "random_state": 0,
    }
    two, five = signal > 0, pd.qcut(signal, 5, labels=False)
    classifier, regressor = hb.GradientBoostingClassifier, hb.GradientBoostingRegressor
    said = {
        "two classes": classifier(**options).fit(X, two).decision_function(X),
        "five classes": classifier(**options).fit(X, five).decision_function(X),
        "weighted": classifier(**options).fit(X, two, sample_weight=weights).decision_function(X),
        "a sample, shrunk": regressor(subsample=0.5, l1_regularization=2.0, **options)
        .fit(X, signal)
        .predict(X),
        "absolute error": regressor(loss="absolute_error", **options).fit(X, signal).predict(X),
    }
    return [
        f"{name} {hashlib.sha256(np.ascontiguousarray(values)).hexdigest()}" for name, values in said.items()
    ]


@pytest.mark.parametrize("instructions", ["baseline", "avx2"])
def test_smaller_instruction_sets_grow_the_same_trees(instructions, run_with_instructions):
    run = run_with_instructions(instructions, __file__)
    assert run.returncode == 0, run.stderr[-2000:]
    assert run.stdout.splitlines() == digests()


if __name__ == "__main__":
    print("\n".join(digests()))
