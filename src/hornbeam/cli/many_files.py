"""`hornbeam fit` on a folder or a pattern of Parquet files, read in blocks: rows need not fit into memory."""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from hornbeam.baseline import baseline
from hornbeam.cli.judging import Judged, fit_and_judge
from hornbeam.cli.methods import estimator_for
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.reading.table_format import TableFormat
from hornbeam.cli.reading.targets import task_for
from hornbeam.cli.scores import own_baseline_scores
from hornbeam.cli.sizes import leaf_size_for
from hornbeam.data.streams.blocks import parquet_files_in
from hornbeam.data.streams.encoded_table import EncodedTable, Progress
from hornbeam.data.streams.scratch import scratch_folder
from hornbeam.data.task import Task
from hornbeam.estimators.from_source import progress_to
from hornbeam.estimators.memory_needed import make_do
from hornbeam.recipes.listen import listening

__all__ = ["are_many_files", "fit_to_files"]

_BINS = 255


def are_many_files(data: str) -> bool:
    """Whether a path is a folder of Parquet files, or a pattern that is not a file itself."""
    if os.path.isdir(data):
        named_by_values = any("=" in name for name in os.listdir(data))  # empty ones, too
        return named_by_values or next(parquet_files_in(data), None) is not None
    return not os.path.lexists(data) and any(mark in data for mark in "*?[")


def fit_to_files(
    data: str,
    target: str,
    method: Any,
    task: Task | None,
    options: dict[str, Any],
    *,
    form: TableFormat,
    max_memory: str | None,
    judge: bool,
) -> tuple[Any, dict[str, Any], Judged | None]:
    """Fit a model to files; return it with the facts about the fit, and how good it is out of bag."""
    given = {name: value for name, value in options.items() if value is not None}
    start = time.perf_counter()
    with scratch_folder("hornbeam-") as folder:
        with listening(int(given.get("verbose") or 0), "Reading") as listener:
            encoded = _encoded(
                data,
                target,
                given,
                folder,
                form=form,
                max_memory=max_memory,
                progress=progress_to(listener),
            )
        y: Any = encoded.y
        chosen = task_for(y if isinstance(y, np.ndarray) else np.array(y.distinct), target, task)
        estimator = _with_bins(estimator_for(method, chosen, options))
        if leaf_size := leaf_size_for(estimator, encoded.n_rows, given):
            estimator.set_params(min_samples_leaf=leaf_size)
        make_do(estimator, encoded, max_memory, folder)
        in_bag = judge and bool(estimator.get_params(deep=False).get("bootstrap"))
        if in_bag and not isinstance(y, np.ndarray):
            y = np.array(y.distinct)[y.codes]
        judged = fit_and_judge(estimator, encoded, y, chosen, judge=in_bag)
        n_rows, n_columns = encoded.n_rows, encoded.n_columns
    facts = {
        "estimator": type(estimator).__name__,
        "task": chosen,
        "target": target,
        "rows": n_rows,
        "columns": n_columns,
        "seconds": round(time.perf_counter() - start, 3),
        "judged": None if judged is None else vars(judged),
        "training": None,
        "baseline": own_baseline_scores(baseline(y, task=chosen), y),
    }
    return estimator, facts, judged


def _encoded(
    data: str,
    target: str,
    given: dict[str, Any],
    folder: Path,
    *,
    form: TableFormat,
    max_memory: str | None,
    progress: Progress,
) -> EncodedTable:
    try:
        return EncodedTable.make(
            data,
            folder / "codes",
            target=target,
            drop=[*form.drop, *(form.ids or ())],
            max_bins=int(given.get("max_bins") or _BINS),
            categorical_features=_columns(given.get("categorical_features")),
            max_memory=max_memory,
            progress=progress,
        )
    except (ValueError, FileNotFoundError) as error:
        raise Mistake(str(error)) from None


def _columns(given: Any) -> Any:
    return "from_dtype" if given is None else [name.strip() for name in str(given).split(",")]


def _with_bins(estimator: Any) -> Any:
    """Give a method with exact splits bins; refuse one that cannot use them."""
    options = estimator.get_params(deep=False)
    if "max_bins" not in options:
        raise Mistake(
            "Folders and patterns of files are for methods that learn from bins: trees, forests, extra trees "
            "and boosting. Name one file, or one of these with --method."
        )
    return estimator if options["max_bins"] is not None else estimator.set_params(max_bins=_BINS)
