"""Loads the compiled core by its path, without the library around it, and looks at what came with it."""

import importlib.machinery
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np


def main(path: str) -> None:
    loader = importlib.machinery.ExtensionFileLoader("_core", path)
    spec = importlib.util.spec_from_file_location("_core", path, loader=loader)
    assert spec is not None
    core = importlib.util.module_from_spec(spec)
    loader.exec_module(core)
    columns = [(np.random.default_rng(j).random(200_000),) for j in range(4)]
    codes = core.encode_table(200_000, columns, 0, 2)  # on two threads, so that the pool is there
    mapped = {Path(line.split()[-1]).name for line in Path("/proc/self/maps").read_text().splitlines()}
    print(json.dumps({"n_features": codes.n_features, "libraries": sorted(mapped)}))


main(sys.argv[1])
