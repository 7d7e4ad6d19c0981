"""Random forest: 100 trees grown out, 100,000 x 20 float32, sqrt(d) features per node, bootstrap."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.forests import YDFForest, forest
from benchmarks.targets import score_near, times_faster_than

KIND = "RandomForestClassifier"

JOB = Job(
    name="forest",
    title="Random forest, 100 trees grown out, 100k x 20 float32",
    rows=100_000,
    quick_rows=10_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                fit_contestant("hornbeam", forest("hornbeam", KIND), ours=True),
                fit_contestant("sklearnex", forest("sklearnex", KIND), note="256 bins"),
                fit_contestant("scikit-learn", forest("sklearn", KIND)),
                fit_contestant("YDF", YDFForest()),
                fit_contestant("YDF binned", YDFForest(binned=True), note="255 bins"),
            ),
            score_name="test AUC",
            targets=(
                times_faster_than("scikit-learn", 10),
                times_faster_than("sklearnex", 1.5),
                score_near("scikit-learn", 0.003),
            ),
        ),
    ),
)
