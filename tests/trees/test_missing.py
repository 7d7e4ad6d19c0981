"""Missing values as users meet them: every policy in every estimator that has it; shown, saved, refused."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb
from hornbeam.warnings import NoAnswerWarning

POLICIES = ("learn", "surrogate", "fractional", "majority", "available")


def holed(n_rows: int = 200, share: float = 0.3) -> tuple[pd.DataFrame, np.ndarray]:
    """Two columns that say nearly the same, a category, noise and a column without values; and classes."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=n_rows)
    y = np.where(x + 0.3 * generator.normal(size=n_rows) > 0, "yes", "no")
    frame = pd.DataFrame(
        {
            "x": x,
            "like x": x + 0.2 * generator.normal(size=n_rows),
            "sign": pd.Series(np.where(x > 0, "plus", "minus")).astype("category"),
            "noise": generator.normal(size=n_rows),
            "nothing": np.nan,
        }
    )
    holes = generator.random(frame.shape) < share
    return frame.mask(holes), y


def models(policy: Any) -> list[Any]:
    tree = hb.DecisionTreeClassifier(missing=policy, min_samples_leaf=3)
    return [
        tree,
        hb.RandomForestClassifier(5, missing=policy, random_state=0),
        hb.ExtraTreesClassifier(5, missing=policy, random_state=0),
        hb.BaggingClassifier(tree, 3, random_state=0),
    ]


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_learns_and_answers_every_row(policy: Any) -> None:
    X, y = holed(600)
    known = X.drop(columns="nothing").notna().all(axis=1)
    for model in models(policy):
        model.fit(X[:400], y[:400])
        assert np.mean(model.predict(X[400:][known[400:]]) == y[400:][known[400:]]) > 0.65
        shares = model.predict_proba(X[400:][known[400:]])
        assert shares.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "available"])
def test_a_row_that_lacks_everything_is_answered(policy: Any) -> None:
    X, y = holed()
    nothing = X.iloc[:1].copy()
    nothing[:] = np.nan
    for model in models(policy)[:2]:
        assert model.fit(X, y).predict_proba(nothing).sum() == pytest.approx(1)


def test_fractions_of_a_row_that_lacks_everything_are_the_class_shares() -> None:
    X, y = holed()
    nothing = X.iloc[:1].copy()
    nothing[:] = np.nan
    tree = hb.DecisionTreeClassifier(missing="fractional", min_samples_leaf=3).fit(X, y)
    # Parts of whole rows add up, so the mix of all leaves is the root.
    assert tree.predict_proba(nothing)[0] == pytest.approx(tree.tree_.value[0, 0], abs=1e-4)


def test_trees_without_an_answer_abstain_and_the_prior_is_counted() -> None:
    X, y = holed()
    forest = hb.RandomForestClassifier(20, missing="available", smoothing=0, random_state=0).fit(X, y)
    nothing = X.iloc[:3].copy()
    nothing.iloc[:2] = np.nan
    with pytest.warns(NoAnswerWarning, match=r"2 row\(s\) lack values"):
        shares = forest.predict_proba(nothing)
    prior = np.mean([tree.tree_.value[0, 0] for tree in forest.estimators_], axis=0)
    assert shares[0] == pytest.approx(prior)
    answering = [
        member
        for member in forest.estimators_
        if member.tree_.feature[member.apply(nothing.iloc[[2]])[0]] < 0
    ]
    assert 0 < len(answering) <= 20
    expected = np.mean([member.predict_proba(nothing.iloc[[2]])[0] for member in answering], axis=0)
    assert shares[2] == pytest.approx(expected)


def test_out_of_bag_answers_leave_out_trees_that_abstain() -> None:
    X, y = holed()
    numbers = (y == "yes").astype(float)
    forest = hb.RandomForestRegressor(50, missing="available", oob_score=True, random_state=0, max_features=2)
    with pytest.warns(hb.warnings.OutOfBagWarning):  # a row lacks what all trees ask for first
        forest.fit(X, numbers)
    answered = np.isfinite(forest.oob_prediction_)
    assert 0.5 < answered.mean() < 1
    assert np.corrcoef(forest.oob_prediction_[answered], numbers[answered])[0, 1] > 0.5


@pytest.mark.parametrize("policy", POLICIES)
def test_20_a_column_without_values_is_never_asked_for(policy: Any) -> None:
    X, y = holed()
    nothing = X.columns.get_loc("nothing")
    tree = hb.DecisionTreeClassifier(missing=policy).fit(X, y).tree_
    assert nothing not in tree.feature
    assert nothing not in tree.surrogate_feature


@pytest.mark.parametrize("policy", [p for p in POLICIES if p != "available"])
def test_46_new_categories_go_the_way_of_missing_values(policy: Any) -> None:
    X, y = holed()
    X = X[["sign", "noise"]]
    tree = hb.DecisionTreeClassifier(missing=policy, max_depth=3, unseen="missing").fit(X, y)
    assert 0 in tree.tree_.feature
    gone, new = X.assign(sign=None), X.assign(sign="never seen")
    with pytest.warns(hb.warnings.UnseenCategoryWarning, match=r"'sign': 200 row\(s\)"):
        shares = tree.predict_proba(new)
    assert shares.tobytes() == tree.predict_proba(gone).tobytes()


# --- Shown -------------------------------------------------------------------------------------------------


