"""How the cost of explanations grows with the leaves of the trees: a table of nanoseconds per row and tree.

Best-first trees get uneven with their leaves, so that paths and the columns on them get longer too; complete
trees grow a leaf's path by one for every doubling. Both are measured, and shown per leaf and per step of
a path (the sum of all leaves' depths). Processor time of one thread, the best of some runs: other work on
the machine adds to it, so only a table from one run compares.

    python -m benchmarks.explain_growth [--what path background pairs] [--others 100] [--quick]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import data

LEAVES = (15, 31, 63, 127, 255, 511, 1023)
DEPTHS = (4, 5, 6, 7, 8, 9, 10)
# What is explained, and how many rows: pairs and a background cost more.
ROWS = {"path": 3_000, "background": 1_000, "pairs": 300}
TREES = 60


def model_of(made: data.Dataset, trees: int, *, leaves: int | None = None, depth: int | None = None) -> Any:
    """Boosting with trees of so many leaves, grown best first, or complete to a depth."""
    import hornbeam

    model = hornbeam.GradientBoostingClassifier(
        n_estimators=trees,
        max_leaf_nodes=2**depth if depth else leaves,
        max_depth=depth,
        min_samples_leaf=1 if depth else 5,
        n_jobs=1,
    )
    return model.fit(made.X, made.y)


def shape_of(model: Any) -> tuple[float, float]:
    """Leaves, and the sum of their depths, of a tree on average."""
    trees = [one.tree_ for one in np.ravel(model.estimators_)]
    depths = [np.array(depths_of_leaves(tree)) for tree in trees]
    return sum(map(len, depths)) / len(trees), float(sum(d.sum() for d in depths)) / len(trees)


def depths_of_leaves(tree: Any) -> list[int]:
    """Walk a tree from its root."""
    left, right = np.array(tree.children_left), np.array(tree.children_right)
    found, waiting = [], [(0, 0)]
    while waiting:
        node, depth = waiting.pop()
        if left[node] < 0:
            found.append(depth)
        else:
            waiting += [(left[node], depth + 1), (right[node], depth + 1)]
    return found


def nanoseconds(model: Any, X: Any, what: str, background: Any) -> float:
    """Per row and tree."""
    asked: dict[str, Any] = {
        "path": {},
        "background": {"background": background},
        "pairs": {"interactions": True},
    }
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        model.contributions(X, **asked[what])
        best = min(best, time.process_time() - start)
    return best / len(X) / len(model.estimators_) * 1e9


def lines(what: str, *, others: int, quick: bool) -> list[str]:
    """Return the table for one kind of explanation."""
    made = data.physics(40_000)
    rows = ROWS[what] // (3 if quick else 1)
    trees = TREES // (6 if quick else 1)
    table = [
        f"| {what} | leaves | mean depth | ns per row and tree | per leaf | per step of a path |",
        "|---|---|---|---|---|---|",
    ]
    sizes: list[tuple[str, dict[str, int]]] = [(f"best first, {n} leaves", {"leaves": n}) for n in LEAVES] + [
        (f"complete, depth {n}", {"depth": n}) for n in DEPTHS
    ]
    for name, size in sizes:
        if quick and max(size.values()) > 255:
            continue
        model = model_of(made, trees, **size)
        leaves, steps = shape_of(model)
        cost = nanoseconds(model, made.X_test[:rows], what, made.X_test[-others:])
        table.append(
            f"| {name} | {leaves:.0f} | {steps / leaves:.1f} | {cost:.1f} | {cost / leaves:.2f} "
            f"| {cost / steps:.3f} |"
        )
    return table


def main(given: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--what", nargs="*", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--others", type=int, default=100, help="rows of the background")
    parser.add_argument("--quick", action="store_true", help="fewer rows and trees, up to 255 leaves")
    chosen = parser.parse_args(given)
    for what in chosen.what:
        print("\n".join(lines(what, others=chosen.others, quick=chosen.quick)), flush=True)
        print()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
