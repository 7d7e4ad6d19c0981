"""A fit from Parquet files in bounded memory, measured: CPU time, peak memory, beside the peers.

    python -m benchmarks.stream make FOLDER --rows 5000000      writes the files
    python -m benchmarks.stream fit FOLDER --max-memory 2GB     fits 100 rounds of 63 leaves
    python -m benchmarks.stream memory FOLDER                   the same table and fit in memory, to compare
    python -m benchmarks.stream peers FOLDER --max-memory 2GB   beside XGBoost and LightGBM, all from files

Peak memory is what the kernel says at the end: all of the process, and beside it without the pages of mapped
files, which it may drop at any time. Run the fit under a limit (`systemd-run --scope -p MemoryMax=3G`) to see
that it holds. Peers run by turns, each in a process of its own, and judge 200,000 rows that nobody has seen:
XGBoost takes its external memory (`ExtMemQuantileDMatrix`), LightGBM a `Sequence`, with and without quantised
gradients.
"""

import argparse
import glob
import hashlib
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hornbeam as hb
from hornbeam.model import tree_to_arrays

_ROWS_PER_FILE = 1_000_000


def rows_of(number: int, n: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns of numbers like those of a physics experiment, and two classes."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(n_columns, n)).astype(np.float32)
    score = X[0] * X[1] + np.sin(2 * X[2]) + X[3] - 0.5 * X[4] ** 2 + rng.logistic(size=n)
    return X, (score > 0).astype(np.int64)


def make(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write the table, a million rows per file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, begin in enumerate(range(0, n_rows, _ROWS_PER_FILE)):
        X, y = rows_of(number, min(_ROWS_PER_FILE, n_rows - begin), n_columns)
        table = pa.table({**{f"x{j}": X[j] for j in range(n_columns)}, "y": y})
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


def measure(
    source: str, *, rounds: int, leaves: int, max_memory: str | None, checkpoint: str | None, in_memory: bool
) -> None:
    """Fit and print what it took, and a sum of the model, which must be the same either way."""
    model = hb.GradientBoostingClassifier(n_estimators=rounds, max_leaf_nodes=leaves, n_jobs=2)
    peak, start, cpu = _Peak(), time.perf_counter(), time.process_time()
    if in_memory:
        table = pq.read_table(sorted(glob.glob(source)) if "*" in source else source)
        model.fit(table.drop(["y"]), table["y"])
    else:
        model.fit(source, target="y", max_memory=max_memory, checkpoint=checkpoint)
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


# ------------------------------------------------------------------------------------------------------------
# Beside the peers

_UNSEEN = 1_000_000  # the number of the file that nobody learns from
_PEERS = ("hornbeam", "xgboost", "lightgbm", "lightgbm quantised")


def _files(source: str) -> list[str]:
    return sorted(glob.glob(source) if "*" in source else glob.glob(f"{source}/*.parquet"))


def _blocks(path: str) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for batch in pq.ParquetFile(path).iter_batches(1 << 17):
        columns = [batch.column(name).to_numpy() for name in batch.schema.names[:-1]]
        yield np.column_stack(columns), batch.column(batch.num_columns - 1).to_numpy()


def _fit_xgboost(source: str, rounds: int, leaves: int, folder: str) -> Any:
    import xgboost

    class Files(xgboost.DataIter):
        def __init__(self) -> None:
            self.blocks = iter(())
            super().__init__(cache_prefix=f"{folder}/xgboost")

        def reset(self) -> None:
            self.blocks = (block for path in _files(source) for block in _blocks(path))

        def next(self, input_data: Any) -> bool:
            block = next(self.blocks, None)
            if block is not None:
                input_data(data=block[0], label=block[1])
            return block is not None

    table = xgboost.ExtMemQuantileDMatrix(Files(), max_bin=256, nthread=2)
    options = {
        **{"objective": "binary:logistic", "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0},
        **{"max_leaves": leaves, "max_bin": 256, "eta": 0.1, "nthread": 2, "min_child_weight": 1e-3},
    }
    model = xgboost.train(options, table, rounds)
    return model.inplace_predict


def _fit_lightgbm(source: str, rounds: int, leaves: int, *, quantised: bool) -> Any:
    import lightgbm

    class File(lightgbm.Sequence):
        batch_size = 1 << 17

        def __init__(self, path: str) -> None:
            self.path = path
            self.n_rows = pq.read_metadata(path).num_rows

        def __len__(self) -> int:
            return self.n_rows

        def __getitem__(self, rows: Any) -> np.ndarray:
            if _Kept.path != self.path:  # one file at a time: rows are asked for in their order
                table = pq.read_table(self.path)
                _Kept.path, _Kept.rows = (
                    self.path,
                    np.column_stack([c.to_numpy().astype(np.float64) for c in table.columns[:-1]]),
                )
            return _Kept.rows[rows]

    class _Kept:
        path = ""
        rows = np.empty(0)

    files = _files(source)
    y = np.concatenate(
        [pq.read_table(path, columns=["y"])["y"].to_numpy().astype(np.float32) for path in files]
    )
    options = {
        **{"objective": "binary", "num_leaves": leaves, "max_bin": 255, "learning_rate": 0.1},
        **{"num_threads": 2, "verbose": -1, "min_data_in_leaf": 20, "use_quantized_grad": quantised},
    }
    table = lightgbm.Dataset([File(path) for path in files], y, params=options)
    model = lightgbm.train(options, table, rounds)
    return lambda X: model.predict(X, num_threads=2)


def measure_one(name: str, source: str, *, rounds: int, leaves: int, max_memory: str | None) -> None:
    """Fit one of them and print what it took and how good it is on rows it has not seen."""
    peak, start, cpu = _Peak(), time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        if name == "hornbeam":
            fitted = hb.GradientBoostingClassifier(n_estimators=rounds, max_leaf_nodes=leaves, n_jobs=2)
            fitted.fit(source, target="y", max_memory=max_memory)
            shares = lambda X: fitted.predict_proba(X)[:, 1]  # noqa: E731
        elif name == "xgboost":
            shares = _fit_xgboost(source, rounds, leaves, folder)
        else:
            shares = _fit_lightgbm(source, rounds, leaves, quantised=name.endswith("quantised"))
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        peak.end()
        n_columns = len(pq.read_schema(_files(source)[0]).names) - 1
        X, y = rows_of(_UNSEEN, 200_000, n_columns)
        names = [f"x{j}" for j in range(n_columns)]
        rows = pa.table(dict(zip(names, X, strict=True))) if name == "hornbeam" else np.ascontiguousarray(X.T)
        p = np.clip(np.asarray(shares(rows), dtype=np.float64), 1e-15, 1 - 1e-15)
    loss = -np.mean(np.where(y == 1, np.log(p), np.log1p(-p)))
    print(
        f"{name}: {cpu:.1f} s of CPU, {seconds:.1f} s, peak {_status('VmHWM') / 2**20:,.0f} MiB, without "
        f"mapped pages {peak.own / 2**20:,.0f} MiB, log loss {loss:.5f}",
        flush=True,
    )


def measure_peers(given: argparse.Namespace) -> None:
    """Run all by turns, each in a process of its own."""
    for _ in range(given.repeats):
        for name in _PEERS:
            command = [sys.executable, "-m", "benchmarks.stream", "one", given.folder, "--name", name]
            command += ["--rounds", str(given.rounds), "--leaves", str(given.leaves)]
            if given.max_memory:
                command += ["--max-memory", given.max_memory]
            subprocess.run(command, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("make", "fit", "memory", "peers", "one"))
    parser.add_argument("folder", help="the files; fits take a pattern, too")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--columns", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--max-memory")
    parser.add_argument("--checkpoint")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--name", choices=_PEERS, help="of one to be measured")
    given = parser.parse_args()
    if given.what == "make":
        make(Path(given.folder), given.rows, given.columns)
    elif given.what == "peers":
        measure_peers(given)
    elif given.what == "one":
        options = {"rounds": given.rounds, "leaves": given.leaves, "max_memory": given.max_memory}
        measure_one(given.name, given.folder, **options)
    else:
        measure(
            given.folder,
            rounds=given.rounds,
            leaves=given.leaves,
            max_memory=given.max_memory,
            checkpoint=given.checkpoint,
            in_memory=given.what == "memory",
        )


if __name__ == "__main__":
    main()
