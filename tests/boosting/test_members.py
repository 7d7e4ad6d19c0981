"""Boosting that finds its own length: what members are judged by, what their trees say in the end."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import hornbeam as hb
from hornbeam.estimators.boosting.settings import plan_boosting

BOTH = (hb.GradientBoostingClassifier, hb.GradientBoostingRegressor)


def table(n_rows=400, n_columns=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.3 * rng.normal(size=n_rows)
    return X, y


def target_for(cls, y):
    return y > 0 if cls is BOTH[0] else y


def plan(estimator, n_rows, n_columns=10, n_scores=1, **more):
    facts = {"given_validation": False, "can_judge": True, **more}
    return plan_boosting(estimator, n_rows=n_rows, n_columns=n_columns, n_scores=n_scores, **facts)


def steps_of_all_rows(model, X, y, start, step_of_leaf):
    """Say what the trees of a model should say: boosting once more, with its tests and all rows."""
    n_members, leaves = model.settings_["n_members"], model.apply(X)
    scores = np.full((n_members, len(y)), start)
    for position in range(leaves.shape[1]):
        member, expected = position % n_members, {}
        for leaf in np.unique(leaves[:, position]):
            inside = leaves[:, position] == leaf
            step = np.float32(
                model.settings_["learning_rate"] * step_of_leaf(y[inside], scores[member, inside])
            )
            scores[member, inside] += step
            expected[leaf] = step / n_members
        yield model._model.trees[position], expected


@pytest.mark.parametrize("n_members", [1, 4])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_leaves_say_what_all_rows_ask_for(loss, n_members):
    X, y = table()
    l2 = 2.5
    model = hb.GradientBoostingRegressor(
        loss=loss, n_members=n_members, l2_regularization=l2, n_iter_no_change=5, random_state=0
    ).fit(X, y)

    def step(targets, scores):
        rest = targets.astype(np.float32) - scores
        return rest.sum() / (len(rest) + l2) if loss == "squared_error" else np.median(rest)

    start = y.mean() if loss == "squared_error" else np.median(y)
    for tree, expected in steps_of_all_rows(model, X, y, start, step):
        assert [tree.value[leaf, 0, 0] for leaf in expected] == pytest.approx(
            list(expected.values()), rel=1e-4, abs=1e-6
        )


def test_inner_nodes_count_all_rows():
    X, y = table()
    model = hb.GradientBoostingRegressor(random_state=0).fit(X, y)
    for tree in model._model.trees:
        assert tree.n_node_samples[0] == len(y)
        inner = np.flatnonzero(tree.first_child >= 0)
        left = tree.first_child[inner]
        assert np.array_equal(
            tree.n_node_samples[inner], tree.n_node_samples[left] + tree.n_node_samples[left + 1]
        )


@pytest.mark.parametrize("cls", BOTH)
def test_the_answer_is_the_mean_of_the_members(cls):
    X, y = table()
    model = cls(n_members=4, random_state=0).fit(X, target_for(cls, y))
    trees = model.estimators_
    assert trees.shape == (model.best_iteration_, 4)
    answers = np.array([[4 * tree.predict(X) for tree in members] for members in trees])
    by_member = model._baseline[0] + answers.sum(axis=0)
    scores = model.decision_function(X) if cls is BOTH[0] else model.predict(X)
    assert scores == pytest.approx(by_member.mean(axis=0))


@pytest.mark.parametrize("cls", BOTH)
def test_any_number_of_threads_gives_the_same_bits(cls):
    X, y = table(3000, 6)
    models = [cls(random_state=0, n_jobs=n).fit(X, target_for(cls, y)) for n in (1, 2)]
    answers = [model.predict_proba(X) if cls is BOTH[0] else model.predict(X) for model in models]
    assert np.array_equal(answers[0], answers[1])


def test_rounds_are_judged_by_members_that_have_not_seen_the_rows():
    """Targets that nothing explains: rows that a tree has seen get better, those it has not do not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 5)), rng.normal(size=300)
    model = hb.GradientBoostingRegressor(random_state=0).fit(X, y)
    assert model.train_score_[-1] > model.train_score_[0] + 0.05
    assert model.validation_score_[-1] < model.validation_score_[0]
    assert model.best_iteration_ < 10
    assert len(model.validation_score_) == model.n_iter_ == model.best_iteration_ + 50


