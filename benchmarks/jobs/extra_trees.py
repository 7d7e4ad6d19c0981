"""Extra trees: 100 trees grown out on the data of the forest job, no bootstrap, random thresholds."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.base import fit_contestant
from benchmarks.learners.forests import forest
from benchmarks.targets import score_near, times_faster_than_fastest

KIND = "ExtraTreesClassifier"

JOB = Job(
    name="extra_trees",
    title="Extra trees, 100 trees grown out, 100k x 20 float32",
    rows=100_000,
    quick_rows=10_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.noisy(setting.rows),
            contestants=(
                fit_contestant("hornbeam", forest("hornbeam", KIND), ours=True),
                fit_contestant("scikit-learn", forest("sklearn", KIND)),
                fit_contestant("sklearnex", forest("sklearnex", KIND), note="256 bins"),
            ),
            score_name="test AUC",
            targets=(times_faster_than_fastest(5), score_near("scikit-learn", 0.003)),
        ),
    ),
)
