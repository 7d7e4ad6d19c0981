"""Sums of boosting's parts, added up on the way to the driver: a simulation with real histograms.

    python -m benchmarks.reduction --parts 100 --rows-per-part 20000

Parts with rows of their own grow one tree in this process, as on a cluster, and every answer is as large as
it would be there. What is simulated is the network: each machine receives so many bits per second, and
machines of one level work side by side. Adding is timed for real, by processor time. The tree must be that of
all rows together.
"""

import argparse
import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from hornbeam.data.encode import encode
from hornbeam.data.table import read_table
from hornbeam.data.target import read_classes
from hornbeam.model import tree_to_arrays
from hornbeam.recipes.bag import MemberFeatures, plan_draws
from hornbeam.recipes.boosting.boost import Boosting, BoostSettings, BoostTarget, RoundDraws
from hornbeam.recipes.boosting.boost_part import CoreColumn, specs_of_parts
from hornbeam.recipes.boosting.boost_parts import LocalParts, PartsBoosting
from hornbeam.recipes.boosting.boost_sums import added
from hornbeam.recipes.boosting.losses import named_loss

SETTINGS = BoostSettings(
    learning_rate=0.1,
    growth="best_first",
    max_depth=0,
    max_leaf_nodes=63,
    min_samples_leaf=20,
    min_hessian_leaf=1e-3,
    l1_regularization=0.0,
    l2_regularization=0.0,
    min_split_gain=0.0,
    max_features=0,
    monotonic=(),
    interactions=(),
    categorical_smoothing=10.0,
    categorical_split="subset",
    symmetric=False,
)


@dataclass
class Way:
    """What one way of adding up has cost: bytes that arrive at the driver, and seconds."""

    at_once: int
    bytes_at_driver: int = 0
    most_at_a_worker: int = 0
    network: float = 0.0
    adding: float = 0.0


@dataclass
class Network:
    """Bits per second that a machine receives, and the ways that are compared."""

    gigabits: float
    wide: bool
    ways: list[Way] = field(default_factory=list)

    def size(self, answer: Any) -> int:
        """Bytes of an answer; `wide` are those of sums that do not fit 32 bits."""
        n_bytes = len(pickle.dumps(answer, protocol=5))
        if self.wide:
            heads = answer[0].reshape(-1, 5)  # of each node how many cells, and whether they are of 32 bits
            n_bytes += 8 * int(heads[heads[:, 4] == 1, 3].sum())
        return n_bytes

    def seconds(self, n_bytes: int) -> float:
        """How long they take to arrive."""
        return n_bytes * 8 / (self.gigabits * 1e9)

    def add_up(self, way: Way, answers: list[Any]) -> list[Any]:
        """Add answers up level by level; those of a level work side by side."""
        while len(answers) > way.at_once:
            groups = [answers[k : k + way.at_once] for k in range(0, len(answers), way.at_once)]
            arriving = max(sum(map(self.size, group[1:])) for group in groups)
            way.most_at_a_worker = max(way.most_at_a_worker, arriving)
            way.network += self.seconds(arriving)
            took = []
            answers = []
            for group in groups:
                begun = time.process_time()
                answers.append(added(group))
                took.append(time.process_time() - begun)
            way.adding += max(took)
        arriving = sum(map(self.size, answers))
        way.bytes_at_driver += arriving
        way.network += self.seconds(arriving)
        begun = time.process_time()
        total = added(answers)
        way.adding += time.process_time() - begun
        return total


class SimulatedParts(LocalParts):
    """Parts in this process, whose answers go through a simulated network."""

    def __init__(self, specs: Sequence[Any], network: Network) -> None:
        super().__init__(specs)
        self.network = network
        self.n_calls = 0

    def next_sums(self) -> list[Any]:
        """Add answers up in every way, which must come to the same."""
        answers = super().next_sums()
        self.n_calls += 1
        sums = [self.network.add_up(way, answers) for way in self.network.ways]
        for other in sums[1:]:
            assert np.array_equal(sums[0][0], other[0])
            assert np.array_equal(sums[0][1], other[1])
        return [sums[0]]


def problem(n_rows: int, n_columns: int) -> tuple[Any, ...]:
    """Make rows of two classes, and what a fit on them needs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] - 0.5 * X[:, 4] ** 2 + rng.logistic(size=n_rows)
    encoded = encode(
        read_table(pd.DataFrame(X, columns=[f"x{j}" for j in range(n_columns)])), max_bins=255, n_threads=2
    )
    given = read_classes((score > 0).astype(int), n_rows, multi_output=False, estimator_name="reduction")
    target = BoostTarget.of(named_loss("log_loss", n_scores=1), given, None, None)
    rows = plan_draws(encoded.all_rows(), n_rows, key=0, with_replacement=False, max_samples=1.0)
    return encoded, target, RoundDraws(rows, MemberFeatures(0), n_columns)


def main() -> None:
    """Grow a tree, and say what it would have cost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", type=int, default=100)
    parser.add_argument("--rows-per-part", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--gigabits", type=float, default=10.0)
    given = parser.parse_args()
    n_rows = given.parts * given.rows_per_part
    encoded, target, draws = problem(n_rows, given.columns)
    names = range(encoded.n_features)
    columns = [
        CoreColumn(
            encoded.codes.has_missing(j), np.array(encoded.codes.values(j)), encoded.codes.is_binned(j)
        )
        for j in names
    ]
    codes = [encoded.codes.codes(j).astype(np.uint8) for j in names]
    firsts = [given.rows_per_part * k for k in range(given.parts)]
    specs = [
        replace(spec, codes=tuple(c[spec.first_row : spec.first_row + spec.n_rows] for c in codes))
        for spec in specs_of_parts(columns, encoded.schema, target, SETTINGS, firsts, n_threads=1)
    ]
    whole = Boosting(encoded, target, SETTINGS, draws, n_threads=2).add_round(0)[0]
    for wide in (False, True):
        ways = [Way(given.parts), Way(8), Way(4), Way(2)]
        parts = SimulatedParts(specs, Network(given.gigabits, wide, ways))
        boosting = PartsBoosting(parts, columns, target, SETTINGS, draws, schema=encoded.schema)
        [tree] = boosting.add_round(0)
        ours, theirs = tree_to_arrays(tree), tree_to_arrays(whole)
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
        print(f"{given.parts} parts, {parts.n_calls} calls, {'64' if wide else '32 or 64'} bits a sum")
        for way in ways:
            print(
                f"  {way.at_once:4} at once: {way.bytes_at_driver / 1e6:8.1f} MB at the driver, at most "
                f"{way.most_at_a_worker / 1e6:6.1f} MB a call at a worker, network {way.network:.3f} s, "
                f"adding {way.adding:.3f} s"
            )


if __name__ == "__main__":
    main()
