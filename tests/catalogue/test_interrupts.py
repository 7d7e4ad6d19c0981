"""Rows 83 and 84: Ctrl-C during a fit and a prediction, the host's own handler, signals to other threads.

All cases run in one process of their own, which sends itself the signals and prints what it saw.
"""

import json
from typing import Any

import pytest

from catalogue.processes import run_script

PROMPT_SECONDS = 2.0  # 0.5 s is the aim; the machines that run the tests are shared

SCRIPT = """
import ctypes, json, os, random, signal, threading, time
import numpy as np
from sklearn.exceptions import NotFittedError
from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor

rng = np.random.default_rng(0)
X = rng.random(size=(1_000_000, 30), dtype=np.float32)
y = rng.integers(0, 2, len(X))
small, answers = X[:20_000], y[:20_000]

def send_later(delay, send=lambda: os.kill(os.getpid(), signal.SIGINT)):
    times = []
    def wait_and_send():
        time.sleep(delay)
        times.append(time.monotonic())
        send()
    thread = threading.Thread(target=wait_and_send)
    thread.start()
    return thread, times

def interrupt(work, delay, **how):
    # How long the exception took, and whether the work was over before it came.
    thread, times = send_later(delay, **how)
    over = False
    try:
        work()
        over = True
        time.sleep(60)
    except KeyboardInterrupt:
        seconds = time.monotonic() - times[0]
    thread.join()
    return {"seconds": seconds, "too_late": over}

def is_unfitted(model):
    try:
        model.predict(small[:5])
    except NotFittedError:
        return not hasattr(model, "n_features_in_")
    return False

seen = {"fit": [], "predict": [], "unfitted": [], "unchanged": []}
draw = random.Random(os.getpid())
for n_jobs in (1, 2):
    for Tree in (DecisionTreeClassifier, DecisionTreeRegressor):
        for _ in range(2):
            new = Tree(n_jobs=n_jobs)
            seen["fit"].append(interrupt(lambda: new.fit(X, y), draw.uniform(0.05, 1.0)))
            seen["unfitted"].append(is_unfitted(new))
        old = Tree(n_jobs=n_jobs, max_depth=5).fit(small[:, :7], answers)
        before = old.predict(small[:, :7])
        seen["fit"].append(interrupt(lambda: old.fit(X, y), draw.uniform(0.05, 1.0)))
        seen["unchanged"].append(bool((old.predict(small[:, :7]) == before).all()) and old.n_features_in_ == 7)
deep = DecisionTreeClassifier().fit(small, answers)
many = np.broadcast_to(small[5], (200_000_000, 30))  # one row over and over: it takes no memory
for n_jobs in (1, 2):
    deep.set_params(n_jobs=n_jobs)
    for _ in range(2):
        seen["predict"].append(interrupt(lambda: deep.predict(many), draw.uniform(0.05, 0.5)))
seen["fit_after"] = bool((DecisionTreeClassifier(n_jobs=2).fit(small, answers).predict(small) == answers).all())

# A handler of the host that raises something of its own, and stays installed.
class Stop(Exception):
    pass

calls = []
def handler(number, frame):
    calls.append(threading.current_thread() is threading.main_thread())
    if len(calls) > 1:
        raise Stop
signal.signal(signal.SIGINT, handler)
def send_twice():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
thread, times = send_later(0.2, send_twice)
try:
    DecisionTreeClassifier(n_jobs=2).fit(X, y)
    seen["host_exception"] = "none"
except Stop:
    seen["host_exception"] = "Stop"
thread.join()
seen["host_calls"] = calls
seen["host_handler_kept"] = signal.getsignal(signal.SIGINT) is handler

# A handler that only takes note: the fit goes on to its end.
notes = []
signal.signal(signal.SIGINT, lambda number, frame: notes.append(number))
thread, times = send_later(0.02)
model = DecisionTreeRegressor(n_jobs=2).fit(X[:200_000, :3], X[:200_000, 0])
thread.join()
seen["noted"] = notes == [signal.SIGINT]
plain = DecisionTreeRegressor(n_jobs=1).fit(X[:200_000, :3], X[:200_000, 0])
seen["noted_model_is_whole"] = plain.tree_.threshold.tobytes() == model.tree_.threshold.tobytes()

# The system may hand the signal to any thread, also to one of the pool's.
signal.signal(signal.SIGINT, signal.default_int_handler)
threads_of_python = {thread.native_id for thread in threading.enumerate()}
def signal_a_pool_thread():
    known = threads_of_python | {threading.get_native_id()}
    pool = [int(name) for name in os.listdir("/proc/self/task") if int(name) not in known]
    seen["pool_threads"] = len(pool)
    for thread_id in pool:
        ctypes.CDLL(None).syscall(234, os.getpid(), thread_id, signal.SIGINT)  # tgkill
if os.uname().machine == "x86_64":
    seen["pool_signal"] = interrupt(
        lambda: DecisionTreeClassifier(n_jobs=2).fit(X, y), 0.3, send=signal_a_pool_thread
    )

# A fit in another thread: Python gives the signal to the main thread, and the fit runs to its end.
results = []
fitter = threading.Thread(target=lambda: results.append(DecisionTreeRegressor(n_jobs=2).fit(X[:200_000, :3], X[:200_000, 0])))
fitter.start()
seen["main_thread"] = interrupt(lambda: time.sleep(30), 0.05)
fitter.join()
seen["other_thread_fit"] = plain.tree_.threshold.tobytes() == results[0].tree_.threshold.tobytes()
print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(run_script(SCRIPT).stdout)
    return result


def assert_prompt(interrupts: list[dict[str, Any]]) -> None:
    assert interrupts
    assert not any(one["too_late"] for one in interrupts)
    assert max(one["seconds"] for one in interrupts) < PROMPT_SECONDS


def test_row_83_interrupted_fit(seen: dict[str, Any]) -> None:
    assert_prompt(seen["fit"])


def test_row_83_interrupted_predict(seen: dict[str, Any]) -> None:
    assert_prompt(seen["predict"])


def test_row_83_the_estimator_stays_unfitted_or_unchanged(seen: dict[str, Any]) -> None:
    assert seen["unfitted"] == [True] * 8
    assert seen["unchanged"] == [True] * 4


def test_row_83_the_pool_works_on(seen: dict[str, Any]) -> None:
    assert seen["fit_after"] is True


def test_row_84_the_handler_of_the_host_is_called_and_kept(seen: dict[str, Any]) -> None:
    assert seen["host_exception"] == "Stop"  # at the second signal
    assert seen["host_calls"] == [True, True]  # in the main thread, as Python promises
    assert seen["host_handler_kept"] is True


def test_row_84_a_handler_that_does_not_raise_does_not_stop_the_fit(seen: dict[str, Any]) -> None:
    assert seen["noted"] is True
    assert seen["noted_model_is_whole"] is True


def test_row_84_signal_to_a_thread_of_the_pool(seen: dict[str, Any]) -> None:
    if "pool_signal" not in seen:
        pytest.skip("the number of the system call that signals one thread is known for x86_64 only")
    assert seen["pool_threads"] >= 1
    assert_prompt([seen["pool_signal"]])


def test_row_84_signal_while_another_thread_fits(seen: dict[str, Any]) -> None:
    assert_prompt([seen["main_thread"]])
    assert seen["other_thread_fit"] is True
