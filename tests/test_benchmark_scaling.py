"""The benchmarks of scaling and of inner loops: sweeps, fitted exponents, gates."""

from __future__ import annotations

import json
import math
import sys
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import inner_loops, report, scaling, sweeps
from benchmarks.data import REPOSITORY
from benchmarks.growth import fit_growth

pytestmark = pytest.mark.usefixtures("one_thread")


# --------------------------------------------------------------------------------------------- scaling


def test_fitted_exponents_and_the_flag():
    sizes = [1e4, 2e4, 5e4, 1e5, 1e6]
    linear = fit_growth(sizes, [3e-6 * n for n in sizes])
    assert linear.overall == pytest.approx(1)
    assert not linear.beyond_n_log_n
    assert not fit_growth(sizes, [n * math.log(n) for n in sizes]).beyond_n_log_n
    square = fit_growth(sizes, [n * n for n in sizes])
    assert square.tail == pytest.approx(2)
    assert "ABOVE n log n" in square.words()
    # Fixed costs hide growth at small sizes; the larger half must show it.
    assert fit_growth(sizes, [1e9 + n * n for n in sizes]).beyond_n_log_n
    assert fit_growth([10], [1.0]) is None


def test_every_sweep_has_growing_sizes_and_known_methods():
    for sweep in sweeps.SWEEPS.values():
        for sizes in (sweep.sizes, sweep.quick_sizes):
            assert list(sizes) == sorted(set(sizes))
        assert set(sweep.methods) <= set(sweeps.METHODS)


@pytest.mark.parametrize("library", sweeps.LIBRARIES)
@pytest.mark.parametrize(
    ("sweep", "method"),
    [
        *(("rows", method) for method in sweeps.METHODS),
        ("features", "tree"),
        ("trees", "forest"),
        ("classes", "boosting"),
        ("staircase", "tree"),
    ],
)
def test_the_smallest_point_of_a_sweep_runs(sweep, method, library):
    chosen = Namespace(quick=True, threads=1, repeats=1)
    small = sweeps.SWEEPS[sweep]
    outcome = scaling.measure_point(
        small, method, library, small.quick_sizes[0], chosen, in_this_process=True
    )
    assert outcome.status in {"ok", "absent"}, outcome.reason
    if library == "scikit-learn":
        assert outcome.finished


def test_curves_are_measured_drawn_and_written(tmp_path):
    pytest.importorskip("matplotlib")
    words = ["staircase", "--quick", "--library", "scikit-learn", "--repeats", "1", "--budget", "1e-9"]
    assert scaling.main([*words, "--out", str(tmp_path)]) == 0
    (curve,) = json.loads((tmp_path / "scaling.json").read_text())["curves"]
    assert curve["sizes"] == [250]
    assert curve["stopped"] == "over 1e-09 s"
    assert (tmp_path / "staircase.png").exists()


def made_up_curves():
    rows = scaling.Curve("rows", "boosting", "hornbeam", [1000, 2000, 4000], [1.0, 2.0, 4.0], [None, 9, 18])
    stairs = scaling.Curve(
        "staircase", "tree", "hornbeam", [10, 20, 40], [1.0, 4.0, 16.0], [5] * 3, "over 9 s"
    )
    return [rows], [stairs]


def test_the_section_of_scaling_names_targets_and_has_one_picture(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    results = tmp_path / "RESULTS.md"
    results.write_text((REPOSITORY / "benchmarks" / "RESULTS.md").read_text())
    monkeypatch.setattr(scaling, "RESULTS", results)
    monkeypatch.setattr(scaling, "CHART", tmp_path / "growth.png")
    scaling.write_results(report.this_machine(), made_up_curves())
    written = results.read_text()
    first = next(line for line in written.splitlines() if line.startswith("| rows | boosting"))
    assert "1,000 to 4,000 | 4 s | n^1.00, tail n^1.00, 2.00x per doubling" in first
    assert first.endswith("<= n log n, <= 2.05x per doubling | reached |")
    assert "ABOVE n log n" in written and "<= n log n | NOT reached |" in written
    assert "* staircase, tree: ended after 40, over 9 s" in written
    assert "(growth.png)" in written and (tmp_path / "growth.png").stat().st_size > 10_000


def test_a_run_of_some_minutes_measures_fewer_sizes_and_ends_curves_in_time(monkeypatch):
    assert scaling.every_second((10, 20, 50, 100, 200)) == [10, 50, 200]
    assert scaling.every_second((1, 2)) == [1, 2]
    assert scaling.expected_seconds(made_up_curves()[1][0], 80) == pytest.approx(64.0)
    now = [0.0]
    monkeypatch.setattr(scaling, "time", SimpleNamespace(monotonic=lambda: now[0]))
    clock = scaling.Clock(minutes=1, n_curves=4)
    clock.begin_curve()
    assert clock.allows(30) and not clock.allows(31)
    now[0] = 48.0
    clock.begin_curve()
    assert clock.allows(8) and not clock.allows(9)
    assert scaling.Clock(minutes=None, n_curves=1).allows(1e9)


def test_loops_are_read_with_their_gates():
    text = "".join(
        f"{name}, and more        {most:8.3f} ns per row\n" for name, most in inner_loops.GATES.items()
    )
    loops = inner_loops.read_loops(text + "another loop   7.125 ns per row and tree\n")
    assert [loop.verdict() for loop in loops] == ["met"] * len(inner_loops.GATES) + [""]
    assert (loops[-1].nanoseconds, loops[-1].unit) == (7.125, "row and tree")
    slow = inner_loops.read_loops(text.replace("0.550", "0.551"))
    assert slow[0].verdict() == "NOT met"
    assert "| <= 0.55 | NOT met |" in inner_loops.as_markdown(report.this_machine(), slow)
    with pytest.raises(ValueError, match="no loop was measured for the gate of '255 bins"):
        inner_loops.read_loops("\n".join(line for line in text.splitlines() if not line.startswith("255")))
    with pytest.raises(ValueError, match="not a line of the kernels"):
        inner_loops.read_loops("nonsense")


def test_every_gate_has_a_line_in_the_program():
    sources = "".join(path.read_text() for path in (REPOSITORY / "benchmarks" / "kernels").glob("*.cpp"))
    for gate in inner_loops.GATES:
        begin = gate.partition(", ")[0]
        assert begin in sources, gate


def test_twice_the_rows_may_cost_boosting_less_than_trees():
    sizes = [1000, 2000, 4000, 8000]
    seconds = [size**1.1 for size in sizes]
    words = {
        method: scaling.Curve("rows", method, "hornbeam", sizes, seconds, [None] * 4).growth_of_time()
        for method in ("tree", "boosting")
    }
    assert words["tree"].endswith("2.14x per doubling")
    assert words["boosting"].endswith("2.14x per doubling, ABOVE 2.05x")


def test_speed_up_by_threads_is_a_ratio():
    curve = scaling.Curve("threads", "forest", "hornbeam", [1, 2], [3.0, 2.0], [None, None])
    assert curve.growth_of_time() == "1.50x by 2 threads, BELOW 1.8x"
    assert curve.growth_of_memory() == ""
