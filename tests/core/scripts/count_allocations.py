"""Grows trees of two sizes from the same table and prints, per kind, nodes and requests for memory of each.

Runs with counting_malloc loaded before everything else.
"""

import ctypes
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from core.growing import encode, grow

N_ROWS = 20_000
requests_so_far = ctypes.CDLL(None).requests_so_far
requests_so_far.restype = ctypes.c_size_t


def count(data: Any, y: np.ndarray, settings: dict[str, Any]) -> dict[str, int]:
    """Nodes of a tree, and the requests for memory from before its growth to after it."""
    before = requests_so_far()
    tree = grow(data, y, **settings)
    return {"requests": requests_so_far() - before, "nodes": len(tree.feature)}


def main() -> None:
    """Every kind of growth that has code of its own."""
    rng = np.random.default_rng(0)
    numbers = [rng.normal(size=N_ROWS) for _ in range(8)]
    gaps = [np.where(rng.random(N_ROWS) < 0.1, np.nan, column) for column in numbers]
    categories = [rng.integers(0, 40, N_ROWS) for _ in range(4)]
    score = numbers[0] + numbers[1] * numbers[2] + rng.normal(size=N_ROWS)
    two = (score > 0).astype(int)
    five = np.clip(score + 2.5, 0, 4).astype(int)
    classes: dict[str, Any] = {"n_classes": 2}
    kinds: dict[str, tuple[list[np.ndarray], np.ndarray, dict[str, Any]]] = {
        "two classes": (numbers, two, classes),
        "five classes": (numbers, five, {"n_classes": 5, "criterion": "entropy"}),
        "numbers": (numbers, score, {"criterion": "squared_error"}),
        "two outputs": (numbers, np.c_[score, -score], {"criterion": "squared_error"}),
        "level by level": (numbers, two, {**classes, "growth": "level"}),
        "best first": (numbers, two, {**classes, "growth": "best_first"}),
        "drawn features": (numbers, two, {**classes, "max_features": 2}),
        "random tests": (numbers, two, {**classes, "random_splits": True, "max_features": 2}),
        "missing values": (gaps, two, classes),
        "small limits": (numbers, two, {**classes, "min_samples_leaf": 2}),
        "categories": (categories, two, classes),
        "categories, level by level": (categories, two, {**classes, "growth": "level"}),
    }
    found = {}
    for kind, (columns, y, settings) in kinds.items():
        data = encode(columns)
        grow(data, y, **settings, max_depth=3)  # what is made once per process
        found[kind] = {
            "small": count(data, y, {**settings, "max_depth": 8}),
            "large": count(data, y, settings),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
