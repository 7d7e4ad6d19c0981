"""Code of the user between the rounds of boosting: callbacks, progress."""

import copy
import re

import numpy as np
import pytest
from model_files import same_trees

import hornbeam as hb
from boosting.problems import BOTH, Logistic, Squares, fitted, problem


def test_callbacks_see_every_round_and_may_stop():
    X, y = problem()
    told, models = [], []

    class Watcher:
        def before_round(self, at):
            told.append(("before", at.number))

        def after_round(self, at):
            told.append(("after", at.number))
            models.append(at.model())

    def stop(at):
        assert at.n_rounds == 10
        return at.number == 3

    model = fitted(BOTH[1], X, y, callbacks=[Watcher(), stop])
    assert told == [(moment, n) for n in (1, 2, 3) for moment in ("before", "after")]
    assert model.n_iter_ == 3
    for n_rounds, (kept, stage) in enumerate(zip(models, model.staged_predict(X), strict=True), start=1):
        assert kept.n_iter_ == n_rounds
        np.testing.assert_array_equal(kept.predict(X), stage)


def fails_in(number, error):
    def callback(at):
        if at.number == number:
            raise error

    return callback


@pytest.mark.parametrize("cls", BOTH)
def test_a_callback_that_fails_leaves_the_rounds_before(cls):
    X, score = problem()
    y = (score > 0.7).astype(int) if cls is BOTH[0] else score
    error = RuntimeError("mine")
    model = cls(10)
    with pytest.raises(RuntimeError, match="mine") as caught:
        model.fit(X, y, callbacks=[fails_in(4, error)])
    assert caught.value is error
    assert model.n_iter_ == 4
    assert same_trees(model, cls(4).fit(X, y))


class _FailsInRoundThree(Squares):
    def __init__(self, how):
        self.how = how
        self.n_calls = 0

    def gradient_hessian(self, y, score):
        self.n_calls += 1
        gradient, hessian = super().gradient_hessian(y, score)
        if self.n_calls == 5:  # a round asks where it starts, and where its steps end
            return self.how(gradient, hessian)
        return gradient, hessian


def _raises(gradient, hessian):
    raise ZeroDivisionError("mine")


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        (_raises, ZeroDivisionError, "mine"),
        (lambda g, h: (g[:5], h), ValueError, r"the gradient has shape \(5,\); the score has \(300,\)"),
        (lambda g, h: (g, np.where(g > 0, np.nan, h)), ValueError, r"the hessian of row \d+ is \[nan\]"),
        (lambda g, h: (g, -h), ValueError, "must not be negative"),
        (lambda g, h: (g, 0 * h), ValueError, "every row is 0"),
        (lambda g, h: g, ValueError, "must return two arrays"),
    ],
)
def test_a_loss_that_fails_leaves_the_rounds_before(how, error, words):
    X, y = problem()
    model = hb.GradientBoostingRegressor(10, loss=_FailsInRoundThree(how))
    with pytest.raises(error, match=words):
        model.fit(X, y)
    assert model.n_iter_ == 2
    np.testing.assert_array_equal(
        model.predict(X), hb.GradientBoostingRegressor(2, loss=Squares()).fit(X, y).predict(X)
    )


def test_a_fit_that_fails_in_its_first_round_changes_nothing():
    X, y = problem()
    model = fitted(BOTH[1], X, y)
    before = copy.deepcopy(model)

    class Fails:
        def before_round(self, at):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        model.fit(X, -y, callbacks=[Fails()])
    assert same_trees(model, before)


def test_stopping_by_the_loss_needs_its_value():
    X, y = problem()
    with pytest.raises(ValueError, match="needs the value of the loss"):
        hb.GradientBoostingClassifier(loss=Logistic(), early_stopping=True).fit(X, y > 0)
    model = hb.GradientBoostingRegressor(5, loss=Squares(), early_stopping=True, random_state=0).fit(X, y)
    assert (np.diff(model.validation_score_) > 0).all()


def test_a_bar_only_for_who_asks(capsys):
    X, y = problem()
    fitted(BOTH[1], X, y)
    assert capsys.readouterr() == ("", "")
    fitted(BOTH[1], X, y, verbose=1)
    printed = capsys.readouterr().err
    assert "10/10" in printed
    assert "score -" in printed


def test_the_bar_fits_into_a_terminal_of_80_columns(capsys, monkeypatch):
    """What the fit has chosen took up the whole line, and progress, time and score were cut to nothing."""
    monkeypatch.setenv("COLUMNS", "80")
    X, y = problem()
    hb.GradientBoostingRegressor(n_estimators=1000, early_stopping=True, verbose=1, random_state=0).fit(X, y)
    title, *_, bar = capsys.readouterr().err.strip().splitlines()
    assert title.startswith("GradientBoostingRegressor")
    assert re.search(r"\d+/1000 \d:\d\d:\d\d remaining [\d:-]+ +score -\d+\.\d+$", bar.strip())
