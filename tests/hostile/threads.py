"""Eight threads at once: each fits what the others fit, all ask one model; answers are those of one thread.

Tables, options and estimators are drawn from a seed, as in attack.py.

    python -m hostile.threads --seconds 600 --first 0       # from tests/

`make sanitize-threads` runs it with a core that watches who writes what others read.
"""

import argparse
import faulthandler
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from hornbeam.params import estimators
from hostile.attack import Attack, BreachError, is_refusal, methods_of, same

N_THREADS = 8
# Of what a model can be asked, what takes little time and gives arrays.
ASKED = {
    "predict", "predict_proba", "decision_function", "apply", "predict_std", "predict_interval",
    "predict_set", "score_samples", "kneighbors", "contributions", "staged_predict", "transform",
}  # fmt: skip


def answers_of(attack: Attack, model: Any) -> dict[str, Any]:
    """Ask a model what it can be asked; refusals are answers, too."""
    found: dict[str, Any] = {}
    for name, method, needed in methods_of(model):
        if name not in ASKED or needed != ["X"]:
            continue
        try:
            said = method(attack.table.rows(attack.table.n_rows))
            if isinstance(said, dict):  # of models of many kinds: by member
                found |= {f"{name} of {member}": own for member, own in said.items()}
            else:
                found[name] = list(said) if name.startswith("staged") else getattr(said, "values", said)
        except Exception as error:
            if not is_refusal(error):
                raise
            found[name] = str(error)
    return found


def is_repeatable(attack: Attack) -> bool:
    """Whether every fit is the same."""
    options = attack.options
    return isinstance(options.get("random_state", 1), int) and "time_budget" not in options


def run(seed: int, most_rows: int = 300, kinds: list[Any] | None = None) -> str:
    """Do the same alone and in eight threads; raise BreachError if anything differs."""
    attack = Attack(seed, most_rows, kinds)
    try:
        model = attack._fitted(attack.options)
    except Exception as error:
        if not is_refusal(error):
            raise BreachError(f"fit: {type(error).__name__}: {error}") from error
        return "refused"
    expected = answers_of(attack, model)
    barrier = Barrier(N_THREADS)

    def work(number: int) -> dict[str, Any]:
        barrier.wait()
        if number % 2:
            return answers_of(attack, model)
        again = attack._fitted(attack.options)
        return answers_of(attack, again) if is_repeatable(attack) else answers_of(attack, model)

    with ThreadPoolExecutor(N_THREADS) as pool:
        for found in pool.map(work, range(N_THREADS)):
            for name, answer in expected.items():
                if name not in found or not same(found[name], answer):
                    raise BreachError(f"{name} differs in a thread beside others: {attack.describe()}")
    return "fitted"


def main() -> int:
    """Go on until the time is up; report every difference."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--most-rows", type=int, default=300)
    parser.add_argument("--of", default="", help="only estimators whose name holds this")
    given = parser.parse_args()
    kinds = [cls for cls in estimators() if given.of in cls.__name__]
    faulthandler.enable()
    warnings.simplefilter("ignore")  # whose filters are shared by all threads
    begin, seed = time.monotonic(), given.first
    counts = {"fitted": 0, "refused": 0, "breach": 0}
    while time.monotonic() - begin < given.seconds:
        print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
        try:
            outcome = run(seed, given.most_rows, kinds)
        except Exception as error:
            outcome = "breach"
            print(f"\nbreach: seed {seed}: {error!r}", flush=True)
        counts[outcome] += 1
        seed += 1
    print(f"\n{counts} from seed {given.first} in {time.monotonic() - begin:.0f} s", flush=True)
    return 1 if counts["breach"] else 0


if __name__ == "__main__":
    sys.exit(main())
