"""Rows 89 to 93: threads that cannot start, that share a model, that fail; other runtimes; clocks."""

import importlib.util
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from catalogue.models import TREES, Tree, same_model
from catalogue.processes import run_script
from hornbeam import _core

CORE_SOURCES = Path(__file__).resolve().parents[2] / "cpp"


def test_row_89_without_further_threads_the_work_is_done_by_fewer() -> None:
    seen = run_script("thread_limit")
    if seen["obstacle"]:
        pytest.skip(f"this machine grants threads whatever is asked: {seen['obstacle']}")
    assert seen["same"] is True
    assert seen["warnings"] == ["ThreadsWarning"]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_row_92_leaving_the_interpreter_during_a_fit(n_jobs: int) -> None:
    assert run_script("exit_during_fit", str(n_jobs)) == {"left": True}  # and the exit code is 0


@pytest.mark.parametrize("tree", TREES)
def test_row_90_many_threads_predict_while_another_model_fits(tree: type[Tree]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random(size=(20_000, 6)), rng.integers(0, 3, 20_000)
    model = tree(n_jobs=2).fit(X[:5000], y[:5000])
    answers, leaves = model.predict(X), model.apply(X)
    start = threading.Barrier(33)
    faults: list[str] = []

    def predict() -> None:
        start.wait(timeout=30)
        for _ in range(5):
            if (
                model.predict(X).tobytes() != answers.tobytes()
                or model.apply(X).tobytes() != leaves.tobytes()
            ):
                faults.append("another answer")

    threads = [threading.Thread(target=predict) for _ in range(32)]
    for thread in threads:
        thread.start()
    start.wait(timeout=30)
    other = [tree(n_jobs=2, max_depth=8).fit(X, y) for _ in range(3)]
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert faults == []
    assert all(same_model(other[0], one) for one in other[1:])


@pytest.mark.skipif(sys.platform != "linux", reason="reads which libraries a process has from /proc")
def test_row_91_the_core_brings_no_openmp_runtime() -> None:
    spec = importlib.util.find_spec("hornbeam._core")
    assert spec is not None
    assert spec.origin is not None
    seen = run_script("core_alone", spec.origin)
    assert seen["n_features"] == 4
    assert Path(spec.origin).name in seen["libraries"]
    runtimes = ("libgomp", "libomp", "libiomp", "libtbb", "libmkl")
    assert [name for name in seen["libraries"] if name.startswith(runtimes)] == []


@pytest.mark.parametrize("n_threads", [1, 2])
def test_row_92_an_error_in_a_thread_of_the_pool_is_a_python_exception(n_threads: int) -> None:
    good = np.zeros(1000, dtype=np.int32)
    bad = np.full(1000, 7, dtype=np.int32)
    for _ in range(50):
        with pytest.raises(IndexError, match="a category code lies outside the category table"):
            _core.encode_table(1000, [(good, 1), (bad, 3), (good, 1), (bad, 3), (bad, 3)], 0, n_threads)
    assert _core.encode_table(1000, [(good, 1), (bad, 8)], 0, n_threads).n_features == 2


def test_row_92_errors_in_two_fits_at_once() -> None:
    good = np.arange(1000, dtype=np.int32)
    seen: list[type[BaseException] | int] = []

    def encode(columns: list[tuple[np.ndarray, int]]) -> None:
        for _ in range(50):
            try:
                seen.append(_core.encode_table(1000, columns, 0, 2).n_features)
            except IndexError as error:
                seen.append(type(error))

    threads = [
        threading.Thread(target=encode, args=([(good, 1000)] * 4,)),
        threading.Thread(target=encode, args=([(good, 1000), (good, 3)] * 2,)),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert sorted(map(str, seen)) == sorted(["4"] * 50 + [str(IndexError)] * 50)


def test_row_93_only_the_monotonic_clock_decides_about_time() -> None:
    sources = [*CORE_SOURCES.rglob("*.h"), *CORE_SOURCES.rglob("*.cpp")]
    if not sources:
        pytest.skip("the sources of the core are not here")
    texts = {path.relative_to(CORE_SOURCES).as_posix(): path.read_text(encoding="utf-8") for path in sources}
    assert "std::chrono::steady_clock" in texts["base/cancel.h"]
    for wall_clock in (
        "system_clock",
        "high_resolution_clock",
        "gettimeofday",
        "time(nullptr)",
        "CLOCK_REALTIME",
    ):
        assert [name for name, text in texts.items() if wall_clock in text] == []
    # Waiting for the pool ends only when its work has; a clock can only change how often the host is asked.
    assert texts["base/parallel.cpp"].count(".wait_for(") == 1
    assert texts["base/parallel.cpp"].count(".wait(all_done, [&] {") == 1
    assert "wait_until" not in texts["base/parallel.cpp"]
