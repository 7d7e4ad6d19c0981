"""A comparison within a time budget: who has a turn, and what is said of the others."""

import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import hornbeam as hb
from hornbeam.recipes import clock
from hornbeam.selection import trials
from selection.comparing import quick

# --- Time --------------------------------------------------------------------------------------------------


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by a second whenever the budget is looked at; other threads have the usual one."""
    seconds = iter(range(10**6))
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: next(seconds)))


@pytest.fixture
def taking(monkeypatch):
    """Make functions that fit in a given time, by clocks that go on only while they do."""
    now = [100.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(trials, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    def made(seconds, fits):
        def slow(X, y):
            fits.append((seconds, len(y)))
            now[0] += seconds
            return lambda rows: np.zeros(len(rows), dtype=int)

        return slow

    return made


def test_a_budget_ends_the_comparison_and_names_what_had_no_turn(taking, iris):
    fits = []
    add = {"long": taking(5, fits), "short": taking(1, fits), "middle": taking(3, fits)}
    # A fold each takes 9 s, the others of the quickest 2 s and 6 s; 1 s is left, too short for 10 s.
    found = quick(*iris, methods=[], add=add, cv=3, time_budget=18)
    assert set(found.names) == {"baseline", "short", "middle"}
    assert found.failures == {"long": "the time budget ran out before it was finished"}
    assert fits[:7] == [(5, 100), (1, 100), (3, 100), (1, 100), (1, 100), (3, 100), (3, 100)]
    assert found.cut_short == (
        "The time budget of 18 s was too short for a full turn of long: time_budget= sets another."
    )
    assert found.verdict.endswith(f"Not in the ranking: long. {found.cut_short}")
    whole = quick(*iris, methods=[], add=add, cv=3, time_budget=None)
    assert whole.cut_short is None and set(whole.names) == {"baseline", *add}


def test_first_folds_leave_half_of_the_time_for_the_others(taking, iris):
    fits = []
    add = {"first": taking(4, fits), "second": taking(7, fits), "third": taking(1, fits)}
    found = quick(*iris, methods=[], add=add, cv=3, time_budget=20)
    assert set(found.names) == {"baseline", "first"}  # 4 s and 7 s for a fold each, then 8 s; 1 s is left
    assert list(found.failures) == ["second", "third"]


def test_where_only_the_baseline_had_time_nothing_is_said_about_the_columns(taking, iris):
    """A busy machine and a short budget: that nothing was tried does not mean that nothing can be learned."""
    found = quick(*iris, methods=[], add={"long": taking(50, [])}, cv=3, time_budget=18)
    assert list(found.names) == ["baseline"]
    assert found.verdict.startswith("Only the baseline could be judged: accuracy 0.32. Whether any method")
    assert "Not in the ranking: long." in found.verdict
    assert "too short for a full turn of long" in found.verdict
    assert "Best is" not in found.verdict and "tell little" not in found.verdict
    assert "ran out before" not in str(found)  # the verdict names it; once is enough


def test_methods_without_time_might_beat_the_baseline(taking, iris):
    add = {"guess": taking(1, []), "long": taking(11, [])}
    found = quick(*iris, methods=[], add=add, cv=3, time_budget=20)
    assert set(found.names) == {"baseline", "guess"}
    assert "beyond noise; the methods that were left out might be." in found.verdict
    assert "tell little" not in found.verdict


def test_five_minutes_are_the_default():
    assert inspect.signature(hb.compare).parameters["time_budget"].default == 300


def test_a_search_that_does_not_end_in_time_leaves_the_defaults(ticking, iris):
    found = quick(*iris, methods=["neighbors"], search=True, cv=2, time_budget=14)
    entry = next(entry for entry in found.entries if entry.name == "neighbors")
    assert not entry.searched and not found.failures
    assert entry.settings == [entry.member.settings[0]] * 2
