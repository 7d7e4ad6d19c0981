"""Sends itself SIGINT at random moments of fits and predictions, and reports what became of them."""

import ctypes
import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor

TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
RNG = np.random.default_rng(0)
LARGE = RNG.random(size=(600_000, 30), dtype=np.float32)  # a fit takes many seconds
LABELS = RNG.integers(0, 2, len(LARGE))
SMALL = LARGE[:10_000]
SMALL_LABELS = LABELS[:10_000]
MEDIUM = LARGE[:100_000, :3]
MANY = np.broadcast_to(SMALL[5], (200_000_000, 30))  # one row over and over: it takes no memory
DELAY = random.Random(os.getpid())


class HostError(Exception):
    """What a program's own handler may raise."""


def signal_own_process() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt(
    work: Callable[[], Any],
    *,
    after: float,
    send: Callable[[], None] = signal_own_process,
    expect: type[BaseException] = KeyboardInterrupt,
) -> dict[str, Any]:
    """Report how long the exception took to come, and whether the work was over before."""
    sent_at = [0.0]

    def wait_and_send() -> None:
        time.sleep(after)
        sent_at[0] = time.monotonic()
        send()

    thread = threading.Thread(target=wait_and_send)
    thread.start()
    over = False
    try:
        work()
        over = True
        time.sleep(60)
    except expect:
        seconds = time.monotonic() - sent_at[0]
    thread.join()
    return {"seconds": seconds, "too_late": over}


def is_unfitted(model: Any) -> bool:
    try:
        model.predict(SMALL[:5])
    except NotFittedError:
        return not hasattr(model, "n_features_in_")
    return False


def interrupted_fits() -> dict[str, Any]:
    fits, unfitted, unchanged = [], [], []
    for n_jobs in (1, 2):
        for tree in TREES:
            for _ in range(2):
                new = tree(n_jobs=n_jobs)
                fits.append(interrupt(lambda: new.fit(LARGE, LABELS), after=DELAY.uniform(0.02, 0.6)))  # noqa: B023
                unfitted.append(is_unfitted(new))
            old = tree(n_jobs=n_jobs, max_depth=5).fit(SMALL[:, :7], SMALL_LABELS)
            before = old.predict(SMALL[:, :7])
            fits.append(interrupt(lambda: old.fit(LARGE, LABELS), after=DELAY.uniform(0.02, 0.6)))  # noqa: B023
            same = (old.predict(SMALL[:, :7]) == before).all()
            unchanged.append(bool(same) and old.n_features_in_ == 7)
    again = DecisionTreeClassifier(n_jobs=2).fit(SMALL, SMALL_LABELS).predict(SMALL)
    return {
        "fits": fits,
        "unfitted": unfitted,
        "unchanged": unchanged,
        "fit_after": bool((again == SMALL_LABELS).all()),
    }


def interrupted_predictions() -> list[dict[str, Any]]:
    model = DecisionTreeClassifier().fit(SMALL, SMALL_LABELS)
    seen = []
    for n_jobs in (1, 2, 1, 2):
        model.set_params(n_jobs=n_jobs)
        seen.append(interrupt(lambda: model.predict(MANY), after=DELAY.uniform(0.05, 0.5)))
    return seen


def host_handler_that_raises() -> dict[str, Any]:
    """Let the host's handler pass over the first signal and raise at the second."""
    calls: list[bool] = []

    def handler(*_: Any) -> None:
        calls.append(threading.current_thread() is threading.main_thread())
        if len(calls) > 1:
            raise HostError

    def send_twice() -> None:
        signal_own_process()
        while not calls:  # two signals at once would be one
            time.sleep(0.01)
        signal_own_process()

    signal.signal(signal.SIGINT, handler)
    model = DecisionTreeClassifier(n_jobs=2)
    seen = interrupt(lambda: model.fit(LARGE, LABELS), after=0.2, send=send_twice, expect=HostError)
    return {**seen, "calls": calls, "kept": signal.getsignal(signal.SIGINT) is handler}


def fit_medium(n_jobs: int) -> bytes:
    model = DecisionTreeRegressor(n_jobs=n_jobs).fit(MEDIUM, MEDIUM[:, 0])
    return bytes(model.tree_.threshold)


def host_handler_that_takes_note(whole: bytes) -> dict[str, Any]:
    """A handler that does not raise does not stop a fit."""
    notes: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: notes.append(number))
    timer = threading.Timer(0.02, signal_own_process)
    timer.start()
    model = fit_medium(2)
    timer.join()
    return {"noted": notes == [signal.SIGINT], "whole": model == whole}


def signal_to_the_pool() -> dict[str, Any] | None:
    """The system may give the signal to any thread, so also to one that Python does not know."""
    if os.uname().machine != "x86_64":
        return None  # the number of the system call below differs
    known = {thread.native_id for thread in threading.enumerate()}
    signalled: list[int] = []

    def send() -> None:
        unknown = {int(name) for name in os.listdir("/proc/self/task")} - known - {threading.get_native_id()}
        signalled.append(max(unknown))  # the youngest: other libraries started theirs at import
        tgkill = 234
        ctypes.CDLL(None).syscall(tgkill, os.getpid(), signalled[0], signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    model = DecisionTreeClassifier(n_jobs=2)
    seen = interrupt(lambda: model.fit(LARGE, LABELS), after=0.3, send=send)
    return {**seen, "n_signalled": len(signalled)}


def signal_while_another_thread_fits(whole: bytes) -> dict[str, Any]:
    """Python gives signals to the main thread; a fit in another one runs to its end."""
    models: list[bytes] = []
    fitter = threading.Thread(target=lambda: models.append(fit_medium(2)))
    fitter.start()
    seen = interrupt(lambda: time.sleep(60), after=0.05)
    fitter.join()
    return {**seen, "whole": models == [whole]}


def main() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
    whole = fit_medium(1)
    report = {
        **interrupted_fits(),
        "predictions": interrupted_predictions(),
        "host_raises": host_handler_that_raises(),
        "host_takes_note": host_handler_that_takes_note(whole),
        "pool": signal_to_the_pool(),
        "other_thread": signal_while_another_thread_fits(whole),
    }
    print(json.dumps(report))


main()
