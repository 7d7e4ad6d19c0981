"""Trees that all classes share: their tests, the steps of each class, and when a fit has them."""

import numpy as np
import pytest
from reference.boosting import Terms, along

import hornbeam as hb
from hornbeam import _core
from hornbeam.data.encode import encode
from hornbeam.data.table import read_table
from hornbeam.model import Ensemble

N_ROWS, N_SCORES, RATE = 300, 4, 0.3
TERMS = Terms(l2=1.5, min_samples_leaf=3)
TESTS = ("feature", "threshold", "first_child", "missing_branch", "gain", "n_node_samples")


def booster_of(encoded, n_scores, n_threads=1):
    return _core.Booster(
        encoded.codes,
        y=np.zeros(N_ROWS, dtype=np.float32),
        weights=None,
        n_scores=n_scores,
        loss="",
        loss_parameter=0.0,
        learning_rate=RATE,
        growth="best_first",
        max_leaf_nodes=9,
        min_samples_leaf=TERMS.min_samples_leaf,
        l2_regularization=TERMS.l2,
        n_threads=n_threads,
    )


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("draws_rows", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tests_are_those_of_the_sum_and_steps_are_those_of_each_score(seed, draws_rows, n_threads):
    rng = np.random.default_rng(seed)
    table = read_table(rng.normal(size=(N_ROWS, 5)).round(1))
    encoded = encode(table, max_bins=255, n_threads=1)
    gradients = rng.normal(size=(N_SCORES, N_ROWS)).astype(np.float32)
    hessians = rng.uniform(0.1, 1, size=(N_SCORES, N_ROWS)).astype(np.float32)
    keys = rng.integers(0, 2**64, N_SCORES, dtype=np.uint64)
    rows = None
    if draws_rows:
        rows = np.sort(rng.choice(N_ROWS, 200, replace=False)).astype(np.uint32)

    shared, alone = booster_of(encoded, N_SCORES, n_threads), booster_of(encoded, 1)
    for booster in (shared, alone):
        booster.scores()[:] = 0.25
    shared.gradients()[:], shared.hessians()[:] = gradients, hessians
    alone.gradients()[0], alone.hessians()[0] = along(keys, gradients, hessians)
    trees = shared.grow(rows, None, keys, shared=True)
    (expected,) = alone.grow(rows, None, keys[:1])

    assert len(trees) == N_SCORES
    assert expected.n_leaves == 9
    leaves = Ensemble((expected,), encoded.schema).leaves(table, n_threads=1)[:, 0]
    grown_on = np.ones(N_ROWS, dtype=bool) if rows is None else np.isin(np.arange(N_ROWS), rows)
    for score, tree in enumerate(trees):
        for name in TESTS:
            np.testing.assert_array_equal(getattr(tree, name), getattr(expected, name))
        for leaf in np.unique(leaves):
            inside = (leaves == leaf) & grown_on
            step = TERMS.value(
                gradients[score, inside].astype(np.float64), hessians[score, inside].astype(np.float64)
            )
            assert tree.value[leaf, 0, 0] == np.float32(RATE * step)
        np.testing.assert_array_equal(shared.scores()[score], 0.25 + tree.value[leaves, 0, 0])


def three_classes(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    return X, np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=n_rows), [0.0, 1.5])


def classifier(**options):
    return hb.GradientBoostingClassifier(**{"random_state": 0, "n_iter_no_change": 5} | options)


def rounds_share(model):
    trees = model._model.trees
    return [
        all(
            np.array_equal(getattr(tree, name), getattr(trees[first], name), equal_nan=True)
            for name in ("feature", "threshold")
            for tree in trees[first : first + 3]
        )
        for first in range(0, len(trees), 3)
    ]


def test_an_automatic_fit_shares_and_a_given_number_of_rounds_does_not():
    X, y = three_classes()
    automatic = classifier().fit(X, y)
    assert automatic.settings_["class_trees"] == "shared"
    assert all(rounds_share(automatic))
    values = [tree.value[:, 0, 0] for tree in automatic._model.trees[:3]]
    assert not np.array_equal(values[0], values[1])

    classical = classifier(n_estimators=5).fit(X, y)
    assert classical.settings_["class_trees"] == "separate"
    assert not all(rounds_share(classical))
    named = classifier(n_estimators=5, class_trees="separate").fit(X, y)
    assert np.array_equal(classical.predict_proba(X), named.predict_proba(X))

    separate = classifier(class_trees="separate").fit(X, y)
    assert not all(rounds_share(separate))
    again = classifier(**automatic.settings_ | {"n_estimators": "auto"}).fit(X, y)
    assert np.array_equal(again.predict_proba(X), automatic.predict_proba(X))


