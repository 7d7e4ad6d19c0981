"""Pruning inside fit, and of fitted trees: against slow twins, its promises, and what it refuses."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import pruning
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GroupKFold, KFold

import hornbeam as hb
from hornbeam.data.target import ClassTarget
from hornbeam.recipes.holdout import GivenRows, folds, hold_out

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
DATA = {"classes": (hb.DecisionTreeClassifier, *CANCER), "numbers": (hb.DecisionTreeRegressor, *DIABETES)}


def children_of(tree):
    return [list(range(first, first + n)) for first, n in zip(tree.first_child, tree.n_branches, strict=True)]


def row_errors(model, X, y):
    """The error of each row: wrong or not, or the squared distance."""
    found = np.asarray(model.predict(X))
    return (found != y).astype(float) if hasattr(model, "classes_") else (found - y) ** 2


def costs_by_walking(model, X, y, weights):
    """What each node costs as a leaf: every row walked down by its decision path."""
    tree = model.tree_
    costs = [[] for _ in range(tree.node_count)]
    for row, nodes in enumerate(model.decision_path(X).toarray()):
        for node in np.flatnonzero(nodes):
            value = tree.value[node, 0]
            if hasattr(model, "classes_"):
                error = float(model.classes_[np.argmax(value)] != y[row])
            else:
                error = (value[0] - y[row]) ** 2
            costs[node].append(weights[row] * error)
    return [math.fsum(parts) for parts in costs]


def mean_error(model, X, y, weights=None):
    return float(np.average(row_errors(model, X, y), weights=weights))


@st.composite
def noisy_rows(draw):
    """Rows for growing and for validation, with or without weights."""
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["classes", "numbers"]))
    X = generator.integers(0, 8, size=(60, 3)).astype(float)
    y = (X[:, 0] > 3) * 1.0 + generator.normal(size=60)
    if kind == "classes":
        y = np.digitize(y, [0.0, 1.0][: draw(st.integers(1, 2))])
        y[[0, 40]], y[[1, 41]] = 0, 1  # both parts hold two classes
    weights = generator.integers(0, 4, size=60).astype(float) if draw(st.booleans()) else np.ones(60)
    weights[[0, 1, 40, 41]] = 1
    return DATA[kind][0], X, y, weights


# --- Reduced error ---------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(noisy_rows())
def test_reduced_error_is_the_greedy_twin(case):
    make, X, y, weights = case
    grow, held = slice(0, 40), slice(40, None)
    whole = make().fit(X[grow], y[grow], weights[grow])
    model = make(prune="reduced_error").fit(
        X[grow],
        y[grow],
        weights[grow],
        X_val=X[held],
        y_val=y[held],
        sample_weight_val=weights[held],
    )
    costs = costs_by_walking(whole, X[held], y[held], weights[held])
    cuts = pruning.reduced_error(children_of(whole.tree_), costs)
    log = model.pruning_log_
    assert log["node"].tolist() == [cut.node for cut in cuts]
    assert log["nodes_removed"].tolist() == [cut.nodes_removed for cut in cuts]
    total = weights[held].sum()
    np.testing.assert_allclose(
        log["error_before"], [cut.before / total for cut in cuts], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(log["error_after"], [cut.after / total for cut in cuts], rtol=1e-9, atol=1e-12)
    before, after = (mean_error(tree, X[held], y[held], weights[held]) for tree in (whole, model))
    assert after <= before * (1 + 1e-12)
    if len(cuts):
        assert after == pytest.approx(log["error_after"].iloc[-1], rel=1e-9, abs=1e-12)
        assert (log["error_after"] < log["error_before"]).all()


def test_greedy_and_bottom_up_differ():
    """A cut below helps, but the cut above helps more: greedy takes the one above and is done."""
    # Grown on: x0 parts at 0, then x1 on the right. Validation rows speak against both tests.
    X = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [1, 1]] * 2, dtype=float)
    y = np.array([0, 0, 1, 1, 0] * 2)
    whole = hb.DecisionTreeClassifier().fit(X, y)
    X_val = np.array([[0, 0]] + [[1, 0]] * 5 + [[1, 1]] * 4, dtype=float)
    y_val = np.array([0] + [0] * 5 + [1] * 4)
    costs = costs_by_walking(whole, X_val, y_val, np.ones(10))
    cuts = pruning.reduced_error(children_of(whole.tree_), costs)
    assert [cut.node for cut in cuts] == [0]
    pruned = whole.pruned("reduced_error", X_val=X_val, y_val=y_val)
    assert pruned.pruning_log_["node"].tolist() == [0]
    assert pruned.get_n_leaves() == 1
    # Cutting the lower node first would have been an improvement of its own.
    lower = [n for n in range(1, whole.tree_.node_count) if whole.tree_.n_branches[n]]
    below = pruning.cost_of(children_of(whole.tree_), costs, lower[0], frozenset())
    assert costs[lower[0]] < below


@pytest.mark.parametrize("kind", DATA)
def test_a_share_of_the_rows_is_held_out(kind):
    make, X, y = DATA[kind]
    model = make(prune="reduced_error", validation_fraction=0.3, random_state=5).fit(X, y)
    again = make(prune="reduced_error", validation_fraction=0.3, random_state=5).fit(X, y)
    other = make(prune="reduced_error", validation_fraction=0.3, random_state=6).fit(X, y)
    assert model.rules() == again.rules() != other.rules()
    assert model.tree_.n_node_samples[0] == len(y) - round(0.3 * len(y))
    assert model.pruning_log_["error_after"].iloc[-1] < model.pruning_log_["error_before"].iloc[0]


def test_classes_keep_their_shares_in_every_part():
    codes = np.repeat([0, 1, 2], [50, 30, 20]).astype(np.int32)[:, None]
    target = ClassTarget(codes, [np.arange(3)], is_multi_output=False)
    rows = np.arange(100, dtype=np.uint32)
    fit, held = hold_out(target, rows, 0.2, key=1)
    assert np.bincount(codes[held, 0]).tolist() == [10, 6, 4]
    assert sorted([*fit, *held]) == list(range(100))
    parts = [part for _, part in folds(target, rows, 10, 1, given=GivenRows(len(rows)))]
    assert [np.bincount(codes[part, 0]).tolist() for part in parts] == [[5, 3, 2]] * 10
    assert sorted(np.concatenate(parts)) == list(range(100))


# --- Cost complexity -------------------------------------------------------------------------------------


def judged_by_hand(make, X, y, weights, pairs, table, prune_cost):
    """Cross-validated errors with trees that are grown and pruned one by one."""
    alphas = table["alpha"].to_numpy()
    errors = np.zeros((len(alphas), len(y)))
    for fit, held in pairs:
        whole = make(prune_cost=prune_cost).fit(X[fit], y[fit], weights[fit])
        for step in range(len(alphas)):
            upper = alphas[step + 1] if step + 1 < len(alphas) else math.inf
            between = 0.0 if step == 0 else math.sqrt(alphas[step] * upper)
            if between == 0 and step > 0:
                between = 1e-13
            errors[step, held] = row_errors(whole.pruned(ccp_alpha=between), X[held], y[held])
    mean = np.average(errors, axis=1, weights=weights)
    spread = (weights**2 * (errors - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(spread) / weights.sum()


@settings(max_examples=25, deadline=None)
@given(noisy_rows(), st.sampled_from(["impurity", "error"]))
def test_the_table_of_nested_trees_is_the_twin(case, prune_cost):
    make, X, y, weights = case
    weights = np.maximum(weights, 0.5)
    pairs = list(KFold(4, shuffle=True, random_state=0).split(X))
    model = make(prune="cost_complexity", prune_cost=prune_cost, cv=pairs).fit(X, y, weights)
    table = model.pruning_table_
    error, standard_error = judged_by_hand(make, X, y, weights, pairs, table, prune_cost)
    np.testing.assert_allclose(table["error"], error, rtol=1e-9)
    np.testing.assert_allclose(table["standard_error"], standard_error, rtol=1e-7, atol=1e-12)
    best = np.flatnonzero(np.isclose(error, error.min(), rtol=1e-12, atol=0))[-1]
    assert table.index[table["chosen"]].tolist() == [best]
    assert model.get_n_leaves() == table["leaves"][best]
    one_se = make(prune="cost_complexity", prune_select="cv_1se", prune_cost=prune_cost, cv=pairs)
    within = np.flatnonzero(error <= (error[best] + standard_error[best]) * (1 + 1e-12))[-1]
    assert one_se.fit(X, y, weights).get_n_leaves() == table["leaves"][within] <= model.get_n_leaves()


@pytest.mark.parametrize("kind", DATA)
def test_groups_stay_together_in_the_folds(kind):
    make, X, y = DATA[kind]
    groups = np.arange(len(y)) * 7 % 40
    pairs = list(GroupKFold(4).split(X, y, groups))
    by_splitter = make(prune="cost_complexity", cv=GroupKFold(4)).fit(X, y, groups=groups)
    by_hand = make(prune="cost_complexity", cv=pairs).fit(X, y)
    assert by_splitter.pruning_table_.equals(by_hand.pruning_table_)
    weights = np.where(groups == 3, 0.0, 1.0)  # rows without weight are not there, nor is their group
    weighted = make(prune="cost_complexity", cv=GroupKFold(4)).fit(X, y, weights, groups=groups)
    kept = groups != 3
    dropped = make(prune="cost_complexity", cv=GroupKFold(4)).fit(X[kept], y[kept], groups=groups[kept])
    assert weighted.pruning_table_.equals(dropped.pruning_table_)


def positions_without(pairs, weights):
    """Number the rows with weight anew, as a user who drops the others would."""
    new = np.cumsum(weights > 0) - 1
    return [tuple(new[part[weights[part] > 0]] for part in pair) for pair in pairs]


@pytest.mark.parametrize("kind", DATA)
def test_positions_of_folds_are_those_of_x_whatever_the_weights(kind):
    """A list of positions numbers X as given; rows without weight are as if both had been dropped."""
    make, X, y = DATA[kind]
    pairs = list(KFold(4, shuffle=True, random_state=0).split(X))
    weights = np.where(np.arange(len(y)) % 5 == 0, 0.0, 1.0)
    weights[-3:] = 0.0
    kept = weights > 0
    weighted = make(prune="cost_complexity", cv=pairs).fit(X, y, weights)
    dropped = make(prune="cost_complexity", cv=positions_without(pairs, weights)).fit(X[kept], y[kept])
    assert weighted.pruning_table_.equals(dropped.pruning_table_)
    assert weighted.rules() == dropped.rules()
    with pytest.raises(ValueError, match=rf"cv: fold 1 has positions beyond the {len(y)} rows of X"):
        make(prune="cost_complexity", cv=[*pairs[:1], ([0, 1], [len(y)])]).fit(X, y)


def test_positions_of_folds_where_a_class_counts_nothing():
    X, y = load_iris(return_X_y=True)
    pairs = list(KFold(4, shuffle=True, random_state=0).split(X))
    weights = np.where(y == 0, 0.0, 1.0)
    options = {"prune": "cost_complexity", "criterion": "gini"}
    weightless = hb.DecisionTreeClassifier(cv=pairs, class_weight={0: 0.0}, **options).fit(X, y)
    dropped = hb.DecisionTreeClassifier(cv=positions_without(pairs, weights), **options)
    dropped.fit(X[y > 0], y[y > 0])
    np.testing.assert_array_equal(
        weightless.pruning_table_["error"].to_numpy(), dropped.pruning_table_["error"].to_numpy()
    )


@pytest.mark.parametrize("kind", DATA)
def test_drawn_folds_and_validation_parts_keep_groups_whole(kind):
    _, _, y = DATA[kind]
    target = ClassTarget((np.asarray(y) > np.median(y)).astype(np.int32)[:, None], [np.arange(2)], False)
    rows = np.flatnonzero(np.arange(len(y)) % 3).astype(np.uint32)
    groups = (np.arange(len(y)) * 11 % 23).astype(np.int32)
    seen = []
    for outside, inside in folds(target, rows, 5, 9, given=GivenRows(len(rows)), groups=groups):
        assert not set(groups[outside]) & set(groups[inside])
        assert sorted([*outside, *inside]) == rows.tolist()
        seen += inside.tolist()
    assert sorted(seen) == rows.tolist()
    fit, held = hold_out(target, rows, 0.3, 9, groups)
    assert not set(groups[fit]) & set(groups[held])
    assert sorted([*fit, *held]) == rows.tolist()
    assert 0.2 < len(held) / len(rows) <= 0.3


@pytest.mark.parametrize("kind", DATA)
def test_validation_chooses_the_nested_tree_of_least_error(kind):
    make, X, y = DATA[kind]
    fit, held = slice(0, None, 2), slice(1, None, 2)
    model = make(prune="cost_complexity", prune_select="validation")
    model.fit(X[fit], y[fit], X_val=X[held], y_val=y[held])
    table = model.pruning_table_
    whole = make().fit(X[fit], y[fit])
    for step in np.linspace(1, len(table) - 1, 6).astype(int):
        nested = make(ccp_alpha=table["alpha"][step]).fit(X[fit], y[fit])
        assert nested.get_n_leaves() == table["leaves"][step]
        assert mean_error(nested, X[held], y[held]) == pytest.approx(table["error"][step], rel=1e-9)
    assert mean_error(whole, X[held], y[held]) == pytest.approx(table["error"][0], rel=1e-9)
    assert mean_error(model, X[held], y[held]) == pytest.approx(table["error"].min(), rel=1e-9)
    again = whole.pruned(X_val=X[held], y_val=y[held])
    assert again.rules() == model.rules()
    assert whole.get_n_leaves() == table["leaves"][0]


@pytest.mark.parametrize("kind", DATA)
def test_one_standard_error_never_has_more_leaves(kind):
    make, X, y = DATA[kind]
    for seed in range(3):
        least, small = (
            make(prune="cost_complexity", prune_select=select, cv=5, random_state=seed).fit(X, y)
            for select in ("cv", "cv_1se")
        )
        assert small.get_n_leaves() <= least.get_n_leaves()


def test_ccp_alpha_keeps_a_log():
    X, y = CANCER
    whole = hb.DecisionTreeClassifier().fit(X, y)
    model = hb.DecisionTreeClassifier(ccp_alpha=0.01).fit(X, y)
    assert model.rules() == whole.pruned(ccp_alpha=0.01).rules()
    removed = model.pruning_log_["nodes_removed"].sum()
    assert removed == whole.tree_.node_count - model.tree_.node_count > 0
    assert np.diff(model.pruning_log_["error_after"]).min() >= 0


# --- Pessimistic -----------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(noisy_rows(), st.floats(0.01, 0.9))
def test_pessimistic_is_the_twin(case, confidence):
    _, X, y, weights = case
    y = (y > np.median(y)).astype(int)
    whole = hb.DecisionTreeClassifier().fit(X, y, weights)
    model = hb.DecisionTreeClassifier(prune="pessimistic", prune_confidence=confidence).fit(X, y, weights)
    tree = whole.tree_
    weight = np.array(tree.weighted_n_node_samples)
    errors = weight * (1 - np.array(tree.value)[:, 0].max(axis=1))
    cuts = pruning.pessimistic(children_of(tree), np.round(errors).tolist(), weight.tolist(), confidence)
    assert model.pruning_log_["node"].tolist() == [cut.node for cut in cuts]
    after = [cut.after / weight[0] for cut in cuts]
    np.testing.assert_allclose(model.pruning_log_["error_after"], after, rtol=1e-6)


# --- The log, copies and files ---------------------------------------------------------------------------


def test_the_log_tells_the_test_that_was_cut():
    X, y = CANCER
    whole = hb.DecisionTreeClassifier().fit(X, y)
    log = whole.pruned("pessimistic").pruning_log_
    frame = whole.to_frame().set_index("node")
    for _, cut in log.iterrows():
        assert (
            cut["test"]
            == f"{frame.loc[cut['node'], 'feature']} <= {frame.loc[cut['node'], 'threshold']:.15g}"
        )


@pytest.mark.parametrize("options", [{"prune": "pessimistic"}, {"prune": "cost_complexity", "cv": 3}, {}])
def test_the_record_survives_files_and_pickles(options, tmp_path):
    X, y = CANCER
    model = hb.DecisionTreeClassifier(random_state=0, **options).fit(X, y)
    hb.save(model, tmp_path / "model")
    for other in (hb.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        if not options:
            with pytest.raises(AttributeError, match="not pruned"):
                _ = other.pruning_log_
            continue
        assert other.pruning_log_.equals(model.pruning_log_)
        if options["prune"] == "cost_complexity":
            assert other.pruning_table_.equals(model.pruning_table_)


def test_a_pruned_copy_leaves_the_tree_alone():
    X, y = CANCER
    whole = hb.DecisionTreeClassifier().fit(X, y)
    before = whole.rules()
    small = whole.pruned(ccp_alpha=0.02)
    assert whole.rules() == before != small.rules()
    assert not hasattr(whole, "pruning_log_")
    assert small.get_params() == whole.get_params()


# --- What is refused -------------------------------------------------------------------------------------

REDUCED = hb.DecisionTreeClassifier(prune="reduced_error", random_state=0)


@pytest.mark.parametrize(
    ("model", "validation", "message"),
    [
        (REDUCED, {"X_val": CANCER[0]}, "y_val is not given"),
        (REDUCED, {"sample_weight_val": [1.0]}, "X_val is not given"),
        (REDUCED, {"X_val": CANCER[0][:5], "y_val": [0, 1, 0, 1, 7]}, "y_val, row 4: the class 7"),
        (REDUCED, {"X_val": CANCER[0][:3], "y_val": [1, 1, 1]}, "all of class 1: .*say nothing"),
        (REDUCED, {"X_val": CANCER[0][:0], "y_val": []}, "X_val and y_val hold no row"),
        (REDUCED, {"X_val": CANCER[0][:2], "y_val": [0, np.nan]}, "y_val contains NaN: row 1"),
        (hb.DecisionTreeClassifier(), {"X_val": CANCER[0], "y_val": CANCER[1]}, "nothing would use them"),
        (
            hb.DecisionTreeClassifier(prune="cost_complexity"),
            {"X_val": CANCER[0], "y_val": CANCER[1]},
            "prune_select='validation'",
        ),
        (hb.DecisionTreeClassifier(prune="pessimistic", ccp_alpha=0.1), {}, "ccp_alpha=0.1 prunes by itself"),
        (hb.DecisionTreeClassifier(prune="bottom_up"), {}, "'reduced_error'"),
        (hb.DecisionTreeClassifier(prune="cost_complexity", cv=600), {}, "cv=600 folds"),
        (hb.DecisionTreeClassifier(prune="cost_complexity", cv=[(1, 2, 3)]), {}, "pairs of row positions"),
        (hb.DecisionTreeRegressor(prune="pessimistic"), {}, "a regressor has none"),
        (hb.DecisionTreeClassifier(), {"groups": CANCER[1]}, "groups are given, but nothing would use them"),
        (
            hb.DecisionTreeClassifier(prune="cost_complexity"),
            {"groups": CANCER[1]},
            "at least as many groups",
        ),
        (REDUCED, {"groups": np.zeros(len(CANCER[1]))}, "needs at least two groups"),
    ],
)
def test_bad_pruning_is_refused(model, validation, message):
    X, y = CANCER
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **validation)
    assert not hasattr(model, "_model")


def test_a_validation_part_of_one_class_or_none_is_refused():
    X = np.arange(10.0)[:, None]
    with pytest.raises(ValueError, match="The validation part holds 2 row"):
        REDUCED.fit(X, np.arange(10) == 3)
    with (
        pytest.raises(ValueError, match=r"validation_fraction=0.25 of 1 row.s. leaves 0"),
        pytest.warns(hb.warnings.DataWarning),
    ):
        REDUCED.fit(X[:1], [1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"how": "reduced_error"}, "needs X_val and y_val"),
        ({}, "needs X_val and y_val, or ccp_alpha"),
        ({"how": "pessimistic", "X_val": CANCER[0]}, "has no use for X_val"),
        ({"how": "harder"}, "how must be 'reduced_error', 'cost_complexity' or 'pessimistic'"),
    ],
)
def test_pruned_says_what_it_needs(arguments, message):
    tree = hb.DecisionTreeClassifier().fit(*CANCER)
    with pytest.raises(ValueError, match=message):
        tree.pruned(**arguments)


@pytest.mark.parametrize("how", ["reduced_error", "cost_complexity", "pessimistic"])
@pytest.mark.parametrize("n_categories", [30, 31, 200])
def test_pruned_trees_ask_about_the_columns_of_the_user(how, n_categories):
    """Columns of more than 30 categories are grown on as means of the target, and written back as sets."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, n_categories, 2000)
    table = pd.DataFrame({"x": rng.normal(size=2000), "kind": [f"k{k}" for k in kind]})
    y = np.digitize(table["x"] + kind % 3 + 0.5 * rng.normal(size=2000), [0.5, 1.5])
    model = hb.DecisionTreeClassifier(prune=how, random_state=0).fit(table, y)
    assert model.tree_.feature.max() == 1 and "statistic" not in model.rules()
    assert len(model.pruning_log_) > 0 and not model.pruning_log_["test"].str.contains("statistic").any()
    assert model.score(table, y) > 0.6
