"""Give a sparse matrix with indices outside its shape to whatever takes X; scipy would read and write there.

Every call has to raise ValueError. A process of its own, because what is not caught ends it. The name of a
call goes out before the call: after a crash the last line names the culprit.
"""

import json
import os
import warnings
from inspect import signature

import numpy as np
from scipy import sparse

import hornbeam as hb

warnings.simplefilter("ignore")
FORMATS = ("csr", "csc", "coo", "bsr")


def matrix():
    """Make a sound matrix of 60 x 4, half of whose cells are stored."""
    return sparse.csr_array(
        np.arange(1.0, 241.0).reshape(60, 4) * (np.arange(240).reshape(60, 4) * 7 % 5 < 3)
    )


def corruptions(format_name):
    """Yield broken copies of it, and what is broken."""
    sound = matrix().asformat(format_name)
    for bad in (10**6, 2**31 - 1, -(10**6)):
        broken = sound.copy()
        (broken.row if format_name == "coo" else broken.indices)[5] = bad
        yield f"index {bad}", broken
    if format_name != "coo":
        for place, bad in ((2, 10**6), (-1, 10**6), (1, -5)):
            broken = sound.copy()
            broken.indptr[place] = bad
            yield f"pointer {place} {bad}", broken


def makers():
    """Name everything with a fit of X and y."""
    neighbours = hb.KNeighborsClassifier(3)
    tree = hb.DecisionTreeClassifier(max_depth=2)
    for name in hb.__all__:
        if name.endswith(("Classifier", "Regressor")) and not name.startswith("Stacking"):
            options = {"n_jobs": 1} if name.startswith(("Bagging", "KNeighbors")) else {}
            yield name, lambda name=name, options=options: getattr(hb, name)(**options)
    yield "DensityTree", hb.DensityTree
    yield "bag of neighbours", lambda: hb.BaggingClassifier(neighbours, n_estimators=3, n_jobs=1)
    yield "bag of columns", lambda: hb.BaggingClassifier(neighbours, n_estimators=3, max_features=2, n_jobs=1)
    yield "AdaBoost resampling", lambda: hb.AdaBoostClassifier(neighbours, n_estimators=3, resample=True)
    for passthrough in (False, True):
        levels = [[("k", neighbours), ("t", tree)]]
        yield (
            f"stack {passthrough}",
            lambda levels=levels, on=passthrough: hb.StackingClassifier(
                levels, passthrough=on, cv=2, n_jobs=1
            ),
        )
    numbers = [[("k", hb.KNeighborsRegressor(3))]]
    yield "stack of regressors", lambda: hb.StackingRegressor(numbers, cv=2, n_jobs=1)


def questions(sound, y):
    """Fit everything to a sound matrix, and list the questions it answers."""
    found = []
    for name, make in makers():
        model = make().fit(sound, y)
        for method in ("predict", "predict_proba", "decision_function", "apply", "transform", "kneighbors"):
            if method == "apply" and name == "stack of regressors":
                continue  # no member is made of trees
            try:
                getattr(model, method)(sound)
            except (AttributeError, NotImplementedError):
                continue
            found.append((f"{name}.{method}", getattr(model, method)))
        if hasattr(model, "predict"):
            found.append((f"{name}.score", lambda X, model=model: model.score(X, y)))
    forest = hb.RandomForestClassifier(3, n_jobs=1).fit(sound, y)
    bag = hb.BaggingClassifier(hb.KNeighborsClassifier(3), n_estimators=3, max_features=2).fit(sound, y)
    grid = {"max_depth": [1, 2]}
    return [
        *found,
        ("report", lambda X: hb.report(forest, X, y, path=os.devnull)),
        ("distill", lambda X: hb.distill(forest, X, random_state=0)),
        ("bootstrap", lambda X: hb.bootstrap(lambda rows: rows.shape[0], X, n=3, random_state=0)),
        ("bias_variance", lambda X: hb.bias_variance(hb.DecisionTreeClassifier(), X, y, n=2)),
        ("member_agreement", lambda X: hb.member_agreement(bag, X)),
        ("compare", lambda X: hb.compare(X, y, cv=2)),
        ("tune", lambda X: hb.tune(X, y, hb.DecisionTreeClassifier(), grid, cv=2)),
    ]


def fits(y):
    """List the fits; weights of zero take rows away first."""
    found = []
    for name, make in makers():
        found.append((f"{name}.fit", lambda X, make=make: make().fit(X, y)))
        if "sample_weight" in signature(make().fit).parameters:
            found.append((f"{name}.fit with weights", lambda X, make=make: make().fit(X, y, sample_weight=y)))
    return found


def main():
    """Make every call for every format and corruption; report those that were not refused."""
    y = np.arange(60) % 2
    calls = [*fits(y), *questions(matrix(), y)]
    taken = []
    for format_name in FORMATS:
        for what, broken in corruptions(format_name):
            for name, call in calls:
                print(f"{format_name}, {what}: {name}", flush=True)
                try:
                    call(broken)
                except (ValueError, TypeError) as error:
                    if "corrupt" not in str(error):
                        taken.append(f"{format_name}, {what}: {name}: {error}")
                else:
                    taken.append(f"{format_name}, {what}: {name}")
    print(json.dumps({"taken": taken, "calls": len(calls)}))


main()