def test_any_number_of_threads_gives_the_same_bits():
    X, y = three_classes(3000)
    models = [classifier(n_jobs=n).fit(X, y) for n in (1, 2)]
    assert np.array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_refitted_leaves_say_what_all_rows_ask_for():
    """The steps of all classes, worked out again from the tests of a model with one member."""
    X, y = three_classes()
    model = classifier(n_members=1, l2_regularization=0.5, n_estimators="auto").fit(X, y)
    leaves, truth = model.apply(X), np.eye(3)[y]
    scores = np.tile(model._baseline, (len(y), 1))
    for first in range(0, min(30, leaves.shape[1]), 3):
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        for k in range(3):
            tree = model._model.trees[first + k]
            for leaf in np.unique(leaves[:, first + k]):
                inside = leaves[:, first + k] == leaf
                p = shares[inside, k]
                step = -(p - truth[inside, k]).sum() / ((p * (1 - p)).sum() + 0.5)
                assert tree.value[leaf, 0, 0] == pytest.approx(
                    model.settings_["learning_rate"] * step, rel=1e-3, abs=1e-5
                )
            scores[:, k] += tree.value[leaves[:, first + k], 0, 0]


def test_two_classes_have_one_score_and_nothing_to_share():
    X, y = three_classes()
    models = [classifier(class_trees=kind).fit(X, y > 0) for kind in ("shared", "separate", "auto")]
    assert models[2].settings_["class_trees"] == "separate"
    for model in models[:2]:
        assert np.array_equal(model.predict_proba(X), models[2].predict_proba(X))


def test_rounds_added_later_are_those_of_one_fit():
    X, y = three_classes()
    options = {"class_trees": "shared", "subsample": 0.7, "max_features": 0.5}
    model = classifier(n_estimators=4, warm_start=True, **options).fit(X, y)
    model.set_params(n_estimators=9).fit(X, y)
    at_once = classifier(n_estimators=9, **options).fit(X, y)
    assert np.array_equal(model.predict_proba(X), at_once.predict_proba(X))
    assert all(rounds_share(at_once))


class OwnSoftmax:
    def gradient_hessian(self, y, score):
        shares = self.answers(score)
        return shares - np.eye(3)[y.astype(int)], shares * (1 - shares)

    def baseline(self, y, sample_weight):
        return np.log(np.bincount(y.astype(int)) / len(y))

    def loss(self, y, score, sample_weight):
        return -np.log(self.answers(score)[np.arange(len(y)), y.astype(int)]).mean()

    def answers(self, score):
        powers = np.exp(score - score.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def test_a_loss_of_the_users_own_shares_as_well():
    X, y = three_classes()
    own = classifier(loss=OwnSoftmax()).fit(X, y)
    assert all(rounds_share(own))
    built_in = classifier().fit(X, y)
    first = own._model.trees[0]
    assert first.threshold == pytest.approx(built_in._model.trees[0].threshold, nan_ok=True)
    assert first.value == pytest.approx(built_in._model.trees[0].value, abs=1e-5)


def test_files_keep_the_setting(tmp_path):
    X, y = three_classes()
    model = classifier().fit(X, y)
    hb.save(model, tmp_path / "model.hb")
    loaded = hb.load(tmp_path / "model.hb")
    assert loaded.settings_ == model.settings_
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))


def test_a_file_from_before_says_nothing_and_had_trees_of_each_class(tmp_path):
    X, y = three_classes()
    model = classifier(n_estimators=3).fit(X, y)
    del model.settings_["class_trees"]
    hb.save(model, tmp_path / "model.hb")
    assert hb.load(tmp_path / "model.hb").settings_["class_trees"] == "separate"


def test_regressors_have_no_such_setting(tmp_path):
    X, y = three_classes()
    model = hb.GradientBoostingRegressor(n_iter_no_change=5, random_state=0).fit(X, y)
    assert "class_trees" not in model.settings_
    hb.save(model, tmp_path / "model.hb")
    assert hb.load(tmp_path / "model.hb").settings_ == model.settings_
