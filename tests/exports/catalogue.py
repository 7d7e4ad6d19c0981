"""Small models of every kind that can be exported, on a table of every kind of column, with hostile names."""

import numpy as np
import pandas as pd

import hornbeam as hb

HOSTILE = [
    'si"ze',
    "col'our; DROP TABLE x; --",
    "select",
    "größe 😀",
    "a */ b",
    "@nodes@",
    "score_0",
]


def mixed_frame(n=300, seed=0):
    """Return a table with numbers, texts, ordered texts, truth values and numbers as categories, and gaps."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            HOSTILE[0]: draw.normal(size=n).round(2),
            HOSTILE[1]: draw.choice(["red", "bl'ue", "gr\nün", '"quoted"', "\\N", ""], n),
            HOSTILE[2]: pd.Categorical(
                draw.choice(["low", "mid", "high"], n), categories=["low", "mid", "high"], ordered=True
            ),
            HOSTILE[3]: draw.integers(0, 9, n).astype(float),
            HOSTILE[4]: pd.Categorical(draw.choice([True, False], n)),
            HOSTILE[5]: pd.Categorical(draw.choice([1, 5, 7], n)),
            HOSTILE[6]: draw.normal(size=n),
        }
    )
    for column in frame.columns:
        frame[column] = frame[column].mask(draw.random(n) < 0.08)
    return frame


def targets(frame):
    """Return counts that depend on all kinds of columns."""
    return (
        (frame[HOSTILE[0]].fillna(0).to_numpy() > 0).astype(int)
        + (frame[HOSTILE[1]] == "red").to_numpy()
        + (frame[HOSTILE[2]] == "low").to_numpy()
        + (frame[HOSTILE[5]] == 5).to_numpy()
    )


def fit_models():
    """Fit them all; by name."""
    frame = mixed_frame()
    y = targets(frame)
    texts, truths = np.array(["no", "yes", "may'be"])[np.minimum(y, 2)], y > 1
    whole = frame.notna().all(axis=1)
    tree, regression = hb.DecisionTreeClassifier, hb.DecisionTreeRegressor
    fixed = {"random_state": 0, "n_jobs": 1}
    few = {"n_estimators": 5, "random_state": 0}
    return {
        "tree": tree(max_depth=6, **fixed).fit(frame, texts),
        "tree of truths": tree(**fixed).fit(frame, truths),
        "tree, unseen to the majority": tree(unseen="majority", max_depth=6, **fixed).fit(frame, texts),
        "tree that refuses": tree(missing="error", unseen="error", max_depth=4, **fixed).fit(
            frame[whole], texts[whole]
        ),
        "tree with surrogates": tree(missing="surrogate", max_depth=5, **fixed).fit(frame, texts),
        "tree of many branches": tree(categorical_split="multiway", max_depth=4, **fixed).fit(frame, texts),
        "tree of two outputs": tree(max_depth=4, categorical_split="one_vs_rest", **fixed).fit(
            frame, np.stack([truths, y], axis=1).astype(int)
        ),
        "regression tree": regression(max_depth=6, **fixed).fit(frame, y + frame["score_0"].fillna(0)),
        "regression tree, two outputs": regression(max_depth=3, categorical_split="one_vs_rest", **fixed).fit(
            frame, np.stack([y, -y], axis=1)
        ),
        "forest": hb.RandomForestClassifier(5, **fixed).fit(frame, texts),
        "forest of votes": hb.RandomForestClassifier(5, voting="hard", **fixed).fit(frame, texts),
        "regression forest": hb.RandomForestRegressor(5, **fixed).fit(frame, y),
        "extra trees": hb.ExtraTreesClassifier(5, **fixed).fit(frame, y),
        "regression extra trees": hb.ExtraTreesRegressor(5, max_depth=6, **fixed).fit(frame, y),
        "bag": hb.BaggingClassifier(**few).fit(frame, texts),
        "bag of trees with bins": hb.BaggingClassifier(tree(max_bins=20, max_depth=5), **few).fit(
            frame, texts
        ),
        "bag of columns": hb.BaggingRegressor(
            regression(splitter="random", max_depth=5), max_features=0.6, **few
        ).fit(frame, y),
        "AdaBoost": hb.AdaBoostClassifier(**few).fit(frame, texts),
        "AdaBoost of trees": hb.AdaBoostClassifier(tree(max_depth=3), **few).fit(frame, texts),
        "AdaBoost of pruned trees": hb.AdaBoostClassifier(tree(max_depth=3, prune="pessimistic"), **few).fit(
            frame, texts
        ),
        "AdaBoost of numbers": hb.AdaBoostRegressor(**few).fit(frame, y),
        "boosting": hb.GradientBoostingClassifier(n_estimators=9, random_state=0).fit(frame, truths),
        "boosting, exponential": hb.GradientBoostingClassifier(
            n_estimators=9, loss="exponential", random_state=0
        ).fit(frame, truths),
        "boosting of three": hb.GradientBoostingClassifier(n_estimators=5, random_state=0).fit(frame, texts),
        "boosting of numbers": hb.GradientBoostingRegressor(n_estimators=9, random_state=0).fit(frame, y),
        "boosting of counts": hb.GradientBoostingRegressor(
            n_estimators=9, loss="poisson", random_state=0
        ).fit(frame, y),
    }


NAMES = (
    *("tree", "tree of truths", "tree, unseen to the majority", "tree that refuses", "tree with surrogates"),
    *("tree of many branches", "tree of two outputs", "regression tree", "regression tree, two outputs"),
    *("forest", "forest of votes", "regression forest", "extra trees", "regression extra trees", "bag"),
    *(
        "bag of trees with bins",
        "bag of columns",
        "AdaBoost",
        "AdaBoost of trees",
        "AdaBoost of pruned trees",
    ),
    *("AdaBoost of numbers", "boosting", "boosting, exponential", "boosting of three", "boosting of numbers"),
    "boosting of counts",
)
