"""Fits that keep what belongs to rows in a file, because memory is short, grow the trees of other fits."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import hornbeam as hb
from hornbeam.estimators.memory_needed import make_do
from hornbeam.model import tree_to_arrays
from hornbeam.recipes.boosting.mapped_rows import MappedRows


def table_of(n_rows: int, n_columns: int = 9) -> pd.DataFrame:
    """Smooth columns, some with gaps; flags and digits that share a slot; categories, few and very many."""
    rng = np.random.default_rng(n_rows)
    frame = pd.DataFrame(rng.normal(size=(n_rows, n_columns)), columns=[f"x{j}" for j in range(n_columns)])
    frame.loc[rng.random(n_rows) < 0.2, "x1"] = np.nan
    frame["flag"] = rng.integers(0, 2, n_rows)
    frame["digit"] = rng.integers(0, 5, n_rows)
    frame["text"] = rng.choice(["a", "b", "c"], n_rows)
    frame["many"] = [f"k{k}" for k in rng.integers(0, 400, n_rows)]
    score = frame["x0"] * frame["x2"] + (frame["text"] == "b") + frame["flag"] + rng.normal(size=n_rows)
    frame["y"] = score
    frame["count"] = np.floor(np.exp(score / 3))
    frame["two"] = np.where(score > 0, "yes", "no")
    frame["three"] = np.where(score > 1, "high", np.where(score > -1, "middle", "low"))
    frame["w"] = rng.integers(1, 4, n_rows)
    return frame


TARGETS = ["y", "count", "two", "three", "w"]


def assert_same_trees(found: Any, wanted: Any) -> None:
    assert len(found._model.trees) == len(wanted._model.trees)
    for ours, theirs in zip(found._model.trees, wanted._model.trees, strict=True):
        arrays = tree_to_arrays(theirs)
        for name, values in tree_to_arrays(ours).items():
            np.testing.assert_array_equal(values, arrays[name])


def encoded_twice(frame: pd.DataFrame, target: str, folder: Path, weight: str | None = None) -> Any:
    """Return the same table twice: for a fit in memory, and for one with a file."""
    path = folder / "codes"
    features = frame.drop(columns=[name for name in TARGETS if name not in (target, weight)])
    source = pa.Table.from_pandas(features, preserve_index=False)
    in_memory = hb.EncodedTable.make(source, path, target=target, sample_weight=weight)
    with_file = hb.EncodedTable.open(path)
    (folder / "scratch").mkdir()
    with_file.keep_rows_in(folder / "scratch")
    return in_memory, with_file


REGRESSORS = [
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0), "y"),
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0, loss="absolute_error"), "y"),
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0, loss="huber"), "y"),
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0, loss="poisson"), "count"),
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0, categorical_split="one_vs_rest"), "y"),
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0, subsample=0.4), "y"),
    (hb.GradientBoostingRegressor(random_state=0, n_members=2, max_leaf_nodes=5), "y"),
    (hb.GradientBoostingRegressor(n_estimators=4, random_state=0, growth="symmetric"), "y"),
]
CLASSIFIERS = [
    (hb.GradientBoostingClassifier(n_estimators=4, random_state=0), "two"),
    (hb.GradientBoostingClassifier(n_estimators=4, random_state=0, loss="exponential"), "two"),
    (hb.GradientBoostingClassifier(n_estimators=4, random_state=0, subsample=0.4), "two"),
    (
        hb.GradientBoostingClassifier(n_estimators=4, random_state=0, min_samples_leaf=1, max_leaf_nodes=400),
        "two",
    ),
    (hb.GradientBoostingClassifier(random_state=0, n_members=2, max_leaf_nodes=5), "two"),
    (hb.GradientBoostingClassifier(random_state=0, n_members=2, n_iter_no_change=3), "two"),  # symmetric
    (hb.GradientBoostingClassifier(n_estimators=4, random_state=0), "three"),
]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(("learner", "target"), [*REGRESSORS, *CLASSIFIERS])
def test_the_trees_are_those_of_a_fit_in_memory(
    learner: Any, target: str, weight: str | None, tmp_path: Path
) -> None:
    in_memory, with_file = encoded_twice(table_of(5_000), target, tmp_path, weight)
    wanted = clone(learner).set_params(n_jobs=1).fit(in_memory)
    found = clone(learner).set_params(n_jobs=2).fit(with_file)
    assert_same_trees(found, wanted)
    assert not any((tmp_path / "scratch").iterdir())


# Pages of the file have 4,096 bytes, which are 512 or 1,024 rows; targets in codes become numbers 1,024 at a
# time.
@pytest.mark.parametrize("n_rows", [511, 512, 513, 1023, 1024, 1025, 2049])
@pytest.mark.parametrize("target", ["two", "y"])
def test_rows_that_fill_pages(target: str, n_rows: int, tmp_path: Path) -> None:
    in_memory, with_file = encoded_twice(table_of(n_rows), target, tmp_path)
    kind = hb.GradientBoostingClassifier if target == "two" else hb.GradientBoostingRegressor
    learner = kind(n_estimators=3, random_state=0)
    assert_same_trees(clone(learner).fit(with_file), learner.fit(in_memory))


# With one slot that columns of few codes share: one tile, two, a whole slab, and one slot more.
@pytest.mark.parametrize("n_columns", [3, 15, 16, 63, 64])
def test_rows_that_lie_close_together(n_columns: int, tmp_path: Path) -> None:
    in_memory, with_file = encoded_twice(table_of(3_000, n_columns), "two", tmp_path)
    learner = hb.GradientBoostingClassifier(n_estimators=3, random_state=0, n_jobs=2)
    assert_same_trees(clone(learner).fit(with_file), learner.fit(in_memory))


def test_the_file_has_no_name_while_the_fit_runs(tmp_path: Path) -> None:
    _, with_file = encoded_twice(table_of(500), "two", tmp_path)
    names: list[Any] = []

    def look(_: Any) -> None:
        names.extend((tmp_path / "scratch").iterdir())

    hb.GradientBoostingClassifier(n_estimators=2, random_state=0).fit(with_file, callbacks=[look])
    assert names == []


def test_pieces_of_the_room_do_not_overlap(tmp_path: Path) -> None:
    arrays = [np.arange(n, dtype=kind) for n, kind in ((5_000, np.float32), (0, np.float64), (3, np.uint8))]
    mapped = MappedRows(tmp_path, MappedRows.bytes_for(*arrays, None) + 4096)
    first = mapped.take(10)
    first[:] = 255
    for array in [mapped.copy(array) for array in arrays]:
        np.testing.assert_array_equal(array, np.arange(len(array), dtype=array.dtype))
    assert (first[:10] == 255).all()


def test_the_core_refuses_too_little_room_and_losses_that_keep_derivatives(tmp_path: Path) -> None:
    from hornbeam import _core

    codes = _core.encode_table(10, [(np.arange(10.0),)], 255, 1)
    y = np.zeros(10, dtype=np.float32)
    options: dict[str, Any] = {"y": y, "weights": None, "loss_parameter": 0.0, "n_threads": 1}
    with pytest.raises(ValueError, match="too small"):
        _core.Booster(codes, n_scores=1, loss="log_loss", row_memory=np.empty(80, np.uint8), **options)
    memory = np.empty(_core.Booster.row_buffer_bytes(10, 2, True), np.uint8)
    with pytest.raises(ValueError, match="keeps its derivatives"):
        _core.Booster(
            codes, n_scores=2, loss="softmax", row_memory=memory, keeps_derivatives=False, **options
        )
    found = _core.Booster(
        codes, n_scores=1, loss="log_loss", row_memory=memory, keeps_derivatives=False, **options
    )
    with pytest.raises(ValueError, match="not kept"):
        found.gradients()


def test_max_memory_decides_between_memory_a_file_and_an_error(tmp_path: Path) -> None:
    encoded = hb.EncodedTable.make(
        pa.table({**{f"x{j}": np.arange(20_000.0) for j in range(10)}, "y": np.zeros(20_000)}),
        tmp_path / "codes",
        target="y",
    )
    base = 160 * 2**20
    # A regressor: 19 bytes in lists, 8 for the target as given, 10 codes; with scores, derivatives and the
    # targets of the core 20 more, and a fifth of the codes for rows that lie at multiples of 16 bytes.
    with_file, in_memory = base + 20_000 * (19 + 8 + 10), base + 20_000 * (19 + 8 + 10 + 20 + 2)
    learner = hb.GradientBoostingRegressor()
    make_do(learner, encoded, in_memory, tmp_path)
    assert encoded.table_for("from_dtype").scratch is None
    make_do(learner, encoded, in_memory - 1, tmp_path)
    assert encoded.table_for("from_dtype").scratch == tmp_path
    make_do(learner, encoded, with_file, tmp_path)
    with pytest.raises(MemoryError, match=r"20000 rows of 10 columns take about 160\.7 MiB"):
        make_do(learner, encoded, with_file - 1, tmp_path)


def test_a_fit_from_files_uses_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hornbeam.recipes.boosting import boost

    used: list[Path] = []

    class Watched(MappedRows):
        def __init__(self, folder: Path, n_bytes: int) -> None:
            used.append(folder)
            super().__init__(folder, n_bytes)

    monkeypatch.setattr(boost, "MappedRows", Watched)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    frame = table_of(100_000)[["x0", "x1", "x2", "text", "two"]]
    source = pa.Table.from_pandas(frame, preserve_index=False)
    learner = hb.GradientBoostingClassifier(n_estimators=2, random_state=0, max_leaf_nodes=63)
    found = clone(learner).fit(source, target="two", max_memory=160 * 2**20 + 100_000 * 30)
    assert len(used) == 1 and used[0].parent == tmp_path and not used[0].exists()
    wanted = clone(learner).fit(source, target="two", max_memory="1GB")
    assert len(used) == 1
    assert_same_trees(found, wanted)
