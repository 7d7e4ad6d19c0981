"""Every way to split categories, through the estimators: against encodings, under limits, and looked at."""

import json

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from core.growing import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder

import hornbeam as hb
from hornbeam.inside.formula import holds

SPLITS = ["subset", "one_vs_rest", "multiway", "merge", "target_mean", "ordinal", "binary"]
MANY = ["multiway", "merge"]


def table_of(seed, n_rows=60, *, n_classes=2, missing=0.0, n_outputs=1):
    """Two columns of categories that matter and a number that hardly does."""
    random = np.random.default_rng(seed)
    shape, colour = random.integers(0, 6, n_rows), random.integers(0, 4, n_rows)
    number = random.normal(size=n_rows).round(1)
    signal = (shape % 3) + (colour == 1) + random.integers(0, 2, (n_outputs, n_rows))
    X = pd.DataFrame(
        {
            "shape": np.array(list("abcdef"))[shape],
            "colour": np.array(["red", "blue", "grey", "pink"])[colour],
            "number": number,
        }
    )
    for name in ("shape", "colour"):
        X.loc[random.random(n_rows) < missing, name] = None
    y = (signal % n_classes).T if n_outputs > 1 else signal[0] % n_classes
    return X, y


def one_hot(X, categorical):
    encoder = OneHotEncoder(sparse_output=False).fit(X[categorical])
    return lambda rows: np.hstack(
        [encoder.transform(rows[categorical]), rows.drop(columns=categorical).to_numpy()]
    )


def same_partition(a, b):
    """Whether two columns of leaves put the same rows together."""
    pairs = set(zip(a.tolist(), b.tolist(), strict=True))
    return len(pairs) == len({one for one, _ in pairs}) == len({other for _, other in pairs})


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 2), st.booleans())
def test_one_vs_rest_is_one_hot(seed, n_outputs, weighted):
    X, y = table_of(seed, n_outputs=n_outputs)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)) if weighted else None
    encoded = one_hot(X, ["shape", "colour"])
    ours = hb.DecisionTreeClassifier(categorical_split="one_vs_rest", max_depth=4).fit(X, y, weights)
    theirs = hb.DecisionTreeClassifier(max_depth=4).fit(encoded(X), y, weights)
    # Swapped branches are visited, and so numbered, in another order; what they say is the same. A one-hot
    # column and its mirror image tie only where a node has two categories left.
    others, _ = table_of(seed + 1)
    others = others[others["shape"].isin(X["shape"]) & others["colour"].isin(X["colour"])]
    for rows in (X, others):
        np.testing.assert_array_equal(ours.predict_proba(rows), theirs.predict_proba(encoded(rows)))
    assert same_partition(ours.apply(X), theirs.apply(encoded(X)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.2]))
def test_ordinal_is_the_number_of_the_category(seed, missing):
    X, y = table_of(seed, n_classes=3, missing=missing)
    numbers = X.copy()
    for name in ("shape", "colour"):
        codes = pd.Categorical(X[name]).codes
        numbers[name] = np.where(codes < 0, np.nan, codes)
    ours = hb.DecisionTreeClassifier(categorical_split="ordinal").fit(X, y)
    theirs = hb.DecisionTreeClassifier().fit(numbers, y)
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(numbers))
    np.testing.assert_array_equal(ours.tree_.feature, theirs.tree_.feature)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(MANY), st.integers(2, 12), st.booleans())
def test_limits_are_never_exceeded(seed, split, limit, of_leaves):
    X, y = table_of(seed, n_classes=3, missing=0.1)
    name = "max_leaf_nodes" if of_leaves else "max_nodes"
    model = hb.DecisionTreeClassifier(categorical_split=split, merge_level=0.5, **{name: limit}).fit(X, y)
    found = model.get_n_leaves() if of_leaves else model.tree_.node_count
    assert found <= limit


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 15))
def test_two_branches_reach_min_samples_leaf(seed, least):
    X, y = table_of(seed)
    tree = hb.DecisionTreeClassifier(categorical_split="multiway", min_samples_leaf=least).fit(X, y).tree_
    for node in np.flatnonzero(tree.n_branches):
        rows = tree.n_node_samples[tree.first_child[node] :][: tree.n_branches[node]]
        assert (rows >= least).sum() >= 2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_a_multiway_feature_is_spent(seed):
    X, y = table_of(seed, missing=0.3)
    tree = hb.DecisionTreeClassifier(categorical_split="multiway").fit(X, y).tree_
    above = {0: frozenset()}
    for node in range(tree.node_count):
        feature = int(tree.feature[node])
        assert feature not in above[node] or feature == 2
        for branch in range(tree.n_branches[node]):
            above[int(tree.first_child[node]) + branch] = above[node] | {feature}


