"""A fit from Parquet files in bounded memory, measured: rows per second, CPU time, peak memory.

    python -m benchmarks.stream make FOLDER --rows 5000000      writes the files
    python -m benchmarks.stream fit FOLDER --max-memory 2GB     fits 100 rounds of 63 leaves
    python -m benchmarks.stream memory FOLDER                   the same table and fit in memory, to compare

Peak memory is what the kernel says at the end: all of the process, and beside it without the pages of mapped
files, which it may drop at any time. Run the fit under a limit (`systemd-run --scope -p MemoryMax=3G`) to see
that it holds.
"""

import argparse
import hashlib
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hornbeam as hb
from hornbeam.model import tree_to_arrays

_ROWS_PER_FILE = 1_000_000


def make(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write the table, a million rows per file: numbers like those of a physics experiment, two classes."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, begin in enumerate(range(0, n_rows, _ROWS_PER_FILE)):
        rng = np.random.default_rng(number)
        n = min(_ROWS_PER_FILE, n_rows - begin)
        X = rng.normal(size=(n_columns, n)).astype(np.float32)
        score = X[0] * X[1] + np.sin(2 * X[2]) + X[3] - 0.5 * X[4] ** 2 + rng.logistic(size=n)
        columns = {f"x{j}": X[j] for j in range(n_columns)}
        table = pa.table({**columns, "y": (score > 0).astype(np.int8)})
        path = folder / f"part-{number:04}.parquet"
        pq.write_table(table, path, row_group_size=1 << 17, use_dictionary=False, compression="none")


def _status(name: str) -> int:
    """Return a line of /proc/self/status in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


class _Peak:
    """Watches how much memory the process has that is no page of a file."""

    def __init__(self) -> None:
        self.own = 0
        self._ends = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._ends.wait(0.05):
            self.own = max(self.own, _status("RssAnon"))

    def end(self) -> None:
        self._ends.set()


def measure(folder: Path, *, rounds: int, leaves: int, max_memory: str | None, in_memory: bool) -> None:
    """Fit and print what it took, and a sum of the model, which must be the same either way."""
    model = hb.GradientBoostingClassifier(n_estimators=rounds, max_leaf_nodes=leaves, n_jobs=2)
    peak, start, cpu = _Peak(), time.perf_counter(), time.process_time()
    if in_memory:
        table = pq.read_table(folder)
        model.fit(table.drop(["y"]), table["y"])
    else:
        model.fit(str(folder), target="y", max_memory=max_memory)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak.end()
    digest = hashlib.sha256()
    for tree in model._model.trees:
        for name, values in sorted(tree_to_arrays(tree).items()):
            digest.update(name.encode() + np.ascontiguousarray(values).tobytes())
    print(
        f"{'in memory' if in_memory else 'from files'}: {seconds:.1f} s, {cpu:.1f} s of CPU, peak "
        f"{_status('VmHWM') / 2**20:,.0f} MiB, without mapped pages {peak.own / 2**20:,.0f} MiB, model "
        f"{digest.hexdigest()[:16]}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "fit", "memory"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--max-memory")
    given = parser.parse_args()
    if given.what == "make":
        make(given.folder, given.rows, given.columns)
    else:
        measure(
            given.folder,
            rounds=given.rounds,
            leaves=given.leaves,
            max_memory=given.max_memory,
            in_memory=given.what == "memory",
        )


if __name__ == "__main__":
    main()
