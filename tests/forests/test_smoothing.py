"""`smoothing`: part of a vote that is shared out among the classes, so that none has probability 0.

The oracle is the formula over what the members say: (sum + smoothing / classes) / (members + smoothing).
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier as Peer

import hornbeam as hb
from hornbeam.pseudo_votes import PseudoVotes

FORESTS = [hb.RandomForestClassifier, hb.ExtraTreesClassifier]

X, Y = load_iris(return_X_y=True)
TRAIN = np.arange(0, 150, 3)


def smoothed(model: Any, X: Any, smoothing: float) -> npt.NDArray[np.float64]:
    said = [member.predict_proba(X) for member in model.estimators_]
    n_classes = said[0].shape[1]
    return (np.sum(said, axis=0) + smoothing / n_classes) / (len(said) + smoothing)


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("smoothing", [0, 0.01, 2.5])
def test_shares_are_those_of_the_trees_and_of_some_pseudo_votes(forest: Any, smoothing: float) -> None:
    model = forest(20, smoothing=smoothing, random_state=0).fit(X[TRAIN], Y[TRAIN])
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares, smoothed(model, X, smoothing), rtol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert (shares.min() > 0) == (smoothing > 0)


def test_votes_by_hand() -> None:
    """Half a vote for two classes, a quarter each: 3 and 1 of 4 trees are 3.25 / 4.5 and 1.25 / 4.5."""
    votes = PseudoVotes.shared_out(0.5, [2])
    assert votes is not None
    assert votes.with_trees(np.array([[[3.0, 1.0]]]), 4).tolist() == [[[3.25 / 4.5, 1.25 / 4.5]]]
    several = PseudoVotes.shared_out(1.0, [2, 4])
    assert several is not None
    assert np.array_equal(several.per_class, [[0.5, 0.5, 0, 0], [0.25, 0.25, 0.25, 0.25]])
    assert PseudoVotes.shared_out(0.0, [2]) is None


def test_a_small_part_of_a_vote_is_the_default_and_the_trees_do_not_depend_on_it() -> None:
    default = hb.RandomForestClassifier(20, random_state=0).fit(X[TRAIN], Y[TRAIN])
    plain = hb.RandomForestClassifier(20, random_state=0, smoothing=0).fit(X[TRAIN], Y[TRAIN])
    assert default.smoothing == 0.01
    assert all(
        np.array_equal(one.value, other.value)
        for one, other in zip(default._model.trees, plain._model.trees, strict=True)
    )
    assert np.isneginf(plain.predict_log_proba(X)).any()
    assert np.isfinite(default.predict_log_proba(X)).all()
    assert np.array_equal(default.set_params(smoothing=0).predict_proba(X), plain.predict_proba(X))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_trees=st.integers(1, 8),
    n_classes=st.integers(2, 5),
    smoothing=st.floats(0, 10),
)
def test_no_prediction_changes(seed: int, n_trees: int, n_classes: int, smoothing: float) -> None:
    """Few trees on few values: many votes are even, and the first of equals stays the first."""
    rng = np.random.default_rng(seed)
    table, target = rng.integers(0, 3, (60, 3)).astype(float), np.arange(60) % n_classes
    options = {"max_leaf_nodes": 4, "random_state": 0, "n_jobs": 1}
    plain = hb.RandomForestClassifier(n_trees, smoothing=0, **options).fit(table, target)
    before, shares = plain.predict(table), plain.predict_proba(table)
    after = plain.set_params(smoothing=smoothing).predict(table)
    best = np.sort(shares, axis=1)
    differs = best[:, -1] - best[:, -2] > 1e-13  # sums that differ by rounding only may become equal
    even = best[:, -1] == best[:, -2]
    assert np.array_equal(before[differs | even], after[differs | even])


def test_outputs_with_different_numbers_of_classes() -> None:
    two = np.stack([Y, Y == 1], axis=1).astype(int)
    model = hb.RandomForestClassifier(15, random_state=0, oob_score=True).fit(X, two)
    plain = hb.RandomForestClassifier(15, random_state=0, smoothing=0).fit(X, two)
    for share, mean, n_classes in zip(model.predict_proba(X), plain.predict_proba(X), (3, 2), strict=True):
        np.testing.assert_allclose(share, (15 * mean + 0.01 / n_classes) / 15.01, rtol=1e-12)
    for share in model.oob_decision_function_:
        known = ~np.isnan(share[:, 0])
        assert share[known].min() > 0
        np.testing.assert_allclose(share[known].sum(axis=1), 1, rtol=1e-12)
    found = model.contributions(X[:5])
    scores = found.base_values + found.values.sum(axis=1)
    for k, (share, n_classes) in enumerate(zip(model.predict_proba(X[:5]), (3, 2), strict=True)):
        np.testing.assert_allclose(scores[:, k, :n_classes], share, rtol=1e-10)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_parts_sum_to_the_shares(voting: str) -> None:
    model = hb.RandomForestClassifier(12, random_state=0, smoothing=1.5, voting=voting)
    model.fit(X[TRAIN], Y[TRAIN])
    shares = model.predict_proba(X)
    if voting == "hard":  # votes are counted as they are
        assert np.array_equal(np.round(12 * shares), 12 * shares)
    for background in (None, X[:7]):
        found = model.contributions(X, background=background)
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), shares, atol=1e-12)
    if voting == "soft":
        by_column, start = model.path_contributions(X)
        np.testing.assert_allclose(start, np.broadcast_to(start[0], start.shape), rtol=1e-10)
        np.testing.assert_allclose(start + by_column.sum(axis=1), shares, rtol=1e-10)
    message = model.explain(X[:1])
    np.testing.assert_allclose(list(message.shares.values()), shares[0], rtol=1e-12)


def test_rows_that_few_trees_can_answer() -> None:
    """Under missing='available' the pseudo-votes have the same part in every answer."""
    gaps = X.copy()
    gaps[::4, 2] = np.nan
    gaps[3] = np.nan
    options = {"missing": "available", "random_state": 0}
    model = hb.RandomForestClassifier(10, smoothing=1, **options).fit(X, Y)
    plain = hb.RandomForestClassifier(10, smoothing=0, **options).fit(X, Y)
    with pytest.warns(hb.warnings.NoAnswerWarning):
        shares = model.predict_proba(gaps)
    with pytest.warns(hb.warnings.NoAnswerWarning):
        np.testing.assert_allclose(shares, (10 * plain.predict_proba(gaps) + 1 / 3) / 11, rtol=1e-12)
    found = model.contributions(gaps)
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), shares, rtol=1e-10)


def test_members_added_and_taken_away() -> None:
    options = {"random_state": 0, "smoothing": 0.5}
    whole = hb.RandomForestClassifier(12, **options).fit(X[TRAIN], Y[TRAIN])
    warm = hb.RandomForestClassifier(5, warm_start=True, **options).fit(X[TRAIN], Y[TRAIN])
    few = warm.predict_proba(X)
    assert np.array_equal(whole.first(5).predict_proba(X), few)
    warm.set_params(n_estimators=12).fit(X[TRAIN], Y[TRAIN])
    assert np.array_equal(warm.predict_proba(X), whole.predict_proba(X))
    by_error = hb.RandomForestClassifier("auto", **options).fit(X, Y)
    np.testing.assert_allclose(by_error.predict_proba(X), smoothed(by_error, X, 0.5), rtol=1e-12)


def test_files_keep_it_and_older_files_have_none(tmp_path: Path) -> None:
    model = hb.RandomForestClassifier(4, random_state=0, smoothing=0.25).fit(X[TRAIN], Y[TRAIN])
    hb.save(model, tmp_path / "model.hb")
    loaded = hb.load(tmp_path / "model.hb")
    assert loaded.smoothing == 0.25
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    older = Path(__file__).parents[1] / "golden" / "0.1.0"
    forests = [hb.load(path) for path in sorted(older.glob("forest*.hornbeam"))]
    of_classes = [forest for forest in forests if hasattr(forest, "classes_")]
    assert of_classes
    assert all(forest.smoothing == 0 for forest in of_classes)


def test_a_forest_of_another_library_is_its_own_mean() -> None:
    peer = Peer(7, random_state=0).fit(X[TRAIN], Y[TRAIN])
    ours = hb.from_model(peer)
    assert ours.smoothing == 0
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-12)


@pytest.mark.parametrize("wrong", [-0.1, "much", None, np.inf])
def test_what_is_no_part_of_a_vote(wrong: Any) -> None:
    with pytest.raises(ValueError, match="smoothing must be"):
        hb.RandomForestClassifier(smoothing=wrong).fit(X, Y)
