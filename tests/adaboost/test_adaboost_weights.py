"""Weights of rows in AdaBoost that lie at the ends of what numbers there are."""

from pathlib import Path

import numpy as np
import pytest

import hornbeam as hb

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.WeightWarning")

NEXT_TO_NOTHING = 1e-320


def test_mistakes_in_rows_that_weigh_next_to_nothing_are_half_of_the_next_round() -> None:
    # The stump is wrong in the last row, whose x is that of the first: an error of 1e-320 / 2. The rounds of
    # AdaBoost give mistakes half of all weight, and the two others share the rest.
    X, y = np.array([[0.0], [1.0], [0.0]]), np.array([0, 1, 1])
    model = hb.AdaBoostClassifier(n_estimators=2, keep_weights=True).fit(X, y, [1.0, 1.0, NEXT_TO_NOTHING])
    np.testing.assert_allclose(model.sample_weights_[1], [0.25, 0.25, 0.5], rtol=1e-3)
    assert model.estimator_weights_[0] == pytest.approx(-np.log(NEXT_TO_NOTHING / 2) / 2)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("times", range(1, 40))
def test_a_row_that_gets_all_the_weight_has_a_share_of_one_and_the_model_is_loaded(
    times: int, tmp_path: Path
) -> None:
    # The rows at 0 share a leaf, so the last one is farthest off; a learning rate without bounds leaves the
    # others nothing.
    X, y = np.array([[0.0], [1.0], [0.0]]), np.array([0.0, 10.0, 5.0])
    model = hb.AdaBoostRegressor(n_estimators=2, learning_rate=1e300, keep_weights=True)
    model.fit(X, y, [1.0, 1.0, times * 1.2345e-310])
    np.testing.assert_allclose(model.sample_weights_[1], [0.0, 0.0, 1.0])
    assert model.sample_weights_.max() <= 1
    hb.save(model, tmp_path / "model.hornbeam")
    loaded = hb.load(tmp_path / "model.hornbeam")
    np.testing.assert_array_equal(loaded.sample_weights_, model.sample_weights_)
