"""docs/model-format.md is enough to read a file: a reader written from it, without any of the library's code.

It takes the tensors as the safetensors package gives them and walks the trees one row at a time.
"""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_files import SAMPLES, TREE_SAMPLES, split
from safetensors import safe_open

import hornbeam as hb

Samples = Callable[[str], tuple[Any, Any]]
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "model-format.md"


class DocumentedModel:
    """A model as the documentation describes it; only what is needed to find a row's answer."""

    def __init__(self, path: Path) -> None:
        with safe_open(path, framework="numpy") as file:
            self.description = json.loads(file.metadata()["model"])
            self.tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        self.branches = self.tensors["trees.branches"].tolist()
        self.inner = [node for node, branches in enumerate(self.branches) if branches]
        # The children of the root start at node 1, those of every further inner node behind those before.
        ends = np.cumsum([1, *(self.branches[node] for node in self.inner)]).tolist()
        self.first_child = dict(zip(self.inner, ends, strict=False))
        self.kinds = self.tensors["schema.kinds"].tolist()
        self.categories = self._categories()
        self.tests = self._tests()
        self.surrogates = self._surrogates()

    def texts(self, name: str) -> list[str]:
        content, ends = self.tensors[f"{name}.utf8"].tobytes(), self.tensors[f"{name}.ends"].tolist()
        starts = [0, *ends][:-1]
        return [content[a:b].decode("utf-8", "surrogatepass") for a, b in zip(starts, ends, strict=True)]

    def _categories(self) -> list[list[str] | None]:
        if "schema.category_counts" not in self.tensors:
            return [None for _ in self.kinds]
        texts = iter(self.texts("schema.categories"))
        counts = iter(self.tensors["schema.category_counts"].tolist())
        return [[next(texts) for _ in range(next(counts))] if kind else None for kind in self.kinds]

    def _tests(self) -> dict[int, Callable[[Any], int]]:
        thresholds = iter(self.tensors["trees.threshold"].tolist())
        words = iter(self.tensors.get("trees.category_words", np.zeros(0)).tolist())
        tests: dict[int, Callable[[Any], int]] = {}
        for node, feature in zip(self.inner, self.tensors["trees.feature"].tolist(), strict=True):
            categories = self.categories[feature]
            if self.kinds[feature] == 2 and categories is not None:
                width = next(w for w in (1, 8, 16, 32) if self.branches[node] <= 2**w)
                table = [next(words) for _ in range(math.ceil(len(categories) * width / 32))]
                tests[node] = lambda code, table=table, width=width: entry(table, code, width)
            else:
                threshold = next(thresholds)
                tests[node] = lambda value, threshold=threshold: int(value > threshold)
        return tests

    def _surrogates(self) -> dict[int, list[tuple[int, Callable[[Any], int]]]]:
        if "trees.surrogates" not in self.tensors:
            return {node: [] for node in self.inner}
        features = iter(self.tensors["trees.surrogate_feature"].tolist())
        thresholds = iter(self.tensors["trees.surrogate_threshold"].tolist())
        low_branches = iter(self.tensors["trees.surrogate_low_branch"].tolist())
        words = iter(self.tensors.get("trees.surrogate_words", np.zeros(0)).tolist())
        found: dict[int, list[tuple[int, Callable[[Any], int]]]] = {}
        for node, count in zip(self.inner, self.tensors["trees.surrogates"].tolist(), strict=True):
            found[node] = []
            for feature in (next(features) for _ in range(count)):
                categories = self.categories[feature]
                if self.kinds[feature] == 2 and categories is not None:
                    bits = [next(words) for _ in range(math.ceil(len(categories) / 32))]
                    test: Any = lambda code, bits=bits: bits[code // 32] >> code % 32 & 1  # noqa: E731
                else:
                    t, low = next(thresholds), next(low_branches)
                    test = lambda value, t=t, low=low: low if value <= t else 1 - low  # noqa: E731
                found[node].append((feature, test))
        return found

    def code(self, row: list[Any], feature: int) -> Any:
        """The number that tests compare or look up; None if the value is missing."""
        value, categories = row[feature], self.categories[feature]
        if value is None or value != value:
            return None
        return value if categories is None else categories.index(value)

    def leaf_of(self, row: list[Any]) -> int:
        missing = dict(zip(self.inner, self.tensors["trees.missing_branch"].tolist(), strict=True))
        features = dict(zip(self.inner, self.tensors["trees.feature"].tolist(), strict=True))
        in_parts = self.description["facts"].get("gaps") == "fractional"
        waiting, leaves = [(1.0, 0)], []
        while waiting:
            share, node = waiting.pop()
            if not self.branches[node]:
                leaves.append((-share, node))
                continue
            asked = [(features[node], self.tests[node]), *self.surrogates[node]]
            said = [test(self.code(row, f)) for f, test in asked if self.code(row, f) is not None]
            if in_parts and self.code(row, features[node]) is None:
                children = range(self.first_child[node], self.first_child[node] + self.branches[node])
                total = sum(map(self.weight, children))
                waiting += [(share * self.weight(child) / total, child) for child in children]
            else:
                waiting.append((share, self.first_child[node] + (said[0] if said else missing[node])))
        return min(leaves)[1]

    def weight(self, node: int) -> float:
        if "trees.class_counts" in self.tensors:
            return float(self.tensors["trees.class_counts"][node].sum())
        return float(self.tensors["trees.weighted_n_node_samples"][node])

    def values(self, leaf: int) -> np.ndarray:
        if "trees.class_counts" in self.tensors:
            counts = self.tensors["trees.class_counts"][leaf].astype(np.float64)
            return counts / counts.sum(axis=1, keepdims=True)
        return self.tensors["trees.value"][leaf].astype(np.float64)


def entry(table: list[int], code: int, width: int) -> int:
    """The branch number of a category, of so many bits in words of 32."""
    per_word = 32 // width
    return table[code // per_word] >> code % per_word * width & (2**width - 1)


@pytest.mark.parametrize("name", TREE_SAMPLES)
@pytest.mark.parametrize("predict_only", [False, True])
def test_a_reader_written_from_the_documentation(
    name: str, predict_only: bool, samples: Samples, tmp_path: Path
) -> None:
    model, X = samples(name)
    hb.save(model, tmp_path / "model", predict_only=predict_only)
    documented = DocumentedModel(tmp_path / "model")
    assert documented.description["estimator"] == type(model).__name__
    rows = X.to_numpy(dtype=object).tolist() if hasattr(X, "to_numpy") else X.tolist()
    leaves = [documented.leaf_of(row) for row in rows]
    assert leaves == model.apply(X).tolist()
    for leaf in set(leaves):
        assert documented.values(leaf).tolist() == model.tree_.value[leaf].tolist()


def test_every_tensor_and_fact_is_documented(samples: Samples, tmp_path: Path) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    seen = set()
    for name in SAMPLES:
        hb.save(samples(name)[0], tmp_path / "model")
        header, _ = split((tmp_path / "model").read_bytes())
        seen |= header.keys() | header["__metadata__"]["model"]["facts"].keys()
        seen.add(header["__metadata__"]["model"]["estimator"])
    for word in seen:
        root = re.sub(r"^((members|steps)\.\d+\.|final\.|simple_tree\.)+", "", word)  # the tensors of a child
        root = root.removesuffix(".utf8").removesuffix(".ends")
        root = re.sub(r"^(classes|oob\.shares|answers)\.\d+$", r"\1.k", root)
        assert f"`{root}`" in text, f"{word} is not in {DOCUMENT.name}"
