"""The tails of the core against scipy's."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hornbeam import _core

SIZES = st.one_of(st.integers(1, 60).map(float), st.floats(0.5, 1e5))
STATISTICS = st.one_of(st.floats(1e-6, 100), st.floats(1e-300, 1e6))


def close(ours: float, theirs: float) -> bool:
    # scipy takes the logarithm of a float64 here and computes the smallest ones to few digits.
    return theirs < -600 or ours == pytest.approx(theirs, rel=1e-8, abs=1e-10)


@settings(max_examples=400)
@given(STATISTICS, SIZES)
def test_chi_square_is_scipys(statistic, dof):
    assert close(_core.chi2_log_sf(statistic, dof), float(stats.chi2.logsf(statistic, dof)))


@settings(max_examples=400)
@given(STATISTICS, SIZES, SIZES)
def test_f_is_scipys(f, d1, d2):
    assert close(_core.f_log_sf(f, d1, d2), float(stats.f.logsf(f, d1, d2)))


def test_the_ends():
    assert _core.chi2_log_sf(0.0, 3.0) == 0.0
    assert _core.chi2_log_sf(math.inf, 3.0) == -math.inf
    assert _core.f_log_sf(0.0, 2.0, 5.0) == 0.0
    assert _core.f_log_sf(math.inf, 2.0, 5.0) == -math.inf


def test_far_tails_still_differ():
    """With two degrees of freedom the tail is e^(-x/2), as far as one likes."""
    assert _core.chi2_log_sf(1e5, 2.0) == pytest.approx(-5e4, rel=1e-12)
    # With d1 = 2 the tail is (1 + 2 f / d2) ^ (-d2 / 2).
    assert _core.f_log_sf(1e4, 2.0, 1000.0) == pytest.approx(-500 * math.log(21), rel=1e-12)
