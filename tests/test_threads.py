"""Threads: what n_jobs and the environment ask for, within what the process may use."""

import os
import threading
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.linear_model import Ridge

import hornbeam as hb
from hornbeam import threads
from hornbeam.threads import resolve_n_jobs, usable_cores
from hornbeam.warnings import HornbeamWarning, ThreadsWarning


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HORNBEAM_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_cores_by_affinity", lambda: 8)
    monkeypatch.setattr(threads, "_quota_in_cores", lambda: None)


@pytest.mark.parametrize(
    ("n_jobs", "expected"), [(None, 8), (1, 1), (8, 8), (-1, 8), (-2, 7), (-8, 1), (-9, 1), (-1000, 1)]
)
def test_n_jobs_counts_as_in_joblib(n_jobs: int | None, expected: int) -> None:
    assert resolve_n_jobs(n_jobs) == expected


def test_numpy_integers_give_a_plain_int() -> None:
    result = resolve_n_jobs(np.int16(3))  # type: ignore[arg-type]
    assert (result, type(result)) == (3, int)


@pytest.mark.parametrize("n_jobs", [0, np.int64(0), "auto", "2", 2.0, True, False, [2]])
def test_zero_and_other_types_are_errors(n_jobs: Any) -> None:
    with pytest.raises(ValueError, match="n_jobs must be None or a whole number other than 0") as caught:
        resolve_n_jobs(n_jobs)
    assert f"got {n_jobs!r}." in str(caught.value)


@pytest.mark.parametrize("n_jobs", [9, 131072, 10**30])
def test_more_than_usable_is_cut_with_a_warning(n_jobs: int) -> None:
    with pytest.warns(ThreadsWarning, match=rf"n_jobs={n_jobs} is more than the 8 core\(s\)") as caught:
        assert resolve_n_jobs(n_jobs) == 8
    assert len(caught) == 1
    assert issubclass(ThreadsWarning, HornbeamWarning)


def test_own_variable_comes_before_openmps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert resolve_n_jobs(None) == 2
    monkeypatch.setenv("HORNBEAM_NUM_THREADS", "3")
    assert resolve_n_jobs(None) == 3
    monkeypatch.setenv("HORNBEAM_NUM_THREADS", " ")
    assert resolve_n_jobs(None) == 2


def test_a_number_given_in_code_comes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORNBEAM_NUM_THREADS", "3")
    assert resolve_n_jobs(5) == 5
    assert resolve_n_jobs(-1) == 8


@pytest.mark.parametrize("text", ["0", "-1", "many", "2.0", "2,4"])
def test_own_variable_must_be_a_positive_number(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("HORNBEAM_NUM_THREADS", text)
    with pytest.raises(ValueError, match=f"HORNBEAM_NUM_THREADS must be a whole number >= 1; got '{text}'"):
        resolve_n_jobs(None)


def test_own_variable_above_usable_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HORNBEAM_NUM_THREADS", "64")
    with pytest.warns(ThreadsWarning, match="HORNBEAM_NUM_THREADS=64"):
        assert resolve_n_jobs(None) == 8


@pytest.mark.parametrize(
    ("text", "expected"),
    [("4", 4), ("4,2", 4), (" 4 ", 4), ("64", 8), ("0", 8), ("-1", 8), ("all", 8), ("", 8)],
)
def test_openmps_variable_is_taken_as_a_wish(
    monkeypatch: pytest.MonkeyPatch, text: str, expected: int
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert resolve_n_jobs(None) == expected


@pytest.mark.parametrize(("quota", "expected"), [(None, 8), (2.0, 2), (2.5, 3), (0.2, 1), (100.0, 8)])
def test_quota_cuts_the_cores(monkeypatch: pytest.MonkeyPatch, quota: float | None, expected: int) -> None:
    monkeypatch.setattr(threads, "_quota_in_cores", lambda: quota)
    assert usable_cores() == expected


def test_affinity_mask_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the real functions, on the machine at hand
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    assert threads._cores_by_affinity() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads._cores_by_affinity() == 1


# --- Control groups: a folder that looks like / ----------------------------------------------------------


def system(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, None, id="no control groups"),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5, id="version 2"
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"},
            None,
            id="version 2, none",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "0::/jobs/mine\n",
                "sys/fs/cgroup/jobs/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/jobs/mine/cpu.max": "400000 100000\n",
            },
            2.0,
            id="version 2, the parent is stricter",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/host/path\n", "sys/fs/cgroup/cpu.max": "300000 100000\n"},
            3.0,
            id="version 2, a path of the host",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "4:memory:/box\n3:cpu,cpuacct:/box\n0::/\n",
                "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000\n",
            },
            0.5,
            id="version 1",
        ),
        pytest.param(
            {
                "proc/self/cgroup": "3:cpu:/\n2:cpuset:/\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            None,
            id="version 1, none",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/../..\nnonsense\n", "sys/fs/cgroup/cpu.max": "what\n"},
            None,
            id="nonsense",
        ),
    ],
)
def test_quota_of_control_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: float | None
) -> None:
    monkeypatch.undo()
    assert threads._quota_in_cores(system(tmp_path, files)) == expected


def _no_thread(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


@pytest.mark.parametrize(
    "model",
    [
        hb.StackingRegressor([[("tree", hb.DecisionTreeRegressor())]], cv=3, n_jobs=2),
        hb.BaggingRegressor(Ridge(), 4, random_state=0, n_jobs=2),
    ],
    ids=["stack", "bag"],
)
def test_members_are_fitted_in_turn_where_there_is_no_thread(
    monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    expected = model.fit(X, X[:, 0]).predict(X)
    monkeypatch.setattr(threading.Thread, "start", _no_thread)
    with (
        joblib.parallel_config("threading"),
        pytest.warns(ThreadsWarning, match="refused a thread; the members"),
    ):
        model.fit(X, X[:, 0])
    np.testing.assert_array_equal(model.predict(X), expected)


def test_other_errors_of_members_are_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(Ridge):
        def fit(self, *_: Any) -> None:
            raise RuntimeError("can't start new thread, says the member")

    with pytest.raises(RuntimeError, match=r"Member 0, a Odd, failed to fit: can't start"):
        hb.BaggingRegressor(Odd(), 4, n_jobs=1).fit([[1.0], [2.0]], [1.0, 2.0])
