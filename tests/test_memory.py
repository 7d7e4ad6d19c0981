"""Memory: what the system says there is, the refusal that quotes it, and how many leaves limits allow."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import hornbeam as hb
from hornbeam import memory
from hornbeam.memory import available_memory, refuse_beyond_memory
from hornbeam.recipes.single import GrowthSettings


def test_available_memory_is_what_linux_calls_available(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable:    4096 kB\n")
    assert available_memory(tmp_path) == 4096 * 1024


@pytest.mark.parametrize("text", [None, "", "MemTotal: 9000 kB\n", "MemAvailable: many kB\n"])
def test_elsewhere_free_pages_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    (tmp_path / "proc").mkdir()
    if text is not None:
        (tmp_path / "proc/meminfo").write_text(text)
    sizes = {"SC_AVPHYS_PAGES": 100, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert available_memory(tmp_path) == 409600
    monkeypatch.delattr(os, "sysconf")
    assert available_memory(tmp_path) is None


def test_refusal_gives_both_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 512 * 2**20)
    refuse_beyond_memory(512 * 2**20, what="Shares", way_out="Have fewer.")
    message = r"^Shares would take about 1\.5 GiB; 512\.0 MiB of memory are available\. Have fewer\.$"
    with pytest.raises(MemoryError, match=message):
        refuse_beyond_memory(3 * 2**29, what="Shares", way_out="Have fewer.")
    monkeypatch.setattr(memory, "available_memory", lambda: None)  # where the system does not tell
    refuse_beyond_memory(3 * 2**29, what="Shares", way_out="Have fewer.")


UNLIMITED = GrowthSettings(
    criterion="gini",
    leaf_value="mean",
    missing="learn",
    max_surrogates=0,
    random_splits=False,
    categorical_split="subset",
    merge_level=0.05,
    max_depth=0,
    min_samples_split=2,
    min_samples_leaf=1,
    min_weight_leaf=0.0,
    max_leaf_nodes=0,
    max_nodes=0,
    max_features=0,
    min_impurity_decrease=0.0,
    min_significance=1.0,
    monotonic=(),
)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, 1000),
        ({"min_samples_leaf": 3}, 333),
        ({"min_samples_leaf": 2000}, 1),
        ({"max_leaf_nodes": 10, "max_depth": 5}, 10),
        ({"max_nodes": 10}, 5),
        ({"max_depth": 5}, 32),
        ({"max_depth": 10**9}, 1000),
    ],
)
def test_most_leaves(limits: dict[str, int], expected: int) -> None:
    assert replace(UNLIMITED, **limits).most_leaves(1000) == expected


@pytest.mark.parametrize(
    "model",
    [
        hb.RandomForestClassifier(10**9),
        hb.ExtraTreesClassifier(10**12),
        hb.BaggingClassifier(n_estimators=10**12),
        hb.BaggingClassifier(hb.KNeighborsClassifier(1), n_estimators=10**12),
        hb.AdaBoostClassifier(n_estimators=10**12),
        hb.GradientBoostingClassifier(2**31 - 1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_more_members_than_memory_are_refused_with_the_size_needed(
    monkeypatch: pytest.MonkeyPatch, model: Any
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2**30)
    message = (
        rf"n_estimators={model.n_estimators}: .* would take about [\d,]+\.\d GiB; 1\.0 GiB of memory are"
    )
    with pytest.raises(MemoryError, match=message):
        model.fit([[0.0], [1.0], [2.0]] * 9, [0, 1, 0] * 9)


def test_rounds_that_early_stopping_will_end_are_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2**20)
    model = hb.GradientBoostingClassifier(10**9, early_stopping=True, random_state=0)
    model.fit([[0.0], [1.0], [2.0]] * 30, [0, 1, 0] * 30)
    assert len(model.estimators_) < 1000
