"""Callbacks of scikit-learn's own kind are told of every round and may end the fit."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification

import hornbeam as hb

callbacks = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9 on")

X, Y = make_classification(300, random_state=0)


class Recorder:
    """Notes what it is told, and ends the fit after some rounds."""

    def __init__(self, last_round: int | None = None) -> None:
        self.last_round = last_round
        self.events: list[str] = []
        self.scores: list[float] = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(f"begin {context.task_name} {context.task_id}")

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.events.append(f"end {context.task_name} {context.task_id}")
        if context.task_name == "round":
            assert len(fitted_estimator.estimators_) == context.task_id + 1
        self.scores.append(fitted_estimator.score(X, y))
        return context.task_id + 1 == self.last_round


def test_every_round_is_a_task_within_the_task_of_the_fit():
    recorder = Recorder()
    model = hb.GradientBoostingClassifier(n_estimators=3).set_callbacks(recorder).fit(X, Y)
    rounds = [f"{moment} round {number}" for number in range(3) for moment in ("begin", "end")]
    assert recorder.events == ["setup", "begin fit 0", *rounds, "end fit 0", "teardown"]
    assert recorder.scores[-1] == recorder.scores[-2] == model.score(X, Y)
    assert not {"_callback_fit_ctx", "_skl_callbacks_to_teardown"} & set(vars(model))


def test_a_callback_may_end_the_fit():
    model = hb.GradientBoostingRegressor(n_estimators=50).set_callbacks(Recorder(last_round=4))
    assert model.fit(X, Y).n_iter_ == 4


def test_callbacks_of_both_kinds_work_side_by_side_and_change_nothing():
    heard = []
    plain = hb.GradientBoostingClassifier(n_estimators=5).fit(X, Y)
    watched = clone(plain).set_callbacks(Recorder())
    watched.fit(X, Y, callbacks=[lambda this: heard.append(this.number)])
    assert heard == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(watched.decision_function(X), plain.decision_function(X))


def test_a_failing_callback_keeps_the_rounds_before_it_and_is_torn_down():
    class Failing(Recorder):
        def on_fit_task_begin(self, estimator, context, *, X=None):
            if context.task_name == "round" and context.task_id == 2:
                raise RuntimeError("no more")

    failing = Failing()
    model = hb.GradientBoostingClassifier(n_estimators=9).set_callbacks(failing)
    with pytest.raises(RuntimeError, match="no more"):
        model.fit(X, Y)
    assert model.n_iter_ == 2
    assert failing.events[-1] == "teardown"


def test_scikit_learns_own_monitor_scores_each_round():
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model = hb.GradientBoostingClassifier(n_estimators=4).set_callbacks(monitor).fit(X, Y)
    staged = [float(np.mean(stage == Y)) for stage in model.staged_predict(X)]
    logged = [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "round"]
    assert logged == pytest.approx(staged)