def test_an_empty_branch_says_what_its_parent_says():
    X = pd.DataFrame({"a": list("xxxyyyyy"), "b": list("pqprrpqr")})
    model = hb.DecisionTreeClassifier(categorical_split="multiway").fit(X, [0, 0, 1, 1, 1, 1, 1, 1])
    tree = model.tree_
    (empty,) = np.flatnonzero(tree.n_node_samples == 0)  # a = x and b = r
    np.testing.assert_array_equal(tree.value[empty], tree.value[tree.parent[empty]])
    answer = model.predict_proba(pd.DataFrame({"a": ["x"], "b": ["r"]}))
    assert answer.tolist() == [[pytest.approx(2 / 3), pytest.approx(1 / 3)]]


def test_merge_puts_alike_categories_together():
    random = np.random.default_rng(0)
    group = random.integers(0, 6, 3000)
    rates = np.array([0.1, 0.9, 0.1, 0.9, 0.5, 0.1])
    y = (random.random(3000) < rates[group]).astype(int)
    X = pd.DataFrame({"group": np.array(list("abcdef"))[group]})
    model = hb.DecisionTreeClassifier(categorical_split="merge", merge_level=0.01, max_depth=1).fit(X, y)
    assert model.to_frame()["categories"][0] == (("a", "c", "f"), ("b", "d"), ("e",))
    numbers = hb.DecisionTreeRegressor(categorical_split="merge", max_depth=1)
    numbers.fit(X, rates[group] + random.normal(scale=0.3, size=3000))
    assert numbers.to_frame()["categories"][0] == (("a", "c", "f"), ("b", "d"), ("e",))


