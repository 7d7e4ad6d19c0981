"""Fits where the system grants no further thread: as a user without rights, under a limit of one."""

import json
import os
import resource
import threading
import warnings

import numpy as np

from hornbeam import DecisionTreeClassifier

RNG = np.random.default_rng(0)
X = RNG.random(size=(20_000, 6))
Y = RNG.integers(0, 3, len(X))
NOBODY = 65534


def fit(n_jobs: int) -> tuple[bytes, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = DecisionTreeClassifier(n_jobs=n_jobs, max_depth=8).fit(X, Y)
        leaves = model.apply(X)
    names = [type(warning.message).__name__ for warning in caught]
    return model.tree_.threshold.tobytes() + leaves.tobytes(), names


def limit_threads() -> str:
    """Return why that is impossible here, or nothing."""
    try:
        if os.geteuid() == 0:  # no limit binds the administrator
            os.setuid(NOBODY)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        thread = threading.Thread(target=lambda: None)
        thread.start()
        thread.join()
    except (OSError, ValueError) as error:
        return f"the limit cannot be set: {error}"
    except RuntimeError:  # "can't start new thread": just so
        return ""
    return "the limit does not bind"


def main() -> None:
    plain, _ = fit(1)  # which starts no thread, and imports whatever is imported late
    obstacle = limit_threads()
    if obstacle:
        print(json.dumps({"obstacle": obstacle}))
        return
    limited, warned = fit(2)
    print(json.dumps({"obstacle": "", "same": limited == plain, "warnings": warned}))


main()
