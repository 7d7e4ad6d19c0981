"""Exact nearest neighbours: building the index and answering all queries are timed together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data import Dataset
from benchmarks.harness import Contestant, Setting, require
from benchmarks.scores import share_of_exact_neighbours

Search = Callable[[Dataset, Setting, int], Any]
SCORE_NAME = "queries with exact neighbours"


def neighbours_contestants(k: int = 5) -> tuple[Contestant, ...]:
    """Everybody who searches; each returns the row numbers of the k nearest rows of every query."""
    return (
        _contestant("hornbeam", ("hornbeam.KNeighborsClassifier",), _ours, k, ours=True),
        _contestant("sklearnex brute", ("sklearnex.neighbors",), _estimator("sklearnex", "brute"), k),
        _contestant("sklearnex kd-tree", ("sklearnex.neighbors",), _estimator("sklearnex", "kd_tree"), k),
        _contestant("FAISS flat", ("faiss",), _faiss_flat, k),
        _contestant("scikit-learn brute", ("sklearn.neighbors",), _estimator("sklearn", "brute"), k),
        _contestant("scikit-learn kd-tree", ("sklearn.neighbors",), _estimator("sklearn", "kd_tree"), k),
        _contestant("scipy cKDTree", ("scipy.spatial",), _scipy_tree, k),
    )


def _contestant(
    name: str, needs: tuple[str, ...], search: Search, k: int, *, ours: bool = False
) -> Contestant:
    return Contestant(
        name=name,
        needs=needs,
        prepare=lambda data, setting: setting,
        run=lambda setting, data: search(data, setting, k),
        score=lambda setting, indices, data: share_of_exact_neighbours(data, indices),
        ours=ours,
    )


def _ours(data: Dataset, setting: Setting, k: int) -> Any:
    model = require("hornbeam.KNeighborsClassifier")(n_neighbors=k, n_jobs=setting.threads)
    return model.fit(data.X, data.y).kneighbors(data.X_test, return_distance=False)


def _estimator(library: str, algorithm: str) -> Search:
    def search(data: Dataset, setting: Setting, k: int) -> Any:
        kind = require(f"{library}.neighbors.NearestNeighbors")
        model = kind(n_neighbors=k, algorithm=algorithm, n_jobs=setting.threads).fit(data.X)
        return model.kneighbors(data.X_test, return_distance=False)

    return search


def _faiss_flat(data: Dataset, setting: Setting, k: int) -> Any:
    import faiss

    faiss.omp_set_num_threads(setting.threads)
    index = faiss.IndexFlatL2(data.features)
    index.add(data.X)
    return index.search(data.X_test, k)[1]


def _scipy_tree(data: Dataset, setting: Setting, k: int) -> Any:
    from scipy.spatial import cKDTree

    return cKDTree(data.X).query(data.X_test, k=k, workers=setting.threads)[1]