def test_groups_are_never_divided():
    """A column that names the group says everything about rows of the group, and nothing about others."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 8)
    X = np.column_stack([groups, rng.normal(size=len(groups))])
    y = rng.normal(size=60)[groups]
    divided = hb.GradientBoostingRegressor(random_state=0).fit(X, y)
    whole = hb.GradientBoostingRegressor(random_state=0).fit(X, y, groups=groups)
    assert divided.validation_score_.max() > -0.1
    assert whole.validation_score_.max() < -0.3
    with pytest.raises(ValueError, match="groups"):
        hb.GradientBoostingRegressor().fit(X, y, groups=groups[:-1])


@pytest.mark.parametrize(("n_groups", "n_members"), [(2, 2), (3, 2), (7, 4), (8, 8)])
def test_few_groups_have_few_members(n_groups, n_members):
    X, y = table(200)
    groups = np.arange(200) % n_groups
    model = hb.GradientBoostingRegressor(n_iter_no_change=3, random_state=0).fit(X, y, groups=groups)
    assert model.settings_["n_members"] == n_members
    assert not np.isnan(model.oof_prediction_).any()
    alone = hb.GradientBoostingRegressor(n_members=1, n_iter_no_change=3, random_state=0)
    alone.fit(X, y, groups=groups)
    (judged,) = {g for g in range(n_groups) if not np.isnan(alone.oof_prediction_[groups == g]).any()}
    assert np.isnan(alone.oof_prediction_[groups != judged]).all()


def test_groups_that_leave_nothing_to_judge_by_are_refused():
    X, y = table(200)
    model = hb.GradientBoostingRegressor(n_iter_no_change=3)
    with pytest.raises(ValueError, match="groups has a single group"):
        model.fit(X, y, groups=np.zeros(200))
    with pytest.raises(ValueError, match=r"n_members=8 .* groups has 5"):
        model.set_params(n_members=8).fit(X, y, groups=np.arange(200) % 5)


@pytest.mark.parametrize("cls", BOTH)
def test_rows_to_judge_by_that_do_not_fit_are_named(cls):
    X, y = table(100)
    y = target_for(cls, y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = cls(5, early_stopping=True, max_leaf_nodes=3)
    with pytest.raises(ValueError, match=r"(?s)^X_val and y_val, .*- extra"):
        model.fit(frame, y, X_val=frame.assign(extra=1.0), y_val=y)
    with pytest.raises(ValueError, match=r"^X_val and y_val, .*\[100, 99\]"):
        model.fit(frame, y, X_val=frame, y_val=y[:-1])
    model.fit(frame, y)
    before = model.predict(frame)
    with pytest.raises(ValueError, match="X_val"):
        model.fit(frame, y, X_val=frame[["a", "b"]], y_val=y)
    assert np.array_equal(model.predict(frame), before)


@pytest.mark.parametrize("cls", BOTH)
def test_a_given_number_of_rounds_is_the_classical_fit(cls):
    X, y = table()
    short = cls(100).fit(X, target_for(cls, y))
    spelled_out = cls(
        n_estimators=100, learning_rate=0.1, max_leaf_nodes=31, min_samples_leaf=20, l2_regularization=0.0,
        subsample=1.0, max_features=1.0, early_stopping=False, n_members=1, categorical_split="subset",
    ).fit(X, target_for(cls, y))  # fmt: skip
    assert short._model.trees[-1].threshold.tolist() == spelled_out._model.trees[-1].threshold.tolist()
    assert np.array_equal(short.predict(X), spelled_out.predict(X))
    assert short.n_iter_ == 100


def test_what_is_given_is_kept():
    X, y = table()
    model = hb.GradientBoostingRegressor(
        learning_rate=0.3, max_leaf_nodes=4, subsample=1.0, random_state=0
    ).fit(X, y)
    given = {"learning_rate": 0.3, "max_leaf_nodes": 4, "subsample": 1.0}
    assert {name: model.settings_[name] for name in given} == given
    assert max(tree.n_leaves for tree in model._model.trees) == 4
    assert clone(model).get_params()["n_estimators"] == "auto"
    # The settings of a fit, given to another, make the same fit.
    again = hb.GradientBoostingRegressor(
        random_state=0, **{**model.settings_, "n_estimators": "auto"}
    ).fit(X, y)  # fmt: skip
    assert np.array_equal(again.predict(X), model.predict(X))


def test_own_validation_rows_take_the_place_of_members():
    X, y = table()
    model = hb.GradientBoostingRegressor(random_state=0).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    assert model.settings_["n_members"] == 1
    assert len(model._model.trees) == model.best_iteration_ < model.n_iter_
    expected = -np.mean((model.predict(X[300:]) - y[300:]) ** 2) / 2
    assert model.validation_score_.max() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_members": 3}, "n_members is 3; it must be 1, 2, 4, 8, 16 or 'auto'"),
        ({"n_members": 4, "n_estimators": 10}, "n_members=4 goes with n_estimators='auto'"),
        ({"n_members": 32}, "n_members must be"),
    ],
)
def test_members_that_cannot_be(options, words):
    X, y = table()
    with pytest.raises(ValueError, match=words):
        hb.GradientBoostingRegressor(**options).fit(X, y)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "n_members"),
    [(60_000, 10, 8), (60_001, 10, 4), (300_000, 10, 4), (300_001, 10, 1), (60_001, 1, 4), (6_000, 100, 8)],
)
def test_members_by_the_size_of_the_table(n_rows, n_columns, n_members):
    assert plan(hb.GradientBoostingRegressor(), n_rows, n_columns).n_members == n_members


def test_settings_by_the_number_of_rows():
    estimator = hb.GradientBoostingRegressor()
    assert plan(estimator, 15).n_estimators == 100  # too few to hold some out
    assert plan(estimator, 16).n_estimators == 1500
    for n_rows, n_leaves in ((2_499, 16), (2_500, 24)):
        assert plan(estimator, n_rows).max_leaf_nodes == n_leaves
    assert plan(estimator, 2_499, n_scores=3).max_leaf_nodes == 16
    assert plan(estimator, 2_500, n_scores=3).max_leaf_nodes == 24
    rates = [plan(estimator, n).learning_rate for n in (100, 1_000, 2_000, 10**6)]
    assert rates == sorted(rates)
    assert (rates[0], rates[-1]) == (0.08, 0.1)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 15, 16, 17, 30])
@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
def test_few_rows(cls, n_rows):
    X, y = table(n_rows)
    y[0] = 1.0  # at least one of the second class
    model = cls(random_state=0).fit(X, target_for(cls, y))
    assert np.isfinite(np.asarray(model.predict(X), dtype=np.float64)).all()


def test_a_class_of_one_row():
    X, y = table(100)
    labels = np.where(np.arange(100) == 7, 2, y > 0)
    model = hb.GradientBoostingClassifier(random_state=0).fit(X, labels)
    assert model.predict_proba(X).shape == (100, 3)


def test_more_rows_than_are_judged_of_the_training_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, size=(120_000, 2)).astype(np.float64)
    y = X[:, 0] + rng.normal(size=len(X))
    model = hb.GradientBoostingRegressor(n_members=2, n_iter_no_change=3, random_state=0).fit(X, y)
    assert -model.validation_score_.max() == pytest.approx(0.5, abs=0.02)
    assert -model.train_score_[-1] == pytest.approx(0.5, abs=0.02)


def test_constraints_hold_although_rows_were_held_out():
    X, y = table(800)
    model = hb.GradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0], random_state=0).fit(X, y)
    rows = np.repeat(X[:50], 40, axis=0)
    rows[:, 0] = np.tile(np.linspace(-3, 3, 40), 50)
    assert (np.diff(model.predict(rows).reshape(50, 40), axis=1) >= -1e-12).all()


def test_a_callback_gets_a_model_and_may_end_the_fit():
    X, y = table()
    seen = []

    def after(state):
        seen.append(state.model().predict(X[:5]))
        return state.number == 4

    model = hb.GradientBoostingRegressor(random_state=0).fit(X, y, callbacks=[after])
    assert len(seen) == model.n_iter_ == 4
    assert len(list(model.staged_predict(X))) == model.best_iteration_


def test_it_beats_a_hundred_rounds_where_they_learn_noise():
    X, y = table(300)
    X_new, y_new = table(5000, seed=1)
    errors = [np.mean((model.fit(X, y).predict(X_new) - y_new) ** 2) for model in (
        hb.GradientBoostingRegressor(random_state=0), hb.GradientBoostingRegressor(100)
    )]  # fmt: skip
    assert errors[0] < errors[1]
