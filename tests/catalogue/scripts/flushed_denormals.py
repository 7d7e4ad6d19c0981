"""Fits and predicts while the processor flushes denormal numbers to zero, as some libraries ask it to."""

import ctypes
import ctypes.util
import json

import numpy as np

from hornbeam import DecisionTreeRegressor

SMALLEST = np.finfo(np.float64).smallest_subnormal
X = (np.arange(40.0) * SMALLEST).reshape(-1, 1)
Y = np.arange(40.0)
FLUSH_BITS = 0x8040  # results and operands


def flush_denormals(on: bool) -> None:
    # On x86_64 the control word of the vector unit is the last word of the floating point environment.
    environment = (ctypes.c_uint32 * 8)()
    maths = ctypes.CDLL(ctypes.util.find_library("m"))
    maths.fegetenv(environment)
    environment[7] = environment[7] | FLUSH_BITS if on else environment[7] & ~FLUSH_BITS
    maths.fesetenv(environment)


def main() -> None:
    plain = DecisionTreeRegressor(n_jobs=1).fit(X, Y)
    answers = plain.predict(X)
    flush_denormals(True)
    flushing = bool(np.float64(SMALLEST) + np.float64(0.0) == 0.0)
    flushed_answers = plain.predict(X)
    flushed = DecisionTreeRegressor(n_jobs=1).fit(X, Y)
    flush_denormals(False)
    report = {
        "flushing": flushing,
        "right": answers.tolist() == Y.tolist(),
        "same_answers": answers.tobytes() == flushed_answers.tobytes(),
        "same_tree": plain.tree_.threshold.tobytes() == flushed.tree_.threshold.tobytes(),
    }
    print(json.dumps(report))


main()