def test_merge_finds_nothing_in_noise():
    random = np.random.default_rng(1)
    X = pd.DataFrame({"group": random.choice(list("abcdefgh"), 2000)})
    tree = hb.DecisionTreeClassifier(categorical_split="merge", merge_level=0.001)
    assert tree.fit(X, random.integers(0, 2, 2000)).get_n_leaves() == 1


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(
    "model",
    [
        hb.RandomForestClassifier(5, random_state=0),
        hb.ExtraTreesClassifier(5, random_state=0),
        hb.BaggingClassifier(hb.DecisionTreeClassifier(), random_state=0),
        hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=2), n_estimators=5),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ensembles_take_every_split(model, split, tmp_path):
    X, y = table_of(3, 200, n_classes=3, missing=0.1)
    name = (
        "categorical_split" if "categorical_split" in model.get_params() else "estimator__categorical_split"
    )
    model = clone(model)  # what a decorator holds lives as long as the module, and its trees would too
    answers = [
        model.set_params(**{name: split}, n_jobs=n_jobs).fit(X, y).predict_proba(X) for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*answers)
    assert model.score(X, y) > 0.5
    hb.save(model, tmp_path / "model.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "model.hornbeam").predict_proba(X), answers[0])


# --- Looking inside trees with more than two branches ----------------------------------------------------


@pytest.fixture(params=MANY)
def grown(request):
    X, y = table_of(5, 120, n_classes=3, missing=0.05)
    model = hb.DecisionTreeClassifier(categorical_split=request.param, merge_level=0.4, min_samples_leaf=2)
    model.fit(X, y)
    assert model.tree_.n_branches.max() > 2
    return model, X, y


def test_rules_and_explanations_say_what_is_predicted(grown):
    model, X, _ = grown
    formulas = model.rules("formula")
    assert len(model.rules("list")) == len(model.rules("lines").splitlines()) == model.get_n_leaves()
    for row, expected in zip(X[:20].to_dict(orient="records"), model.predict(X[:20]), strict=True):
        assert [label for label, formula in formulas.items() if holds(formula, row)] == [expected]
        assert model.explain(row).prediction == expected


def test_frame_picture_and_exports_show_all_branches(grown, tmp_path):
    model, X, _ = grown
    tree = model.tree_
    frame = model.to_frame()
    assert frame["branch"].max() == tree.n_branches.max() - 1
    mpl.use("Agg")
    ax = hb.plot.tree(model, max_depth=2)
    assert any("shape" in text.get_text() for text in ax.texts)
    nodes = json.loads(hb.export(model, "json"))["trees"][0]
    assert [len(node.get("children", ())) for node in nodes] == tree.n_branches.tolist()
    assert hb.export(model, "dot").count("->") == tree.node_count - 1
    assert hb.export(model, "text") == model.rules() + "\n"
    hb.save(model, tmp_path / "tree.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "tree.hornbeam").apply(X), model.apply(X))


def test_paths_and_contributions_add_up(grown):
    model, X, _ = grown
    path = model.decision_path(X)
    np.testing.assert_array_equal(np.asarray(path.sum(axis=1)).ravel(), model.tree_.depth[model.apply(X)] + 1)
    assert model.feature_importances_.sum() == pytest.approx(1)


def test_pruning_cuts_many_branches_at_once(grown):
    model, X, y = grown
    validation = {"X_val": X[:40], "y_val": y[:40]}
    for method, more in [("reduced_error", validation), ("pessimistic", {}), ("cost_complexity", validation)]:
        smaller = model.pruned(method, **more)
        assert smaller.tree_.node_count <= model.tree_.node_count
        assert smaller.tree_.n_leaves == (smaller.tree_.n_branches == 0).sum()
    path = model.cost_complexity_pruning_path(X, y)
    assert (np.diff(path.ccp_alphas) >= 0).all()
    assert model.set_params(ccp_alpha=path.ccp_alphas[-1] * 2).fit(X, y).get_n_leaves() == 1


def test_left_and_right_are_only_for_two_branches(grown):
    with pytest.raises(AttributeError, match="multiway"):
        _ = grown[0].tree_.children_left


# --- Many categories, and columns that are identifiers ---------------------------------------------------


@pytest.mark.filterwarnings("ignore:Nearly every row has a value of its own")
@pytest.mark.parametrize("split", SPLITS)
def test_a_hundred_thousand_categories(split):
    n = 100_000
    random = np.random.default_rng(0)
    codes = np.concatenate([random.permutation(n), random.integers(0, n, n // 2)])
    y = (codes % 7 < 3).astype(int)
    X = pd.DataFrame({"code": pd.Categorical.from_codes(codes, categories=np.arange(n))})
    model = hb.DecisionTreeClassifier(categorical_split=split, max_depth=2, n_jobs=1).fit(X, y)
    assert model.tree_.category_words.nbytes < 2_000_000
    assert model.score(X, y) >= max(np.mean(y), 1 - np.mean(y))
    if split in ("subset", "target_mean", "multiway"):
        assert model.score(X, y) == 1.0


def test_several_outputs_need_a_test_that_suits_them_all():
    X, y = table_of(0, n_outputs=2)
    for split in ("subset", "merge", "target_mean"):
        with pytest.raises(ValueError, match=f"categorical_split='{split}'.*'shape'"):
            hb.DecisionTreeClassifier(categorical_split=split).fit(X, y)
    for split in ("one_vs_rest", "multiway", "ordinal", "binary"):
        model = hb.RandomForestClassifier(5, categorical_split=split, random_state=0).fit(X, y)
        assert model.predict(X).shape == y.shape


# --- Rows that lack the feature of a test with many branches -----------------------------------------------


@pytest.mark.parametrize("missing", ["learn", "surrogate", "fractional", "majority", "available"])
@pytest.mark.parametrize("split", MANY)
def test_every_policy_of_missing_values_takes_many_branches(missing, split, tmp_path):
    X, y = table_of(7, 200, missing=0.2)
    model = hb.DecisionTreeClassifier(missing=missing, categorical_split=split, merge_level=0.5).fit(X, y)
    assert model.tree_.n_branches.max() > 2
    known = X[X.notna().all(axis=1)]
    shares = model.predict_proba(known)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert model.score(known, y[known.index]) > 0.6
    hb.save(model, tmp_path / "tree.hornbeam")
    np.testing.assert_array_equal(hb.load(tmp_path / "tree.hornbeam").predict_proba(known), shares)
    assert model.rules()


def test_c45_shares_a_row_out_among_all_branches():
    """3 rows of a, 2 of b, 1 of c; a row without the feature goes down in parts of 1/2, 1/3 and 1/6."""
    X = pd.DataFrame({"f": ["a", "a", "a", "b", "b", "c", None]})
    y = [0, 0, 0, 1, 1, 0, 1]
    model = hb.DecisionTreeClassifier(
        criterion="gain_ratio", categorical_split="multiway", missing="fractional"
    ).fit(X, y)
    tree = model.tree_
    assert tree.weighted_n_node_samples == pytest.approx([7, 3.5, 2 + 1 / 3, 1 + 1 / 6], abs=1e-5)
    assert tree.value[1:, 0, 1] == pytest.approx([0.5 / 3.5, 1, 1 / 7], abs=1e-5)
    # Six known rows of (4, 2): the gain is theirs, divided by the seven; the seventh is a branch of its own.
    table = model.split_table(X, y)
    before = -(4 / 6 * np.log2(4 / 6) + 2 / 6 * np.log2(2 / 6))
    sizes = np.array([3, 2, 1, 1]) / 7
    assert table["gain"][0] == pytest.approx(6 / 7 * before)
    assert table["gain_ratio"][0] == pytest.approx(6 / 7 * before / -(sizes * np.log2(sizes)).sum())
    # The answer without the feature is the mix of all leaves.
    answer = model.predict_proba(pd.DataFrame({"f": [None]}))[0, 1]
    assert answer == pytest.approx(tree.weighted_n_node_samples[1:] @ tree.value[1:, 0, 1] / 7)


def test_how_categories_are_split_does_not_matter_without_any() -> None:
    """Several outputs have no one order of categories, but then there are none."""
    X = np.arange(12.0).reshape(-1, 1)
    y = np.stack([np.arange(12) % 3, np.arange(12) > 5], axis=1)
    trees = [
        hb.DecisionTreeClassifier(categorical_split=split).fit(X, y).tree_ for split in ("merge", "multiway")
    ]
    assert same_bits(*trees)
