"""Loading a forest of 100 trees grown out on 100,000 rows, and how large its file is.

``hornbeam`` reads its own file, with its checksum and every node checked; joblib unpickles the same model,
which is checked too, and scikit-learn's forest, which is not. Written with each one's defaults; the files lie
warm in the page cache. The score is the size of the file.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Contestant, Job, Setting
from benchmarks.learners.base import Learner
from benchmarks.learners.forests import forest
from benchmarks.targets import score_at_most_share_of, times_faster_than

KIND = "RandomForestClassifier"


class SavedModel:
    """A model's file, in a folder that goes when the contestant does."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="hornbeam-load-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = Path(folder) / "model"

    def megabytes(self) -> float:
        return self.path.stat().st_size / 1e6


def _contestant(
    name: str,
    learner: Learner,
    save: Callable[[Any, Path], Any],
    load: Callable[[Path], Any],
    *,
    ours: bool = False,
    note: str = "",
) -> Contestant:
    def prepare(table: Dataset, setting: Setting) -> SavedModel:
        saved = SavedModel()
        save(learner.fit(table, setting), saved.path)
        return saved

    return Contestant(
        name=name,
        needs=learner.needs,
        prepare=prepare,
        run=lambda saved, table: load(saved.path),
        score=lambda saved, model, table: saved.megabytes(),
        ours=ours,
        note=note,
    )


def _save(model: Any, path: Path) -> None:
    import hornbeam

    hornbeam.save(model, path)


def _load(path: Path) -> Any:
    import hornbeam

    return hornbeam.load(path)


def _dump(model: Any, path: Path) -> None:
    import joblib

    joblib.dump(model, path)


def _undump(path: Path) -> Any:
    import joblib

    return joblib.load(path)


JOB = Job(
    name="load_forest",
    title="Load a forest of 100 trees grown out on 100k rows",
    rows=100_000,
    quick_rows=20_000,
    cases=(
        Case(
            name="load",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                _contestant("hornbeam", forest("hornbeam", KIND), _save, _load, ours=True),
                _contestant(
                    "joblib, hornbeam's forest", forest("hornbeam", KIND), _dump, _undump, note="same model"
                ),
                _contestant("joblib, scikit-learn's forest", forest("sklearn", KIND), _dump, _undump),
            ),
            score_name="file, MB",
            targets=(
                times_faster_than("joblib, hornbeam's forest", 1),
                times_faster_than("joblib, scikit-learn's forest", 1),
                score_at_most_share_of("joblib, scikit-learn's forest", 0.6),
            ),
            warm_up="full",
        ),
    ),
)