def test_surrogates_are_shown() -> None:
    X, y = holed()
    tree = hb.DecisionTreeClassifier(missing="surrogate", max_depth=1, max_surrogates=2).fit(X, y)
    node = tree.tree_
    assert 1 <= len(node.surrogate_feature) <= 2
    assert (np.diff(node.surrogate_agreement) <= 0).all()
    asked = X.columns[node.feature[0]]
    stand_in = X.columns[node.surrogate_feature[0]]
    assert f"[without {asked!s}: " in tree.rules().replace("'", "")
    listed = tree.to_frame()["surrogates"]
    assert stand_in in listed[0][0]
    assert listed[1] is None
    row = X[X[asked].isna() & X[stand_in].notna()].iloc[[0]]
    explanation = tree.explain(row)
    assert explanation.steps[0].surrogate == stand_in
    assert explanation.leaf == tree.apply(row)[0]
    assert "is missing, but" in str(explanation)


@pytest.mark.parametrize("policy", ["surrogate", "majority", "learn"])
def test_explanations_end_in_the_leaf_of_the_row(policy: Any) -> None:
    X, y = holed()
    tree = hb.DecisionTreeClassifier(missing=policy, max_depth=4).fit(X, y)
    for i in range(0, 60, 3):
        assert tree.explain(X.iloc[[i]]).leaf == tree.apply(X.iloc[[i]])[0]


# --- Saved -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["surrogate", "fractional", "available"])
@pytest.mark.parametrize("predict_only", [False, True])
def test_files_and_pickles_keep_what_a_tree_does_without_values(
    policy: Any, predict_only: bool, tmp_path: Path
) -> None:
    X, y = holed()
    for model in models(policy):
        model.fit(X, y)
        path = tmp_path / "model.hornbeam"
        hb.save(model, path, predict_only=predict_only)
        for copy in (hb.load(path), pickle.loads(pickle.dumps(model))):
            seen = X.dropna(subset=["x", "like x", "sign", "noise"]) if policy == "available" else X
            assert copy.predict_proba(seen).tobytes() == model.predict_proba(seen).tobytes()


def test_pruned_trees_keep_their_surrogates() -> None:
    X, y = holed()
    whole = hb.DecisionTreeClassifier(missing="surrogate").fit(X, y).tree_
    small = hb.DecisionTreeClassifier(missing="surrogate", ccp_alpha=0.01).fit(X, y).tree_
    assert 1 < small.node_count < whole.node_count
    n_of_root = whole.surrogate_begin[1]
    assert n_of_root == small.surrogate_begin[1] > 0
    assert small.surrogate_threshold[:n_of_root].tolist() == whole.surrogate_threshold[:n_of_root].tolist()


# --- Refused -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (hb.DecisionTreeClassifier(missing="available", ccp_alpha=0.1), "ccp_alpha"),
        (hb.DecisionTreeClassifier(missing="available", prune="pessimistic"), "prune"),
        (hb.RandomForestClassifier(missing="available", keep="oob"), "keep"),
        (hb.GradientBoostingClassifier(missing="surrogate"), "missing"),
        (hb.BaggingClassifier(hb.DecisionTreeClassifier(missing="available", max_bins=9)), "max_bins"),
    ],
)
def test_what_does_not_go_together_is_refused_by_name(model: Any, names: str) -> None:
    X, y = holed()
    with pytest.raises(ValueError, match=names):
        model.fit(X, y)


def test_only_learned_directions_go_with_a_criterion_of_the_users_own() -> None:
    class Majorities:
        """Rows of the largest class of each branch."""

        def score(self, cells: np.ndarray) -> np.ndarray:
            return np.asarray(cells.max(axis=2).sum(axis=1))

    X, y = holed()
    tree = hb.DecisionTreeClassifier(missing="majority", criterion=Majorities())
    with pytest.raises(ValueError, match=r"criterion of your own .* as in 'x': .*missing='learn'"):
        tree.fit(X, y)
    tree.fit(X[["x", "noise"]].fillna(0), y)  # nothing is missing, nothing is refused


@pytest.mark.parametrize("policy", POLICIES)
def test_constraints_hold_whatever_becomes_of_rows_without_values(policy: Any) -> None:
    X, y = holed()
    X = X.drop(columns="nothing")
    tree = hb.DecisionTreeClassifier(missing=policy, monotonic_cst={"x": 1, "noise": -1}).fit(X, y)
    assert "x" in X.columns[tree.tree_.feature[tree.tree_.feature >= 0]]
    for column, direction in (("x", 1), ("noise", -1)):
        rows = X.dropna() if policy == "available" else X
        shares = [tree.predict_proba(rows.assign(**{column: v}))[:, 1] for v in np.linspace(-3, 3, 41)]
        assert (direction * np.diff(shares, axis=0) >= -1e-12).all()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("criterion", ["chi2", "f_test"])
def test_p_values_go_with_every_policy(policy: Any, criterion: str) -> None:
    X, y = holed(600)
    if criterion == "chi2":
        tree: Any = hb.DecisionTreeClassifier(missing=policy, criterion="chi2")
    else:
        tree = hb.DecisionTreeRegressor(missing=policy, criterion="f_test")
        y = (y == "yes") + 0.0
    grown_out = tree.fit(X, y).get_n_leaves()
    assert X.columns[tree.tree_.feature[0]] in ("x", "like x", "sign")
    tree.set_params(min_significance=0.01).fit(X, y)
    assert 2 <= tree.get_n_leaves() < grown_out / 2


def test_adaboost_takes_rows_in_parts() -> None:
    X, y = holed()
    tree = hb.DecisionTreeClassifier(max_depth=1, missing="fractional")
    booster = hb.AdaBoostClassifier(tree, n_estimators=3).fit(X, y)
    assert np.mean(booster.predict(X) == y) > 0.7
