"""What members draw: rows, groups and features, each as likely as it should be, again and again the same."""

import numpy as np
import pytest
from scipy import stats

from hornbeam import _core
from hornbeam.recipes.bag import BagPlan, MemberFeatures, plan_draws


def plan(n_rows: int = 10, rows: np.ndarray | None = None, **options: object) -> BagPlan:
    defaults = {"key": 7, "with_replacement": True, "max_samples": None}
    drawable = np.arange(n_rows, dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    return plan_draws(drawable, n_rows, **{**defaults, **options})


def test_a_sample_follows_from_key_and_member_alone() -> None:
    one, other = plan(50), plan(50)
    assert all(np.array_equal(one.times(m), other.times(m)) for m in range(5))
    assert not np.array_equal(one.times(0), one.times(1))
    assert not np.array_equal(one.times(0), plan(50, key=8).times(0))


def test_every_row_is_drawn_equally_often() -> None:
    n_rows, n_members = 20, 2000
    drawn = np.sum([plan(n_rows).times(m) for m in range(n_members)], axis=0)
    assert drawn.sum() == n_rows * n_members
    assert stats.chisquare(drawn).pvalue > 0.001


def test_the_share_of_rows_in_a_sample_is_0_632() -> None:
    n_rows, n_members = 200, 500
    shares = [np.mean(plan(n_rows).times(m) > 0) for m in range(n_members)]
    expected = 1 - (1 - 1 / n_rows) ** n_rows
    standard_error = np.std(shares) / np.sqrt(n_members)
    assert abs(np.mean(shares) - expected) < 4 * standard_error
    assert 0.632 < expected < 0.635


def test_without_replacement_every_set_is_equally_likely() -> None:
    draws = plan(5, with_replacement=False, max_samples=2)
    counts: dict[tuple[int, ...], int] = {}
    for member in range(3000):
        times = draws.times(member)
        assert times.max() == 1
        chosen = tuple(np.flatnonzero(times).tolist())
        counts[chosen] = counts.get(chosen, 0) + 1
    assert len(counts) == 10
    assert stats.chisquare(list(counts.values())).pvalue > 0.001


def test_worked_number_13() -> None:
    """Three samples of ten rows: who is out of bag; the chance to be left out."""
    samples = [
        [7, 8, 10, 8, 2, 5, 10, 10, 5, 9],
        [1, 4, 9, 1, 2, 3, 2, 7, 3, 2],
        [1, 8, 5, 10, 5, 5, 9, 6, 3, 7],
    ]
    left_out = [set(range(1, 11)) - set(sample) for sample in samples]
    assert left_out == [{1, 3, 4, 6}, {5, 6, 8, 10}, {2, 4}]
    assert set(range(1, 11)) - set.union(*left_out) == {7, 9}
    assert pytest.approx(0.3487, abs=5e-5) == (1 - 1 / 10) ** 10
    draws = plan(10)
    n_members = 4000
    left = np.mean([draws.times(member) == 0 for member in range(n_members)])
    assert left == pytest.approx(0.3487, abs=4 * np.sqrt(0.3487 * 0.6513 / (10 * n_members)))
    for member in range(5):
        expected = np.flatnonzero(draws.times(member) == 0)
        assert draws.rows_left_out(member).tolist() == expected.tolist()


def test_groups_are_drawn_as_a_whole() -> None:
    groups = np.array([3, 0, 3, 1, 1, 0, 2, 2, 2, 0], dtype=np.int32)
    draws = plan(10, groups=groups)
    assert (draws.n_units, draws.n_draws) == (4, 4)
    for member in range(50):
        times = draws.times(member)
        by_group = [set(times[groups == g].tolist()) for g in range(4)]
        assert all(len(found) == 1 for found in by_group)
        assert sum(found.pop() for found in by_group) == 4


def test_strata_give_every_class_its_share() -> None:
    classes = np.array([0] * 6 + [1] * 3 + [2], dtype=np.int32)
    for share, expected in ((None, [6, 3, 1]), (0.5, [3, 1, 1])):
        draws = plan(10, strata=classes, max_samples=share)
        for member in range(20):
            found = np.bincount(classes, weights=draws.times(member)).astype(int).tolist()
            assert sum(found) == sum(expected)
            assert found[0] == expected[0]


def test_groups_of_one_class_can_be_stratified_others_cannot() -> None:
    groups = np.array([0, 0, 1, 1, 2, 2], dtype=np.int32)
    draws = plan(6, groups=groups, strata=np.array([1, 1, 0, 0, 0, 0], dtype=np.int32))
    for member in range(20):
        times = draws.times(member)
        assert times[0] == times[1] == 1
        assert times[2] == times[3] and times[4] == times[5] and times[2] + times[4] == 2
    with pytest.raises(ValueError, match=r"rows 0 and 1 are of one group and of different classes"):
        plan(6, groups=groups, strata=np.array([0, 1, 0, 0, 0, 0], dtype=np.int32))


def test_draws_in_proportion_to_weights() -> None:
    weights = np.arange(1.0, 11.0)
    draws = plan(10, weights=weights)
    drawn = np.sum([draws.times(member) for member in range(2000)], axis=0)
    assert stats.chisquare(drawn, 20_000 * weights / weights.sum()).pvalue > 0.001


def test_rows_that_are_not_offered_are_neither_drawn_nor_left_out() -> None:
    draws = plan(10, rows=np.array([1, 4, 5, 9]))
    for member in range(20):
        drawn, left = set(np.flatnonzero(draws.times(member)).tolist()), draws.rows_left_out(member).tolist()
        assert drawn | set(left) == {1, 4, 5, 9}
        assert not drawn & set(left)


@pytest.mark.parametrize(("given", "expected"), [(None, 10), (3, 3), (0.25, 2), (0.01, 1), (1.0, 10)])
def test_max_samples(given: float | None, expected: int) -> None:
    assert plan(10, max_samples=given).times(0).sum() == expected


def test_max_samples_beyond_the_rows() -> None:
    assert plan(10, max_samples=11).times(0).sum() == 11
    assert plan(10, max_samples=1000).times(0).sum() == 1000
    groups = np.array([0, 0, 1, 1], dtype=np.int32)
    assert plan(4, max_samples=3, groups=groups).times(0).sum() == 6
    with pytest.raises(
        ValueError, match=r"max_samples is 1001, but there are only 10 rows.* 1000 drawn with "
    ):
        plan(10, max_samples=1001)
    with pytest.raises(ValueError, match=r"max_samples is 11, but there are only 10 rows.* 10 drawn without"):
        plan(10, max_samples=11, with_replacement=False)
    with pytest.raises(ValueError, match="max_samples is 3, but there are only 2 groups"):
        plan(4, max_samples=3, groups=groups, with_replacement=False)


def test_features_of_members_are_uniform() -> None:
    drawn = MemberFeatures(2)
    counts = np.zeros(5)
    for member in range(2000):
        features = drawn.of(plan(), member, 5)
        assert len(set(features.tolist())) == 2
        counts[features] += 1
    assert stats.chisquare(counts).pvalue > 0.001
    assert MemberFeatures().of(plan(), 0, 3).tolist() == [0, 1, 2]
    with_replacement = [MemberFeatures(3, with_replacement=True).of(plan(), m, 3) for m in range(50)]
    assert {len(features) for features in with_replacement} == {1, 2, 3}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rows": np.array([10], dtype=np.uint32)}, "outside the table"),
        ({"rows": np.zeros(0, dtype=np.uint32)}, "no row"),
        ({"stratum_begin": np.array([0, 9], dtype=np.uint64)}, "strata do not cover"),
        ({"unit_begin": np.array([0, 5, 4, 10], dtype=np.uint64)}, "units do not cover"),
        ({"draws_per_stratum": np.array([1, 1], dtype=np.uint64)}, "number of draws"),
        ({"draws_per_stratum": np.array([0], dtype=np.uint64)}, "at least one draw"),
        ({"draws_per_stratum": np.array([11], dtype=np.uint64), "with_replacement": False}, "more draws"),
        ({"draws_per_stratum": np.array([2**40], dtype=np.uint64)}, "too many draws"),
        ({"unit_weights": np.ones(9)}, "one weight per unit"),
        ({"unit_weights": np.zeros(10)}, "must be positive"),
        ({"unit_weights": np.ones(10), "with_replacement": False}, "need replacement"),
    ],
)
def test_the_core_refuses_what_it_could_not_draw(change: dict[str, object], message: str) -> None:
    sound: dict[str, object] = {
        "key": 0,
        "with_replacement": True,
        "n_rows": 10,
        "rows": None,
        "unit_begin": None,
        "stratum_begin": np.array([0, 10], dtype=np.uint64),
        "draws_per_stratum": np.array([10], dtype=np.uint64),
        "unit_weights": None,
    }
    assert _core.BagDraws(**sound).times(0).sum() == 10
    with pytest.raises(ValueError, match=message):
        _core.BagDraws(**{**sound, **change})
